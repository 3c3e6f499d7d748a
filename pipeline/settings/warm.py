"""Settings of `warm`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class WarmSettings:
    """`python -m pipeline warm`."""

    GROUPS: ClassVar[Groups] = {"running": ("threads",)}

    threads: int = setting(-1, "processes that compile; -1: one for each core", metavar="N")
