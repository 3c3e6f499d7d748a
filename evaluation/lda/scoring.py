"""Estimators of the likelihood of documents under LDA, and other functions of the family."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arrays import Bools, Floats
from evaluation.completion import completion
from evaluation.family import AsLDA, Method, Scoring, Validation
from evaluation.lda.annealed import annealed
from evaluation.lda.annealing_from_mean import annealing_from_mean
from evaluation.lda.exact import checked_costs, exact
from evaluation.lda.harmonic_mean import harmonic_mean
from evaluation.lda.left_to_right import left_to_right_particle
from evaluation.lda.left_to_right_sequential import left_to_right_sequential
from evaluation.lda.mean_field import mean_field_is_1, mean_field_is_2
from evaluation.lda.simulate import simulated_documents
from evaluation.lda.variational_bound import variational_bound
from models.completion import DEFAULT_SPLITS
from models.lda.topics import LDATopics

EXACT = Method(
    "exact",
    exact,
    "The sum over all possible topics of all words: there is no error of estimation.",
    is_sampled=False,
    check_cost=checked_costs,
)
LEFT_TO_RIGHT_SEQUENTIAL = Method(
    "left-to-right-sequential",
    left_to_right_sequential,
    "The figure to quote: unbiased for the probability of a document. Words are predicted one "
    "after another from those before. Where samples are few for a document, it errs towards a "
    "perplexity that is too high.",
    is_unbiased=True,
)
ANNEALED = Method(
    "annealed-importance-sampling",
    annealed,
    "Unbiased for the probability of a document, by Markov chains that are led up to the model "
    "step by step. With few chains or steps it errs towards a perplexity that is too high.",
    is_unbiased=True,
)
ANNEALED_FROM_MEAN = Method(
    "annealing-from-mean",
    annealing_from_mean,
    "Unbiased for the probability of a document, by Markov chains that are led to the model from "
    "the likely topics of a document: for long documents under many topics, where it errs least. "
    "With few chains it errs towards a perplexity that is too high.",
    is_unbiased=True,
)
RARE_SAMPLES = (
    "Unbiased for the probability of a document, but rare samples carry much of it: most often the "
    "perplexity is somewhat too high, by more than the Monte Carlo error shows."
)
MEAN_FIELD_IS_2 = Method("mean-field-is-2", mean_field_is_2, RARE_SAMPLES, is_unbiased=True)
MEAN_FIELD_IS_1 = Method("mean-field-is-1", mean_field_is_1, RARE_SAMPLES, is_unbiased=True)
LEFT_TO_RIGHT_PARTICLE = Method(
    "left-to-right-particle",
    left_to_right_particle,
    "Biased, most often towards a perplexity that is too high, and more particles do not mend it. "
    "It is what MALLET prints.",
)
VARIATIONAL_BOUND = Method(
    "variational-bound",
    variational_bound,
    "An upper bound: the true perplexity of these documents is below this, by an unknown amount. "
    "Nothing is sampled.",
    is_sampled=False,
)
COMPLETION = Method(
    "completion",
    completion,
    "Not the perplexity of whole documents: the model has seen half of each when it predicts the "
    "other half, so the figure is usually lower, and neither a bound nor unbiased. It is quick and "
    "treats models alike, which makes it good for comparing them.",
    scored="second half of each document, given the first",
    is_conditional=True,
    sample="division",  # it draws no topics: it divides each document anew
    default_samples=DEFAULT_SPLITS,
)
HARMONIC_MEAN = Method(
    "harmonic-mean",
    harmonic_mean,
    "A warning, not a perplexity: published often, and far too low, because the samples that would "
    "raise it hardly ever turn up. Do not quote it.",
    is_quotable=False,
)
COMPLETION_AND_BOUND = Validation(
    "completion", "completion of half of each document, given the other half", has_bound=True
)


def scores_given(
    topics: LDATopics, seen: sparse.csr_array, hidden: Bools, task: str, n_jobs: int | None
) -> Floats:
    """Return the posterior mean of the proportions (D, K) given the seen words."""
    del hidden, task
    return topics.transform(seen, n_jobs=n_jobs)


def restricted(topics: LDATopics, words: NDArray[np.intp]) -> LDATopics | None:
    """Return topics of documents with only the words S; None if no topic has any of them.

    With m_k = Σ_{w in S} φ_kw, each token of the words S is drawn from topics φ_kw / m_k; the
    proportions of topics, and their prior, become those of the tokens of S. If all m_k equal m,
    this is the model given that all tokens are of S, and log p of N tokens increases by -N log m.
    Topics without any of the words are left out.
    """
    kept = topics.topic_word[:, words]
    mass = kept.sum(axis=1)
    has_some = mass > 0
    if not has_some.any():
        return None
    return LDATopics(kept[has_some] / mass[has_some, None], topics.alpha[has_some])


SCORINGS = (
    Scoring(
        topics=LDATopics,
        methods=(
            EXACT,
            LEFT_TO_RIGHT_SEQUENTIAL,
            ANNEALED,
            ANNEALED_FROM_MEAN,
            MEAN_FIELD_IS_2,
            MEAN_FIELD_IS_1,
            LEFT_TO_RIGHT_PARTICLE,
            VARIATIONAL_BOUND,
            COMPLETION,
            HARMONIC_MEAN,
        ),
        default="completion",
        shown=(
            *("left-to-right-sequential", "mean-field-is-2", "variational-bound"),
            *("completion", "harmonic-mean"),
        ),
        validation=COMPLETION_AND_BOUND,
        as_lda=AsLDA,
        simulate=simulated_documents,
        scores_given=scores_given,
        restricted=restricted,
    ),
)
