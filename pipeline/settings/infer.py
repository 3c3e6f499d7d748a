"""Settings of `infer`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class InferSettings:
    """`python -m pipeline infer`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("format", "text_column", "id_column", "vocabulary"),
        "topics": ("words", "runs"),
        "running": ("threads",),
    }

    format: str = setting(
        "",
        "format of INPUT, if its content does not tell it",
        metavar="NAME",
        names_input=True,
    )
    text_column: str = setting(
        "", "column of INPUT with the texts; by default text", metavar="NAME", names_input=True
    )
    id_column: str = setting(
        "",
        "column of INPUT with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    vocabulary: str = setting(
        "", "words, one a line, of counts that lie beside none", metavar="FILE", names_input=True
    )
    words: int = setting(5, "words of each topic", metavar="N")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")
