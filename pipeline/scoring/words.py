"""Words matched by name, so that models with vocabularies of their own score the same tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from corpora.row_blocks import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from corpora import Corpus
    from models import SavedModel, Topics


def common_words(vocabularies: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The words that are in every vocabulary, in the order of the first."""
    others = [set(words) for words in vocabularies[1:]]
    return tuple(word for word in vocabularies[0] if all(word in known for known in others))


def counts_of(corpus: Corpus, words: Sequence[str], n_columns: int) -> sparse.csr_array:
    """The counts (n_docs, n_columns) of `words` in the first columns; no word is in the others."""
    column_of = {word: j for j, word in enumerate(words)}
    column = np.array([column_of.get(word, -1) for word in corpus.vocabulary], dtype=np.int64)
    counts = corpus.counts.tocoo()
    columns = column[counts.col]
    kept = columns >= 0
    found = sparse.coo_array(
        (counts.data[kept].astype(np.int64), (counts.row[kept], columns[kept])),
        shape=(corpus.n_docs, n_columns),
    ).tocsr()
    found.sort_indices()
    return found


def topics_of(model: SavedModel, words: Sequence[str], convention: str = "sequence") -> Topics:
    """The model with `words` as its first columns, and the rest of its words after them.

    By the convention "bag-and-length", where a word that is not scored is one that nobody looked
    at, there is no rest: leaving out columns is what integrates over Poisson counts. By the others
    the rest are words that tokens could have been of, and were not, at the model's cost.
    """
    if tuple(words) == model.vocabulary:
        return model.topics
    first = set(words)
    place_of = {word: w for w, word in enumerate(model.vocabulary)}
    rest = [w for w, word in enumerate(model.vocabulary) if word not in first]
    if convention == "bag-and-length":
        rest = []
    order = np.array([*(place_of[word] for word in words), *rest])
    return model.topics.with_words(order)


def n_tokens_of(corpus: Corpus, words: Iterable[str]) -> int:
    """How many tokens of the documents are one of `words`."""
    known = set(words)
    is_known = np.array([word in known for word in corpus.vocabulary], dtype=bool)
    blocks = (block for _, block in row_blocks(corpus.counts))
    return sum(int(each.data[is_known[each.indices]].sum(dtype=np.int64)) for each in blocks)
