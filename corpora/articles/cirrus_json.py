"""Articles from Wikimedia's search-index dumps, which are pairs of lines for Elasticsearch.

    {"index": {"_id": "12", "_index": "enwiki_content"}}
    {"title": …, "namespace": 0, "wiki": "enwiki", "version": …, "source_text": …, "text": …, …}

The first line of a pair, the action, names the page; the second is the document of that page.

A document holds the page twice. `source_text` is its wikitext. `text` is the page as the search
engine extracts it: without tables and captions, but also without headings and line breaks, and with
reference lists, whose start cannot be found. So the main text is taken from `source_text`, and from
`text` only if there is no `source_text`, or if the caller prefers speed to accuracy.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Literal

from corpora.articles.article import Article, Value
from corpora.articles.compressed import read_chunks
from corpora.articles.json_lines import json_object, read_lines, string, whole_number
from corpora.articles.main_sections import CUT, tidy, without_invisible
from corpora.articles.page import (
    REDIRECT,
    UNKNOWN_LANGUAGE,
    Page,
    Site,
    Skipped,
    article_of,
    categories_of,
)
from corpora.articles.page_columns import category_name, page_columns, quality_in, quality_of, shown
from corpora.articles.wikitext import main_text
from corpora.errors import CorpusFormatError
from corpora.files import PathLike

TextField = Literal["auto", "wikitext", "extracted"]
"""Field that the text is read from; "auto": wikitext if there is some, else extracted text."""

MAX_LINE_BYTES = 1 << 25
"""A page has at most 2 MiB of wikitext, three times as much with JSON escapes, and other fields."""
MAX_ACTION_BYTES = 1 << 12
MAX_COMMAS = 1 << 21
"""Commas in a document; bounds the number of its values, and so the memory of parsing."""
MAX_RATIO = 100
"""Decompressed bytes per compressed byte. Real dumps have 5 to 10, a bomb thousands."""
UNCHECKED_BYTES = 1 << 26  # Bytes after which the ratio is checked; before, it says little

WIKI_NAME = re.compile(
    r"(?P<code>simple|[a-z]{2,3}(?:_[a-z]{1,20}){0,3})"
    r"(?P<family>wiki|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage)"
)
SPECIAL_HOSTS = {
    "be_x_oldwiki": "be-tarask.wikipedia.org",
    "commonswiki": "commons.wikimedia.org",
    "incubatorwiki": "incubator.wikimedia.org",
    "mediawikiwiki": "www.mediawiki.org",
    "metawiki": "meta.wikimedia.org",
    "outreachwiki": "outreach.wikimedia.org",
    "sourceswiki": "wikisource.org",
    "specieswiki": "species.wikimedia.org",
    "wikidatawiki": "www.wikidata.org",
}
"""Hosts that do not follow from the name of the database."""

LONE_ACTION = re.compile(rb'\s*\{\s*"(?:index|create|update|delete)"\s*:\s*\{')
FILE_LINK = re.compile(
    r"\[\[[^\[\]|:\n<>{}#]{1,40}:(?=[^\[\]|:\n<>{}]{1,250}\."
    r"(?:jpe?g|png|svg|gif|webp|tiff?|xcf|og[agv]|opus|webm|mp3|wav|flac|mid|pdf|djvu)\s*[|\]])",
    re.IGNORECASE,
)
ANY_PREFIX = re.compile(r"\[\[[^\[\]|:\n<>{}#]{1,40}:(?P<name>[^\[\]|\n<>{}#]{1,255}+)(?=\||\]\])")
CATEGORY_LINE = re.compile(
    r"^\[\[[^\[\]|:\n<>{}#]{1,40}:(?P<name>[^\[\]|\n<>{}#]{1,255}+)"
    r"(?=(?:\|[^\[\]\n]{0,255}+)?\]\][^\S\n]*+$)",
    re.MULTILINE,
)
INLINE_HEADING = re.compile(r"(?<= )(={2,6}) ?([^=\n]{1,200}?) ?\1(?= |$)")
INLINE_TABLE = re.compile(r" (?=\{\||\|\})")
TEX_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
DISPLAYED_FORMULA = re.compile(r"\{\\(?:displaystyle|textstyle)\b")


@dataclass(frozen=True, slots=True)
class CirrusRecord:
    """One pair of lines with the document not yet parsed."""

    place: str  # File and line of the document, for error messages
    page_id: int | None  # None if the action names no number
    wiki: str  # Empty if the action names none
    document: bytes
    whole: bool  # Whether the end of the line is in the file


def read_records(
    path: PathLike, progress_bytes: Callable[[int], None] | None = None
) -> Iterator[CirrusRecord]:
    """Split a search-index dump, plain or .bz2, .gz or .xz, into its pairs of lines. Memory is
    bounded by `MAX_LINE_BYTES`. `progress_bytes` is called with the number of bytes of the file
    read so far. Raises OSError if the file cannot be read; CorpusFormatError if it is not such a
    dump, is damaged, incomplete or a decompression bomb, after the records before the fault.
    """
    number = 0
    action: tuple[int | None, str] | None = None
    for number, line, whole in read_lines(read_checked_chunks(path, progress_bytes)):
        if line.isspace() or not line:
            continue
        if action is not None and len(line) < MAX_ACTION_BYTES and LONE_ACTION.match(line):
            raise CorpusFormatError(
                f"{path}, line {number}: expected the document of the action before it, found"
                " another action; the file is damaged: download it again"
            )
        if action is not None:
            yield CirrusRecord(f"{path}, line {number}", *action, line, whole)
            action = None
        else:
            action = parse_action(line, whole, f"{path}, line {number}")
    if action is not None:
        raise CorpusFormatError(
            f"{path}, line {number}: the file ends after an action, before its document; it is"
            " incomplete: download it again"
        )


def read_document(record: CirrusRecord, text: TextField = "auto") -> Article | Skipped:
    """Parse the document of a record; CorpusFormatError names file and line if it is malformed."""
    try:
        return article_in(parse_document(record), record, text)
    except (ValueError, RecursionError) as error:
        end = "" if record.whole else "; the file ends here, incomplete: download it again"
        raise CorpusFormatError(f"{record.place}: {error}{end}") from error


def read_checked_chunks(
    path: PathLike, progress_bytes: Callable[[int], None] | None
) -> Iterator[bytes]:
    """Yield the content of a file, unless it is a decompression bomb or has too long a line."""
    n_read = n_given = n_unfinished = 0

    def note(n_bytes: int) -> None:
        nonlocal n_read
        n_read = n_bytes
        if progress_bytes is not None:
            progress_bytes(n_bytes)

    for chunk in read_chunks(path, note):
        n_given += len(chunk)
        # For a pipe, the number of bytes read is not known and given as 0.
        if n_given > UNCHECKED_BYTES and n_read and n_given > MAX_RATIO * n_read:
            raise CorpusFormatError(
                f"{path}: {n_read:,} bytes hold more than {n_given:,}: this is a decompression"
                " bomb, not a search-index dump"
            )
        yield chunk
        last_line = chunk.rpartition(b"\n")[2]
        n_unfinished = len(last_line) + (n_unfinished if len(last_line) == len(chunk) else 0)
        if n_unfinished > MAX_LINE_BYTES:
            raise CorpusFormatError(
                f"{path}: a line is longer than {MAX_LINE_BYTES >> 20} MiB, as none of a"
                " search-index dump is"
            )


def parse_action(line: bytes, whole: bool, place: str) -> tuple[int | None, str]:
    """Return the page id, if it is a number, and the wiki that an action names."""
    fields: Any = None
    if len(line) < MAX_ACTION_BYTES:
        try:
            fields = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            fields = None
    target = None
    if isinstance(fields, dict) and len(fields) == 1:
        target = fields.get("index", fields.get("create"))
    if not isinstance(target, dict):
        what = "is this a search-index dump? If so, the file is damaged: download it again"
        if not whole:
            what = "the file ends in the middle of it; it is incomplete: download it again"
        raise CorpusFormatError(
            f'{place}: expected an action such as {{"index": {{"_id": "12"}}}}, found'
            f" {line[:40].decode(errors='replace')!r}; {what}"
        )
    index = target.get("_index")
    wiki = re.match(r"[a-z_]{1,40}?(?=_(?:content|general)(?![a-z]))", str(index)[:60])
    try:
        return whole_number(target, "_id"), wiki[0] if wiki else ""
    except ValueError:
        return None, wiki[0] if wiki else ""


def parse_document(record: CirrusRecord) -> dict[str, object]:
    """Return the fields of a document; raise ValueError if it is malformed."""
    if record.document.count(b",") > MAX_COMMAS:
        raise ValueError(f"more than {MAX_COMMAS} values, as no document has")
    return json_object(record.document, "utf-8")


def article_in(
    fields: dict[str, object], record: CirrusRecord, text: TextField
) -> Article | Skipped:
    """Return the article in a document; raise ValueError if a field is malformed."""
    page_id = record.page_id if record.page_id is not None else whole_number(fields, "page_id")
    if page_id is None or page_id < 1:
        raise ValueError(f"no page id: expected a number from 1 on, found {page_id}")
    title = string(fields, "title")
    name = title or str(page_id)
    source = fields.get("source_text")
    if fields.get("namespace", 0) != 0:
        return Skipped("other namespace", name)
    if fields.get("page_type") == "redirect" or REDIRECT.match(str(source or "")):
        return Skipped("redirect", name)
    if fields.get("content_model", "wikitext") != "wikitext":
        return Skipped("not wikitext", name)
    page = Page(
        site=site_of(string(fields, "wiki") or record.wiki, string(fields, "language")),
        page_id=page_id,
        revision_id=whole_number(fields, "version") or 0,
        title=title,
        timestamp=iso_timestamp(fields.get("timestamp")),
        wikitext=source if isinstance(source, str) else "",
    )
    found = ""
    if title and source and text != "extracted":
        site, wikitext = page.site, usual_wikitext(string(fields, "source_text"), fields)
        found = main_text(wikitext, site.file_namespaces, site.category_namespaces)
    elif title and text != "wikitext":
        found = extracted_text(string(fields, "text"), string(fields, "opening_text"))
    article = article_of(page, found, columns_in(fields, page)) if found else None
    return article or Skipped("no text", name)


def columns_in(fields: dict[str, object], page: Page) -> dict[str, Value]:
    """Return the columns of an article: of the page's categories those that its wikitext names,
    where it names some, as for other sources. The others come from templates, and most of them are
    for the upkeep of the wiki.
    """
    wikitext, site = page.wikitext, page.site
    name_of = partial(category_name, capitalized=site.is_capitalized)
    listed = [name for each in strings_in(fields, "category") if (name := name_of(each))]
    named = shown(ANY_PREFIX.finditer(wikitext), wikitext) if listed else ()
    names = {name_of(link["name"]) for link in named}
    categories = [each for each in listed if each in names] or listed or categories_of(page)
    if wikitext:
        quality = quality_in(wikitext, site.language)
    else:
        quality = quality_of(strings_in(fields, "template"), site.language)
    return page_columns(categories, fields.get("wikibase_item"), len(wikitext), quality)


def strings_in(fields: dict[str, object], name: str) -> list[str]:
    """Return the strings of a list; empty if it is none."""
    listed = fields.get(name)
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


@lru_cache(maxsize=256)
def site_of(wiki: str, language: str) -> Site:
    """Return the wiki of a database name, such as `zh_min_nanwiki`. The language is that of the
    name if it has one, as a document of `simplewiki` says `en`. The address is empty for wikis that
    are not Wikimedia's.
    """
    match = WIKI_NAME.fullmatch(wiki)
    host = SPECIAL_HOSTS.get(wiki, "")
    if match and not host:
        family = match["family"]
        domain = "wikipedia" if family == "wiki" else family
        host = f"{match['code'].replace('_', '-')}.{domain}.org"
    if match:
        language = match["code"].replace("_", "-")
    return Site.described(
        language or UNKNOWN_LANGUAGE,
        "",
        f"https://{host}/wiki/" if host else "",
        (),
        case="case-sensitive" if match and match["family"] == "wiktionary" else "",
    )


def iso_timestamp(value: object) -> str:
    """Return a time as ISO 8601 in UTC; empty if `value` is not a time."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{14}", value):  # MediaWiki's own form
        value = f"{value[:8]}T{value[8:]}Z"
    try:
        if isinstance(value, int) and not isinstance(value, bool):  # Elasticsearch: milliseconds
            time = datetime.fromtimestamp(value // 1000, UTC)
        elif isinstance(value, str):
            time = datetime.fromisoformat(value)
        else:
            return ""
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return time.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
    except (ValueError, OverflowError, OSError):
        return ""


def usual_wikitext(wikitext: str, fields: dict[str, object]) -> str:
    """Return wikitext with the English namespaces for files and categories. These dumps do not list
    the namespaces of the wiki: a link to a name of a picture or sound is a file, one alone on its
    line to a category of the page is a category.
    """
    if "\n" not in wikitext and INLINE_HEADING.search(wikitext):
        # The line breaks became spaces: restore them around headings and tables.
        wikitext = INLINE_TABLE.sub("\n", INLINE_HEADING.sub(r"\n\1 \2 \1\n", wikitext))
    wikitext = FILE_LINK.sub("[[File:", wikitext)
    categories = set(strings_in(fields, "category"))

    def in_english(link: re.Match[str]) -> str:
        name = " ".join(link["name"].replace("_", " ").split())
        known = name in categories or name[:1].upper() + name[1:] in categories
        return f"[[Category:{name}" if known else link[0]

    return CATEGORY_LINE.sub(in_english, wikitext) if categories else wikitext


def extracted_text(text: str, opening: str) -> str:
    """Return the search engine's text without TeX, marks such as [citation needed] and invisible
    characters. The lead becomes a paragraph. Reference lists stay: nothing marks their start.
    """
    text, opening = tidy(without_formulas(text)), tidy(without_formulas(opening))
    if opening and text.startswith(opening):
        text = f"{opening}\n\n{text[len(opening) :].strip()}".strip()
    return text


def without_formulas(text: str) -> str:
    """Return `text` with `CUT` in place of each formula."""
    text = without_invisible(text.replace("\r", "\n").replace("\t", " "))
    kept: list[str] = []
    position = 0
    while match := DISPLAYED_FORMULA.search(text, position):
        end = end_of_braces(text, match.start())
        if end is None:
            break
        kept.append(text[position : match.start()])
        position = end
    return CUT.join([*kept, text[position:]])


def end_of_braces(text: str, start: int) -> int | None:
    """Return the end of the braces that open at `start`; None if they are never closed."""
    depth = 0
    for match in TEX_BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.end()
    return None
