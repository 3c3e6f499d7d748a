"""Folders of files on a server, as web pages list them."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urljoin, urlsplit

from downloader.errors import UnusableAnswerError

if TYPE_CHECKING:
    from downloader.http_client import Answer, PoliteClient

MAX_LISTING_BYTES = 1 << 23  # The listing of all wikis' indices has half a megabyte
MAX_LINKS = 50_000  # Links of a listing; that of all wikis' indices has two thousand
MAX_LINK = 2000  # Characters of a link; longer ones are skipped

LINK = re.compile(r"<a(?=[\s/])[^<>]*+", re.IGNORECASE | re.ASCII)
HREF = re.compile(
    r"""[\s"'/]href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'][^\s"']*+))""",
    re.IGNORECASE | re.ASCII,
)
SIZE = re.compile(
    r">[^<>\n]{0,250}+</a>[ \t]{1,250}+[\w-]{8,12} [\d:]{4,8}[ \t]{1,250}+"
    r"(\d{1,18}(?:\.\d)?)([KMGT]?)\s",
    re.IGNORECASE | re.ASCII,
)
"""Rest of a line of nginx or Apache after the start of a link: name, time, and bytes or rounded."""
MAX_LINE = 1000  # Characters after a link that are searched for a size
MAX_LISTED = 12


@dataclass(frozen=True)
class Listing:
    """Content of a folder of a server."""

    url: str  #: Address of the folder, with a final slash.
    sizes: dict[str, int | None]
    """Name → bytes; None where the listing does not say. Folders keep their final slash."""

    @property
    def names(self) -> list[str]:
        """Names of files and folders, sorted."""
        return sorted(self.sizes)

    def address_of(self, name: str) -> str:
        """Return the address of a file or folder."""
        return self.url + quote(name)


def list_folder(client: PoliteClient, url: str) -> Listing:
    """Return the content of a folder, by its listing as a web page.

    Only plain names directly in that folder count; other links are skipped.

    Raises DownloadError if the server does not answer, or refuses, or the page is no listing.
    """
    answer = client.get(folder_of(url), None, lambda answer: answer)
    folder = folder_of(answer.url)
    sizes: dict[str, int | None] = {}
    for link, size in links_of(answer):
        if name := name_below(folder, link):
            sizes[name] = size
    return Listing(folder, sizes)


def folder_of(url: str) -> str:
    """Return the address of a folder with a final slash, the base of the links in its listing."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path.rstrip("/") + "/", query="", fragment="").geturl()


def links_of(answer: Answer) -> list[tuple[str, int | None]]:
    """Return the links of a listing, including those in comments, with the sizes beside them.

    The time is linear for any input, unlike that of a parser by the HTML standard.
    """
    if len(answer.body) > MAX_LISTING_BYTES:
        raise UnusableAnswerError(f"{answer.url} is longer than the listing of any folder")
    links: list[tuple[str, int | None]] = []
    text = answer.body.decode(errors="replace")
    for tag in LINK.finditer(text):
        match = HREF.search(tag[0])
        if match is None or len(link := match[match.lastindex or 0]) > MAX_LINK:
            continue
        if len(links) == MAX_LINKS:
            raise UnusableAnswerError(f"{answer.url} has more links than the listing of any folder")
        size = SIZE.match(text, tag.end(), tag.end() + MAX_LINE)
        links.append((html.unescape(link), None if size is None else n_bytes_of(*size.groups())))
    return links


def n_bytes_of(number: str, unit: str) -> int:
    """Return the bytes that a listing gives as 634M, or as they are."""
    return int(float(number) * 1024 ** " KMGT".index(unit.upper() or " "))


def name_below(listing: str, link: str) -> str:
    """Return the name that a link has in the folder of the listing; empty if it leads elsewhere.

    Folders keep their final slash.
    """
    try:
        target = urlsplit(urljoin(listing, link))
        here = urlsplit(listing)
    except ValueError:
        return ""
    folder, path = unquote(here.path), unquote(target.path)
    if (target.scheme, target.netloc) != (here.scheme, here.netloc) or target.query:
        return ""
    name = path.removeprefix(folder)
    inside = path.startswith(folder) and name.rstrip("/") not in ("", ".", "..")
    return name if inside and re.fullmatch(r"[\w.=-]{1,200}/?", name, re.ASCII) else ""


def some(names: list[str]) -> str:
    """Return the first names, and the number of the rest."""
    more = len(names) - MAX_LISTED
    return " ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
