"""Topics as gensim prints them: `print_topics`, `show_topics`, and the log of training.

0.050*"river" + 0.030*"lake"                          one line a topic
(0, '0.050*"river" + 0.030*"lake"')                   with its number, as a tuple
[(0, '0.050*"river" + 0.030*"lake"'), (1, …)]         all topics on one line, or wrapped
topic #0 (0.100): 0.050*"river" + 0.030*"lake"        of the log
Topic: 0 Words: 0.050*"river" + 0.030*"lake"          as tutorials print it
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.formats.compression import read_bytes

if TYPE_CHECKING:
    from corpora.files import PathLike

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
TERM = rf"""{NUMBER}\*(?:"[^"\n]+"|[^\s"'+]+)"""
WRAP = r"(?:'\s*')?"  # Between two lines of a wrapped text
SUM = re.compile(rf"{TERM}(?:\s*{WRAP}\+\s*{WRAP}{TERM})*")
PARTS = re.compile(rf"""({NUMBER})\*(?:"([^"\n]+)"|([^\s"'+]+))""")
AROUND = re.compile(r"""(?:topics?|words?|[\s\d()\[\],.:;#'"=|-])*""", re.IGNORECASE)
"""Pattern of the text around the sums: numbers of topics, brackets and a few words."""

Weighted = list[tuple[str, float]]


def terms_of(text: str) -> Weighted:
    """Return the words of a sum with their weights, in its order; none if it is no such sum.

    >>> terms_of('0.050*"river" + 0.030*"c++"')
    [('river', 0.05), ('c++', 0.03)]
    """
    if not AROUND.fullmatch(SUM.sub("", text)):
        return []
    return [(quoted or bare, float(weight)) for weight, quoted, bare in PARTS.findall(text)]


def printed_topics(path: PathLike) -> list[Weighted]:
    """Return the topics of a file that holds nothing but such sums, else none.

    Raises OSError if the file cannot be read; UnicodeDecodeError if it is such a file up to bytes
    that are not UTF-8.
    """
    parts = read_bytes(Path(path))
    start = next(iter(parts), b"").decode("utf-8", "replace")
    if not PARTS.search(start):
        return []
    text = b"".join(read_bytes(Path(path))).decode("utf-8-sig")
    sums = SUM.findall(text)
    return [terms_of(each) for each in sums] if AROUND.fullmatch(SUM.sub("", text)) else []
