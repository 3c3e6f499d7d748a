"""Text of a row of Wikimedia's structured snapshots: abstract and sections, as a tree of parts.

    {"name": "Early life", "type": "section", "has_parts": [
        {"type": "paragraph", "value": "She was born in …", "links": […]},
        {"type": "section", "name": "Youth", "has_parts": […]}]}

Paragraphs and the headings of sections are taken; lists, tables and sections of references are not.
The first section is often called Abstract, and is then the whole of what `abstract` begins.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from corpora.articles.article import Value
from corpora.articles.main_sections import joined, tidy, without_apparatus
from corpora.articles.page_columns import category_name, page_columns, quality_of

MAX_DEPTH = 50
NESTED = ("sections", "version", "license", "in_language", "main_entity", "categories", "templates")
"""Columns of objects that are read."""


def structured_text(row: Mapping[str, object], error: Callable[[str], Exception]) -> str:
    """Return the text of a row; `error` makes the error of a row of another form."""
    abstract = row.get("abstract") or ""
    if not isinstance(abstract, str):
        raise error(f"the abstract is of type {type(abstract).__name__}, expected a text")
    sections: Any = row.get("sections")
    if isinstance(sections, str):
        try:
            sections = json.loads(sections) if sections.strip() else []
        except (ValueError, RecursionError) as fault:
            raise error(f"not valid JSON ({fault})") from fault
    if sections is None:
        sections = []
    if not isinstance(sections, list):
        raise error(f"expected a list of sections, found {type(sections).__name__}")
    blocks: list[tuple[int, str]] = []
    first = sections[0] if sections else None
    if isinstance(first, Mapping) and first.get("name") == "Abstract":
        blocks += _blocks(first.get("has_parts"), 2, error)
        sections = sections[1:]
    blocks = blocks or [(0, tidy(abstract))]
    blocks += without_apparatus(_blocks(sections, 2, error))
    return joined(blocks)


def structured_revision(row: Mapping[str, object]) -> tuple[int, str, str, str]:
    """Return revision id, time, language and licence; 0 or empty where the row does not say."""
    version, languages = _object(row.get("version")), _object(row.get("in_language"))
    licenses = _parsed(row.get("license"))
    first = _object(licenses[0] if isinstance(licenses, list) and licenses else None)
    revision_id = version.get("identifier")
    is_whole = isinstance(revision_id, int) and 0 <= revision_id < 2**63
    time, language, name = row.get("date_modified"), languages.get("identifier"), first.get("name")
    return (
        int(str(revision_id)) if is_whole else 0,
        time if isinstance(time, str) else "",
        language if isinstance(language, str) else "",
        name if isinstance(name, str) else "",
    )


def structured_columns(row: Mapping[str, object], language: str) -> dict[str, Value]:
    """Return the columns that a wiki's article has, as far as the row tells them."""
    categories, templates = (_names(row.get(each)) for each in ("categories", "templates"))
    return page_columns(
        (name for c in categories if (name := category_name(c.partition(":")[2] or c))),
        _object(row.get("main_entity")).get("identifier"),
        quality=quality_of(templates, language),
    )


def _names(value: object) -> list[str]:
    """Return the names of a list of objects; empty if it is none."""
    listed = _parsed(value)
    objects = filter(None, map(_object, listed)) if isinstance(listed, list) else ()
    names = (each.get("name") for each in objects)
    return [name for name in names if isinstance(name, str)]


def _parsed(value: object) -> object:
    """Return a value, or what the JSON in a string says; None if it is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _object(value: object) -> Mapping[str, Any]:
    parsed = _parsed(value)
    return parsed if isinstance(parsed, Mapping) else {}


def _blocks(parts: Any, level: int, error: Callable[[str], Exception]) -> Iterator[tuple[int, str]]:
    """Yield headings as (level, title) and paragraphs as (0, text)."""
    if parts is None:
        return
    if not isinstance(parts, list) or level > MAX_DEPTH:
        raise error("expected a list of parts, at most 50 deep")
    for part in parts:
        if not isinstance(part, Mapping):
            raise error(f"expected a part with its type, found {type(part).__name__}")
        kind, name, value = part.get("type"), part.get("name"), part.get("value")
        if kind == "section":
            if isinstance(name, str) and (title := tidy(name)):
                yield min(level, 6), title
            yield from _blocks(part.get("has_parts"), level + 1, error)
        elif kind == "paragraph" and isinstance(value, str):
            yield 0, tidy(value)
