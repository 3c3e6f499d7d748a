"""The index may be anything, or nothing: the manifest and the shards decide what a store has."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import Article, ArticleStore
from corpora.articles.key_index import KeyIndex
from corpora.articles.manifest import ShardEntry, Tail, read_manifest
from corpora.articles.shard_file import stored_keys

KEYS = [("en", number) for number in (5, 1, 2**63 - 1, -(2**63), -7, 0)] + [
    *(("de", 5), ("\ud800", 1), ("", 1))
]
UNKNOWN = [("en", 2), ("fr", 5), ("\ud801", 1), ("de", -5)]
ALL = [f"00000{number}.pkl.gz" for number in range(1, 6)]
ids = st.integers(-(2**63), 2**63 - 1)


def article(language, page_id):
    return Article(page_id, 0, "T", "https://x.org/T", "", language, "CC0", "A text.")


def some(start, stop):
    return [article("en", number) for number in range(start, stop)]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("template") / "store"
    ArticleStore(path, 2).append([article(*key) for key in KEYS])
    return path


@pytest.fixture
def store(template, tmp_path):
    shutil.copytree(template, tmp_path / "store")
    return ArticleStore(tmp_path / "store", 2)


def shards_read(store):
    read = []

    def keys_of(entry):
        read.append(entry.shard)
        return stored_keys(store.path, entry)

    manifest = store.path / "manifest.jsonl"
    index = KeyIndex(store.path / "keys.sqlite", lambda: read_manifest(manifest), keys_of)
    with closing(index):
        assert all(map(index.has, store.keys()))
        assert not any(map(index.has, UNKNOWN))
    return read


def test_an_index_that_is_there_spares_reading_the_shards(store):
    assert shards_read(store) == []
    assert {path.name for path in store.path.iterdir()} == {
        *("ATTRIBUTION", "keys.sqlite", "lock", "manifest.jsonl", "shards")
    }


def test_one_that_lags_behind_catches_up(store):
    former = store.path.parent / "former"
    shutil.copy(store.path / "keys.sqlite", former)
    store.append(some(10, 13))
    shutil.copy(former, store.path / "keys.sqlite")
    assert shards_read(store) == ["000006.pkl.gz", "000007.pkl.gz"]
    assert shards_read(store) == []
    assert store.append(some(10, 13)) == 0


def test_one_of_a_later_state_is_rebuilt(store):
    manifest = store.path / "manifest.jsonl"
    whole = manifest.read_bytes()
    store.append(some(10, 13))
    manifest.write_bytes(whole)
    assert shards_read(store) == ALL
    assert store.append(some(10, 13)) == 3
    store.verify()


def other_database(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE recipes (name)")
    return path.read_bytes()


@pytest.mark.parametrize("instead", ["nothing", "another store's", "another database", "a link"])
def test_another_file_in_its_place_is_rebuilt(store, tmp_path, instead):
    path, other = store.path / "keys.sqlite", tmp_path / "other"
    path.unlink()
    precious = other_database(other) if instead in ("another database", "a link") else b""
    if instead == "another database":
        shutil.copy(other, path)
    elif instead == "a link":
        path.symlink_to(other)
    elif instead == "another store's":
        twin = ArticleStore(other, 2)
        twin.append(some(100, 109))
        assert len(twin.entries) == len(store.entries)
        shutil.copy(twin.path / "keys.sqlite", path)
    assert shards_read(store) == ALL
    assert shards_read(store) == []
    assert not precious or other.read_bytes() == precious


@pytest.mark.parametrize(
    ("size", "suffix"),
    [(0, ""), (1, ""), (100, ""), (9999, ""), (0, "-wal"), (5000, "-wal"), (600, "-journal")],
)
def test_junk_in_place_of_it(store, size, suffix):
    (store.path / f"keys.sqlite{suffix}").write_bytes(os.urandom(size))
    assert shards_read(store) in ([], ALL)
    assert shards_read(store) == []
    assert store.append([article(*key) for key in [*KEYS, *UNKNOWN]]) == len(UNKNOWN)
    store.verify()


@pytest.mark.parametrize(
    "change",
    [
        "PRAGMA user_version = 2",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM keys; END",
        "DROP TRIGGER add_up",
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
def test_what_others_changed_in_it_is_noticed(store, change):
    with closing(sqlite3.connect(store.path / "keys.sqlite")) as db, db:
        db.execute(change)
    assert shards_read(store) == ALL
    assert shards_read(store) == []


def test_one_that_another_program_holds(store):
    db = sqlite3.connect(store.path / "keys.sqlite", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    assert store.append([article(*KEYS[0]), *some(10, 13)]) == 3
    db.execute("ROLLBACK")
    db.close()
    assert shards_read(store) == []


def test_where_there_can_be_none_memory_serves(store):
    (store.path / "keys.sqlite").unlink()
    (store.path / "keys.sqlite").mkdir()
    assert store.append([article(*key) for key in KEYS] + some(10, 13)) == 3
    assert shards_read(store) == [*ALL, "000006.pkl.gz", "000007.pkl.gz"]
    store.verify()


@pytest.mark.parametrize(
    ("step", "at_least"), [(61, 1), pytest.param(1, 101, marks=pytest.mark.slow)]
)
def test_flipped_bytes(store, step, at_least):
    path = store.path / "keys.sqlite"
    whole = path.read_bytes()
    positions, n_rebuilt = [i for i, byte in enumerate(whole) if byte or i % 512 == 0], 0
    for position in positions[::step]:
        for mask in (0x01, 0xFF):
            damaged = bytearray(whole)
            damaged[position] ^= mask
            path.write_bytes(damaged)
            n_rebuilt += bool(shards_read(store))
            assert store.append([article(*key) for key in KEYS]) == 0
    assert n_rebuilt >= at_least


def test_damage_that_shows_only_when_it_is_used(store, caplog):
    with store.writer() as writer:
        for number, damage in enumerate(["DROP TABLE keys", "DROP TABLE position", "SELECT 1"]):
            writer.add(article("en", 100 + number))
            writer._index._db.execute(damage)
            assert writer.has(*KEYS[0])
            assert not writer.has(*UNKNOWN[0])
            writer.commit()
    assert caplog.text.count("keys.sqlite is rebuilt from the shards: no such table") == 2
    store.verify()
    assert len(store) == len(KEYS) + 3
    assert shards_read(store), "the second time memory served"
    assert shards_read(store) == []


def test_a_disk_without_room_for_it(store):
    store.shard_size = 50
    with store.writer() as writer:
        writer._index._db.execute("PRAGMA max_page_count = 1")  # SQLite's own way of a full disk
        for number in range(10_000, 11_000):
            assert writer.add(article("en", number))
            if writer.n_pending == 100:
                writer.commit()
        assert not writer.add(article("en", 10_000))
    assert shards_read(store) == []
    store.verify()


def test_interrupted_while_it_is_rebuilt(store):
    manifest, read = store.path / "manifest.jsonl", []

    def keys_of(entry):
        read.append(entry.shard)
        if len(read) == 3:
            raise KeyboardInterrupt
        return stored_keys(store.path, entry)

    index = KeyIndex(store.path / "keys.sqlite", lambda: read_manifest(manifest), keys_of)
    index._db.execute("DROP TABLE keys")
    with closing(index):
        with pytest.raises(KeyboardInterrupt):
            index.has(KEYS[0])
        assert all(map(index.has, KEYS))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.sets(st.tuples(st.sampled_from(["en", "de"]), ids), min_size=1), max_size=5)
)
def test_any_keys(tmp_path_factory, batches):
    path = tmp_path_factory.mktemp("any") / "keys.sqlite"
    tails = [Tail(n + 1, 0, f"{n}", 0) for n in range(len(batches))]
    lines = [(ShardEntry(str(n), 1, 1, ""), tail) for n, tail in enumerate(tails)]
    known = set()

    def opened(n_lines):
        return KeyIndex(path, lambda: lines[:n_lines], lambda entry: batches[int(entry.shard)])

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
        assert index._db.execute("SELECT count(*) FROM keys").fetchone() == (len(known),)
        index.close()
