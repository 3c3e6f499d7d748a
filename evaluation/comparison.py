"""Models on the same documents: their differences with standard errors, and the best of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluation.estimate import LikelihoodEstimate


@dataclass(frozen=True)
class PairedDifference:
    """Difference of two models in nats a word, with its standard error."""

    nats_per_word: float
    """Positive if the second model gives the documents the higher probability."""
    standard_error: float
    """Over documents; NaN for fewer than two, or where one is impossible."""

    @property
    def z(self) -> float:
        """The difference in standard errors.

        0 for models that are the same on every document, infinite if one gains the same by every
        token, NaN if the standard error is.
        """
        if self.standard_error == 0:
            return math.copysign(math.inf, self.nats_per_word) if self.nats_per_word else 0.0
        return self.nats_per_word / self.standard_error

    @property
    def probability(self) -> float:
        """Probability that the second model is better on documents like these, Φ(z).

        By the normal approximation to the mean over documents, with nothing known before: 0.5 for
        models that are the same, NaN if the standard error is.
        """
        return math.erfc(-self.z / math.sqrt(2)) / 2

    @property
    def p_value(self) -> float:
        """Two-sided: how often equally good models would differ by this much or more, 2 Φ(-|z|)."""
        return math.erfc(abs(self.z) / math.sqrt(2))

    @property
    def perplexity_ratio(self) -> float:
        """The perplexity of the first model over that of the second, exp of the difference."""
        return math.exp(self.nats_per_word) if self.nats_per_word < 700 else math.inf


def paired_difference(first: LikelihoodEstimate, second: LikelihoodEstimate) -> PairedDifference:
    """`nats_per_word` of `first` minus that of `second`, which scored the same documents.

    Documents differ more from each other than models do on one of them: the error of the difference
    is that of the ratio of Σ δ_d to Σ n_d, where δ_d is what document d gains, and far below those
    of the two figures (linearised as in `LikelihoodEstimate.nats_per_word_standard_error`).

    Raises
    ------
    ValueError
        If the two did not score the same numbers of tokens, by the same method,
        or not in the same convention.
    """
    if not np.array_equal(first.n_tokens, second.n_tokens) or first.method != second.method:
        raise ValueError(
            "the two estimates must be of the same documents by the same method: found "
            f"{first.total_tokens} tokens by {first.method}, {second.total_tokens} by "
            f"{second.method}"
        )
    if first.convention != second.convention:
        raise ValueError(
            "the two estimates must be of the same thing: found conventions "
            f"{first.convention!r} and {second.convention!r}; give log_likelihood a convention"
        )
    scored = first.is_scored
    n_tokens, n_docs = first.n_tokens[scored], int(scored.sum())
    if not (np.isfinite(first.total) and np.isfinite(second.total) and n_docs):
        return PairedDifference(first.nats_per_word - second.nats_per_word, float("nan"))
    gain = second.log_likelihood[scored] - first.log_likelihood[scored]
    difference = float(gain.sum() / n_tokens.sum())
    if n_docs < 2:
        return PairedDifference(difference, float("nan"))
    residual = gain - difference * n_tokens
    error = np.sqrt(n_docs / (n_docs - 1) * (residual**2).sum()) / n_tokens.sum()
    return PairedDifference(difference, float(error))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models by name, each against the best."""

    estimates: Mapping[str, LikelihoodEstimate]
    best: str
    """The model with the fewest nats a word; of equal ones the first."""
    against_best: Mapping[str, PairedDifference]
    """Difference of every other model from the best, in the order of `estimates`.

    The `probability` is that the best is better than this one. As the best was chosen on these
    documents, among many models of about equal worth it says too much.
    """

    def between(self, first: str, second: str) -> PairedDifference:
        """Return the difference of model `first` from model `second`."""
        return paired_difference(self.estimates[first], self.estimates[second])


def compare(estimates: Mapping[str, LikelihoodEstimate]) -> Comparison:
    """Models that scored the same documents by the same method, compared document by document.

    The errors of the differences hold both what other documents would change and the Monte Carlo
    error of these estimates, which is in the spread of what documents gain. Not in them is what all
    documents have in common, the bias of the method. An "unbiased" method is so of the probability:
    its logarithm is too low by about half its squared standard error, and more so for the model
    that is harder to sample. Where the sum over documents of half the difference of the squared
    standard errors is not small against the difference itself, take more samples.

    Parameters
    ----------
    estimates : mapping of str to LikelihoodEstimate
        By the names of the models. Documents must be independent: see
        `LikelihoodEstimate.by_group`.

    Raises
    ------
    ValueError
        If there is no estimate, or two are not of the same tokens by the same method.
    """
    if not estimates:
        raise ValueError("there is nothing to compare")
    best = min(estimates, key=lambda name: estimates[name].nats_per_word)
    against_best = {}
    for name, estimate in estimates.items():
        if name != best:
            try:
                against_best[name] = paired_difference(estimate, estimates[best])
            except ValueError as error:
                raise ValueError(f"{name} and {best}: {error}") from error
    return Comparison(dict(estimates), best, against_best)
