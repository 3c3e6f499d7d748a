"""Pictures: as SVG and PNG files, and as elements of a page."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from corpora.files import atomic_write
from pipeline.figures.inline_svg import inline_svg
from pipeline.figures.style import style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

FORMATS = ("svg", "png")
SIZE = (10.0, 6.0)
"""Inches."""
SALT = "wikitopics"
"""Of names in SVG, which would differ each time."""
BESIDE = 12.0
"""Points that a mark may reach out of its axes without being cut."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A plot, drawn for the page and for the files."""

    name: str
    """Of its files; unique among the figures of a run."""
    title: str
    """What it shows, in a few words."""
    description: str
    """What it says, for those who do not see it: a sentence or two, with the main figures."""
    draw: Callable[[Any], None]
    """Draws on a matplotlib Figure. Marks that the page lets people choose have a gid, as
    `topic-3`."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What each of these marks is, by its gid."""
    draw_page: Callable[[Any], None] | None = None
    """Draws what a page shows, where that is another drawing than the files': smaller, or without
    what a page says elsewhere."""


def write_figures(figures: Mapping[str, Callable[[Any], None]], directory: Path) -> list[Path]:
    """Write NAME.svg and NAME.png for each of `figures`, which draw on a matplotlib Figure.

    A figure is 10 by 6 inches unless its function sets another size, on white ground.
    """
    paths = []
    with _styled():
        for name, draw in figures.items():
            figure = _drawn(draw)
            for kind in FORMATS:
                image = io.BytesIO()
                metadata = {"Date": None} if kind == "svg" else None
                figure.savefig(image, format=kind, dpi=150, metadata=metadata)
                paths.append(directory / f"{name}.{kind}")
                with atomic_write(paths[-1]) as stream:
                    stream.write(image.getvalue())
    return paths


def page_svg(figure: Figure, prefix: str) -> str:
    """The figure as an `<svg>` element of a page.

    It is as wide as there is room. Text is text in the page's font; ink, muted, grid and paper are
    the page's properties `--ink`, `--muted`, `--grid` and `--paper`, so that they change with its
    scheme, and the ground is transparent. Marks with a gid are `<g data-gid="topic-3">`.

    Parameters
    ----------
    prefix
        Of all ids in it, another for each figure of a page.

    Raises
    ------
    ValueError
        If `prefix` is no name: a letter, then letters, digits, `_` and `-`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see _styled

    svg = io.BytesIO()
    with _styled({"svg.fonttype": "none"}):
        drawn = _drawn(figure.draw_page or figure.draw)
        drawn.patch.set_visible(False)
        canvas: Any = FigureCanvasAgg(drawn)
        _take_off_halos(drawn)
        drawn.draw_without_rendering()  # everything is in its place now
        _take_off_clips(drawn, canvas.get_renderer())
        drawn.savefig(svg, format="svg", metadata={"Date": None})
    return inline_svg(svg.getvalue(), prefix, figure.title, figure.description, figure.marks)


@contextmanager
def _styled(more: Mapping[Any, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw with the settings of all plots."""
    # Not at the top: commands that draw nothing would wait for it.
    from matplotlib import rc_context  # noqa: PLC0415

    # Equal results give equal SVG files: names in it are salted, and the date is left out.
    with rc_context({**style(), "svg.hashsalt": SALT, **more}), warnings.catch_warnings():
        # A script that no installed font writes is boxes in the files; on a page it is text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _drawn(draw: Callable[[Any], None]) -> Any:
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    figure = Canvas(figsize=SIZE, layout="constrained")
    draw(figure)
    return figure


def _take_off_halos(figure: Any) -> None:
    """Texts with an edge would be drawn as outlines; the page edges them itself."""
    from matplotlib.text import Text  # noqa: PLC0415

    for n, text in enumerate(figure.findobj(Text)):
        if text.get_path_effects():
            text.set_path_effects([])
            text.set_gid(f"halo_{n}")


def _take_off_clips(figure: Any, renderer: Any) -> None:
    """Nothing is clipped that lies within its axes anyway."""
    for axes in figure.axes:
        room = axes.bbox.padded(BESIDE * figure.dpi / 72)
        for artist in axes.findobj():
            is_clipped = artist.get_clip_on() and artist.get_clip_box() is not None
            if is_clipped and _is_within(_extent(artist, axes, renderer), room):
                artist.set_clip_on(False)


def _extent(artist: Any, axes: Any, renderer: Any) -> Any:
    """What an artist takes of the drawing."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415

    if isinstance(artist, LineCollection):  # these know it of the data alone
        return artist.get_datalim(axes.transData).transformed(axes.transData)
    return artist.get_window_extent(renderer)


def _is_within(box: Any, room: Any) -> bool:
    return bool(room.x0 <= box.x0 <= box.x1 <= room.x1 and room.y0 <= box.y0 <= box.y1 <= room.y1)
