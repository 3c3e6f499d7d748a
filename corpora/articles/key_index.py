"""Index of the articles of a store: one SQLite file, found by (language, page id).

The index is derived from the shards and may be deleted at any time. It records how many lines of
the manifest it covers, and the check of the last; the shards that it lacks are read. After any
error the file is deleted and rebuilt from all shards; if no file can be written, the keys stay in
memory. A trigger counts the keys of each language and adds up their bits. On opening, the sums are
compared with the keys, a tenth of a second per million: this detects damage, not forgery.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from corpora.articles.manifest import START, ShardEntry, Tail

Key = tuple[str, int]
FILE = "keys.sqlite"
SUFFIXES = ("", "-wal", "-journal", "-shm")
VERSION = 0x776B746C
SCHEMA = """
CREATE TABLE keys (language BLOB, page_id INTEGER, PRIMARY KEY (language, page_id)) WITHOUT ROWID
CREATE TABLE totals (language BLOB PRIMARY KEY, n INTEGER, bits INTEGER) WITHOUT ROWID
CREATE TABLE position (n_shards INTEGER, manifest_check TEXT)
CREATE TRIGGER add_up AFTER INSERT ON keys BEGIN INSERT INTO totals VALUES \
(new.language, 1, (new.page_id & 4294967295) + ((new.page_id >> 32) & 4294967295)) \
ON CONFLICT (language) DO UPDATE SET n = n + 1, bits = bits + excluded.bits; END
""".strip().split("\n")
TOTALS = """
SELECT language, count(*), sum((page_id & 4294967295) + ((page_id >> 32) & 4294967295))
FROM keys GROUP BY language
"""
BATCH = 20_000  # Keys that are gathered from shards before they are written

logger = logging.getLogger(__name__)


class KeyIndex:
    """Keys of all shards that the manifest names; only the holder of the writer's lock may make
    one. `lines` reads the manifest, from the first shard on; `keys_of` reads the keys of one shard.
    Raises CorpusFormatError if the manifest, or a shard that has to be read, is damaged.
    """

    def __init__(
        self,
        path: Path,
        lines: Callable[[], Iterable[tuple[ShardEntry, Tail]]],
        keys_of: Callable[[ShardEntry], Iterable[Key]],
    ) -> None:
        self._path, self._lines, self._keys_of = path, lines, keys_of
        self._db = sqlite3.connect(":memory:")
        self._n_shards = 0
        self._was_rebuilt = False
        try:
            self._open(path)
            self._check()
            self._catch_up()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._rebuild(error, logging.DEBUG)

    def has(self, key: Key) -> bool:
        """Whether the article is in one of the shards."""
        try:
            return self._found(key)
        except sqlite3.Error as error:
            self._rebuild(error)
            return self._found(key)

    def add(self, keys: Iterable[Key], tail: Tail) -> None:
        """Add the keys of the shards up to `tail`, if they are not there yet."""
        if tail.n_shards <= self._n_shards:
            return
        try:
            self._insert(keys, tail)
        except sqlite3.Error as error:
            self._rebuild(error)

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _rebuild(self, error: Exception, level: int = logging.WARNING) -> None:
        """Read the keys of all shards into a new file; the second time, into memory."""
        logger.log(level, "%s is rebuilt from the shards: %s", self._path, error)
        self.close()
        try:
            try:
                if self._was_rebuilt:
                    raise error  # caught below
                self._was_rebuilt = True
                for suffix in SUFFIXES:
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                self._create(self._path)
            except (sqlite3.Error, UnicodeDecodeError, OSError) as reason:
                logger.info("the keys stay in memory, %s cannot be written: %s", self._path, reason)
                self._create(":memory:")
        except BaseException:
            self.close()  # so that an index of half the shards is not used after an interrupt
            raise

    def _create(self, place: Path | str) -> None:
        self._open(place)
        for statement in SCHEMA:
            self._db.execute(statement)
        with self._db:
            self._db.execute("INSERT INTO position VALUES (0, '')")
        self._db.execute(f"PRAGMA user_version = {VERSION}")
        self._make_durable()
        self._catch_up()

    def _open(self, place: Path | str) -> None:
        # No other process of ours has it open; another program's lock is an error at once.
        self._db = sqlite3.connect(place, timeout=0, check_same_thread=False)
        # Exclusive: then the write-ahead log needs no shared memory, which some file systems lack.
        for setting in ("locking_mode = EXCLUSIVE", "temp_store = MEMORY", "trusted_schema = OFF"):
            self._db.execute(f"PRAGMA {setting}")

    def _make_durable(self) -> None:
        """Whole after a kill or a power cut, though maybe without the last rows."""
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _check(self) -> None:
        """Raise an error if the file is not as this version of the class wrote it."""
        db = self._db
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
            raise sqlite3.DatabaseError("another program or version made it")
        if [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master ORDER BY rowid")] != SCHEMA:
            raise sqlite3.DatabaseError("it has other tables")
        # Read at once: as long as there is a cursor, the file is open, also behind `close`.
        found = db.execute(TOTALS).fetchall()
        if found != db.execute("SELECT * FROM totals ORDER BY language").fetchall():
            raise sqlite3.DatabaseError("its keys are not those that were written")
        self._make_durable()

    def _catch_up(self) -> None:
        """Read the shards that the file lacks; an error if it is not of this manifest."""
        position = self._db.execute("SELECT * FROM position").fetchall()
        tail, keys = START, list[Key]()
        is_missing = position == [(0, "")]
        for entry, tail in self._lines():
            if is_missing:
                keys += self._keys_of(entry)
                if len(keys) >= BATCH:
                    self._insert(keys, tail)
                    keys.clear()
            elif position == [(tail.n_shards, tail.check)]:
                is_missing = True
        if not is_missing:
            raise sqlite3.DatabaseError("it does not match the manifest")
        if keys:
            self._insert(keys, tail)
        self._n_shards = tail.n_shards

    def _found(self, key: Key) -> bool:
        query = "SELECT 1 FROM keys WHERE language = ? AND page_id = ?"
        return self._db.execute(query, _row(key)).fetchone() is not None

    def _insert(self, keys: Iterable[Key], tail: Tail) -> None:
        with self._db as db:
            db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", map(_row, keys))
            db.execute("DELETE FROM position")
            db.execute("INSERT INTO position VALUES (?, ?)", (tail.n_shards, tail.check))
        self._n_shards = tail.n_shards


def _row(key: Key) -> tuple[bytes, int]:
    language, page_id = key
    return language.encode(errors="surrogatepass"), page_id
