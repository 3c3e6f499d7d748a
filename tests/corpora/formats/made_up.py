"""Corpora that hypothesis makes up, and what two of them share."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from corpora import Corpus, CorpusFormatError

MAX_COUNT = 2**31 - 1

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")

any_text = st.text(max_size=8)
line_words = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\ufeff"),
    min_size=1,
    max_size=8,
).filter(lambda word: bool(word.strip()))
text_words = any_text.filter(lambda word: word.split() == [word] and "\ufeff" not in word)


@st.composite
def corpora(draw, words=line_words, most=MAX_COUNT, ids=None):
    vocabulary = draw(st.lists(words, max_size=6, unique=True))
    n_docs = draw(st.integers(0, 6))
    cells = st.one_of(st.just(0), st.integers(1, 3), st.integers(1, most))
    rows = [[draw(cells) for _ in vocabulary] for _ in range(n_docs)]
    counts = np.array(rows, dtype=np.int64).reshape(n_docs, len(vocabulary))
    doc_ids = [str(d + 1) for d in range(n_docs)]
    titles = doc_ids
    if ids is not None:
        doc_ids = draw(st.lists(ids, min_size=n_docs, max_size=n_docs, unique=True))
        titles = draw(st.lists(any_text, min_size=n_docs, max_size=n_docs))
    n_unknown = np.array(draw(st.lists(st.integers(0, 9), min_size=n_docs, max_size=n_docs)))
    if ids is None:
        n_unknown = np.zeros(n_docs)
    return Corpus(
        sparse.csr_array(counts), tuple(vocabulary), tuple(doc_ids), tuple(titles), n_unknown
    )


def small_corpus():
    return Corpus(
        sparse.csr_array(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1]])),
        ("ant", "bee", "cat", "doe"),
        ("1", "2", "3"),
    )


def same(found, expected):
    assert found.counts.shape == expected.counts.shape
    assert found.counts.toarray().tolist() == expected.counts.toarray().tolist()
    assert list(found.vocabulary) == list(expected.vocabulary)
    assert list(found.doc_ids) == list(expected.doc_ids)
    assert list(found.titles) == list(expected.titles)
    assert list(found.n_unknown) == list(expected.n_unknown)


def bags(corpus):
    table = corpus.counts.toarray().tolist()
    return [{w: n for w, n in zip(corpus.vocabulary, row, strict=True) if n} for row in table]


def only_file(directory):
    return " ".join(sorted(path.name for path in directory.iterdir()))


def skip_without_zstd(suffix):
    if suffix == ".zst":
        pytest.importorskip("zstandard")


def refused(call, *parts):
    with pytest.raises(CorpusFormatError) as error:
        call()
    says(error, *parts)


def says(error, *parts):
    message = str(error.value)
    assert all(part in message for part in parts), message
