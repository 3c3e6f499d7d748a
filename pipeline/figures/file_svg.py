"""Pictures that were written as SVG files, as part of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pipeline.figures.inline_svg import INHERITED, VARIABLES

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
LEFT_OUT = {"metadata", "script", "foreignObject", "style", "title", "desc"}
"""Elements that a drawing does not need. The style of matplotlib's would be of the whole page; what
it says is put on the drawing itself."""
_LOCAL = re.compile(r"url\(\s*#([^)]+?)\s*\)")
_COLOUR = re.compile("|".join(VARIABLES))
_LONG = re.compile(r"(\.\d\d)\d+(?![\de])")


class DamagedFigureError(ValueError):
    """The file is no SVG figure."""


def file_svg(path: Path, prefix: str, label: str) -> str:
    """The `<svg>` element of a file, whose ids begin with `prefix`, so that many fit in one page.

    Text is drawn as outlines in these files, unlike in `inline_svg`. The element has no size of
    its own, nothing that could run or fetch, the page's colours in place of the four
    that it has properties for, and `label` is what is read out in its place.

    Raises
    ------
    DamagedFigureError
        If the file is no SVG figure.
    """
    try:
        root = ET.fromstring(path.read_bytes())  # noqa: S314 - written by this software
    except (ET.ParseError, OSError) as error:
        raise DamagedFigureError(f"{path}: no SVG figure: {error}") from error
    if root.tag != f"{SVG}svg" or "viewBox" not in root.attrib:
        raise DamagedFigureError(f"{path}: no SVG figure with a viewBox")
    view_box = root.attrib["viewBox"]
    _clean(root, prefix)
    root.attrib = {
        "viewBox": view_box,
        "role": "img",
        "aria-label": label,
        "style": f"width:100%;height:auto;{INHERITED}",
    }
    return ET.tostring(root, encoding="unicode").replace(" />", "/>")


def _clean(element: ET.Element, prefix: str) -> None:
    """Prefix ids and what refers to them, and leave out what is not drawn, in place."""
    element.tag = element.tag.rpartition("}")[2]
    attributes, element.attrib = element.attrib, {}
    for name, value in attributes.items():
        local = name.rpartition("}")[2]
        made = _attribute(local, value, prefix)
        if made and not local.lower().startswith("on"):
            element.set(local, made)
    for child in list(element):
        if child.tag.rpartition("}")[2] in LEFT_OUT:
            element.remove(child)
        else:
            _clean(child, prefix)
    if element.tag not in ("text", "tspan"):
        element.text = element.tail = None


def _attribute(name: str, value: str, prefix: str) -> str:
    """An attribute's value in the page; nothing if it would fetch."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        is_picture = value.startswith("data:image/png;base64,")
        return f"#{prefix}-{value[1:]}" if value.startswith("#") else value * is_picture
    if name == "d":
        return " ".join(_LONG.sub(r"\1", value).split())
    value = _LOCAL.sub(lambda found: f"url(#{prefix}-{found[1]})", value)
    return _COLOUR.sub(lambda found: f"var({VARIABLES[found[0]]},{found[0]})", value)
