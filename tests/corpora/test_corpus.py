import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from corpora import Corpus, Pruning, build_corpus, corpus_files
from corpora.errors import CorpusFormatError, EmptyVocabularyError, UnsupportedVersionError
from corpora.string_column import StringColumn
from tests.corpora.tokens.blocks import block_of_runs

ALL = Pruning(no_below=1, no_above=1.0, keep_n=None)

tiny_documents = st.lists(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=3), max_size=9
)


def blocks_of(documents, block_size=2):
    ids = [f"en:{d}" for d in range(len(documents))]
    return [
        block_of_runs(
            documents[start : start + block_size],
            ids[start : start + block_size],
            [f"Title {doc_id}" for doc_id in ids[start : start + block_size]],
        )
        for start in range(0, len(documents), block_size)
    ]


def words_of(document):
    return [word for run in document for word in run]


def counts_as_loops_say(documents, vocabulary):
    bags = [Counter(words_of(document)) for document in documents]
    return [[bag[word] for word in vocabulary] for bag in bags]


def even(doc_id):
    return int(doc_id.removeprefix("en:")) % 2 == 0


def small_corpus():
    return Corpus(
        sparse.csr_array(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], dtype=np.int32)),
        ("apple", "café", "zebra"),
        ("en:1", "en:2#1", "en:2#2"),
        ("One", "Two", "Two § ü"),
        np.array([4, 0, 1]),
    )


@st.composite
def corpora(draw):
    shape = draw(array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6))
    dense = draw(arrays(np.int32, shape, elements=st.integers(0, 5)))
    n_docs, n_words = dense.shape
    words = draw(st.lists(st.text(), min_size=n_words, max_size=n_words, unique=True))
    titles = draw(st.lists(st.text(), min_size=n_docs, max_size=n_docs))
    n_unknown = draw(arrays(np.int64, n_docs, elements=st.integers(0, 9)))
    return Corpus(
        sparse.csr_array(dense),
        tuple(words),
        tuple(f"en:{d}" for d in range(n_docs)),
        tuple(titles),
        n_unknown,
    )


@settings(deadline=None)
@given(
    documents=tiny_documents,
    no_below=st.integers(1, 3),
    no_above=st.sampled_from([0.5, 1.0]),
    block_size=st.integers(1, 5),
)
def test_build_corpus_is_what_loops_say(documents, no_below, no_above, block_size):
    training = documents[::2]
    frequency = Counter(word for document in training for word in set(words_of(document)))
    vocabulary = sorted(
        word for word, n in frequency.items() if no_below <= n <= no_above * len(training)
    )
    blocks, pruning = blocks_of(documents, block_size), Pruning(no_below, no_above)
    if not vocabulary:
        with pytest.raises(EmptyVocabularyError):
            build_corpus(blocks, even, pruning)
        return
    corpus = build_corpus(iter(blocks), even, pruning)
    assert corpus.vocabulary == tuple(vocabulary)
    assert corpus.counts.toarray().tolist() == counts_as_loops_say(documents, vocabulary)
    assert corpus.doc_ids == tuple(f"en:{d}" for d in range(len(documents)))
    assert corpus.titles == tuple(f"Title en:{d}" for d in range(len(documents)))
    known_and_not = corpus.counts.sum(axis=1) + corpus.n_unknown
    assert known_and_not.tolist() == [len(words_of(document)) for document in documents]
    assert corpus.n_tokens + corpus.n_unknown.sum() == sum(b.n_tokens for b in blocks)


@settings(deadline=None)
@given(documents=tiny_documents, vocabulary=st.lists(st.sampled_from("bdfhxy"), unique=True))
def test_counts_against_a_given_vocabulary(documents, vocabulary):
    corpus = Corpus.from_blocks(blocks_of(documents), vocabulary)
    assert corpus.vocabulary == tuple(vocabulary)
    assert corpus.counts.toarray().tolist() == counts_as_loops_say(documents, vocabulary)
    known_and_not = corpus.counts.sum(axis=1) + corpus.n_unknown
    assert known_and_not.tolist() == [len(words_of(document)) for document in documents]


def test_no_training_documents_leave_no_vocabulary():
    with pytest.raises(EmptyVocabularyError, match="none of the 1 documents is one to train on"):
        build_corpus(blocks_of([[["a"]]]), lambda _: False, ALL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": np.array([[1, -1]])}, "none negative"),
        ({"counts": np.array([[1, 0.5]])}, "whole numbers"),
        ({"counts": np.array([[1, np.nan]])}, "whole numbers"),
        ({"counts": np.array([[1, np.inf]])}, "whole numbers"),
        ({"counts": np.array([[1, 2**31]])}, "above"),
        ({"counts": np.array([[1, 2**31]], dtype=np.float32)}, "above"),
        ({"counts": np.array([[1, 1j]])}, "numbers"),
        ({"counts": np.array([[1, 2, 3]])}, "vocabulary must have 3 entries, not 2"),
        ({"counts": np.array([[1, 2], [3, 4]])}, "doc_ids must have 2 entries, not 1"),
        ({"titles": ("a", "b")}, "titles"),
        ({"n_unknown": np.array([1, 2])}, "n_unknown"),
        ({"n_unknown": np.array([-1])}, "negative"),
        ({"vocabulary": ("a", "a")}, "twice"),
    ],
)
def test_contradictions_are_refused(changes, message):
    fields = {"counts": np.array([[1, 2]]), "vocabulary": ("a", "b"), "doc_ids": ("en:1",)}
    with pytest.raises(ValueError, match=message):
        Corpus(**(fields | changes))


def test_an_index_out_of_range_is_refused():
    counts = sparse.csr_array(np.array([[1, 2]]))
    counts.indices[1] = 7
    with pytest.raises(ValueError, match="indices must be"):
        Corpus(counts, ("a", "b"), ("en:1",))


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.uint8, bool])
@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_matrix, sparse.coo_array, sparse.csc_array]
)
def test_any_matrix_of_whole_numbers_becomes_int32_rows(kind, make):
    corpus = Corpus(make(np.array([[1, 0], [0, 1]], dtype=kind)), ("a", "b"), ("en:1", "en:2"))
    assert (corpus.counts.format, corpus.counts.dtype) == ("csr", np.int32)
    assert corpus.counts.toarray().tolist() == [[1, 0], [0, 1]]
    assert (corpus.titles, corpus.n_unknown.tolist()) == (corpus.doc_ids, [0, 0])


def test_duplicates_and_zeros_are_put_in_order_without_touching_the_original():
    untidy = sparse.csr_array(
        (np.array([1, 2, 0, 4]), np.array([1, 1, 0, 0]), np.array([0, 4])), shape=(1, 2)
    )
    tidy = Corpus(np.array([[4, 3]]), ("a", "b"), ("en:1",))
    assert Corpus(untidy, ("a", "b"), ("en:1",)).content_hash == tidy.content_hash
    assert untidy.data.tolist() == [1, 2, 0, 4]


@settings(deadline=None)
@given(corpus=corpora(), data=st.data(), batch_size=st.integers(1, 4))
def test_rows_and_batches(corpus, data, batch_size):
    mask = data.draw(arrays(bool, corpus.n_docs))
    chosen = corpus.rows(mask)
    assert chosen.content_hash == corpus.rows(np.flatnonzero(mask)).content_hash
    assert chosen.counts.toarray().tolist() == corpus.counts.toarray()[mask].tolist()
    assert chosen.doc_ids == tuple(np.array(corpus.doc_ids, dtype=object)[mask])
    assert chosen.n_unknown.tolist() == corpus.n_unknown[mask].tolist()
    assert chosen.vocabulary_hash == corpus.vocabulary_hash
    assert corpus.rows([]).n_docs == 0
    batches = list(corpus.batches(batch_size))
    assert all(batch.shape[0] <= batch_size for batch in batches)
    rows = [row for batch in batches for row in batch.toarray().tolist()]
    assert rows == corpus.counts.toarray().tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"vocabulary": ("apple", "cafe", "zebra")},
        {"doc_ids": ("en:1", "en:2#1", "en:3")},
        {"titles": ("One", "Two", "Three")},
        {"n_unknown": np.array([4, 0, 2])},
        {"counts": np.array([[1, 0, 2], [0, 0, 0], [0, 4, 0]])},
        {"counts": np.array([[1, 2, 0], [0, 0, 0], [0, 3, 0]])},
        {"counts": np.array([[1, 0, 0], [0, 0, 2], [0, 3, 0]])},
    ],
)
def test_the_content_hash_is_of_everything(changes):
    corpus = small_corpus()
    fields = {name: getattr(corpus, name) for name in ("counts", "vocabulary", "doc_ids")}
    fields |= {"titles": corpus.titles, "n_unknown": corpus.n_unknown}
    assert Corpus(**fields).content_hash == corpus.content_hash
    assert Corpus(**(fields | changes)).content_hash != corpus.content_hash


@pytest.mark.parametrize("mmap", [False, True])
@settings(max_examples=30, deadline=None)
@given(corpus=corpora())
def test_saved_corpora_come_back(mmap, tmp_path_factory, corpus):
    path = tmp_path_factory.mktemp("corpus") / "corpus"
    corpus.save(path)
    loaded = Corpus.load(path, mmap=mmap)
    assert loaded.content_hash == corpus.content_hash
    assert loaded.counts.toarray().tolist() == corpus.counts.toarray().tolist()
    assert (loaded.vocabulary, loaded.titles) == (corpus.vocabulary, corpus.titles)


def test_a_mapped_corpus_stays_on_disk(tmp_path):
    small_corpus().save(tmp_path)
    mapped = Corpus.load(tmp_path, mmap=True)
    arrays = [mapped.counts.data, mapped.counts.indices, mapped.counts.indptr, mapped.n_unknown]
    assert isinstance(mapped.doc_ids, StringColumn)
    assert isinstance(mapped.titles, StringColumn)
    for array in (*arrays, mapped.doc_ids.data, mapped.titles.data, mapped.titles.start):
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert next(mapped.batches(2)).toarray().tolist() == [[1, 0, 2], [0, 0, 0]]
    assert mapped.rows([2]).counts.toarray().tolist() == [[0, 3, 0]]


def test_another_corpus_takes_the_place_of_the_former(tmp_path):
    small_corpus().save(tmp_path)
    mapped = Corpus.load(tmp_path, mmap=True)
    (tmp_path / "notes.npy").touch()
    other = small_corpus().rows([2, 0])
    other.save(tmp_path)
    assert Corpus.load(tmp_path).content_hash == other.content_hash
    assert len(list(tmp_path.glob("*-data.npy"))) == 1
    assert (tmp_path / "notes.npy").exists()
    assert mapped.content_hash == small_corpus().content_hash  # who reads is not disturbed


def test_a_save_that_fails_leaves_the_former_corpus(tmp_path, monkeypatch):
    small_corpus().save(tmp_path)

    def no_space(path, text):
        raise OSError("no space left on device")

    with monkeypatch.context() as full:
        full.setattr(corpus_files, "atomic_write_text", no_space)
        with pytest.raises(OSError, match="no space"):
            small_corpus().rows([0]).save(tmp_path)
    assert Corpus.load(tmp_path).content_hash == small_corpus().content_hash


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(tmp_path, stride):
    small_corpus().save(tmp_path)
    for path in tmp_path.iterdir():
        stored = path.read_bytes()
        for position in range(0, len(stored), stride):
            changed = bytearray(stored)
            changed[position] ^= 0x01
            path.write_bytes(changed)
            try:
                loaded = Corpus.load(tmp_path)
            except CorpusFormatError:
                continue
            # White space of the header, which means nothing
            assert path.suffix == ".json"
            assert json.loads(changed) == json.loads(stored)
            assert loaded.content_hash == small_corpus().content_hash
        path.write_bytes(stored)
    assert Corpus.load(tmp_path).content_hash == small_corpus().content_hash


@pytest.mark.parametrize("mmap", [False, True])
def test_missing_and_shortened_files_are_named(mmap, tmp_path):
    small_corpus().save(tmp_path)
    (path,) = tmp_path.glob("*-indices.npy")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorpusFormatError, match=rf"{path.name} was changed: expected"):
        Corpus.load(tmp_path, mmap=mmap)
    path.unlink()
    with pytest.raises(CorpusFormatError, match=rf"{path.name} is missing"):
        Corpus.load(tmp_path, mmap=mmap)


def rewrite(directory, name, array):
    header = json.loads((directory / "header.json").read_text())
    path = directory / header["files"][name]["name"]
    np.save(path, array)
    header["files"][name]["bytes"] = path.stat().st_size
    header["files"][name]["sha256"] = corpus_files.sha256_of_file(path)
    header["check"] = corpus_files.check_of(header)
    (directory / "header.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("data", np.array([1, -2, 3], dtype=np.int32)),
        ("data", np.array([1.0, np.nan, 3.0])),
        ("data", np.array([1, 2], dtype=np.int32)),
        ("data", np.array([[1, 2, 3]], dtype=np.int32)),
        ("indices", np.array([2, 0, 1], dtype=np.int32)),
        ("indices", np.array([0, 9, 1], dtype=np.int32)),
        ("indices", np.array([0, -1, 1], dtype=np.int32)),
        ("indptr", np.array([0, 3, 2, 3], dtype=np.int32)),
        ("indptr", np.array([0, 3], dtype=np.int32)),
        ("n_unknown", np.array([0, -1, 0])),
        ("n_unknown", np.array([0, 1])),
        ("vocabulary", np.frombuffer(b'["a", "b"]', dtype=np.uint8)),
        ("vocabulary", np.frombuffer(b'["a", "b",', dtype=np.uint8)),
        ("vocabulary", np.frombuffer(b'["a", "b", "b"]', dtype=np.uint8)),
        ("doc_ids", np.frombuffer(b"en:1en:2#1en:2#", dtype=np.uint8)),
        ("doc_ids", np.array([101, 110])),
        ("doc_ids_start", np.array([0, 4, 10])),
        ("doc_ids_start", np.array([0, 4, 3, 16])),
        ("doc_ids_start", np.array([0, 4, 10, 16], dtype=np.int32)),
        ("titles_start", np.zeros(0, dtype=np.int64)),
        ("titles", np.frombuffer(b"OneTwoTwo \xc2\xc2\xc2\xc2", dtype=np.uint8)),
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_files_that_hold_no_corpus_are_refused(mmap, name, array, tmp_path):
    small_corpus().save(tmp_path)
    rewrite(tmp_path, name, array)
    with pytest.raises(CorpusFormatError, match="does not hold a corpus"):
        Corpus.load(tmp_path, mmap=mmap, checked=mmap)


def test_explicit_zeros_are_refused_where_they_cannot_be_left_out(tmp_path):
    small_corpus().save(tmp_path)
    rewrite(tmp_path, "data", np.array([1, 0, 3], dtype=np.int32))
    assert Corpus.load(tmp_path).counts.nnz == 2
    with pytest.raises(CorpusFormatError, match="counts must be positive"):
        Corpus.load(tmp_path, mmap=True, checked=True)


def test_a_mapped_corpus_is_checked_if_asked(tmp_path):
    small_corpus().save(tmp_path)
    checked = Corpus.load(tmp_path, mmap=True, checked=True)
    assert checked.mapped_from == (tmp_path, small_corpus().content_hash, True)
    assert checked.content_hash == small_corpus().content_hash
    assert not checked.counts.data.flags.owndata
    for path in tmp_path.glob("*.npy"):
        stored = path.read_bytes()
        path.write_bytes(stored[:-1] + bytes([stored[-1] ^ 1]))
        if not re.search("vocabulary|_start|indptr", path.name):  # of which some is always read
            assert Corpus.load(tmp_path, mmap=True).n_docs == 3
        with pytest.raises(CorpusFormatError, match=f"{path.name} was changed"):
            Corpus.load(tmp_path, mmap=True, checked=True)
        path.write_bytes(stored)


def test_the_hash_of_a_mapped_corpus_is_of_what_it_holds(tmp_path):
    small_corpus().save(tmp_path)
    rewrite(tmp_path, "n_unknown", np.array([0, 1, 5]))
    found = Corpus.load(tmp_path, mmap=True).content_hash
    assert found == Corpus.load(tmp_path).content_hash != small_corpus().content_hash


@pytest.mark.parametrize("mmap", [False, True])
def test_the_first_version_is_still_read(mmap, tmp_path):
    # Written by the release before: counts as now, all strings as JSON lists.
    corpus = small_corpus()
    arrays = {
        "data": corpus.counts.data,
        "indices": corpus.counts.indices,
        "indptr": corpus.counts.indptr,
        "n_unknown": corpus.n_unknown,
    }
    for name in ("vocabulary", "doc_ids", "titles"):
        listed = json.dumps(list(getattr(corpus, name))).encode()
        arrays[name] = np.frombuffer(listed, dtype=np.uint8)
    header = {"format": "wikitopics corpus", "version": 1}
    header |= {"n_docs": 3, "n_words": 3, "n_tokens": 6}
    header["content_hash"] = "a12f"
    header["files"] = {name: {"name": f"0123456789abcdef-{name}.npy"} for name in arrays}
    (tmp_path / "header.json").write_text(json.dumps(header))
    for name, array in arrays.items():
        rewrite(tmp_path, name, array)
    loaded = Corpus.load(tmp_path, mmap=mmap)
    assert loaded.content_hash == corpus.content_hash
    assert (loaded.vocabulary, loaded.doc_ids) == (corpus.vocabulary, corpus.doc_ids)
    corpus.save(tmp_path)
    assert not list(tmp_path.glob("0123456789abcdef-*"))


def test_the_content_hash_is_that_of_former_releases():
    # Checkpoints and provenance of runs hold it.
    assert small_corpus().content_hash == (
        "1bd3d6f65e2cdd4cb8ef1f57c41d3e0a2ad56b462d848c166dfdf795086f65da"
    )


def test_a_newer_version_says_to_upgrade(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(corpus_files, "FORMAT_VERSION", 3)
        small_corpus().save(tmp_path)
    with pytest.raises(UnsupportedVersionError, match=r"header\.json is of format version 3"):
        Corpus.load(tmp_path)


@pytest.mark.parametrize("header", ["", "{", "[]", "{}", '{"format": "something else"}', "null"])
def test_another_header_is_refused(header, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"header\.json"):
        Corpus.load(tmp_path)
    (tmp_path / "header.json").write_text(header)
    with pytest.raises(CorpusFormatError, match=r"header\.json is not the header of a corpus"):
        Corpus.load(tmp_path)
