import bz2
import gzip
import hashlib
import io
import lzma
import tracemalloc
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from corpora import errors
from corpora.articles import mediawiki_xml
from corpora.articles.article import Article
from corpora.articles.bzip2_blocks import Share, checked, read_blocks
from corpora.articles.mediawiki_xml import head_of, pages_of, read_articles, read_pages, try_again
from corpora.articles.page import Skipped, page_to_article
from corpora.articles.page_filter import PageFilter
from corpora.worker_pool import WorkerDiedError

NAME = "dump.xml"
SAMPLE_DIGEST = "0cf1192a9cb2354fd63d7b5710ecd80b8328bbe9d25ab8455919dfe302d23182"
SITEINFO = """<siteinfo><sitename>Wikipedia</sitename><dbname>skwiki</dbname>
<base>https://sk.wikipedia.org/wiki/Hlavn%C3%A1_str%C3%A1nka</base><namespaces>
<namespace key="-2" case="first-letter">Médiá</namespace>
<namespace key="0" case="first-letter" />
<namespace key="6" case="first-letter">Súbor</namespace>
<namespace key="14" case="first-letter">Kategória</namespace></namespaces></siteinfo>"""


def revision(text="Text.", number=1, timestamp="2020-01-01T00:00:00Z", model="wikitext"):
    return (
        f"<revision><id>{number}</id><timestamp>{timestamp}</timestamp><contributor><id>99</id>"
        f"</contributor><model>{model}</model><text>{text}</text></revision>"
    )


def page(title="Title", number=1, ns="0", revisions=None, redirect=""):
    space = f"<ns>{ns}</ns>" if ns else ""
    return (
        f"<page><title>{title}</title>{space}<id>{number}</id>{redirect}"
        f"{revisions or revision()}</page>\n"
    )


def export(*pages, siteinfo=SITEINFO, version="0.11", lang='xml:lang="sk"'):
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" {lang}>{siteinfo}\n'
        + "".join(pages)
        + "</mediawiki>\n"
    )


def noise(seed):
    return np.random.default_rng(seed).bytes(400).hex()


def articles_of(path, **options):
    found = read_articles(path, **options)
    return (article for article in found if isinstance(article, Article))


def titles(path):
    return [article.title for article in articles_of(path)]


def test_every_field(write):
    text = "[[Súbor:a.png|x]] '''A''' &amp;amp; B [[Médiá:c.ogg|y]] [[Kategória:C]]"
    one = page("Č d/e?", 7, revisions=revision(text, 12, "2021-02-03T04:05:06Z"))
    [article] = articles_of(write(export(one)))
    assert (article.page_id, article.revision_id) == (7, 12)
    assert article.title == "Č d/e?"
    assert article.url == "https://sk.wikipedia.org/wiki/%C4%8C_d/e%3F"
    assert (article.timestamp, article.language) == ("2021-02-03T04:05:06Z", "sk")
    assert (article.license, article.text) == ("CC BY-SA 4.0", "A & B")


def test_only_articles(write):
    path = write(
        export(
            page("Talk:A", ns="1"),
            page("B", redirect='<redirect title="C" />'),
            page("C", revisions=revision(" #Redirect [[D]]")),
            page("D", revisions=revision("#WEITERLEITUNG [[E]]")),
            page("E", revisions=revision("{{only a template}}")),
            page("F", revisions=revision("{}", model="json")),
            page("G", revisions=revision("")),
            page("H"),
        )
    )
    assert titles(path) == ["H"]
    assert [one.title for one in read_pages(path)] == ["E", "G", "H"]
    assert page_to_article(next(read_pages(path))) is None


def test_latest_wikitext_revision_whatever_its_slots(write):
    revisions = (
        revision("Old.", 1, "2019-01-01T00:00:00Z")
        + revision("New.", 2, "2021-01-01T00:00:00Z")
        + revision("Middle.", 3, "2020-01-01T00:00:00Z")
        + revision("{}", 4, "2022-01-01T00:00:00Z", model="json")
    )
    [article] = articles_of(write(export(page(revisions=revisions))))
    assert (article.revision_id, article.text) == (2, "New.")
    slot = "<content><role>x</role><id>5</id><model>json</model><text>{}</text></content>"
    revisions = revision().replace("</revision>", f"{slot}</revision>")
    [article] = articles_of(write(export(page(revisions=revisions))))
    assert (article.revision_id, article.text) == (1, "Text.")


@pytest.mark.parametrize("version", ["0.3", "0.10", "0.99"])
def test_any_version(write, version):
    assert titles(write(export(page(), version=version))) == ["Title"]


def test_old_version_without_namespaces_in_pages(write):
    pages = page("Súbor:A", ns=""), page("B: c", ns="")
    assert titles(write(export(*pages, version="0.4"))) == ["B: c"]


def test_language_and_address(write):
    [article] = articles_of(write(export(page(), lang="")))
    assert article.language == "sk"
    [article] = articles_of(write(export(page(), siteinfo="")))
    assert (article.language, article.url, article.license) == ("sk", "", "")
    [article] = articles_of(write(export(page(), siteinfo="", lang="")))
    assert article.language == "und"
    other = SITEINFO.replace("https://sk.wikipedia.org/wiki/", "http://wiki.example/w?title=")
    [article] = articles_of(write(export(page(), siteinfo=other)))
    assert (article.url, article.license) == ("http://wiki.example/w?title=Title", "")


@pytest.mark.parametrize("compress", [bytes, bz2.compress, gzip.compress, lzma.compress])
def test_content_tells_the_compression(write, compress):
    assert titles(write(compress(export(page()).encode()), "dump.anything")) == ["Title"]


def test_multistream_bz2(write):
    whole = export(page("A"), page("B")).encode()
    path = write(bz2.compress(whole[:300]) + bz2.compress(whole[300:]), "dump.xml.bz2")
    assert titles(path) == ["A", "B"]


def test_progress_reaches_the_size(write):
    path = write(gzip.compress(export(*[page(str(n)) for n in range(5000)]).encode()))
    seen = []
    assert len(list(articles_of(path, progress_bytes=seen.append))) == 5000
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size
    assert len(seen) > 5


@pytest.mark.slow
def test_memory_is_bounded(write):
    path = write(export(*[page(str(n), revisions=revision("x" * 10_000)) for n in range(2000)]))
    tracemalloc.start()
    assert sum(1 for _ in read_pages(path)) == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000 < path.stat().st_size


def test_known_pages_are_not_parsed(write):
    pages = page("A", 1), page("B", 2, revisions=revision("{{c}}")), page("C", 3), page("D", 4)
    path = write(export(*pages))
    asked = []

    def known(number):
        asked.append(number)
        return number in (1, 3)

    a, b, c, d = read_articles(path, known=known)
    assert (a, b, c) == (Skipped("known", "A"), Skipped("no text", "B"), Skipped("known", "C"))
    assert (d.title, asked) == ("D", [1, 2, 3, 4])


def test_pages_that_are_not_wanted_are_left_out(write):
    path = write(export(page("A", 1), page("B", 2), page("C", 3), page("D", 4)))
    wanted = PageFilter.of(["A", "C", "D"])
    for n_processes in (1, 2):
        found = list(read_articles(path, n_processes=n_processes, known=(3).__eq__, wanted=wanted))
        assert [each.title for each in found if isinstance(each, Article)] == ["A", "D"]
        assert found[1] == Skipped("known", "C")


@cache
def noisy_export(n=900):
    """Export of about 600 kB when compressed, in blocks of 100 kB, so that processes share it."""
    pages = (
        page(str(i), i + 1, revisions=revision(noise(2 * i) + noise(2 * i + 1))) for i in range(n)
    )
    return export(*pages).encode()


@cache
def noisy_dump():
    return bz2.compress(noisy_export(), 1)


def noise_of_any_size(seed):
    rng = np.random.default_rng(seed)
    return rng.bytes(int(rng.integers(1, 2000))).hex()


@pytest.mark.parametrize("size", [50_000, 77_777, 200_001, 10**6])
def test_each_page_is_in_one_share(write, size):
    pages = [page(str(i), revisions=revision(noise_of_any_size(i))) for i in range(500)]
    pages[200] = page("200", revisions=revision("".join(map(noise_of_any_size, range(600, 900)))))
    data = export(*pages).encode()
    streams = [bz2.compress(part, 1) for part in (data[:90_000], data[90_000:123_456])]
    path = write(b"".join([*streams, bz2.compress(b""), bz2.compress(data[123_456:], 1)]))
    found, total = [], 0
    for start in range(0, path.stat().st_size, size):
        checks = []
        share = Share(str(path), start, start + size)
        found += [one.title for one in pages_of(share, head_of(path), checks)]
        total = checked(total, checks)
    assert found == [str(i) for i in range(500)]
    assert total == 0


@pytest.mark.parametrize("size", [50, 150])
def test_the_beginning_of_a_page_may_cross_streams_and_shares(write, size):
    data = export(*(page(str(i)) for i in range(4))).encode()
    parts = [data[start : start + 2] for start in range(0, len(data), 2)]
    path = write(b"".join(map(bz2.compress, parts)))
    head, ends = head_of(path), range(size, path.stat().st_size + size, size)
    found = [pages_of(Share(str(path), end - size, end), head, []) for end in ends]
    assert [one.title for some in found for one in some] == ["0", "1", "2", "3"]


def no_second_reading(*_):
    raise AssertionError


def test_any_number_of_processes(write, monkeypatch):
    path = write(noisy_dump())
    alone, told = list(read_articles(path)), []
    monkeypatch.setattr(mediawiki_xml, "read_pages", no_second_reading)
    assert list(read_articles(path, n_processes=2, progress_bytes=told.append)) == alone
    assert len(alone) == 900
    assert len(told) > 1
    assert (told, told[-1]) == (sorted(told), path.stat().st_size)


@pytest.fixture
def in_one_process(monkeypatch):
    """Shares are read in this process, which is faster than to start others."""
    monkeypatch.setattr(
        mediawiki_xml, "ordered_map", lambda function, items, *_, **__: map(function, items)
    )


@pytest.mark.parametrize("known", [range(1, 800), range(1, 901), [5, 30, 800]])
@pytest.mark.usefixtures("in_one_process")
def test_known_pages_in_shares(write, known):
    path = write(noisy_dump())
    found = list(read_articles(path, n_processes=2, known=lambda number: number in known))
    assert found == list(read_articles(path, known=lambda number: number in known))
    assert sum(isinstance(one, Skipped) for one in found) == len(known)


def without_a_block(data):
    with io.BytesIO(data) as file:
        _, second, third = [block.bit for block in read_blocks(file)][:3]
    bits = f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}"
    kept = bits[:second] + bits[third:]
    return int(kept.ljust(-(-len(kept) // 8) * 8, "0"), 2).to_bytes(-(-len(kept) // 8), "big")


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[: len(data) * 4 // 5],
        lambda data: data[:-4],
        lambda data: data[:-5] + b"\0" + data[-4:],
        lambda data: data[:300_000] + bytes(40) + data[300_040:],
        without_a_block,
    ],
)
@pytest.mark.usefixtures("in_one_process")
def test_damage_shows_in_shares_as_in_the_whole(write, harm):
    path = write(harm(noisy_dump()))
    assert read_until_error(path, n_processes=2) == read_until_error(path)


@pytest.mark.usefixtures("in_one_process")
def test_what_follows_the_last_stream_is_left_out(write):
    path = write(noisy_dump() + b"garbage" * 9)
    assert list(read_articles(path, n_processes=2)) == list(read_articles(path))


def test_a_share_whose_process_dies_is_read_again():
    share = Share("dump.bz2", 10, 20)
    assert try_again(share, "", 2) is share
    with pytest.raises(WorkerDiedError, match=r"bytes 10 to 20 of dump\.bz2"):
        try_again(share, "", 3)


def read_until_error(path, **options):
    found = []
    with pytest.raises(errors.CorpusFormatError) as caught:
        found.extend(article.title for article in articles_of(path, **options))
    assert str(path) in str(caught.value)
    return found, str(caught.value)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.xml"):
        titles(tmp_path / "none.xml")
    with pytest.raises(IsADirectoryError):
        titles(tmp_path)


def test_truncated_xml_loses_nothing(write):
    whole = export(page("A"), page("B"), page("C"))
    start = whole[: whole.index("<title>C")]
    found, message = read_until_error(write(start))
    assert found == ["A", "B"]
    line = start.count("\n") + 1
    assert f"line {line}: " in message
    assert "incomplete" in message


@pytest.mark.parametrize(
    "compress",
    [
        pytest.param(bz2.compress, marks=pytest.mark.slow),
        gzip.compress,
        pytest.param(lzma.compress, marks=pytest.mark.slow),
    ],
)
def test_truncated_compression_loses_nothing(write, compress):
    pages = [page(str(n), revisions=revision(noise(n))) for n in range(3000)]
    data = compress(export(*pages).encode())
    found, message = read_until_error(write(data[: len(data) * 4 // 5]))
    assert len(found) > 500
    assert found == [str(n) for n in range(len(found))]
    assert "end too early" in message


def test_damaged_bz2(write):
    data = bytearray(bz2.compress(export(page()).encode()))
    data[60:90] = bytes(30)
    assert "damaged" in read_until_error(write(bytes(data)))[1]


def test_malformed_xml_in_the_middle(write):
    whole = export(page("A"), page("<b"), page("C"))
    path = write(whole)
    found, message = read_until_error(path)
    assert found == ["A"]
    assert read_until_error(path, n_processes=2) == (found, message)
    line = whole[: whole.index("<title><b")].count("\n") + 1
    assert f"line {line}: " in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not well-formed"),
        ("plain text", "not well-formed"),
        ("<!DOCTYPE html><html></html>", "an HTML page"),
        ("<html><p></html>", "<html>"),
        ("<feed><doc/></feed>", "<feed>"),
        ("\x00\xff\x12", "not well-formed"),
        (b"7z\xbc\xaf\x27\x1c\x00\x00", "7z"),
        ("\n<!doctype html><html></html>", "an HTML page"),
        (
            '<?xml version="1.0"?><!--x--><!DOCTYPE a [<!ENTITY b "c">]><mediawiki>&b;</mediawiki>',
            "document type",
        ),
        (f"<!--{'x' * 100_000}--><!DOCTYPE a><mediawiki/>", "document type"),
        ("<!DOCTYPE a><mediawiki/>".encode("utf-16"), "document type"),
    ],
)
def test_not_an_export(write, content, message):
    found, text = read_until_error(write(content))
    assert found == []
    assert message in text


def test_entity_bomb_in_another_encoding(write):
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
    bomb = f'<!DOCTYPE m [<!ENTITY e0 "{"x" * 100}">{entities}]><mediawiki>&e12;</mediawiki>'
    assert "document type" in read_until_error(write(bomb.encode("utf-16")))[1]


@pytest.mark.parametrize("n_processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_is_longer_or_deeper_than_anything_in_an_export(write, monkeypatch, n_processes):
    monkeypatch.setattr(mediawiki_xml, "MAX_TEXT_BYTES", 1 << 18)
    for long, message in (
        (page("B", revisions=revision("x" * (1 << 19))), "a text of more than 262,144 bytes"),
        (f"<page x='{'y' * (1 << 21)}'></page>", "a tag or comment of more than 1,048,576 bytes"),
        ("<a>" * 50_000 + "</a>" * 50_000, "in more than 100 others"),
    ):
        path = write(export(page("A"), long, page("C")))
        found, said = read_until_error(path, n_processes=n_processes)
        assert found == ["A"]
        assert message in said
        assert "line 8: " in said
    short = page("B", revisions=revision("x" * (1 << 17)))
    assert titles(write(export(page("A"), short, *[page(str(n), n) for n in range(5000)])))[:2] == [
        "A",
        "B",
    ]


def test_elements_where_they_do_not_belong(write):
    lone = revision("Elsewhere.").replace("<id>", "<id><b/>")
    odd = page("A", 1, revisions=f"<x>{lone}</x>{revision('B <i>c</i>')}<id>2</id><ns>1</ns>")
    [article] = articles_of(write(export(f"<y>{page('N')}</y>", odd)))
    assert (article.page_id, article.title, article.text) == (1, "A", "B")
    found, message = read_until_error(write(export(page("A"), f"<page><x>{revision()}</page>")))
    assert found == ["A"]
    assert "mismatched tag" in message


def test_page_without_id(write):
    _, message = read_until_error(write(export(page("A", "x"))))
    assert "'A'" in message


@pytest.mark.slow
def test_built_in_sample():
    sample = Path(str(resources.files("gensim") / "test" / "test_data")) / (
        "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    )
    articles = list(articles_of(sample))
    assert len(articles) == 106
    digest = hashlib.sha256("\f".join(article.text for article in articles).encode()).hexdigest()
    assert digest == SAMPLE_DIGEST, "the text has changed: was that meant?"
    first = articles[0]
    assert (first.page_id, first.title, first.language) == (12, "Anarchism", "en")
    assert first.url == "https://en.wikipedia.org/wiki/Anarchism"
    assert first.text.startswith("Anarchism is a political philosophy that advocates")
    assert [heading for heading, _ in first.sections()][:3] == [
        *("", "Etymology and terminology", "History")
    ]
    for article in articles:
        assert len(article.text) > 100
        for mark in ("[[", "]]", "{{", "}}", "<ref", "{|", "|}", "''", "http://", "&nbsp;"):
            assert mark not in article.text, (article.title, mark)
        assert "References" not in [heading for heading, _ in article.sections()]


def test_simple_english_is_a_language_of_its_own(write):
    siteinfo = SITEINFO.replace("skwiki", "simplewiki")
    path = write(export(page(), siteinfo=siteinfo, lang='xml:lang="en"'))
    assert [article.document_id for article in articles_of(path)] == ["simple:1"]
