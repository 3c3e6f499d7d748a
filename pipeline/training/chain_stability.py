"""Stability of topics over the chains of their trainer, for the header of the model."""

from typing import Any

from scipy.optimize import linear_sum_assignment

from evaluation.topics.stability import cosines, stability
from models import GibbsLDAChains, Topics
from models.family import Trainer
from pipeline.runs.chain_stability import HEADER


def stability_in(estimator: Trainer, topics: Topics) -> dict[str, Any]:
    """Return an entry of a model's header for `topics` of a trainer with chains, else nothing.

    Each chain is compared with the consensus of the others at the end of training. `topics` may be
    of an earlier check: those at the end are brought to their order.
    """
    if not isinstance(estimator, GibbsLDAChains) or estimator.chains < 2:
        return {}
    last = estimator.consensus_
    similar = cosines(topics.topic_word, last.topics.topic_word)
    order = linear_sum_assignment(-similar)[1]
    found = stability(topics, last.models, without=lambda n: last.without(n)[order])
    entry = {
        "chains": found.n_models,
        "threshold": found.threshold,
        "found": found.n_found.tolist(),
        "cosine": found.cosine.tolist(),
        "standard_error": found.standard_error.tolist(),
        "share": found.share,
        "share_standard_error": found.share_standard_error,
    }
    return {HEADER: entry}
