"""Vocabularies matched by word, so that all models score the same tokens."""

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
    """Return the words of all vocabularies, in the order of the first."""
    others = [set(words) for words in vocabularies[1:]]
    return tuple(word for word in vocabularies[0] if all(word in known for known in others))


def counts_of(corpus: Corpus, words: Sequence[str], n_columns: int) -> sparse.csr_array:
    """Return counts (n_docs, n_columns) with `words` in the first columns, zeros in the others."""
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
    """Return the model with `words` as its first columns, and its other words after them.

    By the convention "bag-and-length" the other words are left out, which integrates over their
    Poisson counts. By the other conventions they stay: tokens could have been one of them.
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
    """Count the tokens of the documents that are one of `words`."""
    known = set(words)
    is_known = np.array([word in known for word in corpus.vocabulary], dtype=bool)
    blocks = (block for _, block in row_blocks(corpus.counts))
    return sum(int(each.data[is_known[each.indices]].sum(dtype=np.int64)) for each in blocks)
