import os
import random
import signal
import time

import pytest

from corpora import ArticleStore
from tests.downloader.fault_proxy import FAULTS, FaultProxy, Settings, check_manners
from tests.downloader.synthetic_wiki import SyntheticWiki, serving, synthetic_wiki
from tests.pipeline.support import call, finish, session_of, spawn, wait_until

N_PAGES = 300
FAST = ("--requests-per-minute", 100_000, "--patience", 0.5)


@pytest.fixture(scope="module")
def wiki():
    with serving(SyntheticWiki(N_PAGES)) as url:
        yield url


@pytest.fixture(autouse=True)
def _own_pace(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def download(api, *argv, cwd):
    return call("download", "--api", api, *FAST, *argv, cwd=cwd)


def done(outcome):
    assert outcome.code == 0, outcome.err
    return outcome.result


def ids(directory):
    store = ArticleStore(directory / "articles")
    store.verify()
    return sorted(article.page_id for article in store)


def test_random_articles_until_the_limit_and_then_to_the_end(wiki, tmp_path):
    some = done(download(wiki, "--source", "random", "--limit", 120, "--json", cwd=tmp_path))
    assert some["added"] == some["articles"] == 120
    assert not some["finished"]
    again = done(download(wiki, "--source", "random", "--limit", 120, "--json", cwd=tmp_path))
    assert again["added"] == 0
    rest = done(download(wiki, "--source", "random", "--json", cwd=tmp_path))
    assert rest["finished"]
    assert rest["added"] == N_PAGES - 120
    assert ids(tmp_path) == list(range(1, N_PAGES + 1))
    # Seven requests hold all pages; a few more list what is there.
    assert some["requests"] + again["requests"] + rest["requests"] <= 12


def test_titles_and_a_category(wiki, tmp_path):
    everything = done(download(wiki, "--source", "random", "--json", cwd=tmp_path))
    title = next(iter(ArticleStore(tmp_path / "articles"))).title
    assert everything["articles"] == N_PAGES
    (tmp_path / "titles.txt").write_text(f"# mine\n{title}\n")
    argv = ("--source", "titles", "titles.txt", "--output", "chosen")
    assert "1 articles added" in download(wiki, *argv, cwd=tmp_path).succeeded().out
    [article] = ArticleStore(tmp_path / "chosen")
    assert article.title == title
    assert "CC0" in (tmp_path / "chosen/ATTRIBUTION").read_text()


def test_the_command_says_how_long_it_takes(wiki, tmp_path):
    outcome = download(wiki, "--source", "random", "--limit", 100, cwd=tmp_path)
    assert "100 articles take 2 requests, about" in outcome.err
    told = done(call("download", "--status", "--json", cwd=tmp_path))
    assert (told["state"], told["added"]) == ("done", 100)
    assert told["requests"] >= 3
    assert told["bytes"] > 0


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        ("--source random", "--contact"),
        ("--source random --language de", "--contact"),
        ("--source random --contact me@example.com", "example"),
        ("--source random --contact a@b.org\nHost:x", "contact"),
        ("--source random --contact ada@lovelace.io --requests-per-minute 201", "200 requests"),
        ("--source random --api https://wiki.lovelace.io/wiki/", "api.php"),
        ("--source random --api ftp://wiki.lovelace.io/api.php", "api.php"),
        ("--source random --language ../../x", "--language"),
        ("--source random --input x", "--input"),
        ("--source titles", "--input"),
        ("--source category", "--input"),
        ("--source cirrus", "--input"),
        ("--source cirrus https://dumps.wikimedia.org/other/", "--contact"),
        ("--source random --depth -1", "--depth"),
        ("--source random --patience 0", "--patience"),
        ("--source random --patience nan", "--patience"),
        ("--source random --requests-per-minute 0", "--requests-per-minute"),
        ("--source random --text pdf", "--text"),
        ("--source titles a --input b", "twice"),
        ("--source dump https://dumps.wikimedia.org/x.bz2", "download https://"),
        ("--source random --api http://127.0.0.1:999999/api.php", "999999"),
        ("--source random --api http://[::1/api.php", "[::1"),
        ("--source category A|B --api http://127.0.0.1:9/api.php", "A|B"),
    ],
)
@pytest.mark.parametrize("background", [False, True])
def test_what_cannot_be_asked_for(tmp_path, argv, word, *, background):
    (tmp_path / "a").write_text("A title\n")
    listed = [part.replace("\t", " ") for part in argv.split(" ")]
    error = call("download", *listed, *(["--background"] * background), cwd=tmp_path).failed()
    assert word in error
    assert not (tmp_path / "articles").exists()


def test_a_missing_list_of_titles(tmp_path):
    assert "none.txt" in call("download", "--source", "titles", "none.txt", cwd=tmp_path).failed(3)


def test_two_wikis_do_not_mix(wiki, tmp_path):
    done(download(wiki, "--source", "random", "--limit", 10, "--json", cwd=tmp_path))
    other = wiki.replace("127.0.0.1", "localhost")
    article = next(iter(ArticleStore(tmp_path / "articles")))
    moved = ArticleStore(tmp_path / "elsewhere")
    moved.append([type(article)(1, 1, "T", "http://other.test/T", "", "en", "", "Text.")])
    error = download(
        other, "--source", "random", "--limit", 10, "--output", "elsewhere", cwd=tmp_path
    ).failed()
    assert "other.test" in error
    assert len(moved) == 1


def test_a_server_that_is_away_is_tried_again_later(tmp_path):
    with serving(SyntheticWiki(N_PAGES)) as url:
        done(download(url, "--source", "random", "--limit", 60, "--json", cwd=tmp_path))
    began = time.monotonic()
    argv = ("--source", "random", "--patience", 0.01)
    outcome = download(url, *argv, cwd=tmp_path)
    assert outcome.code == 75
    assert time.monotonic() - began < 60
    assert "try again" in outcome.error
    assert len(ids(tmp_path)) == 60
    assert done(call("download", "--status", "--json", cwd=tmp_path))["state"] == "failed"


@pytest.mark.slow
def test_faults_do_not_lose_an_article(wiki, tmp_path):
    faults = tuple(fault for fault in FAULTS if fault not in ("stall", "latency"))
    with FaultProxy(wiki, Settings(rate=0.3, seed=3, faults=faults)) as proxy:
        argv = ("download", "--api", proxy.url, "--source", "random")
        call(*argv, "--requests-per-minute", 1200, cwd=tmp_path).succeeded()
        check_manners(proxy.requests, per_second=20, per_minute=1200)
    assert ids(tmp_path) == list(range(1, N_PAGES + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "rate"), [(2, 0.0), pytest.param(100, 0.3, marks=pytest.mark.slow)]
)
def test_killed_in_the_background_and_started_again(tmp_path, kills, rate):
    rng, n_pages = random.Random(kills), max(800, 50 * kills)
    faults = tuple(fault for fault in FAULTS if fault not in ("stall", "latency"))
    served = Settings(rate=rate, faults=faults)
    with synthetic_wiki(n_pages) as wiki, FaultProxy(wiki, served) as proxy:
        argv = ("download", "--api", proxy.url, "--source", "random", *("--json", "--background"))
        pace = ("--requests-per-minute", 300)
        for _ in range(kills):
            pid = done(call(*argv, *pace, cwd=tmp_path))["pid"]
            time.sleep(rng.uniform(0, 1.2))
            for each in session_of(pid):
                os.kill(each, signal.SIGKILL)
            wait_until(lambda: not session_of(pid), 120, "it is not killed")  # noqa: B023
            told = call("download", "--status", "--json", cwd=tmp_path).succeeded()
            assert told.result["state"] in ("killed", "done")
        finish(spawn(*argv[:-1], *pace, cwd=tmp_path)).succeeded()
        check_manners(proxy.requests, per_second=5, per_minute=300, one_in_flight=False)
    assert ids(tmp_path) == list(range(1, n_pages + 1))


def test_export_and_verify(wiki, tmp_path):
    done(download(wiki, "--source", "random", "--limit", 20, "--json", cwd=tmp_path))
    for name in ("a.jsonl", "a.jsonl.gz", "a.parquet"):
        assert done(call("download", "--export", name, "--json", cwd=tmp_path))["articles"] == 20
    argv = ("download", "--source", "jsonl", "a.jsonl.gz", "--output", "copy", "--json")
    assert done(call(*argv, cwd=tmp_path))["added"] == 20
    copied, original = ArticleStore(tmp_path / "copy"), ArticleStore(tmp_path / "articles")
    assert list(copied) == list(original)
    assert done(call("download", "--verify", "--json", cwd=tmp_path))["articles"] == 20
    assert "20 articles" in call("download", "--verify", cwd=tmp_path).out
    assert ".parquet" in call("download", "--export", "a.txt", cwd=tmp_path).failed()
    shard = tmp_path / "articles/shards/000001.pkl.gz"
    shard.write_bytes(shard.read_bytes()[:-1])
    for action in (("--verify",), ("--export", "b.jsonl")):
        assert "000001" in call("download", *action, cwd=tmp_path).failed(3)
    assert not (tmp_path / "b.jsonl").exists()


def test_actions_exclude_each_other(tmp_path):
    assert call("download", "--status", "--stop", cwd=tmp_path).code == 2
