"""Settings of `report`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class ReportSettings:
    """`python -m pipeline report`."""

    GROUPS: ClassVar[Groups] = {
        "page": ("output", "documents", "words", "typical", "page_only"),
        "likelihoods": ("scored", "samples", "seed"),
        "coherence": ("reference",),
        "running": ("runs", "threads"),
    }

    output: str = setting(
        "",
        "page to write; by default report.html in the run's directory, for several runs in the "
        "working directory",
        metavar="FILE",
        short="-o",
    )
    documents: int = setting(20, "held-out documents to show; 0: none", metavar="N")
    scored: int = setting(200, "test documents to score, at most; 0: no likelihoods", metavar="N")
    samples: int | None = setting(
        None, "Monte Carlo samples for each document; each estimator has a default", metavar="N"
    )
    words: int = setting(30, "words of each topic at each position of the slider", metavar="N")
    typical: int = setting(10, "typical articles of each topic", metavar="N")
    page_only: bool = setting(False, "write no SVG and PNG figures into the runs' figures/")
    seed: int = setting(0, "random seed of estimates", metavar="N")
    reference: str = setting(
        "",
        "file that `index` made, in which coherence is counted; by default the test part",
        metavar="FILE",
    )
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads and processes; -1: one for each core", metavar="N")
