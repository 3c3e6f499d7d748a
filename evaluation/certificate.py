"""`certify`: check an estimator of likelihoods on documents simulated from the model.

The exact log-probability of real documents is out of reach for most models. But documents that are
simulated from the model come with an exact draw from the posterior of their topics, and so with two
stochastic bounds on log p (Grosse, Ghahramani & Adams 2015). An estimator whose values on such
documents, of the same lengths, are outside this bracket is wrong; errors smaller than the width of
the bracket are not detected.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from evaluation.arrays import Floats
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate, allowed_errors
from evaluation.lda.annealed import (
    BOUND_CHAINS,
    BOUND_TEMPERATURES,
    AnnealedBounds,
    annealed_bounds,
)
from evaluation.lda.simulate import checked_lengths
from evaluation.methods import fitted_topics, scoring_of
from evaluation.scorer import log_likelihood
from models.checks import check_whole
from models.counts import checked_counts
from models.seed import seed_from

DEFAULT_DOCUMENTS = 100
STANDARD_ERRORS = 2.0
"""Paired standard errors by which the bracket is widened, for many documents; for few documents by
more, as Student's t is wider."""
ROUNDING = 1e-9
"""Relative difference of log-likelihoods that is rounding: bounds can be exact, with error 0."""


@dataclass(frozen=True)
class Certificate:
    """Estimator's values compared with a bracket of the true values, on simulated documents.

    Means are over documents and in nats for each document, unless stated otherwise. Standard errors
    are over documents: they include the noise of chains and estimator, and those of differences are
    paired by document.
    """

    method: str
    direction: str
    n_documents: int
    n_tokens: int
    log_likelihood: float  #: Mean of the estimator's values.
    log_likelihood_standard_error: float
    lower: float  #: Mean of the annealed lower bounds: in expectation not above the mean of log p.
    lower_standard_error: float
    upper: float  #: Mean of the annealed upper bounds: in expectation not below the mean of log p.
    upper_standard_error: float
    gap: float  #: upper - lower; below 0 only by chance. `gap_per_word` is in nats a word.
    gap_standard_error: float
    gap_per_word: float
    gap_per_word_standard_error: float
    above_lower: float  #: log_likelihood - lower. Far below 0: the estimator's values are too low.
    above_lower_standard_error: float
    below_upper: float  #: upper - log_likelihood. Far below 0: the estimator's values are too high.
    below_upper_standard_error: float
    consistent: bool
    """Whether neither of the two is further below 0 than `STANDARD_ERRORS` of its standard errors,
    or more with few documents. The log of a noisy unbiased estimate is too low on average, which
    can make it False too."""
    n_samples: int | None  #: Samples of the estimator; None for its default.
    n_chains: int
    n_temperatures: int
    seed: int


def certify(
    model: Any,
    lengths_or_counts: Any,
    method: str,
    *,
    n_documents: int = DEFAULT_DOCUMENTS,
    n_samples: int | None = None,
    target_standard_error: float | None = None,
    max_memory: int | None = None,
    n_chains: int = BOUND_CHAINS,
    n_temperatures: int = BOUND_TEMPERATURES,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Certificate:
    """Simulate documents from a model, bracket their log-probability, and score them by a method.

    Parameters
    ----------
    model : LDATopics or GammaPoissonTopics, or an estimator with fitted `topics_`
    lengths_or_counts : (D,) or sparse or dense (D, V)
        Lengths of the simulated documents, or counts with these lengths. Gamma-Poisson models
        simulate as many documents with lengths of their own, and drop those without tokens.
    method : str
        A method of `evaluation.log_likelihood` that scores whole documents.
    n_documents : int
        Maximal number of documents, drawn at random from those with a token; at least 2.
    n_chains, n_temperatures : int
        Size of annealed importance sampling in each direction; more give a narrower bracket.

    Other settings and all errors are those of `log_likelihood`. Raises ValueError also if the
    method does not score whole documents in order or fewer than two documents have a token, and
    TypeError if the family of the model cannot simulate documents.
    """
    topics = fitted_topics(model)
    scoring = scoring_of(model)
    if scoring.simulate is None or scoring.as_lda is None:
        why = f": {scoring.refuses['certify']}" if "certify" in scoring.refuses else ""
        instead = "; short documents can be scored by exact" if "exact" in scoring.names else ""
        raise TypeError(
            f"no documents can be simulated from a {type(model).__name__}{why}{instead}"
        )
    check_whole("n_documents", n_documents, 2)
    check_whole("n_chains", n_chains, 1)
    check_whole("n_temperatures", n_temperatures, 2)
    seed = seed_from(random_state)
    choosing, simulating, sampling, annealing = np.random.SeedSequence(seed).generate_state(4)
    if sparse.issparse(lengths_or_counts) or np.ndim(lengths_or_counts) == 2:
        lengths = DocumentBlock(checked_counts(lengths_or_counts, topics.n_words)).n_tokens
    else:
        lengths = checked_lengths(lengths_or_counts)
    lengths = lengths[lengths > 0]
    if len(lengths) < 2:
        raise ValueError(f"two documents with a token at least are needed, found {len(lengths)}")
    size = min(int(n_documents), len(lengths))
    chosen = np.random.default_rng(choosing).choice(len(lengths), size, replace=False)
    lengths = lengths[np.sort(chosen)]
    counts, assignments = scoring.simulate(topics, lengths, np.random.default_rng(simulating))
    lengths = DocumentBlock(counts).n_tokens
    estimate = log_likelihood(
        topics,
        counts,
        method,
        n_samples=n_samples,
        target_standard_error=target_standard_error,
        max_memory=max_memory,
        convention="sequence",
        random_state=int(sampling),
        n_jobs=n_jobs,
    )
    if estimate.direction == "plug-in" or not np.array_equal(estimate.n_tokens, lengths):
        raise ValueError(
            f"method = {method!r} scores {estimate.total_tokens} of {lengths.sum()} tokens, "
            f"direction {estimate.direction!r}: only log-probabilities of whole documents can be "
            "certified, such as those of a left-to-right method"
        )
    as_lda = scoring.as_lda(topics)
    bounds = annealed_bounds(
        as_lda.topics,
        counts,
        assignments,
        n_samples=n_chains,
        n_temperatures=n_temperatures,
        seed=int(annealing),
        n_jobs=n_jobs,
    )
    if as_lda.log_factor is not None:
        constant = as_lda.log_factor(counts)
        bounds = replace(bounds, lower=bounds.lower + constant, upper=bounds.upper + constant)
    return _certificate(estimate, bounds, n_samples, seed)


def _certificate(
    estimate: LikelihoodEstimate, bounds: AnnealedBounds, n_samples: int | None, seed: int
) -> Certificate:
    values, n_tokens = estimate.log_likelihood, bounds.n_tokens
    of_documents = {
        "log_likelihood": values,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "gap": bounds.upper - bounds.lower,
        "above_lower": values - bounds.lower,
        "below_upper": bounds.upper - values,
    }
    mean = {name: float(each.mean()) for name, each in of_documents.items()}
    error = {name: _standard_error(each) for name, each in of_documents.items()}
    gap_per_word = mean["gap"] / n_tokens.mean()
    # Standard error of a ratio of sums, as in `LikelihoodEstimate.nats_per_word_standard_error`.
    residual_error = _standard_error(of_documents["gap"] - gap_per_word * n_tokens)
    tolerance = ROUNDING * abs(mean["lower"])
    allowed = allowed_errors(STANDARD_ERRORS, len(values))
    return Certificate(
        **mean,
        **{f"{name}_standard_error": each for name, each in error.items()},
        method=estimate.method,
        direction=estimate.direction,
        n_documents=len(values),
        n_tokens=int(n_tokens.sum()),
        gap_per_word=float(gap_per_word),
        gap_per_word_standard_error=float(residual_error / n_tokens.mean()),
        consistent=bool(
            all(
                mean[name] >= -allowed * error[name] - tolerance
                for name in ("above_lower", "below_upper")
            )
        ),
        n_samples=n_samples,
        n_chains=bounds.n_chains,
        n_temperatures=bounds.n_temperatures,
        seed=seed,
    )


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
