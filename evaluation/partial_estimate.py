"""Estimate of many documents from blocks that come in any order."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evaluation.estimate import PER_DOCUMENT, LikelihoodEstimate

ONE_VALUE = LikelihoodEstimate.one_value_fields()


class PartialEstimate:
    """Estimate of `n_docs` documents of which only some are scored."""

    def __init__(self, n_docs: int) -> None:
        self.is_known = np.zeros(n_docs, dtype=bool)  # (D,), whether each document is scored
        self.names: dict[str, Any] = {}
        """Fields with one value for all documents; empty before the first block."""
        self._columns: dict[str, Any] = {
            name: np.zeros(n_docs, dtype=dtype) for name, dtype in PER_DOCUMENT.items()
        }

    def add(self, first_document: int, part: LikelihoodEstimate) -> None:
        """Add the block of documents that begins at `first_document`.

        Raises ValueError if an earlier block has another method, convention or direction.
        """
        names = {name: getattr(part, name) for name in ONE_VALUE}
        if self.names and names != self.names:
            raise ValueError(
                f"blocks must be of one method and convention, found {self.names} and {names}"
            )
        self.names = names
        block = slice(first_document, first_document + len(part.n_tokens))
        for name, column in self._columns.items():
            column[block] = getattr(part, name)
        self.is_known[block] = True

    def missing(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the runs of documents without a score, from `first` to before `last`.

        Before the first block even an empty range is such a run.
        """
        if not self.names:
            return [(first, last)]
        unknown = np.concatenate(([False], ~self.is_known[first:last], [False]))
        bounds = first + np.flatnonzero(unknown[1:] != unknown[:-1])
        return [(int(start), int(stop)) for start, stop in bounds.reshape(-1, 2)]

    def estimate(self) -> LikelihoodEstimate:
        """Return the estimate of all documents; ValueError if some are not scored."""
        if self.missing(0, len(self.is_known)):
            raise ValueError(f"{(~self.is_known).sum()} documents are not scored")
        return LikelihoodEstimate(**{**self._columns, **self.names})

    def known(self) -> LikelihoodEstimate:
        """Return the estimate of the scored documents, after at least one block."""
        some = {name: column[self.is_known] for name, column in self._columns.items()}
        return LikelihoodEstimate(**{**some, **self.names})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the scores so far as arrays, for `from_arrays`, after at least one block."""
        estimate = LikelihoodEstimate(**{**self._columns, **self.names})
        return {"is_known": self.is_known, **estimate.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the partial estimate with the arrays of `to_arrays`.

        Raises KeyError if an array is missing; ValueError if the arrays are no such scores.
        """
        estimate, is_known = LikelihoodEstimate.from_arrays(arrays), arrays["is_known"]
        if is_known.dtype != bool or is_known.shape != estimate.n_tokens.shape:
            raise ValueError("is_known is not one truth value a document")
        partial = cls(len(is_known))
        partial.add(0, estimate)
        partial.is_known = is_known.copy()
        return partial
