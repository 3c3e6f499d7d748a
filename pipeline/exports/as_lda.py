"""Run whose model is LDA, as formats of LDA need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluation.methods import scoring_of
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from models.topics import WeightedTopics
    from pipeline.runs.loaded_run import LoadedRun


def lda_of(run: LoadedRun, why: str) -> WeightedTopics:
    """Return the topics of the run with alpha, or raise UsageError: "… is no LDA, `why`"."""
    topics = run.model.topics
    as_lda = scoring_of(topics).as_lda
    seen_as = None if as_lda is None else as_lda(topics)
    if seen_as is None or seen_as.log_factor is not None:
        raise UsageError(f"{run.name} is no LDA, {why}")
    return seen_as.topics
