"""Modes and labels of an allocation, drawn given the allocation.

Hidden values have no names. Where the prior is the same for all of them, each allocation z has K!
copies of the same probability, with the values of a hidden index, their *labels*, permuted. A chain
that starts at a mode ends near one copy, and the probability is a sum over all copies and modes. So
the weight of a chain from mode m of M is multiplied by

    M ∏ K! r(m, identity | z),

where r(m, π | z) is a distribution of the mode and of the permutation of labels that does not
depend on the labels of z. Sums over all copies of z are then 1, so that estimates are unbiased,
whatever r is. Their variance is small where r tells from which mode, under which labels, z came.

Groups of tokens with the same value are labelled in turn, large ones first, equal ones in random
order. Their *fit* to a label is the sum of the logs of the shares that it has of the tokens' cells
at the mode. Labels that are left have probabilities in proportion to exp(fit / `TEMPERATURE`), but
with a probability that falls with the tokens of the group, any of them: small groups dissolve and
form again under labels of their own.
"""

import math
from dataclasses import dataclass

import numpy as np

from models.allocation.annealing.urn import Urn
from models.allocation.inference_plan import InferencePlan
from models.allocation.model import AllocationModel
from models.arrays import Floats, Ints, Ints32

TEMPERATURE = 10.0
FEW = 10.0  # Tokens of a group that has any label with a probability of 1 / e
LEAST = 0.001  # Probability of any label or mode, at least
MAX_BLOCK = 1 << 20  # Shares that are computed at once


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Distribution of modes and labels given an allocation."""

    plan: InferencePlan
    classes: tuple[tuple[str, ...], ...]  # Hidden indices whose labels are permuted together
    log_shares: tuple[dict[str, Floats], ...]  # of each mode: (n_cells, n_values) of each index

    @classmethod
    def of(cls, plan: InferencePlan, urn: Urn, means: list[Floats]) -> "Relabelling":
        """Return the distribution for modes with these expected counts, (n_state,) each."""
        classes = exchangeable_classes(plan.model)
        names = [name for each in classes for name in each]
        return cls(plan, classes, tuple(_log_shares(plan, urn, mean, names) for mean in means))

    def log_weight(self, values: Ints32, mode: int, rng: np.random.Generator) -> float:
        """Return log(M ∏ K! r(mode, identity | z)) of joint values (n_tokens,)."""
        groups = [self._groups(values, each, rng) for each in self.classes]
        total = self._log_copies() + math.log(self._modes(values, groups)[mode])
        for names, (sizes, order) in zip(self.classes, groups, strict=True):
            fits = self._fits(values, names, mode)
            _, log_probability = _labels(fits, sizes, order, None)
            total += log_probability
        return total

    def draw(self, values: Ints32, rng: np.random.Generator) -> tuple[int, Ints32, float]:
        """Draw a mode and labels; return the mode, the values relabelled, and their log weight."""
        groups = [self._groups(values, each, rng) for each in self.classes]
        chances = self._modes(values, groups)
        mode = int(rng.choice(len(chances), p=chances))
        total = self._log_copies() + math.log(chances[mode])
        relabelled = values.astype(np.int64)
        for names, (sizes, order) in zip(self.classes, groups, strict=True):
            labels, log_probability = _labels(self._fits(values, names, mode), sizes, order, rng)
            total += log_probability
            for name in names:
                digits, strides = self._digits(values, name)
                relabelled += (labels[digits] - digits) * strides
        return mode, relabelled.astype(np.int32), total

    def modes(self, values: Ints32, rng: np.random.Generator) -> Floats:
        """Return the probability of each mode, by the fit of the labels that fit best."""
        return self._modes(values, [self._groups(values, each, rng) for each in self.classes])

    def _log_copies(self) -> float:
        sizes = [self.plan.model.cardinalities[names[0]] for names in self.classes]
        return math.log(len(self.log_shares)) + sum(math.lgamma(size + 1) for size in sizes)

    def _digits(self, values: Ints32, name: str) -> tuple[Ints, Ints]:
        """Return a hidden index's value of each token, and its stride in the joint value."""
        steps = np.array([_stride(self.plan, pattern, name) for pattern in self.plan.unknown])
        counts = self.plan.observed.counts
        strides = np.repeat(steps[self.plan.arrays.pattern_of], counts)
        return values // strides % self.plan.model.cardinalities[name], strides

    def _groups(
        self, values: Ints32, names: tuple[str, ...], rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """Return the tokens of each label, and labels in the order in which they are replaced."""
        size = self.plan.model.cardinalities[names[0]]
        counts = np.zeros(size, dtype=np.int64)
        for name in names:
            counts += np.bincount(self._digits(values, name)[0], minlength=size)
        return counts, np.lexsort([rng.random(size), -counts])

    def _fits(self, values: Ints32, names: tuple[str, ...], mode: int) -> Floats:
        """Return how well each label (rows) of the mode fits each group (columns)."""
        size, counts = self.plan.model.cardinalities[names[0]], self.plan.observed.counts
        cell_of = np.repeat(np.arange(len(counts)), counts)
        fits = np.zeros((size, size))
        for name in names:
            digits, _ = self._digits(values, name)
            tokens = np.bincount(cell_of * size + digits, minlength=len(counts) * size)
            fits += self.log_shares[mode][name].T @ tokens.reshape(len(counts), size)
        return fits

    def _modes(self, values: Ints32, groups: list[tuple[Ints, Ints]]) -> Floats:
        fit = np.zeros(len(self.log_shares))
        for mode in range(len(fit)):
            for names, (_, order) in zip(self.classes, groups, strict=True):
                fits = self._fits(values, names, mode)
                for group in order:
                    label = int(fits[:, group].argmax())
                    fit[mode] += fits[label, group]
                    fits[label] = -np.inf
        return _chances(fit, LEAST)


def exchangeable_classes(model: AllocationModel) -> tuple[tuple[str, ...], ...]:
    """Return the hidden indices whose values can be permuted without a change of probability.

    Indices on the same axis of a table that they share are permuted together. None is in a class
    if the prior differs between their values, or a visible index is on the same axis.
    """
    class_of = {name: {name} for name in model.indices}
    fixed: set[str] = set(model.visible)
    for group in model.table_groups():
        families = [model.family(name) for name in group]
        alpha = None if model.prior is None else model.pseudo_counts(group[0])
        for axis, names in enumerate(zip(*families, strict=True)):
            together = set().union(*(class_of[name] for name in names))
            class_of.update(dict.fromkeys(together, together))
            if alpha is not None and (np.diff(alpha, axis=axis) != 0).any():
                fixed |= set(names)
    found = {
        tuple(name for name in model.indices if name in class_of[each])
        for each in model.hidden
        if not class_of[each] & fixed and model.cardinalities[each] > 1
    }
    return tuple(sorted(found))


def relabelling_bytes(plan: InferencePlan) -> int:
    """Return the memory that the shares of a mode take."""
    sizes = plan.model.cardinalities
    n_values = sum(sizes[name] for each in exchangeable_classes(plan.model) for name in each)
    return 8 * n_values * len(plan.observed.counts)


def _stride(plan: InferencePlan, unknown: tuple[str, ...], name: str) -> int:
    later = unknown[unknown.index(name) + 1 :]
    return math.prod(plan.model.cardinalities[each] for each in later)


def _log_shares(plan: InferencePlan, urn: Urn, mean: Floats, names: list[str]) -> dict[str, Floats]:
    """Return the logs of the probabilities of the values of indices, of a token of each cell."""
    sizes, base = plan.model.cardinalities, urn.alpha + mean
    shares = {name: np.zeros((len(urn.pattern_of), sizes[name])) for name in names}
    for pattern, unknown in enumerate(plan.unknown):
        n_values, at = int(urn.n_values[pattern]), int(urn.columns_at[pattern])
        columns = urn.columns[at : at + len(urn.power) * n_values].reshape(-1, n_values)
        cells = np.flatnonzero(urn.pattern_of == pattern)
        for some in np.array_split(cells, math.ceil(len(cells) * n_values / MAX_BLOCK) or 1):
            weights = np.ones((len(some), n_values))
            for f, power in enumerate(urn.power):
                weights *= base[urn.address[some, f, np.newaxis] + columns[f]] ** float(power)
            weights /= weights.sum(axis=1, keepdims=True)
            for name in names:
                digits = np.arange(n_values) // _stride(plan, unknown, name) % sizes[name]
                for value in range(sizes[name]):
                    shares[name][some, value] = weights[:, digits == value].sum(axis=1)
    return {name: np.log(np.maximum(each, 1e-300)) for name, each in shares.items()}


def _chances(fit: Floats, least: float) -> Floats:
    """Return probabilities by fit, mixed with equal ones of the weight `least`."""
    chances = np.exp((fit - fit.max()) / TEMPERATURE)
    mixed: Floats = (1.0 - least) * chances / chances.sum() + least / len(fit)
    return mixed


def _labels(
    fits: Floats, sizes: Ints, order: Ints, rng: np.random.Generator | None
) -> tuple[Ints, float]:
    """Draw a label for each group, or leave all as they are without `rng`; return the log of the
    probability with them.
    """
    labels, left, total = np.arange(len(sizes)), list(range(len(sizes))), 0.0
    for group in order:
        chances = _chances(fits[left, group], max(LEAST, math.exp(-sizes[group] / FEW)))
        place = left.index(group) if rng is None else int(rng.choice(len(left), p=chances))
        total += math.log(chances[place])
        labels[group] = left.pop(place)
    return labels, total
