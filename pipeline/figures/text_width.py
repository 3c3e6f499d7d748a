"""Width of a text before it is drawn."""

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

SIZE = 50.0  # Font size of the measurement; widths are proportional


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, font_path: str | None = None) -> float:
    """Return the points that `text` takes in a font of `size` points, by default that of plots."""
    font = FontProperties(family=["DejaVu Sans"], fname=font_path, size=SIZE)
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) * size / SIZE
