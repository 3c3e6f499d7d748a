"""A corpus from documents that arrive one by one as words and their counts."""

from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from corpora.corpus import Corpus


class BagGatherer:
    """Growing counts; 8 bytes for each different word of a document. Columns are the words of
    `vocabulary`, others count as unknown; without it all words that appear, in alphabetical order.
    """

    def __init__(self, vocabulary: Sequence[str] | None = None) -> None:
        self._is_open = vocabulary is None
        self._column_of = {word: column for column, word in enumerate(vocabulary or ())}
        self._columns, self._counts = array("i"), array("i")
        self._starts, self._n_unknown = array("q", [0]), array("q")
        self._doc_ids: list[str] = []
        self._titles: list[str] = []

    def add(self, doc_id: str, title: str, bag: Mapping[str, int], n_unknown: int = 0) -> None:
        """Add a document; its counts are from 1 to 2³¹ − 1."""
        for word, count in bag.items():
            if self._is_open:
                column = self._column_of.setdefault(word, len(self._column_of))
            else:
                column = self._column_of.get(word, -1)
            if column < 0:
                n_unknown += count
            else:
                self._columns.append(column)
                self._counts.append(count)
        self._starts.append(len(self._columns))
        self._n_unknown.append(n_unknown)
        self._doc_ids.append(doc_id)
        self._titles.append(title)

    def corpus(self) -> Corpus:
        """The corpus of all documents added."""
        words = list(self._column_of)
        columns = np.frombuffer(self._columns, dtype=np.int32)
        if self._is_open:
            order = sorted(range(len(words)), key=words.__getitem__)
            place_of = np.empty(len(words), dtype=np.int32)
            place_of[order] = np.arange(len(words), dtype=np.int32)
            columns, words = place_of[columns], [words[column] for column in order]
        counts = sparse.csr_array(
            (np.frombuffer(self._counts, dtype=np.int32), columns, np.array(self._starts)),
            shape=(len(self._doc_ids), len(words)),
        )
        counts.sort_indices()
        return Corpus(
            counts,
            tuple(words),
            tuple(self._doc_ids),
            tuple(self._titles),
            np.array(self._n_unknown, dtype=np.int64),
        )
