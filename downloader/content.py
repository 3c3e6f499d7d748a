"""Articles from MediaWiki Content File Exports: XML exports of a wiki, as Wikimedia offers them.

    …/other/mediawiki_content_current/<wiki>/<YYYY-MM-DD>/xml/bzip2/
        <wiki>-<YYYY-MM-DD>-p<first page id>p<last page id>.xml.bz2
        SHA256SUMS    checksums of these files
        _SUCCESS      an empty file, once the dump is complete

A dump begins on the first of a month, and is deleted after about three months. The folder of a
closed wiki is empty. All namespaces are in the files, of which articles are taken.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit

from corpora.articles.cirrus_json import site_of
from corpora.articles.mediawiki_xml import read_articles, read_pages
from downloader.answer import Answer, one_line
from downloader.dump_files import DumpFiles, RemoteFile
from downloader.errors import ChangingDumpError, RefusedError, SourceError, UnusableAnswerError
from downloader.folder_listing import Listing, folder_of, list_folder, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from corpora.articles.page import Site
    from corpora.articles.page_filter import PageFilter
    from downloader.dump_files import Found
    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

BASE = "https://dumps.wikimedia.org/other/mediawiki_content_current/"
FORMAT = "xml/bzip2/"
SUMS, SUCCESS = "SHA256SUMS", "_SUCCESS"
MAX_FILE_BYTES = 32 << 30  # English Wikipedia's 19 files have 2.4 GB on average
WIKI = re.compile(r"[a-z][a-z0-9_]{1,60}")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
SUM_LINE = re.compile(r"([0-9a-fA-F]{64})[ \t]+\*?(?:\./)?([\w.-]{1,200})")


@dataclass(frozen=True)
class Place:
    """Folder of a wiki's dumps on a server."""

    url: str  #: Address, with a final slash.
    wiki: str  #: Name of the wiki's database.
    date: str = ""  #: Date that the address names; empty if it names none.


def place_of(name: str) -> Place:
    """Return the place of the dumps of a wiki.

    `name` is that of the wiki's database, such as `enwiki`, or an address of its folder, or of a
    folder in that. Raises SourceError if it is neither.
    """
    if WIKI.fullmatch(name):
        return Place(f"{BASE}{name}/", name)
    parts = urlsplit(name)
    if parts.scheme.lower() not in ("http", "https"):
        raise SourceError(
            f"{one_line(name, 100)!r} is no name of a wiki's database, such as enwiki or dewiki,"
            " and no address of its folder"
        )
    folders = parts.path.strip("/").removesuffix(FORMAT.rstrip("/")).strip("/").split("/")
    date = folders.pop() if DATE.fullmatch(folders[-1]) else ""
    if not folders or not WIKI.fullmatch(folders[-1]) or folders[-1] in BASE.split("/"):
        raise SourceError(
            f"{one_line(name, 200)} ends with no name of a wiki's database: give the address of its"
            f" folder, such as {BASE}simplewiki/"
        )
    url = folder_of(parts._replace(path="/" + "/".join(folders)).geturl())
    return Place(url, folders[-1], date)


class ContentFiles(DumpFiles):
    """Files of a wiki's content dump, as a source of batches.

    Without a date it is the dump that was begun, as long as the server has it, or the newest
    complete one.

    Parameters
    ----------
    clients
        Clients that download a file each at a time.
    place
        Place of the wiki's dumps.
    date
        Date of the dump, as in 2026-09-01; by default the newest that is complete.
    directory
        Its subdirectory `content` holds the files that are being downloaded or read.
    wanted
        Filter of the pages that are taken; by default all are.
    n_processes
        Processes that parse; the articles are the same for any number.
    n_ahead, keep_in, progress
        See `DumpFiles`.
    on_site
        Is called with the wiki's language and the address of its articles once they are known, and
        may raise an error.
    """

    def __init__(
        self,
        clients: Sequence[PoliteClient],
        place: Place,
        directory: Path,
        date: str = "",
        *,
        wanted: PageFilter | None = None,
        n_processes: int = 1,
        n_ahead: int = 1,
        keep_in: Path | None = None,
        progress: Callable[[int], None] | None = None,
        on_site: Callable[[str, str], None] | None = None,
    ) -> None:
        super().__init__(
            clients,
            directory / "content",
            max_file_bytes=MAX_FILE_BYTES,
            n_ahead=n_ahead,
            keep_in=keep_in,
            progress=progress,
        )
        self.place = place
        self.date = date or place.date
        self.wanted = wanted
        self.n_processes = n_processes
        self.on_site = on_site
        self._site: Site | None = None

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others."""
        fields = {"source": "content", "url": unquote(self.place.url), "date": self.date}
        return {**fields, **({} if self.wanted is None else {"wanted": self.wanted.stamp()})}

    @property
    def language(self) -> str:
        """Language of the wiki: by its name at first, then by the head of its first file."""
        return self._known_site().language

    @property
    def site(self) -> str:
        """Prefix of the address of a title; empty if the name is that of no Wikimedia wiki."""
        return self._known_site().article_path

    def _known_site(self) -> Site:
        return self._site or site_of(self.place.wiki, "")

    def files(self, cursor: dict[str, Any]) -> tuple[list[RemoteFile], dict[str, Any]]:
        """Return the files by their first pages, and the date of the dump for the cursor.

        Raises RefusedError if there is no such dump, or none that is complete; UnusableAnswerError
        if the server has something else than expected; the message says what.
        """
        client = self.clients[0]
        dates = self.dates(client)
        begun, done = cursor.get("date"), cursor.get("done")
        begun = begun if isinstance(begun, str) else ""
        n_done = len(done) if isinstance(done, list) else 0
        is_finished = 0 < n_done == cursor.get("files")
        wished = self.date or ("" if is_finished else begun)
        listing = self._look(wished, client) if wished in dates else "is not there"
        if isinstance(listing, str):
            if self.date:
                self._refuse(self.date, listing, client)
            if wished:
                logger.warning(
                    "the dump of %s %s, of which %d files were read: dumps are deleted after about"
                    " three months; what was stored is kept, and the newest one is read",
                    *(wished, listing, n_done),
                )
            wished, listing = self._newest(dates, client)
        if wished != dates[-1]:
            logger.info("taking the dump of %s; dates that are there: %s", wished, some(dates))
        files = self._files_of(listing, wished, client)
        return files, {"date": wished, "files": len(files)}

    def read(self, path: Path, file: RemoteFile, known: Callable[[int], bool]) -> Iterator[Found]:
        """Yield the articles of a file; see `DumpFiles`."""
        del file
        if self._site is None:
            first = next(read_pages(path), None)
            if first is not None:
                if self.on_site is not None:
                    self.on_site(first.site.language, first.site.article_path)
                self._site = first.site
        return read_articles(
            path,
            n_processes=self.n_processes,
            known=known,
            wanted=self.wanted,
            progress_bytes=self.note_read,
        )

    def gone(self, file: RemoteFile, client: PoliteClient, error: RefusedError) -> RefusedError:
        """Return the error for a file that was deleted, with the other dates that are there."""
        date = file.name.removeprefix(f"{self.place.wiki}-")[: len("2026-09-01")]
        return RefusedError(
            f"{file.url} is there no longer: the dump is being deleted or replaced; the articles so"
            f" far are kept; {self._offer(client, without=date)}",
            error.status,
        )

    def dates(self, client: PoliteClient) -> list[str]:
        """Return the dates of the wiki's dumps, complete or not, the newest last.

        Raises RefusedError if there is no such wiki, or no dump of it; UnusableAnswerError if
        something else is there.
        """
        url = self.place.url
        try:
            names = list_folder(client, url).names
        except RefusedError as error:
            if error.status not in {404, 410}:
                raise
            raise RefusedError(
                f"{url} is not there: is {self.place.wiki} the name of a wiki's database, such as"
                " enwiki, dewiki or enwiktionary?",
                error.status,
            ) from error
        dates = [name.rstrip("/") for name in names if DATE.fullmatch(name.removesuffix("/"))]
        if not names:
            raise RefusedError(
                f"{url} is empty: no dumps are made of {self.place.wiki}, as of wikis that were"
                " closed"
            )
        if not dates:
            raise UnusableAnswerError(
                f"{url} has another layout than expected: folders such as 2026-09-01/ were"
                f" expected, found {some(names)}"
            )
        return dates

    def _look(self, date: str, client: PoliteClient) -> Listing | str:
        """Return the listing of a dump's files, or why it cannot be taken."""
        folder = f"{self.place.url}{date}/"
        try:
            listing = list_folder(client, folder + FORMAT)
        except RefusedError as error:
            if error.status not in {404, 410}:
                raise
            names = self._names(folder, client)
            return f"has no {FORMAT} in it, but {some(names)}" if names else "is empty"
        if not listing.names:
            return "is empty"
        missing = [name for name in (SUMS, SUCCESS) if name not in listing.sizes]
        return f"is not complete: it has no {' and no '.join(missing)}" if missing else listing

    def _names(self, folder: str, client: PoliteClient) -> list[str]:
        try:
            return list_folder(client, folder).names
        except RefusedError:
            return []

    def _newest(self, dates: Sequence[str], client: PoliteClient) -> tuple[str, Listing]:
        faults = []
        for date in reversed(dates):
            found = self._look(date, client)
            if isinstance(found, Listing):
                return date, found
            logger.warning("the dump of %s %s", date, found)
            faults.append(f"{date} {found}")
        raise RefusedError(f"{self.place.url} has no complete dump: {'; '.join(faults)}")

    def _refuse(self, date: str, fault: str, client: PoliteClient) -> NoReturn:
        raise RefusedError(
            f"the dump of {self.place.wiki} of {date} {fault}; {self._offer(client)}"
        )

    def _offer(self, client: PoliteClient, without: str = "") -> str:
        """Return the dates of complete dumps in words, but for one."""
        dates = [
            date
            for date in reversed(self.dates(client))
            if date != without and isinstance(self._look(date, client), Listing)
        ]
        if not dates:
            return f"no {'other ' * bool(without)}dump is complete: try again later"
        others = f"; also {some(dates[1:])}" if dates[1:] else ""
        return f"complete is --date {dates[0]}{others}"

    def _files_of(self, listing: Listing, date: str, client: PoliteClient) -> list[RemoteFile]:
        """Return the files of a complete dump by their first pages."""
        pattern = re.compile(rf"{self.place.wiki}-{date}-p([0-9]{{1,12}})p[0-9]{{1,12}}\.xml\.bz2")
        first_page = {
            name: int(match[1]) for name in listing.names if (match := pattern.fullmatch(name))
        }
        others = [name for name in listing.names if name not in first_page and ".xml" in name]
        found = others or [name for name in listing.names if name not in (SUMS, SUCCESS)]
        if not found:
            raise RefusedError(
                f"{listing.url} has no files: {self.place.wiki} has no pages, as closed wikis"
            )
        if others or not first_page:
            raise UnusableAnswerError(
                f"{listing.url} has another layout than expected: files such as"
                f" {self.place.wiki}-{date}-p1p1000.xml.bz2 were expected, found {some(found)}"
            )
        sums = sums_in(client.get(listing.address_of(SUMS), None, lambda answer: answer))
        known = {name for name in sums if ".xml" in name}
        if known != first_page.keys():
            differing = sorted(known ^ first_page.keys())
            raise ChangingDumpError(
                f"{listing.url}: {SUMS} and the folder do not name the same files, such as"
                f" {differing[0]}: the dump may be changing, so try again later"
            )
        return [
            RemoteFile(
                listing.address_of(name),
                name,
                f"{name} {sums[name]}",
                listing.sizes[name],
                sums[name],
            )
            for name in sorted(first_page, key=lambda name: (first_page[name], name))
        ]


def sums_in(answer: Answer) -> dict[str, str]:
    """Return name → SHA-256 of the files in an answer that is a list of checksums.

    Raises UnusableAnswerError if a line is no checksum.
    """
    sums = {}
    for number, line in enumerate(answer.body.decode(errors="replace").splitlines(), start=1):
        if not line.strip():
            continue
        match = SUM_LINE.fullmatch(line.strip())
        if match is None:
            raise UnusableAnswerError(
                f"{answer.url} has another layout than expected: line {number} is no checksum and"
                f" name: {one_line(line, 80)!r}"
            )
        sums[match[2]] = match[1].lower()
    return sums
