"""The likelihood of documents under Gamma-Poisson models: estimators, and what else they take."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arrays import Bools, Floats, Ints, Ints32, Rng
from evaluation.document_blocks import DocumentBlock
from evaluation.family import AsLDA, Method, Scoring
from evaluation.gamma_poisson.by_lda import by_lda, log_factor_of_tokens
from evaluation.gamma_poisson.direct_sampling import direct_sampling
from evaluation.gamma_poisson.harmonic_mean import harmonic_mean
from evaluation.gamma_poisson.left_to_right import left_to_right, left_to_right_exact
from evaluation.gamma_poisson.length import log_length_probability
from evaluation.gamma_poisson.simulate import simulated_documents
from evaluation.lda import scoring as lda
from evaluation.lda.exact import checked_costs
from models.gamma_poisson.topics import GammaPoissonTopics


def _check_cost(topics: GammaPoissonTopics, documents: DocumentBlock, *limits: Any) -> None:
    """Raise the ExactCostError that `exact` would."""
    checked_costs(topics.tilted, documents, *limits)


def _of_lda(method: Method) -> Method:
    return replace(method, score=by_lda(method.score))


WORD_BY_WORD = (
    "Biased by an unknown amount, which shrinks with more samples: words are predicted one after "
    "another from those before"
)
METHODS = (
    replace(_of_lda(lda.EXACT), check_cost=_check_cost),
    _of_lda(lda.LEFT_TO_RIGHT_SEQUENTIAL),
    _of_lda(lda.ANNEALED),
    _of_lda(lda.ANNEALED_FROM_MEAN),
    Method(
        "left-to-right-exact",
        left_to_right_exact,
        f"{WORD_BY_WORD}, each without an error (Capdevila et al. 2018).",
    ),
    Method("left-to-right", left_to_right, f"{WORD_BY_WORD} (Capdevila et al. 2018)."),
    _of_lda(lda.MEAN_FIELD_IS_2),
    _of_lda(lda.MEAN_FIELD_IS_1),
    Method(
        "direct-sampling",
        direct_sampling,
        "Unbiased for the probability of a document, but by guessing its topics blindly: for all "
        "but short documents nearly every guess is wrong, and the perplexity comes out too high.",
        is_unbiased=True,
    ),
    _of_lda(lda.VARIATIONAL_BOUND),
    lda.COMPLETION,
    replace(lda.HARMONIC_MEAN, score=harmonic_mean),
)


def tilted(topics: GammaPoissonTopics) -> AsLDA:
    """Return tilted topics, with which LDA gives the model's probability up to a known factor."""
    return AsLDA(topics.tilted, partial(log_factor_of_tokens, topics))


def simulate(
    topics: GammaPoissonTopics, lengths: Ints, rng: Rng
) -> tuple[sparse.csr_array, Ints32]:
    """Simulate as many documents as `lengths`, with random lengths; drop empty ones."""
    counts, assignments = simulated_documents(topics, len(lengths), rng)
    filled = np.diff(counts.indptr) > 0
    if filled.sum() < 2:
        raise ValueError("the model expects documents without tokens: too few others came out")
    return counts[filled], assignments


def scores_given(
    topics: GammaPoissonTopics, seen: sparse.csr_array, hidden: Bools, task: str, n_jobs: int | None
) -> Floats:
    """Return the posterior mean of the scores (D, K) given the seen words."""
    if task == "completion":
        return topics.thinned(0.5).transform(seen, n_jobs=n_jobs)
    visible = np.where(hidden, 0.0, topics.topic_word)
    if not visible.any():  # nothing is ever seen
        return np.tile(topics.shape / topics.rate, (seen.shape[0], 1))
    seen_by = GammaPoissonTopics(visible, topics.shape, topics.probability)
    return seen_by.transform(seen, n_jobs=n_jobs)


def restricted(topics: GammaPoissonTopics, words: NDArray[np.intp]) -> GammaPoissonTopics | None:
    """Return topics of documents with only these words; None if no topic has any of them.

    It is exact: other words are integrated out.
    """
    kept = topics.topic_word[:, words]
    has_some = kept.sum(axis=1) > 0
    if not has_some.any():
        return None
    return GammaPoissonTopics(kept[has_some], topics.shape[has_some], topics.probability[has_some])


SCORINGS = (
    Scoring(
        topics=GammaPoissonTopics,
        methods=METHODS,
        default="completion",
        shown=(
            *("left-to-right-sequential", "mean-field-is-2", "direct-sampling"),
            *("variational-bound", "completion"),
        ),
        validation=lda.COMPLETION_AND_BOUND,
        as_lda=tilted,
        log_length=log_length_probability,
        simulate=simulate,
        scores_given=scores_given,
        restricted=restricted,
    ),
)
