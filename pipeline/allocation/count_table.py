"""A table of counts of any number of axes, with what these and their values are called."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corpora.content_hash import content_hash, of_array
from models.allocation.cell_counts import MISSING, CellCounts
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts with what their axes and the values of these are called."""

    path: str
    layout: str
    """"records", "matrix", "array" or "documents"."""
    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    """For each axis those of its values, in order."""
    counts: CellCounts

    @property
    def hash(self) -> str:
        """Of all that a score depends on: cells, counts and shape."""
        shape = np.array(self.counts.shape, dtype=np.int64)
        arrays = {"cells": self.counts.cells.ravel(), "counts": self.counts.counts, "shape": shape}
        return content_hash([of_array(name, each) for name, each in arrays.items()])

    def of_axes(self, names: Sequence[str]) -> CountTable:
        """The columns of records that `names` names, in this order; nothing is known of others.

        Records that say nothing of these are left out.

        Raises
        ------
        UsageError
            If there is no such column, or one is named twice.
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

    def renamed(self, names: Sequence[str]) -> CountTable:
        """The same with other names of its axes.

        Raises
        ------
        UsageError
            If there are not as many, or two are the same.
        """
        if len(names) != len(self.axes):
            raise UsageError(
                f"--axes: {self.path} has {len(self.axes)} axes, found {len(names)} names"
            )
        if len(set(names)) < len(names):
            raise UsageError(f"--axes must give each axis a name of its own, found {names[0]!r} …")
        return replace(self, axes=tuple(names))

    def with_values_alike(self, places: Sequence[int], why: str) -> CountTable:
        """The same with one list of values for several axes: of records all that any of them has.

        Raises
        ------
        UsageError
            If it is no table of records, and the axes differ.
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
    """Labels of values: by number if all are numbers, else by alphabet."""
    if all(map(is_number, labels)):
        return tuple(sorted(labels, key=lambda label: (float(label), label)))
    return tuple(sorted(labels))


def axis_names(n_axes: int) -> tuple[str, ...]:
    """Names of axes that have none: those that ready-made graphs have."""
    return ("i", "j") if n_axes == 2 else tuple(f"i{n}" for n in range(1, n_axes + 1))


def is_number(text: str) -> bool:
    """Whether this is a decimal number, as people write them."""
    return NUMBER.fullmatch(text) is not None
