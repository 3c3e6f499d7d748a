"""Layout of word clouds: larger words are more probable, and none overlap.

The `wordcloud` library places the words one by one, the most probable first, at a random free
place, or smaller if there is none. No image is drawn.
"""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final

from PIL import ImageFont
from wordcloud import WordCloud  # type: ignore[import-untyped]

from pipeline.report.sections import CloudWord

WIDTH: Final = 400
HEIGHT: Final = 240
MAX_WORDS: Final = 40
MAX_LENGTH: Final = 40
"""Characters of a word; after a longer one, the library would place no more words."""

SCALE: Final = 2
"""Units of the cloud per cell of the layout's grid: 2 takes a quarter of the time of 1, and makes
sizes even. A cloud of 40 words takes some 25 ms."""
MAX_FONT: Final = 24
MIN_FONT: Final = 5  # Font sizes on the grid. Letters of the smallest are some 8 high in the cloud.
MARGIN: Final = 3
"""Cells between words, half as many at the edges: letters of the page's font may be taller than
those of the measured font."""
PROPORTIONAL: Final = 0.3
"""Dependence of sizes on probabilities, from 0 (rank only) to 1 (proportional)."""


def word_cloud(
    words: Sequence[str], probabilities: Sequence[float], seed: int = 0
) -> tuple[CloudWord, ...]:
    """Lay out the at most `MAX_WORDS` most probable words that fit.

    Widths are those of the library's own font; a letter that it lacks has the width of its box for
    missing letters. `x` and `y` are the middle of the word: along the line of text the middle of
    its length, across it the middle between ascent and descent (`dominant-baseline: central`).
    Words that are invisible or too long, or of probability 0, are left out. Equal arguments give
    equal layouts.
    """
    original: dict[str, str] = {}  # by what is drawn
    weight: dict[str, float] = {}
    by_weight = sorted(zip(words, probabilities, strict=True), key=lambda pair: -pair[1])
    for word, probability in by_weight:
        drawn = "".join(c for c in word if c.isprintable()).strip()
        if probability > 0 and drawn and len(drawn) <= MAX_LENGTH and _ink(drawn, MIN_FONT)[0]:
            original.setdefault(drawn, word)
            weight.setdefault(drawn, probability)
            if len(weight) == MAX_WORDS:
                break
    if not weight:
        return ()
    cloud = WordCloud(
        width=WIDTH // SCALE,
        height=HEIGHT // SCALE,
        margin=MARGIN,
        max_words=MAX_WORDS,
        max_font_size=MAX_FONT,
        min_font_size=MIN_FONT,
        relative_scaling=PROPORTIONAL,
        random_state=Random(seed),  # noqa: S311 - no secret
        color_func=lambda *_, **__: "black",  # the page has its own colours
    )
    cloud.generate_from_frequencies(weight)
    return tuple(
        _placed(original[drawn], drawn, size, place, is_upright=orientation is not None)
        for (drawn, _), size, place, orientation, _ in cloud.layout_
    )


def _placed(
    word: str, drawn: str, size: int, place: tuple[int, int], *, is_upright: bool
) -> CloudWord:
    """Return the word in the cloud; `place` is its ink's top left corner (row, column)."""
    length, top = _ink(drawn, size)
    ascent, descent = _font(size).getmetrics()
    row, column = int(place[0]), int(place[1])
    # Distance from the ink's top, or left edge if the word is upright, to the line's middle.
    across = (ascent + descent) / 2 - top
    if is_upright:
        x, y = column + across, row + length / 2
    else:
        x, y = column + length / 2, row + across
    x, y, font, width = (float(SCALE * each) for each in (x, y, size, length))
    return CloudWord(word, x, y, font, width, is_upright)


def _ink(text: str, size: int) -> tuple[int, int]:
    """Return the length of the ink, and its distance from the top of the line."""
    left, top, right, _ = _font(size).getbbox(text)
    return int(right - left), int(top)


def font_path() -> str:
    """Return the path of the library's font, which clouds are laid out with."""
    return str(WordCloud().font_path)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_path(), size)
