"""Docstrings are plain English with formulas: what reStructuredText would take for its own is
escaped before Sphinx reads them.
"""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"`([^`]+)`")
_NAMED = re.compile(r"^(\s*[\w*][\w*, ]*)( : .*)$")
_ENUMERATOR = re.compile(r"^(\s*[A-Za-z])\.(?=\s|$)")
_MARKUP = re.compile(r"(?<!^)\*(?!$)|\||(?<=\w)_(?!\w)")


def plain_docstring(
    app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]
) -> None:
    """Escape the lines of a docstring in place, before napoleon finds sections in it."""
    del app, name, obj, options
    lines[:] = escaped("\n".join(lines)).split("\n")
    if what in ("attribute", "property"):
        lines.insert(0, "")  # or napoleon takes what is before a colon for a type


def escaped(text: str) -> str:
    """The text with stars, bars and last underscores escaped outside of code.

    Code, which has Markdown's single backticks, gets the double ones of reStructuredText. The name
    of a parameter, before " : ", is left to napoleon.
    """
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        is_code = i % 2
        lines = part.split("\n")
        parts[i] = f"``{part}``" if is_code else "\n".join(_escaped_line(each) for each in lines)
    return "".join(parts)


def _escaped_line(line: str) -> str:
    line = _ENUMERATOR.sub(r"\1\\.", line)  # "K." is a sentence, no item of a list
    named = _NAMED.match(line)
    if named:
        return named[1] + _MARKUP.sub(r"\\\g<0>", named[2])
    return _MARKUP.sub(r"\\\g<0>", line)
