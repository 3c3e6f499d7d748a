"""Documents without ids of their own, whose words tell whether a run has learned from them.

Rows that are numbered, and files of some folder, have ids that other documents have too.
"""

import logging
from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from corpora import Corpus, article_of, part_of
from corpora.row_blocks import row_blocks
from corpora.string_column import StringColumn
from pipeline.settings import TrainSettings
from pipeline.text.inputs import NamedInput

logger = logging.getLogger(__name__)

ENOUGH_WORDS = 10
"""Different words by whose counts a document is known."""


def is_known_by_words(named: NamedInput | None, corpus: Corpus) -> bool:
    """Whether ids of the documents of an input are only numbers of rows or names of files."""
    if named is None or named.kind == "store":
        return False
    if named.kind == "counts":
        is_made = _are_numbers(corpus.doc_ids, 1) or _are_numbers(corpus.doc_ids, 0)
    else:
        is_made = not named.found.has_ids
    if is_made:
        logger.info("%s: documents without ids are known again by their words", named.path)
    return is_made


def has_own_ids(named: NamedInput | None) -> bool:
    """Whether ids of texts are of their table: equal ones of a downloaded page are by chance."""
    if named is None or named.kind != "texts":
        return False
    return named.found.has_ids and not named.found.has_page_ids


def _are_numbers(doc_ids: Sequence[str], first: int) -> bool:
    """Whether ids are whole numbers in their order; those of AnnData begin with 0 by default."""
    return all(doc_id == str(i) for i, doc_id in enumerate(doc_ids, first))


def without_known_words(corpus: Corpus, own: Corpus, trained: TrainSettings) -> Corpus:
    """Return the documents of articles that a run neither learned from nor stopped by, as
    `held_out_of`, where ids are made of the place of a document: also its words have to be the
    same. With `ENOUGH_WORDS` different ones, they alone tell.
    """
    number_of = {word: w for w, word in enumerate(own.vocabulary)}
    columns = np.array([number_of.get(word, -1) for word in corpus.vocabulary], dtype=np.int64)
    own_columns = np.full(own.n_words, -1)
    own_columns[columns[columns >= 0]] = columns[columns >= 0]
    used = np.concatenate(
        [
            keys[[part_of(each, trained.validation, trained.test) != "test" for each in ids]]
            for ids, keys in _word_keys(own, own_columns)
        ]
        or [np.zeros(0, dtype="S16")]
    )
    articles, known = list[str](), set[str]()
    for ids, keys in _word_keys(corpus, columns):
        articles += map(article_of, ids)
        is_known = np.isin(keys, used) & (keys != b"")
        known.update(article_of(ids[i]) for i in np.flatnonzero(is_known).tolist())
    if not known:
        return corpus
    return corpus.rows(np.array([article not in known for article in articles]))


def _word_keys(
    corpus: Corpus, columns: NDArray[np.int64]
) -> Iterator[tuple[StringColumn, NDArray[np.bytes_]]]:
    """Yield ids of some documents, and 16 bytes of a hash of the counts of each by the new numbers
    of its `columns` (n_words,), -1 for none; few words are told by the id too, and none by nothing.
    """
    ids = StringColumn.of(corpus.doc_ids)
    for first, block in row_blocks(corpus.counts):
        some = ids[first : first + block.shape[0]]
        numbers, counts = columns[block.indices], block.data.astype(np.int64)
        keys = []
        for doc_id, start, end in zip(some, block.indptr, block.indptr[1:], strict=False):
            order = np.argsort(numbers[start:end], kind="stable")
            order = order[numbers[start:end][order] >= 0]
            key = numbers[start:end][order].tobytes() + counts[start:end][order].tobytes()
            if len(order) < ENOUGH_WORDS:
                key += doc_id.encode(errors="replace")
            keys.append(sha256(key).digest()[:16] if len(order) else b"")
        yield some, np.array(keys, dtype="S16")
