"""Shards of a search-index dump, as a folder of Wikimedia's server lists them."""

from __future__ import annotations

import html
import logging
import re
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, unquote, urljoin, urlsplit

from downloader.errors import RefusedError, UnusableAnswerError

if TYPE_CHECKING:
    from downloader.http_client import Answer, PoliteClient

logger = logging.getLogger(__name__)

MAX_LISTING_BYTES = 1 << 23  # The listing of all wikis' indices has half a megabyte
MAX_LINKS = 50_000  # Links of a listing; that of all wikis' indices has two thousand
MAX_LINK = 2000  # Characters of a link; longer ones are skipped

SHARD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,150}\.json\.(?:bz2|gz)")
LINK = re.compile(r"<a(?=[\s/])[^<>]*+", re.IGNORECASE | re.ASCII)
HREF = re.compile(
    r"""[\s"'/]href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'][^\s"']*+))""",
    re.IGNORECASE | re.ASCII,
)
MAX_LISTED = 12


def remote_shards(client: PoliteClient, url: str) -> list[str]:
    """Return the addresses of the shards in a folder of a server, in the order of their names.

    Only files with plain names directly in that folder count; other links are skipped. The address
    of a shard gives a list of one.

    Raises RefusedError if the folder has no shards, or shards of several wikis; the message names
    the folders or files to choose from; DownloadError if the server does not answer, or refuses.
    """
    name = shard_name(url)
    if name:
        return [url]
    answer = client.get(folder_of(url), None, lambda answer: answer)
    listing, links = folder_of(answer.url), links_of(answer)
    names = sorted({name for link in links if (name := name_below(listing, link))})
    shards = [name for name in names if SHARD_NAME.fullmatch(name)]
    if not shards:
        refuse_folder(listing, names)
    kinds = {re.sub(r"\d{5,}", "", shard): shard for shard in shards}
    if len(kinds) > 1:
        raise RefusedError(
            f"{listing} has files of {len(kinds)} indices: give the address of one of them,"
            f" such as {listing}{next(iter(kinds.values()))}; found {some(sorted(kinds.values()))}"
        )
    if "_SUCCESS" not in names and re.search(r"-\d{5}\.json\.\w+$", shards[0]):
        logger.warning("%s has no _SUCCESS: the dump may not be complete yet", listing)
    return [listing + quote(shard) for shard in shards]


def shard_name(url: str) -> str:
    """Return the file name in the address of a shard; empty if it is no such address."""
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    return name if SHARD_NAME.fullmatch(name) else ""


def folder_of(url: str) -> str:
    """Return the address of a folder with a final slash, the base of the links in its listing."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path.rstrip("/") + "/", query="", fragment="").geturl()


def links_of(answer: Answer) -> list[str]:
    """Return the links of a listing, including those in comments.

    The time is linear for any input, unlike that of a parser by the HTML standard.
    """
    if len(answer.body) > MAX_LISTING_BYTES:
        raise UnusableAnswerError(f"{answer.url} is longer than the listing of any folder")
    links: list[str] = []
    for tag in LINK.finditer(answer.body.decode(errors="replace")):
        match = HREF.search(tag[0])
        if match is None or len(link := match[match.lastindex or 0]) > MAX_LINK:
            continue
        if len(links) == MAX_LINKS:
            raise UnusableAnswerError(f"{answer.url} has more links than the listing of any folder")
        links.append(html.unescape(link))
    return links


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


def refuse_folder(listing: str, names: list[str]) -> NoReturn:
    """Raise `RefusedError` with the content of a folder without shards."""
    folders = [name for name in names if name.endswith("/")]
    folders = [name for name in folders if "_general" not in name] or folders
    if not folders:
        raise RefusedError(
            f"{listing} has no .json.bz2 or .json.gz files: give the address of a folder such as"
            " https://dumps.wikimedia.org/other/cirrus_search_index/DATE/index_name=enwiki_content/"
        )
    raise RefusedError(
        f"{listing} has no .json.bz2 or .json.gz files, but folders: give the address of one of"
        f" them, such as {listing}{folders[-1]}; found {some(folders)}"
    )


def some(names: list[str]) -> str:
    """Return the first names, and the number of the rest."""
    more = len(names) - MAX_LISTED
    return " ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
