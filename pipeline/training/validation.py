"""Validation checks during training, on a corpus or a stream."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.row_blocks import taken_rows
from evaluation import log_likelihood
from evaluation.methods import scoring_of
from models import EarlyStopping, Topics
from models.family import Trainer
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.training.checkpoint import Checkpoint
from pipeline.training.trainers import spec_of

CHECK_SECONDS = 5.0
MAX_CHECKED_DOCUMENTS = 1000
"""Validation documents scored at a check, at most: the cost does not grow with the corpus."""
BOUND_SAMPLE_RATIO, MIN_BOUND_SAMPLE = 8, 40
"""Share and least number of documents for the variational bound. It takes up to 2.5 times as long
as completion; on this part it adds 0.2 to 0.45 of completion's time (8 to 100 topics)."""


class ValidationChecks:
    """Validation checks: when they are due, their scores, and the best topics.

    The run's metrics record the checks, the checkpoint keeps them and the best topics. `n_docs` is
    the number of training documents. The validation documents of a stream grow in number, so its
    scores are not comparable: they do not end training, and its topics are not kept.
    """

    def __init__(
        self,
        run: RunDirectory,
        checkpoint: Checkpoint,
        settings: TrainSettings,
        n_docs: int,
        n_threads: int,
        *,
        of_stream: bool,
    ) -> None:
        self._run, self._checkpoint, self._n_threads = run, checkpoint, n_threads
        self._of_stream = of_stream
        self._wanted = settings.early_stopping != "none"
        self._by_time = settings.early_stopping == "time"
        growth = spec_of(settings).interval.growth
        self._stopping = EarlyStopping(
            CHECK_SECONDS if self._by_time else check_interval(settings, n_docs),
            growth=EarlyStopping.growth if growth is None else growth,
            tolerance=settings.stopping_tolerance,
            patience=settings.stopping_patience,
        )
        self._last = 0  # documents at the last check
        for line in checkpoint.metrics:
            if ("passes" not in line) == of_stream:
                self._record(line)

    def check_if_due(
        self,
        estimator: Trainer,
        counts: sparse.csr_array,
        n_documents: int,
        *,
        is_end: bool = False,
        is_finished: bool = False,
        **more: float,
    ) -> bool:
        """Score validation documents (D, V) if a check is due; return whether to stop.

        A trainer that is not ready is not checked. `n_documents` were seen in training. At the end
        a check is due, unless these topics were just checked, and when training is finished by
        other topics, whose line says so. `more` are fields of the line of metrics.
        """
        if not (self._wanted and counts.nnz and estimator.is_ready):
            return False
        seconds = self._checkpoint.seconds
        is_due = self._stopping.due(seconds if self._by_time else n_documents)
        if not (is_finished or (self._last < n_documents if is_end else is_due)):
            return False
        metrics, topics = self._checkpoint.metrics, estimator.topics_
        line = validation_of(topics, counts, self._n_threads)
        line |= {"documents": n_documents, **more, "seconds": seconds}
        before = metrics[-1] if metrics else {"documents": 0, "seconds": 0.0}
        elapsed = seconds - before["seconds"]
        line["documents_per_second"] = (
            (n_documents - before["documents"]) / elapsed if elapsed and not is_finished else None
        )
        if is_finished:
            line["finished"] = True
        metrics.append(line)
        if not self._of_stream:
            self._keep_if_best(topics)
        self._run.write_metrics(metrics)
        return self._record(line) and not self._of_stream

    def _record(self, line: dict[str, Any]) -> bool:
        self._last = line["documents"]
        position = line["seconds" if self._by_time else "documents"]
        return self._stopping.record(position, line["log_likelihood"])

    def _keep_if_best(self, topics: Topics) -> None:
        """Keep the topics of the last check if they are the best, and record that in its line."""
        checkpoint, metrics = self._checkpoint, self._checkpoint.metrics
        best, score = checkpoint.best_look, metrics[-1]["log_likelihood"]
        if best is None or score > metrics[best]["log_likelihood"]:
            checkpoint.best, checkpoint.best_look = topics, len(metrics) - 1
        assert checkpoint.best_look is not None
        metrics[-1]["best_perplexity"] = metrics[checkpoint.best_look]["perplexity"]


def check_interval(settings: TrainSettings, n_docs: int) -> int:
    """Return the least distance between two checks, in documents."""
    interval = spec_of(settings).interval
    return min(interval.passes * n_docs, interval.documents)


def validation_sample(counts: sparse.csr_array) -> sparse.csr_array:
    """Return the validation documents (D, V) of a check: all, or evenly spaced ones."""
    if counts.shape[0] <= MAX_CHECKED_DOCUMENTS:
        return counts
    return taken_rows(counts, evenly_spaced(counts.shape[0], MAX_CHECKED_DOCUMENTS))


def evenly_spaced(number: int, most: int) -> NDArray[np.int64]:
    """Return indices below `number`: all, or `most` evenly spaced ones."""
    return np.arange(number) if number <= most else np.arange(most) * number // most


def validation_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """Score validation documents by the family's method.

    Random halves of documents, or chains, are the same in all checks.
    """
    validation = scoring_of(topics).validation
    estimate = log_likelihood(
        topics, counts, validation.method, n_samples=1, random_state=0, n_jobs=n_threads
    )
    error = estimate.perplexity_standard_error
    line = {
        "log_likelihood": estimate.total,
        "perplexity": estimate.perplexity,
        # None for a single document: JSON has no NaN.
        "perplexity_standard_error": None if math.isnan(error) else error,
        "tokens": estimate.total_tokens,
    }
    return line | bound_of(topics, counts, n_threads) if validation.has_bound else line


def bound_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """Return exp(−variational bound / tokens) of some whole validation documents.

    This is above their perplexity. It does not compare with that of completion, which scores half
    of each document given the other half.
    """
    number = counts.shape[0]
    rows = evenly_spaced(number, max(MIN_BOUND_SAMPLE, number // BOUND_SAMPLE_RATIO))
    estimate = log_likelihood(
        topics, counts[rows], "variational-bound", convention="sequence", n_jobs=n_threads
    )
    is_known = estimate.total_tokens > 0 and math.isfinite(estimate.perplexity)
    return {
        "bound_perplexity": estimate.perplexity if is_known else None,
        "bound_tokens": estimate.total_tokens,
    }
