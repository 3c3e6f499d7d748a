"""State of a Gibbs sampler for LDA as MALLET stores it: the topic of every token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MalletState:
    """Topic of each token; words in order of type index. Raises ValueError if arrays disagree."""

    doc_of: NDArray[np.int32]  #: (n_tokens,) document of each token, in ascending order.
    position_of: NDArray[np.int32]  #: (n_tokens,) position in the document.
    word_of: NDArray[np.int32]  #: (n_tokens,) word, as an index of `vocabulary`.
    topic_of: NDArray[np.int32]  #: (n_tokens,) topic, below `n_topics`.
    vocabulary: tuple[str, ...]  #: (n_words,) words that appear.
    type_indices: NDArray[np.int32]  #: (n_words,) type index of each word in the file, ascending.
    sources: tuple[str, ...]
    """(n_docs,) source of each document; "NA" for a document without tokens."""
    n_topics: int
    alpha: NDArray[np.float64] | None = None
    """(n_topics,) Dirichlet parameters; None if not in the file."""
    beta: float | None = None
    """Dirichlet parameter of words in a topic, elsewhere called eta; None if not in the file."""

    def __post_init__(self) -> None:
        n_tokens = len(self.doc_of)
        names = ("doc_of", "position_of", "word_of", "topic_of")
        limits = (len(self.sources), MAX_INT32, len(self.vocabulary), self.n_topics)
        for name, limit in zip(names, limits, strict=True):
            values = getattr(self, name)
            if values.shape != (n_tokens,):
                raise ValueError(f"{name} must have shape ({n_tokens},), found {values.shape}")
            if n_tokens and not 0 <= values.min() <= values.max() < limit:
                raise ValueError(f"{name} must be from 0 to {limit - 1}")
        if np.any(np.diff(self.doc_of) < 0):
            raise ValueError("doc_of must be in ascending order")
        if self.type_indices.shape != (len(self.vocabulary),):
            raise ValueError("type_indices and vocabulary must have the same length")
        if np.any(np.diff(self.type_indices) <= 0) or np.any(self.type_indices[:1] < 0):
            raise ValueError("type_indices must ascend from 0 or more")
        if self.alpha is not None and self.alpha.shape != (self.n_topics,):
            raise ValueError(f"alpha must have shape ({self.n_topics},), found {self.alpha.shape}")

    @property
    def n_dk(self) -> NDArray[np.int64]:
        """(n_docs, n_topics) tokens of each document in each topic."""
        return self._counted(self.doc_of, len(self.sources))

    @property
    def n_kw(self) -> NDArray[np.int64]:
        """(n_topics, n_words) tokens of each word in each topic."""
        return np.ascontiguousarray(self._counted(self.word_of, len(self.vocabulary)).T)

    def corpus(self) -> Corpus:
        """Bags of words without topics; document ids are "0", "1", …, titles are the sources."""
        ones = np.ones(len(self.doc_of), dtype=np.int32)
        shape = (len(self.sources), len(self.vocabulary))
        counts = sparse.coo_array((ones, (self.doc_of, self.word_of)), shape=shape)
        ids = tuple(str(d) for d in range(len(self.sources)))
        return Corpus(counts.tocsr(), self.vocabulary, ids, self.sources)

    def _counted(self, rows: NDArray[np.int32], n_rows: int) -> NDArray[np.int64]:
        cells = rows * np.int64(self.n_topics) + self.topic_of
        flat = np.bincount(cells, minlength=n_rows * self.n_topics)
        return flat.reshape(n_rows, self.n_topics)
