"""The estimate of many documents, as blocks of them come, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evaluation.estimate import PER_DOCUMENT, LikelihoodEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ONE_VALUE = LikelihoodEstimate.one_value_fields()


class PartialEstimate:
    """Estimate of which only some documents are scored.

    Parameters
    ----------
    n_docs
        Documents that there are.
    """

    def __init__(self, n_docs: int) -> None:
        self.is_known = np.zeros(n_docs, dtype=bool)
        """(D,), documents that are scored."""
        self.names: dict[str, Any] = {}
        """Fields that are one value for all documents, once a block is known."""
        self._columns: dict[str, Any] = {
            name: np.zeros(n_docs, dtype=dtype) for name, dtype in PER_DOCUMENT.items()
        }

    def add(self, first_document: int, part: LikelihoodEstimate) -> None:
        """Put in the block of documents that begins with this one.

        Raises
        ------
        ValueError
            If it is of another method, convention or direction than those before.
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

        As long as nothing is known, even no documents are such a run.
        """
        if not self.names:
            return [(first, last)]
        unknown = np.concatenate(([False], ~self.is_known[first:last], [False]))
        bounds = first + np.flatnonzero(unknown[1:] != unknown[:-1])
        return [(int(start), int(stop)) for start, stop in bounds.reshape(-1, 2)]

    def estimate(self) -> LikelihoodEstimate:
        """The estimate of all documents.

        Raises
        ------
        ValueError
            If some are not scored.
        """
        if self.missing(0, len(self.is_known)):
            raise ValueError(f"{(~self.is_known).sum()} documents are not scored")
        return LikelihoodEstimate(**{**self._columns, **self.names})

    def known(self) -> LikelihoodEstimate:
        """The estimate of those documents that are scored; there must be a block."""
        some = {name: column[self.is_known] for name, column in self._columns.items()}
        return LikelihoodEstimate(**{**some, **self.names})

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that is known of documents, for `from_arrays`; there must be a block."""
        estimate = LikelihoodEstimate(**{**self._columns, **self.names})
        return {"is_known": self.is_known, **estimate.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The scores that `to_arrays` took apart.

        Raises
        ------
        KeyError
            If an array is missing.
        ValueError
            If the arrays are no such scores.
        """
        estimate, is_known = LikelihoodEstimate.from_arrays(arrays), arrays["is_known"]
        if is_known.dtype != bool or is_known.shape != estimate.n_tokens.shape:
            raise ValueError("is_known is not one truth value a document")
        partial = cls(len(is_known))
        partial.add(0, estimate)
        partial.is_known = is_known.copy()
        return partial
