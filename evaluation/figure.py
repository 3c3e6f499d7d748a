"""Figures with errors by the delete-a-group jackknife, and their paired differences.

Documents are dealt into B groups. A figure θ is computed again without each group, and

    s² = (B - 1) / B Σ_b (θ_b - θ̄)²                      (Tukey 1958; Kott 2001 on groups)

As all models leave out the same groups, the replicates of a difference are differences of
replicates: what is common to two models, above all that documents differ, cancels. Intervals are by
Student's t with B - 1 degrees of freedom; with the variance over seeds, Welch's. The same holds for
models in place of documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evaluation.arrays import Bools, Floats, Ints

N_GROUPS = 50
"""Groups of documents: a standard error from 50 is itself known to a tenth."""
MAX_BIAS = 1 / 3
"""Bias in standard errors: it lowers the coverage of a 95 % interval by 1.3 % at most."""
MAX_SKEWNESS = 1.0
"""Skewness of replicates."""
MIN_MODELS = 5
"""Fewest models of which a share of topics has an error: of fewer, all or none are often found."""
MIN_TOPICS = 10
"""Fewest topics whose diversity or exclusivity, or a share of them, has an error."""
ROUNDING = 1e-12  # Differences and errors up to which figures are equal


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure with its standard error; NaN without a value or error, and `why` has the reason."""

    value: float
    error: float = math.nan  #: Standard error given the models; NaN if it cannot be known.
    degrees: int = 1  #: Degrees of freedom of `error`.
    over: str = ""  #: What the error is over: documents, topics or models.
    replicates: Floats | None = None
    """(B,), the figure without each group of documents; None if the error is not over them."""
    seed_error: float = 0.0
    """Standard error over models of other seeds, if the figure is their mean."""
    seed_degrees: int = 1  #: Degrees of freedom of `seed_error`.
    bias: float = 0.0
    """Estimate of the bias that was taken off: with it, `value` is what was counted."""
    trials: float = 0.0
    """Number of independent trials whose share has this error, if `value` is between 0 and 1; else
    0."""
    why: str = ""
    """Reason why there is no value or no error, if `reason` cannot tell; else empty."""

    @classmethod
    def none(cls, why: str) -> Figure:
        """Return a figure without a value, for this reason."""
        return cls(math.nan, why=why)

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)

    @property
    def standard_error(self) -> float:
        """Standard error, with that over seeds; NaN if it cannot be known, as where no unit changes
        the figure: a jackknife without variance is no certainty.
        """
        error = math.hypot(self.error, self.seed_error)
        return math.nan if error <= ROUNDING else error

    @property
    def reason(self) -> str:
        """Reason why there is no value or no error; empty if there are both."""
        if self.why or not self.is_known or math.isfinite(self.standard_error):
            return self.why
        if math.isnan(self.error):
            return f"there are too few {self.over or 'documents'}"
        return f"it is the same without any of the {self.over}, which is no certainty"

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of this level by Student's t; Wilson's with its quantile if the
        figure is one of trials.
        """
        parts = ((self.error, self.degrees), (self.seed_error, self.seed_degrees))
        quantile = float(stdtrit(degrees_of(parts), (1 + level) / 2))
        if self.trials:
            return wilson(self.value, self.trials, quantile)
        half = quantile * self.standard_error
        return self.value - half, self.value + half

    def minus(self, other: Figure) -> Difference:
        """Return this figure minus another of the same measure; paired, if both errors are over the
        same groups of documents. If not paired, the difference of different figures has no error
        unless both have one.
        """
        value = self.value - other.value
        parts = [(each.error, float(each.degrees)) for each in (self, other)]
        mine, theirs = self.replicates, other.replicates
        if mine is not None and theirs is not None and mine.shape == theirs.shape:
            parts = [(jackknife_error(mine - theirs), float(self.degrees))]
        elif abs(value) > ROUNDING and math.isnan(self.standard_error + other.standard_error):
            return Difference(value, math.nan, 1.0)
        parts += [(each.seed_error, float(each.seed_degrees)) for each in (self, other)]
        error = math.hypot(*(part for part, _ in parts))
        return Difference(value, error, degrees_of(parts))


@dataclass(frozen=True)
class Difference:
    """Difference of two figures, its standard error, and degrees of freedom of the error."""

    value: float
    standard_error: float
    degrees: float

    @property
    def p_value(self) -> float:
        """Two-sided probability that equal figures differ as much; NaN without an error."""
        if not (math.isfinite(self.standard_error) and math.isfinite(self.value)):
            return math.nan
        if abs(self.value) <= ROUNDING:
            return 1.0
        if self.standard_error <= ROUNDING:  # a jackknife without variance is no certainty
            return math.nan
        return float(2 * stdtr(self.degrees, -abs(self.value) / self.standard_error))


def holm(p_values: Sequence[float | None], level: float) -> list[bool]:
    """Return which hypotheses are rejected at `level` by Holm's method; none without a p-value."""
    rejected = [False] * len(p_values)
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None and not math.isnan(p))
    for rank, (p, i) in enumerate(known):
        if p > level / (len(p_values) - rank):
            break
        rejected[i] = True
    return rejected


def degrees_of(parts: Sequence[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of independent errors, each with its own.

    (Σ s²)² / Σ (s⁴ / d), of Welch and Satterthwaite; 1 if an error is not known or all are 0.
    """
    squares = np.array([error**2 for error, _ in parts])
    below = float(np.sum(squares**2 / np.array([degrees for _, degrees in parts])))
    return float(squares.sum() ** 2 / below) if below > 0 else 1.0


def jackknife_error(replicates: Floats) -> float:
    """Return √((B - 1) / B Σ (θ_b - θ̄)²); NaN for fewer than two replicates."""
    n = len(replicates)
    if n < 2:
        return math.nan
    return float(np.sqrt((n - 1) / n * np.sum((replicates - replicates.mean()) ** 2)))


def jackknife(value: float, replicates: Floats, over: str = "documents") -> Figure:
    """Return a figure with its replicates: without each group of documents, or without each of
    other units, which two models do not share.
    """
    error, degrees = jackknife_error(replicates), max(1, len(replicates) - 1)
    return Figure(value, error, degrees, over, replicates if over == "documents" else None)


def figure_of(statistic: Callable[[Bools], float], group_of: Ints) -> Figure:
    """Return a statistic of a mask (D,) with its replicates: without each group of documents."""
    everything = np.ones(len(group_of), dtype=bool)
    replicates = [statistic(group_of != b) for b in range(int(group_of.max(initial=-1)) + 1)]
    return jackknife(float(statistic(everything)), np.array(replicates))


def without_bias(figure: Figure, pairs: Floats) -> Figure:
    """Return a figure θ minus its bias of order 1 / D, (B - 1) (θ̄ - θ) (Quenouille 1956).

    `pairs` (B, B) is the figure without each group and each other one; its diagonal is not read.
    With it replicates are without their bias too, for θ minus its bias varies more than θ. There is
    no error, but the reason, where it would mislead: if the bias that is left, by the same formula,
    is more than `MAX_BIAS` errors, or if replicates are skew, as few groups decide it.
    """
    counted, n = figure.replicates, len(pairs)
    if counted is None or n < 3:
        return replace(figure, error=math.nan, replicates=None)
    bias = float((n - 1) * (counted.mean() - figure.value))
    value = figure.value - bias
    of_pairs = pairs.mean(axis=1, where=~np.eye(n, dtype=bool))
    replicates = counted - (n - 2) * (of_pairs - counted)
    found = replace(jackknife(value, replicates, figure.over), bias=bias)
    if math.isnan(found.standard_error):
        return found
    left = float((n - 1) * (replicates.mean() - value))
    apart = replicates - replicates.mean()
    why = ""
    if abs(left) > MAX_BIAS * found.error:
        why = f"documents are too few: a bias of about {left:.2g} is left"
    elif abs(np.mean(apart**3)) > MAX_SKEWNESS * np.mean(apart**2) ** 1.5:
        why = "documents are too few: some groups of them decide it"
    return Figure(value, over=figure.over, bias=bias, why=why) if why else found


def bounded(figure: Figure) -> Figure:
    """Return a figure between 0 and 1 with as many independent trials as have its error.

    Its interval is then Wilson's: Student's misses too often near 0 and 1. Any other figure is
    returned as it is, such as a mean of cosines of which some are negative.
    """
    error = figure.standard_error
    if math.isnan(error) or not 0 < figure.value < 1:
        return figure
    return replace(figure, trials=figure.value * (1 - figure.value) / error**2)


def mean_figure(values: Floats, over: str = "topics", why: str = "no topic has a value") -> Figure:
    """Return the mean of independent values, those that are NaN left out; `why` if all are."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Figure.none(why)
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else math.nan
    return Figure(float(known.mean()), error, max(1, len(known) - 1), over)


def of_topics(figure: Figure, n_topics: int, least: int = MIN_TOPICS) -> Figure:
    """Return a figure of topics, without its error if they are fewer than `least`.

    Topics are compared with each other, and so are no independent draws: the fewer, the less.
    """
    if n_topics >= least or not figure.is_known:
        return figure
    why = f"topics are too few: {n_topics}, it needs {least}"
    return Figure(figure.value, over="topics", why=why)


def share_of_models(
    figure: Figure, n_topics: int, n_trials: float, models: str = "models"
) -> Figure:
    """Return a share of trials that are not independent, as they share models, with its error.

    Its interval is Wilson's. Where no topic or all are found, models have no variance, and it is
    that of `n_trials` independent trials with the share moved to the middle by four more trials,
    half of them at each end (Agresti & Coull 1998). Of fewer models than `MIN_MODELS` or topics
    than `MIN_TOPICS` neither is of use, and there is no error.
    """
    if not math.isfinite(figure.error):
        return figure
    parts = ((figure.degrees + 1, MIN_MODELS, models), (n_topics, MIN_TOPICS, "topics"))
    for n, least, name in parts:
        if n < least:
            why = f"{name} are too few for a share of topics: {n}, it needs {least}"
            return Figure(figure.value, over=figure.over, why=why)
    share = figure.value
    if 0 < share < 1:
        return bounded(figure)
    moved = (share * n_trials + 2) / (n_trials + 4)
    error = math.sqrt(moved * (1 - moved) / n_trials)
    return Figure(share, error, int(n_trials) - 1, figure.over, trials=n_trials)


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's score interval of a share of `n` trials, for the quantile `z`."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)


def mean_over_seeds(figures: Sequence[Figure]) -> Figure:
    """Return the mean of figures of models from other seeds; its error has their variance too.

    Documents are the same for all, and topics nearly so: more seeds reduce the variance of seeds
    alone. So the error over documents is that of the mean, and one over topics the root of the mean
    square.
    """
    unknown = next((each for each in figures if not each.is_known), None)
    if unknown is not None or len(figures) == 1:
        return unknown or figures[0]
    values = np.array([each.value for each in figures])
    errors = np.array([each.error for each in figures])
    error, replicates = float(np.sqrt(np.mean(errors**2))), None
    known = [each.replicates for each in figures if each.replicates is not None]
    if len(known) == len(figures):
        replicates = np.asarray(np.mean(known, axis=0))
        error = jackknife_error(replicates)
    seeds = float(values.std(ddof=1) / np.sqrt(len(values)))
    degrees = min(each.degrees for each in figures)
    bias = float(np.mean([each.bias for each in figures]))
    why = next((each.why for each in figures if each.why), "")
    over, n_seeds = figures[0].over, len(figures)
    mean = Figure(float(values.mean()), error, degrees, over, replicates, seeds, n_seeds - 1, bias)
    mean = replace(mean, why=why)
    return bounded(mean) if any(each.trials for each in figures) else mean


def groups_of(
    articles: Sequence[str], n_groups: int = N_GROUPS, seed: int = 0
) -> NDArray[np.int64]:
    """Return the group (D,) of each document, from 0 on; documents of an article are in one group.

    Articles are dealt in random order, so that groups have as many each, up to one. There are as
    many groups as articles if these are fewer. Raises ValueError if `n_groups` is below 2.
    """
    if n_groups < 2:
        raise ValueError(f"n_groups must be at least 2, found {n_groups}")
    place: dict[str, int] = {}
    article_of = np.array([place.setdefault(each, len(place)) for each in articles], dtype=np.int64)
    dealt = np.random.default_rng(seed).permutation(len(place))
    return dealt[article_of] % min(n_groups, max(1, len(place))) if place else article_of
