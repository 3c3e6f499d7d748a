"""Articles from JSON Lines: one object per line, in files from any source."""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from corpora.articles.article import Article, Value
from corpora.articles.compressed import read_chunks
from corpora.errors import CorpusFormatError
from corpora.files import PathLike


def read_json_lines(
    path: PathLike, language: str = "en", progress_bytes: Callable[[int], None] | None = None
) -> Iterator[Article]:
    """Yield the articles of a `.jsonl` file, plain or compressed by gzip, bzip2 or xz.

    Each line is an object with `text` and with `title` or `page_id` (or `id`), and optionally
    `revision_id`, `url`, `timestamp`, `language` (default: the argument), `license` and `columns`;
    other keys and blank lines are skipped. Ids are whole numbers, possibly written as strings; a
    missing one is made from the title by `made_page_id`. The text is unchanged except for line ends
    and Unicode normalisation (NFC). `progress_bytes` is called with the number of bytes of the file
    read so far.

    Raises OSError if the file cannot be read; CorpusFormatError if a line is malformed or the
    compressed data are damaged, after the articles before.
    """
    for number, line, _ in read_lines(read_chunks(path, progress_bytes)):
        if not line.strip():
            continue
        try:
            article = parse_line(line, language)
        except (ValueError, RecursionError) as error:
            raise CorpusFormatError(f"{path}, line {number}: {error}") from error
        yield article


def made_page_id(title: str) -> int:
    """Return an id for an article without one: minus 53 bits, which a float holds exactly, of the
    SHA-256 of its title. MediaWiki's ids are positive, so the two never collide.
    """
    digest = hashlib.sha256(title.encode()).digest()
    return -(int.from_bytes(digest[:7], "big") >> 3) or -1


def read_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the lines of a file: number, content without its end, whether its end is there."""
    number, unfinished = 0, bytearray()
    try:
        for chunk in chunks:
            first, *rest = chunk.split(b"\n")
            unfinished += first
            for part in rest:
                number += 1
                yield number, bytes(unfinished), True
                unfinished = bytearray(part)
    except CorpusFormatError as error:
        raise CorpusFormatError(f"{error} (after line {number})") from error
    if unfinished:
        yield number + 1, bytes(unfinished), False


def parse_line(line: bytes, language: str) -> Article:
    """Return the article on one line; raise ValueError if it is malformed."""
    fields = json_object(line, "utf-8-sig")
    text = string(fields, "text").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ValueError('no text; every line needs a "text" that is not empty')
    title = string(fields, "title")
    page_id = whole_number(fields, "id" if fields.get("page_id") is None else "page_id")
    if page_id is None and not title:
        raise ValueError('neither "title" nor "page_id"; one is needed to tell articles apart')
    return Article(
        page_id=made_page_id(title) if page_id is None else page_id,
        revision_id=whole_number(fields, "revision_id") or 0,
        title=title,
        url=string(fields, "url"),
        timestamp=string(fields, "timestamp"),
        language=string(fields, "language") or language,
        license=string(fields, "license"),
        text=text,
        columns=columns_in(fields),
    )


def columns_in(fields: dict[str, object]) -> dict[str, Value]:
    """Return the object under `columns`, as an export writes it, with lists of texts as tuples;
    empty if it is none, or another one, which is skipped as other keys are.
    """
    columns = fields.get("columns")
    if not isinstance(columns, dict):
        return {}
    values = {name: _value_of(value) for name, value in columns.items()}
    is_plain = all(isinstance(v, str | int | float | tuple | None) for v in values.values())
    return values if is_plain else {}


def _value_of(value: Any) -> Any:
    is_several = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return tuple(value) if is_several else value


def json_object(line: bytes, encoding: str) -> dict[str, object]:
    """Return the fields of a JSON object; raise ValueError if it is malformed."""
    try:
        fields = json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        raise ValueError(f"not valid UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise ValueError("not valid JSON (nested too deeply)") from error
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from error
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object, found {type(fields).__name__}")  # noqa: TRY004
    return fields


def string(fields: dict[str, object], key: str) -> str:
    """Return the string under `key`, normalised; empty if it is missing or null."""
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f'"{key}": expected a string, found {type(value).__name__}')  # noqa: TRY004
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f'"{key}": half a surrogate pair at character {error.start}') from error
    return unicodedata.normalize("NFC", value)


def whole_number(fields: dict[str, object], key: str) -> int | None:
    """Return the whole number of 64 bits under `key`; None if it is missing or null."""
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        raise ValueError(f'"{key}": expected a whole number, found {str(value)[:40]!r}')
    return value
