"""English Wikipedia on paper: what a run and the rates of its steps say of 7 million articles.

    python -m benchmarks.whole_wikipedia paper --folder DIR     # of `run` and `rates`

Stages but training take as long for each word of text as in the run, 700 of which an article has on
average. Training takes as long for each of 1.75 G tokens as measured by `rates`; 80 % of them are
trained on. A stage on 16 cores takes a sixteenth of its processor seconds, or those of its command
itself, if these are more: they are not spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.whole_wikipedia.rates import TOPICS
from benchmarks.whole_wikipedia.watch import Stage
from models import EarlyStopping
from models.lda.family import GIBBS

if TYPE_CHECKING:
    from collections.abc import Iterator

ARTICLES, WORDS, TOKENS, VOCABULARY = 7_000_000, 700, 1.75e9, 100_000
EXPORT_BYTES = 46_445_603_916
SWEEPS, PASSES, CORES = 100, 5, 16
TRAINING_PART, TEST_PART = 0.8, 0.1
GOAL_MINUTES = 60.0
BEFORE = ("download", "text", "bigrams", "vocabulary", "counts")
BESIDE = """
gensim, published: 9 h to prepare the text, 1 to 6 h to train
Spark, published: 2 h 17 min on 64 cores to train alone, 146 core-hours
spaCy, published rates: 116 core-hours for the text stage alone"""


@dataclass
class Line:
    """A stage on paper."""

    name: str
    core_seconds: float
    serial_seconds: float = 0.0

    @property
    def minutes(self) -> float:
        """Minutes on all cores."""
        return max(self.serial_seconds, self.core_seconds / CORES) / 60

    def __str__(self) -> str:
        """Line of the table."""
        hours, serial = self.core_seconds / 3600, self.serial_seconds / 3600
        return f"| {self.name} | {hours:.2f} | {serial:.2f} | {self.minutes:.1f} |"


def n_validations() -> int:
    """Validations in 100 sweeps of a corpus of this size, as `train` decides when they are due."""
    n_docs = TRAINING_PART * ARTICLES
    stopping = EarlyStopping(min(GIBBS.interval.passes * n_docs, GIBBS.interval.documents))
    for sweep in range(1, SWEEPS + 1):
        if stopping.due(sweep * n_docs):
            stopping.record(sweep * n_docs, float(sweep))
    return len(stopping.positions)


def before_training(run: dict[str, Any], words: float) -> Iterator[Line]:
    """Stages from the export to counts, each by what the run took."""
    longer = ARTICLES / run["articles"] * WORDS / words
    for name in BEFORE:
        stage = Stage(**run["stages"][name])
        yield Line(name, longer * stage.cpu, longer * stage.cpu_main)


def gibbs(rates: dict[str, Any]) -> Iterator[Line]:
    """Steps of training by Gibbs sampling, from rates with the same number of topics."""
    n_tokens = TRAINING_PART * TOKENS
    yield Line("Gibbs: start", n_tokens / rates["gibbs start, tokens a second"])
    sweeps = SWEEPS * n_tokens / rates["gibbs sweeps, tokens a second"]
    yield Line(f"Gibbs: {SWEEPS} sweeps", sweeps)
    each = rates["validation, seconds"] * VOCABULARY / rates["words"]
    validations = n_validations() * each  # most of it prepares topics, on one thread
    yield Line(f"Gibbs: {n_validations()} validations", validations, validations)
    yield prevalence(rates)


def online(rates: dict[str, Any]) -> Iterator[Line]:
    """Steps of training online, from rates with the same number of topics."""
    documents = PASSES * TRAINING_PART * ARTICLES * rates["longer"]
    yield Line(f"online: {PASSES} passes", documents / rates["online, documents a second"])
    yield prevalence(rates)


def prevalence(rates: dict[str, Any]) -> Line:
    """Prevalence of topics, at the end of training."""
    documents = TRAINING_PART * ARTICLES * rates["longer"]
    return Line("prevalence of topics", documents / rates["prevalence, documents a second"])


def after_training(run: dict[str, Any], rates: dict[str, Any]) -> Iterator[Line]:
    """Evaluation of the test part by completion, and the report, whose work does not grow."""
    documents = TEST_PART * ARTICLES * rates["longer"]
    yield Line("evaluate", documents / rates["completion, documents a second"])
    report = Stage(**run["stages"]["report"])
    yield Line("report", report.cpu, report.cpu_main)


def gibbs_bytes(n_topics: int) -> float:
    """Bytes that `GibbsLDA` holds at most."""
    n_tokens, n_docs = TRAINING_PART * TOKENS, TRAINING_PART * ARTICLES
    of_documents = 6 * min(n_tokens, n_docs * -(-n_topics // 16) * 16)
    tables = (6 + 8 + 35) * VOCABULARY * n_topics
    return 6 * n_tokens + of_documents + tables


def print_paper(run: dict[str, Any], rates: dict[str, Any]) -> None:
    """Print the tables."""
    words = rates["reading"]["words of text"]
    print(f"{ARTICLES:,} articles of {WORDS} words, {TOKENS:,.0f} tokens, by a run of ", end="")
    print(f"{run['articles']:,} articles of {words:.0f} words\n")
    for n_topics in TOPICS:
        each = rates[str(n_topics)] | {"words": rates["words"]}
        each["longer"] = TOKENS / ARTICLES / (rates["tokens"] / rates["articles"])
        for name, training in (("Gibbs", gibbs(each)), ("online", online(each))):
            lines = [*before_training(run, words), *training, *after_training(run, each)]
            print(f"K = {n_topics:,}, {name}\n\n| stage | core-hours | in one process ", end="")
            print(f"| minutes on {CORES} cores |\n|---|---:|---:|---:|")
            print("\n".join(map(str, lines)))
            hours = sum(line.core_seconds for line in lines) / 3600
            minutes = sum(line.minutes for line in lines)
            print(f"| all | {hours:.1f} | | {minutes:.0f} |")
            print(f"goal {GOAL_MINUTES:.0f} minutes: {minutes / GOAL_MINUTES:.2f} times that\n")
        print(f"memory of Gibbs at K = {n_topics:,}: {gibbs_bytes(n_topics) / 1e9:.1f} GB\n")
    if alone := [name for name in BEFORE if not Stage(**run["stages"][name]).cpu_workers]:
        print(f"{', '.join(alone)}: done by one process in this run, and so on {CORES} cores on")
        print("paper; take a run with more --threads, of 40,000 pages or more for words\n")
    longer = ARTICLES / run["articles"] * WORDS / words
    for name, n_bytes in run["disk"].items():
        print(f"{name:12s} {longer * n_bytes / 1e9:6.1f} GB")
    seconds = GOAL_MINUTES * 60
    print(f"network: {EXPORT_BYTES / 1e9:.1f} GB, in {GOAL_MINUTES:.0f} minutes ", end="")
    print(f"{8 * EXPORT_BYTES / seconds / 1e6:.0f} Mbit/s")
    print(BESIDE)
