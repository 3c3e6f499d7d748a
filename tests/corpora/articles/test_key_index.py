"""The index may be anything, or nothing: the manifest and the shards decide what a store has."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.articles import key_index
from corpora.articles.article import Article
from corpora.articles.key_index import KeyIndex
from corpora.articles.manifest import START, ShardEntry, Tail, read_manifest
from corpora.articles.shard_file import stored_keys
from corpora.articles.store import ArticleStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = [("en", number) for number in (5, 1, 2**63 - 1, -(2**63), -7, 0)] + [
    ("de", 5),
    ("\ud800", 1),
    ("", 1),
]
UNKNOWN = [("en", 2), ("fr", 5), ("\ud801", 1), ("de", -5)]


def article(language: str, page_id: int) -> Article:
    return Article(page_id, 0, "T", "https://x.org/T", "", language, "CC0", "A text.")


def some(start: int, stop: int) -> list[Article]:
    return [article("en", number) for number in range(start, stop)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    ArticleStore(path, 2).append([article(*key) for key in KEYS])
    return path


@pytest.fixture
def store(template: Path, tmp_path: Path) -> ArticleStore:
    """Five shards of two articles at most, and the index."""
    shutil.copytree(template, tmp_path / "store")
    return ArticleStore(tmp_path / "store", 2)


def shards_read(store: ArticleStore) -> list[str]:
    """The shards that have to be read for their keys when the store is opened for writing."""
    read: list[str] = []

    def keys_of(entry: ShardEntry) -> list[tuple[str, int]]:
        read.append(entry.shard)
        return stored_keys(store.path, entry)

    path = store.path / "manifest.jsonl"
    tail = START
    for _, tail in read_manifest(path):  # noqa: B007
        pass
    index = KeyIndex(store.path / key_index.FILE, tail, lambda: read_manifest(path), keys_of)
    try:
        stored = store.keys()
        for key in stored:
            assert index.has(key), key
        for key in UNKNOWN:
            assert not index.has(key), key
    finally:
        index.close()
    return read


ALL = [f"00000{number}.pkl.gz" for number in range(1, 6)]


def test_an_index_that_is_there_spares_reading_the_shards(store: ArticleStore) -> None:
    assert shards_read(store) == []
    assert {path.name for path in store.path.iterdir()} == {
        *("ATTRIBUTION", "keys.sqlite", "lock", "manifest.jsonl", "shards")
    }


def test_a_deleted_index_is_made_anew(store: ArticleStore) -> None:
    (store.path / "keys.sqlite").unlink()
    assert shards_read(store) == ALL
    assert shards_read(store) == []


def test_one_that_lags_behind_catches_up(store: ArticleStore) -> None:
    former = store.path.parent / "former"
    shutil.copy(store.path / "keys.sqlite", former)
    store.append(some(10, 13))
    shutil.copy(former, store.path / "keys.sqlite")
    assert shards_read(store) == ["000006.pkl.gz", "000007.pkl.gz"]
    assert shards_read(store) == []
    assert store.append(some(10, 13)) == 0


def test_one_of_a_later_state_is_made_anew(store: ArticleStore) -> None:
    manifest = store.path / "manifest.jsonl"
    whole = manifest.read_bytes()
    store.append(some(10, 13))
    manifest.write_bytes(whole)
    assert shards_read(store) == ALL
    assert store.append(some(10, 13)) == 3
    store.verify()


def test_one_of_another_store_is_made_anew(store: ArticleStore, tmp_path: Path) -> None:
    other = ArticleStore(tmp_path / "other", 2)
    other.append(some(100, 109))
    assert len(other.entries) == len(store.entries)
    shutil.copy(other.path / "keys.sqlite", store.path)
    assert shards_read(store) == ALL


@pytest.mark.parametrize(
    ("size", "suffix"),
    [(0, ""), (1, ""), (100, ""), (9999, ""), (0, "-wal"), (5000, "-wal"), (600, "-journal")],
)
def test_junk_in_place_of_it(store: ArticleStore, size: int, suffix: str) -> None:
    path = store.path / f"keys.sqlite{suffix}"
    path.write_bytes(os.urandom(size))
    assert shards_read(store) in ([], ALL)
    assert shards_read(store) == []
    assert store.append([article(*key) for key in [*KEYS, *UNKNOWN]]) == len(UNKNOWN)
    store.verify()


@pytest.mark.parametrize(
    "change",
    [
        "PRAGMA user_version = 2",
        "PRAGMA application_id = 5",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM keys; END",
        "DROP TABLE totals",
        "DROP TABLE keys",
        "DELETE FROM position",
        "INSERT INTO position SELECT * FROM position",
        "UPDATE position SET n_shards = 'x'",
        "UPDATE position SET n_shards = -1",
        "UPDATE position SET n_shards = NULL",
        "UPDATE position SET n_shards = 3",
        "UPDATE position SET n_shards = 9223372036854775807",
        "UPDATE position SET manifest_check = 'abc'",
        "DELETE FROM keys WHERE page_id = 5",
        "UPDATE keys SET page_id = 2 WHERE page_id = 1",
        "UPDATE keys SET language = 'fr' WHERE page_id = -7",
        "DELETE FROM totals",
        "UPDATE totals SET n = n + 1",
        "UPDATE totals SET n = 'x'",
        "INSERT INTO totals VALUES ('fr', 0, 0)",
    ],
)
def test_what_others_changed_in_it(store: ArticleStore, change: str) -> None:
    with sqlite3.connect(store.path / "keys.sqlite") as db:
        db.execute(change)
    db.close()
    assert shards_read(store) == ALL
    assert shards_read(store) == []


def test_a_database_of_something_else_is_replaced(store: ArticleStore) -> None:
    (store.path / "keys.sqlite").unlink()
    with sqlite3.connect(store.path / "keys.sqlite") as db:
        db.execute("CREATE TABLE recipes (name)")
    db.close()
    assert shards_read(store) == ALL


def test_one_that_another_program_holds(store: ArticleStore) -> None:
    db = sqlite3.connect(store.path / "keys.sqlite", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    assert store.append([article(*KEYS[0]), *some(10, 13)]) == 3
    db.execute("ROLLBACK")
    db.close()
    assert shards_read(store) == []


def test_a_link_to_another_file_is_replaced_and_the_file_left_alone(
    store: ArticleStore, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    with sqlite3.connect(precious) as db:
        db.execute("CREATE TABLE recipes (name)")
    db.close()
    before = precious.read_bytes()
    (store.path / "keys.sqlite").unlink()
    (store.path / "keys.sqlite").symlink_to(precious)
    assert store.append(some(10, 13)) == 3
    assert precious.read_bytes() == before
    assert shards_read(store) == []


def test_where_there_can_be_none_memory_serves(store: ArticleStore) -> None:
    (store.path / "keys.sqlite").unlink()
    (store.path / "keys.sqlite").mkdir()
    assert store.append([article(*key) for key in KEYS] + some(10, 13)) == 3
    assert shards_read(store) == [*ALL, "000006.pkl.gz", "000007.pkl.gz"]
    store.verify()


def flipped(store: ArticleStore, positions: Iterator[int] | range) -> int:
    """Check the index with each of these bytes changed; returns how often it was made anew."""
    path = store.path / "keys.sqlite"
    whole = path.read_bytes()
    n_anew = 0
    for position in positions:
        for mask in (0x01, 0xFF):
            damaged = bytearray(whole)
            damaged[position] ^= mask
            path.write_bytes(damaged)
            n_anew += bool(shards_read(store))
            assert store.append([article(*key) for key in KEYS]) == 0
    return n_anew


def places(path: Path) -> list[int]:
    """Where the file's bytes are not zero, and a few where they are."""
    data = path.read_bytes()
    return [i for i, byte in enumerate(data) if byte or i % 512 == 0]


def test_some_flipped_bytes(store: ArticleStore) -> None:
    assert flipped(store, iter(places(store.path / "keys.sqlite")[::61]))


@pytest.mark.slow
def test_any_flipped_byte(store: ArticleStore) -> None:
    assert flipped(store, iter(places(store.path / "keys.sqlite"))) > 100


def test_damage_that_shows_only_when_it_is_used(
    store: ArticleStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with store.writer() as writer:
        for number in range(100, 103):
            writer.add(article("en", number))
            writer._index._db.execute(
                ["DROP TABLE keys", "DROP TABLE position", "SELECT 1"][number - 100]
            )
            assert writer.has(*KEYS[0])
            assert not writer.has(*UNKNOWN[0])
            writer.commit()
    assert caplog.text.count("keys.sqlite cannot be used (no such table") == 2
    store.verify()
    assert len(store) == len(KEYS) + 3
    assert shards_read(store), "the second time memory served"
    assert shards_read(store) == []


def test_a_disk_without_room_for_it(store: ArticleStore) -> None:
    store.shard_size = 50
    with store.writer() as writer:
        writer._index._db.execute("PRAGMA max_page_count = 1")  # SQLite's own way of a full disk
        for number in range(10_000, 11_000):
            assert writer.add(article("en", number))
            if writer.n_pending == 100:
                writer.commit()
        assert not writer.add(article("en", 10_000))
        assert writer._index._unsaved
    assert len(shards_read(store)) > 10
    assert shards_read(store) == []
    store.verify()


ids = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.sets(st.tuples(st.sampled_from(["en", "de"]), ids), min_size=1), max_size=5)
)
def test_any_keys(
    tmp_path_factory: pytest.TempPathFactory, batches: list[set[tuple[str, int]]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "keys.sqlite"
    tails = [Tail(n + 1, 0, f"{n}", 0) for n in range(len(batches))]
    lines = [(ShardEntry(str(n), 1, 1, ""), tail) for n, tail in enumerate(tails)]
    known: set[tuple[str, int]] = set()

    def opened(n_lines: int) -> KeyIndex:
        def keys_of(entry: ShardEntry) -> set[tuple[str, int]]:
            return batches[int(entry.shard)]

        return KeyIndex(path, [START, *tails][n_lines], lambda: lines[:n_lines], keys_of)

    for n, batch in enumerate(batches):
        index = opened(n)
        assert not any(index.has(key) for key in batch - known)
        index.add(batch, tails[n])  # keys that it has already, too
        index.add(batch, tails[n])
        known |= batch
        assert all(index.has(key) for key in known)
        index.close()
    if batches:
        index = opened(len(batches))
        db = index._db
        assert db.execute("SELECT count(*) FROM keys").fetchone() == (len(known),)
        index.close()
