import bz2
import contextlib
import gzip
import json
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import Article, errors
from corpora.articles.json_lines import made_page_id, parse_line, read_json_lines

NAME = "articles.jsonl"
GOOD = b'{"title": "T", "text": "a"}\n'


def noise(seed):
    return np.random.default_rng(seed).bytes(400).hex()


def test_every_field_and_what_is_missing(write):
    article = Article(7, 8, "T", "https://x.org/T", "2020-01-01T00:00:00Z", "de", "CC0", "A.\n\nB.")
    fields = {name: getattr(article, name) for name in Article.__slots__}
    path = write(json.dumps(fields | {"other": [1, {"a": None}]}) + "\n")
    assert list(read_json_lines(path)) == [article]
    path = write('{"title": "T", "text": "a"}\n\n  \r\n{"id": "12", "text": "b", "url": null}\r\n')
    first, second = read_json_lines(path, language="fr")
    assert first == Article(made_page_id("T"), 0, "T", "", "", "fr", "", "a")
    assert second == Article(12, 0, "", "", "", "fr", "", "b")


def test_made_ids():
    ids = {made_page_id(str(number)) for number in range(1000)}
    assert len(ids) == 1000
    assert all(-(2**53) < number < 0 for number in ids)
    assert made_page_id("Quince") == made_page_id("Quince") == -2606148515688409


def test_text_passes_through_but_for_normalisation(write):
    path = write(json.dumps({"title": "e\u0301", "text": " a\r\nb\rc  '''d''' e\u0301 "}))
    [article] = read_json_lines(path)
    assert article.text == " a\nb\nc  '''d''' é "
    assert article.page_id == made_page_id("é")


@pytest.mark.parametrize("compress", [bytes, bz2.compress, gzip.compress, lzma.compress])
def test_compression_and_long_lines(write, compress):
    lines = [json.dumps({"title": str(n), "text": "é" * n * 9}) for n in range(1, 400)]
    path, seen = write(compress(b"\xef\xbb\xbf" + "\n".join(lines).encode())), []
    articles = list(read_json_lines(path, progress_bytes=seen.append))
    assert [len(article.text) for article in articles] == [n * 9 for n in range(1, 400)]
    assert seen[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"title": "T"', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"page_id": ' + b"9" * 5000 + b', "text": "a"}', "not valid JSON"),
        (b'["T"]', "expected an object, found list"),
        (b'{"title": "T"}', "no text"),
        (b'{"title": "T", "text": " \\n"}', "no text"),
        (b'{"title": "T", "text": null}', "no text"),
        (b'{"title": "T", "text": 5}', '"text": expected a string, found int'),
        (b'{"title": ["T"], "text": "a"}', '"title": expected a string'),
        (b'{"text": "a"}', 'neither "title" nor "page_id"'),
        (b'{"page_id": "x", "text": "a"}', '"page_id": expected a whole number'),
        (b'{"id": 1.5, "text": "a"}', '"id": expected a whole number'),
        (b'{"page_id": true, "text": "a"}', '"page_id": expected a whole number'),
        (b'{"page_id": 99999999999999999999, "text": "a"}', "expected a whole number"),
        (b'{"title": "T", "text": "a", "revision_id": []}', '"revision_id"'),
        (b'{"title": "T", "text": "\\ud800"}', "surrogate"),
        (b'{"title": "T", "text": "\xff"}', "not valid UTF-8"),
    ],
)
def test_bad_lines_are_named(write, line, message):
    path = write(GOOD + b"\n" + line + b"\n" + GOOD)
    articles = read_json_lines(path)
    assert next(articles).title == "T"
    with pytest.raises(errors.CorpusFormatError) as caught:
        next(articles)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert message in str(caught.value)


def test_truncated_compression(write):
    lines = [json.dumps({"title": str(n), "text": noise(n)}) for n in range(3000)]
    data = gzip.compress("\n".join(lines).encode())
    articles, found = read_json_lines(write(data[: len(data) // 2])), []
    with pytest.raises(errors.CorpusFormatError, match=r"end too early.*after line \d+"):
        found.extend(article.title for article in articles)
    assert len(found) > 500
    assert found == [str(n) for n in range(len(found))]


def test_empty_and_missing(write, tmp_path):
    assert list(read_json_lines(write(""))) == []
    with pytest.raises(FileNotFoundError):
        list(read_json_lines(tmp_path / "none"))


@settings(deadline=None)
@given(
    st.binary(max_size=50)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: json.dumps({"title": value, "text": "a", "page_id": value}).encode()
    )
)
def test_only_value_errors(line):
    with contextlib.suppress(ValueError):
        assert parse_line(line, "en").text
