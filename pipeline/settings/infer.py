"""Settings of `infer`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting, setting_of
from pipeline.settings.train import TrainSettings


@dataclass(frozen=True)
class InferSettings:
    """`python -m pipeline infer`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("format", "text_column", "id_column", "vocabulary"),
        "topics": ("inference", "words", "runs"),
        "running": ("threads",),
    }

    format: str = setting_of(TrainSettings, "format")
    text_column: str = setting_of(TrainSettings, "text_column")
    id_column: str = setting_of(TrainSettings, "id_column")
    vocabulary: str = setting(
        "", "words, one a line, of counts that lie beside none", metavar="FILE", names_input=True
    )
    inference: str = setting(
        "variational",
        "how shares are found: variational, or cvb0 for LDA, which is faster with many topics",
        choices=("variational", "cvb0"),
    )
    words: int = setting(5, "words of each topic", metavar="N")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")
