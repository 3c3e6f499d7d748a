import errno
import gzip
import hashlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError, asdict, replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import Article, ArticleStore, ArticleWriter
from corpora.articles import shard
from corpora.articles.manifest import HEADER, entry_line
from corpora.errors import CorpusFormatError, StoreLockedError, UnsupportedVersionError

PROJECT = Path(__file__).parents[3]
HOLD = """
import sys
from tests.corpora.articles.test_store import ArticleStore, article
def source():
    yield article(100)
    print("writing", flush=True)
    sys.stdin.readline()
ArticleStore(sys.argv[1]).append(source())
"""
KEEP_APPENDING = """
import sys
from tests.corpora.articles.test_store import ArticleStore, some
print("ready", flush=True)
ArticleStore(sys.argv[1], 3).append(some(0, 1800))
"""


def article(number, text=""):
    return Article(
        page_id=number,
        revision_id=number * 10,
        title=f"Title {number}",
        url=f"https://en.wikipedia.org/?oldid={number}",
        timestamp="2020-01-01T00:00:00Z",
        language="en",
        license="CC BY-SA 4.0",
        text=text or f"Text number {number}.",
    )


def some(start, stop):
    return [article(number) for number in range(start, stop)]


def stored(path, n_articles=7, shard_size=3):
    store = ArticleStore(path / "store", shard_size)
    assert store.append(some(0, n_articles)) == n_articles
    return store


def files_of(path):
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and file.name != "lock" and not file.name.startswith("keys.sqlite")
    }


def start(code, *arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **more,
    )


def test_articles_come_back_in_order_over_several_appends(tmp_path):
    store = stored(tmp_path, 7)
    assert store.append(some(7, 12)) == 5
    assert list(store) == list(ArticleStore(store.path)) == some(0, 12)
    assert (len(store), [entry.articles for entry in store.entries]) == (12, [3, 3, 1, 3, 2])
    assert store.keys() == {("en", number) for number in range(12)}
    assert list(store.read_shard(store.entries[1])) == some(3, 6)
    store.verify()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.integers(0, 20), max_size=9)), shard_size=st.integers(1, 5))
def test_any_appends_store_each_key_once_in_order_of_appearance(
    tmp_path_factory, batches, shard_size
):
    store, seen = ArticleStore(tmp_path_factory.mktemp("any") / "store", shard_size), {}
    for batch in batches:
        n_before = len(seen)
        seen.update(dict.fromkeys(batch))
        assert store.append(map(article, batch)) == len(seen) - n_before
        assert list(store) == [article(number) for number in seen]
        assert len(store) == len(seen)
    if batches:
        store.verify()


def test_page_ids_of_two_wikis_are_two_articles_and_equal_appends_equal_files(tmp_path):
    store = ArticleStore(tmp_path / "store")
    assert store.append([article(1), replace(article(1), language="de"), article(1)]) == 2
    store.verify()
    one, other = stored(tmp_path / "one"), stored(tmp_path / "other")
    assert files_of(one.path) == files_of(other.path)


def test_what_is_on_disk(tmp_path):
    store = stored(tmp_path, 4)
    assert set(files_of(store.path)) == {
        *("ATTRIBUTION", "manifest.jsonl", "shards/000001.pkl.gz", "shards/000002.pkl.gz")
    }
    header, *lines = map(json.loads, (store.path / "manifest.jsonl").read_text().splitlines())
    assert header == {"format": "wikitopics article store", "version": 1}
    assert [list(line) for line in lines] == [["shard", "articles", "bytes", "sha256", "check"]] * 2
    check = ""
    for line, entry in zip(lines, store.entries, strict=True):
        check = hashlib.sha256((check + json.dumps(asdict(entry))).encode()).hexdigest()[:16]
        assert line == asdict(entry) | {"check": check}
    with pytest.raises(FrozenInstanceError):
        store.entries[0].articles = 5


def test_an_append_of_nothing_makes_an_empty_store(tmp_path):
    store = ArticleStore(tmp_path / "deep" / "store")
    assert store.append([]) == 0
    assert store.exists
    assert (list(store), len(store)) == ([], 0)
    store.verify()


def test_iteration_opens_one_shard_at_a_time(tmp_path):
    store = stored(tmp_path)
    (store.path / "shards" / "000002.pkl.gz").unlink()
    reading = iter(store)
    assert list(islice(reading, 3)) == some(0, 3)
    with pytest.raises(CorpusFormatError, match=r"000002\.pkl\.gz: the shard is missing"):
        next(reading)


def test_a_reader_sees_what_was_stored_when_it_began(tmp_path):
    store = stored(tmp_path)
    reading = iter(store)
    next(reading)
    seen_while_writing = []

    def source():
        for one in some(7, 14):
            seen_while_writing.append(len(list(ArticleStore(store.path))))
            yield one

    store.append(source())
    assert (len(list(reading)), seen_while_writing) == (6, [7, 7, 7, 10, 10, 10, 13])


def test_the_source_is_consumed_lazily(tmp_path):
    store = ArticleStore(tmp_path / "store", shard_size=2)

    def source():
        for number in range(6):
            assert not store.exists or len(store) == number // 2 * 2
            yield article(number)

    assert store.append(source()) == 6


def test_making_the_object_does_not_touch_the_disk(tmp_path):
    assert not ArticleStore(tmp_path / "store").exists
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="shard_size must be at least 1, not 0"):
        ArticleStore(tmp_path, shard_size=0)


@pytest.mark.parametrize(
    "reading", [list, len, ArticleStore.verify, ArticleStore.keys, lambda store: store.entries]
)
def test_reading_what_is_no_store_says_how_to_make_one(tmp_path, reading):
    (tmp_path / "file").touch()
    for path in (tmp_path / "absent", tmp_path, tmp_path / "file"):
        with pytest.raises(CorpusFormatError, match=rf"no article store at {path}: make one with"):
            reading(ArticleStore(path))
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_someone_elses_directory_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(CorpusFormatError, match=r"holds thesis\.tex but no manifest\.jsonl"):
        ArticleStore(tmp_path).append(some(0, 3))
    with pytest.raises(CorpusFormatError, match="is a file; an article store is a directory"):
        ArticleStore(tmp_path / "thesis.tex").append(some(0, 3))
    assert files_of(tmp_path) == {"thesis.tex": b"dear"}
    assert not (tmp_path / "lock").exists()


def test_a_store_that_lost_its_manifest_is_not_written_over(tmp_path):
    store = stored(tmp_path)
    (store.path / "manifest.jsonl").unlink()
    before = files_of(store.path)
    with pytest.raises(CorpusFormatError, match="holds shards but no manifest"):
        store.append(some(0, 3))
    assert files_of(store.path) == before


def test_an_empty_directory_and_one_of_a_writer_killed_at_once_are_taken(tmp_path):
    store = ArticleStore(tmp_path)
    (tmp_path / "lock").write_text("123\n")
    (tmp_path / ".manifest.jsonl.0badcafe.partial").write_text('{"form')
    assert store.append(some(0, 3)) == 3
    assert set(files_of(tmp_path)) == {"ATTRIBUTION", "manifest.jsonl", "shards/000001.pkl.gz"}


def test_any_changed_byte_of_the_manifest_is_noticed(tmp_path):
    store = stored(tmp_path)
    manifest = store.path / "manifest.jsonl"
    whole = manifest.read_bytes()
    for position in range(len(whole)):
        for mask in (0x01, 0x0A ^ 0x20, 0x80, 0xFF):
            damaged = bytearray(whole)
            damaged[position] ^= mask
            manifest.write_bytes(damaged)
            with pytest.raises(CorpusFormatError, match=r"manifest\.jsonl"):
                store.verify()
    manifest.write_bytes(whole)
    store.verify()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_of_a_shard_is_noticed(tmp_path_factory, data):
    store = ArticleStore(tmp_path_factory.getbasetemp() / "changed shard", shard_size=3)
    store.append(some(0, 5))
    shard = store.path / "shards" / data.draw(st.sampled_from(store.entries)).shard
    whole = shard.read_bytes()
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        shard.write_bytes(damaged)
        with pytest.raises(CorpusFormatError, match=rf"{shard.name}: the shard is damaged: exp"):
            store.verify()
        with pytest.raises(CorpusFormatError, match=r"expected SHA-256 \w{64}, found \w{64}"):
            list(store)
    finally:
        shard.write_bytes(whole)


def test_a_truncated_manifest_is_reported_or_loses_the_last_shards_only(tmp_path):
    store = stored(tmp_path)
    manifest = store.path / "manifest.jsonl"
    whole = manifest.read_bytes()
    for size in range(len(whole)):
        manifest.write_bytes(whole[:size])
        n_lines = whole[:size].count(b"\n")
        if n_lines == 0:
            with pytest.raises(CorpusFormatError, match=r"manifest\.jsonl, line 1"):
                store.verify()
        else:
            store.verify()
            assert list(store) == some(0, 3 * (n_lines - 1))


def test_a_torn_last_line_is_replaced_by_the_next_writer(tmp_path):
    store = stored(tmp_path)
    manifest, before = store.path / "manifest.jsonl", files_of(store.path)
    whole = before["manifest.jsonl"]
    start_of_last = whole.rindex(b"\n", 0, -1) + 1
    sizes = [*range(start_of_last, len(whole), 7), len(whole) - 1]
    torn = [whole[:size] for size in sizes]
    for each in [*torn, whole[:start_of_last] + b"longer than the next line" * 50]:
        manifest.write_bytes(each)
        assert store.append(some(0, 7)) == 1
        assert files_of(store.path) == before


@pytest.mark.parametrize("change", ["drop", "swap", "repeat"])
def test_dropped_and_reordered_lines_are_noticed(tmp_path, change):
    store = stored(tmp_path)
    manifest = store.path / "manifest.jsonl"
    header, first, second, third = manifest.read_text().splitlines(keepends=True)
    lines = {
        "drop": [header, first, third],
        "swap": [header, second, first, third],
        "repeat": [header, first, first, second, third],
    }[change]
    manifest.write_text("".join(lines))
    line = 2 if change == "swap" else 3
    for reading in (list, len, ArticleStore.verify, lambda store: store.append([])):
        with pytest.raises(CorpusFormatError, match=rf"manifest\.jsonl, line {line}"):
            reading(store)


def test_a_line_and_shard_of_another_store_are_noticed(tmp_path):
    store, other = stored(tmp_path / "one"), ArticleStore(tmp_path / "other", 3)
    other.append(some(20, 27))
    shard = "shards/000002.pkl.gz"
    (store.path / shard).write_bytes((other.path / shard).read_bytes())
    lines = (store.path / "manifest.jsonl").read_text().splitlines(keepends=True)
    lines[2] = (other.path / "manifest.jsonl").read_text().splitlines(keepends=True)[2]
    (store.path / "manifest.jsonl").write_text("".join(lines))
    with pytest.raises(CorpusFormatError, match=r"manifest\.jsonl, line 3"):
        store.verify()


def rewrite_manifest(store, *changes):
    lines, check = [HEADER], ""
    for entry, change in zip(store.entries, changes, strict=True):
        line, check = entry_line(replace(entry, **change), check)
        lines.append(line)
    (store.path / "manifest.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.mark.parametrize(
    "change",
    [
        *({"shard": "../../secret"}, {"shard": "000002.pkl.gz"}, {"shard": 1}, {"articles": 0}),
        *({"articles": True}, {"articles": 3.0}, {"bytes": "100"}, {"sha256": None}),
        {"sha256": [[]]},
    ],
)
def test_entries_that_make_no_sense_are_refused(tmp_path, change):
    store = stored(tmp_path)
    rewrite_manifest(store, change, {}, {})
    with pytest.raises(CorpusFormatError, match=r"manifest\.jsonl, line 2"):
        len(store)


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{}", b"5", b"nonsense", b"\xff", b"\0" * 40, b"[" * 100_000]
)
def test_lines_that_are_no_entries_are_refused(tmp_path, line):
    store = stored(tmp_path)
    with (store.path / "manifest.jsonl").open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(CorpusFormatError, match=r"manifest\.jsonl, line 5"):
        len(store)


def test_verify_counts_the_articles(tmp_path):
    store = stored(tmp_path)
    rewrite_manifest(store, {}, {"articles": 2}, {})
    with pytest.raises(CorpusFormatError, match=r"000002\.pkl\.gz: expected 2 articles .* found 3"):
        store.verify()


def test_verify_finds_articles_stored_twice(tmp_path):
    store = stored(tmp_path)
    shards = store.path / "shards"
    (shards / "000003.pkl.gz").write_bytes((shards / "000001.pkl.gz").read_bytes())
    rewrite_manifest(store, {}, {}, asdict(store.entries[0]) | {"shard": "000003.pkl.gz"})
    with pytest.raises(
        CorpusFormatError,
        match=r"en:0 is stored twice, in shard 000001\.pkl\.gz and in shard 000003\.pkl\.gz",
    ):
        store.verify()


def test_verify_reads_the_articles_and_never_runs_them(tmp_path):
    """A hostile shard whose hash and line are in order, because its maker wrote those too."""
    ran, store = tmp_path / "ran", stored(tmp_path)
    content = gzip.decompress((store.path / "shards" / "000003.pkl.gz").read_bytes())
    header = content[: content.index(b".", content.index(b"keys")) + 1]
    command = f"touch {ran}".encode()
    attack = b"cos\nsystem\n(X" + len(command).to_bytes(4, "little") + command + b"tR."
    pickle.loads(attack)
    ran.unlink()
    data = gzip.compress(header + attack)
    (store.path / "shards" / "000003.pkl.gz").write_bytes(data)
    rewrite_manifest(
        store, {}, {}, {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    )
    for reading in (ArticleStore.verify, list):
        with pytest.raises(CorpusFormatError, match=r"000003\.pkl\.gz.*os\.system"):
            reading(store)
    assert not ran.exists()


def test_a_newer_store_asks_for_an_upgrade(tmp_path):
    store = stored(tmp_path)
    manifest = store.path / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 2'))
    before = files_of(store.path)
    for using in (list, lambda store: store.append(some(7, 9))):
        with pytest.raises(UnsupportedVersionError, match="newer wikitopics; upgrade"):
            using(store)
    assert files_of(store.path) == before


def test_a_store_with_newer_shards_asks_for_an_upgrade(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(shard, "WITHOUT_COLUMNS", 4)
        ArticleStore(tmp_path / "store").append(some(0, 3))
    with pytest.raises(UnsupportedVersionError, match=r"000001\.pkl\.gz was written by a newer"):
        list(ArticleStore(tmp_path / "store"))


def test_a_store_of_an_older_version_is_read_and_appended_to(tmp_path):
    """It was made before articles of wikis had columns; its second shard is of rows."""
    path = tmp_path / "store"
    shutil.copytree(Path(__file__).parent / "old_store", path)
    before = files_of(path)
    store = ArticleStore(path, shard_size=2)
    store.verify()
    assert [(a.document_id, dict(a.columns)) for a in store] == [
        ("en:1", {}),
        ("en:2", {}),
        ("en:3", {"stars": 4, "when": "2020-01-02", "price": 1.5, "sold": True, "none": None}),
    ]
    new = replace(next(iter(store)), page_id=4, columns={"categories": ("A", "B"), "length": 9})
    assert store.append([replace(new, page_id=2), new]) == 1
    store.verify()
    assert list(store)[3:] == [new]
    after = files_of(path)
    assert after["manifest.jsonl"].startswith(before.pop("manifest.jsonl"))
    assert {name: content for name, content in after.items() if name in before} == before


def test_what_has_gathered_is_committed_when_the_source_raises(tmp_path):
    for error in (KeyboardInterrupt, RuntimeError, SystemExit):
        store = ArticleStore(tmp_path / error.__name__, shard_size=3)

        def source(error=error):
            yield from some(0, 5)
            raise error

        with pytest.raises(error):
            store.append(source())
        assert list(store) == some(0, 5)
        assert store.append(some(0, 7)) == 2
        store.verify()


def test_an_article_that_cannot_be_stored_leaves_the_others(tmp_path):
    store = ArticleStore(tmp_path / "store")
    with pytest.raises(ValueError, match="cannot be stored: its title is of type NoneType"):
        store.append([*some(0, 5), replace(article(5), title=None)])
    assert list(store) == some(0, 5)


@pytest.mark.parametrize("step", ["before", "shard", "line", "after"])
def test_an_interrupt_inside_a_commit_neither_loses_nor_doubles(tmp_path, monkeypatch, step):
    store = ArticleStore(tmp_path / "store", shard_size=3)
    store_shard, fsync = ArticleWriter._store, os.fsync
    interrupts = iter([False, True, False, False])

    def interrupt_once():
        if next(interrupts):
            raise KeyboardInterrupt

    def interrupted_commit(*arguments):
        if step == "before":
            interrupt_once()
        result = store_shard(*arguments)
        if step == "after":
            interrupt_once()
        return result

    def interrupted_fsync(descriptor):
        fsync(descriptor)
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        if (name.startswith(".0000") and step == "shard") or (
            name == "manifest.jsonl" and step == "line"
        ):
            interrupt_once()

    monkeypatch.setattr(ArticleWriter, "_store", interrupted_commit)
    monkeypatch.setattr(os, "fsync", interrupted_fsync)
    with pytest.raises(KeyboardInterrupt):
        store.append(some(0, 20))
    monkeypatch.undo()
    assert list(store) == some(0, 6)
    store.verify()
    assert store.append(some(0, 20)) == 14


def test_a_shard_without_a_line_is_ignored_and_written_anew(tmp_path, monkeypatch):
    whole, store = stored(tmp_path / "whole"), stored(tmp_path, 6)
    shards = store.path / "shards"
    (shards / "000003.pkl.gz").write_bytes(b"whatever")
    (shards / ".000004.pkl.gz.12345678.partial").write_bytes(b"what")
    store.verify()
    assert list(store) == some(0, 6)
    assert store.append(some(0, 7)) == 1
    assert files_of(store.path) == files_of(whole.path)


@pytest.mark.parametrize(("file", "n_stored"), [(".000003.pkl.gz", 6), ("manifest.jsonl", 9)])
def test_a_full_disk_leaves_what_was_committed(tmp_path, monkeypatch, file, n_stored):
    store, fsync = stored(tmp_path, 6), os.fsync

    def full(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().name.startswith(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.append(some(0, 12))
    assert list(store) == some(0, n_stored)
    monkeypatch.undo()
    store.verify()
    assert store.append(some(0, 12)) == 12 - n_stored
    assert files_of(store.path) == files_of(stored(tmp_path / "whole", 12).path)


def test_a_write_that_the_system_really_refuses(tmp_path):
    """Files are limited to a size that the long articles' shard is over, halfway through it."""
    resource = pytest.importorskip("resource")
    code = """
import random, resource, sys
from tests.corpora.articles.test_store import ArticleStore, article, some
noise = "".join(random.choices("abcdefghijklmnop", k=50_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    ArticleStore(sys.argv[1], 3).append([*some(0, 6), article(6, noise)])
except OSError as error:
    print(error)
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    output, _ = start(code, tmp_path / "store").communicate()
    assert "File too large" in output
    store = ArticleStore(tmp_path / "store", 3)
    store.verify()
    assert list(store) == some(0, 6)
    assert not list((store.path / "shards").glob(".*"))
    assert store.append(some(0, 7)) == 1
    store.verify()


def test_a_manifest_line_that_the_system_really_cuts_short(tmp_path):
    pytest.importorskip("resource")
    whole = stored(tmp_path / "whole", 60, shard_size=1)
    limit = len(files_of(whole.path)["manifest.jsonl"]) - 50
    code = """
import resource, sys
from tests.corpora.articles.test_store import ArticleStore, some
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    ArticleStore(sys.argv[1], 1).append(some(0, 60))
except OSError as error:
    print(error)
"""
    output, _ = start(code, tmp_path / "store", limit).communicate()
    assert "File too large" in output
    store = ArticleStore(tmp_path / "store", 1)
    assert (store.path / "manifest.jsonl").stat().st_size == limit
    store.verify()
    assert list(store) == some(0, 59)
    assert store.append(some(0, 60)) == 1
    assert files_of(store.path) == files_of(whole.path)


def test_a_second_writer_is_told_who_the_first_one_is(tmp_path):
    store = stored(tmp_path)
    with start(HOLD, store.path) as holder:
        assert holder.stdout.readline() == "writing\n"
        untouched = iter(some(7, 9))
        with pytest.raises(StoreLockedError, match=rf"written to by process {holder.pid};"):
            store.append(untouched)
        assert next(untouched) == article(7)
        assert list(store) == some(0, 7), "readers do not need the lock"
        holder.communicate("\n")
    assert store.append(some(7, 9)) == 2
    assert list(store) == [*some(0, 7), article(100), *some(7, 9)]


def test_a_killed_writer_leaves_no_lock(tmp_path):
    store = stored(tmp_path)
    with start(HOLD, store.path) as holder:
        assert holder.stdout.readline() == "writing\n"
        holder.kill()
    assert store.append(some(7, 9)) == 2


def test_an_append_inside_an_append_is_refused(tmp_path):
    store = ArticleStore(tmp_path / "store")

    def source():
        yield article(1)
        store.append([article(2)])

    with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
        store.append(source())
    assert list(store) == [article(1)]


@pytest.mark.slow
def test_a_writer_killed_again_and_again_ends_at_the_same_bytes(tmp_path):
    store = ArticleStore(tmp_path / "store", 3)
    manifest, rng = store.path / "manifest.jsonl", random.Random(5)
    n_stored = 0
    for attempt in range(8):
        size = manifest.stat().st_size if store.exists else 0
        with start(KEEP_APPENDING, store.path) as writer:
            writer.stdout.readline()
            # Every other one while it makes or opens the store, the others while they append.
            while (
                writer.poll() is None
                and attempt % 2
                and (not store.exists or manifest.stat().st_size <= size)
            ):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.03))
            writer.kill()
        if store.exists:
            store.verify()
            assert list(store) == some(0, len(store))
            assert n_stored + attempt % 2 <= len(store)
            n_stored = len(store)
    assert 0 < n_stored < 1800, "they were killed in the midst of their work"
    store.append(some(0, 1800))
    store.verify()
    whole = stored(tmp_path / "whole", 1800)
    assert files_of(store.path) == files_of(whole.path)
