"""Rows of a table as articles: which columns hold text, id, title and address, and what is refused.

The text is in the column that is asked for; else in `text`; else in `abstract` and `sections`, as
in Wikimedia's structured snapshots; else in the only column of strings. The id is in the column
that is asked for; else in `page_id` or `id` or, in structured snapshots, `identifier`; else it is
the number of the row. Columns that are used for nothing else come along as `Article.columns`.
"""

import datetime as dt
import json
import logging
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np

from corpora.articles.article import Article, Value
from corpora.articles.json_lines import columns_in, made_page_id
from corpora.articles.shard import COLUMNS, FIELDS
from corpora.errors import CorpusFormatError
from corpora.inputs.seen_ids import SeenIds
from corpora.inputs.structured import (
    NESTED,
    structured_columns,
    structured_revision,
    structured_text,
)

logger = logging.getLogger(__name__)

Row = Mapping[str, object]

TEXT, ABSTRACT, SECTIONS = "text", "abstract", "sections"
SHOWN_COLUMNS = 30  # Columns that an error lists
MAX_DIGITS = 19
WIKIPEDIA = re.compile(r"https?://([a-z][a-z-]{1,20})(?:\.m)?\.wikipedia\.org/", re.IGNORECASE)
LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*|simple")
"""Code of a language or of a Wikipedia; other values, such as English, stay in their column."""

AS_TEXT = (Decimal, dt.timedelta, UUID, np.datetime64, np.timedelta64)
"""Types of values that are kept as their text."""

OF_PANDAS = ("Interval", "Period")
"""Names of pandas' types that are kept so too; `pandas.cut` gives intervals."""

ID_NAMES = ("page_id", "id", "identifier")
COMMON_NAMES = ("id", "page_id", "title", "url")
"""Columns that are not taken for the text, unless it is asked for."""


def is_of_wikipedia(article: Article) -> bool:
    """Whether an article has the address of a page of a Wikipedia."""
    return WIKIPEDIA.match(article.url) is not None


class RowReader:
    """Makes an article of each row of a table.

    `columns` are the names of the table's columns; `strings` those that hold strings, where the
    table says so, by default all. An empty `language` is that of the Wikipedia in `url`, else
    English. `source` stands in messages. `is_articles` takes `revision_id`, `timestamp`, `language`
    and `license` for the article's too; where all fields of an article are there, as in an export
    of a store, they are nothing else. Raises CorpusFormatError if a column is not there, or none
    can be told to be the text.
    """

    def __init__(
        self,
        columns: Sequence[str],
        text_column: str = "",
        id_column: str = "",
        language: str = "en",
        source: str = "FILE",
        *,
        strings: Iterable[str] | None = None,
        is_articles: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.language = language
        self.source = source
        self.n_empty = 0
        """Rows that were left out, as their text is empty."""
        for asked in (text_column, id_column):
            if asked and asked not in self.columns:
                raise CorpusFormatError(
                    f"{source}: there is no column {asked!r}; the columns are {self._listed()}"
                )
        self.is_structured = (
            not text_column
            and TEXT not in self.columns
            and {ABSTRACT, SECTIONS} <= set(self.columns)
        )
        """Whether the rows are those of Wikimedia's structured snapshots."""
        self.text_columns = self._find_text(text_column, id_column, strings)
        """Columns that hold the text: one, or abstract and sections."""
        self.id_column = id_column or self._first("page_id", "id", *self._structured("identifier"))
        """Column of the ids; empty if they are the numbers of the rows."""
        self.title_column = self._first("title", *self._structured("name"))
        self.url_column = self._first("url")
        self.is_exported = set(FIELDS) <= set(self.columns)
        """Whether the rows are those of an exported store."""
        self.is_articles = (is_articles or self.is_exported) and not self.is_structured
        used = {*self.text_columns, self.title_column, self.url_column}
        if self.is_exported:
            used |= {"revision_id", "timestamp", "language", "license"}
        if self.is_structured:
            used |= {*NESTED, "date_modified"}
        self._used = used - {""}
        self._seen = SeenIds()
        self._nested: set[str] = set()

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that come along."""
        return tuple(c for c in self.columns if c not in self._used and c != self.id_column)

    def describe(self) -> str:
        """Columns that are taken, as part of a line."""
        parts = [f"text in {' and '.join(map(repr, self.text_columns))}"]
        parts.append(f"ids in {self.id_column!r}" if self.id_column else "rows numbered")
        if others := self.others:
            shown = ", ".join(map(repr, others[:5]))
            parts.append(f"with {shown}" + (f" and {len(others) - 5} more" if others[5:] else ""))
        return ", ".join(parts)

    def articles(self, rows: Iterable[Row], first: int = 1) -> Iterator[Article]:
        """Yield the articles of `rows`, which are numbered from `first`; then log how many were
        left out.
        """
        for i, row in enumerate(rows, first):
            article = self.article(i, row)
            if article is not None:
                yield article
        self.log_left_out()

    def article(self, i: int, row: Row, place: str = "", line: int = 0) -> Article | None:
        """Return the article of row `i`, None if its text is empty, which is counted. Messages name
        the row by `place`, by default `row 7`, or by its `line`, if it has one. Raises
        CorpusFormatError, naming place and column, if text or id are missing or of another type, or
        an id appeared before.
        """
        unit, number = ("line", line) if line else ("row", i)
        place = place or f"{unit} {number}"
        text = self._text(row, place)
        if not text.strip():
            self.n_empty += 1
            return None
        page_id, original = self._id(i, row, place)
        if (before := self._seen.add(page_id, number)) is not None:
            raise self._error(
                place,
                self.id_column,
                f"the id {_shown(original)} is that of {unit} {before} too; ids must differ",
            )
        title = self._string_or_empty(row, self.title_column)
        revision_id, timestamp, language, license_ = self._revision(row, place)
        return Article(
            page_id=page_id,
            revision_id=revision_id,
            title=title or str(original),
            url=self._string_or_empty(row, self.url_column),
            timestamp=timestamp,
            language=language,
            license=license_,
            text=text,
            columns=self._others(row, language, is_numbered=original == page_id),
        )

    def log_left_out(self) -> None:
        """Log how many rows were left out, and which columns, if some were."""
        if self.n_empty:
            rows = "row is" if self.n_empty == 1 else "rows are"
            logger.warning("%s: %d %s left out, the text is empty", self.source, self.n_empty, rows)
        if self._nested:
            names = ", ".join(sorted(self._nested))
            logger.info("%s: left out, as they hold lists or objects: %s", self.source, names)

    def _find_text(
        self, asked: str, id_column: str, strings: Iterable[str] | None
    ) -> tuple[str, ...]:
        if asked:
            return (asked,)
        if TEXT in self.columns:
            return (TEXT,)
        if self.is_structured:
            return ABSTRACT, SECTIONS
        candidates = list(self.columns if strings is None else strings)
        candidates = [c for c in candidates if c != id_column]
        if len(candidates) > 1:
            candidates = [c for c in candidates if c not in COMMON_NAMES]
        if len(candidates) != 1:
            why = "several columns hold strings" if candidates else "no column holds strings"
            raise CorpusFormatError(
                f"{self.source}: which column is the text? None is called 'text', and {why}; the"
                f" columns are {self._listed()}"
            )
        return (candidates[0],)

    def _first(self, *names: str) -> str:
        """Return the first of `names` that is a column and not the text; else an empty string."""
        return next((n for n in names if n in self.columns and n not in self.text_columns), "")

    def _structured(self, name: str) -> tuple[str, ...]:
        return (name,) if self.is_structured else ()

    def _text(self, row: Row, place: str) -> str:
        if self.is_structured:
            text = structured_text(row, lambda what: self._error(place, SECTIONS, what))
            return self._clean(text, place, SECTIONS)
        (column,) = self.text_columns
        value = row.get(column)
        if value is None:
            return ""
        if isinstance(value, str):
            return self._clean(value, place, column)
        if _is_missing(value):
            raise self._error(
                place, column, "expected a text, found NaN; leave out rows without a text"
            )
        if isinstance(value, (Real, Decimal)):
            raise self._error(
                place, column, f"expected a text, found the number {value}; name another column"
            )
        kind = type(value).__name__
        raise self._error(place, column, f"expected a text, found a value of type {kind}")

    def _id(self, i: int, row: Row, place: str) -> tuple[int, object]:
        """Return page id and original id."""
        column = self.id_column
        if not column:
            return i, i
        value = row.get(column)
        if value is None or _is_missing(value) or value == "":
            raise self._error(place, column, "no id; give each row one, or name another column")
        if (number := _whole(value)) is not None:
            if -(2**63) <= number < 2**63:
                return number, number
            return made_page_id(str(number)), number
        if not isinstance(value, str):
            raise self._error(
                place, column, f"an id is a whole number or a string, found {_shown(value)}"
            )
        value = self._clean(value, place, column)
        if value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS:
            number = int(value)
            if str(number) == value and number < 2**63:
                return number, number
        return made_page_id(value), value

    def _revision(self, row: Row, place: str) -> tuple[int, str, str, str]:
        """Return revision id, time, language and licence."""
        if self.is_articles:
            given = row.get("revision_id")
            number = _whole(int(given) if isinstance(given, str) and given.isdecimal() else given)
            if given is not None and (number is None or abs(number) >= 2**63):
                raise self._error(
                    place, "revision_id", f"expected a whole number, found {_shown(given)}"
                )
            time, language, license_ = (
                self._string_or_empty(row, name) for name in ("timestamp", "language", "license")
            )
            if not language or not (self.is_exported or LANGUAGE.fullmatch(language)):
                language = self._language(row)
            return number or 0, time, language, license_
        if self.is_structured:
            revision_id, time, language, license_ = structured_revision(row)
            return revision_id, time, self.language or language or "en", license_
        return 0, "", self._language(row), ""

    def _language(self, row: Row) -> str:
        """Return the language that was given; else that of a Wikipedia's address; else English."""
        if self.language:
            return self.language
        found = WIKIPEDIA.match(self._string_or_empty(row, self.url_column))
        return found[1].lower() if found else "en"

    def _others(self, row: Row, language: str, *, is_numbered: bool) -> dict[str, Value]:
        """Return the columns that come along. The ids do, unless they are page ids by name and
        value.
        """
        others = structured_columns(row, language) if self.is_structured else {}
        for name, value in row.items():
            if name in self._used or (is_numbered and name == self.id_column and name in ID_NAMES):
                continue
            if self.is_articles and name == COLUMNS and (exported := _exported(value)) is not None:
                others |= exported
            elif isinstance(value, str):
                others[name] = str(value)
            elif (plain := _plain(value)) is not _NO_VALUE:
                others[name] = plain
            else:
                self._nested.add(name)
        return others

    def _string_or_empty(self, row: Row, column: str) -> str:
        value = row.get(column) if column else None
        if value is None or _is_missing(value):
            return ""
        return self._clean(str(value), "", column)

    def _clean(self, text: str, place: str, column: str) -> str:
        """Return `text` with line ends of one character, in NFC, as an article has it."""
        if type(text) is not str:
            text = str(text)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._error(
                place, column, f"half a surrogate pair at character {error.start}"
            ) from error
        return unicodedata.normalize("NFC", text)

    def _error(self, place: str, column: str, what: str) -> CorpusFormatError:
        where = ", ".join(part for part in (place, f"column {column!r}" if column else "") if part)
        return CorpusFormatError(f"{self.source}, {where}: {what}")

    def _listed(self) -> str:
        shown = ", ".join(map(repr, self.columns[:SHOWN_COLUMNS])) or "none"
        n_more = len(self.columns) - SHOWN_COLUMNS
        return shown + (f" and {n_more} more" if n_more > 0 else "")


def _whole(value: object) -> int | None:
    """Return the whole number that a value is, also as a float; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    if isinstance(value, Integral):
        return int(value)
    return int(float(value)) if float(value).is_integer() else None


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN, or pandas' NA or NaT, which differ from themselves or say no."""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, Real) and bool(value != value)  # noqa: PLR0124 - NaN
    )


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _exported(value: object) -> dict[str, Value] | None:
    """Return the columns of an article as an export writes them; None if it is something else."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return columns_in({COLUMNS: value}) if isinstance(value, dict) else None


_NO_VALUE = object()


def _plain(value: Any) -> Any:
    """Return a number, a date, a missing or another single value as a store can hold it; else
    `_NO_VALUE`.
    """
    plain: Any = _NO_VALUE
    if value is None or _is_missing(value):
        plain = None
    elif isinstance(value, bool):
        plain = value
    elif isinstance(value, Integral):
        number = int(value)
        plain = number if -(2**63) <= number < 2**63 else str(number)
    elif isinstance(value, Real):
        plain = float(value)
    elif isinstance(value, dt.date | dt.time):
        plain = value.isoformat()
    elif isinstance(value, AS_TEXT) or type(value).__name__ in OF_PANDAS:
        plain = str(value)
    elif hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a scalar of NumPy
        plain = _plain(value.item())
    return plain
