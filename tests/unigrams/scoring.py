"""The likelihood of documents under a mixture of unigrams, which is a sum over its topics."""

import numpy as np
from scipy.special import logsumexp

from evaluation import LikelihoodEstimate
from evaluation.family import Method, Scoring, Validation
from tests.unigrams.model import UnigramMixture


def exact(topics, documents, **_):
    """Log-probability of each document's tokens in order."""
    n_tokens = documents.n_tokens
    return LikelihoodEstimate(
        log_likelihood=np.where(
            n_tokens > 0, logsumexp(topics.log_joint(documents.counts), axis=1), 0.0
        ),
        standard_error=np.zeros(len(n_tokens)),
        n_tokens=n_tokens,
        method="exact",
        convention="sequence",
        direction="exact",
    )


def restricted(topics, words):
    """The topics among the words, of shares as they are."""
    kept = topics.topic_word[:, words]
    return UnigramMixture(kept / kept.sum(axis=1, keepdims=True), topics.share)


SCORINGS = (
    Scoring(
        topics=UnigramMixture,
        methods=(
            Method("exact", exact, "The sum over all topics of a document.", is_sampled=False),
        ),
        default="exact",
        shown=("exact",),
        validation=Validation("exact", "likelihood of whole documents"),
        refuses={"completion": "the tests have no need of it"},
        restricted=restricted,
    ),
)
