"""Settings of `index`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting, setting_of
from pipeline.settings.train import TrainSettings


@dataclass(frozen=True)
class IndexSettings:
    """`python -m pipeline index`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("input", "format", "text_column", "id_column", "documents"),
        "index": ("output", "like"),
        "text": TrainSettings.GROUPS["text"],
        "vocabulary": TrainSettings.GROUPS["vocabulary"],
        "running": ("runs", "threads"),
    }

    input: str = setting(
        "",
        "reference corpus: an article store, or texts in any form that `train INPUT` takes",
        metavar="ARTICLES",
        names_input=True,
        is_positional=True,
    )
    format: str = setting(
        "",
        "format of ARTICLES, if their content does not tell it",
        metavar="NAME",
        names_input=True,
    )
    text_column: str = setting(
        "", "column of ARTICLES with the texts; by default text", metavar="NAME", names_input=True
    )
    id_column: str = setting(
        "",
        "column of ARTICLES with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    output: str = setting(
        "",
        "file to write; by default NAME.index in the working directory, NAME that of ARTICLES",
        metavar="FILE",
        names_input=True,
    )
    like: str = setting(
        "",
        "read ARTICLES as this run read its own, with its bigrams, and keep all words of the run",
        metavar="RUN",
        names_input=True,
    )
    documents: str = setting_of(TrainSettings, "documents")
    spacy_model: str = setting_of(TrainSettings, "spacy_model")
    parts_of_speech: str = setting_of(TrainSettings, "parts_of_speech")
    min_length: int = setting_of(TrainSettings, "min_length")
    stop_words: str = setting_of(TrainSettings, "stop_words")
    bigrams: str = setting_of(TrainSettings, "bigrams")
    bigram_patterns: str = setting_of(TrainSettings, "bigram_patterns")
    noun_chunks: bool = setting_of(TrainSettings, "noun_chunks")
    bigram_min_count: int = setting_of(TrainSettings, "bigram_min_count")
    bigram_threshold: float | None = setting_of(TrainSettings, "bigram_threshold")
    no_below: int = setting_of(TrainSettings, "no_below")
    no_above: float = setting_of(
        TrainSettings,
        "no_above",
        1.0,
        "drop words that are in a larger share of documents; 1: none, as topics may have them",
    )
    keep_n: int = setting_of(TrainSettings, "keep_n")
    runs: str = setting_of(TrainSettings, "runs")
    threads: int = setting_of(TrainSettings, "threads")
