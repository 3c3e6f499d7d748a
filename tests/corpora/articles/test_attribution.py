from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import Article, ArticleStore
from corpora.articles import attribution as attribution_module
from corpora.articles import writer as writer_module
from corpora.articles.attribution import (
    INCOMPLETE,
    MAX_SOURCES,
    UNKNOWN,
    Attribution,
    Source,
    read_attribution,
    source_of,
)

EN, DE = "https://en.wikipedia.org", "https://de.wikipedia.org"
CC = "CC BY-SA 4.0"
anything = st.text(st.characters(exclude_categories=()))
fields = anything | st.sampled_from(
    ["", UNKNOWN, "a  b", "    x  y  z", "a\nb", "x" * 500, "\u202eevil", "LANGUAGE", INCOMPLETE]
)


def article(page_id, site=EN, language="en", license_name=CC):
    url = f"{site}/wiki/{page_id}" if site else ""
    return Article(page_id, 1, f"T {page_id}", url, "", language, license_name, f"Text {page_id}.")


@pytest.fixture
def store(tmp_path):
    return ArticleStore(tmp_path / "store", 3)


def text_of(store):
    return (store.path / "ATTRIBUTION").read_text()


def test_it_says_whose_text_it_is_and_how_to_name_them(store):
    store.append([article(1), article(2, DE, "de"), article(3, "", "fr", "")])
    text = text_of(store)
    assert f"\n    en        {EN}  {CC}\n" in text
    assert f"\n    de        {DE}  {CC}\n" in text
    assert f"\n    fr        {UNKNOWN:24}  {UNKNOWN}\n" in text
    for said in (
        "contributors of the wikis",
        "carries its title, URL, revision id and licence",
        "history of the page at its URL lists its authors",
        "Markup, references, tables",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "python -m pipeline download --output DIR --export FILE.jsonl",
    ):
        assert said in text, said
    assert INCOMPLETE not in text
    assert max(map(len, text.splitlines())) <= 100
    assert store.sites() == {("en", EN), ("de", DE)}


def test_it_grows_with_the_sources_and_is_left_alone_otherwise(store):
    store.append([article(1)])
    file = store.path / "ATTRIBUTION"
    inode = file.stat().st_ino
    store.append(map(article, range(2, 20)))
    assert file.stat().st_ino == inode
    store.append([article(30, license_name="CC0")])
    assert text_of(store).count(EN) == 2
    store.append([article(1, DE, "de")])
    assert store.sites() == {("en", EN), ("de", DE)}


def test_it_is_there_before_the_first_article_is(store, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Attribution, "write", fail)
    with pytest.raises(OSError, match="No space"):
        store.append([article(1)])
    assert len(store) == 0
    monkeypatch.undo()
    store.append([article(1)])
    assert store.sites() == {("en", EN)}


@pytest.mark.parametrize("left", [None, b"", b"\xff\x00 junk", b"    en  x", b"all lines gone\n"])
def test_what_the_articles_say_counts_where_it_is_gone(store, left):
    store.append([article(1), article(2, DE, "de"), article(3, "", "fr", "")])
    whole, file = text_of(store), store.path / "ATTRIBUTION"
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    assert store.sites() == set()
    store.append([])
    assert text_of(store) == whole


def test_deleted_meanwhile_it_comes_back_with_the_next_commit(store):
    with store.writer() as writer:
        writer.add(article(1, DE, "de"))
        writer.commit()
        (store.path / "ATTRIBUTION").unlink()
        writer.add(article(1))
    assert store.sites() == {("en", EN), ("de", DE)}


def test_a_large_store_without_it_is_asked_in_part_and_says_so(store, monkeypatch):
    monkeypatch.setattr(writer_module, "ARTICLES_ASKED", 10)
    store.append(article(number, DE if number in (4, 7) else EN) for number in range(30))
    (store.path / "ATTRIBUTION").unlink()
    store.append([article(30, "https://x.org")])
    assert INCOMPLETE in text_of(store)
    assert store.sites() == {("en", EN), ("en", DE), ("en", "https://x.org")}
    store.append([article(31, "https://y.org")])
    assert INCOMPLETE in text_of(store), "once incomplete, always"
    assert ("en", "https://y.org") in store.sites()


def test_a_site_for_each_article_does_not_make_it_grow_for_ever(store):
    store.shard_size = 500
    store.append(article(number, f"https://{number}.example.net") for number in range(5000))
    assert len(store.sites()) == MAX_SOURCES
    assert INCOMPLETE in text_of(store)
    inode = (store.path / "ATTRIBUTION").stat().st_ino
    store.append([article(9999, "https://another.org")])
    assert (store.path / "ATTRIBUTION").stat().st_ino == inode


def test_a_directory_in_its_place_is_an_error_that_names_it(store):
    (store.path / "ATTRIBUTION").mkdir(parents=True)
    with pytest.raises(OSError, match="ATTRIBUTION"):
        store.append([article(1)])
    assert len(store) == 0


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://en.wikipedia.org/wiki/A?b#c", EN),
        ("http://en.wikipedia.org/wiki/A", EN),  # as older dumps say
        ("HTTPS://EN.Wikipedia.ORG/wiki/A", EN),
        ("https://en.wikipedia.org", EN),
        ("http://wiki.example.org/A", "http://wiki.example.org"),
        ("http://127.0.0.1:8080/index.php/A", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/A", "http://[::1]:8080"),
        ("https://me:secret@example.org/A", "https://example.org"),
        ("https://münchen.example/A", "https://münchen.example"),
        ("//en.wikipedia.org/wiki/A", ""),
        ("en.wikipedia.org/wiki/A", ""),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("https://", ""),
        ("https:///path", ""),
        ("https://[::1/A", ""),
        ("https://example.org:port/A", ""),
        ("https://example.org:99999/A", ""),
        ("", ""),
    ],
)
def test_sites(url, site):
    assert source_of(replace(article(1), url=url)) == Source("en", site, CC)


@given(st.lists(st.tuples(fields, fields | fields.map("https://".__add__), fields), min_size=1))
def test_whatever_articles_say_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "ATTRIBUTION"
    articles = [Article(1, 1, "T", url, "", language, name, "x") for language, url, name in rows]
    made = Attribution().including(articles)
    made.write(path)
    assert read_attribution(path) == made
    assert made.including(articles) == made


def test_a_huge_licence_is_cut():
    source = source_of(replace(article(1), license="x" * 10**6, language="y " * 10**6))
    assert max(map(len, (source.license, source.language))) <= attribution_module.MAX_FIELD
