"""Figures as SVG and PNG files, and as elements of a page."""

import io
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from corpora.files import atomic_write
from pipeline.figures.style import style
from pipeline.figures.svg import inline_svg

FORMATS = ("svg", "png")
SIZE = (10.0, 6.0)  # Inches
SALT = "wikitopics"  # Salt of the ids in SVG: without it they differ each time
MAX_OVERHANG = 12.0  # Points that a mark may reach out of its axes without being clipped


@dataclass(frozen=True, eq=False)
class Figure:
    """A plot for the page and for files."""

    name: str  # Name of its files; unique among the figures of a run
    title: str
    description: str
    """One or two sentences with the main numbers, for readers who do not see the figure."""
    draw: Callable[[Any], None]
    """Draws on a matplotlib Figure. Marks that a reader can choose on the page have a gid, as
    `topic-3`."""
    marks: Mapping[str, str] = field(default_factory=dict)  # Name of each of these marks by its gid
    draw_page: Callable[[Any], None] | None = None
    """Draws the figure of the page if it differs from that of the files."""


def write_figures(figures: Mapping[str, Callable[[Any], None]], directory: Path) -> list[Path]:
    """Write NAME.svg and NAME.png for each of `figures`, which draw on a matplotlib Figure.

    A figure is 10 by 6 inches, unless its function sets another size, on a white background.
    """
    paths = []
    with _styled():
        for name, draw in figures.items():
            figure = _drawn(draw)
            for kind in FORMATS:
                paths.append(directory / f"{name}.{kind}")
                with atomic_write(paths[-1]) as stream:
                    stream.write(_image(figure, kind))
    return paths


def image_of(draw: Callable[[Any], None], kind: str, dpi: int = 150) -> bytes:
    """Return what `write_figures` writes for a figure, as "svg" or "png"."""
    with _styled():
        return _image(_drawn(draw), kind, dpi)


def _image(figure: Any, kind: str, dpi: int = 150) -> bytes:
    image = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(image, format=kind, dpi=dpi, metadata=metadata)
    return image.getvalue()


def page_svg(figure: Figure, prefix: str) -> str:
    """Return the figure as an `<svg>` element that fills the width of its box.

    Text is text in the page's font. Colours are the page's properties, `--ink` and so on, so that
    they follow its light or dark scheme. The background is transparent. Marks with a gid are
    `<g data-gid="topic-3">`. All ids begin with `prefix`, which differs for each figure of a page.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see _styled

    svg = io.BytesIO()
    with _styled({"svg.fonttype": "none"}):
        drawn = _drawn(figure.draw_page or figure.draw)
        drawn.patch.set_visible(False)
        canvas: Any = FigureCanvasAgg(drawn)
        _remove_halos(drawn)
        drawn.draw_without_rendering()  # fixes all positions
        _remove_clips(drawn, canvas.get_renderer())
        drawn.savefig(svg, format="svg", metadata={"Date": None})
    return inline_svg(svg.getvalue(), prefix, figure.title, figure.description, figure.marks)


@contextmanager
def _styled(more: Mapping[Any, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw with the settings of all plots; equal results give equal SVG."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow; commands that draw nothing skip it

    with rc_context({**style(), "svg.hashsalt": SALT, **more}), warnings.catch_warnings():
        # Letters that no installed font has are boxes in files, and text on a page.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _drawn(draw: Callable[[Any], None]) -> Any:
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    figure = Canvas(figsize=SIZE, layout="constrained")
    draw(figure)
    return figure


def _remove_halos(figure: Any) -> None:
    """Mark texts with an edge: matplotlib would draw outlines, the page draws the edge."""
    from matplotlib.text import Text  # noqa: PLC0415

    for n, text in enumerate(figure.findobj(Text)):
        if text.get_path_effects():
            text.set_path_effects([])
            text.set_gid(f"halo_{n}")


def _remove_clips(figure: Any, renderer: Any) -> None:
    """Clip no artist that lies within its axes anyway."""
    for axes in figure.axes:
        room = axes.bbox.padded(MAX_OVERHANG * figure.dpi / 72)
        for artist in axes.findobj():
            is_clipped = artist.get_clip_on() and artist.get_clip_box() is not None
            if is_clipped and _is_within(_extent(artist, axes, renderer), room):
                artist.set_clip_on(False)


def _extent(artist: Any, axes: Any, renderer: Any) -> Any:
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    if isinstance(artist, LineCollection):  # its window extent is empty
        return artist.get_datalim(axes.transData).transformed(axes.transData)
    return artist.get_window_extent(renderer)


def _is_within(box: Any, room: Any) -> bool:
    return bool(room.x0 <= box.x0 <= box.x1 <= room.x1 and room.y0 <= box.y0 <= box.y1 <= room.y1)
