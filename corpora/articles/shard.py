"""A shard: some articles as the bytes of one compressed file, and back.

The bytes are a gzip stream of pickles (protocol 5): first a header, so that keys are read quickly,

    {"format": "wikitopics articles", "version": 1, "keys": [(language, page_id), ...]}

then one plain dict of `Article`'s fields for each key, in the same order. `columns` is left out
where it is empty. A column of several values is a list. A shard without columns is of version 1,
one with columns of single values alone of version 2, and any other of version 3.

Pickle is a small stack language that can call any function, so a shard from elsewhere is not
handed to `pickle.load`. It is read by an unpickler that knows only the instructions which make
dicts, lists, pairs, strings, numbers, truth values and None: nothing in a shard can name a class or
a function.
"""

import gzip
import io
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Never, get_type_hints

from corpora.articles.article import Article
from corpora.errors import CorpusFormatError, UnsupportedVersionError

FORMAT = "wikitopics articles"
WITHOUT_COLUMNS, OF_SINGLE_VALUES, VERSION = 1, 2, 3
"""Versions: each shard is of the oldest that can hold it, so that older programs read what they
can."""

COLUMNS = "columns"
FIELDS: dict[str, type] = {
    name: kind for name, kind in get_type_hints(Article).items() if name != COLUMNS
}
"""Fields of an article and their types, less `columns`."""

MAX_COLUMNS = 2**16
VALUE_TYPES = (str, int, float, bool, type(None))
MAX_PICKLE_BYTES = 2**27  # Bytes that one article may take after decompression

MAX_CHARACTERS = 2**24
"""Characters in all fields of an article; at four bytes each, half of `MAX_PICKLE_BYTES`."""

LEVEL = 4  # Level of compression: less than half the time of gzip's usual 6, for 4 % more bytes

INSTRUCTIONS = (
    *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "BINGET", "LONG_BINGET"),
    *("EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "APPEND", "APPENDS", "TUPLE2"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1"),
    *("BINFLOAT", "NEWTRUE", "NEWFALSE", "NONE"),
    *("GLOBAL", "STACK_GLOBAL", "INST"),  # known only so that what they ask for can be named
)


def check_article(article: Article) -> None:
    """Raise CorpusFormatError if a field or the value of a column has another type than `Article`
    says (a subclass counts as another type), an integer does not fit in 64 bits, or there are over
    `MAX_CHARACTERS` characters or `MAX_COLUMNS` columns.
    """
    if fault := _fault_of(_record_of(article), tuple):
        raise CorpusFormatError(f"article {article.document_id!r} cannot be stored: {fault}")


def pack_shard(articles: Sequence[Article]) -> bytes:
    """The shard of `articles`; equal articles give equal bytes, if their columns have one order and
    one type each. Raises as `check_article` does.
    """
    for article in articles:
        check_article(article)
    version = max(map(_version_of, articles), default=WITHOUT_COLUMNS)
    keys = [(article.language, article.page_id) for article in articles]
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=LEVEL, fileobj=packed, mtime=0) as stream:
        stream.write(_pickled({"format": FORMAT, "version": version, "keys": keys}))
        for article in articles:
            stream.write(_pickled(_converted(_record_of(article), tuple, list)))
    return packed.getvalue()


def read_keys(data: bytes, name: str = "shard") -> list[tuple[str, int]]:
    """(language, page_id) of a shard's articles, from the header; errors as `read_articles`."""
    return _read_header(gzip.GzipFile(fileobj=io.BytesIO(data)), name)[0]


def has_columns(data: bytes, name: str = "shard") -> bool:
    """Whether some article of a shard has columns, by the header; errors as `read_articles`."""
    return _read_header(gzip.GzipFile(fileobj=io.BytesIO(data)), name)[1] > WITHOUT_COLUMNS


def read_articles(data: bytes, name: str = "shard") -> Iterator[Article]:
    """The articles of a shard, one at a time, each checked against its type and its key. Raises
    CorpusFormatError, which names `name`, at damage, at surplus bytes and at anything but plain
    values; UnsupportedVersionError if a newer version of this software wrote the shard.
    """
    stream = gzip.GzipFile(fileobj=io.BytesIO(data))
    keys, version = _read_header(stream, name)
    for number, key in enumerate(keys, start=1):
        record = _unpickled(stream, name)
        several = list if version >= VERSION else None
        fault = "it is not a dict" if type(record) is not dict else _fault_of(record, several)
        if not fault and version == WITHOUT_COLUMNS and COLUMNS in record:
            fault = "it has columns, which its version has not"
        if fault:
            raise CorpusFormatError(
                f"{name}: article {number} of {len(keys)} is malformed: {fault}"
            )
        article = Article(**_converted(record, list, tuple))
        if (article.language, article.page_id) != key:
            raise CorpusFormatError(
                f"{name}: article {number} of {len(keys)} is not the one its header announces"
            )
        yield article
    _check_end(stream, data, name)


def _version_of(article: Article) -> int:
    if not article.columns:
        return WITHOUT_COLUMNS
    has_several = any(type(value) is tuple for value in article.columns.values())
    return VERSION if has_several else OF_SINGLE_VALUES


def _record_of(article: Article) -> dict[str, object]:
    record: dict[str, object] = {name: getattr(article, name) for name in FIELDS}
    if article.columns != {}:
        columns: object = article.columns
        record[COLUMNS] = dict(columns) if isinstance(columns, Mapping) else columns
    return record


def _converted(record: dict[str, Any], several: type, into: type) -> dict[str, Any]:
    """Return a record whose columns of type `several` are of type `into`."""
    columns = record.get(COLUMNS, {}).items()
    if not any(type(value) is several for _, value in columns):
        return record
    changed = {name: into(value) if type(value) is several else value for name, value in columns}
    return record | {COLUMNS: changed}


def _fault_of(record: dict[str, object], several: type | None) -> str:
    """Return why `record` is no article's fields; empty if it is valid. Columns may hold several
    texts as a value of the type `several`, if it is one.
    """
    if record.keys() - {COLUMNS} != FIELDS.keys():
        return "its fields are not those of an article"
    fault, n_characters = _columns_fault(record.get(COLUMNS, {}), several)
    if fault:
        return fault
    for name, kind in FIELDS.items():
        value = record[name]
        if type(value) is not kind:
            return f"its {name} is of type {type(value).__name__}, expected {kind.__name__}"
        if isinstance(value, str):
            n_characters += len(value)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            return f"its {name} does not fit in 64 bits"
    if n_characters > MAX_CHARACTERS:
        return f"it is longer than {MAX_CHARACTERS} characters"
    return ""


def _columns_fault(columns: Any, several: type | None) -> tuple[str, int]:
    """Return why `columns` are not those of an article, empty if they are, and their characters."""
    if type(columns) is not dict:
        return f"its columns are of type {type(columns).__name__}, expected dict", 0
    if len(columns) > MAX_COLUMNS:
        return f"it has more than {MAX_COLUMNS} columns", 0
    n_characters = 0
    for name, value in columns.items():
        if type(name) is not str:
            return f"the name of a column is of type {type(name).__name__}, expected str", 0
        if fault := _value_fault(value, several):
            return f"its column {name[:60]!r} {fault}", 0
        texts: Any = (value,) if isinstance(value, str) else ()
        texts = value if type(value) is several else texts
        n_characters += len(name) + sum(map(len, texts))
    return "", n_characters


def _value_fault(value: Any, several: type | None) -> str:
    """Return why a column cannot hold a value; empty if it can."""
    kind: type = type(value)
    if kind is several:
        is_plain = len(value) <= MAX_COLUMNS and all(type(each) is str for each in value)
        return "" if is_plain else f"holds something else than up to {MAX_COLUMNS} texts"
    if kind not in VALUE_TYPES:
        return f"is of type {kind.__name__}, expected text, number or None"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "does not fit in 64 bits"
    return ""


def _pickled(value: object) -> bytes:
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5)
    pickler.fast = True  # no memo: whether two equal strings are one object must not show
    pickler.dump(value)
    return stream.getvalue()


def _read_header(stream: gzip.GzipFile, name: str) -> tuple[list[tuple[str, int]], int]:
    """Return keys and version."""
    header = _unpickled(stream, name)
    if type(header) is not dict or header.get("format") != FORMAT:
        raise CorpusFormatError(f"{name}: this is not a shard of {FORMAT}")
    version, keys = header.get("version"), header.get("keys")
    if type(version) is int and version > VERSION:
        raise UnsupportedVersionError(
            f"{name} was written by a newer wikitopics; upgrade to read it"
        )
    is_known = version in (WITHOUT_COLUMNS, OF_SINGLE_VALUES, VERSION)
    if header.keys() != {"format", "version", "keys"} or type(version) is not int or not is_known:
        raise CorpusFormatError(f"{name}: the header is malformed")
    if type(keys) is not list or not all(
        type(key) is tuple and [type(part) for part in key] == [str, int] for key in keys
    ):
        raise CorpusFormatError(f"{name}: the header's keys are not (language, page_id) pairs")
    return keys, version


def _unpickled(stream: gzip.GzipFile, name: str) -> Any:
    """The next value of the stream, made of nothing but plain values."""
    try:
        return _PlainUnpickler(_Bounded(stream)).load()
    except KeyError as error:
        raise CorpusFormatError(
            f"{name}: refused, it holds the pickle instruction {error.args[0]:#04x}, but may"
            " hold plain values only"
        ) from error
    except DAMAGES as error:
        raise CorpusFormatError(f"{name}: damaged or not a shard: {error}") from error


def _check_end(stream: gzip.GzipFile, data: bytes, name: str) -> None:
    """Nothing may follow the last article, neither inside the gzip stream nor behind it."""
    try:
        surplus = stream.read(1)
    except DAMAGES as error:
        raise CorpusFormatError(f"{name}: damaged at its end: {error}") from error
    # gzip.GzipFile skips zeros, and reads on in another gzip stream, behind the one that should be
    # the only one. That one ends with its decompressed length, so anything behind it shows here.
    length = int.from_bytes(data[-4:], "little")
    if surplus or length != stream.tell() % 2**32:
        raise CorpusFormatError(f"{name}: something follows the last article")


DAMAGES = (
    *(pickle.UnpicklingError, zlib.error, EOFError, OSError),  # OSError: gzip.BadGzipFile
    *(ValueError, TypeError, IndexError, AttributeError),
)
"""Errors of gzip and pickle on malformed bytes."""


class _Bounded:
    """Stream that limits the bytes of one pickle; a short read is an error."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = MAX_PICKLE_BYTES

    def read(self, size: int) -> bytes:
        if size > self._left:
            raise pickle.UnpicklingError(f"one of its pickles is over {MAX_PICKLE_BYTES} bytes")
        self._left -= size
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError("it ends too early")
        return data

    def readline(self) -> bytes:
        return self._stream.readline(1000)


class _PlainUnpickler(pickle._Unpickler):  # noqa: SLF001 - the compiled one has a fixed instruction set
    """Makes dicts, lists, pairs and plain values; knows no other instruction. The compiled
    unpickler would follow a memo index of 2³² into 64 GB of memory, and take registered extension
    codes from a cache without asking `find_class`.
    """

    dispatch: ClassVar[dict[int, Callable[[pickle.Unpickler], None]]] = {
        code: pickle._Unpickler.dispatch[code]  # noqa: SLF001
        for code in (getattr(pickle, name)[0] for name in INSTRUCTIONS)
    }

    def find_class(self, module: str, name: str) -> Never:
        asked = f"{module}.{name}"[:200]
        raise pickle.UnpicklingError(
            f"refused, it asks for {asked!r}, but may hold plain values only"
        )
