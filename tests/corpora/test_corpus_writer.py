import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from corpora import Corpus, build_corpus_on_disk, corpus_writer
from corpora import corpus as corpus_module
from corpora.corpus_writer import Bags, CorpusWriter
from tests.corpora.test_corpus import blocks_of, small_corpus, tiny_documents

DOCUMENTS = [[["a", "b"], ["c"]], [], [["c", "c"]], [["b"]], [["x"]]]
KILLED = """
import os, signal, sys
from corpora.corpus import build_corpus_on_disk
from corpora.corpus_files import atomic_write_text
from corpora import corpus_files
from tests.corpora.test_corpus import blocks_of
from tests.corpora.test_corpus_writer import DOCUMENTS

def blocks(dies):
    yield from blocks_of(DOCUMENTS)
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "header":
    corpus_files.atomic_write_text = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
build_corpus_on_disk(sys.argv[1], blocks(sys.argv[2] == "counting"), "abc")
"""


def files_in(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@settings(deadline=None, max_examples=40)
@given(
    documents=tiny_documents,
    vocabulary=st.lists(st.sampled_from("bdfhxy"), unique=True),
    block_size=st.integers(1, 9),
)
def test_written_by_blocks_or_from_memory_it_is_the_same_to_the_bit(
    tmp_path_factory, documents, vocabulary, block_size
):
    path = tmp_path_factory.mktemp("corpora")
    written = build_corpus_on_disk(path / "written", blocks_of(documents, block_size), vocabulary)
    counted = Corpus.from_blocks(blocks_of(documents), vocabulary)
    counted.save(path / "saved")
    assert files_in(path / "written") == files_in(path / "saved")
    assert written.content_hash == counted.content_hash
    assert Corpus.load(path / "written").content_hash == counted.content_hash
    assert written.counts.toarray().tolist() == counted.counts.toarray().tolist()


@pytest.mark.parametrize("most", [3, 4])
def test_indices_get_as_wide_as_they_must(most, tmp_path, monkeypatch):
    # Four counts, so that 3 stands for 2³¹ - 1 when they are more than that.
    monkeypatch.setattr(corpus_writer, "MAX_INT32", most)
    documents = [[["a", "b"]], [["a"]], [["b"]]]
    written = build_corpus_on_disk(tmp_path / "written", blocks_of(documents), "ab")
    saved = Corpus.from_blocks(blocks_of(documents), "ab")
    saved.save(tmp_path / "saved")
    kind = np.int64 if most == 3 else np.int32
    assert written.counts.indices.dtype == written.counts.indptr.dtype == kind
    assert files_in(tmp_path / "written") == files_in(tmp_path / "saved")
    assert written.content_hash == saved.content_hash
    assert Corpus.load(tmp_path / "saved").content_hash == saved.content_hash


def failing_after(blocks):
    yield from blocks
    raise RuntimeError("no more tokens")


def test_an_error_leaves_the_former_corpus_or_none(tmp_path):
    with pytest.raises(RuntimeError, match="no more"):
        build_corpus_on_disk(tmp_path, failing_after(blocks_of(DOCUMENTS)), "abc")
    assert list(tmp_path.iterdir()) == []
    small_corpus().save(tmp_path)
    before = files_in(tmp_path)
    with pytest.raises(RuntimeError, match="no more"):
        build_corpus_on_disk(tmp_path, failing_after(blocks_of(DOCUMENTS)), "abc")
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("moment", [pytest.param("counting", marks=pytest.mark.slow), "header"])
def test_a_kill_leaves_the_former_corpus_and_the_next_writer_cleans_up(moment, tmp_path):
    small_corpus().save(tmp_path)
    before = set(files_in(tmp_path))
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert set(files_in(tmp_path)) > before
    assert Corpus.load(tmp_path).content_hash == small_corpus().content_hash
    small_corpus().save(tmp_path)
    assert set(files_in(tmp_path)) == before
    written = build_corpus_on_disk(tmp_path, blocks_of(DOCUMENTS), "abc")
    assert len(list(tmp_path.iterdir())) == len(before)
    assert written.n_docs == len(DOCUMENTS)


def test_bags_that_do_not_fit_are_refused(tmp_path):
    def bags(counts, n_ids=1):
        rows = sparse.csr_array(counts)
        return Bags(rows, ["x"] * n_ids, ["x"] * n_ids, np.zeros(n_ids, dtype=np.int64))

    one = np.array([[1, 2]], dtype=np.int32)
    unsorted = sparse.csr_array((np.array([1, 2]), np.array([1, 0]), np.array([0, 2])))
    zero = sparse.csr_array(([0], ([0], [1])), shape=(1, 2), dtype=np.int32)
    wide = np.array([[1, 2]])
    for wrong in (bags([[1, 2, 3]]), bags(one, 2), bags(unsorted), bags(zero), bags(wide)):
        with (
            pytest.raises(ValueError, match=r"columns|rows need|int32"),
            CorpusWriter(tmp_path, "ab") as writer,
        ):
            writer.append(wrong)
    with pytest.raises(ValueError, match="twice"):
        CorpusWriter(tmp_path, "aa")
    assert list(tmp_path.iterdir()) == []


def test_counting_reads_one_block_at_a_time(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        corpus_module.CorpusWriter, "append", lambda _, bags: written.append(len(bags.doc_ids))
    )

    def blocks():
        for i, block in enumerate(blocks_of(DOCUMENTS, 2)):
            assert len(written) == i  # what came before is on its way to the disk
            yield block

    build_corpus_on_disk(tmp_path, blocks(), "abc")
    assert written == [2, 2, 1]
