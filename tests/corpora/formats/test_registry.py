import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from corpora import Corpus, CorpusFormatError
from corpora.formats import (
    FORMATS,
    UnknownFormatError,
    format_of,
    losses,
    read_corpus,
    write_corpus,
)
from tests.corpora.formats.made_up import (
    any_text,
    corpora,
    only_file,
    same,
    says,
    small_corpus,
    text_words,
)

NAMES = {"uci": "docword.x.txt", "mtx": "x.mtx", "ldac": "x.ldac", "jsonl": "x.jsonl"}
NAMES |= {"text": "texts", "corpus": "corpus", "npz": "x.npz"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("docword.kos.txt", "uci"), ("docword.ny.times.txt.gz", "uci")),
        *(("DOCWORD.KOS.TXT.XZ", "uci"), ("a.mtx", "mtx"), ("a.mtx.bz2", "mtx")),
        *(("a.ldac", "ldac"), ("ap.dat", "ldac"), ("a.jsonl", "jsonl"), ("a.npz", "npz")),
        *(("a.state.jsonl.zst", "jsonl"), ("topic-state.gz", "mallet-state")),
    ],
)
def test_the_name_tells(name, expected):
    assert format_of(Path("somewhere", name)).name == expected


@pytest.mark.parametrize("name", ["a.txt", "a", "docword.txt", ".mtx", "a.gz", "state"])
def test_a_name_that_does_not_tell(name):
    with pytest.raises(UnknownFormatError) as error:
        format_of(name)
    says(error, name, *FORMATS)
    assert format_of(name, "mtx").name == "mtx"


def test_directories(tmp_path):
    assert format_of(tmp_path).name == "text"
    (tmp_path / "header.json").touch()
    assert format_of(tmp_path).name == "corpus"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(corpus=corpora(text_words, most=30, ids=st.text("ab/.%:", max_size=4) | any_text))
def test_what_is_not_named_as_lost_comes_back(name, corpus):
    with TemporaryDirectory() as directory:
        path = Path(directory, NAMES[name])
        try:
            write_corpus(corpus, path, name)
        except CorpusFormatError as error:
            assert name == "text"
            assert "same file" in str(error)  # noqa: PT017
            return
        found = read_corpus(path, name)
    kept = set(found.doc_ids) == set(corpus.doc_ids)
    lost = losses(corpus, FORMATS[name])
    assert kept == (not {"document ids", "ids as they are"} & set(lost))
    if not lost:
        if name == "text":  # its documents are in the order of their paths
            place = {doc_id: d for d, doc_id in enumerate(found.doc_ids)}
            found = found.rows(np.array([place[i] for i in corpus.doc_ids], dtype=np.int64))
        same(found, corpus)


def test_losses_by_format():
    corpus = Corpus(
        sparse.csr_array(np.array([[1, 0, 2]])), ("c", "b", "a"), ("x y%",), ("t",), np.array([3])
    )
    numbered = ("document ids", "titles", "numbers of unknown words")
    unordered = ("words that no document has", "the order of the vocabulary")
    assert {name: losses(corpus, each) for name, each in FORMATS.items() if each.write} == {
        "uci": numbered,
        "mtx": numbered,
        "ldac": numbered,
        "npz": numbered,
        "jsonl": unordered,
        "text": ("ids as they are", "titles", "numbers of unknown words", *unordered),
        "corpus": (),
    }
    assert not any(losses(small_corpus(), each) for each in FORMATS.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_there_is_replaced_only_if_asked(name, tmp_path):
    path = tmp_path / NAMES[name]
    write_corpus(small_corpus(), path, name)
    other = small_corpus().rows([0, 1])
    with pytest.raises(FileExistsError, match="exists"):
        write_corpus(other, path, name)
    same(read_corpus(path, name), small_corpus())
    write_corpus(other, path, name, replace=True)
    assert read_corpus(path, name).n_docs == 2
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["uci", "mtx", "ldac", "npz"])
def test_another_vocabulary_beside_is_not_replaced(name, tmp_path):
    path = tmp_path / NAMES[name]
    beside = tmp_path / ("vocab.x.txt" if name == "uci" else "x.vocab")
    beside.write_text("precious\n")
    with pytest.raises(FileExistsError, match="another vocabulary"):
        write_corpus(small_corpus(), path)
    assert only_file(tmp_path) == beside.name
    beside.write_text("ant\nbee\ncat\ndoe\n")
    write_corpus(small_corpus(), path)
    same(read_corpus(path), small_corpus())


def test_what_gets_another_vocabulary_by_force_is_said(tmp_path, caplog):
    write_corpus(small_corpus(), tmp_path / "x.mtx")
    write_corpus(small_corpus(), tmp_path / "x.ldac", replace=True)
    assert not caplog.messages  # the same vocabulary serves both
    words = ("doe", "cat", "bee", "ant")
    other = Corpus(small_corpus().counts, words, small_corpus().doc_ids)
    with pytest.raises(FileExistsError, match=r"x\.vocab exists and holds another vocabulary"):
        write_corpus(other, tmp_path / "x.dat")
    write_corpus(other, tmp_path / "x.ldac", replace=True)
    assert len(caplog.messages) == 1
    assert "x.vocab exists and holds another vocabulary" in caplog.messages[0]
    same(read_corpus(tmp_path / "x.ldac"), other)


def test_other_counts_do_not_silently_get_the_vocabulary(tmp_path, caplog):
    """vocab.txt is looked for last: a file for the same NAME would come before it."""
    write_corpus(small_corpus(), tmp_path / "docword.x.txt")
    (tmp_path / "vocab.x.txt").rename(tmp_path / "vocab.txt")
    write_corpus(small_corpus(), tmp_path / "x.mtx")  # with the same words there is no harm
    (tmp_path / "x.vocab").unlink()
    (tmp_path / "x.mtx").unlink()
    other = Corpus(small_corpus().counts, ("doe", "cat", "bee", "ant"), small_corpus().doc_ids)
    before = only_file(tmp_path)
    with pytest.raises(FileExistsError) as error:
        write_corpus(other, tmp_path / "x.mtx")
    says(error, "x.vocab would be read in place of vocab.txt for docword.x.txt")
    assert only_file(tmp_path) == before
    same(read_corpus(tmp_path / "docword.x.txt"), small_corpus())
    write_corpus(other, tmp_path / "y.mtx")  # of another NAME
    write_corpus(other, tmp_path / "x.mtx", replace=True)
    assert len(caplog.messages) == 1
    assert "in place of vocab.txt" in caplog.messages[0]


def test_counts_without_a_vocabulary_are_no_hindrance(tmp_path):
    (tmp_path / "docword.x.txt").write_text("0\n4\n0\n")
    (tmp_path / "x.txt").touch()
    write_corpus(small_corpus(), tmp_path / "x.mtx")
    same(read_corpus(tmp_path / "x.mtx"), small_corpus())


@pytest.mark.parametrize("content", ['{"hello": 1}', "[]", "", "changed"])
def test_only_a_real_corpus_is_replaced(content, tmp_path):
    path = tmp_path / "there"
    write_corpus(small_corpus(), path, "corpus")
    header, text = path / "header.json", content
    if content == "changed":
        text = header.read_text().replace('"version": 2', '"version": 1')
        assert text != header.read_text()
    header.write_text(text)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    for replace in (False, True):
        with pytest.raises(FileExistsError, match="holds no corpus that can be replaced"):
            write_corpus(small_corpus().rows([0]), path, "corpus", replace=replace)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_pipes_and_directories_stay(tmp_path):
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(FileExistsError, match="a pipe or a device"):
        write_corpus(small_corpus(), tmp_path / "x.jsonl", replace=True)
    (tmp_path / "x.vocab").mkdir()
    with pytest.raises(FileExistsError) as error:
        write_corpus(small_corpus(), tmp_path / "x.mtx", replace=True)
    says(error, str(tmp_path / "x.vocab"), "is a directory or a device")
    assert only_file(tmp_path) == "x.jsonl x.vocab"


@pytest.mark.parametrize("name", NAMES)
def test_foreign_things_are_never_replaced(name, tmp_path):
    path = tmp_path / "there"
    if FORMATS[name].is_directory:
        path.write_text("precious")
        with pytest.raises(FileExistsError, match="is a file"):
            write_corpus(small_corpus(), path, name, replace=True)
        assert path.read_text() == "precious"
        path.unlink()
        path.mkdir()
        (path / "mine").touch()
        with pytest.raises(FileExistsError, match="holds other files"):
            write_corpus(small_corpus(), path, name, replace=True)
        assert only_file(path) == "mine"
        (path / "mine").unlink()
        write_corpus(small_corpus(), path, name)  # an empty one may be filled
    else:
        path.mkdir()
        with pytest.raises(FileExistsError, match="is a directory"):
            write_corpus(small_corpus(), path, name, replace=True)
        assert not only_file(path)


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        write_corpus(small_corpus(), tmp_path / "none" / "x.jsonl")
    with pytest.raises(UnknownFormatError, match="read only"):
        write_corpus(small_corpus(), tmp_path / "state.gz")
    write_corpus(small_corpus(), tmp_path / "corpus", "corpus")
    with pytest.raises(UnknownFormatError, match="its own vocabulary"):
        read_corpus(tmp_path / "corpus", vocabulary=tmp_path / "words")
    with pytest.raises(UnknownFormatError, match="no format 'csv', only uci, mtx"):
        read_corpus(tmp_path / "corpus", "csv")
