"""Estimate of the marginal likelihood of a count tensor."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np

from evaluation.monte_carlo.log_mean import log_mean_of
from models.allocation.cell_counts import CellCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evaluation.arrays import Floats, Ints

LARGEST_ERROR = 0.5  # nats. Above it, the mean of the repeats hangs on the few that are largest.
MarginalDirection = Literal["exact", "unbiased", "lower bound"]
PATH = "path/"  # begins the names of its arrays
OF_TOKENS = ("allocations", "modes")  # Fields of tokens, whose arrays have names that begin so


@dataclass(frozen=True, eq=False)
class ParticlePath:
    """Effective sample sizes and ancestors at some of the tokens, in each repeat; of "annealed" at
    steps of the path from the best mode.
    """

    tokens: Ints  #: (n_times,), tokens taken in so far; of "annealed" steps.
    effective_sample_size: Floats
    """(n_repeats, n_times), (Σw)² / Σw² of the weights at that token, before resampling."""
    n_ancestors: Ints  #: (n_repeats, n_times), particles at the start that have a descendant.


class SearchResult(NamedTuple):
    """Result of searches for modes."""

    log_marginals: Floats  # (n_searches,), estimates beside
    n_found: int  # Lines that found a mode as good as the best; 0 where runs start from the prior


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """Log-probability of a whole count tensor under an allocation model, in nats."""

    log_marginal: float
    standard_error: float
    """Monte Carlo standard error of `log_marginal`, over repeats; 0 without sampling.

    It is at most 1: the value when one repeat outweighs all others. That of a single repeat is
    `genealogy_error`."""
    method: str
    direction: MarginalDirection
    """"unbiased" is of the probability, whose mean over runs is right: its log is too low by about
    half the squared standard error."""
    n_tokens: int  #: S₊.
    repeats: Floats = field(repr=False)
    """(n_repeats,), the log of each repeat's estimate, of each start's bound, or of the truth."""
    n_particles: int = 0
    """Particles of each run; of "annealed" those from the best mode, or twice those asked for where
    modes are too many to be listed."""
    path: ParticlePath | None = field(default=None, repr=False)
    genealogy_error: float = field(default=math.nan, repr=False)
    """Standard error of `log_marginal` by the genealogy of the particles of each repeat, see
    `genealogy_variance`; of "annealed" only, else NaN."""
    searches: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    """(n_searches,), the log of the unbiased estimate that each slow search for modes gives
    beside; of "annealed" only."""
    n_found: int = field(default=0, repr=False)
    """Lines of searches that found, without the others, a mode as probable as the best one, within
    a nat; known modes count as a line. 1 or 2, and 0 where runs started from the prior's mean."""
    allocations: CellCounts | None = field(default=None, repr=False)
    """Over runs, draws and all indices of the model, allocations drawn from each run of "annealed"
    by weight: times the run's estimate, the mean of any function of one is the function's sum over
    the allocations that X can have, each with its probability. None of impossible models, and where
    one allocation of each run has more than 262,144 tokens together."""
    modes: CellCounts | None = field(default=None, repr=False)
    """Over modes and all indices of the model, allocations at the modes where runs of "annealed"
    start, the best first, which searches for another model of the graph can cross with their own.
    None where runs start from the prior's mean, where tokens lack indices, and where one mode has
    more than 262,144 tokens."""
    n_sources: float = field(default=0.0, repr=False)
    """Models on whose runs a `pooled` estimate rests, effectively, at least 1; 0 of others."""

    @property
    def spread(self) -> float:
        """Standard deviation of the logs of the repeats, in nats; NaN of one."""
        if len(self.repeats) < 2:
            return float("nan")
        return float(self.repeats.std(ddof=1)) if np.isfinite(self.repeats).all() else float("inf")

    @property
    def is_unreliable(self) -> bool:
        """Whether the estimate is most likely too low: one repeat outweighs the others, only
        one line of searches found a mode as good as the best, or searches estimate more.
        """
        if self.direction != "unbiased":
            return False
        is_rough = not np.isfinite(self.log_marginal) or self.standard_error > LARGEST_ERROR
        return bool(is_rough) or self.is_found_once or self._is_below_searches

    @property
    def is_found_once(self) -> bool:
        """Whether of several lines of searches only one found a mode as good as the best."""
        return self.n_found == 1 < len(self.searches)

    @property
    def _is_below_searches(self) -> bool:
        if not self.n_found or len(self.searches) < 2:
            return False
        level, error, _ = log_mean_of(self.searches)
        return level - self.log_marginal > 2.0 * math.hypot(error, self.standard_error)

    @property
    def is_unsure(self) -> bool:
        """Return `is_unreliable`: the former name."""
        warnings.warn("is_unsure is now is_unreliable", DeprecationWarning, stacklevel=2)
        return self.is_unreliable

    def to_arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return every field as an array, by its name after `prefix`, for `from_arrays`."""
        found = {
            prefix + each.name: np.asarray(getattr(self, each.name))
            for each in fields(self)
            if each.name not in ("path", *OF_TOKENS)
        }
        if self.path is not None:
            for each in fields(self.path):
                found[prefix + PATH + each.name] = getattr(self.path, each.name)
        tokens = {name: getattr(self, name) for name in OF_TOKENS}
        for name, of_name in tokens.items():
            for each in fields(CellCounts) if of_name is not None else ():
                values = np.asarray(getattr(of_name, each.name))
                smallest = np.min_scalar_type(values.max(initial=0))
                found[f"{prefix}{name}/{each.name}"] = values.astype(smallest)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self:
        """The estimate that `to_arrays` took apart, to the bit; other arrays are passed over.

        Raises KeyError if an array is missing; ValueError if the arrays are no estimate.
        """
        values: dict[str, Any] = {}
        numbers = {"genealogy_error": math.nan, "n_found": 0, "n_sources": 0.0}
        former = {"searches": np.zeros(0), **numbers}  # that estimates once had not
        given = {prefix + name: np.asarray(value) for name, value in former.items()} | {**arrays}
        for each in fields(cls):
            if each.name not in ("path", *OF_TOKENS):
                array = given[prefix + each.name]
                values[each.name] = array if each.name in ("repeats", "searches") else array.item()
        if values["direction"] not in get_args(MarginalDirection):
            raise ValueError(f"direction must be one of {get_args(MarginalDirection)}")
        names = [each.name for each in fields(ParticlePath)]
        if any(prefix + PATH + name in arrays for name in names):
            values["path"] = ParticlePath(*(arrays[prefix + PATH + name] for name in names))
        names = [each.name for each in fields(CellCounts)]
        for of_tokens in OF_TOKENS:
            if any(f"{prefix}{of_tokens}/{name}" in arrays for name in names):
                cells, counts, shape = (arrays[f"{prefix}{of_tokens}/{name}"] for name in names)
                values[of_tokens] = CellCounts(cells, counts, tuple(shape))
        return cls(**values)

    @classmethod
    def of_repeats(
        cls,
        repeats: Floats,
        method: str,
        n_tokens: int,
        n_particles: int,
        path: ParticlePath,
        variances: Floats | None = None,
        searches: SearchResult | None = None,
    ) -> MarginalEstimate:
        """Return the mean of unbiased estimates of a probability, given their logs, and their
        relative `variances` by genealogy (n_repeats,), where these are known, and what was found by
        `searches`.
        """
        log_marginal, error, _ = log_mean_of(repeats)
        genealogy_error = math.nan
        if variances is not None:
            share = np.exp(repeats - log_marginal) / len(repeats)
            genealogy_error = math.sqrt((share**2 * variances).sum())
        if len(repeats) == 1:
            error = genealogy_error
        found = searches or SearchResult(np.zeros(0), 0)
        of_particles = (n_tokens, repeats, n_particles, path, genealogy_error, *found)
        return cls(log_marginal, error, method, "unbiased", *of_particles)


class TimedMarginal(NamedTuple):
    """An estimate, and the seconds that it took."""

    estimate: MarginalEstimate
    seconds: float

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return both as arrays, for `from_arrays`."""
        return self.estimate.to_arrays() | {"seconds": np.asarray(self.seconds)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the result with the arrays of `to_arrays`; see `MarginalEstimate.from_arrays`."""
        return cls(MarginalEstimate.from_arrays(arrays), arrays["seconds"].item())


def timed(estimate: Callable[[], MarginalEstimate]) -> TimedMarginal:
    """Return the estimate and the seconds that it took."""
    started = time.perf_counter()
    found = estimate()
    return TimedMarginal(found, time.perf_counter() - started)
