import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from corpora import Corpus, CorpusFormatError
from corpora.formats import read_text_folder, write_text_folder
from corpora.formats.text_folder import MARK, safe_path
from tests.corpora.formats import made_up

safe_names = st.text("abcXYZ0123 _-:äあ", min_size=1, max_size=6)
hostile_ids = st.text("./%\\a\n\0~\ud800", max_size=8) | st.text(max_size=400)


@given(corpus=made_up.corpora(made_up.text_words, most=50, ids=safe_names))
def test_what_is_written_is_read_again(corpus):
    with TemporaryDirectory() as directory:
        path = Path(directory, "texts")
        write_text_folder(corpus, path)
        found = read_text_folder(path)
        assert made_up.only_file(path.parent) == "texts"
    expected = dict(zip(corpus.doc_ids, made_up.bags(corpus), strict=True))
    assert dict(zip(found.doc_ids, made_up.bags(found), strict=True)) == expected
    assert list(found.doc_ids) == sorted(corpus.doc_ids)


def test_ids_that_are_paths_become_folders(tmp_path):
    counts = sparse.csr_array(np.eye(2, dtype=int))
    corpus = Corpus(counts, ("a", "b"), ("animals/cat", "plants/tree"))
    write_text_folder(corpus, tmp_path / "texts")
    assert (tmp_path / "texts" / "animals" / "cat").read_text().split() == ["a"]
    assert tuple(read_text_folder(tmp_path / "texts").doc_ids) == tuple(corpus.doc_ids)


@given(first=hostile_ids, second=hostile_ids)
def test_no_id_leads_outside_and_different_ids_differ(first, second):
    for doc_id in (first, second):
        path = safe_path(doc_id)
        parts = path.split("/")
        assert all(part and not part.startswith(".") and "\0" not in part for part in parts)
        assert all(len(part.encode()) <= 200 for part in parts)
        assert Path("/folder", path).resolve().is_relative_to("/folder")
    assert (safe_path(first) == safe_path(second)) == (first == second)


@pytest.mark.parametrize("doc_id", ["../../evil", "/etc/evil", "a/../../evil", "..", ".hidden", ""])
def test_nothing_is_written_outside(doc_id, tmp_path):
    (tmp_path / "in").mkdir()
    write_text_folder(Corpus(sparse.csr_array([[1]]), ("a",), (doc_id,)), tmp_path / "in" / "texts")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARK]
    assert len(files) == 1
    assert files[0].is_relative_to(tmp_path / "in" / "texts")
    assert made_up.bags(read_text_folder(tmp_path / "in" / "texts")) == [{"a": 1}]


def test_any_white_space_separates_and_hidden_files_do_not_count(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("no")
    (tmp_path / ".DS_Store").write_bytes(b"\xff")
    (tmp_path / "one.txt").write_bytes("\ufeffa b\r\n\tc\u00a0a".encode())
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "empty").touch()
    (tmp_path / "two" / "linked").symlink_to(tmp_path / "one.txt")
    corpus = read_text_folder(tmp_path)
    assert tuple(corpus.doc_ids) == ("one.txt", "two/empty", "two/linked")
    assert made_up.bags(corpus) == [{"a": 2, "b": 1, "c": 1}, {}, {"a": 2, "b": 1, "c": 1}]
    (tmp_path / ".words").write_text("c\nz\na\n")
    known = read_text_folder(tmp_path, tmp_path / ".words")
    assert known.vocabulary == ("c", "z", "a")
    assert known.n_unknown.tolist() == [1, 0, 1]


def test_a_bad_byte_and_a_bad_name_are_named(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good \xff")
    made_up.refused(lambda: read_text_folder(tmp_path), str(tmp_path / "bad.txt"), "byte 5")
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    (tmp_path / "bad.txt").unlink()
    made_up.refused(lambda: read_text_folder(tmp_path), "name of the file")


def test_a_word_that_is_counted_often(tmp_path):
    write_text_folder(Corpus(sparse.csr_array([[40_001]]), ("x",), ("1",)), tmp_path / "texts")
    assert made_up.bags(read_text_folder(tmp_path / "texts")) == [{"x": 40_001}]
    with pytest.raises(FileNotFoundError):
        read_text_folder(tmp_path / "none")


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "link to a device"])
def test_what_is_no_regular_file_is_refused_by_name(kind, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("a")
    odd = tmp_path / "texts" / "odd"
    pipe = odd if kind == "pipe" else tmp_path / "pipe"
    os.mkfifo(pipe)
    if kind != "pipe":
        odd.symlink_to(pipe if kind == "link to a pipe" else "/dev/null")

    def give_up(signum, frame):
        del signum, frame
        raise AssertionError("it waits for the pipe")

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    try:
        with pytest.raises(CorpusFormatError) as error:
            read_text_folder(tmp_path / "texts")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
    made_up.says(error, str(odd), "no regular file")


@pytest.mark.parametrize("word", ["", " ", "two words", "a\nb", "a\u00a0b", "\ufeffa", "\ud800"])
def test_a_word_that_no_text_holds_is_named(word, tmp_path):
    corpus = Corpus(sparse.csr_array([[1]]), (word,), ("1",))
    made_up.refused(lambda: write_text_folder(corpus, tmp_path / "texts"), repr(word))
    assert not made_up.only_file(tmp_path)


@pytest.mark.parametrize("ids", [("a", "a"), ("a", "a/b"), ("a/b", "a")])
def test_two_documents_in_one_place(ids, tmp_path):
    corpus, path = Corpus(sparse.csr_array([[1], [1]]), ("x",), ids), tmp_path / "texts"
    made_up.refused(lambda: write_text_folder(corpus, path), "same file")
    assert not made_up.only_file(tmp_path)
    write_text_folder(made_up.small_corpus(), path)
    made_up.refused(lambda: write_text_folder(corpus, path, replace=True), "same file")
    assert made_up.only_file(path) == f"{MARK} 1 2 3"
    assert made_up.only_file(tmp_path) == "texts"


def test_only_a_folder_written_here_is_replaced(tmp_path):
    path = tmp_path / "texts"
    path.mkdir()
    (path / "mine.txt").write_text("precious")
    for replace in (False, True):
        with pytest.raises(FileExistsError):
            write_text_folder(made_up.small_corpus(), path, replace=replace)
    assert made_up.only_file(path) == "mine.txt"
    (path / "mine.txt").unlink()
    write_text_folder(made_up.small_corpus(), path)
    with pytest.raises(FileExistsError):
        write_text_folder(made_up.small_corpus(), path)
    write_text_folder(made_up.small_corpus().rows([0]), path, replace=True)
    assert made_up.only_file(path) == f"{MARK} 1"
    assert made_up.only_file(tmp_path) == "texts"
