"""An SVG file of matplotlib as an element of a page: small, in the page's colours, with names."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pipeline.figures.style import GRID, INK, MUTED, NAMES, PAPER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper"} | {
    colour: f"--{name}" for name, colour in NAMES.items()
}
"""Colours that the page says, and its properties that hold them. Those of series are lighter on a
dark page if it says so; else they stay."""
MARK = re.compile(r"[a-z]+-\d+")
"""Names of marks that can be chosen, as `topic-3`; matplotlib's own have no hyphen."""
HALO = re.compile(r"halo_\d+")
"""Names of texts that have an edge in the colour of the paper."""
PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
REFERENCE = re.compile(r"url\(#([^)]*)\)")
DROPPED = {"metadata", "style"}
GEOMETRY = {"x", "y", "width", "height", "cx", "cy", "r"}
LENGTHS = {"font-size", "stroke-dasharray", "stroke-dashoffset", "stroke-width"}
INHERITED = "stroke-linejoin:round;stroke-linecap:butt"
"""What the style element of the file says of all elements; both are inherited."""


def inline_svg(
    svg: bytes, prefix: str, title: str, description: str, marks: Mapping[str, str]
) -> str:
    """The drawing as an `<svg>` element that is as wide as there is room.

    Parameters
    ----------
    svg
        As matplotlib writes it, text as text.
    prefix
        Of all ids, so that many drawings live in one page.
    marks
        What each mark that can be chosen is, by its name in the drawing. Marks are groups with
        `data-gid`.

    Raises
    ------
    ValueError
        If `prefix` is no name: a letter, then letters, digits, `_` and `-`.
    """
    if not PREFIX.fullmatch(prefix):
        raise ValueError(
            "prefix must be a letter and then letters, digits, '_' or '-', as ids begin with it; "
            f"found {prefix!r}"
        )
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib wrote it
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if "}" in name]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))
    ids = {old: f"{prefix}-{n}" for n, old in enumerate(dict.fromkeys(_references(root)))}
    children = [each for child in root for each in _compact(child, ids, marks)]
    names = f"{prefix}-title", f"{prefix}-desc"
    page = ET.Element(
        "svg",
        {
            "viewBox": root.attrib["viewBox"],
            "role": "group" if any("data-gid" in each.attrib for each in _all(children)) else "img",
            "aria-labelledby": " ".join(names),
            "style": f"width:100%;height:auto;{INHERITED}",
        },
    )
    for tag, name, text in zip(("title", "desc"), names, (title, description), strict=True):
        ET.SubElement(page, tag, {"id": name}).text = text
    page.extend(children)
    return ET.tostring(page, encoding="unicode", short_empty_elements=True).replace(" />", "/>")


def _all(elements: list[ET.Element]) -> Iterator[ET.Element]:
    for element in elements:
        yield from element.iter()


def _references(root: ET.Element) -> Iterator[str]:
    """Ids that something points to."""
    for element in root.iter():
        href = element.get("href", "")
        if href.startswith("#"):
            yield href[1:]
        for value in element.attrib.values():
            yield from REFERENCE.findall(value)


def _compact(
    element: ET.Element, ids: Mapping[str, str], marks: Mapping[str, str]
) -> list[ET.Element]:
    """What remains of an element: itself, smaller; of a group without meaning what is in it."""
    tag, name = element.tag, element.get("id", "")
    if tag in DROPPED:
        return []
    children = [each for child in element for each in _compact(child, ids, marks)]
    attributes = _attributes(element, ids)
    if HALO.fullmatch(name):
        for child in children:
            halo = f"paint-order:stroke;stroke:{_coloured(PAPER)};stroke-width:2"
            child.set("style", f"{child.get('style', '')};{halo}".lstrip(";"))
    if tag == "g" and MARK.fullmatch(name):
        attributes |= {"data-gid": name, "role": "img"}
        title = ET.Element("title")
        title.text = marks.get(name, name.replace("-", " "))
        children.insert(0, title)
    if _is_nothing(tag, attributes, children):
        return []
    if tag == "g" and not attributes:
        return children
    made = ET.Element(tag, attributes)
    made.text = element.text if tag == "text" else None
    made.extend(children)
    if tag == "g":
        _share_style(made)
    elif tag == "path" and "id" not in attributes:
        _as_circle(made)
    return [made]


def _is_nothing(tag: str, attributes: Mapping[str, str], children: list[ET.Element]) -> bool:
    """Whether an element shows nothing, and nothing that is shown points to it."""
    if tag in {"g", "defs"}:
        return not children
    is_unseen = attributes.get("style", "") == "fill:none"
    return tag == "path" and is_unseen and "id" not in attributes


def _attributes(element: ET.Element, ids: Mapping[str, str]) -> dict[str, str]:
    """Those of the drawing, numbers with few digits, colours those of the page, ids with prefix."""
    name = element.get("id", "")
    digits = 2 if name in ids else 1  # marks are small
    made = {"id": ids[name]} if name in ids else {}
    for key, value in element.attrib.items():
        text = REFERENCE.sub(lambda found: f"url(#{ids[found[1]]})", value)
        if key in {"id", "type", "version"}:
            continue
        if key == "style":
            text = _style(text)
        elif key == "d":
            text = _path(text, digits)
        elif key == "href" and text.startswith("#"):
            text = f"#{ids[text[1:]]}"
        elif key == "transform":
            text = "" if text.startswith("rotate(-0 ") else _rounded(text, digits)
        elif key in GEOMETRY:
            text = _rounded(text, digits)
        if text:
            made[key] = text
    return made


def _style(text: str) -> str:
    """Declarations without those of fonts, which are the page's."""
    kept = []
    for declaration in text.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in LENGTHS:
            kept.append(f"{name}:{_rounded(value, 1)}")
        elif name and name != "font-family":
            kept.append(f"{name}:{_coloured(value)}")
    return ";".join(kept)


def _coloured(value: str) -> str:
    """The page's property for one of its colours, which is what is seen where it has none."""
    return f"var({VARIABLES[value]},{value})" if value in VARIABLES else value


def _short(number: str, digits: int) -> str:
    text = f"{float(number):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _rounded(text: str, digits: int) -> str:
    return NUMBER.sub(lambda found: _short(found[0], digits), text)


def _path(text: str, digits: int) -> str:
    """A path's data without spaces that mean nothing."""
    parts = []
    last = ""
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        coordinates = " ".join(_short(each, digits) for each in numbers.split())
        is_same = letter == last or (letter == "L" and last == "M")
        parts.append((" " if is_same else letter) + coordinates)
        last = letter
    return "".join(parts)


def _share_style(group: ET.Element) -> None:
    """Say once what all marks of a group say."""
    uses = list(group)
    styles = {use.get("style") for use in uses}
    if len(uses) > 1 and {use.tag for use in uses} == {"use"} and len(styles) == 1:
        (style,) = styles
        if style and "style" not in group.attrib:
            group.set("style", style)
            for use in uses:
                del use.attrib["style"]


def _as_circle(path: ET.Element) -> None:
    """A path of curves, all ends of which are as far from their middle, is a circle."""
    data = path.get("d", "")
    if not re.fullmatch(r"M[^A-Za-z]*C[^A-Za-z]*z", data):
        return
    numbers = [float(each) for each in NUMBER.findall(data)]
    if len(numbers) != 2 + 8 * 6:
        return
    ends = [(numbers[0], numbers[1])] + [tuple(numbers[i + 4 : i + 6]) for i in range(2, 50, 6)]
    x, y = (sum(each) / 8 for each in zip(*ends[1:], strict=True))
    radii = [math.dist((x, y), end) for end in ends]
    if max(radii) - min(radii) > 0.2:
        return
    path.tag = "circle"
    del path.attrib["d"]
    for name, value in (("cx", x), ("cy", y), ("r", sum(radii) / len(radii))):
        path.set(name, _short(str(value), 1))
