"""HTML that a parser takes linear time over.

Parsers that follow the HTML standard look through their stack of open elements at almost every
tag, and reopen what a malformed page left open. That is quadratic: Lexbor takes 2.3 seconds over
200 kB of `<div>`, and 10 MB would take hours. So what is nested deeper than real pages is removed.

Not lxml (libxml2 2.14): at depth 256 it drops all text that follows, and the attributes of one tag
take quadratic time (17 ms for 5,000, 356 ms for 20,000).
"""

import re
from collections import Counter
from functools import cache

MAX_DEPTH = 200  # Elements open at a time. Pages of Wikipedia are at most some 60 deep.
MAX_INLINE = 10  # Misnested tags of one kind that a parser may reopen in every later paragraph
MAX_ATTRIBUTES = 40  # Attributes of one tag; a parser compares each with all before it

BLANK = r" \t\n\f\r"
ATTRIBUTE = (
    rf"[{BLANK}/]*+[^{BLANK}\"'<>/=]++"
    rf"(?:[{BLANK}]*+=[{BLANK}]*+(?:\"[^\"]*+\"|'[^']*+'|[^{BLANK}\"'<>=`][^{BLANK}\"'<>`]*+))?+"
)
ATTRIBUTES = re.compile(ATTRIBUTE, re.ASCII)
TAG = re.compile(
    rf"<(?:(?P<name>[a-z][^{BLANK}\"'<>/=]*+)(?P<attributes>(?:{ATTRIBUTE})*+)[{BLANK}]*+/?>"
    rf"|/(?P<end>[a-z][^{BLANK}\"'<>/=]*+)[{BLANK}]*+>"
    r"|(?P<comment>!--)"
    r"|[!?/])",
    re.IGNORECASE | re.ASCII,
)
"""Markup that begins with `<`. Tags that the standard repairs are taken for text."""

LOOSE_TAG = re.compile(r"<[^<>]*+>")
MAX_MALFORMED = 1000
"""Tags that are malformed, until all that follows is taken for text: each may take long to read."""

OPAQUE_TAGS = """
script style title textarea xmp iframe noembed noframes noscript plaintext svg math template select
frameset
"""
VOID_TAGS = """
area base basefont bgsound br col embed frame hr image img input keygen link meta param source track
wbr
"""
INLINE_TAGS = "a b big code em font i nobr s small strike strong tt u"
OPAQUE = frozenset(OPAQUE_TAGS.split())
"""Elements whose content is no text of the page; they go whole."""
VOID = frozenset(VOID_TAGS.split())
INLINE = frozenset(INLINE_TAGS.split())
ONCE = frozenset(["html", "head", "body"])
CLOSED_BY = {
    "p": ("p",), "li": ("li",), "dt": ("dt", "dd"), "dd": ("dt", "dd"), "option": ("option",),
    "td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr"),
    "tbody": ("td", "th", "tr", "tbody", "thead"),
}  # fmt: skip
"""Elements that end those that stand open, if their end tags were left out."""


class Nesting:
    """The elements that stand open."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.n_open: Counter[str] = Counter()
        self.n_inline = 0

    def opened(self, name: str) -> str | None:
        """End tags to put before an element's start tag; None if it must not be opened."""
        ends = ""
        while self.names and self.names[-1] in CLOSED_BY.get(name, ()):
            ends += self.pop()
        if (
            len(self.names) >= MAX_DEPTH
            or (name in INLINE and self.n_inline >= MAX_INLINE)
            or (name in ONCE and self.n_open[name])
        ):
            return None
        self.names.append(name)
        self.n_open[name] += 1
        self.n_inline += name in INLINE
        return ends

    def closed(self, name: str) -> str:
        """End tags for an element and all that stands open in it; none if it is not open."""
        ends = ""
        while self.n_open[name]:
            ends += self.pop()
            if ends.endswith(f"</{name}>"):
                break
        return ends

    def pop(self) -> str:
        """The end tag of the innermost element, which is closed."""
        name = self.names.pop()
        self.n_open[name] -= 1
        self.n_inline -= name in INLINE
        return f"</{name}>"


def shallow(html: str) -> str:
    """`html` with every element closed in its turn, none too deep, in linear time on any input. Of
    valid pages only comments, styles, scripts, vector graphics and MathML are removed.
    """
    kept: list[str] = []
    nesting = Nesting()
    n_malformed = 0
    position = 0
    while (start := html.find("<", position)) >= 0:
        kept.append(html[position:start])
        match = TAG.match(html, start)
        if match is None:
            n_malformed += html[start + 1 : start + 2].isalpha()
            if n_malformed > MAX_MALFORMED:
                kept.append(LOOSE_TAG.sub(" ", html[start:]).replace("<", "&lt;"))
                return "".join(kept)
            kept.append("&lt;")
            position = start + 1
            continue
        position = match.end()
        if name := match["name"]:
            name = name.lower()
            if name in OPAQUE:
                if name not in {"svg", "math"} or not match[0].endswith("/>"):
                    closing = end_tag(name).search(html, position)
                    position = closing.end() if closing else len(html)
            elif name in VOID:
                kept.append(start_tag(match))
            elif (ends := nesting.opened(name)) is not None:
                kept.append(ends + start_tag(match))
        elif name := match["end"]:
            kept.append(nesting.closed(name.lower()))
        else:
            end = html.find("-->" if match["comment"] else ">", start + 2)
            position = html.find(">", end) + 1 if end >= 0 else len(html)
    kept.append(html[position:])
    return "".join(kept)


def start_tag(tag: re.Match[str]) -> str:
    """A start tag, with its attributes if they are not too many."""
    attributes: str = tag["attributes"]
    if attributes.count("=") > MAX_ATTRIBUTES or (
        len(attributes) > 2 * MAX_ATTRIBUTES
        and len(ATTRIBUTES.findall(attributes)) > MAX_ATTRIBUTES
    ):
        return f"<{tag['name']}>"
    return tag[0]


@cache
def end_tag(name: str) -> re.Pattern[str]:
    """Pattern of the end tag of an opaque element."""
    return re.compile(rf"</{name}(?=[{BLANK}/>])[^>]*+(?:>|\Z)", re.IGNORECASE | re.ASCII)
