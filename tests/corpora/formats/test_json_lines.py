import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from corpora import Corpus, CorpusFormatError, MissingExtraError
from corpora.formats import read_json_lines, write_json_lines
from tests.corpora.formats import made_up


@pytest.mark.parametrize("suffix", made_up.SUFFIXES)
@settings(max_examples=30)
@given(corpus=made_up.corpora(made_up.any_text, ids=made_up.any_text))
def test_what_is_written_is_read_again(suffix, corpus):
    made_up.skip_without_zstd(suffix)
    with TemporaryDirectory() as directory:
        path = Path(directory, f"x.jsonl{suffix}")
        write_json_lines(corpus, path)
        found = read_json_lines(path)
        assert made_up.only_file(path.parent) == path.name
    assert made_up.bags(found) == made_up.bags(corpus)
    assert tuple(found.doc_ids) == tuple(corpus.doc_ids)
    assert tuple(found.titles) == tuple(corpus.titles)
    assert found.n_unknown.tolist() == corpus.n_unknown.tolist()
    assert list(found.vocabulary) == sorted({word for bag in made_up.bags(corpus) for word in bag})


@given(corpus=made_up.corpora(made_up.line_words, most=1000, ids=made_up.any_text))
def test_with_its_vocabulary_all_comes_back(corpus):
    with TemporaryDirectory() as directory:
        path, words = Path(directory, "x.jsonl"), Path(directory, "words.txt")
        words.write_bytes("".join(f"{word}\n" for word in corpus.vocabulary).encode())
        write_json_lines(corpus, path)
        made_up.same(read_json_lines(path, words), corpus)


@given(
    documents=st.lists(st.lists(st.sampled_from("abcd")), max_size=5),
    known=st.lists(st.sampled_from("abcde"), unique=True),
)
def test_tokens_are_counted(documents, known):
    with TemporaryDirectory() as directory:
        path, words = Path(directory, "x.jsonl"), Path(directory, "words.txt")
        path.write_text("".join(json.dumps({"tokens": tokens}) + "\n" for tokens in documents))
        words.write_text("".join(f"{word}\n" for word in known))
        assert made_up.bags(read_json_lines(path)) == [
            dict(Counter(tokens)) for tokens in documents
        ]
        found = read_json_lines(path, words)
    assert list(found.vocabulary) == known
    assert made_up.bags(found) == [
        {word: n for word, n in Counter(tokens).items() if word in known} for tokens in documents
    ]
    assert found.n_unknown.tolist() == [
        sum(word not in known for word in tokens) for tokens in documents
    ]


def test_what_may_be_missing(tmp_path):
    text = '\ufeff{"tokens": ["b", "a", "b"], "more": [NaN]}\r\n\n'
    text += '{"id": 7, "counts": {}, "title": null}'
    (tmp_path / "x.jsonl").write_text(text, newline="")
    corpus = read_json_lines(tmp_path / "x.jsonl")
    (tmp_path / "y.jsonl").write_bytes(gzip.compress(text.encode()))  # the name does not tell
    made_up.same(read_json_lines(tmp_path / "y.jsonl"), corpus)
    assert tuple(corpus.doc_ids) == ("1", "7")
    assert tuple(corpus.titles) == ("1", "7")
    assert made_up.bags(corpus) == [{"a": 1, "b": 2}, {}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "expected an object, found '[1]'"),
        (b"{}", 'expected one of "tokens" and "counts"'),
        (b'{"tokens": [], "counts": {}}', 'expected one of "tokens" and "counts"'),
        (b'{"tokens": "a b"}', '"tokens" must be a list of strings'),
        (b'{"tokens": ["a", 1]}', '"tokens" must be a list of strings'),
        (b'{"counts": ["a"]}', '"counts" must be an object'),
        (b'{"counts": {"a": 0}}', "the count of 'a' must be a whole number from 1"),
        (b'{"counts": {"a": -1}}', "found '-1'"),
        (b'{"counts": {"a": 2.0}}', "found '2.0'"),
        (b'{"counts": {"a": NaN}}', "found 'nan'"),
        (b'{"counts": {"a": true}}', "found 'True'"),
        (b'{"counts": {"a": "1"}}', "found '1'"),
        (b'{"counts": {"a": 2147483648}}', "found '2147483648'"),
        (b'{"counts": {"a": ' + b"1" * 6000 + b"}}", "a number has 6000 digits, more than 640"),
        (b'{"tokens": [], "x": -' + b"1" * 641 + b"}", "a number has 641 digits"),
        (b'{"counts": {"a": -' + b"1" * 640 + b"}}", "the count of 'a' must be a whole number"),
        (b'{"counts": {"a": 1, "a": 2}}', "the key 'a' appears twice"),
        (b'{"counts": {}, "unknown": -1}', '"unknown" must be a whole number'),
        (b'{"counts": {}, "id": 1.5}', "\"id\" must be a string, found '1.5'"),
        (b'{"counts": {}, "title": []}', '"title" must be a string'),
        (b'{"tokens": ["\\ud800"]}', "half a surrogate pair"),
        (b'{"tokens": ["\xff"]}', "not valid UTF-8 (byte 13 of the line)"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"counts": {"a": ' + b"9" * 5000 + b"}}", "line 3"),
    ],
)
def test_the_message_names_file_and_line(line, message, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"tokens": ["a"]}\n\n' + line + b'\n{"tokens": ["b"]}\n')
    made_up.refused(lambda: read_json_lines(path), f"{path}, line 3: ", message)


@pytest.mark.parametrize("suffix", made_up.SUFFIXES[1:])
def test_a_truncated_file(suffix, tmp_path):
    made_up.skip_without_zstd(suffix)
    path = tmp_path / f"x.jsonl{suffix}"
    write_json_lines(made_up.small_corpus(), path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorpusFormatError, match="too early"):
        read_json_lines(path)


def test_zstd_in_several_frames_and_damaged(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    lines = [json.dumps({"tokens": [letter]}).encode() + b"\n" for letter in "abc"]
    data = b"".join(zstandard.ZstdCompressor().compress(line) for line in lines)
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(data)
    assert made_up.bags(read_json_lines(path)) == [{"a": 1}, {"b": 1}, {"c": 1}]
    path.write_bytes(data + b"rubbish")
    with pytest.raises(CorpusFormatError, match="damaged"):
        read_json_lines(path)


def test_without_zstandard_the_install_command_is_the_error(tmp_path):
    with mock.patch.dict(sys.modules, {"zstandard": None}):
        with pytest.raises(MissingExtraError, match=r"pip install 'wikitopics\[zst\]'"):
            write_json_lines(made_up.small_corpus(), tmp_path / "x.jsonl.zst")
        assert not made_up.only_file(tmp_path)
        (tmp_path / "y.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
        with pytest.raises(MissingExtraError, match=r"pip install 'wikitopics\[zst\]'"):
            read_json_lines(tmp_path / "y.jsonl.zst")


@pytest.mark.parametrize("place", ["word", "id", "title"])
def test_half_a_surrogate_pair_is_not_written(place, tmp_path):
    texts = {"word": "a", "id": "b", "title": "c"} | {place: "bad\ud800"}
    corpus = Corpus(sparse.csr_array([[1]]), (texts["word"],), (texts["id"],), (texts["title"],))
    with pytest.raises(CorpusFormatError, match="half a surrogate pair"):
        write_json_lines(corpus, tmp_path / "x.jsonl")
    assert not made_up.only_file(tmp_path)
