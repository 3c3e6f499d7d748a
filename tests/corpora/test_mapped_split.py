import os
import shutil
import threading
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from corpora import Corpus, array_file, corpus_writer, mapped_split, row_blocks, string_column
from corpora.corpus_writer import CorpusWriter
from corpora.errors import CorpusFormatError, StoreLockedError
from corpora.hash_split import article_keys, split


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 0)
    monkeypatch.setattr(mapped_split, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(row_blocks, "ENTRIES", 25)


def saved(path, seed=0, n_docs=60):
    rng = np.random.default_rng(seed)
    corpus = Corpus(
        rng.poisson(0.7, (n_docs, 5)),
        tuple("abcde"),
        tuple(f"en:{d // 2}#{d % 2}" for d in range(n_docs)),
        tuple(f"Größe {d}" for d in range(n_docs)),
        rng.integers(0, 9, n_docs),
    )
    corpus.save(path)
    return corpus


def hashes(parts):
    return [part.content_hash for part in parts]


def mapped(path, *, checked=False):
    return Corpus.load(path, mmap=True, checked=checked)


@pytest.mark.parametrize(("validation", "test"), [(0.1, 0.1), (0, 0.4), (0.25, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("checked", [False, True])
def test_the_parts_are_those_in_memory(tmp_path, validation, test, checked):
    expected = split(saved(tmp_path), validation, test)
    for _ in range(2):  # written, and then found
        parts = split(mapped(tmp_path, checked=checked), validation, test)
        assert hashes(parts) == hashes(expected)
        for part, other in zip(parts, expected, strict=True):
            assert part.mapped_from is not None
            assert part.mapped_from.is_checked == checked
            assert other.mapped_from is None
            assert part.counts.indices.dtype == other.counts.indices.dtype
            assert (part.vocabulary, part.titles) == (other.vocabulary, other.titles)


def test_parts_are_written_once_and_by_their_shares(tmp_path, monkeypatch):
    corpus = saved(tmp_path)
    split(mapped(tmp_path), 0.1, 0.1)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.npy")}
    split(mapped(tmp_path), 0.1, 0.1)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.npy")} == before
    split(mapped(tmp_path), 0.2, 0.1)
    assert len(list(tmp_path.glob("parts-*"))) == 2
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 1 << 20)
    assert hashes(split(mapped(tmp_path), 0.3, 0.1)) == hashes(split(corpus, 0.3, 0.1))
    assert len(list(tmp_path.glob("parts-*"))) == 2  # a small corpus is not written


def test_another_corpus_does_not_meet_the_parts_of_the_former(tmp_path):
    saved(tmp_path)
    parts = split(mapped(tmp_path), 0.1, 0.1)
    (directory,) = tmp_path.glob("parts-*")
    other = saved(tmp_path, seed=1)
    assert not directory.exists()
    assert hashes(split(mapped(tmp_path), 0.1, 0.1)) == hashes(split(other, 0.1, 0.1))
    assert parts.train.n_tokens != split(other, 0.1, 0.1).train.n_tokens  # and is not disturbed
    saved(tmp_path, seed=1)
    assert len(list(tmp_path.glob("parts-*"))) == 1  # of the same corpus written again


def test_an_interruption_leaves_nothing_wrong(tmp_path, monkeypatch):
    expected = hashes(split(saved(tmp_path), 0.3, 0.3))
    finish, n_finished = CorpusWriter._finish, 0

    def interrupted(writer):
        nonlocal n_finished
        n_finished += 1
        if n_finished == stop_at:
            raise KeyboardInterrupt
        finish(writer)

    for stop_at in (1, 2, 3):
        n_finished = 0
        with monkeypatch.context() as patch:
            patch.setattr(CorpusWriter, "_finish", interrupted)
            with pytest.raises(KeyboardInterrupt):
                split(mapped(tmp_path), 0.3, 0.3)
        assert not list(tmp_path.rglob(".*"))
        (directory,) = tmp_path.glob("parts-*")
        assert len(list(directory.glob("*/header.json"))) == stop_at - 1
        assert hashes(split(mapped(tmp_path), 0.3, 0.3)) == expected
        shutil.rmtree(directory)


def test_damage_is_found_before_it_is_copied_and_in_parts(tmp_path):
    def flip(pattern):
        (file,) = tmp_path.glob(pattern)
        content = bytearray(file.read_bytes())
        content[-4] ^= 1
        file.write_bytes(content)

    saved(tmp_path)
    flip("*-data.npy")
    corpus = mapped(tmp_path)  # which does not look
    with pytest.raises(CorpusFormatError, match=r"data\.npy was changed"):
        split(corpus, 0.1, 0.1)
    flip("*-data.npy")
    split(mapped(tmp_path), 0.1, 0.1)
    flip("parts-*/test/*-doc_ids.npy")
    with pytest.raises(CorpusFormatError, match=r"doc_ids\.npy was changed"):
        split(mapped(tmp_path, checked=True), 0.1, 0.1)


def test_whoever_comes_second_waits(tmp_path, monkeypatch):
    expected, found = hashes(split(saved(tmp_path), 0.1, 0.1)), []
    lock, tried = mapped_split.writer_lock, 0

    @contextmanager
    def held(directory):
        nonlocal tried
        tried += 1
        if tried < 3:
            raise StoreLockedError("by another")
        with lock(directory):
            yield

    monkeypatch.setattr(mapped_split, "writer_lock", held)
    threads = [
        threading.Thread(target=lambda: found.append(hashes(split(mapped(tmp_path), 0.1, 0.1))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert found == [expected] * 4
    assert tried >= 3


def test_where_nobody_may_write_parts_are_in_memory(tmp_path, monkeypatch):
    expected = hashes(split(saved(tmp_path), 0.1, 0.1))

    def refused(*_, **__):
        raise PermissionError(13, os.strerror(13))

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.mkdir", refused)
        parts = split(mapped(tmp_path), 0.1, 0.1)
    assert hashes(parts) == expected
    assert parts.train.mapped_from is None

    def full(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pathlib.Path.mkdir", full)
    with pytest.raises(OSError, match="No space left"):
        split(mapped(tmp_path), 0.1, 0.1)


def test_article_keys_tell_articles_apart():
    ids = ["en:1", "en:1#1", "en:1#2", "en:2", "", "ä"]
    keys = article_keys(ids)
    assert keys.shape == (6,)
    assert (keys.dtype.itemsize, len(np.unique(keys))) == (16, 4)
    assert len(set(keys[:3].tolist())) == 1
    assert article_keys([]).shape == (0,)


@pytest.mark.slow
def test_parts_are_written_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "ENTRIES", 5_000)
    for module in (string_column, corpus_writer):  # as much smaller as the corpus is
        monkeypatch.setattr(module, "CHUNK", 100)
    monkeypatch.setattr(array_file, "CHUNK_BYTES", 10_000)
    rng, peaks = np.random.default_rng(0), []
    for n_docs in (500, 4_500):
        counts = sparse.csr_array(
            (
                np.ones(50 * n_docs, dtype=np.int32),
                np.tile(np.arange(50, dtype=np.int32), n_docs),
                np.arange(0, 50 * n_docs + 1, 50, dtype=np.int32),
            ),
            shape=(n_docs, 50),
        )
        names = tuple(f"en:{d}" for d in rng.permutation(n_docs))
        path = tmp_path / str(n_docs)
        Corpus(counts, tuple(f"w{w}" for w in range(50)), names).save(path)
        tracemalloc.start()
        parts = split(mapped(path, checked=True), 0.1, 0.1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert parts.train.counts.nnz > 30 * n_docs
    assert (peaks[1] - peaks[0]) / 4_000 < 40
    # The control: in memory.
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 1 << 30)
    tracemalloc.start()
    split(mapped(path), 0.1, 0.1)
    assert tracemalloc.get_traced_memory()[1] > 300 * n_docs
    tracemalloc.stop()
