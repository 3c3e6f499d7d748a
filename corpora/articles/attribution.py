"""The file `ATTRIBUTION`: authors and licences of the text in a store, and how to name them.

A plain text for people. Its lines of three columns, separated by two or more spaces, are read back:
one for each (language, site, licence) that the articles name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from corpora.articles.article import Article
from corpora.articles.page import WIKIMEDIA_ADDRESS
from corpora.articles.remote import is_url, read_bytes
from corpora.files import atomic_write_text

FILE = "ATTRIBUTION"
UNKNOWN = "unknown: ask the source"
MAX_SOURCES = 1000  # Maximum number of lines; a crawl of the web may have a site for each article
MAX_FIELD = 200
MAX_FILE_BYTES = 2**22

HEADINGS = ("LANGUAGE", "SITE", "LICENCE")
ADDRESS = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
COLUMNS = re.compile(r" {4}(\S+(?: \S+)*) {2,}(\S+(?: \S+)*) {2,}(\S+(?: \S+)*)")

INCOMPLETE = "Further sources are possible: the list is not complete."
TEXT = """\
The text in this directory is not by those who made the program that stored it. It is by the
contributors of the wikis and sites named here, under the licences named beside them.

{sources}

Each article in shards/ carries its title, URL, revision id and licence. Where it comes from a wiki,
the history of the page at its URL lists its authors. "unknown" means that the articles do not say:
whoever passes them on has to ask where they were taken from.

What was changed: of a page of a wiki the main text alone was kept. Markup, references, tables,
infoboxes, navigation boxes, images and their captions, and notices were removed. Texts that were
read from other files, such as JSON lines, are as those files had them.

Whoever passes the text on under CC BY-SA names the article and its contributors (a link to its URL
will do), names the licence and links to it, says what was changed, and passes it on under the same
licence. CC BY-SA 4.0 is https://creativecommons.org/licenses/by-sa/4.0/

The list of the articles, one a line, with all of these particulars and the text itself:

    python -m pipeline download --output DIR --export FILE.jsonl

where DIR is this directory. This file is rewritten when articles of a further source are stored.
"""


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Source of articles; a field is empty if the articles do not name it."""

    language: str
    site: str  # Address of the site without a path: `https://en.wikipedia.org`
    license: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """Sources of the articles of a store."""

    sources: frozenset[Source] = frozenset()
    complete: bool = True  # False if there are or may be further sources

    def including(self, articles: Iterable[Article]) -> "Attribution":
        """Return these sources and those of `articles`."""
        found = self.sources.union(map(source_of, articles))
        if len(found) <= MAX_SOURCES:
            return replace(self, sources=found)
        kept = sorted(found - self.sources)[: max(0, MAX_SOURCES - len(self.sources))]
        return Attribution(self.sources.union(kept), complete=False)

    def text(self) -> str:
        """Text of the file."""
        rows = [HEADINGS]
        for source in sorted(self.sources):
            language, site, license_name = source.language, source.site, source.license
            rows.append((language or UNKNOWN, site or UNKNOWN, license_name or UNKNOWN))
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:2]]
        lines = ["    " + "  ".join([*map(str.ljust, row[:2], widths), row[2]]) for row in rows]
        if not self.complete:
            lines += ["", INCOMPLETE]
        return TEXT.format(sources="\n".join(lines))

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        atomic_write_text(path, self.text())


def read_attribution(path: Path) -> Attribution | None:
    """Return the sources named in the file at `path`; None if it is missing or names none."""
    try:
        text = _beginning(path).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    lines = text.split("\n")
    rows = {match.groups() for match in map(COLUMNS.fullmatch, lines) if match} - {HEADINGS}
    sources = frozenset(
        Source(*("" if field == UNKNOWN else field for field in row)) for row in rows
    )
    return Attribution(sources, INCOMPLETE not in lines) if sources else None


def _beginning(path: Path) -> bytes:
    if is_url(path):
        return read_bytes(path)[:MAX_FILE_BYTES]
    with path.open("rb") as stream:
        return stream.read(MAX_FILE_BYTES)


def source_of(article: Article) -> Source:
    """Return the source that an article names."""
    address = ADDRESS.match(article.url)
    fields = article.language, address[0] if address else "", article.license
    return _source(*(field[: 4 * MAX_FIELD] for field in fields))


@lru_cache(maxsize=256)
def _source(language: str, address: str, license_name: str) -> Source:
    return Source(_one_line(language), site_of_address(address), _one_line(license_name))


def site_of_address(address: str) -> str:
    """Return scheme, host and port of a web address; empty if it has no host."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host:
        return ""
    # Older dumps give the addresses of Wikimedia's wikis without the s.
    scheme = "https" if WIKIMEDIA_ADDRESS.match(f"{parts.scheme}://{host}/") else parts.scheme
    host = f"[{host}]" if ":" in host else host
    return _one_line(f"{scheme}://{host}" + (f":{port}" if port else ""))


def _one_line(value: str) -> str:
    """Return `value` on one line, of bounded length, without control characters for terminals."""
    line = " ".join(value.split())[:MAX_FIELD].rstrip()
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return "" if line == UNKNOWN else line
