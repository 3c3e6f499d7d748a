"""Stability of topics over the chains of their trainer, for the header of the model."""

from typing import Any

from models import GibbsChainsState, Topics
from pipeline.runs.chain_stability import HEADER


def stability_in(estimator: Any, topics: Topics) -> dict[str, Any]:
    """Return an entry of a model's header for `topics` of a trainer with chains, else nothing.

    Each chain is compared with the consensus of the others at the end of training. `topics` may be
    of an earlier check: those at the end are brought to their order.
    """
    if not isinstance(estimator.state_, GibbsChainsState) or estimator.chains < 2:
        return {}
    # Imported here: scipy.optimize takes long to import.
    from evaluation.topics.stability import partners, stability  # noqa: PLC0415

    last = estimator.consensus_
    order = partners(topics.topic_word, last.topics.topic_word)
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
