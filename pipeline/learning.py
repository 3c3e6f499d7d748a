"""What training on a corpus and on a stream share: the estimator, and looks at validation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evaluation import log_likelihood
from models import EarlyStopping, OnlineLDA

if TYPE_CHECKING:
    from scipy import sparse

    from pipeline.checkpoint import Checkpoint
    from pipeline.runs import RunDirectory
    from pipeline.settings import TrainSettings

LOOK_EVERY_DOCUMENTS = 25_000
LOOK_EVERY_SECONDS = 5.0


def estimator_of(settings: TrainSettings, n_threads: int) -> OnlineLDA:
    """The estimator that the settings ask for."""
    return OnlineLDA(
        settings.topics,
        alpha=_number_or_name(settings.alpha),
        eta=_number_or_name(settings.eta),
        batch_size=settings.batch_size,
        max_e_iterations=settings.max_e_iterations,
        e_tolerance=settings.e_tolerance,
        learning_decay=settings.learning_decay,
        learning_offset=settings.learning_offset,
        n_passes=settings.max_passes,
        word_budget=settings.word_budget,
        random_state=settings.seed,
        n_jobs=n_threads,
    )


class Looks:
    """Looks at validation documents: when they are due, and what they showed.

    Parameters
    ----------
    run
        Where they are written down.
    checkpoint
        Where they are kept for training to go on with.
    settings
        Of the run; they say whether positions are documents or seconds, or not to look at all.
    documents, seconds
        Least distance of two looks.
    of_stream
        Whether these are a stream's looks. Its validation documents become more, so that its scores
        do not compare with those of the passes that follow.
    """

    def __init__(
        self,
        run: RunDirectory,
        checkpoint: Checkpoint,
        settings: TrainSettings,
        documents: float,
        seconds: float,
        *,
        of_stream: bool,
    ) -> None:
        self._run, self._checkpoint = run, checkpoint
        self._wanted = settings.early_stopping != "none"
        self._by_time = settings.early_stopping == "time"
        self._stopping = EarlyStopping(seconds if self._by_time else documents)
        for line in checkpoint.metrics:
            if ("passes" not in line) == of_stream:
                position = line["seconds" if self._by_time else "documents"]
                self._stopping.record(position, line["log_likelihood"])

    def due(self, n_documents: int) -> bool:
        """Whether to look, after training on so many documents."""
        return self._wanted and self._stopping.due(self._position(n_documents))

    def look(
        self,
        estimator: OnlineLDA,
        counts: sparse.csr_array,
        n_documents: int,
        n_threads: int,
        **more: float,
    ) -> bool:
        """Score validation documents; returns whether to stop.

        `more` goes into the line of the metrics too.
        """
        line = completion_of(estimator, counts, n_threads)
        line |= {"documents": n_documents, **more, "seconds": self._checkpoint.seconds}
        self._checkpoint.metrics.append(line)
        self._run.write_metrics(self._checkpoint.metrics)
        return self._stopping.record(self._position(n_documents), line["log_likelihood"])

    def _position(self, n_documents: int) -> float:
        return self._checkpoint.seconds if self._by_time else n_documents


def completion_of(estimator: OnlineLDA, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """Completion of validation documents; always the same halves, so that looks compare."""
    estimate = log_likelihood(
        estimator, counts, "completion", n_samples=1, random_state=0, n_jobs=n_threads
    )
    error = estimate.perplexity_standard_error
    return {
        "log_likelihood": estimate.total,
        "perplexity": estimate.perplexity,
        # None for a single document: JSON has no NaN.
        "perplexity_standard_error": None if math.isnan(error) else error,
        "tokens": estimate.total_tokens,
    }


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
