"""Metropolis steps that exchange two labels, the names of hidden values, everywhere (as in
permutation sampling; Frühwirth-Schnatter 2001).

On a path from a mode labels are those of the mode at first, and free at the end. Where they become
free a chain has to pass through all orders of them, or its weight lacks what their number adds. An
exchange changes the pseudo-counts that each entry of a table has, and no count but for its place.
"""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.urn import Urn, log_rising
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.inference_plan import InferencePlan
from models.allocation.tables import mixed_radix
from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

N_EACH = 4  # Exchanges that are proposed for each label


class Labels(NamedTuple):
    """Entries of the counts that have each label on an axis, of each class of hidden indices."""

    size: Ints  # (n_classes,), labels
    first: Ints  # (n_classes,), place of its first label among those of all classes
    start: Ints  # (n_labels + 1,), first place of each label's entries
    entry: Ints  # (n_places,)
    digit: Ints  # (n_places, n_axes), labels on the entry's axes; -1 on those without
    step: Ints  # (n_places, n_axes), entries that one label more is
    stride: Ints
    """(n_patterns, n_classes, n_names), step of the joint value that one label more is, of each
    index of the class; 0 for none."""


def labels_of(plan: InferencePlan) -> Labels:
    """Return the entries of all labels."""
    classes = exchangeable_classes(plan.model)
    sizes = [plan.model.cardinalities[names[0]] for names in classes]
    n_axes = max((len(table.inner_axes) for table in plan.dynamic), default=1)
    lists: list[list[Ints]] = [[] for _ in range(sum(sizes))]
    at, first = 0, np.cumsum([0, *sizes])[:-1]
    for table in plan.dynamic:
        places = np.arange(table.n_rows * table.n_columns)
        entries, at = at + places, at + len(places)
        for names, label, size in zip(classes, first, sizes, strict=True):
            digits, steps = np.full((len(entries), n_axes), -1), np.zeros(n_axes, dtype=np.int64)
            for n, (axis, stride) in enumerate(zip(table.inner_axes, table.strides, strict=True)):
                if table.marginal.uses[0][axis] in names:
                    digits[:, n] = places % table.n_columns // stride % size
                    steps[n] = stride
            for k in range(size):
                here = np.flatnonzero((digits == k).any(axis=1))
                of_axes = np.broadcast_to(steps, (len(here), n_axes))
                lists[label + k].append(np.column_stack([entries[here], digits[here], of_axes]))
    whole = [np.concatenate([np.zeros((0, 1 + 2 * n_axes), np.int64), *each]) for each in lists]
    found = np.concatenate([np.zeros((0, 1 + 2 * n_axes), np.int64), *whole])
    return Labels(
        size=np.array(sizes, dtype=np.int64),
        first=first.astype(np.int64),
        start=np.cumsum([0, *map(len, whole)]).astype(np.int64),
        entry=np.ascontiguousarray(found[:, 0]),
        digit=np.ascontiguousarray(found[:, 1 : 1 + n_axes]),
        step=np.ascontiguousarray(found[:, 1 + n_axes :]),
        stride=_strides_of(plan, classes),
    )


def label_moves_bytes(plan: InferencePlan) -> int:
    """Return the memory that making labels takes, at most."""
    n_axes = max((len(table.inner_axes) for table in plan.dynamic), default=1)
    n_places = sum(each.n_rows * each.n_columns * len(each.inner_axes) for each in plan.dynamic)
    return 32 * (1 + 2 * n_axes) * n_places


def _strides_of(plan: InferencePlan, classes: tuple[tuple[str, ...], ...]) -> Ints:
    n_names = max(map(len, classes), default=1)
    strides = np.zeros((len(plan.unknown), len(classes), n_names), dtype=np.int64)
    for pattern, unknown in enumerate(plan.unknown):
        of_unknown, _ = mixed_radix([plan.model.cardinalities[name] for name in unknown])
        for c, names in enumerate(classes):
            for n, name in enumerate(names):
                strides[pattern, c, n] = of_unknown[unknown.index(name)]
    return strides


@kernel
def exchange_labels(
    urn: Urn,
    labels: Labels,
    counts: Floats,
    values: Ints32,
    rho: float,
    rng: np.random.Generator,
) -> None:
    """Propose to exchange random pairs of labels of each class, `N_EACH` for each label.

    Changes `counts` and `values`. Each exchange leaves the probabilities as they are, which is all
    that annealing back needs: there too classes are visited in order.
    """
    for c in range(labels.size.shape[0]):
        size = labels.size[c]
        new = np.arange(size)
        n_exchanged = 0
        for _ in range(N_EACH * size):
            a, b = int(rng.integers(0, size)), int(rng.integers(0, size - 1))
            b = b + 1 if b >= a else b
            log_ratio = _log_ratio(urn, labels, counts, rho, c, a, b)
            if log_ratio >= 0.0 or math.log(rng.random()) < log_ratio:
                _exchange_counts(labels, counts, c, a, b)
                for label in range(size):
                    if new[label] == a:
                        new[label] = b
                    elif new[label] == b:
                        new[label] = a
                n_exchanged += 1
        if n_exchanged > 0:
            _rename(urn, labels, values, c, new)


@kernel
def _exchanged(labels: Labels, place: int, a: int, b: int) -> int:
    """Return the entry with b in the place of a, and a in that of b."""
    entry = labels.entry[place]
    for axis in range(labels.digit.shape[1]):
        if labels.digit[place, axis] == a:
            entry += (b - a) * labels.step[place, axis]
        elif labels.digit[place, axis] == b:
            entry += (a - b) * labels.step[place, axis]
    return int(entry)


@kernel
def _has(labels: Labels, place: int, a: int) -> bool:
    """Return whether an entry has the label on an axis."""
    n = 0
    for axis in range(labels.digit.shape[1]):
        n += labels.digit[place, axis] == a
    return n > 0


@kernel
def _log_ratio(
    urn: Urn, labels: Labels, counts: Floats, rho: float, c: int, a: int, b: int
) -> float:
    """Return the log of the ratio of probabilities with a and b exchanged and as they are."""
    total = 0.0
    for label in (a, b):
        at = labels.first[c] + label
        for place in range(labels.start[at], labels.start[at + 1]):
            entry = labels.entry[place]
            if counts[entry] == 0.0 or (label == b and _has(labels, place, a)):
                continue
            other = _exchanged(labels, place, a, b)
            before, after = urn.alpha[entry], urn.alpha[other]
            if after != before:
                n, power = counts[entry], urn.entry_power[entry]
                total += power * (log_rising(after, n, rho) - log_rising(before, n, rho))
    return total


@kernel
def _exchange_counts(labels: Labels, counts: Floats, c: int, a: int, b: int) -> None:
    for label in (a, b):
        at = labels.first[c] + label
        for place in range(labels.start[at], labels.start[at + 1]):
            entry = labels.entry[place]
            other = _exchanged(labels, place, a, b)
            if entry < other and not (label == b and _has(labels, place, a)):
                counts[entry], counts[other] = counts[other], counts[entry]


@kernel
def _rename(urn: Urn, labels: Labels, values: Ints32, c: int, new: Ints) -> None:
    """Give all tokens the `new` labels (n_labels,)."""
    size = labels.size[c]
    for cell in range(urn.pattern_of.shape[0]):
        for n in range(labels.stride.shape[2]):
            step = labels.stride[urn.pattern_of[cell], c, n]
            if step > 0:
                for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
                    digit = values[token] // step % size
                    values[token] += (new[digit] - digit) * step
