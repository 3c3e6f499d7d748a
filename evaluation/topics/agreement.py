"""Agreement of the topics of several models: from other seeds, resampled documents, or programs.

For each ordered pair of N models and each topic of the first: the largest cosine of its weights
with those of a topic of the second, the rank-biased overlap of its top words with those of its
partner, and whether the partner's cosine is at least 0.9. Partners are matched one to one by the
largest sum of cosines; of overlaps, where a model has words alone.

**Errors.** Pairs share models, so that N (N - 1) pairs are far fewer than as many draws: their mean
is a U-statistic, whose error is that of N draws. `share` and the other totals have the jackknife
over models: without a model means all its pairs. It counts twice what two models have in common
beyond what each of them adds (Efron & Stein 1981). With variances σ² of models and τ² of pairs in
`h_ij = μ + a_i + a_j + e_ij` it is 4/N (σ² + τ² / (N - 2)) in place of 4/N (σ² + τ² / (2 (N - 1))).
The factor 1 - 0.6 / (N - 1) is three fifths of the way from the one for τ² = 0 to the one for τ² =
2 σ²: intervals of 95 % have the truth in 93 to 97 %, unless τ² is more than three fifths of 2 σ² +
τ²; then in more. For one model the others are independent draws given this one, and its error is
over them. Intervals are Wilson's, as figures end at 1. The share of few models of few topics has
few values: of 0 or 1 its error is that of independent pairs of topics, and none is given of fewer
than ten topics or five models, for one model of fewer than five others
(`evaluation.figure.share_of_models`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from evaluation.figure import Figure, bounded, jackknife, mean_figure, share_of_models
from evaluation.topics.rank_overlap import PERSISTENCE, overlaps
from evaluation.topics.stability import DECIMALS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.arrays import Floats
    from models.described.topics import DescribedTopics


@dataclass(frozen=True, eq=False)
class ModelAgreement:
    """Agreement of N models, topic by topic; arrays have NaN where there are no weights."""

    best_cosine: tuple[tuple[Floats, ...], ...]
    """(N, N) of (K_n,): the largest cosine of each topic of a model with one of another."""
    overlap: tuple[tuple[Floats, ...], ...]
    """(N, N) of (K_n,): rank-biased overlap with the partner; 0 without one."""
    is_found: tuple[tuple[Floats, ...], ...]
    """(N, N) of (K_n,): 1 if the partner's cosine is at least the threshold, else 0."""

    @property
    def n_models(self) -> int:
        """N."""
        return len(self.overlap)

    @property
    def cosine(self) -> Figure:
        """Mean best cosine over topics and pairs."""
        return bounded(self._over_pairs(self.best_cosine))

    @property
    def rank_biased_overlap(self) -> Figure:
        """Mean rank-biased overlap of partners over topics and pairs."""
        return bounded(self._over_pairs(self.overlap))

    @property
    def share(self) -> Figure:
        """Share of topics that are found again, mean over pairs."""
        found, sizes = self._over_pairs(self.is_found), [len(row[0]) for row in self.is_found]
        n_trials = sum(min(pair) for pair in combinations(sizes, 2))
        return share_of_models(found, min(sizes), n_trials)

    def of_model(self, n: int, name: str = "cosine") -> Figure:
        """Return the mean of one model's topics, over the other models; `name` is "cosine",
        "rank_biased_overlap" or "share".
        """
        rows = self._rows(name)[n]
        means = np.array([rows[m].mean() for m in range(self.n_models) if m != n])
        found = mean_figure(means, "models", "both models of a pair need weights")
        if name == "share":
            others = [rows[m] for m in range(self.n_models) if m != n]
            n_trials = sum(int(np.isfinite(each).sum()) for each in others)
            return share_of_models(found, len(rows[n]), n_trials, "other models")
        return bounded(found)

    def of_topics(self, n: int, name: str = "cosine") -> tuple[Floats, Floats]:
        """Return means (K_n,) of a model's topics over the others, and standard errors; NaN for
        one other model.
        """
        rows = self._rows(name)[n]
        values = np.array([rows[m] for m in range(self.n_models) if m != n])
        if len(values) < 2:
            return values[0], np.full(values.shape[1], np.nan)
        return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))

    def _rows(self, name: str) -> tuple[tuple[Floats, ...], ...]:
        rows = {
            "cosine": self.best_cosine,
            "rank_biased_overlap": self.overlap,
            "share": self.is_found,
        }
        if name not in rows:
            raise ValueError(f"name must be one of {', '.join(rows)}, found {name!r}")
        return rows[name]

    def _over_pairs(self, rows: tuple[tuple[Floats, ...], ...]) -> Figure:
        n = self.n_models
        means = np.array([[rows[i][j].mean() for j in range(n)] for i in range(n)])
        np.fill_diagonal(means, 0.0)
        if not np.isfinite(means).all():
            return Figure.none("a model has words alone, without weights")
        total = means.sum()
        value = float(total / (n * (n - 1)))
        if n < 3:
            return Figure(value, over="models")
        without = (total - means.sum(axis=0) - means.sum(axis=1)) / ((n - 1) * (n - 2))
        figure = jackknife(value, np.asarray(without), "models")
        return replace(figure, error=figure.error * math.sqrt(1 - 0.6 / (n - 1)))


def model_agreement(
    models: Sequence[DescribedTopics],
    *,
    n_words: int = 10,
    threshold: float = THRESHOLD,
    p: float = PERSISTENCE,
) -> ModelAgreement:
    """Return the agreement of two models or more; see `evaluation.topics.agreement`.

    Words are matched by name; a word that a model does not know has weight 0 in it. Rank-biased
    overlap is of the `n_words` top words. Raises ValueError if there are fewer than two models.
    """
    if len(models) < 2:
        raise ValueError(f"models must be at least 2, found {len(models)}")
    cosine: list[list[Floats]] = []
    overlap: list[list[Floats]] = []
    found: list[list[Floats]] = []
    tops = [[words[:n_words] for words in each.words] for each in models]
    for first, top in zip(models, tops, strict=True):
        rows: tuple[list[Floats], ...] = ([], [], [])
        for second, other_top in zip(models, tops, strict=True):
            size = first.n_topics
            if first is second:
                for row in rows:
                    row.append(np.ones(size))
                continue
            ranks = overlaps(top, other_top, p)
            similar = word_cosines(first, second)
            own, partner = linear_sum_assignment(-(ranks if similar is None else similar))
            of_partner = np.zeros(size)
            of_partner[own] = ranks[own, partner]
            again = np.zeros(size)
            if similar is not None:
                again[own] = similar[own, partner] >= threshold
            unknown = np.full(size, np.nan)
            rows[0].append(unknown if similar is None else similar.max(axis=1))
            rows[1].append(of_partner)
            rows[2].append(unknown if similar is None else again)
        for table, row in zip((cosine, overlap, found), rows, strict=True):
            table.append(row)
    return ModelAgreement(*(tuple(map(tuple, table)) for table in (cosine, overlap, found)))


def word_cosines(first: DescribedTopics, second: DescribedTopics) -> Floats | None:
    """Return the cosines (K1, K2) of topics' weights; None if a model has words alone."""
    if first.topic_word is None or second.topic_word is None:
        return None
    place = {word: w for w, word in enumerate(second.vocabulary)}
    common = [(w, place[word]) for w, word in enumerate(first.vocabulary) if word in place]
    smallest = np.finfo(np.float64).tiny
    rows, columns = (
        each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), smallest)
        for each in (first.topic_word, second.topic_word)
    )
    if not common:
        return np.zeros((first.n_topics, second.n_topics))
    own, other = np.array(common).T
    return np.asarray(np.round(rows[:, own] @ columns[:, other].T, DECIMALS))
