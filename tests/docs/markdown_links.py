"""Links of Markdown pages, and which of them lead nowhere; external ones are not fetched."""

import re
import unicodedata
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from docs.reference_pages import GENERATED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_IN_HTML = re.compile(r"""\b(?:src|href|srcset)\s*=\s*["']([^"'\s]*)""", re.IGNORECASE)


def pages():
    found = [*sorted(ROOT.glob("C*.md")), ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [
        path for path in found if not is_generated(path) and DOCS / "_build" not in path.parents
    ]


def is_generated(path):
    """Whether the page is made when the site is built, so that a code host does not have it."""
    return any(DOCS / "reference" / name in path.parents for name in GENERATED)


def dead_links(path, text):
    return [f"{link}: {fault}" for link in links(text) if (fault := _fault(path, text, link))]


def links(text):
    found = []
    for token in _tokens(text):
        found += [str(token.attrs[name]) for name in ("href", "src") if name in token.attrs]
        if token.type in ("html_inline", "html_block"):
            found += _IN_HTML.findall(token.content)
    # A link without a target is left as text: [label][name] or [label](a target with spaces).
    texts = (each.content for each in _tokens(text) if each.type == "text")
    return found + [match for each in texts for match in re.findall(r"\]\([^)]*\)", each)]


@cache
def anchors(text):
    """Names of the headings of a page, as code hosts and MyST make them."""
    tokens, seen = MarkdownIt("commonmark").enable("table").parse(text), Counter()
    found = set()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            slug = slug_of("".join(each.content for each in inline.children or ()))
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def slug_of(heading):
    """Lower case, no punctuation but hyphens and underscores, hyphens for spaces."""
    kept = (c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def in_toctrees(path, text):
    """Pages that the toctrees of a page name."""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence" and token.info.strip() == "{toctree}":
            for line in token.content.splitlines():
                if line.strip() and not line.startswith(":"):
                    yield (path.parent / f"{line.strip()}.md").resolve()


@cache
def _tokens(text):
    blocks = MarkdownIt("commonmark").enable("table").parse(text)
    return [each for block in blocks for each in (block, *(block.children or ()))]


def _fault(path, text, link):
    if link.startswith("]("):
        return "no link: Markdown left it as text"
    parts = urlsplit(link)
    if parts.scheme or link.startswith("//"):
        good = parts.scheme == "https" and "." in parts.netloc
        return "" if good else "external links begin with https://"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if ROOT not in (target, *target.parents) or not target.exists():
        return "there is no such file"
    if is_generated(target):
        return "this page is only there when the site is built"
    there = text if target == path else target.read_text("utf-8") if parts.fragment else ""
    if parts.fragment and unquote(parts.fragment) not in anchors(there):
        return "there is no such heading"
    return ""
