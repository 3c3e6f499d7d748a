"""A crawl: every article stored once, and exactly as many as asked for, wherever it is stopped."""

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

import downloader.crawl as crawl_module
from corpora import ArticleStore, StoreLockedError, UnsupportedVersionError, writer_lock
from corpora.articles import shard
from downloader import file_download
from downloader.crawl import CrawlReport, crawl, download_is_running, state_path
from downloader.errors import TryLaterError
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.skip_log import MAX_PROMPT_LINES, SECONDS_BETWEEN, SkipLog
from downloader.titles import Titles
from tests.downloader.crawl_process import COMMAND
from tests.downloader.impatient_client import PATIENT, new_client
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving, synthetic_wiki

CLIENT = PATIENT
N_PAGES = 100
ROOT = Path(__file__).resolve().parents[2]
ALL = list(range(1, N_PAGES + 1))


@pytest.fixture
def url():
    with serving(SyntheticWiki(N_PAGES)) as url:
        yield url


@pytest.fixture
def source(client, url):
    return RandomPages(MediaWikiApi(client, url), batch_size=7)


@pytest.fixture
def store(tmp_path):
    return ArticleStore(tmp_path / "articles", shard_size=10)


def ids_in(store):
    store.verify()
    return sorted(article.page_id for article in store)


def test_everything_is_stored_once_and_then_there_is_nothing_to_do(store, source, client, tmp_path):
    told = []
    report = crawl(store, source, tmp_path, None, lambda *news: told.append(news))
    assert report == CrawlReport(N_PAGES, 0, {}, finished=True, total_added=N_PAGES)
    assert ids_in(store) == ALL
    assert [news.total_added for news, _ in told] == [*range(7, 100, 7), 100]
    assert told[-1][0] == report
    n_requests, again = client.n_requests, crawl(store, source, tmp_path)
    assert again == CrawlReport(0, 0, {}, finished=True, total_added=N_PAGES)
    assert client.n_requests == n_requests


def test_shards_are_filled_at_the_ends_of_batches(store, source, tmp_path):
    crawl(store, source, tmp_path)
    assert {entry.articles for entry in store.entries} <= {10, 4, 2}
    assert len(store.entries) < 20


def test_what_waits_long_is_stored(store, source, tmp_path):
    stored = []
    crawl(store, source, tmp_path, None, lambda *_: stored.append(len(store)), commit_seconds=0)
    assert stored == [*range(7, 100, 7), 100]


def test_the_limit_holds_over_all_runs(store, source, client, tmp_path):
    first = crawl(store, source, tmp_path, 10)
    assert (first.added, first.total_added, first.finished) == (10, 10, False)
    n_requests = client.n_requests
    assert crawl(store, source, tmp_path, 10).added == 0
    assert crawl(store, source, tmp_path, 3).added == 0
    assert client.n_requests == n_requests
    assert crawl(store, source, tmp_path, 33).added == 23
    assert len(ids_in(store)) == 33
    last = crawl(store, source, tmp_path, 1000)
    assert (last.added, last.total_added, last.finished) == (67, 100, True)
    assert ids_in(store) == ALL


def test_the_limit_is_met_at_the_end_of_a_batch(store, source, tmp_path):
    for limit in (7, 14, 98, 100):
        report = crawl(store, source, tmp_path, limit)
        assert (report.total_added, len(store)) == (limit, limit)
    assert report.finished


def test_other_articles_do_not_count(store, source, client, url, tmp_path):
    titles = tmp_path / "titles"
    titles.write_text("".join(f"Page {number}\n" for number in range(1, 41)))
    assert crawl(store, Titles(MediaWikiApi(client, url), titles), tmp_path).added == 40
    report = crawl(store, source, tmp_path, 50)
    assert (report.added, report.total_added) == (50, 50)
    report = crawl(store, source, tmp_path)
    assert (report.added, report.total_added, report.finished) == (10, 60, True)
    assert ids_in(store) == ALL


class Stopped(BaseException):
    """An interrupt."""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("what", ["save", "commit", "add"])
def test_an_interrupt_anywhere_loses_and_repeats_nothing(
    client, tmp_path, monkeypatch, what, where
):
    from corpora.articles.writer import ArticleWriter

    place = {"save": crawl_module, "commit": ArticleWriter, "add": ArticleWriter}[what]
    name = {"save": "atomic_write_text"}.get(what, what)
    original, n_calls = getattr(place, name), 0
    stop_at = 0

    def deadly(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == stop_at and where == "before":
            raise Stopped
        result = original(*arguments)
        if n_calls == stop_at:
            raise Stopped
        return result

    monkeypatch.setattr(place, name, deadly)
    n_pages, limit = 40, 17
    with serving(SyntheticWiki(n_pages)) as url:
        for nth in count(1, 5 if what == "add" else 1):
            directory = tmp_path / str(nth)
            store = ArticleStore(directory / "articles", shard_size=5)
            source = RandomPages(MediaWikiApi(client, url), batch_size=3)
            n_calls, stop_at = 0, nth
            try:
                crawl(store, source, directory, limit)
            except Stopped:
                stopped = True
            else:
                stopped = False
            stop_at, n_before = 0, len(ids_in(store))
            report = crawl(store, source, directory, limit)
            assert report.total_added == limit
            assert len(ids_in(store)) == n_before + report.added == limit
            report = crawl(store, source, directory)
            assert (report.total_added, report.finished) == (n_pages, True)
            assert ids_in(store) == list(range(1, n_pages + 1))
            if not stopped:
                break


def test_an_interrupt_between_batches_keeps_what_has_come(store, source, client, tmp_path):
    def interrupt(report, batch):
        if report.total_added >= 63:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crawl(store, source, tmp_path, None, interrupt)
    assert len(ids_in(store)) == 63
    n_requests, report = client.n_requests, crawl(store, source, tmp_path)
    assert (report.added, report.already_there) == (37, 0)  # no batch came again
    assert client.n_requests == n_requests + 6


def test_a_server_that_goes_away_keeps_what_has_come(tmp_path, store):
    client, wiki = new_client(tmp_path, patience=0.3), SyntheticWiki(N_PAGES)

    def answer(asked):
        if int(asked.get("grncontinue", 0)) >= 50:
            return {"error": {"code": "readonly", "info": "The wiki is in read-only mode."}}
        return wiki.answer(asked)

    with serving(Scripted(answer)) as url:
        source = RandomPages(MediaWikiApi(client, url), batch_size=10)
        with pytest.raises(TryLaterError, match="readonly"):
            crawl(store, source, tmp_path)
        assert len(ids_in(store)) == 50
    client.close()


def test_an_article_that_cannot_be_stored_ends_nothing(
    store, source, tmp_path, monkeypatch, caplog
):
    lengths = sorted(len(article.text) for article in articles_of(source))
    monkeypatch.setattr(shard, "MAX_CHARACTERS", lengths[-5])
    report = crawl(store, source, tmp_path)
    n_skipped = report.skipped["cannot be stored"]
    assert 5 <= n_skipped < N_PAGES
    assert report.added == N_PAGES - n_skipped == len(ids_in(store))
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert ["skipped" in record.getMessage() for record in warnings] == [True]


def articles_of(source):
    for batch in source.batches(None, lambda _: False):
        yield from batch.articles


def test_skipped_pages_are_counted(store, client, url, tmp_path):
    titles = tmp_path / "titles"
    titles.write_text("Page 1\nPage 1000\nPage 1001\nA|B\n")
    report = crawl(store, Titles(MediaWikiApi(client, url), titles), tmp_path)
    assert report == CrawlReport(1, 0, {"missing": 2, "invalid": 1}, finished=True, total_added=1)


def test_skipped_pages_do_not_flood_the_terminal(store, client, url, tmp_path, caplog):
    titles, lines = tmp_path / "titles", [f"Page {number}" for number in range(1001, 1101)]
    titles.write_text("\n".join(["A|\x1b[31mB", *lines]))
    with caplog.at_level(logging.DEBUG, "downloader"):
        crawl(store, Titles(MediaWikiApi(client, url), titles, batch_size=4), tmp_path)
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    told = [text for level, text in said if level >= logging.INFO and "skipped" in text]
    assert told[0] == "4 pages skipped: 3 missing, 1 invalid (first: A| [31mB)"
    assert told[1] == "4 pages skipped: 4 missing (first: Page 1004)"
    assert len(told) == MAX_PROMPT_LINES + 1
    assert told[-1] == "61 pages skipped: 61 missing (first: Page 1040)"
    detailed = [text for level, text in said if level == logging.DEBUG and "skipped" in text]
    assert len(detailed) == 101
    assert "skipped (invalid): A| [31mB" in detailed
    assert all(text.isprintable() for _, text in said)


def test_after_a_few_lines_there_is_one_a_minute(caplog):
    now = 0.0
    log = SkipLog(lambda: now)
    with caplog.at_level(logging.INFO, "downloader"):
        for _ in range(1000):
            log.note({"redirect": ["\x1b\ud83d R"]})
            log.note({})
            now += 1.0
        log.flush()
        log.flush()
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "1 page skipped: 1 redirect (first: R)"
    assert len(told) == MAX_PROMPT_LINES + -(-(1000 - MAX_PROMPT_LINES) // SECONDS_BETWEEN)
    assert sum(int(text.split()[0].replace(",", "")) for text in told) == 1000


def test_a_disk_that_is_about_to_run_full_keeps_its_reserve(
    store, source, client, tmp_path, monkeypatch
):
    def fill(report, _):
        if report.total_added >= 35:
            monkeypatch.setattr(file_download, "MIN_FREE_BYTES", shutil.disk_usage(tmp_path).total)

    with pytest.raises(OSError, match="would leave fewer") as caught:
        crawl(store, source, tmp_path, 80, fill)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(store.path))
    assert len(ids_in(store)) == 42  # the batch that was under way too
    n_requests = client.n_requests
    with pytest.raises(OSError, match="would leave fewer"):
        crawl(store, source, tmp_path, 80)
    assert client.n_requests == n_requests
    monkeypatch.undo()
    report = crawl(store, source, tmp_path, 80)
    assert (report.added, report.already_there, report.total_added) == (38, 0, 80)
    assert len(ids_in(store)) == 80


def test_what_waits_to_be_stored_counts_as_used(store, source, tmp_path, monkeypatch):
    free = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(file_download, "MIN_FREE_BYTES", free - 20_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(free, 0, free))
    with pytest.raises(OSError, match="would leave fewer"):
        crawl(ArticleStore(store.path, shard_size=1000), source, tmp_path)
    assert 7 <= len(ids_in(store)) <= 14


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        *("", "{", "[]", "null", '{"format": "wikitopics crawl"}'),
        '{"format": "something else", "version": 1}',
        *({"cursor": [1]}, {"cursor": "x"}, {"next_cursor": 5}, {"stored": None}),
        *({"added": -1}, {"added": True}, {"added": "5"}, {"identity": {}}, {"something": "else"}),
        *({"pending": [["en", "1"]]}, {"pending": "x"}, {"pending": [["en"]]}),
    ],
)
def test_a_damaged_state_costs_requests_and_no_articles(store, source, tmp_path, damage, caplog):
    crawl(store, source, tmp_path, 30)
    path = state_path(tmp_path, source.identity)
    if isinstance(damage, dict):
        damage = json.dumps(json.loads(path.read_text()) | damage)
    path.write_text(damage)
    report = crawl(store, source, tmp_path)
    assert (report.added, report.finished) == (70, True)
    assert ids_in(store) == ALL
    assert "starts again" in caplog.text


def test_a_state_of_a_newer_version_is_left_alone(store, source, tmp_path):
    crawl(store, source, tmp_path, 30)
    path = state_path(tmp_path, source.identity)
    newer = json.dumps(json.loads(path.read_text()) | {"version": 2, "more": 1})
    path.write_text(newer)
    with pytest.raises(UnsupportedVersionError, match="upgrade"):
        crawl(store, source, tmp_path)
    assert path.read_text() == newer


def test_a_state_of_a_store_that_is_gone_is_not_believed(source, tmp_path):
    crawl(ArticleStore(tmp_path / "one"), source, tmp_path)
    other = ArticleStore(tmp_path / "other")
    assert crawl(other, source, tmp_path).added == N_PAGES
    assert ids_in(other) == ALL


def test_one_crawl_of_a_store_at_a_time(store, source, client, tmp_path):
    with store.writer(), pytest.raises(StoreLockedError):
        crawl(store, source, tmp_path)
    assert client.n_requests == 0


def test_nothing_is_left_behind(store, source, tmp_path):
    directory = tmp_path / "state"
    directory.mkdir()
    path = state_path(directory, source.identity)
    (directory / f".{path.name}.0123abcd.partial").write_text("of a run that was killed")
    crawl(store, source, directory)
    assert list(directory.iterdir()) == [path]


def memory_of(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("source", ["random", "category"])
def test_memory_is_steady_over_100_000_articles(tmp_path, source):
    n_pages = 100_000
    with synthetic_wiki(n_pages) as url:
        command = [
            *(*COMMAND, url, str(tmp_path / "crawl"), "--source", source, "--what", "All@1"),
            *("--per-minute", "1e9", "--per-second", "1000000"),
        ]
        began, memory = time.monotonic(), {}
        total = 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            for line in process.stdout:
                news = json.loads(line)
                total = news.get("report", news)["total_added"]
                for milestone in (20_000, 60_000, 99_900):
                    if total >= milestone and milestone not in memory:
                        memory[milestone] = memory_of(process.pid)
        seconds = time.monotonic() - began
    sys.stdout.write(f"{source}: {n_pages / seconds:.0f} articles/s; MB at articles: {memory}\n")
    assert (process.returncode, total) == (0, n_pages)
    assert memory[99_900] - memory[20_000] < 10
    store = ArticleStore(tmp_path / "crawl" / "articles")
    store.verify()
    assert len(store) == n_pages


def test_a_killed_process_can_be_started_again(tmp_path):
    with serving(SyntheticWiki(800)) as url:
        command = [*COMMAND, url, str(tmp_path / "crawl"), "--shard-size", "40"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    assert (report["total_added"], report["finished"]) == (800, True)
    assert len(ids_in(ArticleStore(tmp_path / "crawl" / "articles"))) == 800


@pytest.mark.parametrize("where", ["", "download"])
def test_a_held_lock_is_a_running_download(tmp_path, where):
    directory = tmp_path / "store" / where
    directory.mkdir(parents=True)
    assert not download_is_running(tmp_path / "store")
    with writer_lock(directory):
        assert download_is_running(tmp_path / "store")
        assert download_is_running(tmp_path / "store")
    assert not download_is_running(tmp_path / "store")
    with writer_lock(directory):  # looking has left nothing locked
        pass


def test_looking_makes_nothing(tmp_path):
    assert not download_is_running(tmp_path / "nosuch")
    assert not download_is_running(tmp_path)
    (tmp_path / "download").touch()  # not a directory
    assert not download_is_running(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["download"]
