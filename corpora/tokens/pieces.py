"""Texts in the pieces that a model sees: of bounded length, cut where it hurts least."""

from collections.abc import Iterator
from typing import Final

from corpora.articles.article import without_headings

MAX_PIECE: Final = 10_000
"""Characters; bounds a model's memory. spaCy's small taggers see four words to each side."""

SEPARATORS: Final = ("\n\n", "\n", " ")
"""Between paragraphs, lines, words: the first that there is, is where to cut."""


def pieces_of(text: str) -> Iterator[str]:
    """`text` less headings, in stripped, non-empty pieces of up to `MAX_PIECE` characters."""
    return (piece for _, piece in placed_pieces(text))


def placed_pieces(text: str) -> Iterator[tuple[int, str]]:
    """The same pieces, each with its place in `without_headings(text)`, where it is as long."""
    text = without_headings(text).encode(errors="replace").decode().rstrip()
    start = len(text) - len(text.lstrip())
    while len(text) - start > MAX_PIECE:
        last = start + MAX_PIECE
        cuts = (text.rfind(mark, start, last + len(mark)) for mark in SEPARATORS)
        cut = next((cut for cut in cuts if cut > 0), last)
        yield start, text[start:cut].rstrip()
        start = cut
        while start < len(text) and text[start].isspace():
            start += 1
    if start < len(text):
        yield start, text[start:]
