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
at the mode. Labels that are left have probabilities in proportion to exp(fit / temperature), but
with a probability that falls with the tokens of the group, any of them: small groups dissolve and
form again under labels of their own. The numbers of these rules are those by which the ends of
chains whose modes and labels are known, those of pilots and of other runs, are most probable.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.group_fits import group_fits
from models.allocation.annealing.urn import Urn
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.inference_plan import InferencePlan
from models.arrays import Floats, Ints, Ints32

MAX_BLOCK = 1 << 20  # Shares that are computed at once


class Rules(NamedTuple):
    """Numbers that probabilities of labels depend on; of several rules, columns (n, 1)."""

    temperature: float | Floats
    least: float | Floats  # Probability that a group has any label, or that any mode is taken
    few: float | Floats  # Tokens of a group that has any label with a probability of 1 / e


RULES = tuple(
    Rules(*each)
    for each in itertools.product(
        (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
        (0.001, 0.03, 0.2),
        (3.0, 30.0, 100.0, 200.0, math.inf),
    )
)
EVERY = Rules(*np.array(RULES).T[:, :, np.newaxis])
COMMON = Rules(10.0, 0.001, 3.0)  # until they are fitted


class _Groups(NamedTuple):
    """Tokens with the same value of a class of hidden indices."""

    is_exchangeable: bool  # else labels stay as they are
    sizes: Ints  # (n_values,), tokens
    order: Ints  # (n_values,), in which they are labelled
    fits: tuple[Floats, ...]  # of each mode: (n_values, n_values), of labels to groups


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Distribution of modes and labels given an allocation."""

    plan: InferencePlan
    classes: tuple[tuple[str, ...], ...]  # Hidden indices whose labels are permuted together
    fixed: tuple[str, ...]  # Other hidden indices
    log_shares: tuple[dict[str, Floats], ...]  # of each mode: (n_cells, n_values) of each index
    rules: Rules
    fits: Floats  # (n_rules,), log-probability of what they were fitted to, by each of `RULES`

    @classmethod
    def of(cls, plan: InferencePlan, urn: Urn, means: Sequence[Floats]) -> "Relabelling":
        """Return the distribution for modes with these expected counts, (n_state,) each."""
        classes = exchangeable_classes(plan.model)
        named = {name for names in classes for name in names}
        fixed = tuple(name for name in plan.model.hidden if name not in named)
        log_shares = tuple(_log_shares(plan, urn, mean) for mean in means)
        return cls(plan, classes, fixed, log_shares, COMMON, np.zeros(len(RULES)))

    def with_mode(self, urn: Urn, mean: Floats) -> "Relabelling":
        """Return the distribution with one mode more, the last."""
        return replace(self, log_shares=(*self.log_shares, _log_shares(self.plan, urn, mean)))

    def fitted(self, ends: Sequence[tuple[int, Ints32]], rng: np.random.Generator) -> "Relabelling":
        """Return the distribution by which these modes and joint values are most probable."""
        fits = np.sum([self.log_weights(values, mode, rng) for mode, values in ends], axis=0)
        return replace(self, rules=RULES[int(np.argmax(fits))], fits=fits)

    def of_first(self, n_modes: int) -> "Relabelling":
        """Return the distribution for the first `n_modes` modes alone."""
        return replace(self, log_shares=self.log_shares[:n_modes])

    def log_weights(self, values: Ints32, mode: int, rng: np.random.Generator) -> Floats:
        """Return what `log_weight` does by each of `RULES`: (n_rules,)."""
        return self._log_weight(self._groups(values, rng), mode, EVERY)

    def log_weight(self, values: Ints32, mode: int, rng: np.random.Generator) -> float:
        """Return log(M ∏ K! r(mode, identity | z)) of joint values (n_tokens,)."""
        return float(self._log_weight(self._groups(values, rng), mode, self.rules))

    def modes(self, values: Ints32, rng: np.random.Generator) -> Floats:
        """Return the probability of each mode, by the fit of the labels that fit best."""
        return self._modes(self._groups(values, rng), self.rules)

    def draw(self, values: Ints32, rng: np.random.Generator) -> tuple[int, Ints32, float]:
        """Draw a mode and labels; return the mode, the values relabelled, and their log weight."""
        groups = self._groups(values, rng)
        chances = self._modes(groups, self.rules)
        mode = int(rng.choice(len(chances), p=chances))
        total = self._log_copies() + math.log(chances[mode])
        relabelled = values.astype(np.int64)
        for names, each in zip(self.classes, groups, strict=False):
            labels, log_probability = _labels(each, mode, self.rules, rng)
            total += float(log_probability)
            for name in names:
                digits, strides = self.digits(values, name), self._strides(name)
                relabelled += (labels[digits] - digits) * strides
        return mode, relabelled.astype(np.int32), total

    def _log_weight(self, groups: Sequence[_Groups], mode: int, rules: Rules) -> Floats:
        """Return the log weight by the rules, or by each of several."""
        total = self._log_copies() + np.log(self._modes(groups, rules)[..., mode])
        exchangeable = [each for each in groups if each.is_exchangeable]
        return total + sum(_labels(each, mode, rules, None)[1] for each in exchangeable)

    def _modes(self, groups: Sequence[_Groups], rules: Rules) -> Floats:
        fit = np.zeros(len(self.log_shares))
        for mode in range(len(fit)):
            for each in groups:
                fits = each.fits[mode].copy()
                for group in each.order:
                    label = int(fits[:, group].argmax()) if each.is_exchangeable else group
                    fit[mode] += fits[label, group]
                    fits[label] = -np.inf
        return _chances(fit, rules.temperature, rules.least)

    def _log_copies(self) -> float:
        sizes = [self.plan.model.cardinalities[names[0]] for names in self.classes]
        return math.log(len(self.log_shares)) + sum(math.lgamma(size + 1) for size in sizes)

    def digits(self, values: Ints32, name: str) -> Ints:
        """Return a hidden index's value of each token, of its joint value."""
        return np.asarray(values // self._strides(name) % self.plan.model.cardinalities[name])

    def _strides(self, name: str) -> Ints:
        steps = np.array([_stride(self.plan, pattern, name) for pattern in self.plan.unknown])
        return np.repeat(steps[self.plan.arrays.pattern_of], self.plan.observed.counts)

    def _groups(self, values: Ints32, rng: np.random.Generator) -> list[_Groups]:
        """Return the groups of each class, then of other hidden indices, in the order in which they
        are labelled.
        """
        found, counts = [], self.plan.observed.counts
        for names in (*self.classes, *((name,) for name in self.fixed)):
            n_values = self.plan.model.cardinalities[names[0]]
            sizes = np.zeros(n_values, dtype=np.int64)
            fits = np.zeros((len(self.log_shares), n_values, n_values))
            for name in names:
                digits = self.digits(values, name)
                sizes += np.bincount(digits, minlength=n_values)
                for mode, log_shares in enumerate(self.log_shares):
                    fits[mode] += group_fits(digits, counts, log_shares[name]).T
            order = np.lexsort([rng.random(n_values), -sizes])
            found.append(_Groups(names in self.classes, sizes, order, tuple(fits)))
        return found


def relabelling_bytes(plan: InferencePlan, n_modes: int, n_threads: int) -> int:
    """Return the memory that the shares of modes take, and work with them in threads, at most."""
    sizes = plan.model.cardinalities
    n_cells = len(plan.observed.counts)
    n_joint = max((math.prod(sizes[name] for name in each) for each in plan.unknown), default=1)
    of_mode = 8 * sum(sizes[name] for name in plan.model.hidden) * n_cells
    block = 24 * min(MAX_BLOCK, n_cells * n_joint)
    most = max((sizes[name] for name in plan.model.hidden), default=1)
    of_thread = 3 * of_mode + block + 64 * plan.observed.n_tokens + 16 * (n_modes + 1) * most**2
    return n_modes * of_mode + n_threads * of_thread


def _stride(plan: InferencePlan, unknown: tuple[str, ...], name: str) -> int:
    later = unknown[unknown.index(name) + 1 :]
    return math.prod(plan.model.cardinalities[each] for each in later)


def _log_shares(plan: InferencePlan, urn: Urn, mean: Floats) -> dict[str, Floats]:
    """Return the logs of the probabilities of hidden values, of a token of each cell."""
    sizes, base = plan.model.cardinalities, urn.alpha + mean
    shares = {name: np.zeros((len(urn.pattern_of), sizes[name])) for name in plan.model.hidden}
    for pattern, unknown in enumerate(plan.unknown):
        n_values, at = int(urn.n_values[pattern]), int(urn.columns_at[pattern])
        columns = urn.columns[at : at + len(urn.power) * n_values].reshape(-1, n_values)
        cells = np.flatnonzero(urn.pattern_of == pattern)
        for some in np.array_split(cells, math.ceil(len(cells) * n_values / MAX_BLOCK) or 1):
            weights = np.ones((len(some), n_values))
            for f, power in enumerate(urn.power):
                weights *= base[urn.address[some, f, np.newaxis] + columns[f]] ** float(power)
            weights /= weights.sum(axis=1, keepdims=True)
            joint = weights.reshape(len(some), *(sizes[name] for name in unknown))
            for name in plan.model.hidden:
                others = tuple(1 + n for n, each in enumerate(unknown) if each != name)
                shares[name][some] = joint.sum(axis=others)
    return {name: np.log(np.maximum(each, 1e-300)) for name, each in shares.items()}


def _chances(fit: Floats, temperature: float | Floats, least: float | Floats) -> Floats:
    """Return probabilities by fit, mixed with equal ones of the weight `least`."""
    chances = np.exp((fit - fit.max()) / temperature)
    total = chances.sum(axis=-1, keepdims=True)
    mixed: Floats = (1.0 - least) * chances / total + least / len(fit)
    return mixed


def _labels(
    groups: _Groups, mode: int, rules: Rules, rng: np.random.Generator | None
) -> tuple[Ints, Floats]:
    """Draw a label for each group, or leave all as they are without `rng`; return the log of the
    probability with them, by the rules or by each of several.
    """
    _, sizes, order, fits = groups
    labels, left = np.arange(len(sizes)), list(range(len(sizes)))
    total: Floats = np.zeros(())
    for group in order:
        least = np.maximum(rules.least, np.exp(-sizes[group] / rules.few))
        chances = _chances(fits[mode][left, group], rules.temperature, least)
        place = left.index(group) if rng is None else int(rng.choice(len(left), p=chances))
        total = total + np.log(chances[..., place])
        labels[group] = left.pop(place)
    return labels, total
