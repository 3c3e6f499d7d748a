"""Word clouds: where the words of a topic go, so that large ones are probable and none overlap.

The `wordcloud` library lays them out, without an image. It draws words one after the other, the
most probable first, each at a random place where there is room, and smaller where there is none.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING, Final

from PIL import ImageFont
from wordcloud import WordCloud  # type: ignore[import-untyped]

from pipeline.report.sections import CloudWord

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 400
HEIGHT: Final = 240
MOST_WORDS: Final = 40
LONGEST: Final = 40
"""Characters of a word; longer ones are left out, as no others would be placed after them."""

SCALE: Final = 2
"""Of the cloud to the grid that it is laid out on: a quarter of the time for sizes that are even.
One of 40 words takes some 25 ms."""
LARGEST: Final = 24
SMALLEST: Final = 5
"""Font heights on the grid. Letters of the smallest are some 8 high in the cloud."""
MARGIN: Final = 3
"""On the grid, between words, and half of it at the edges: the page's font may have taller
letters, and other gaps above and below them, than the font that is measured."""
PROPORTIONAL: Final = 0.3
"""How far sizes go with probabilities, from 0, by rank alone, to 1, in proportion."""


def word_cloud(
    words: Sequence[str], probabilities: Sequence[float], seed: int = 0
) -> tuple[CloudWord, ...]:
    """The cloud of a topic: the `MOST_WORDS` most probable words as far as there is room for them.

    Widths are those of the font that the library brings. `y` is where the middle of a line of text
    is, between ascent and descent (`dominant-baseline: central` in SVG), and in an upright word `x`
    is; along the word it is the middle of the word. Scripts that the font lacks are laid out by the
    width of its box for missing characters.

    Parameters
    ----------
    words : sequence of str
        Different words. Those that show nothing, or are too long, are left out.
    probabilities : sequence of float
        p(word | topic) of each; words of probability 0 are left out.
    seed : int
        Of the layout: the same words, probabilities and seed are laid out the same.
    """
    original: dict[str, str] = {}  # by what is drawn
    weight: dict[str, float] = {}
    by_weight = sorted(zip(words, probabilities, strict=True), key=lambda pair: -pair[1])
    for word, probability in by_weight:
        drawn = "".join(c for c in word if c.isprintable()).strip()
        if probability > 0 and drawn and len(drawn) <= LONGEST and _ink(drawn, SMALLEST)[0]:
            original.setdefault(drawn, word)
            weight.setdefault(drawn, probability)
            if len(weight) == MOST_WORDS:
                break
    if not weight:
        return ()
    cloud = WordCloud(
        width=WIDTH // SCALE,
        height=HEIGHT // SCALE,
        margin=MARGIN,
        max_words=MOST_WORDS,
        max_font_size=LARGEST,
        min_font_size=SMALLEST,
        relative_scaling=PROPORTIONAL,
        random_state=Random(seed),  # noqa: S311 - no secret
        color_func=_no_colour,
    )
    cloud.generate_from_frequencies(weight)
    return tuple(
        _placed(original[drawn], drawn, size, place, is_upright=orientation is not None)
        for (drawn, _), size, place, orientation, _ in cloud.layout_
    )


def _placed(
    word: str, drawn: str, size: int, place: tuple[int, int], *, is_upright: bool
) -> CloudWord:
    """The word in the cloud, of its ink's top left corner (row, column) on the grid."""
    length, top = _ink(drawn, size)
    ascent, descent = _font(size).getmetrics()
    row, column = int(place[0]), int(place[1])
    # From the edge of the ink that is up, or left if the word is upright, to the line's middle.
    across = (ascent + descent) / 2 - top
    if is_upright:
        x, y = column + across, row + length / 2
    else:
        x, y = column + length / 2, row + across
    x, y, font, width = (float(SCALE * each) for each in (x, y, size, length))
    return CloudWord(word, x, y, font, width, is_upright)


def _ink(text: str, size: int) -> tuple[int, int]:
    """Length of what is drawn, and how far below the top of the line it begins."""
    left, top, right, _ = _font(size).getbbox(text)
    return int(right - left), int(top)


def font_path() -> str:
    """The font that clouds are laid out with, which the library brings."""
    return str(WordCloud().font_path)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_path(), size)


def _no_colour(*_: object, **__: object) -> str:
    """Colours are the page's."""
    return "black"
