"""Table of counts over any number of axes, with names of axes and of their values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpora.content_hash import content_hash, of_array
from models.allocation.cell_counts import MISSING, CellCounts
from pipeline.errors import UsageError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts with names of their axes and labels of their values."""

    path: str
    layout: str  # "records", "matrix", "array" or "documents"
    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]  # Labels of the values of each axis, in order
    counts: CellCounts

    @property
    def hash(self) -> str:
        """Hash of all that a score depends on: cells, counts and shape."""
        shape = np.array(self.counts.shape, dtype=np.int64)
        arrays = {"cells": self.counts.cells.ravel(), "counts": self.counts.counts, "shape": shape}
        return content_hash([of_array(name, each) for name, each in arrays.items()])

    def of_axes(self, names: Sequence[str]) -> "CountTable":
        """Table of these columns of records, in this order.

        Records without a value in any of them are left out.

        Raises UsageError if a column does not exist, or is named twice.
        """
        for name in names:
            if name not in self.axes:
                raise UsageError(f"{self.path} has no column {name!r}, only {', '.join(self.axes)}")
        if len(set(names)) < len(names):
            raise UsageError(f"--axes must name each column once, found {', '.join(names)}")
        places = [self.axes.index(name) for name in names]
        cells = self.counts.cells[:, places]
        told = (cells != MISSING).any(axis=1)
        counts = CellCounts(
            cells[told], self.counts.counts[told], tuple(self.counts.shape[n] for n in places)
        )
        return replace(
            self, axes=tuple(names), labels=tuple(self.labels[n] for n in places), counts=counts
        )

    def renamed(self, names: Sequence[str]) -> "CountTable":
        """Table with other names of its axes.

        Raises UsageError if the number of names is wrong, or a name is repeated.
        """
        if len(names) != len(self.axes):
            raise UsageError(
                f"--axes: {self.path} has {len(self.axes)} axes, found {len(names)} names"
            )
        if len(set(names)) < len(names):
            raise UsageError(f"--axes must give each axis a name of its own, found {names[0]!r} …")
        return replace(self, axes=tuple(names))

    def with_values_alike(self, places: Sequence[int], why: str) -> "CountTable":
        """Table in which several axes share one list of values, the union of theirs for records.

        Raises UsageError if it is no table of records, and the axes differ.
        """
        chosen = [self.labels[n] for n in places]
        if len(set(chosen)) == 1:
            return self
        if self.layout != "records":
            raise UsageError(
                f"{why} needs axes of the same values in the same order, and "
                f"{' and '.join(self.axes[n] for n in places)} of {self.path} differ"
            )
        whole = in_order({label for each in chosen for label in each})
        number = {label: value for value, label in enumerate(whole)}
        cells = self.counts.cells.copy()
        labels, shape = list(self.labels), list(self.counts.shape)
        for n, old in zip(places, chosen, strict=True):
            new = np.array([*(number[label] for label in old), MISSING], dtype=np.int64)
            cells[:, n] = new[cells[:, n]]
            labels[n], shape[n] = whole, len(whole)
        counts = CellCounts(cells, self.counts.counts, tuple(shape))
        return replace(self, labels=tuple(labels), counts=counts)


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Sort labels: by number if all are numbers, else alphabetically."""
    if all(map(is_number, labels)):
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    return tuple(sorted(labels))


def axis_names(n_axes: int) -> tuple[str, ...]:
    """Default names of axes: those of the standard graphs."""
    return ("i", "j") if n_axes == 2 else tuple(f"i{n}" for n in range(1, n_axes + 1))


def is_number(text: str) -> bool:
    """Whether a text is a decimal number."""
    return NUMBER.fullmatch(text) is not None
