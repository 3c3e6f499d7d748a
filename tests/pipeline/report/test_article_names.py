import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from corpora import Article, ArticleStore, Corpus
from corpora.articles.shard import read_articles
from pipeline.report.article_names import ArticleNames, name_of, revision_url
from tests.pipeline.support import flip

SITE = "https://en.wikipedia.org/wiki/"
TITLES = {f"en:{i}": f"Article {i} of the corpus" for i in range(1, 31)}


def article(i, **changes):
    text = "Lead.\n\n== Life ==\nText.\n\n=== Deeper ===\nText.\n\n== Work ==\nText."
    made = Article(i, 1000 + i, f"Article {i}", f"{SITE}Article_{i}", "", "en", "", text)
    return replace(made, **changes)


def corpus_of(titles):
    counts = sparse.csr_array(np.ones((len(titles), 1), dtype=np.int32))
    return Corpus(counts, ("word",), list(titles), list(titles.values()))


@pytest.fixture
def store(tmp_path):
    made = ArticleStore(tmp_path / "store", shard_size=10)
    made.append(article(i) for i in range(1, 31))
    return made


def test_titles_links_and_sections(store):
    names = ArticleNames(store.path, corpus_of(TITLES))
    found = names(["en:25", "en:3", "en:25"])
    assert list(found) == ["en:25", "en:3"]
    assert (found["en:3"].title, found["en:3"].url) == ("Article 3", f"{SITE}Article_3?oldid=1003")
    assert (found["en:25"].url, names.note) == (f"{SITE}Article_25?oldid=1025", "")
    ids = ["en:5#1", "en:5#3", "en:5#2", "en:5#4", "en:5#x", "en:5"]
    found = ArticleNames(store.path, corpus_of({doc_id: doc_id for doc_id in ids}))(ids)
    assert [found[i].title for i in ids] == [
        *("Article 5", "Article 5: Work", "Article 5: Life"),
        *("Article 5", "Article 5", "Article 5"),  # there are but three sections
    ]
    assert {name.url for name in found.values()} == {f"{SITE}Article_5?oldid=1005"}


def test_no_more_is_read_than_needed_and_nothing_twice(store):
    module = "pipeline.report.article_names."
    names, read = ArticleNames(store.path, corpus_of(TITLES)), []

    def counted(data, name):
        for each in read_articles(data, name):
            read.append(each.page_id)
            yield each

    with mock.patch(module + "read_articles", counted):
        names(["en:12", "en:14"])
        assert read == [11, 12, 13, 14]  # nothing of the first shard, nor of the third
        names(["en:14", "en:12"])
        assert len(read) == 4
        names(["en:1", "en:14"])
        assert read[4:] == [1]
    with mock.patch(module + "stored_bytes", side_effect=AssertionError("the store was read")):
        names(["en:1"])


def test_a_store_that_is_gone(tmp_path):
    titles = {"en:1": "One", "en:2#3": "Two § Life", "en:3": "Three\0\u2028of  three"}
    names = ArticleNames(tmp_path / "gone", corpus_of(titles))
    found = names([*titles, "en:99"])
    assert [each.title for each in found.values()] == [
        *("One", "Two: Life", "Three of three", "en:99")
    ]
    assert {name.url for name in found.values()} == {""}
    assert re.fullmatch(".*no link.*no article store at.*", names.note)


def test_a_shard_that_is_damaged(store):
    flip(store.path / "shards" / "000002.pkl.gz", 200)
    names = ArticleNames(store.path, corpus_of(TITLES))
    found = names(["en:2", "en:15", "en:25"])
    assert [found[i].title for i in found] == [
        *("Article 2", "Article 15 of the corpus", "Article 25")
    ]
    assert found["en:15"].url == ""
    assert "000002.pkl.gz" in names.note


def test_a_manifest_that_is_damaged(store):
    flip(store.path / "manifest.jsonl", 200)
    names = ArticleNames(store.path, corpus_of(TITLES))
    assert names(["en:2"])["en:2"].title == "Article 2 of the corpus"
    assert "manifest.jsonl" in names.note


def test_articles_that_the_store_lacks(store):
    corpus = corpus_of(TITLES | {"de:2": "Zwei", "odd": "Odd one"})
    names = ArticleNames(store.path, corpus)
    found = names(["en:2", "de:2", "odd"])
    assert [name.title for name in found.values()] == ["Article 2", "Zwei", "Odd one"]
    assert names.note.startswith("2 articles shown here have no link")
    one = ArticleNames(store.path, corpus)
    one(["de:2"])
    assert one.note.startswith("1 article shown here has no link")


def test_only_shards_that_the_corpus_was_made_of(store):
    first, _, third = (entry.sha256 for entry in store.entries)
    names = ArticleNames(store.path, corpus_of(TITLES), [first, third])
    found = names(["en:2", "en:15", "en:25"])
    assert [bool(name.url) for name in found.values()] == [True, False, True]
    assert names.note.startswith("1 article shown here has no link")


@pytest.mark.parametrize(
    ("url", "revision", "expected"),
    [
        ("https://a.org/wiki/X", 7, "https://a.org/wiki/X?oldid=7"),
        ("HTTP://a.org/wiki/X", 7, "http://a.org/wiki/X?oldid=7"),
        ("https://a.org/w/index.php?title=X&b=%26", 7, None),
        ("https://a.org/?title=X&oldid=3", 7, "https://a.org/?title=X&oldid=7"),
        ("https://a.org/wiki/X#Life", 7, "https://a.org/wiki/X?oldid=7#Life"),
        ("https://a.org/wiki/X", 0, "https://a.org/wiki/X"),
        ("https://a.org/wiki/X?a=1", -1, "https://a.org/wiki/X?a=1"),
    ],
)
def test_links(url, revision, expected):
    if expected is None:
        expected = f"{url}&oldid={revision}"
    assert revision_url(url, revision) == expected


def test_no_links():
    for url in (
        *("", "/wiki/X", "https:///wiki/X", "javascript:alert(1)"),
        "javascript://a.org/%0aalert(1)",
        *(" javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,x", "ftp://a.org/X"),
        *("https://a.org/\0X", "https://a.org/X\nY", "https://a.org/\u202eX", "https://[a.org/X"),
    ):
        assert revision_url(url, 7) == revision_url(url, 0) == ""


def test_hostile_titles_stay_what_they_are_but_for_controls():
    title = '<script>"a"</script> $x$ \u202eabc\0\x1b[31m\nd\ud800'
    found = name_of(article(1, title=title, url="javascript:alert(1)"), "en:1")
    assert (found.title, found.url) == ('<script>"a"</script> $x$ \u202eabc [31m d', "")
