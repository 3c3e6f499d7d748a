"""Which articles a store has, on disk: looked up without reading a shard or filling the memory.

The index is one SQLite file. It is derived from the shards and may be deleted at any time; the
manifest decides. It records how many of the manifest's lines it covers and the chained check of the
last of them, so that one that lags behind is brought up to date from the shards that it misses,
and one of another store, or of a later state of this one, is made anew. So is a file that is
damaged, foreign, or written by another version. Where the disk does not let it be written, the keys
stay in memory, and nothing else changes.

To notice damage, the count of the keys and a sum of their bits are kept for each language; both are
compared with the keys themselves when the file is opened. That takes a tenth of a second for a
million keys, and is no protection from a forger.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import defaultdict
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING

from corpora.articles.manifest import START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from corpora.articles.manifest import ShardEntry, Tail

Key = tuple[str, int]
"""(language, page_id) of an article."""

FILE = "keys.sqlite"
BESIDE = ("", "-wal", "-journal", "-shm")
"""What SQLite puts behind a file's name for the files that it keeps beside it."""

APPLICATION = 0x776B746B
VERSION = 1
SCHEMA = [
    (
        "CREATE TABLE keys (language BLOB, page_id INTEGER, PRIMARY KEY (language, page_id))"
        " WITHOUT ROWID"
    ),
    "CREATE TABLE totals (language BLOB PRIMARY KEY, n INTEGER, bits INTEGER) WITHOUT ROWID",
    "CREATE TABLE position (n_shards INTEGER, manifest_check TEXT)",
]
COUNTED = """
    SELECT language, count(*), sum((page_id & 4294967295) + ((page_id >> 32) & 4294967295))
    FROM keys GROUP BY language
"""
BATCH = 20_000
"""Keys that are gathered from shards before they are written."""

logger = logging.getLogger(__name__)


class KeyIndex:
    """The keys of all shards that the manifest names, found at once.

    Only the process that holds the writer's lock may make one.

    Parameters
    ----------
    path
        The file.
    tail
        Where the manifest ends.
    lines
        Reads the manifest, from the first shard on.
    keys_of
        Reads the keys of one shard.

    Raises
    ------
    CorpusFormatError
        If the manifest, or a shard that has to be read, is damaged.
    """

    def __init__(
        self,
        path: Path,
        tail: Tail,
        lines: Callable[[], Iterable[tuple[ShardEntry, Tail]]],
        keys_of: Callable[[ShardEntry], Iterable[Key]],
    ) -> None:
        self._path = path
        self._lines = lines
        self._keys_of = keys_of
        self._unsaved: dict[Key, None] = {}
        self._tail = START
        self._rebuilt = False
        try:
            self._db = _opened(path)
            n_shards, check = _sound_position(self._db)
        except (sqlite3.Error, ValueError) as error:
            logger.debug("%s is made anew: %s", path, error)
            self._make_anew()
            n_shards, check = 0, ""
        if (n_shards, check) == (tail.n_shards, tail.check):
            self._tail = tail
        elif not self._catch_up(n_shards, check):
            logger.debug("%s is made anew: it does not match the manifest", path)
            self._make_anew()
            self._catch_up(0, "")

    def has(self, key: Key) -> bool:
        """Whether the article is in one of the shards."""
        if key in self._unsaved:
            return True
        try:
            return self._found(key)
        except sqlite3.Error as error:
            self._rebuild(error)
            return key in self._unsaved or self._found(key)

    def add(self, keys: Iterable[Key], tail: Tail) -> None:
        """Take in the keys of the shards up to `tail`; does nothing where that has been done."""
        if tail.n_shards <= self._tail.n_shards:
            return
        self._unsaved.update(dict.fromkeys(keys))
        self._tail = tail
        try:
            self._save()
        except sqlite3.Error as error:
            # Nothing is lost: the keys are still in memory, and are tried again with the next ones.
            if not _is_out_of_space(error):
                self._rebuild(error)

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _catch_up(self, n_shards: int, check: str) -> bool:
        """Read what the file lacks; False if what it has is not the beginning of this manifest."""
        tail = START
        gathered: list[Key] = []
        for entry, tail in self._lines():
            if tail.n_shards < n_shards:
                continue
            if tail.n_shards == n_shards:
                if tail.check != check:
                    return False
                self._tail = tail
                continue
            gathered += self._keys_of(entry)
            if len(gathered) >= BATCH:
                self.add(gathered, tail)
                gathered = []
        if tail.n_shards < n_shards:
            return False
        self.add(gathered, tail)
        return True

    def _rebuild(self, error: sqlite3.Error) -> None:
        """Make it anew from the shards, as SQLite says that it cannot be used; in a file once."""
        logger.warning("%s cannot be used (%s); it is made anew from the shards", self._path, error)
        in_memory, self._rebuilt = self._rebuilt, True
        self._make_anew(in_memory)
        self._catch_up(0, "")

    def _make_anew(self, in_memory: bool = False) -> None:
        """Start with an empty file; in memory if asked, or if there can be no file."""
        if hasattr(self, "_db"):
            self.close()
        self._unsaved, self._tail = {}, START
        try:
            for suffix in BESIDE:
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._db = _opened(":memory:" if in_memory else self._path)
            _create(self._db)
        except (sqlite3.Error, OSError) as error:
            logger.info("%s cannot be written (%s); memory serves instead", self._path, error)
            self._db = _opened(":memory:")
            _create(self._db)

    def _found(self, key: Key) -> bool:
        language, page_id = key
        query = "SELECT 1 FROM keys WHERE language = ? AND page_id = ?"
        return self._db.execute(query, (_encoded(language), page_id)).fetchone() is not None

    def _save(self) -> None:
        """Write the keys that are in memory only."""
        try:
            self._insert(list(self._unsaved))
        except sqlite3.IntegrityError:  # a shard repeats a key, or an interrupt came after the last
            self._insert([key for key in self._unsaved if not self._found(key)])
        self._unsaved = {}

    def _insert(self, keys: list[Key]) -> None:
        rows: defaultdict[bytes, list[int]] = defaultdict(list)
        for language, page_id in keys:
            rows[_encoded(language)].append(page_id)
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            for code, ids in rows.items():
                db.executemany("INSERT INTO keys VALUES (?, ?)", ((code, number) for number in ids))
                db.execute(
                    "INSERT INTO totals VALUES (?, ?, ?) ON CONFLICT (language)"
                    " DO UPDATE SET n = n + excluded.n, bits = bits + excluded.bits",
                    (code, len(ids), sum(map(_bits, ids))),
                )
            db.execute("DELETE FROM position")
            db.execute(
                "INSERT INTO position VALUES (?, ?)", (self._tail.n_shards, self._tail.check)
            )
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _opened(path: Path | str) -> sqlite3.Connection:
    # No other process of ours has it open; whoever else has it loses it rather than making us wait.
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # Exclusive: then the write-ahead log needs no shared memory, which some file systems lack.
        for setting in ("locking_mode = EXCLUSIVE", "temp_store = MEMORY", "trusted_schema = OFF"):
            db.execute(f"PRAGMA {setting}")
    except BaseException:
        db.close()
        raise
    return db


def _make_durable(db: sqlite3.Connection) -> None:
    """Whole after a kill or a power cut, though maybe without what was written last."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")


def _create(db: sqlite3.Connection) -> None:
    _make_durable(db)
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        db.execute(statement)
    db.execute("INSERT INTO position VALUES (0, '')")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def _sound_position(db: sqlite3.Connection) -> tuple[int, str]:
    """Shards that the file covers and the manifest's check there; ValueError says what is wrong."""
    made_by = [
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    ]
    if made_by != [APPLICATION, VERSION]:
        raise ValueError("another program or version made it")
    if [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master ORDER BY rowid")] != SCHEMA:
        raise ValueError("it has other tables")
    totals = db.execute("SELECT * FROM totals ORDER BY language")
    if any(found != expected for found, expected in zip_longest(db.execute(COUNTED), totals)):
        raise ValueError("its keys are not those that were written")
    rows = db.execute("SELECT * FROM position LIMIT 2").fetchall()
    if len(rows) != 1 or [type(value) for value in rows[0]] != [int, str] or rows[0][0] < 0:
        raise ValueError("it does not say how far it goes")
    _make_durable(db)
    n_shards, check = rows[0]
    return n_shards, check


def _is_out_of_space(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _encoded(language: str) -> bytes:
    return language.encode(errors="surrogatepass")


def _bits(page_id: int) -> int:
    return (page_id & 0xFFFFFFFF) + (page_id >> 32 & 0xFFFFFFFF)
