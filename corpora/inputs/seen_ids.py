"""Ids that were read before, in 16 bytes each, and the row of each."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECENT = 2**16  # Ids that are kept in a dict before they are merged into the sorted arrays


class SeenIds:
    """Page ids with the numbers of their rows: a dict of the newest, sorted arrays of the rest."""

    def __init__(self) -> None:
        self._recent: dict[int, int] = {}
        self._ids, self._rows = array("q"), array("q")

    def add(self, page_id: int, row: int) -> int | None:
        """Add an id; return the row that had it before, if one had."""
        if (before := self._recent.get(page_id)) is not None:
            return before
        i = bisect_left(self._ids, page_id)
        if i < len(self._ids) and self._ids[i] == page_id:
            return self._rows[i]
        self._recent[page_id] = row
        if len(self._recent) >= RECENT:
            self._merge()
        return None

    def _merge(self) -> None:
        ids = _joined(self._ids, list(self._recent))
        rows = _joined(self._rows, list(self._recent.values()))
        order = np.argsort(ids, kind="stable")
        self._ids, self._rows = array("q", ids[order].tobytes()), array("q", rows[order].tobytes())
        self._recent = {}


def _joined(old: array[int], new: list[int]) -> NDArray[np.int64]:
    return np.concatenate([np.frombuffer(old, dtype=np.int64), np.array(new, dtype=np.int64)])
