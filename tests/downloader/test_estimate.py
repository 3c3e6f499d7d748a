from dataclasses import replace

import pytest

from corpora.articles.page import Site
from downloader.estimate import dump_wiki, estimate, in_words
from downloader.mediawiki_api import WikiInfo

ENGLISH = WikiInfo(
    site=Site(language="en", article_path="https://en.wikipedia.org/wiki/"),
    name="Wikipedia",
    generator="MediaWiki 1.45",
    database="enwiki",
    n_articles=7_000_000,
    n_pages=60_000_000,
    seconds=0.1,
)


def test_the_pace_decides_unless_the_wiki_is_slower_and_html_takes_a_request_each():
    quick = estimate(ENGLISH, 10_000)
    assert quick.n_requests == 200
    assert quick.seconds == pytest.approx(200 * 60 / 200)
    assert 600 < estimate(replace(ENGLISH, seconds=3.0), 10_000).seconds < 800
    assert estimate(ENGLISH, 10_000, per_minute=60).seconds == pytest.approx(200)
    assert estimate(ENGLISH, 10_000, per_second=1).seconds == pytest.approx(200)
    assert estimate(ENGLISH, 1_001, "html").n_requests == 1_001 + 21


def test_all_of_a_large_wiki_is_faster_by_dump():
    all_of_it = estimate(ENGLISH, ENGLISH.n_articles)
    assert all_of_it.is_dump_faster
    assert "about 12 hours; a dump would take about 4 hours" in all_of_it.sentence
    assert all_of_it.sentence.endswith(": --source content enwiki")
    # Files are read while others arrive: many processes wait for the network.
    assert estimate(ENGLISH, ENGLISH.n_articles, n_processes=64).dump_seconds == 7e6 * 6600 / 5e6
    some = estimate(ENGLISH, 5_000)
    assert not some.is_dump_faster
    assert some.sentence == "5,000 articles take 100 requests, about 30 seconds"


def test_no_dump_where_it_would_not_do_or_is_not_to_be_had():
    listed = estimate(ENGLISH, 7_000_000, any_articles=False)
    assert (listed.dump_seconds, listed.is_dump_faster) == (None, False)
    for site, database in (
        (Site(article_path="https://wiki.example.net/wiki/"), "enwiki"),
        (Site(article_path="https://wikipedia.org.evil.net/wiki/"), "enwiki"),
        (Site(article_path=""), "enwiki"),
        (ENGLISH.site, "../../etc"),
        (ENGLISH.site, ""),
    ):
        assert dump_wiki(replace(ENGLISH, site=site, database=database)) == ""


def test_nothing_to_do_takes_no_time():
    nothing = estimate(ENGLISH, 0)
    assert (nothing.n_requests, nothing.seconds) == (0, 0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        *((0, "1 seconds"), (59, "59 seconds"), (119, "119 seconds"), (180, "3 minutes")),
        *((7200, "2 hours"), (200_000, "2 days")),
    ],
)
def test_durations_in_words(seconds, expected):
    assert in_words(seconds) == expected
