"""Models on the same documents: their differences with standard errors, and the best of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluation.estimate import LikelihoodEstimate, error_of_ratio
from models.html_table import html_table


@dataclass(frozen=True)
class PairedDifference:
    """Difference of two models in nats a word, with its standard error."""

    nats_per_word: float
    """Positive if the second model gives the documents the higher probability."""
    standard_error: float
    """Error over documents; NaN for fewer than two, or with an impossible one."""

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 if the models agree on every document."""
        if self.standard_error == 0:
            return math.copysign(math.inf, self.nats_per_word) if self.nats_per_word else 0.0
        return self.nats_per_word / self.standard_error

    @property
    def probability(self) -> float:
        """Probability that the second model is better on documents like these, Φ(z).

        It uses the normal approximation to the mean over documents and a flat prior.
        """
        return math.erfc(-self.z / math.sqrt(2)) / 2

    @property
    def p_value(self) -> float:
        """Two-sided probability that equally good models differ at least as much, 2 Φ(-|z|)."""
        return math.erfc(abs(self.z) / math.sqrt(2))

    @property
    def perplexity_ratio(self) -> float:
        """The perplexity of the first model over that of the second, exp of the difference."""
        return math.exp(self.nats_per_word) if self.nats_per_word < 700 else math.inf


def paired_difference(first: LikelihoodEstimate, second: LikelihoodEstimate) -> PairedDifference:
    """Return `nats_per_word` of `first` minus that of `second`, for the same documents.

    Documents differ more than models do on one document: the error of the difference is that of the
    ratio of Σ δ_d to Σ n_d, where δ_d is the gain on document d, and far below the errors of the
    two figures (linearised as in `LikelihoodEstimate.nats_per_word_standard_error`).

    Raises ValueError if the two differ in numbers of tokens, method or convention.
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
    return PairedDifference(difference, error_of_ratio(gain - difference * n_tokens, n_tokens))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models by name, each against the best."""

    estimates: Mapping[str, LikelihoodEstimate]
    best: str  #: The model with the lowest nats a word; the first of equal ones.
    against_best: Mapping[str, PairedDifference]
    """Difference of every other model from the best, in the order of `estimates`.

    Their `probability` is too high among many similar models, as the best was chosen on these
    documents."""

    def between(self, first: str, second: str) -> PairedDifference:
        """Return the difference of model `first` from model `second`."""
        return paired_difference(self.estimates[first], self.estimates[second])

    def _repr_html_(self) -> str:
        """Return a plain table of the models, for notebooks: the best first."""
        rows = []
        by_perplexity = sorted(self.estimates, key=lambda name: self.estimates[name].nats_per_word)
        for name in (self.best, *(each for each in by_perplexity if each != self.best)):
            estimate, against = self.estimates[name], self.against_best.get(name)
            rows.append(
                (
                    name,
                    f"{estimate.perplexity:,.2f}",
                    f"{estimate.nats_per_word:.4f}",
                    "best" if against is None else f"{against.nats_per_word:.4f}",
                    "" if against is None else f"{against.standard_error:.4f}",
                    "" if against is None else f"{against.z:.1f}",
                )
            )
        header = ("model", "perplexity", "nats per word", "behind the best", "standard error", "z")
        first = self.estimates[self.best]
        return html_table(header, rows, f"{first.method}, {first.n_documents:,} documents")


def compare(estimates: Mapping[str, LikelihoodEstimate]) -> Comparison:
    """Compare models that scored the same documents by the same method, document by document.

    The errors of the differences include the variance over documents and the Monte Carlo error of
    the estimates, but not the bias of the method. An "unbiased" method is unbiased for the
    probability: its logarithm is too low by about half its squared standard error, more so for the
    model that is harder to sample. If half the difference of the squared standard errors, summed
    over documents, is not small against the difference itself, take more samples.

    `estimates` are by the names of the models, and of independent documents: see
    `LikelihoodEstimate.by_group`. Raises ValueError if there is no estimate, or two differ in
    tokens or method.
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
