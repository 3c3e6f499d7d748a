"""SVG of matplotlib as an element of a page: a figure just drawn, or a file written before.

Both are in the page's colours, and their ids begin with a prefix, so that many fit in one page.
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from pipeline.figures.style import GRID, INK, MUTED, NAMES, PAPER

VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper"} | {
    colour: f"--{name}" for name, colour in NAMES.items()
}
"""Name of the page's property (CSS variable) for each colour."""
MARK = re.compile(r"[a-z]+-\d+")
"""Ids of marks that a reader can choose, as `topic-3`; matplotlib's own ids have no hyphen."""
HALO = re.compile(r"halo_\d+")  # Ids of texts that have an edge in the colour of the paper
PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
REFERENCE = re.compile(r"url\(#([^)]*)\)")
DROPPED = {"metadata", "style"}
GEOMETRY = {"x", "y", "width", "height", "cx", "cy", "r"}
LENGTHS = {"font-size", "stroke-dasharray", "stroke-dashoffset", "stroke-width"}
INHERITED = "stroke-linejoin:round;stroke-linecap:butt"
"""Declarations of matplotlib's style element, which all elements inherit."""


def inline_svg(
    svg: bytes, prefix: str, title: str, description: str, marks: Mapping[str, str]
) -> str:
    """Return the output of matplotlib as an `<svg>` element that fills the width of its box.

    All ids begin with `prefix`. `marks` names each mark that a reader can choose by its gid; marks
    are groups with `data-gid`.

    Raises ValueError if `prefix` is not a letter, then letters, digits, `_` and `-`.
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
    has_marks = any("data-gid" in each.attrib for child in children for each in child.iter())
    names = f"{prefix}-title", f"{prefix}-desc"
    page = ET.Element(
        "svg",
        {
            "viewBox": root.attrib["viewBox"],
            "role": "group" if has_marks else "img",
            "aria-labelledby": " ".join(names),
            "style": f"width:100%;height:auto;{INHERITED}",
        },
    )
    for tag, name, text in zip(("title", "desc"), names, (title, description), strict=True):
        ET.SubElement(page, tag, {"id": name}).text = text
    page.extend(children)
    return ET.tostring(page, encoding="unicode", short_empty_elements=True).replace(" />", "/>")


def _references(root: ET.Element) -> Iterator[str]:
    """Yield the ids that an attribute refers to."""
    for element in root.iter():
        href = element.get("href", "")
        if href.startswith("#"):
            yield href[1:]
        for value in element.attrib.values():
            yield from REFERENCE.findall(value)


def _compact(
    element: ET.Element, ids: Mapping[str, str], marks: Mapping[str, str]
) -> list[ET.Element]:
    """Return the element with fewer bytes; for a group without attributes, its children."""
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
    is_blank = attributes.get("style") == "fill:none" and "id" not in attributes
    if (tag in {"g", "defs"} and not children) or (tag == "path" and is_blank):
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


def _attributes(element: ET.Element, ids: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes with short numbers, the page's colours and prefixed ids."""
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
    """Return the declarations without `font-family`: the page has its own."""
    kept = []
    for declaration in text.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in LENGTHS:
            kept.append(f"{name}:{_rounded(value, 1)}")
        elif name and name != "font-family":
            kept.append(f"{name}:{_coloured(value)}")
    return ";".join(kept)


def _coloured(value: str) -> str:
    """Return the page's property for the colour, with the colour as its fallback."""
    return f"var({VARIABLES[value]},{value})" if value in VARIABLES else value


def _short(number: str, digits: int) -> str:
    text = f"{float(number):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _rounded(text: str, digits: int) -> str:
    return NUMBER.sub(lambda found: _short(found[0], digits), text)


def _path(text: str, digits: int) -> str:
    """Return path data without redundant spaces and letters."""
    parts = []
    last = ""
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        coordinates = " ".join(_short(each, digits) for each in numbers.split())
        is_same = letter == last or (letter == "L" and last == "M")
        parts.append((" " if is_same else letter) + coordinates)
        last = letter
    return "".join(parts)


def _share_style(group: ET.Element) -> None:
    """Move the style that all `<use>` elements of a group share to the group, in place."""
    uses = list(group)
    style = uses[0].get("style")
    are_alike = all(use.tag == "use" and use.get("style") == style for use in uses)
    if len(uses) > 1 and are_alike and style and "style" not in group.attrib:
        group.set("style", style)
        for use in uses:
            del use.attrib["style"]


def _as_circle(path: ET.Element) -> None:
    """Turn a path of eight curves into a circle if their ends lie on one, in place."""
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


# --- files ----------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
LEFT_OUT = DROPPED | {"script", "foreignObject", "title", "desc"}
"""Elements that a drawing does not need. matplotlib's `style` would apply to the whole page."""
_LOCAL = re.compile(r"url\(\s*#([^)]+?)\s*\)")
_COLOUR = re.compile("|".join(VARIABLES))
_LONG = re.compile(r"(\.\d\d)\d+(?![\de])")


class DamagedFigureError(ValueError):
    """The file holds no SVG figure."""


def file_svg(path: Path, prefix: str, label: str) -> str:
    """Return the `<svg>` element of a file, in which text is outlines.

    The element has no size of its own and nothing that could run or fetch. A screen reader reads
    out `label`.

    Raises DamagedFigureError if the file is no SVG figure.
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
    """Prefix ids and references to them, and remove elements that are not drawn, in place."""
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
    """Return an attribute's value in the page; empty if it would fetch something."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        is_image = value.startswith("data:image/png;base64,")
        return f"#{prefix}-{value[1:]}" if value.startswith("#") else value * is_image
    if name == "d":
        return " ".join(_LONG.sub(r"\1", value).split())
    value = _LOCAL.sub(lambda found: f"url(#{prefix}-{found[1]})", value)
    return _COLOUR.sub(lambda found: f"var({VARIABLES[found[0]]},{found[0]})", value)
