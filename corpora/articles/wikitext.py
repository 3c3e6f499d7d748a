"""Wikitext → main text: what a reader of the article reads, without the apparatus around it.

What is dropped whole (comments, templates, tables, references, galleries, formulas, pictures with
their captions) is cut by scans that match openers with closers; then sections are chosen, and the
inline markup of what is left gives way to the text it shows. Each step is one pass that takes
linear time on any input. A full parser does not: mwparserfromhell, which the tests use as their
oracle, takes most of a minute on 600 malformed characters and twice as long for every 20 more.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAMESPACES_OF_FILES = """
file image media datei bild fichier archivo imagen immagine ficheiro imagem bestand afbeelding fil
bilde plik grafika файл изображение ファイル 画像 文件 图像 檔案 파일 ملف קובץ
"""
NAMESPACES_OF_CATEGORIES = """
category kategorie catégorie categoría categoria categorie kategori kategoria категория カテゴリ
分类 分類 분류 تصنيف קטגוריה
"""
FILE_NAMESPACES = frozenset(NAMESPACES_OF_FILES.split())
"""Where pictures and sounds are: the English names, which every wiki knows, and those of the main
languages with the older aliases that a dump's siteinfo does not list."""
CATEGORY_NAMESPACES = frozenset(NAMESPACES_OF_CATEGORIES.split())

TITLES_OF_APPARATUS = """
references, reference, reference list, notes, note, footnotes, footnote, endnotes, citations
sources, bibliography, general bibliography, works cited, cited works, cited sources
cited references, literature cited, references cited, general references, general sources
general and cited references, general and cited sources, explanatory notes, explanatory footnotes
external links, external link, external sources, web links, related links, see also
further reading, additional reading, suggested reading, recommended reading

einzelnachweise, einzelnachweis, weblinks, weblink, literatur, siehe auch, anmerkungen, anmerkung
quellen, fußnoten, belege, nachweise

références, voir aussi, liens externes, lien externe, bibliographie, annexes, articles connexes
article connexe, notes et références

referencias, véase también, enlaces externos, enlace externo, bibliografía, notas, fuentes
bibliografía adicional, lecturas adicionales

bibliografia, voci correlate, altri progetti, collegamenti esterni, riferimenti, fonti

referências, ver também, ligações externas, ligação externa, leitura adicional
leitura complementar, fontes

referenties, zie ook, externe links, externe link, externe koppelingen, bronnen, bron, noten
voetnoten, literatuur
"""
APPARATUS = frozenset(re.split(r"\s*[,\n]\s*", TITLES_OF_APPARATUS.strip()))
"""Titles, in lower case, of the top-level sections that are not main text: in English, German,
French, Spanish, Italian, Portuguese and Dutch."""

APPARATUS_JOINT = re.compile(r"\s*(?:[,/&;]|\b(?:and|und|et|y|e|en|of|or)\b)\s*")
"""`Notes and references` is apparatus because `notes` and `references` are."""

CUT = "\x1f"
"""Stands where something was cut, so that what it leaves behind, `( , )`, can be told from text.

This control character is white space to `str.strip` and to regular expressions."""

SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\xad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
MAGIC_WORD = re.compile(r"__[^\W\da-z]+?__")

OPAQUE = re.compile(
    r"<(?:!--|(?P<name>nowiki|pre|ref|references|gallery|math|chem|ce|code|source|syntaxhighlight"
    r"|score|timeline|imagemap|graph|chart|hiero|inputbox|categorytree|templatedata|templatestyles"
    r"|mapframe|maplink|indicator|includeonly|style|script)(?:\s[^<>]*)?/?>)",
    re.IGNORECASE,
)
BRACES = re.compile(r"(?P<open>\{\{(?:\{(?!\{))?)|\}\}(?:\}(?!\}))?")
TABLE = re.compile(
    rf"(?P<open>^[ {CUT}:*#;]*\{{\||<table\b[^<>]*>)|^[ {CUT}]*\|\}}|</table\s*>",
    re.MULTILINE | re.IGNORECASE,
)
BRACKETS = re.compile(r"(?P<open>\[\[)|\]?\]\](?!\])|\]\]")
INTERLANGUAGE = re.compile(r"\[\[ ?(?:[a-z]{2,3}(?:-[a-z]{2,})*|simple):[^\s|\[\]][^|\[\]\n]*\]\]")
LINE_TAG = re.compile(
    r"</?(?:br|p|div|blockquote|li|ul|ol|dl|dt|dd|hr|center|poem)(?:[\s/][^<>]*)?>", re.IGNORECASE
)
TAG = re.compile(r"</?[a-z][a-z0-9]*(?:[\s/][^<>]*)?>", re.IGNORECASE)

TABLE_REMNANT = re.compile(r"[\s:]*(?:\||\{\||!.*(?:!!|\|)|-{4,}\s*$)")
LIST_MARK = re.compile(r"^\s*[*#:;]+")
WORD = re.compile(r"[^\W_]")
QUOTES = re.compile(r"'{2,}")

# Possessive quantifiers (`*+`) never give back what they took, so that a failure is final.
LINK = re.compile(
    r"\[\[(?P<target>[^\[\]|\n]*+)(?:\|(?P<label>(?:[^\[\]]|\[(?!\[)|\](?!\]))*+))?+\]\]"
)
EXTERNAL_LINK = re.compile(
    r"\[(?:(?:https?|ftp|irc|news)://|//|mailto:)[^\s\[\]]*+[^\S\n]*+"
    r"(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
URL = re.compile(r"\b(?:https?|ftp)://[^\s<>\[\]\"]*[^\s<>\[\]\".,;:!?')]", re.IGNORECASE)

CITATION_MARK = re.compile(
    r"\[(?:\d{1,3}|(?:note|nb|n) \d{1,3}|citation needed|edit)\]", re.IGNORECASE
)
STRAY_MARK = re.compile(r"\{{2,}|\}{2,}|\[{2,}|\]{2,}|</?ref\b(?:[^<>\n]*>)?", re.IGNORECASE)
EMPTY_BRACKETS = re.compile(rf"\([ ,;:/–—{CUT}-]*\)|\[{CUT}\]|\"{CUT}\"|“{CUT}”|«{CUT}»")
AFTER_OPENING = re.compile(rf"(?<=[(\[]){CUT}[ ,;:{CUT}]*")
BEFORE_CLOSING = re.compile(rf"[ ,;:]{{0,9}}{CUT}[ ,;:{CUT}]{{0,9}}(?=[)\]])")
BEFORE_PUNCTUATION = re.compile(rf"[,;]?{CUT}(?=[,.;:!?](?!\w))")


def main_text(
    wikitext: str,
    file_namespaces: frozenset[str] = FILE_NAMESPACES,
    category_namespaces: frozenset[str] = CATEGORY_NAMESPACES,
) -> str:
    """The main text of an article, in the form of `Article.text`; empty if there is none.

    Sections titled References, See also, External links and the like are dropped wherever they
    stand on the top level, with their subsections; a body section after one of them stays. So do
    headings without text below them go.

    The namespaces are names in any case, with spaces or underscores. Anything may be passed as
    wikitext: malformed markup raises nothing, and takes no more than linear time.
    """
    text = INVISIBLE.sub("", wikitext.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " "))
    text = MAGIC_WORD.sub("", cut_opaque(text))
    text = cut(text, pairs(BRACES, text))
    text = cut(text, pairs(TABLE, text))
    text = cut_links(text, link_pattern(file_namespaces | category_namespaces))
    text = TAG.sub("", LINE_TAG.sub("\n", show_links(text)))
    blocks = [(level, tidy(block)) for level, block in main_blocks(text)]
    return unicodedata.normalize("NFC", "\n\n".join(with_text_below(blocks)))


def cut_opaque(text: str) -> str:
    """Cut comments, and the tags whose content is not wikitext with it.

    As in MediaWiki these come first, so that braces in a formula or a comment match nothing. A tag
    that is never closed goes alone; a comment that is never closed reaches to the end.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    position = 0
    while match := OPAQUE.search(text, position):
        kept.append(text[position : match.start()])
        position = match.end()
        name = (match["name"] or "").lower()
        if not name:
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
            if text.startswith("\n", position) and (
                not match.start() or text[match.start() - 1] == "\n"
            ):
                position += 1  # a comment with a line of its own takes the line with it
            continue
        closing = None
        if not match[0].endswith("/>") and name not in unclosed:
            closing = closing_tag(name).search(text, position)
            if closing is None:
                unclosed.add(name)  # searched once for each name: the scan stays linear
        if closing is not None:
            if name == "nowiki":
                kept.append(literal(text[position : closing.start()]))
            position = closing.end()
        if name != "nowiki":
            kept.append(CUT)
    kept.append(text[position:])
    return "".join(kept)


@cache
def closing_tag(name: str) -> re.Pattern[str]:
    """Pattern of `</name>`."""
    return re.compile(rf"</{name}\s*>", re.IGNORECASE)


def literal(text: str) -> str:
    """`text` with its markup characters as entities, which pass through to the end."""
    return re.sub(r"[\[\]{}|'<>=*#:;_]", lambda match: f"&#{ord(match[0])};", text)


def pairs(tokens: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where each opener that is closed begins and its closer ends; inner pairs before outer ones.

    Openers that are never closed and closers that close nothing are passed over.
    """
    openers: list[int] = []
    for token in tokens.finditer(text):
        if token["open"]:
            openers.append(token.start())
        elif openers:
            yield openers.pop(), token.end()


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with every span cut; spans are nested or apart, ordered by their ends."""
    outermost: list[tuple[int, int]] = []
    for start, end in spans:
        while outermost and outermost[-1][0] >= start:
            outermost.pop()
        outermost.append((start, end))
    kept: list[str] = []
    position = 0
    for start, end in outermost:
        kept += text[position:start], CUT
        position = end
    kept.append(text[position:])
    return "".join(kept)


def cut_links(text: str, hidden: re.Pattern[str]) -> str:
    """Cut the links that show no text in place: pictures, captions, categories, other languages."""
    text = cut(text, (span for span in pairs(BRACKETS, text) if hidden.match(text, span[0])))
    text = INTERLANGUAGE.sub(CUT, text)
    return re.sub(hidden.pattern + r"[^\n]*", CUT, text, flags=re.IGNORECASE)  # never closed


@cache
def link_pattern(namespaces: frozenset[str]) -> re.Pattern[str]:
    """Pattern of the beginning of a link into one of the namespaces."""
    names = "|".join(re.escape(name.replace("_", " ")) for name in sorted(namespaces))
    names = names.replace(r"\ ", "[ _]")
    return re.compile(rf"\[\[[ _{CUT}]*(?:{names})[ _]*:", re.IGNORECASE)


def show_links(text: str) -> str:
    """`text` with links as the labels they show, and without addresses."""
    text = LINK.sub(link_label, LINK.sub(link_label, text))  # one may stand in another
    return URL.sub(CUT, EXTERNAL_LINK.sub(lambda link: link["label"] or CUT, text))


def link_label(link: re.Match[str]) -> str:
    """What a link to another page shows."""
    return link["label"] or link["target"].lstrip(":#")


def main_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Headings as (level, title) and paragraphs as (0, lines), less the sections of apparatus."""
    paragraph: list[str] = []
    skipping = False
    for line in text.split("\n"):
        level, title = heading_of(line)
        if (level or not line.strip()) and paragraph:
            yield 0, "\n".join(paragraph)
            paragraph = []
        if level:
            if level == 2:
                skipping = is_apparatus(title)
            if not skipping:
                yield level, title
        elif not skipping and line.strip() and not TABLE_REMNANT.match(line):
            paragraph.append(LIST_MARK.sub("", line))
    if paragraph:
        yield 0, "\n".join(paragraph)


def heading_of(line: str) -> tuple[int, str]:
    """Level and title of a heading line; level 0 if the line is none."""
    line = line.strip()
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    level = min(left, right, 6)
    title = line[level:-level].strip("= " + CUT) if level else ""
    return (max(level, 2), title) if title else (0, "")


def is_apparatus(title: str) -> bool:
    """Whether a section of this title is something else than main text."""
    plain = SPACES.sub(" ", QUOTES.sub("", html.unescape(title))).strip(" :.").lower()
    return plain in APPARATUS or APPARATUS.issuperset(APPARATUS_JOINT.split(plain))


def tidy(text: str) -> str:
    """`text` as it reads: entities decoded, no bold or italic, no debris of cuts, plain spaces."""
    text = SPACES.sub(cut_or_space, html.unescape(QUOTES.sub("", text)))
    if CUT in text:
        text = EMPTY_BRACKETS.sub(lambda match: CUT if CUT in match[0] else match[0], text)
        text = SPACES.sub(cut_or_space, AFTER_OPENING.sub("", BEFORE_CLOSING.sub("", text)))
        text = BEFORE_PUNCTUATION.sub("", text)
    text = STRAY_MARK.sub(" ", INVISIBLE.sub("", CITATION_MARK.sub("", text.replace(CUT, " "))))
    lines = (line.strip() for line in SPACES.sub(" ", text).split("\n"))
    return "\n".join(line for line in lines if WORD.search(line))


def cut_or_space(blanks: re.Match[str]) -> str:
    """What stands for a run of white space and cuts."""
    return CUT if CUT in blanks[0] else " "


def with_text_below(blocks: list[tuple[int, str]]) -> list[str]:
    """Paragraphs and heading lines, less the headings with nothing below them."""
    kept: list[str] = []
    below = 0  # level of what follows: a heading stays if that is text or a deeper heading
    for level, text in reversed(blocks):
        if not text:
            continue
        if level == 0:
            kept.append(text)
            below = 7
        elif level < below:
            kept.append(f"{'=' * level} {text} {'=' * level}")
            below = level
    return kept[::-1]
