"""How much of a document's text is shown: a page holds many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES = 25_000
"""That a document's text, escaped, and the topics of its words may take."""
BYTES_OF_TOPIC = 8
"""That a word's topic and certainty take, about."""
BYTES_ESCAPED = 6
"""That a character with a meaning in HTML takes at most."""


def cut(
    pieces: Sequence[str], most_words: int, most_bytes: int = MOST_BYTES
) -> tuple[list[str], int, bool]:
    """The pieces of odd number as far as they may go; words among them; whether anything is gone.

    A text that is cut ends with a known word, or, where the text without one is too long as well,
    with any.
    """
    left, n_words = most_bytes, 0
    for i in range(0, len(pieces) - 1, 2):
        left -= cost(pieces[i]) + cost(pieces[i + 1]) + BYTES_OF_TOPIC
        if n_words == most_words or left < 0:
            break
        n_words += 1
    kept = list(pieces[: 2 * n_words])
    is_last = n_words == len(pieces) // 2
    if is_last or not n_words:
        between = pieces[2 * n_words]
        left = most_bytes - sum(map(cost, kept)) - BYTES_OF_TOPIC * n_words
        end = _cut_of(between, left)
        return [*kept, between[:end]], n_words, not is_last or end < len(between)
    return [*kept, ""], n_words, True


def cost(text: str) -> int:
    """Bytes that a text may take in a page."""
    special = sum(map(text.count, "&<>\"'"))
    return len(text.encode(errors="replace")) + (BYTES_ESCAPED - 1) * special


def _cut_of(text: str, most_bytes: int) -> int:
    """How much of `text`, which has no known word, may be shown: up to the end of a word."""
    if cost(text) <= most_bytes:
        return len(text)
    end = max(most_bytes, 0)  # a character takes a byte at least
    while end and cost(text[:end]) > most_bytes:
        end = end * 9 // 10
    return next((i for i in range(end, -1, -1) if text[i].isspace()), end)
