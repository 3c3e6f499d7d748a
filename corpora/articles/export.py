"""Export of all articles of a store to one file: JSON Lines or Parquet."""

import bz2
import errno
import gzip
import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, Any

from filelock import lock_descriptor

from corpora.articles import attribution
from corpora.articles.article import Article, Value
from corpora.articles.attribution import read_attribution
from corpora.articles.manifest import ShardEntry
from corpora.articles.shard import COLUMNS, FIELDS, has_columns
from corpora.articles.shard_file import stored_bytes
from corpora.articles.store import ArticleStore
from corpora.files import TEMPORARY_SUFFIX, PathLike, atomic_write
from corpora.optional_module import of_pyarrow

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".parquet")

ROWS, CHARACTERS = 1000, 2**24
"""Maximum size of a row group of Parquet; the article that reaches one of them ends the group."""

LICENSE_NOTE = (
    "Each row names the licence of its text (license), the page that it is of (url, title) and its"
    " revision (revision_id); the history of that page lists the authors. Of a page of a wiki the"
    " main text alone was kept. Whoever passes text on under CC BY-SA names the article, its"
    " contributors and the licence, says what was changed, and keeps the licence."
)


def export_articles(store: ArticleStore, path: PathLike) -> int:
    """Write all articles stored at this moment to the file `path`, in the order of the store;
    return their number.

    The end of the name gives the format. `.jsonl`, plain or compressed (`.gz`, `.bz2`, `.xz`),
    holds one JSON object per line with all fields of `Article`, `columns` if it is not empty;
    `read_json_lines` reads back equal articles if their text is not empty, in NFC and with line
    ends of one character. `.parquet` holds a column for each field, `columns` as a JSON object if
    some article has any, and in the metadata of its schema the licence note and ATTRIBUTION. In
    both, half a surrogate pair becomes a question mark. The file appears whole or not at all; one
    shard or row group is in memory at a time.

    Raises ValueError if the name has another ending or the file would be inside the store;
    MissingExtraError if pyarrow is needed and missing; CorpusFormatError if the store is none or
    damaged; OSError if the file cannot be written.
    """
    target = Path(path)
    if not target.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"the name {target} does not give the format: it must end in"
            f" {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
    inside = store.path.resolve()
    if inside in target.resolve().parents:
        raise ValueError(f"{target} would be inside the article store: name a file elsewhere")
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
    writing = _write_parquet if target.name.lower().endswith(".parquet") else _write_json_lines
    if writing is _write_parquet:
        of_pyarrow()  # before anything is touched
    entries = store.entries
    articles = (article for entry in entries for article in store.read_shard(entry))
    with _sole_partial_file(target) as stream:
        return writing(articles, stream, store, entries, target.name.lower())


def _write_json_lines(
    articles: Iterable[Article],
    stream: IO[bytes],
    store: ArticleStore,
    entries: Sequence[ShardEntry],
    name: str,
) -> int:
    del store, entries
    n_articles = 0
    with _compressing(stream, name) as lines:
        for article in articles:
            fields = {field: getattr(article, field) for field in FIELDS}
            if article.columns:
                fields[COLUMNS] = dict(article.columns)
            line = json.dumps(fields, ensure_ascii=False) + "\n"
            lines.write(line.encode(errors="replace"))
            n_articles += 1
    return n_articles


@contextmanager
def _compressing(stream: IO[bytes], name: str) -> Iterator[IO[bytes] | Any]:
    """Yield a stream that compresses into `stream` by the ending of `name`; `stream` stays open."""
    if name.endswith(".gz"):
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as compressed:
            yield compressed
    elif name.endswith(".bz2"):
        with bz2.BZ2File(stream, "wb") as compressed:
            yield compressed
    elif name.endswith(".xz"):
        with lzma.LZMAFile(stream, "wb") as compressed:
            yield compressed
    else:
        yield stream


def _write_parquet(
    articles: Iterable[Article],
    stream: IO[bytes],
    store: ArticleStore,
    entries: Sequence[ShardEntry],
    name: str,
) -> int:
    del name
    arrow, parquet = of_pyarrow(), of_pyarrow("pyarrow.parquet")
    types = {int: arrow.int64(), str: arrow.string()}
    known = read_attribution(store.path / attribution.FILE)
    fields = [arrow.field(field, types[kind], nullable=False) for field, kind in FIELDS.items()]
    with_columns = any(has_columns(stored_bytes(store.path, entry)) for entry in entries)
    if with_columns:
        fields.append(arrow.field(COLUMNS, arrow.string()))
    schema = arrow.schema(
        fields,
        metadata={"license_note": LICENSE_NOTE, "attribution": known.text() if known else ""},
    )
    n_articles = 0
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for group in _row_groups(articles):
            columns: dict[str, list[Any]] = {
                field: [_plain(getattr(a, field)) for a in group] for field in FIELDS
            }
            if with_columns:
                columns[COLUMNS] = [_json_of(a.columns) for a in group]
            writer.write_table(arrow.Table.from_pydict(columns, schema))
            n_articles += len(group)
    return n_articles


def _row_groups(articles: Iterable[Article]) -> Iterator[list[Article]]:
    group: list[Article] = []
    n_characters = 0
    for article in articles:
        group.append(article)
        n_characters += len(article.text)
        if len(group) >= ROWS or n_characters >= CHARACTERS:
            yield group
            group, n_characters = [], 0
    if group:
        yield group


def _json_of(columns: Mapping[str, Value]) -> str | None:
    """Return the columns of an article as JSON; None if there are none."""
    if not columns:
        return None
    return json.dumps(dict(columns), ensure_ascii=False).encode(errors="replace").decode()


def _plain(value: str | int) -> str | int:
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


@contextmanager
def _sole_partial_file(target: Path) -> Iterator[IO[bytes]]:
    """Open `target` by `atomic_write`, after deleting the partial files of killed exports. A
    running export holds a lock on its partial file.
    """
    for partial in target.parent.glob(f".{escape(target.name)}.*{TEMPORARY_SUFFIX}"):
        with suppress(OSError):  # it may be someone else's
            with partial.open("rb") as left:
                is_left = lock_descriptor(left.fileno(), blocking=False)
            if is_left:  # closed by now, as Windows deletes no file that is open
                partial.unlink()
    with atomic_write(target) as stream:
        lock_descriptor(stream.fileno())
        yield stream
