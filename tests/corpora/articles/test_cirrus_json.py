import bz2
import gzip
import json
import lzma
import random
import time
import tracemalloc

import pytest

from corpora import Article, CorpusFormatError
from corpora.articles import cirrus_json
from corpora.articles.cirrus_json import (
    extracted_text,
    iso_timestamp,
    read_document,
    read_records,
    site_of,
    usual_wikitext,
)
from corpora.articles.page import Skipped

NAME = "dump.json"
WIKITEXT = """{{Infobox city|name=Bern}}
[[File:Bern.jpg|thumb|A caption]]
'''Bern''' is a city.<ref>A book</ref>

== History ==
It was founded in 1191.

== References ==
{{reflist}}

== External links ==
* [https://example.org A site]
[[Category:Cities]]
"""
EXTRACTED = "Bern is a city. It was founded in 1191. A book A site"  # as the search engine has it


def document(**fields):
    usual = {
        "title": "Bern",
        "namespace": 0,
        "wiki": "enwiki",
        "language": "en",
        "version": 99,
        "timestamp": "2026-08-16T01:02:03Z",
        "content_model": "wikitext",
        "category": ["Cities"],
        "source_text": WIKITEXT,
        "text": EXTRACTED,
        "opening_text": "Bern is a city.",
        "auxiliary_text": ["A caption"],
    }
    return {name: value for name, value in (usual | fields).items() if value is not ...}


def pair(number=12, action="index", **fields):
    return json.dumps({action: {"_id": number}}) + "\n" + json.dumps(document(**fields)) + "\n"


@pytest.fixture
def read(write):
    def read(choice="auto", /, **fields):
        [record] = read_records(write(pair(**fields)))
        return read_document(record, choice)

    return read


def articles(path, text="auto"):
    found = [read_document(record, text) for record in read_records(path)]
    return [article for article in found if isinstance(article, Article)]


def read_until_error(path):
    found = []
    with pytest.raises(CorpusFormatError) as caught:
        found.extend(read_document(record).page_id for record in read_records(path))
    assert str(path) in str(caught.value)
    return found, str(caught.value)


def test_every_field(read):
    article = read()
    assert (article.page_id, article.revision_id) == (12, 99)
    assert (article.title, article.url) == ("Bern", "https://en.wikipedia.org/wiki/Bern")
    assert (article.timestamp, article.language) == ("2026-08-16T01:02:03Z", "en")
    assert article.license == "CC BY-SA 4.0"
    assert article.text == "Bern is a city.\n\n== History ==\n\nIt was founded in 1191."
    assert article.columns == {"categories": ("Cities",), "length": len(WIKITEXT)}


def test_columns(read):
    listed = ["All articles", "Cities", "Swiss cities", "Links here"]
    text = (
        f"{WIKITEXT}\n[[Ortsnamen:swiss_cities|x]] <!-- [[Kategorie:All articles]] -->{{{{stub}}}}"
    )
    assert read(category=listed, source_text=text, wikibase_item="Q70").columns == {
        "categories": ("Cities", "Swiss cities"),
        "wikidata": "Q70",
        "length": len(text),
        "quality": "stub",
    }
    assert read(category=listed, source_text="Bern.").columns["categories"] == tuple(listed)
    assert read(category=...).columns["categories"] == ("Cities",)
    templates = ["Template:Asbox", "Template:Good article"]
    article = read(category=listed, source_text=..., template=templates, wikibase_item=70)
    assert article.columns == {"categories": tuple(listed), "quality": "good"}
    assert read("extracted", category=listed).columns["categories"] == ("Cities",)
    words = read(wiki="enwiktionary", category=["en:Cities"], source_text="A [[x]].")
    assert words.columns["categories"] == ("en:Cities",)


def test_both_forms_of_dumps(write):
    old = '{"index":{"_type":"page","_id":"12","_index":"enwiki_content_166"}}\n'
    new, text = '{"index":{"_id":13}}\n', json.dumps(document()) + "\n"
    path = write(old + text + new + text)
    assert [article.page_id for article in articles(path)] == [12, 13]


def test_what_is_no_article(read):
    assert read(namespace=1) == Skipped("other namespace", "Bern")
    assert read(page_type="redirect") == Skipped("redirect", "Bern")
    assert read(source_text="#REDIRECT [[Berne]]") == Skipped("redirect", "Bern")
    assert read(content_model="wikibase-item") == Skipped("not wikitext", "Bern")
    assert read(source_text="{{only a template}}") == Skipped("no text", "Bern")
    assert read(source_text="", text=..., opening_text=None) == Skipped("no text", "Bern")
    assert read(title=...) == Skipped("no text", "12")


def test_the_choice_of_text_and_where_the_document_says_little(read):
    lead = "Bern is a city.\n\nIt was founded in 1191. A book A site"
    assert read("extracted").text == lead
    assert read("auto", source_text=...).text == lead
    assert read("wikitext", source_text=...) == Skipped("no text", "Bern")
    assert read("wikitext").text == read("auto").text
    keys = "version", "timestamp", "language", "namespace", "category", "content_model"
    article = read(**dict.fromkeys(keys, ...))
    assert (article.revision_id, article.timestamp, article.language) == (0, "", "en")
    article = read(wiki=..., language=...)
    assert (article.language, article.url, article.license) == ("und", "", "")


def test_wiki_of_the_index_and_page_id_of_the_document(write):
    action = '{"index":{"_id":"12","_index":"zh_min_nanwiki_content_1658"}}\n'
    path = write(action + json.dumps(document(wiki=..., language=...)))
    assert [article.language for article in articles(path)] == ["zh-min-nan"]
    action = '{"index":{"_id":"enwiki|12"}}\n'
    assert [a.page_id for a in articles(write(action + json.dumps(document(page_id=12))))] == [12]
    _, message = read_until_error(write(action + json.dumps(document())))
    assert "line 2: no page id" in message


@pytest.mark.parametrize(
    ("wiki", "says", "language", "url"),
    [
        ("enwiki", "en", "en", "https://en.wikipedia.org/wiki/"),
        ("simplewiki", "en", "simple", "https://simple.wikipedia.org/wiki/"),
        ("zh_min_nanwiki", "nan", "zh-min-nan", "https://zh-min-nan.wikipedia.org/wiki/"),
        ("be_x_oldwiki", "be-tarask", "be-x-old", "https://be-tarask.wikipedia.org/wiki/"),
        ("dewiktionary", "de", "de", "https://de.wiktionary.org/wiki/"),
        ("frwikivoyage", "fr", "fr", "https://fr.wikivoyage.org/wiki/"),
        ("commonswiki", "en", "en", "https://commons.wikimedia.org/wiki/"),
        ("mywiki", "", "my", "https://my.wikipedia.org/wiki/"),
        ("legalteamwiki", "en", "en", ""),
        ("evil.example/wiki", "en", "en", ""),
        ("", "", "und", ""),
    ],
)
def test_languages_and_addresses(wiki, says, language, url):
    site = site_of(wiki, says)
    assert (site.language, site.article_path) == (language, url)
    assert site.license == ("CC BY-SA 4.0" if url else "")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-08-16T01:02:03Z", "2026-08-16T01:02:03Z"),
        ("2026-08-16T01:02:03.123Z", "2026-08-16T01:02:03Z"),
        ("2026-08-16T03:02:03+02:00", "2026-08-16T01:02:03Z"),
        ("2026-08-16 01:02:03", "2026-08-16T01:02:03Z"),
        ("20260816010203", "2026-08-16T01:02:03Z"),
        (1536971485000, "2018-09-15T00:31:25Z"),
        (10**300, ""),
        ("0001-01-01T00:00:00+14:00", ""),
        ("soon", ""),
        (True, ""),
        (None, ""),
        (["2026"], ""),
    ],
)
def test_timestamps(value, expected):
    assert iso_timestamp(value) == expected


def test_namespaces_of_other_languages_are_inferred(read):
    source = (
        "[[Súbor:Bern mesto.JPG|náhľad|Popis [[x|obrázka]]]]\n"
        "'''Bern''' je [[Mesto: obec|mesto]].\n"
        "[[Kategória:Mestá v Kantone Bern|Bern]]\n[[Kategória:mestá]]\n"
    )
    article = read(wiki="skwiki", source_text=source, category=["Mestá v Kantone Bern", "Mestá"])
    assert article.text == "Bern je mesto."


def test_links_that_are_text_stay_and_lost_line_breaks_hide_no_references(read):
    source = "A link to [[Foo: a film|the film]], to [[:Súbor:A.png|a picture]] of [[Portal:X|X]]."
    assert read(source_text=source, category=["X"]).text == "A link to the film, to a picture of X."
    assert read(source_text=" ".join(WIKITEXT.split())).text.endswith("It was founded in 1191.")
    assert usual_wikitext("a == b and c == d\n", {}) == "a == b and c == d\n"


def test_extracted_text_loses_formulas_and_marks():
    text = (
        "The area x 2 {\\displaystyle x^{2}\\{} is [citation needed] large\u200b. {\\displaystyle {"
    )
    assert extracted_text(text, "") == "The area x 2 is large. {\\displaystyle {"
    assert extracted_text("One. Two.", "Two.") == "One. Two."


@pytest.mark.parametrize("compress", [bytes, bz2.compress, gzip.compress, lzma.compress])
def test_content_tells_the_compression(write, compress):
    seen, path = [], write(compress((pair(1) + "\n" + pair(2)).encode()), "dump.anything")
    assert [record.page_id for record in read_records(path, seen.append)] == [1, 2]
    assert seen[-1] == path.stat().st_size


def test_the_last_line_may_lack_its_end(write):
    assert len(articles(write((pair(1) + pair(2)).rstrip("\n")))) == 2


@pytest.mark.parametrize(
    "compress",
    [
        pytest.param(bz2.compress, marks=pytest.mark.slow),
        gzip.compress,
        pytest.param(lzma.compress, marks=pytest.mark.slow),
    ],
)
def test_truncated_compression_loses_nothing(write, compress):
    noise = [random.Random(n).randbytes(150).hex() for n in range(2500)]
    data = compress("".join(pair(n + 1, text=noise[n]) for n in range(2500)).encode())
    path, found = write(data[: len(data) * 4 // 5]), []
    with pytest.raises(CorpusFormatError, match=r"end too early.*\(after line \d+\)"):
        found.extend(record.page_id for record in read_records(path))
    assert found == list(range(1, len(found) + 1))
    assert len(found) > 500


def test_half_a_line_at_the_end(write):
    for text, place in (
        ((pair(1) + pair(2))[:-40], "line 4: not valid JSON"),
        (pair(1) + '{"index": {"_i', "line 3"),
        (pair(1) + '{"index": {"_id": 2}}\n', "line 3"),
    ):
        found, message = read_until_error(write(text))
        assert found == [1]
        assert place in message
        assert "incomplete" in message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "found list"),
        (b"not json", "not valid JSON"),
        (b'{"title": "\xff"}', "not valid UTF-8 (byte 11)"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"version": 1' + b"0" * 5000 + b"}", "not valid JSON"),
        (b'{"version": 1' + b"0" * 30 + b', "title": "A"}', '"version"'),
        (b'{"title": "\\ud800"}', "half a surrogate pair"),
        (b'{"title": "A", "source_text": "a \\udc00 b"}', "half a surrogate pair"),
        (b'{"title": 5}', '"title": expected a string'),
        (b'{"index": {"_id": "3"}}', "expected the document"),
        (b'{"a": [' + b"0," * ((1 << 21) + 1) + b"0]}", "values"),
    ],
)
def test_documents_that_are_none(write, line, message):
    path = write(pair(1).encode() + b'{"index": {"_id": "2"}}\n' + line + b"\n" + pair(3).encode())
    found, text = read_until_error(path)
    assert found == [1]
    assert f"{path}, line 4: " in text
    assert message in text


@pytest.mark.parametrize(
    "line",
    [
        *(b"<!DOCTYPE html><title>404</title>", b"{}"),
        *(b'{"title": "Bern", "text": "no action before"}', b'{"delete": {"_id": "1"}}'),
        *(b'{"index": 5}', b"[" * 3000, b'{"index": {"_id": "' + b"1" * 5000 + b'"}}', b"\xff\xfe"),
    ],
)
def test_actions_that_are_none(write, line):
    found, text = read_until_error(write(pair(1).encode() + line + b"\n" + pair(2).encode()))
    assert found == [1]
    assert "line 3: expected an action" in text


def test_page_ids_from_one_on(write):
    for number in (0, -5):
        found, text = read_until_error(write(pair(1) + pair(number)))
        assert found == [1]
        assert "line 4: no page id" in text


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(FileNotFoundError):
        articles(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        articles(tmp_path)


def peak_of_error(path, message):
    tracemalloc.start()
    with pytest.raises(CorpusFormatError, match=message):
        for _ in read_records(path):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("filler", [b"0", pytest.param(b"\n", marks=pytest.mark.slow)])
def test_decompression_bombs_are_refused_in_bounded_memory(write, monkeypatch, filler):
    monkeypatch.setattr(cirrus_json, "MAX_LINE_BYTES", 1 << 22)
    monkeypatch.setattr(cirrus_json, "UNCHECKED_BYTES", 1 << 19)
    bomb = bz2.compress(filler * (1 << 22)) * 100  # 400 MiB
    path = write(bomb)
    assert path.stat().st_size < 20_000
    assert peak_of_error(path, "longer than|decompression bomb") < 20_000_000


def test_the_limit_of_a_line_holds_for_plain_files(write, monkeypatch):
    monkeypatch.setattr(cirrus_json, "MAX_LINE_BYTES", 1 << 20)
    path = write(pair(1).encode() + b"x" * (3 << 20))
    assert peak_of_error(path, r"longer than 1 MiB.*\(after line 2\)") < 5_000_000


def test_memory_does_not_grow_with_the_file(write):
    path = write("".join(pair(n + 1, text="x" * 20_000) for n in range(1000)))
    tracemalloc.start()
    assert sum(1 for _ in read_records(path)) == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000 < path.stat().st_size


@pytest.mark.parametrize(
    "text",
    [
        *("[[a:" + "b" * 300_000, "[[a:b.png" * 40_000, "[[ab:" + "c d" * 80 + "\n"),
        *(" == a" * 60_000, "{\\displaystyle " * 30_000, "[[" + "x" * 39 + ":" + ".jpg" * 50_000),
    ],
)
def test_hostile_texts_take_no_more_than_linear_time(text):
    start = time.process_time()
    usual_wikitext(text * (1 if len(text) > 1000 else 1000), {"category": ["Z"]})
    extracted_text(text, "")
    assert time.process_time() - start < 5  # hours, were it quadratic
