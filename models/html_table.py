"""Plain HTML tables for notebooks: no colours, so that they are read in dark and in light."""

from collections.abc import Iterable, Sequence
from html import escape

LEFT = ' style="text-align: left"'
"""Text stands left; notebooks put everything to the right."""


def html_table(
    header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = ""
) -> str:
    """Return a table with a header and an optional sentence above it; everything is escaped."""
    lines = [f"<p>{_escaped(caption)}</p>"] if caption else []
    lines += ["<table>", "<thead><tr>"]
    lines += [f"<th{LEFT}>{_escaped(name)}</th>" for name in header]
    lines += ["</tr></thead>", "<tbody>"]
    lines += [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    return "\n".join([*lines, "</tbody>", "</table>"])


def _cell(value: object) -> str:
    return f"<td{LEFT if isinstance(value, str) else ''}>{_escaped(value)}</td>"


def _escaped(value: object) -> str:
    """Return the text of a value for HTML; a question mark replaces half of a surrogate pair."""
    return escape(str(value).encode(errors="replace").decode())
