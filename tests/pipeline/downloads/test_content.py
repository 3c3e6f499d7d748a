import json
import os
import signal
import time
from functools import partial
from urllib.parse import urlsplit

import pytest

from corpora import ArticleStore
from downloader.file_progress import FileProgress
from pipeline.downloads import job
from pipeline.settings import DownloadSettings
from tests.downloader.content_dump import BASE, DATE, WIKI, add_dump, articles_of, exports
from tests.downloader.folder_server import FolderServer
from tests.downloader.hostile_server import serving
from tests.downloader.killed_download import has_bytes
from tests.pipeline.support import call, spawn, wait_until

FAST = ("--requests-per-minute", 100_000, "--patience", 0.5)


@pytest.fixture
def site():
    site = FolderServer()
    add_dump(site, exports(4))
    return site


@pytest.fixture
def wiki(site):
    with serving(site) as server:
        yield f"{server.url}{BASE}{WIKI}/"


@pytest.fixture(autouse=True)
def _own_pace(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def expected():
    return list(articles_of(*exports(4).values()))


def stored(directory):
    store = ArticleStore(directory / "articles")
    store.verify()
    return list(store)


def download(wiki, *argv, cwd):
    return call("download", "--source", "content", wiki, *FAST, *argv, cwd=cwd)


def test_a_wiki_into_a_store(site, wiki, tmp_path):
    done = download(wiki, "--json", "--threads", 1, cwd=tmp_path).succeeded().result
    assert (done["added"], done["finished"]) == (len(expected()), True)
    assert stored(tmp_path) == expected()
    told = call("download", "--status", "--json", cwd=tmp_path).succeeded().result
    n_bytes = sum(map(len, exports(4).values()))
    assert (told["files"], told["of_files"]) == (4, 4)
    assert [told[f"bytes_{what}"] for what in ("fetched", "read")] == [n_bytes, n_bytes]
    assert told["of_bytes"] == n_bytes
    said = call("download", "--status", cwd=tmp_path).succeeded().out
    assert "files: 4 of 4; 0.1 of 0.1 MB read" in said
    again = download(wiki, "--json", cwd=tmp_path).succeeded().result
    assert (again["added"], again["finished"]) == (0, True)
    assert site.n_fetches() == 4
    assert not (tmp_path / "articles" / "download" / "content").exists()


def test_the_time_left_is_told_by_bytes(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(job.threading.Thread, "start", lambda _: None)
    settings = DownloadSettings(source="content", input="enwiki")
    status = job.Status(tmp_path / "status.json", settings, ArticleStore(tmp_path / "store"))
    status.files = progress = FileProgress(lambda: now[0])
    progress.start([1000] * 3, 1, 1000)
    left = []
    for n_fetched, n_read in ((0, 0), (1000, 0), (1500, 100), (3000, 300)):
        now[0] += 10
        progress.fetched("1", n_fetched)
        if not n_read:
            progress.begin()
        progress.read_bytes = n_read
        status.look_at_files()
        status.update(7)  # articles, of which nobody knows how many there are
        left.append(status.fields["time_left"])
    # In the end, 2,700 bytes are left to read, at 15 a second since the first file was there.
    assert left == [None, 2000 * 20 / 1000, 2900 * 10 / 100, 2700 * 20 / 300]
    assert (status.fields["files"], status.fields["of_files"]) == (1, 4)
    assert (status.fields["bytes_read"], status.fields["of_bytes"]) == (1300, 4000)


def test_with_a_limit_no_file_comes_that_is_not_needed(site, wiki, tmp_path):
    download(wiki, "--limit", 1, cwd=tmp_path).succeeded()
    assert stored(tmp_path) == expected()[:1]
    assert site.n_fetches() == 1


def test_these_articles_only_and_files_that_stay(site, wiki, tmp_path):
    chosen, site.pause = (expected()[5], expected()[-1]), 0.02  # files come at the same time
    titles = tmp_path / "titles.txt"
    titles.write_text("".join(f"{article.title.replace(' ', '_')}\n" for article in chosen))
    argv = ("--titles", titles, "--keep-files", "--date", DATE, "--connections", 2)
    download(wiki, *argv, cwd=tmp_path).succeeded()
    assert stored(tmp_path) == list(chosen)
    assert len(list((tmp_path / "articles" / "files").iterdir())) == 4
    places = sorted(path.name for path in (tmp_path / "cache").rglob("pace/*"))
    assert places == [f"127.0.0.1_{urlsplit(wiki).port}{end}" for end in ("", "-2")]
    download(wiki, "--category", "No such|Albedo", "--keep-files", cwd=tmp_path).succeeded()
    assert site.n_fetches() == 4


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        ("--source content En-Wiki", "En-Wiki"),
        ("--source content enwiki", "--contact"),
        ("--source content", "--contact"),
        ("--source content --language ../x", "--language"),
        ("--source content https://a.lovelace.io/enwiki/ --connections 4", "block"),
        ("--source content https://a.lovelace.io/enwiki/ --connections 0", "--connections"),
        ("--source content enwiki --date September", "--date"),
        ("--source content enwiki --titles empty.txt", "no title"),
        ("--source content enwiki --category |", "--category"),
        ("--source random --date 2026-09-01", "--date is a setting of --source content"),
        ("--source jsonl empty.txt --titles empty.txt", "--titles is a setting"),
        ("--source dump empty.txt --keep-files", "--keep-files is a setting"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path, argv, word):
    (tmp_path / "empty.txt").write_text("\n")
    assert word in call("download", *argv.split(" "), cwd=tmp_path).failed()
    assert not (tmp_path / "articles").exists()


def test_refusals_are_one_line(site, wiki, tmp_path):
    assert f"complete is --date {DATE}" in download(
        wiki, "--date", "2026-07-01", cwd=tmp_path
    ).failed(1)


def test_a_folder_of_files_goes_the_same_way(tmp_path):
    (tmp_path / "dump").mkdir()
    for name, content in exports(4).items():
        (tmp_path / "dump" / name).write_bytes(content)
    argv = ("download", "--source", "dump", "dump", "--json")
    some = call(*argv, "--limit", 7, cwd=tmp_path).succeeded().result
    assert (some["added"], some["already_there"]) == (7, 0)
    rest = call(*argv, "--threads", 2, cwd=tmp_path).succeeded().result
    assert (rest["added"], rest["already_there"]) == (len(expected()) - 7, 7)
    told = job.DownloadJob(tmp_path / "articles").status()
    n_bytes = sum(map(len, exports(4).values()))
    assert [told[name] for name in ("files", "of_files", "bytes_read", "of_bytes")] == [
        4, 4, n_bytes, n_bytes,
    ]  # fmt: skip
    assert stored(tmp_path) == expected()
    again = call(*argv, "--limit", 9, cwd=tmp_path).succeeded().result
    assert (again["added"], again["already_there"]) == (0, 9)


def test_a_folder_is_filtered_and_of_one_wiki(tmp_path):
    (tmp_path / "dump").mkdir()
    for name, content in exports(2).items():
        (tmp_path / "dump" / name).write_bytes(content)
    chosen = [article for article in expected() if article.title.startswith("A")][:3]
    (tmp_path / "titles.txt").write_text("".join(f"{article.title}\n" for article in chosen))
    argv = ("download", "--source", "dump", "dump")
    none = call(*argv, "--category", "No such", cwd=tmp_path).succeeded()
    assert "no page has such a category" in none.err
    taken = call(*argv, "--titles", "titles.txt", cwd=tmp_path).succeeded()
    assert stored(tmp_path) == chosen
    assert "no page" not in taken.err
    none = call(*argv, "--category", "No such", cwd=tmp_path).succeeded()  # the store has others
    assert "no page has such a category" in none.err
    other = ArticleStore(tmp_path / "other")
    other.append([type(chosen[0])(1, 1, "T", "http://other.test/T", "", "en", "", "Text.")])
    assert "other.test" in call(*argv, "--output", "other", cwd=tmp_path).failed()
    (tmp_path / "empty").mkdir()
    assert "no XML export" in call("download", "--source", "dump", "empty", cwd=tmp_path).failed(3)


@pytest.mark.slow
def test_a_background_download_that_is_killed_goes_on(site, wiki, tmp_path):
    add_dump(site, exports(4, max_page=200_000))
    whole = list(articles_of(*exports(4, max_page=200_000).values()))
    site.pause = 0.1
    argv = ("download", "--source", "content", wiki, *FAST)
    for n_files in (1, 2):
        process = spawn(*argv, cwd=tmp_path)
        wait_until(partial(_is_done, tmp_path, n_files), 60, "it does not come so far")
        told = call("download", "--status", "--json", cwd=tmp_path).succeeded().result
        assert told["state"] == "running"
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert "killed" in call("download", "--status", cwd=tmp_path).succeeded().out
    call(*argv, cwd=tmp_path).succeeded()
    assert stored(tmp_path) == whole


def _is_done(directory, n_files):
    for path in (directory / "articles" / "download").glob("crawl-*.json"):
        cursor = json.loads(path.read_text())["cursor"] or {}
        return len(cursor.get("done", ())) >= n_files
    return False


@pytest.mark.slow
def test_a_download_is_stopped_while_a_file_arrives(site, wiki, tmp_path):
    add_dump(site, exports(2, max_page=200_000))
    site.pause = 0.3
    process = spawn("download", "--source", "content", wiki, *FAST, cwd=tmp_path)
    files = tmp_path / "articles" / "download" / "content"
    wait_until(partial(has_bytes, files), 60, "nothing arrives")
    began = time.monotonic()
    told = call("download", "--stop", "--json", cwd=tmp_path).succeeded().result
    assert time.monotonic() - began < 30
    assert (told["state"], told["stopped"]) == ("interrupted", True)
    assert "go on" in process.communicate()[1]
    assert process.returncode == 128 + signal.SIGTERM
    site.pause = 0.0
    call("download", "--source", "content", wiki, *FAST, cwd=tmp_path).succeeded()
    assert stored(tmp_path) == list(articles_of(*exports(2, max_page=200_000).values()))
    assert any(asked for path, asked in site.asked if path.endswith(".bz2"))
