"""What an estimator of held-out likelihood returns, and perplexity as everybody should print it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Convention = Literal["sequence", "bag"]
Direction = Literal["exact", "unbiased", "lower bound", "upward biased", "plug-in"]


@dataclass(frozen=True, eq=False)
class LikelihoodEstimate:
    """Log-probability of each document under a model, in nats.

    All totals are over documents with at least one token scored; a document without any says
    nothing about the model.
    """

    log_likelihood: Floats
    """(D,), log p of each document's scored tokens, in nats."""
    standard_error: Floats
    """(D,), Monte Carlo standard error of each; 0 for a deterministic method, NaN if unknown."""
    n_tokens: NDArray[np.int64]
    """(D,), tokens scored."""
    method: str
    convention: Convention
    """"sequence": of the tokens in order. "bag": of the counts, so with the number of orders."""
    direction: Direction
    """What is known of the error. "plug-in": neither bound nor unbiased, as parameters that belong
    under an integral were replaced by their estimate."""

    def __post_init__(self) -> None:
        if not (self.log_likelihood.shape == self.standard_error.shape == self.n_tokens.shape):
            raise ValueError(
                "log_likelihood, standard_error and n_tokens must be one number a document, found "
                f"{self.log_likelihood.shape}, {self.standard_error.shape}, {self.n_tokens.shape}"
            )
        if self.convention not in get_args(Convention):
            raise ValueError(f"convention must be one of {get_args(Convention)}")
        if self.direction not in get_args(Direction):
            raise ValueError(f"direction must be one of {get_args(Direction)}")

    @property
    def n_documents(self) -> int:
        """Documents with at least one token scored."""
        return int((self.n_tokens > 0).sum())

    @property
    def total(self) -> float:
        """Log-probability of all documents, in nats."""
        return float(self.log_likelihood[self.n_tokens > 0].sum())

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
        """Standard error of `nats_per_word` over documents: how far other documents would move it.

        That of a ratio of two sums over D independent documents (the linearised, or delta, method;
        Cochran 1977, eq. 6.13): √(D/(D-1) Σ_d (ℓ_d - r n_d)²) / Σ n_d, with r = Σℓ / Σn. It holds
        the Monte Carlo error too. NaN for fewer than two documents, or where one is impossible.
        """
        scored = self.n_tokens > 0
        n_docs = int(scored.sum())
        if n_docs < 2 or not np.isfinite(self.total):
            return float("nan")
        n_tokens = self.n_tokens[scored]
        residual = self.log_likelihood[scored] + self.nats_per_word * n_tokens
        return float(np.sqrt(n_docs / (n_docs - 1) * (residual**2).sum()) / n_tokens.sum())

    @property
    def perplexity_standard_error(self) -> float:
        """Standard error of `perplexity` over documents, to first order."""
        return self.perplexity * self.nats_per_word_standard_error

    def by_group(self, groups: Sequence[str]) -> LikelihoodEstimate:
        """The same with documents of one group added up, such as the sections of an article.

        Documents of a group are not independent; their sums are what standard errors are of.

        Parameters
        ----------
        groups : sequence of str (D,)
            The group of each document; groups come out in order of first appearance.
        """
        if len(groups) != len(self.n_tokens):
            raise ValueError(f"groups must name {len(self.n_tokens)} documents, not {len(groups)}")
        position: dict[str, int] = {}
        group_of = np.array([position.setdefault(group, len(position)) for group in groups], int)
        scored = self.n_tokens > 0
        return LikelihoodEstimate(
            log_likelihood=np.bincount(
                group_of[scored], self.log_likelihood[scored], minlength=len(position)
            ).astype(np.float64),
            standard_error=np.sqrt(
                np.bincount(
                    group_of[scored], self.standard_error[scored] ** 2, minlength=len(position)
                )
            ),
            n_tokens=np.bincount(
                group_of[scored], self.n_tokens[scored], minlength=len(position)
            ).astype(np.int64),
            method=self.method,
            convention=self.convention,
            direction=self.direction,
        )
