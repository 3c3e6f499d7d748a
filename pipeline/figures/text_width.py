"""How long a word is in the font of plots, before it is drawn."""

from __future__ import annotations

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

SIZE = 50.0
"""That is measured at."""


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Points from the beginning to the end of `text` in a font of `size` points."""
    font = FontProperties(family=["DejaVu Sans"], size=SIZE, weight=weight)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) * size / SIZE
