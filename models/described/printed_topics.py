"""Topics as gensim prints them: `print_topics`, `show_topics`, and the log of training.

0.050*"river" + 0.030*"lake"                          one line a topic
(0, '0.050*"river" + 0.030*"lake"')                   with its number, as a tuple
[(0, '0.050*"river" + 0.030*"lake"'), (1, …)]         all topics on one line, or wrapped
topic #0 (0.100): 0.050*"river" + 0.030*"lake"        of the log
Topic: 0 Words: 0.050*"river" + 0.030*"lake"          as tutorials print it
"""

import re
from itertools import pairwise
from pathlib import Path

from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.compression import read_bytes
from corpora.formats.lines import shown

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
BARE = r"""[^\s"'+,()\[\]]+"""  # Word without quotes
TERM = rf"""{NUMBER}\*(?:"[^"\n]+"|{BARE})"""
WRAP = r"(?:'\s*')?"  # Between two lines of a wrapped text
SUM = re.compile(rf"{TERM}(?:\s*{WRAP}\+\s*{WRAP}{TERM})*")
PARTS = re.compile(rf"""({NUMBER})\*(?:"([^"\n]+)"|({BARE}))""")
AROUND = re.compile(r"""(?:topics?|words?|[\s\d()\[\],.:;#'"=|-])*""", re.IGNORECASE)
"""Pattern of the text around the sums: numbers of topics, brackets and a few words."""
BETWEEN_TOPICS = re.compile(r"[\r\n\d()\[\]]")
"""Pattern of what tells two topics from terms without "+": a line's end, a bracket or a number."""

Weighted = list[tuple[str, float]]


def terms_of(text: str) -> Weighted:
    """Return the words of a sum with their weights, in its order; none if it is no such sum.

    >>> terms_of('0.050*"river" + 0.030*"c++"')
    [('river', 0.05), ('c++', 0.03)]
    """
    if not AROUND.fullmatch(SUM.sub("", text)):
        return []
    return [
        (quoted.replace(r"\'", "'") or bare, float(weight))  # as in Python's repr
        for weight, quoted, bare in PARTS.findall(text)
    ]


def printed_topics(path: PathLike) -> list[Weighted]:
    """Return the topics of a file that holds nothing but such sums, else none.

    Raises OSError if the file cannot be read; CorpusFormatError, with file and line, if nothing but
    spaces and marks is between two sums of a line; UnicodeDecodeError if it is such a file up to
    bytes that are not UTF-8.
    """
    parts = read_bytes(Path(path))
    start = next(iter(parts), b"").decode("utf-8", "replace")
    if not PARTS.search(start):
        return []
    text = b"".join(read_bytes(Path(path))).decode("utf-8-sig")
    sums = list(SUM.finditer(text))
    if not AROUND.fullmatch(SUM.sub("", text)):
        return []
    for before, after in pairwise(sums):
        if not BETWEEN_TOPICS.search(text, before.end(), after.start()):
            line = text.count("\n", 0, after.start()) + 1
            raise CorpusFormatError(
                f'{path}, line {line}: expected "+" between the terms of a topic, or topics a line '
                f"each, before {shown(after.group())}"
            )
    return [terms_of(each.group()) for each in sums]
