"""Table of the words of topics, a row for each topic and word."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.exports.csv_file import open_csv
from pipeline.runs.topic_rows import topic_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corpora.files import PathLike
    from models import SavedModel
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

ROUNDING = 1e-9
COLUMNS = ("topic", "share", "rank", "word", "probability")


def topic_words(model: SavedModel, n_words: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `COLUMNS`: the `n_words` heaviest words of each topic, largest topics first.

    The share of a topic in the training tokens is None if it is unknown; the first word has rank 1.
    """
    total = model.topics.topic_word.sum(axis=1)
    total[np.abs(total - 1) < ROUNDING] = 1.0  # probabilities stay as they are
    for row in topic_rows(model, n_words, 0):
        k = row["topic"]
        words = zip(row["words"], row["probabilities"], strict=True)
        for rank, (word, weight) in enumerate(words, start=1):
            yield k, row["prevalence"], rank, word, float(weight / total[k])


def write_topics(run: LoadedRun, path: PathLike, n_words: int) -> dict[str, int]:
    """Write the topics as CSV or TSV, as the name ends, and return the sizes of the table.

    The file appears whole or not at all. Raises OSError if it cannot be written.
    """
    with open_csv(path, COLUMNS) as table:
        table.write_rows(topic_words(run.model, n_words))
    warn_of_apostrophes(path, table.n_quoted)
    return {"topics": run.model.topics.n_topics, "rows": table.n_rows}


def warn_of_apostrophes(path: PathLike, n_texts: int) -> None:
    """Log how many texts got an apostrophe."""
    if n_texts:
        logger.warning(
            "%s: an apostrophe stands before %s that a spreadsheet might compute",
            *(path, "a text" if n_texts == 1 else f"{n_texts:,} texts"),
        )
