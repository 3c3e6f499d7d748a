"""One shard of articles to a file of annotations, in a worker process that a text may kill."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.articles.manifest import ShardEntry
from corpora.articles.store import ArticleStore
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotation import Annotator
from corpora.tokens.annotation_file import save_annotated
from corpora.tokens.annotators import load_annotator
from corpora.tokens.spacy_model import stop_words_of
from corpora.worker_pool import WorkerDiedError, working_on

logger = logging.getLogger(__name__)

MAX_SKIPPED = 10
"""Articles of a shard. If more of them kill, it is the machine's fault rather than theirs."""


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Shard to annotate, its target file, and facts about workers that died at it."""

    entry: ShardEntry
    path: Path
    one_by_one: bool = False  # Whether to annotate each article alone, to know which one kills
    skipped: frozenset[int] = frozenset()  # Places in the shard of the articles that killed


@dataclass(frozen=True, slots=True)
class ShardDone:
    """Result of a task."""

    n_articles: int
    n_tokens: int
    warnings: tuple[str, ...]


def after_death(task: ShardTask, note: str, n_deaths: int) -> ShardTask:
    """The task to run instead of one at which a worker died: first the same shard article by
    article, then without the article that kills. Raises WorkerDiedError if no article is to blame,
    or one that is skipped already.
    """
    place, _, name = note.partition(" ")
    reason = f"a worker process died at {name or task.entry.shard}"
    if not place.isdecimal():
        if n_deaths > 1:
            raise WorkerDiedError(
                f"{reason} and again where no article is to blame; if the system runs out of "
                "memory, use fewer processes"
            )
        return task
    if not task.one_by_one:
        logger.warning(
            "%s or just behind it; the articles of its shard are tried one by one", reason
        )
        return replace(task, one_by_one=True)
    if int(place) in task.skipped:
        raise WorkerDiedError(f"{reason} though it was passed over; please report this")
    if len(task.skipped) == MAX_SKIPPED:
        raise WorkerDiedError(
            f"{reason}, and at {MAX_SKIPPED} articles before; if the system runs out of "
            "memory, use fewer processes"
        )
    logger.warning("%s again; the article is passed over, it has no words", reason)
    return replace(task, skipped=task.skipped | {int(place)})


# In a worker

_prepared: list[tuple[ArticleStore, Annotator, frozenset[str], list[str]]] = []
"""Arguments of `annotate_shard`, set once in each process."""


def prepare(articles: ArticleStore, model: str, noun_chunks: bool) -> None:
    """Load the model, in the process that is to call `annotate_shard`."""
    warnings: list[str] = []
    annotator = load_annotator(model, noun_chunks=noun_chunks, warn=warnings.append)
    _prepared[:] = [(articles, annotator, stop_words_of(model), warnings)]


def annotate_shard(task: ShardTask) -> ShardDone:
    """Annotate the articles of a shard and write the file."""
    store, annotator, stop_words, warnings = _prepared[0]
    working_on("")
    annotated = annotate_articles(
        store.read_shard(task.entry),
        annotator,
        stop_words,
        one_by_one=task.one_by_one,
        skipped=task.skipped,
    )
    save_annotated(annotated, task.path, task.entry.sha256)
    return ShardDone(annotated.n_articles, annotated.n_tokens, tuple(warnings))
