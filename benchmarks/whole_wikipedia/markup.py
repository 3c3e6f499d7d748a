"""Markup of real wikitext: its outermost pieces, by kind, and how many of them a page has."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from statistics import mean, median
from typing import TYPE_CHECKING

from corpora.articles.wikitext import main_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOKEN = re.compile(
    r"(?P<open>\{\{|^[:*]*\{\||\[\[|<ref\b[^<>/]*(?:/(?!>)[^<>/]*)*>|<!--)"
    r"|(?P<close>\}\}|^\|\}|\]\]|</ref\s*>|-->)|<ref\b[^<>]*/>",
    re.MULTILINE | re.IGNORECASE,
)
LONG_TEMPLATE = 400
"""Characters from which a template of several lines counts as an infobox or navigation box."""
OF_PAGE = ("box", "note", "category")
"""Kinds of which a page has a number that hardly grows with its text."""
OF_TEXT = ("ref", "link", "piped link", "template", "file", "table", "comment")
"""Kinds of which a page has a number in proportion to its text."""


BEGINNINGS = {
    kind: re.compile(pattern)
    for kind, pattern in {
        "ref": "<ref",
        "comment": "<!--",
        "table": r"\{\|",
        "file": r"\[\[\s*(?:file|image)\s*:",
        "category": r"\[\[\s*category\s*:",
        "": r"\[\[[a-z-]{2,12}:",
        "link": r"\[\[",
    }.items()
}
"""How pieces of a kind begin, in lower case; those of another language are of none."""


def outermost(wikitext: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each template, table, link, reference and comment in no other."""
    openers: list[int] = []
    for token in TOKEN.finditer(wikitext):
        if token["open"]:
            openers.append(token.start())
        elif token["close"] and openers:
            start = openers.pop()
            if not openers:
                yield start, token.end()
        elif not openers and not token["close"]:
            yield token.span()


def kind_of(piece: str, *, begins_line: bool) -> str:
    """Return the kind of a piece; empty if it is of none that pages are made with."""
    start = piece[:40].lower().lstrip(":*")
    if start.startswith("{{"):
        if "\n" in piece and ("box" in start or len(piece) > LONG_TEMPLATE):
            return "box"
        return "note" if begins_line else "template"
    kind = next((kind for kind, pattern in BEGINNINGS.items() if pattern.match(start)), "")
    return "piped link" if kind == "link" and "|" in piece else kind


@dataclass
class Markup:
    """Pieces of markup of real pages by kind, and their numbers."""

    pieces: dict[str, list[str]] = field(
        default_factory=lambda: {kind: [] for kind in (*OF_PAGE, *OF_TEXT)}
    )
    of_pages: list[Counter[str]] = field(default_factory=list)  # Pieces of each kind on each page
    words: list[int] = field(default_factory=list)  # Of main text on each page
    n_bytes: list[int] = field(default_factory=list)  # Of wikitext on each page

    @classmethod
    def of(cls, pages: Iterable[str]) -> Markup:
        """Collect the markup of pages of wikitext."""
        found = cls()
        for wikitext in pages:
            found.of_pages.append(Counter())
            found.words.append(len(main_text(wikitext).split()))
            found.n_bytes.append(len(wikitext.encode()))
            for start, end in outermost(wikitext):
                begins_line = not start or wikitext[start - 1] == "\n"
                kind = kind_of(wikitext[start:end], begins_line=begins_line)
                if kind:
                    found.pieces[kind].append(wikitext[start:end])
                    found.of_pages[-1][kind] += 1
        return found

    def a_page(self, kind: str) -> float:
        """Pieces of a kind on the median page: long articles have very many."""
        return median(numbers[kind] for numbers in self.of_pages)

    def a_word(self, kind: str) -> float:
        """Pieces of a kind for each word of main text."""
        return len(self.pieces[kind]) / self.n_words

    @property
    def n_words(self) -> int:
        """Words of main text."""
        return sum(self.words)

    def __str__(self) -> str:
        """Sizes of pages, and pieces for each 1,000 words."""
        lines = [f"{len(self.words):,} pages"]
        for name, sizes in (("words of text", self.words), ("bytes of wikitext", self.n_bytes)):
            lines.append(f"{name}: mean {mean(sizes):,.0f}, median {median(sizes):,.0f}")
        lines.append(f"bytes of wikitext for each word {sum(self.n_bytes) / self.n_words:.1f}")
        kinds = (f"{kind} {1000 * self.a_word(kind):.1f}" for kind in OF_TEXT)
        lines.append(f"for each 1,000 words: {', '.join(kinds)}")
        kinds = (f"{kind} {self.a_page(kind):g}" for kind in OF_PAGE)
        lines.append(f"on the median page: {', '.join(kinds)}")
        return "\n".join(lines)
