"""Columns of a wiki's article: its categories, Wikidata id, length and quality.

    categories   names without the namespace, in the order of the page; without sort keys
    wikidata     the item of Wikidata, "Q42"
    length       characters of the wikitext
    quality      "featured", "good" or "stub", by templates of the page

A column that a source does not tell is left out. Wikitext is scanned little, as main text is
extracted at 30 million characters a second: `str.find` finds the first link to a category in the
usual spelling, and other spellings are looked for from a little before it on; templates of quality
stand at the beginning or the end of a page; comments and `<nowiki>` are looked for only where one
may hide what was found.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from corpora.articles.article import Value
from corpora.articles.main_sections import unescaped

CATEGORIES, WIKIDATA, LENGTH, QUALITY = "categories", "wikidata", "length", "quality"
QUALITIES = ("featured", "good", "stub")  # The first one that a page has is its quality

QUALITY_TEMPLATES = """
en      featured  Featured article
en      good      Good article
en      stub      Stub, *-stub
simple  featured  Very good article, Vgood
simple  good      Good article, Good
simple  stub      Stub, *-stub
de      featured  Exzellent
de      good      Lesenswert
fr      featured  Article de qualité
fr      good      Bon article
fr      stub      Ébauche, Ebauche
es      featured  Artículo destacado
es      good      Artículo bueno
it      featured  Vetrina
it      good      Voce di qualità
it      stub      S, Stub
pt      featured  Artigo destacado
pt      good      Artigo bom
pt      stub      Esboço, Esboço-*
nl      featured  Etalage
nl      stub      Beginnetje
sv      featured  Utmärkt
sv      good      Bra
sv      stub      Stub, *stub
pl      featured  Medal
pl      good      Dobry artykuł
pl      stub      Stub
ru      featured  Избранная статья
ru      good      Хорошая статья
ru      stub      Stub, *-stub, Заготовка
uk      featured  Вибрана стаття
uk      good      Добра стаття
uk      stub      Stub, *-stub
cs      featured  Nejlepší článek
cs      good      Dobrý článek
cs      stub      Pahýl
tr      featured  Seçkin madde
tr      good      Kaliteli madde
tr      stub      Taslak, *-taslak
he      featured  ערך מומלץ
he      stub      קצרמר
ar      featured  مقالة مختارة
ar      good      مقالة جيدة
ar      stub      بذرة, بذرة *
ko      featured  알찬 글
ko      good      좋은 글
ko      stub      토막글
ja      featured  Featured article
ja      good      Good article
ja      stub      Stub, *-stub
zh      featured  Featured article
zh      good      Good article
zh      stub      Stub, *-stub
"""
"""Language, quality and the templates that give it; `*` stands for any characters."""

MAX_BYTES = 255  # Bytes of a title
NEAR = 5_000
"""Characters before the first category in the usual spelling in which others are looked for."""
END = 10_000
"""Characters at the beginning and the end of a page in which templates of quality stand."""
USUAL_NAMES = 3  # Names of the category namespace of a wiki that tells its own, at most
HIDDEN = re.compile(
    r"<(?:!--|(?P<name>nowiki|pre|source|syntaxhighlight|math|includeonly)(?:\s[^<>]*)?>)",
    re.IGNORECASE,
)
MARKS = re.compile("[\u200e\u200f\u202a-\u202e]+")  # Of the direction of writing; in no title
ITEM = re.compile(r"Q[1-9][0-9]{0,17}")


def page_columns(
    categories: Iterable[str] = (), wikidata: object = None, length: int = 0, quality: str = ""
) -> dict[str, Value]:
    """Return the columns of an article, less those that are empty or, as a Wikidata id, none."""
    columns: dict[str, Value] = {}
    if names := tuple(dict.fromkeys(categories)):
        columns[CATEGORIES] = names
    if isinstance(wikidata, str) and ITEM.fullmatch(wikidata):
        columns[WIKIDATA] = wikidata
    if length:
        columns[LENGTH] = length
    if quality:
        columns[QUALITY] = quality
    return columns


def categories_in(
    wikitext: str, namespaces: frozenset[str], *, capitalized: bool = True
) -> list[str]:
    """Return the categories that a page puts itself into, in its order.

    `namespaces` are the names of the wiki's category namespace, in lower case; names begin with a
    capital on most wikis. Takes linear time.
    """
    starts = (wikitext.find(each) for each in usual_beginnings(namespaces))
    start = max(next((each for each in starts if each >= 0), 0) - NEAR, 0)
    found = shown(category_link(namespaces).finditer(wikitext, start), wikitext)
    names = (category_name(link["name"], capitalized=capitalized) for link in found)
    return list(dict.fromkeys(filter(None, names)))


def category_name(written: str, *, capitalized: bool = True) -> str:
    """Return a category's name as the wiki shows it; empty if it is no title."""
    name = unescaped(written) if "&" in written else written
    if not name.isascii():
        name = MARKS.sub("", name)
    name = " ".join(name.replace("_", " ").split())
    if capitalized and name[:1].islower() and len(first := name[0].upper()) == 1:
        name = first + name[1:]
    is_short = len(name) <= MAX_BYTES // 4 or len(name.encode(errors="replace")) <= MAX_BYTES
    return name if is_short else ""


def quality_in(wikitext: str, language: str) -> str:
    """Return the best quality that templates of a page give it; empty if none does. Takes linear
    time.
    """
    pattern = quality_template(language)
    if pattern is None:
        return ""
    ends = (
        pattern.finditer(wikitext, 0, END),
        pattern.finditer(wikitext, max(len(wikitext) - END, END)),
    )
    found = {match.lastgroup or "" for match in shown(chain(*ends), wikitext)}
    return next((each for each in QUALITIES if each in found), "")


def quality_of(templates: Iterable[str], language: str) -> str:
    """Return the best quality that these templates, with or without their namespace, give."""
    names = (each.rpartition(":")[2].strip() for each in templates)
    return quality_in("".join(f"{{{{{name}}}}}" for name in names), language)


def shown(found: Iterator[re.Match[str]], wikitext: str) -> Iterator[re.Match[str]]:
    """Yield the matches, in their order, that are in no comment and no `<nowiki>` or the like."""
    hidden: Iterator[tuple[int, int]] | None = None
    start = end = -1
    for match in found:
        if hidden is None:
            hidden = hidden_parts(wikitext) if may_be_hidden(wikitext, match.start()) else iter(())
        while end <= match.start():
            start, end = next(hidden, (len(wikitext), len(wikitext) + 1))
        if match.start() < start:
            yield match


def may_be_hidden(wikitext: str, start: int) -> bool:
    """Return whether what follows `start` may be in a comment or tag, which then ends behind it."""
    comment = wikitext.rfind("<!--", 0, start)
    is_open = comment >= 0 and wikitext.find("-->", comment, start) < 0
    return is_open or any(wikitext.find(each, start) >= 0 for each in ("<!--", "-->", "</"))


def hidden_parts(wikitext: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of comments and of tags whose content is no wikitext."""
    position = 0
    unclosed: set[str] = set()
    while opening := HIDDEN.search(wikitext, position):
        position, name = opening.end(), (opening["name"] or "").lower()
        if not name:
            end = wikitext.find("-->", position)
            position = len(wikitext) if end < 0 else end + len("-->")
        elif opening[0].endswith("/>") or name in unclosed:
            continue
        else:
            closing = closing_tag(name).search(wikitext, position)
            if closing is None:
                unclosed.add(name)  # searched once for each name: the scan stays linear
                continue
            position = closing.end()
        yield opening.start(), position


@cache
def closing_tag(name: str) -> re.Pattern[str]:
    """Pattern of `</name>`."""
    return re.compile(rf"</{name}\s*>", re.IGNORECASE)


@cache
def usual_beginnings(namespaces: frozenset[str]) -> tuple[str, ...]:
    """Return how links to categories begin in the usual spelling, the wiki's own name first."""
    names = sorted(namespaces, key=lambda name: (name == "category", name))
    return tuple(f"[[{n.capitalize()}:" for n in names) if len(names) <= USUAL_NAMES else ()


@cache
def category_link(namespaces: frozenset[str]) -> re.Pattern[str]:
    """Pattern of a link that puts a page into a category, its `name` as written."""
    names = "|".join(re.escape(n).replace(r"\ ", "[ _]").replace("_", "[ _]") for n in namespaces)
    return re.compile(
        rf"\[\[[ _]*(?:{names})[ _]*:(?P<name>[^\[\]{{}}|<>#\n]++)(?:\|[^\[\]]*+)?+\]\]",
        re.IGNORECASE,
    )


@cache
def quality_template(language: str) -> re.Pattern[str] | None:
    """Pattern of the templates that tell quality, a group for each; None if none is known."""
    names: dict[str, list[str]] = {}
    for line in QUALITY_TEMPLATES.strip().splitlines():
        code, quality, listed = line.split(maxsplit=2)
        if code == language:
            names[quality] = [_pattern_of(each) for each in listed.split(", ")]
    groups = "|".join(f"(?P<{each}>{'|'.join(names[each])})" for each in names)
    return re.compile(rf"\{{\{{\s*+(?:{groups})\s*+(?=\||\}}\}})") if groups else None


def _pattern_of(template: str) -> str:
    """Return the pattern of a template's name: its first letter counts in either case."""
    pieces = [re.escape(piece).replace(r"\ ", "[ _]+") for piece in template.split("*")]
    if pieces[0]:
        first = template[0]
        pieces[0] = f"[{first.upper()}{first.lower()}]{pieces[0][len(re.escape(first)) :]}"
    return r"[^{}|\[\]<>\n]{0,100}".join(pieces)
