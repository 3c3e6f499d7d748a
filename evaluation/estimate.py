"""Estimate of held-out likelihood, with perplexity in nats and standard errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from scipy.special import ndtr, stdtrit

from models.html_table import html_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evaluation.arrays import Bools, Floats, Ints

Convention = Literal["sequence", "bag", "bag-and-length"]
Direction = Literal["exact", "unbiased", "lower bound", "upward biased", "biased", "plug-in"]

MIN_EFFECTIVE_SAMPLES = 5.0  # effective sample size below which a standard error is not reliable
MISSED_FROM = 1.5  # multiple of the target above which a document misses it
PER_DOCUMENT: dict[str, type[np.generic]] = {
    "log_likelihood": np.float64,
    "standard_error": np.float64,
    "n_tokens": np.int64,
    "effective_sample_size": np.float64,
    "n_samples": np.int64,
}
"""Types of the fields that are arrays (D,). Other fields are one value."""


@dataclass(frozen=True, eq=False)
class LikelihoodEstimate:
    """Log-probability of each document under a model, in nats.

    Totals are over documents with a scored token; others carry no information on the model, unless
    the convention is "bag-and-length".
    """

    log_likelihood: Floats  #: (D,), of each document's scored tokens.
    standard_error: Floats
    """(D,), Monte Carlo standard error of each; 0 for a deterministic method, NaN if unknown."""
    n_tokens: Ints  #: (D,), tokens scored.
    method: str
    convention: Convention
    """"sequence": of the tokens in order, given their number. "bag": of the counts, given the
    number of tokens. "bag-and-length": of the counts and their number, which may be 0; see
    `evaluation.convention`."""
    direction: Direction
    """Kind of the error. "unbiased" holds for the probability: the mean of exp(log_likelihood) is
    p, so log_likelihood is too low by about half its squared standard error. "biased": consistent,
    with an unknown error for few samples. "plug-in": neither bound nor unbiased, as parameters to
    integrate over were replaced by their estimate."""
    effective_sample_size: Floats = field(default_factory=lambda: np.empty(0))
    """(D,), (Σw)² / Σw² of the samples' weights; NaN, the default, without weights."""
    n_samples: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """(D,), Monte Carlo samples of each document; 0 by default."""
    target_standard_error: float | None = None

    def __post_init__(self) -> None:
        shape = self.log_likelihood.shape
        if not self.effective_sample_size.size:
            object.__setattr__(self, "effective_sample_size", np.full(shape, np.nan))
        if not self.n_samples.size:
            object.__setattr__(self, "n_samples", np.zeros(shape, dtype=np.int64))
        for name in PER_DOCUMENT:
            if getattr(self, name).shape != shape:
                raise ValueError(
                    f"log_likelihood and {name} must be one number a document, found {shape} and "
                    f"{getattr(self, name).shape}"
                )
        if self.convention not in get_args(Convention):
            raise ValueError(f"convention must be one of {get_args(Convention)}")
        if self.direction not in get_args(Direction):
            raise ValueError(f"direction must be one of {get_args(Direction)}")

    @classmethod
    def deterministic(
        cls,
        log_likelihood: Floats,
        n_tokens: Ints,
        method: str,
        direction: Direction,
        convention: Convention = "sequence",
    ) -> Self:
        """Return the estimate of a method without sampling, with standard errors of 0."""
        error = np.zeros(len(n_tokens))
        return cls(log_likelihood, error, n_tokens, method, convention, direction)

    @classmethod
    def one_value_fields(cls) -> tuple[str, ...]:
        """Return the names of the fields that are one value for all documents."""
        return tuple(each.name for each in fields(cls) if each.name not in PER_DOCUMENT)

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return every field that is not None as an array, by its name after `prefix`."""
        return {
            prefix + each.name: np.asarray(value)
            for each in fields(self)
            if (value := getattr(self, each.name)) is not None
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self:
        """Return the estimate with the arrays of `to_arrays`, to the bit; others are skipped.

        Raises KeyError if an array is missing; ValueError if the arrays are no estimate.
        """
        values: dict[str, Any] = {}
        for name, dtype in PER_DOCUMENT.items():
            values[name] = arrays[prefix + name]
            if values[name].dtype != dtype or values[name].ndim != 1:
                raise ValueError(f"{prefix}{name} is not one number a document")
        for name in cls.one_value_fields():
            if prefix + name in arrays or name != "target_standard_error":
                values[name] = arrays[prefix + name].item()
                wanted = float if name == "target_standard_error" else str
                if not isinstance(values[name], wanted):
                    raise ValueError(f"{prefix}{name} is no {wanted.__name__}")
        return cls(**values)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences that a reader of the figures should know, such as on too few samples.

        Standard errors from few samples are unreliable: they hardly exceed 1 nat.
        """
        found = []
        target = self.target_standard_error
        if target is not None:
            misses_target = ~(self.standard_error <= MISSED_FROM * target) & (self.n_tokens > 0)
            if misses_target.any():
                found.append(
                    f"{misses_target.sum():,} documents have a standard error above "
                    f"{MISSED_FROM * target:g} nats, with at most {self.n_samples.max():,} samples"
                )
        n_low_ess = int(self.has_low_ess.sum()) if self.direction == "unbiased" else 0
        if n_low_ess:
            found.append(
                f"{n_low_ess:,} of {self.n_documents:,} documents have an effective sample size "
                f"below {MIN_EFFECTIVE_SAMPLES:g}: their log-likelihood is most likely too low, by "
                "more than its standard error says; take more samples"
            )
        return tuple(found)

    @property
    def is_scored(self) -> Bools:
        """(D,), whether a document is in totals."""
        return (self.n_tokens > 0) | (self.convention == "bag-and-length")

    @property
    def n_documents(self) -> int:
        """Number of documents in totals."""
        return int(self.is_scored.sum())

    @property
    def has_low_ess(self) -> Bools:
        """(D,), whether log p is most likely too low, by more than its standard error.

        Then the effective sample size is below `MIN_EFFECTIVE_SAMPLES`.
        """
        known = self.effective_sample_size < MIN_EFFECTIVE_SAMPLES  # never for NaN
        return known & (self.n_samples >= MIN_EFFECTIVE_SAMPLES)

    @property
    def is_unsure(self) -> Bools:
        """Return `has_low_ess`: the former name."""
        warnings.warn("is_unsure is now has_low_ess", DeprecationWarning, stacklevel=2)
        return self.has_low_ess

    @property
    def total(self) -> float:
        """Log-probability of all documents, in nats."""
        return float(self.log_likelihood[self.is_scored].sum())

    @property
    def total_tokens(self) -> int:
        """Tokens scored in all documents."""
        return int(self.n_tokens.sum())

    @property
    def nats_per_word(self) -> float:
        """-log p / tokens."""
        return -self.total / self.total_tokens if self.total_tokens else float("nan")

    @property
    def bits_per_word(self) -> float:
        """-log2 p / tokens."""
        return self.nats_per_word / float(np.log(2.0))

    @property
    def perplexity(self) -> float:
        """exp(-log p / tokens); infinite if some document is impossible under the model."""
        return float(np.exp(self.nats_per_word))

    @property
    def nats_per_word_standard_error(self) -> float:
        """Standard error of `nats_per_word` over documents, which includes the Monte Carlo error.

        NaN for fewer than two documents, or with an impossible one.
        """
        if self.n_documents < 2 or not np.isfinite(self.total):
            return float("nan")
        n_tokens = self.n_tokens[self.is_scored]
        residual = self.log_likelihood[self.is_scored] + self.nats_per_word * n_tokens
        return error_of_ratio(residual, n_tokens)

    @property
    def monte_carlo_standard_error(self) -> float:
        """Standard error of `total` from sampling alone, of these documents; NaN if unknown."""
        return float(np.sqrt((self.standard_error[self.is_scored] ** 2).sum()))

    @property
    def perplexity_standard_error(self) -> float:
        """Standard error of `perplexity` over documents, to first order."""
        return self.perplexity * self.nats_per_word_standard_error

    def _repr_html_(self) -> str:
        """Return a plain table of the totals, for notebooks."""
        rows = [
            ("perplexity", f"{self.perplexity:,.2f}", f"{self.perplexity_standard_error:,.2f}"),
            (
                "nats per word",
                f"{self.nats_per_word:.4f}",
                f"{self.nats_per_word_standard_error:.4f}",
            ),
            (
                "log-probability, nats",
                f"{self.total:,.1f}",
                f"{self.monte_carlo_standard_error:,.1f} (sampling alone)",
            ),
            ("documents", f"{self.n_documents:,}", ""),
            ("tokens", f"{self.total_tokens:,}", ""),
        ]
        caption = f"{self.method}, {self.convention}, {self.direction}"
        return html_table(
            ("", "value", "standard error"), rows, "; ".join((caption, *self.warnings))
        )

    def by_group(self, groups: Sequence[str]) -> LikelihoodEstimate:
        """Return the estimate with documents of a group summed, such as the sections of an article.

        `groups` (D,) are in order of first appearance. Standard errors are over the sums, as
        documents of a group are not independent.
        """
        if len(groups) != len(self.n_tokens):
            raise ValueError(f"groups must name {len(self.n_tokens)} documents, not {len(groups)}")
        position: dict[str, int] = {}
        group_of = np.array([position.setdefault(group, len(position)) for group in groups], int)

        def summed(values: NDArray[Any], dtype: type = np.float64) -> NDArray[Any]:
            scored = self.is_scored
            return np.bincount(group_of[scored], values[scored], len(position)).astype(dtype)

        return LikelihoodEstimate(
            log_likelihood=summed(self.log_likelihood),
            standard_error=np.sqrt(summed(self.standard_error**2)),
            n_tokens=summed(self.n_tokens, np.int64),
            method=self.method,
            convention=self.convention,
            direction=self.direction,
            n_samples=summed(self.n_samples, np.int64),
        )


def allowed_errors(of_normal: float, n_values: int) -> float:
    """Return how many standard errors a mean of `n_values` is off by as rarely as a normal variable
    by `of_normal`: the quantile of Student's t. NaN for fewer than two values.
    """
    return float(stdtrit(n_values - 1, ndtr(of_normal))) if n_values > 1 else float("nan")


def error_of_ratio(residual: Floats, n_tokens: Ints) -> float:
    """Return the standard error of a ratio r = Σℓ / Σn of sums over D >= 2 independent documents.

    It is √(D/(D-1) Σ_d (ℓ_d - r n_d)²) / Σ n_d, linearised by the delta method (Cochran 1977,
    eq. 6.13), with the `residual` ℓ - r n (D,).
    """
    n_docs = len(residual)
    return float(np.sqrt(n_docs / (n_docs - 1) * (residual**2).sum()) / n_tokens.sum())
