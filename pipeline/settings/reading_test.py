"""Settings of `reading-test`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class ReadingTestSettings:
    """`python -m pipeline reading-test`."""

    GROUPS: ClassVar[Groups] = {
        "questions": ("questions", "tasks", "topics", "documents", "repeated"),
        "files": ("output", "key", "vocabulary"),
        "running": ("seed", "runs", "threads"),
    }

    questions: int = setting(
        40,
        "questions that a reader answers, at most; more are dealt to several sheets",
        metavar="N",
    )
    tasks: str = setting(
        "word-intrusion,topic-intrusion",
        "what is asked, by commas: word-intrusion, topic-intrusion, rating",
        metavar="TASKS",
    )
    topics: int | None = setting(
        None,
        "topics of each model that are asked about, drawn at random; by default all",
        metavar="N",
    )
    documents: int = setting(20, "documents of each run for topic-intrusion", metavar="N")
    repeated: int = setting(
        4, "questions that a reader has twice, which shows agreement with oneself", metavar="N"
    )
    output: str = setting("reading-test.html", "page for the readers", metavar="FILE", short="-o")
    key: str = setting(
        "",
        "right answers, not for the readers; by default beside the page, its name with .key.json",
        metavar="FILE",
    )
    vocabulary: str = setting("", "words, one a line, for models without words", metavar="FILE")
    seed: int = setting(0, "random seed of intruders and of the order", metavar="N")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")
