"""Wikitext → main text: what a reader of the article reads, without the apparatus around it.

Comments, templates, tables, references, galleries, formulas and pictures are cut by scans that
match
openers with closers; then sections are chosen, and inline markup gives way to the text it shows.
Each step takes linear time on any input. mwparserfromhell, the oracle of the tests, takes most of a
minute on 600 malformed characters and twice as long for every 20 more.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from corpora.articles.inline_templates import show_templates
from corpora.articles.main_sections import (
    CUT,
    joined,
    tidy_blocks,
    unescaped,
    without_apparatus,
    without_invisible,
)
from corpora.articles.page_columns import closing_tag

NAMESPACES_OF_FILES = """
file image media datei bild fichier archivo imagen immagine ficheiro imagem bestand afbeelding fil
bilde plik grafika файл изображение ファイル 画像 文件 图像 檔案 파일 ملف קובץ
"""
NAMESPACES_OF_CATEGORIES = """
category kategorie catégorie categoría categoria categorie kategori kategoria категория カテゴリ
分类 分類 분류 تصنيف קטגוריה
"""
FILE_NAMESPACES = frozenset(NAMESPACES_OF_FILES.split())
"""Namespaces of pictures and sounds: English names, which every wiki knows, and main languages'."""
CATEGORY_NAMESPACES = frozenset(NAMESPACES_OF_CATEGORIES.split())

MAGIC_WORD = re.compile(r"__[^\W\da-z]+?__")

OPAQUE = re.compile(
    r"<(?:(?P<whole>ref(?:\s[^<>]*)?(?:/>|(?<!/)>[^<]*+</ref\s*>))|!--|(?P<name>nowiki|pre|ref|references|gallery|math|chem|ce|code|source|syntaxhighlight"
    r"|score|timeline|imagemap|graph|chart|hiero|inputbox|categorytree|templatedata|templatestyles"
    r"|mapframe|maplink|indicator|includeonly|style|script)(?:\s[^<>]*)?/?>)",
    re.IGNORECASE,
)
OPENS_TABLE, CLOSES_TABLE = rf"[ {CUT}:*#;]*\{{\|", rf"[ {CUT}]*\|\}}"
LINE_OF_TABLE = re.compile(rf"\n(?:(?P<open>{OPENS_TABLE})|{CLOSES_TABLE})")
TABLE = re.compile(
    rf"(?P<open>^{OPENS_TABLE}|<table\b[^<>]*>)|^{CLOSES_TABLE}|</table\s*>",
    re.MULTILINE | re.IGNORECASE,
)
TABLE_TAG = re.compile(r"</?table", re.IGNORECASE)
BRACKETS = re.compile(r"(?P<open>\[\[)|\]?\]\](?!\])|\]\]")
REST_OF_FLAT_LINK = re.compile(r"[^\[\]]*+\]\](?!\])")
INTERLANGUAGE = re.compile(r"\[\[ ?(?:[a-z]{2,3}(?:-[a-z]{2,})*|simple):[^\s|\[\]][^|\[\]\n]*\]\]")
LINE_TAG = re.compile(
    r"</?(?:br|p|div|blockquote|li|ul|ol|dl|dt|dd|hr|center|poem)(?:[\s/][^<>]*)?>", re.IGNORECASE
)
TAG = re.compile(r"</?[a-z][a-z0-9]*(?:[\s/][^<>]*)?>", re.IGNORECASE)

TABLE_REMNANT = re.compile(r"[\s:]*(?:\||\{\||!.*(?:!!|\|)|-{4,}\s*$)")
STARTS_OF_MARKED_LINES = tuple("|{!-:*#;")
LIST_MARK = re.compile(r"^\s*[*#:;]+")
QUOTES = re.compile(r"'''*")

# Possessive quantifiers (`*+`) never give back what they took, so that a failure is final.
LINK = re.compile(
    r"\[\[(?P<target>[^\[\]|\n]*+)(?:\|(?P<label>(?:[^\[\]]++|\[(?!\[)|\](?!\]))*+))?+\]\]"
)
PICTURE = re.compile(
    r"^[^:]+:.*\.(?:jpe?g|png|svg|gif|tiff?|webp|og[agv]|webm|djvu|mp3|wav|flac|stl)\s*$",
    re.IGNORECASE,
)
EXTERNAL_LINK = re.compile(
    r"\[(?:(?:https?|ftp|irc|news)://|//|mailto:)[^\s\[\]]*+[^\S\n]*+"
    r"(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]*+\])*+)\]",
    re.IGNORECASE,
)
URL = re.compile(r"\b(?:https?|ftp)://[^\s<>\[\]\"]*[^\s<>\[\]\".,;:!?')]", re.IGNORECASE)


def main_text(
    wikitext: str,
    file_namespaces: frozenset[str] = FILE_NAMESPACES,
    category_namespaces: frozenset[str] = CATEGORY_NAMESPACES,
) -> str:
    """The main text of an article, in the form of `Article.text`; empty if there is none. Sections
    titled References, See also and the like are dropped with their subsections, and so are headings
    without text. Only the templates of `inline_templates` leave their text. Namespaces are names in
    any case, with spaces or underscores. Malformed markup raises nothing and takes linear time.
    """
    text = wikitext.replace("\t", " ")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = MAGIC_WORD.sub("", cut_opaque(without_invisible(text)))
    text = cut_tables(show_templates(text))
    text = cut_links(text, link_pattern(file_namespaces | category_namespaces))
    text = TAG.sub("", LINE_TAG.sub("\n", show_links(text)))
    blocks = without_apparatus(blocks_of(text))
    return joined(tidy_blocks((level, text if level else as_shown(text)) for level, text in blocks))


def cut_opaque(text: str) -> str:
    """Cut comments, and the tags whose content is not wikitext with it: first, as in MediaWiki, so
    that braces in a formula match nothing. An unclosed tag goes alone; an unclosed comment reaches
    to the end.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    position = 0
    while match := OPAQUE.search(text, position):
        kept.append(text[position : match.start()])
        position = match.end()
        if match["whole"]:
            kept.append(CUT)
            continue
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


def literal(text: str) -> str:
    """`text` with its markup characters as entities, which pass through to the end."""
    return re.sub(r"[\[\]{}|'<>=*#:;_]", lambda match: f"&#{ord(match[0])};", text)


def pairs(tokens: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield start of opener and end of closer of each pair, inner pairs first; skip others."""
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


def cut_tables(text: str) -> str:
    """Cut tables, those in tables with them."""
    if TABLE_TAG.search(text):
        return cut(text, pairs(TABLE, text))
    spans = pairs(LINE_OF_TABLE, "\n" + text)
    return cut(text, ((start, end - 1) for start, end in spans))


def cut_links(text: str, hidden: re.Pattern[str]) -> str:
    """Cut the links that show no text in place: pictures, captions, categories, other languages."""
    text = INTERLANGUAGE.sub(CUT, cut(text, hidden_links(text, hidden)))
    return never_closed(hidden).sub(CUT, text)


def hidden_links(text: str, hidden: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the pairs of brackets that begin like `hidden`, inner ones first. The
    brackets outside of them are not looked at.
    """
    position = 0
    while first := hidden.search(text, position):
        position = start = first.start()
        before = start
        while before and text[before - 1] == "[":
            before -= 1
        if (start - before) % 2:  # the brackets before it pair up with its own
            position += 1
            continue
        if flat := REST_OF_FLAT_LINK.match(text, start + 2):
            position = flat.end()
            yield start, position
            continue
        openers: list[int] = []
        for token in BRACKETS.finditer(text, start):
            position = token.end()
            if token["open"]:
                openers.append(token.start())
                continue
            opener = openers.pop()
            if hidden.match(text, opener):
                yield opener, position
            if not openers:
                break
        else:
            return


@cache
def link_pattern(namespaces: frozenset[str]) -> re.Pattern[str]:
    """Pattern of the beginning of a link into one of the namespaces."""
    names = "|".join(re.escape(name.replace("_", " ")) for name in sorted(namespaces))
    names = names.replace(r"\ ", "[ _]")
    may_match = "" if any(set(name) & set("[]|:\n") for name in namespaces) else r"(?=[^][|:\n]*+:)"
    return re.compile(rf"\[\[{may_match}[ _{CUT}]*(?:{names})[ _]*:", re.IGNORECASE)


@cache
def never_closed(hidden: re.Pattern[str]) -> re.Pattern[str]:
    """Pattern of what begins like `hidden`, up to the end of the line."""
    return re.compile(hidden.pattern + r"[^\n]*", re.IGNORECASE)


def show_links(text: str) -> str:
    """`text` with links as the labels they show, and without addresses."""
    for _ in range(2):  # one may stand in another
        pieces: list[str] = LINK.split(text)  # text, target, label, text, …
        links = zip(pieces[1::3], pieces[2::3], strict=True)
        pieces[1::3] = [
            link_label(target, label) if ":" in target or target[:1] == "#" else label or target
            for target, label in links
        ]
        del pieces[2::3]
        text = "".join(pieces)
        if "[[" not in text:
            break
    text = EXTERNAL_LINK.sub(lambda link: link["label"] or CUT, text)
    return URL.sub(CUT, text) if "://" in text else text


def link_label(target: str, label: str | None) -> str:
    """Return the text that a link to another page shows; empty for a picture."""
    if label:
        return CUT if ":" in target and PICTURE.search(target) else label
    return target.lstrip(":#")


def blocks_of(text: str) -> Iterator[tuple[int, str]]:
    """Headings as (level, title) as they show, and paragraphs as (0, lines of wikitext)."""
    paragraph: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        level, title = heading_of(bare) if bare.startswith("=") else (0, "")
        if (level or not bare) and paragraph:
            yield 0, "\n".join(paragraph)
            paragraph = []
        if level:
            yield level, as_shown(title)
        elif not bare.startswith(STARTS_OF_MARKED_LINES):
            if bare:
                paragraph.append(line)
        elif not TABLE_REMNANT.match(line):
            paragraph.append(LIST_MARK.sub("", line))
    if paragraph:
        yield 0, "\n".join(paragraph)


def as_shown(text: str) -> str:
    """`text` without bold and italic, its entities decoded."""
    marks = set(QUOTES.findall(text))
    if marks == {"''"}:
        text = text.replace("''", "")
    elif marks:
        text = "\n".join(map(without_quotes, text.split("\n")))
    return unescaped(text)


def without_quotes(line: str) -> str:
    """`line` less the apostrophes that mark bold and italic, by MediaWiki's rule. Of four, and of
    more than five, one is text. If bold and italic are both left open, so is one of the three for
    bold: `''Iliad'''s` reads "Iliad's".
    """
    lengths = [*map(len, QUOTES.findall(line))]
    texts = [int(length == 4 or length > 5) for length in lengths]
    marks = [min(length - text, 5) for length, text in zip(lengths, texts, strict=True)]
    n_both = marks.count(5)
    if (marks.count(2) + n_both) % 2 and (marks.count(3) + n_both) % 2 and 3 in marks:
        starts = [
            run.start() + text for run, text in zip(QUOTES.finditer(line), texts, strict=True)
        ]
        bold = [i for i, mark in enumerate(marks) if mark == 3]
        texts[min(bold, key=lambda i: before_apostrophe(line, starts[i]))] = 1
    if not any(texts):
        return QUOTES.sub("", line)
    kept = zip(QUOTES.split(line), [*("'" * n for n in texts), ""], strict=True)
    return "".join(chain.from_iterable(kept))


def before_apostrophe(line: str, start: int) -> int:
    """Rank the apostrophe at `start` as text: 0, the best, after a single letter."""
    before = line[max(start - 2, 0) : start]
    if before.endswith(" "):
        return 2
    return 0 if len(before) == 2 and before[0] == " " else 1


def heading_of(line: str) -> tuple[int, str]:
    """Level and title of a heading, a line without space around it; level 0 if it is none."""
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    level = min(left, right, 6)
    title = line[level:-level].strip("= " + CUT) if level else ""
    return (max(level, 2), title) if title else (0, "")
