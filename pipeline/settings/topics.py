"""Settings of `topics`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class TopicsSettings:
    """`python -m pipeline topics`."""

    GROUPS: ClassVar[Groups] = {
        "topics": ("words", "runs", "threads"),
        "columns": ("over", "period", "groups"),
        "coherence": ("reference", "measure"),
        "dependencies": ("dependencies", "by", "picture"),
    }

    words: int = setting(10, "words of each topic", metavar="N")
    dependencies: int = setting(
        10, "strongest dependencies of each sign in a topic of a Poisson MRF; 0: none", metavar="N"
    )
    by: str = setting(
        "weight",
        "order of dependencies: by weight, also of words that are rare in the topic, or by effect, "
        "the correlation of the two counts",
        choices=("weight", "effect"),
    )
    over: str = setting(
        "",
        "mean shares of topics by a column that came along with the texts: categories, quality, "
        "year, …",
        metavar="COLUMN",
    )
    period: str | None = setting(
        None,
        "periods of a column of dates; by default the finest with 20 documents on average",
        choices=("year", "quarter", "month", "day"),
    )
    groups: int | None = setting(
        None,
        "groups that are shown, the largest; by default all, 20 of categories, 10 of lengths",
        metavar="N",
    )
    picture: str = setting(
        "", "folder for a drawing of dependencies: dependencies.svg, .png", metavar="DIR"
    )
    reference: str = setting(
        "", "coherence of each topic, counted in this file that `index` made", metavar="FILE"
    )
    measure: str = setting(
        "c_npmi", "measure of coherence", choices=("c_npmi", "c_v", "c_uci", "u_mass")
    )
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(
        -1, "threads for --documents and --over; -1: one for each core", metavar="N"
    )
