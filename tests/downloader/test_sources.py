import bz2
import sys

import pytest

from corpora import ArticleStore, CorpusFormatError
from corpora.articles.article import Article
from corpora.articles.page import Skipped
from corpora.articles.page_filter import PageFilter
from downloader.sources import SampleMissingError, read_exports, read_source, sample_path
from tests.downloader.content_dump import articles_of, exports
from tests.pipeline.support import finish, spawn, write_dump, write_jsonl

EARLY_END = """
import multiprocessing, sys
from downloader.sources import read_source

if __name__ == "__main__":
    for _ in range(3):
        {end}
        print(len(multiprocessing.active_children()))
"""


def test_the_sample_is_a_dump_with_pages():
    path = sample_path()
    assert path.suffix == ".bz2"
    with bz2.open(path) as stream:
        assert stream.read(10) == b"<mediawiki"


def test_a_missing_sample_says_what_to_install(monkeypatch):
    monkeypatch.setattr("downloader.sources.find_spec", lambda _: None)
    with pytest.raises(SampleMissingError, match="pip install"):
        sample_path()


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_counts_articles(tmp_path, limit):
    dump = write_dump(tmp_path / "dump.xml", 6)
    texts = write_jsonl(tmp_path / "texts.jsonl", 6)
    for source, path in (("dump", dump), ("jsonl", texts), ("sample", "")):
        assert len(list(read_source(source, str(path), limit=limit))) == limit


def test_all_come_from_any_number_of_processes(tmp_path):
    found = list(read_source("dump", str(write_dump(tmp_path / "dump.xml.bz2", 6))))
    assert [article.page_id for article in found] == [1, 2, 3, 4, 5, 6]
    dump = str(write_dump(tmp_path / "dump.xml", 40))
    alone = list(read_source("dump", dump))
    assert list(read_source("dump", dump, n_processes=2)) == alone
    assert len(alone) == 40


def test_bytes_are_told_and_a_limited_read_goes_on_where_it_stopped(tmp_path):
    path, told = write_jsonl(tmp_path / "texts.jsonl", 2000), []
    assert len(list(read_source("jsonl", str(path), progress_bytes=told.append))) == 2000
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
    dump = str(write_dump(tmp_path / "dump.xml", 25))
    at_once, in_steps = ArticleStore(tmp_path / "a", 10), ArticleStore(tmp_path / "b", 10)
    at_once.append(read_source("dump", dump))
    added = [in_steps.append(read_source("dump", dump, limit=n)) for n in (5, 5, 17, None)]
    assert added == [5, 0, 12, 8]
    assert list(in_steps) == list(at_once)
    in_steps.verify()


def test_articles_before_the_damage_are_kept(tmp_path):
    whole, torn = write_jsonl(tmp_path / "texts.jsonl", 8), tmp_path / "torn.jsonl"
    torn.write_bytes(whole.read_bytes()[:-30])
    store = ArticleStore(tmp_path / "store", 3)
    with pytest.raises(CorpusFormatError, match="line 8"):
        store.append(read_source("jsonl", str(torn)))
    assert len(store) == 7
    assert store.append(read_source("jsonl", str(whole))) == 1
    store.verify()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(
            "assert len(list(read_source('sample', '', limit=2, n_processes=2))) == 2",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "articles = read_source('sample', '', n_processes=2); next(articles); del articles",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_early_end_leaves_no_workers_and_does_not_hang(tmp_path, end):
    program = tmp_path / "program.py"
    program.write_text(EARLY_END.format(end=end))
    done = finish(spawn(cwd=tmp_path, program=[sys.executable, str(program)]))
    assert (done.code, done.out) == (0, "0\n0\n0\n"), done.err


def test_the_exports_of_a_folder_in_the_order_of_their_pages(tmp_path):
    files = exports(4)
    shuffled = dict(zip(("p9p10", "p11p99", "p100p200", "p1000p2000"), files.values(), strict=True))
    for pages, content in shuffled.items():
        (tmp_path / f"enwiki-2026-09-01-{pages}.xml.bz2").write_bytes(content)
    (tmp_path / "SHA256SUMS").write_text("no export")
    (tmp_path / "x.xml.7z").write_text("none that is read")
    expected = list(articles_of(*files.values()))
    told = []
    assert list(read_source("dump", str(tmp_path), progress_bytes=told.append)) == expected
    assert told == sorted(told)
    assert told[-1] == sum(map(len, files.values()))
    assert list(read_source("dump", str(tmp_path), n_processes=2)) == expected
    known = {("en", article.page_id) for article in expected[::2]}
    wanted = PageFilter.of(article.title for article in expected[:9])
    found = list(read_exports(tmp_path, known=lambda *key: key in known, wanted=wanted))
    assert [each for each in found if isinstance(each, Article)] == expected[1:9:2]
    assert [each.page for each in found if isinstance(each, Skipped)] == [
        article.title for article in expected[:9:2]
    ]


def test_a_folder_without_exports(tmp_path):
    (tmp_path / "README").write_text("none")
    with pytest.raises(CorpusFormatError, match="no XML export"):
        list(read_source("dump", str(tmp_path)))
