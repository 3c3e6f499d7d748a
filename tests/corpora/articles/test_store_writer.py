import os
import random
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from corpora import ArticleStore, CorpusFormatError, StoreLockedError
from corpora.articles import writer as writer_module
from tests.corpora.articles.test_store import PROJECT, article, files_of, some, start, stored

# When it commits

KEEP_WRITING = """
import sys
from tests.corpora.articles.test_store import ArticleStore, article
with ArticleStore(sys.argv[1], 3).writer() as writer:
    for one in map(article, range(1_000_000)):
        writer.add(one)
        if writer.n_pending == 5:
            writer.commit()
            print(one.page_id + 1, flush=True)
"""
KILLED_THERE = """
import os, signal, sys
from corpora.articles import key_index, manifest, writer
from tests.corpora.articles.test_store import ArticleStore, some
where, number = sys.argv[2], int(sys.argv[3])
owner, name = {
    "before the index": (key_index.KeyIndex, "add"),
    "inside the index": (key_index, "_row"),
    "before the manifest": (writer, "append_entry"),
    "before the shard": (writer, "atomic_write"),
    "before attribution": (writer.ArticleWriter, "_attribute"),
}[where]
former = getattr(owner, name)
def fatal(*arguments):
    global number
    number -= 1
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return former(*arguments)
setattr(owner, name, fatal)
ArticleStore(sys.argv[1], 3).append(some(0, 60))
"""


def test_nothing_is_stored_before_the_commit(tmp_path):
    store = ArticleStore(tmp_path / "store", shard_size=3)
    with store.writer() as writer:
        assert (writer.n_pending, writer.pending_since, writer.n_added) == (0, None, 0)
        before = time.monotonic()
        assert all(map(writer.add, some(0, 7)))
        assert before <= writer.pending_since <= time.monotonic()
        assert (writer.n_pending, len(store)) == (7, 0)
        assert not any(map(writer.add, some(0, 7)))
        assert not list((store.path / "shards").iterdir())
        writer.commit()
        assert (writer.n_pending, writer.pending_since, writer.n_added) == (0, None, 7)
        assert [entry.articles for entry in store.entries] == [3, 3, 1]
        assert not any(map(writer.add, some(0, 7)))
        assert (writer.n_pending, writer.pending_since) == (0, None)
        writer.commit()
        assert len(store.entries) == 3
        assert writer.add(article(7))
    assert list(store) == some(0, 8)
    assert writer.n_added == 8
    store.verify()


def test_what_it_has(tmp_path):
    with stored(tmp_path).writer() as writer:
        assert writer.has("en", 0)
        assert not writer.has("de", 0)
        assert not writer.has("en", 7)
        writer.add(article(7))
        assert writer.has("en", 7)
        for no_id in (2**63, -(2**63) - 1, 10**30):
            assert not writer.has("en", no_id)


def test_an_article_that_cannot_be_stored_ends_nothing(tmp_path):
    store = ArticleStore(tmp_path / "store")
    bad = (
        *(replace(article(1), title=None), replace(article(1), text="x" * 2**24)),
        *(replace(article(1), page_id=2**63), replace(article(1), language=["en"])),
    )
    with store.writer() as writer:
        for one in bad:
            with pytest.raises(CorpusFormatError, match="cannot be stored"):
                writer.add(one)
        assert writer.n_pending == 0
        assert writer.add(article(1))
    assert list(store) == [article(1)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_leaving_by_an_error_commits(tmp_path, error):
    store = ArticleStore(tmp_path / "store", 3)
    with pytest.raises(error), store.writer() as writer:  # noqa: PT012
        for one in some(0, 5):
            writer.add(one)
        raise error
    assert list(store) == some(0, 5)


def test_it_is_the_only_one_and_ends_with_its_block(tmp_path):
    store = ArticleStore(tmp_path / "store")
    with (
        store.writer() as writer,
        pytest.raises(StoreLockedError, match=f"process {os.getpid()}"),
        store.writer(),
    ):
        pass
    for using in (lambda: writer.add(article(1)), lambda: writer.has("en", 1), writer.commit):
        with pytest.raises(RuntimeError, match="this writer is closed"):
            using()
    writer.close()
    assert len(store) == 0


def test_append_and_writer_make_the_same_files(tmp_path):
    whole, store = stored(tmp_path / "whole"), ArticleStore(tmp_path / "store", 3)
    with store.writer() as writer:
        for one in some(0, 7):
            writer.add(one)
    assert files_of(store.path) == files_of(whole.path)


@pytest.mark.parametrize(
    "left",
    [
        ("lock", ".manifest.jsonl.0badcafe.partial"),
        ("keys.sqlite", "keys.sqlite-wal", "keys.sqlite-journal", "keys.sqlite-shm"),
        ("ATTRIBUTION", ".ATTRIBUTION.0badcafe.partial"),
    ],
)
def test_what_a_killed_first_writer_leaves_is_taken(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text("half a th")
    (tmp_path / "download").mkdir()
    (tmp_path / "download" / "status.json").write_text("{}")
    store = ArticleStore(tmp_path, 3)
    assert store.append(some(0, 3)) == 3
    store.verify()
    assert set(files_of(tmp_path)) == {
        *("ATTRIBUTION", "manifest.jsonl", "shards/000001.pkl.gz", "download/status.json")
    }


@pytest.mark.parametrize("name", ["download", "Download", "keys.sql", "ATTRIBUTION.txt"])
def test_other_files_are_not(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(CorpusFormatError, match=rf"holds {name} but no manifest"):
        ArticleStore(tmp_path).append(some(0, 3))
    assert files_of(tmp_path) == {name: b"mine"}


def test_a_missing_or_shortened_shard_is_noticed_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "CHECKED_BYTES", 1)  # as of a large store, the newest alone
    store = stored(tmp_path)
    first = store.path / "shards" / "000001.pkl.gz"
    whole, untouched = first.read_bytes(), iter(some(7, 9))
    for damaged, found in ((whole[:-1], "expected bytes"), (whole + b"x", "expected bytes")):
        first.write_bytes(damaged)
        with pytest.raises(CorpusFormatError, match=rf"000001\.pkl\.gz: .*{found}"):
            store.append(untouched)
    first.unlink()
    with pytest.raises(CorpusFormatError, match=r"000001\.pkl\.gz: the shard is missing"):
        store.append(untouched)
    first.write_bytes(whole)
    last = store.path / "shards" / "000003.pkl.gz"
    last.write_bytes(last.read_bytes()[:-1] + b"x")
    with pytest.raises(CorpusFormatError, match=r"000003\.pkl\.gz: .*expected SHA-256"):
        store.append(untouched)
    assert next(untouched) == article(7)


def test_a_store_without_index_and_attribution_gets_them(tmp_path):
    store = stored(tmp_path)
    whole = files_of(store.path)
    for name in ("keys.sqlite", "ATTRIBUTION"):
        (store.path / name).unlink()
    store.verify()
    assert store.append(some(0, 7)) == 0
    assert files_of(store.path) == whole
    assert (store.path / "keys.sqlite").exists()


def test_readers_of_a_copy_need_manifest_and_shards_only(tmp_path):
    store = stored(tmp_path)
    for name in ("keys.sqlite", "ATTRIBUTION", "lock"):
        (store.path / name).unlink()
    for path in (store.path, store.path / "shards"):
        path.chmod(0o555)
    before = sorted(store.path.rglob("*"))
    assert list(store) == some(0, 7)
    assert (len(store), len(store.keys()), store.sites()) == (7, 7, set())
    store.verify()
    assert sorted(store.path.rglob("*")) == before


def test_old_compression_is_read_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.articles.shard.LEVEL", 6)
    store = ArticleStore(tmp_path / "store", 3)
    long = [replace(one, text=" ".join(map(str, range(3000)))) for one in some(0, 3)]
    store.append(long)
    monkeypatch.undo()
    store.append(replace(one, page_id=one.page_id + 3) for one in long)
    first, second = store.entries
    assert first.bytes != second.bytes
    store.verify()


class Interrupter:
    FILES = frozenset(
        str(PROJECT / "corpora" / name)
        for name in (
            *(f"articles/{part}.py" for part in ("writer", "key_index", "manifest", "attribution")),
            "files.py",
        )
    )

    def __init__(self, line):
        self.left = line

    def trace(self, frame, event, _):
        if frame.f_code.co_filename not in self.FILES:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.trace

    @contextmanager
    def at_work(self):
        former = sys.gettrace()  # coverage's
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(former)


def append_stubbornly(store, articles, line):
    """Add `articles`, taking no for an answer when interrupted; whether there was an interrupt."""
    interrupter = Interrupter(line)
    with interrupter.at_work(), store.writer() as writer:
        for one in articles:
            for _ in range(2):
                try:
                    writer.add(one)
                    if writer.n_pending >= 4:
                        writer.commit()
                    break
                except KeyboardInterrupt:
                    continue
    return interrupter.left <= 0


def interrupted_at(lines, tmp_path):
    """Check a store after an interrupt at each of these lines; returns how many there were."""
    articles = [replace(article(n), language="de" if n % 3 else "en") for n in range(10)]
    for line in lines:
        store = ArticleStore(tmp_path / str(line), shard_size=3)
        try:
            if not append_stubbornly(store, articles, line):
                return line
        except KeyboardInterrupt:  # while it opened or closed the store
            if store.exists:
                store.verify()
                assert list(store) == articles[: len(store)]
        store.append(articles)
        assert list(store) == articles, line
        store.verify()
        with store.writer() as writer:
            assert not any(map(writer.add, articles))
        assert len(store.sites()) == 2
    return lines.stop


def test_interrupted_at_some_lines(tmp_path):
    interrupted_at(range(random.Random(3).randrange(1, 40), 900, 61), tmp_path)


@pytest.mark.slow
def test_interrupted_at_every_line(tmp_path):
    assert 300 < interrupted_at(range(1, 10_000), tmp_path) < 10_000


def check_what_is_left(store, at_least):
    store.verify()
    n_stored = len(store)
    assert n_stored >= at_least, "what a commit returned from is stored"
    assert list(store) == some(0, n_stored)
    with store.writer() as writer:
        assert all(writer.has("en", number) for number in range(n_stored))
        assert not any(writer.has("en", number) for number in range(n_stored, n_stored + 10))
    assert len(store) == n_stored
    assert not [*store.path.rglob("*.partial"), *store.path.glob("keys.sqlite-*")]
    sites = {("en", "https://en.wikipedia.org")}  # told before the first article is stored
    assert store.sites() == sites or (not n_stored and not store.sites())
    return n_stored


def killed_again_and_again(path, times, seed):
    store, rng = ArticleStore(path / "store", 3), random.Random(seed)
    n_stored = 0
    for _ in range(times):
        with start(KEEP_WRITING, store.path) as process:
            told = [process.stdout.readline()]  # it is at work
            time.sleep(rng.uniform(0, 0.15))
            process.kill()
            told += process.stdout.readlines()
        whole = [int(line) for line in told if line.endswith("\n")]
        n_before, n_stored = n_stored, check_what_is_left(store, whole[-1])
        assert n_stored > n_before


def test_killed_a_few_times(tmp_path):
    killed_again_and_again(tmp_path, 3, seed=1)


@pytest.mark.slow
def test_killed_many_times(tmp_path):
    killed_again_and_again(tmp_path, 60, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "number"),
    [
        ("before the index", 2),
        ("inside the index", 4),
        ("before the manifest", 2),
        ("before attribution", 1),
        pytest.param("before the index", 1, marks=pytest.mark.slow),
        pytest.param("inside the index", 5, marks=pytest.mark.slow),
        pytest.param("before the manifest", 1, marks=pytest.mark.slow),
        pytest.param("before the shard", 1, marks=pytest.mark.slow),
        pytest.param("before the shard", 2, marks=pytest.mark.slow),
    ],
)
def test_killed_there(tmp_path, where, number):
    with start(KILLED_THERE, tmp_path / "store", where, number) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    store = ArticleStore(tmp_path / "store", 3)
    check_what_is_left(store, 0)
    store.append(some(0, 60))
    store.verify()
    assert files_of(store.path) == files_of(stored(tmp_path / "whole", 60).path)
