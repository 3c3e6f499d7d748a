"""Map of the house: packages and their rooms, drawn from the code when the site is built.

A room is a folder with modules; the first sentence of its `__init__` says what it is for.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import corpora

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(corpora.__file__).resolve().parents[1]
PACKAGES = ("pipeline", "evaluation", "models", "downloader", "corpora")
"""From the top down: each may import those that come after it."""

COLUMNS, ROOM_WIDTH, ROOM_HEIGHT, GAP, LEFT = 6, 150, 44, 10, 110
"""Rooms in a row of the drawing, and sizes in its units."""

INTRODUCTION = (
    "Imports point down: a package knows those below it, and no package above it; `downloader` and "
    "`models` do not know each other. Numbers in the drawing are lines of code."
)


@dataclass(frozen=True)
class Room:
    """A folder with modules."""

    path: Path
    """Relative to the root."""
    purpose: str
    n_files: int
    n_lines: int
    imports: frozenset[str]
    """Packages that its modules import, at any place."""

    @property
    def package(self) -> str:
        """Package that the room belongs to."""
        return self.path.parts[0]

    @property
    def name(self) -> str:
        """Name within its package; that of the package for its own folder."""
        return "/".join(self.path.parts[1:]) or self.package


@cache
def rooms(root: Path = ROOT) -> list[Room]:
    """All rooms, package by package from the top down."""
    folders = (
        folder
        for package in PACKAGES
        for folder in sorted({path.parent for path in (root / package).rglob("*.py")})
    )
    return [_room(folder, root) for folder in folders]


def _room(folder: Path, root: Path) -> Room:
    files = sorted(folder.glob("*.py"))
    texts = [path.read_text("utf-8") for path in files]
    trees = [ast.parse(text) for text in texts]
    docs = {path.name: ast.get_docstring(tree) for path, tree in zip(files, trees, strict=True)}
    purpose = (docs.get("__init__.py") or "").partition("\n\n")[0].replace("\n", " ")
    modules = [
        node.module
        for tree in trees
        for node in _statements(tree)
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    imports = frozenset(module.partition(".")[0] for module in modules) & frozenset(PACKAGES)
    n_files = sum(path.name != "__init__.py" for path in files)
    n_lines = sum(text.count("\n") for text in texts)
    return Room(folder.relative_to(root), purpose, n_files, n_lines, imports)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements below `tree`, and what holds statements; no expressions, which are most."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, field, ()):
            yield node
            yield from _statements(node)


def house_page(found: list[Room]) -> str:
    """The page, in Markdown: the drawing, and a table of rooms for each package."""
    lines = ["# Map of the house", "", INTRODUCTION, "", "![Packages and rooms](house.svg)", ""]
    for package in PACKAGES:
        of_package = [room for room in found if room.package == package]
        known = sorted({name for room in of_package for name in room.imports} - {package})
        lines += [f"## `{package}/`", "", of_package[0].purpose, ""]
        lines += [f"Imports {', '.join(known)}." if known else "Imports none of the others.", ""]
        lines += ["| room | what it holds | files | lines |", "|---|---|---|---|"]
        for room in of_package:
            purpose = room.purpose.replace("|", r"\|")
            lines.append(f"| `{room.path}/` | {purpose} | {room.n_files} | {room.n_lines:,} |")
        lines.append("")
    return "\n".join(lines)


def house_drawing(found: list[Room]) -> str:
    """The drawing, as SVG: a band for each package, a box for each room."""
    counts = Counter(room.package for room in found)
    parts, y = [], GAP
    width = LEFT + COLUMNS * (ROOM_WIDTH + GAP) + GAP
    for package in PACKAGES:
        n_rows = -(-counts[package] // COLUMNS)
        height = n_rows * (ROOM_HEIGHT + GAP) + GAP
        parts.append(_box(GAP, y, width - 2 * GAP, height, "#eef3f8"))
        parts.append(_text(2 * GAP, y + height / 2 + 5, package, "bold"))
        for number, room in enumerate(room for room in found if room.package == package):
            row, column = divmod(number, COLUMNS)
            left = LEFT + GAP + column * (ROOM_WIDTH + GAP)
            top = y + GAP + row * (ROOM_HEIGHT + GAP)
            parts.append(_box(left, top, ROOM_WIDTH - GAP, ROOM_HEIGHT, "#ffffff"))
            parts.append(_text(left + 8, top + 18, room.name, "normal"))
            parts.append(_text(left + 8, top + 35, f"{room.n_lines:,}", "normal", "#5f6b76"))
        y += height + GAP
    view = f'viewBox="0 0 {width} {y}" width="{width}" height="{y}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} font-family="sans-serif" font-size="13">'
        f"<title>Packages and rooms</title>{''.join(parts)}</svg>\n"
    )


def _box(x: float, y: float, width: float, height: float, fill: str) -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} rx="4" fill="{fill}" stroke="#7a8794"/>'


def _text(x: float, y: float, text: str, weight: str, fill: str = "#1d2730") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="{fill}">{escape(text)}</text>'


def write_drawing(folder: Path) -> None:
    """Write `house.svg`, which the page shows, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "house.svg").write_text(house_drawing(rooms()), "utf-8")
