"""Capdevila et al. 2018, Figures 1 and 2: estimates of short documents beside the exact values.

Documents are cut to the 100 words that are most frequent, and βΓ-PFA of 5 topics is trained on all.
The paper's measure, of D documents whose exact probabilities are p_d and estimated ones p̂_d, is

    KL = Σ_d P_d log2(P_d / P̂_d),   P_d = p_d / Σ_c p_c,   P̂_d = p̂_d / Σ_c p̂_c

It hardly sees documents that are improbable, and not at all a factor that all estimates have in
common. Beside it therefore: the mean of p̂_d / p_d - 1, which is 0 for an unbiased estimator, and
mean and root mean square of log p̂_d - log p_d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from evaluation.scorer import log_likelihood
from pipeline.reproduce.capdevila2018.documents import (
    TooFewDocumentsError,
    draw_rows,
    most_frequent_words,
    trained_topics,
    whole_counts,
)
from pipeline.reproduce.capdevila2018.scores import ESTIMATORS, Cell, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scipy import sparse

    from models import GammaPoissonTopics
    from pipeline.reproduce.capdevila2018.scores import Score

Floats = NDArray[np.float64]

EXACT_BLOCK = 20
"""Documents whose exact likelihood is computed between two reports of progress."""


@dataclass(frozen=True)
class KLSettings:
    """The protocol; the defaults are the paper's, but for `max_tokens`.

    Raises
    ------
    ValueError
        If a number is too small to make sense, or burn-in leaves no sweep.
    """

    n_topics: int = 5
    n_words: int = 100
    n_documents: int = 1000
    """Scored at most, drawn from those that can be."""
    max_tokens: int = 100
    """Longer documents are not scored: for the exact likelihood, of time ~ tokens^n_topics. The
    paper's limit is 1e9 terms of eq. 7, which is about 13 different words."""
    sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
    n_repeats: int = 10
    n_sweeps: int = 1000
    burn_in: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        lowest = {
            "n_topics": 1,
            "n_words": 2,
            "n_documents": 2,
            "max_tokens": 2,
            "n_repeats": 1,
            "burn_in": 0,
            "n_sweeps": self.burn_in + 1,
        }
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if not self.sizes or min(self.sizes) < 2:
            raise ValueError(f"sizes must be numbers of samples from 2 on, found {self.sizes}")

    @property
    def cells(self) -> list[Cell]:
        """All runs of all estimators."""
        return planned(dict.fromkeys(ESTIMATORS, self.sizes), self.n_repeats)


@dataclass(frozen=True, eq=False)
class Selected:
    """The documents of one corpus that are scored, and why the others are not."""

    counts: sparse.csr_array
    """(N, V), all documents over the most frequent words: what is trained on."""
    rows: NDArray[np.intp]
    """(D,), which of them are scored."""
    n_few_words: int
    """Documents of at most one different word, which are left out as in the paper."""
    n_too_long: int
    """Documents of more than `max_tokens` tokens."""

    @property
    def documents(self) -> sparse.csr_array:
        """(D, V), those that are scored."""
        chosen: sparse.csr_array = self.counts[self.rows]
        return chosen

    @property
    def mean_length(self) -> float:
        """Tokens a document scored, on average."""
        return float(self.documents.sum() / len(self.rows))


def selected(counts: sparse.csr_array, settings: KLSettings) -> Selected:
    """Cut the vocabulary and draw the documents to score.

    Raises
    ------
    TooFewDocumentsError
        If there are fewer than two to draw from.
    """
    cut = most_frequent_words(whole_counts(counts), settings.n_words)
    n_different, n_tokens = np.diff(cut.indptr), np.asarray(cut.sum(axis=1)).ravel()
    has_words, is_short = n_different > 1, n_tokens <= settings.max_tokens
    usable = np.flatnonzero(has_words & is_short)
    if len(usable) < 2:
        raise TooFewDocumentsError(
            f"{len(usable)} documents have more than one of the {cut.shape[1]} most frequent words "
            f"and at most {settings.max_tokens} tokens: at least 2 are needed"
        )
    rows = draw_rows(usable, settings.n_documents, settings.seed)
    return Selected(cut, rows, int((~has_words).sum()), int((has_words & ~is_short).sum()))


def train(
    chosen: Selected,
    settings: KLSettings,
    n_jobs: int | None = None,
    on_sweep: Callable[[], object] | None = None,
) -> GammaPoissonTopics:
    """The model that all estimators are asked about, of all documents, those scored too."""
    sweeps = settings.n_sweeps, settings.burn_in
    return trained_topics(
        chosen.counts, settings.n_topics, sweeps, settings.seed, n_jobs=n_jobs, on_sweep=on_sweep
    )


def truth(
    topics: GammaPoissonTopics,
    chosen: Selected,
    n_jobs: int | None = None,
    on_documents: Callable[[int], object] | None = None,
) -> Floats:
    """(D,), exact log p of counts and length; `on_documents` is called with how many are done.

    Raises
    ------
    ExactCostError
        If `max_tokens` is too high for so many topics.
    """
    documents, parts = chosen.documents, []
    for first in range(0, documents.shape[0], EXACT_BLOCK):
        block = documents[first : first + EXACT_BLOCK]
        parts.append(log_likelihood(topics, block, "exact", n_jobs=n_jobs).log_likelihood)
        if on_documents is not None:
            on_documents(block.shape[0])
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class KLComparison:
    """One corpus: M estimators, S numbers of samples, R repeats, D documents."""

    name: str
    settings: KLSettings
    selected: Selected
    estimators: tuple[str, ...]
    """(M,), in the order of `ESTIMATORS`."""
    exact: Floats
    """(D,), log p."""
    log_likelihood: Floats
    """(M, S, R, D), estimates of it."""
    seconds: Floats
    """(M, S, R)"""

    @property
    def kl(self) -> Floats:
        """(M, S, R), bits between exact and estimated probabilities, both normalised."""
        log_p = self.exact - logsumexp(self.exact)
        log_q = self.log_likelihood - logsumexp(self.log_likelihood, axis=-1, keepdims=True)
        bits: Floats = (np.exp(log_p) * (log_p - log_q)).sum(axis=-1) / np.log(2.0)
        return bits

    @property
    def effective_documents(self) -> float:
        """How many documents of equal probability have the entropy of P: what KL is of."""
        log_p = self.exact - logsumexp(self.exact)
        return float(np.exp(-(np.exp(log_p) * log_p).sum()))

    @property
    def kl_mean(self) -> Floats:
        """(M, S) over repeats."""
        return _mean(self.kl)[0]

    @property
    def kl_standard_error(self) -> Floats:
        """(M, S) over repeats; NaN of a single one."""
        return _mean(self.kl)[1]

    @property
    def ratio_error(self) -> tuple[Floats, Floats]:
        """(M, S) and (M, S): mean of p̂ / p - 1 over repeats and documents, and its standard error.

        Of the means over repeats, which differ between documents independently of each other. An
        estimator of heavy tails may have had no luck in any document: both are too small then.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return _mean(np.expm1(self.log_error).mean(axis=2))

    @property
    def mean_log_error(self) -> tuple[Floats, Floats]:
        """(M, S) and (M, S): mean of log p̂ - log p in nats a document, and its standard error.

        Of an unbiased p̂ the mean is below 0 by about half the variance of log p̂.
        """
        return _mean(self.log_error.mean(axis=2))

    @property
    def root_mean_square_log_error(self) -> Floats:
        """(M, S), nats a document, over repeats and documents."""
        result: Floats = np.sqrt((self.log_error**2).mean(axis=(2, 3)))
        return result

    @property
    def log_error(self) -> Floats:
        """(M, S, R, D), log p̂ - log p in nats."""
        difference: Floats = self.log_likelihood - self.exact
        return difference


def comparison(
    name: str,
    settings: KLSettings,
    chosen: Selected,
    exact: Floats,
    scores: Mapping[Cell, Score],
) -> KLComparison:
    """The arrays of all `scores`, which must be those of the settings' cells.

    Raises
    ------
    ValueError
        If they are others.
    """
    if set(scores) != set(settings.cells):
        raise ValueError("the cells are not those of the settings")
    sizes, n_repeats = settings.sizes, settings.n_repeats
    shape = (len(ESTIMATORS), len(sizes), n_repeats)
    estimate, seconds = np.empty((*shape, len(exact))), np.empty(shape)
    for m, estimator in enumerate(ESTIMATORS):
        for s, size in enumerate(sizes):
            for repeat in range(n_repeats):
                found = scores[Cell(estimator, size, repeat)]
                estimate[m, s, repeat] = found.log_likelihood
                seconds[m, s, repeat] = found.seconds
    return KLComparison(name, settings, chosen, tuple(ESTIMATORS), exact, estimate, seconds)


def _mean(values: Floats) -> tuple[Floats, Floats]:
    """The mean over the last axis and its standard error, NaN of a single value."""
    n = values.shape[-1]
    mean: Floats = values.mean(axis=-1)
    if n == 1:
        return mean, np.full(mean.shape, np.nan)
    return mean, values.std(axis=-1, ddof=1) / np.sqrt(n)
