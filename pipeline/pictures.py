"""Pictures, each as SVG and PNG, if matplotlib is there."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corpora.errors import MissingExtraError
from corpora.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

FORMATS = ("svg", "png")


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


def write_pictures(pictures: Mapping[str, Callable[[Any], None]], directory: Path) -> list[Path]:
    """Write NAME.svg and NAME.png for each of `pictures`, which draw on a matplotlib Figure.

    The figure is 10 by 6 inches; a picture that is to be another size sets it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed; nothing has been drawn then.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an optional package
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "matplotlib is not installed: pip install 'wikitopics[plot]'"
        ) from error
    paths = []
    # Equal results give equal SVG files: names in it are salted, and the date is left out.
    with rc_context({"svg.hashsalt": "wikitopics", "font.size": 9}):
        for name, draw in pictures.items():
            figure = Figure(figsize=(10, 6), layout="constrained")
            draw(figure)
            for kind in FORMATS:
                image = io.BytesIO()
                metadata = {"Date": None} if kind == "svg" else None
                figure.savefig(image, format=kind, dpi=150, metadata=metadata)
                paths.append(directory / f"{name}.{kind}")
                with atomic_write(paths[-1]) as stream:
                    stream.write(image.getvalue())
    return paths
