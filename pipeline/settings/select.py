"""Settings of `select`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting

NOT_SHARED = ("topics", "run", "follow", "follow_after")
"""Settings of `train` that `select` does not take: it numbers and names its runs itself."""


@dataclass(frozen=True)
class SelectSettings:
    """`python -m pipeline select`; the settings of its runs are those of `train`."""

    GROUPS: ClassVar[Groups] = {"selection": ("topics", "seeds", "name", "words", "reference")}

    topics: str = setting("5,10,20,40", "numbers of topics to try", metavar="LIST")
    seeds: int = setting(1, "runs for each number of topics, with successive seeds", metavar="N")
    name: str = setting(
        "", "name of the folder select-NAME among the runs; by default the model", metavar="NAME"
    )
    words: int = setting(10, "top words of a topic for coherence", metavar="N")
    reference: str = setting(
        "",
        "count coherence in this file that `index` made; by default in the training part",
        metavar="FILE",
    )
