"""Articles from Wikimedia's search-index dumps, in local files or on a server.

A dump of a wiki is one file or some dozens, here called shards, in a folder of the server:

    …/other/cirrus_search_index/20260816/index_name=enwiki_content/enwiki_content-20260816-00000.json.bz2
    …/other/cirrussearch/20251229/enwiki-20251229-cirrussearch-content.json.gz    (until 2025)

The former are there for about four weeks. The server has the latter no longer.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit

from corpora.articles.article import Article
from corpora.articles.cirrus_json import parse_document, read_document, read_records, site_of
from corpora.articles.compressed import progress_from
from corpora.articles.json_lines import string
from corpora.articles.page import UNKNOWN_LANGUAGE, Site
from corpora.errors import CorpusFormatError
from corpora.worker_pool import ordered_map
from downloader.answer import one_line
from downloader.dump_files import BATCH_RECORDS, MAX_FILE_BYTES, DumpFiles, RemoteFile
from downloader.errors import RefusedError
from downloader.folder_listing import folder_of, list_folder, some

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from corpora.articles.cirrus_json import CirrusRecord, TextField
    from downloader.dump_files import Found
    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

SEARCH_INDEX = "https://dumps.wikimedia.org/other/cirrus_search_index/"
SHARD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,150}\.json\.(?:bz2|gz)")
WIKI_OF_NAME = re.compile(
    r"(?:index_name=)?([a-z][a-z_]*?)(?:_(?:content|general)(?![a-z])|-[0-9]{8}-)"
)


def read_cirrus(
    path: str | os.PathLike[str],
    progress_bytes: Callable[[int], None] | None = None,
    *,
    text: TextField = "auto",
    n_processes: int = 1,
) -> Iterator[Article]:
    """Yield the articles of a search-index dump: a file, or the files of a directory by name.

    Parameters
    ----------
    path
        A `.json` file, plain or compressed by bzip2, gzip or xz, or a directory of such files.
    progress_bytes
        Is called with the number of bytes read so far.
    text : "auto", "wikitext" or "extracted"
        Source of the text, see `corpora.articles.cirrus_json`.
    n_processes
        Processes that parse; the articles are the same for any number.

    Raises
    ------
    OSError
        If the file is missing or cannot be read.
    CorpusFormatError
        At the first malformed line, with the name of the file and the number of the line. All
        articles before it have been yielded by then.
    """
    failure: list[CorpusFormatError] = []

    def records() -> Iterator[CirrusRecord]:
        before = 0
        try:
            for file in local_shards(Path(path)):
                yield from read_records(file, progress_from(before, progress_bytes))
                before += file.stat().st_size
        except CorpusFormatError as error:
            failure.append(error)  # raised after the articles that are still being parsed

    for found in ordered_map(partial(read_document, text=text), records(), n_processes):
        if isinstance(found, Article):
            yield found
    if failure:
        raise failure[0]


def local_shards(path: Path) -> list[Path]:
    """Return the files of a dump at `path`."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file for file in path.iterdir() if re.search(r"\.json(?:\.(?:bz2|gz|xz))?$", file.name)
    )
    if not files:
        raise CorpusFormatError(f"{path}: no .json, .json.bz2 or .json.gz file in this directory")
    return files


def site_of_file(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return language and `article_path` of the wiki of a local dump, by its first document.

    They are `und` and empty if not known, as for a pipe, which can be read only once.

    Raises OSError if the file is missing or cannot be read; CorpusFormatError if the first document
    is malformed.
    """
    file = local_shards(Path(path))[0]
    record = next(read_records(file), None) if file.is_file() or not file.exists() else None
    if record is None:
        return UNKNOWN_LANGUAGE, ""
    try:
        fields = parse_document(record)
        site = site_of(string(fields, "wiki") or record.wiki, string(fields, "language"))
    except ValueError as error:
        raise CorpusFormatError(f"{record.place}: {error}") from error
    return site.language, site.article_path


class CirrusShards(DumpFiles):
    """Shards of a dump on a server, as a source of batches.

    Parameters
    ----------
    clients
        Client that sends the requests; or several, which download a shard each.
    url
        Address of the folder, or of one shard.
    directory
        Its subdirectory `cirrus` holds the shard that is being downloaded or read. After an
        interruption the shard stays, and the next start continues with it.
    text, n_processes
        See `read_cirrus`.
    max_shard_bytes
        Maximal size of a shard.
    n_ahead, keep_in, progress
        See `DumpFiles`.
    """

    def __init__(
        self,
        clients: PoliteClient | Sequence[PoliteClient],
        url: str,
        directory: str | os.PathLike[str],
        text: TextField = "auto",
        *,
        n_processes: int = 1,
        max_shard_bytes: int = MAX_FILE_BYTES,
        n_ahead: int = 0,
        keep_in: Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        if text not in ("auto", "wikitext", "extracted"):
            raise ValueError(f"text must be 'auto', 'wikitext' or 'extracted', not {text!r}")
        super().__init__(
            clients if isinstance(clients, Sequence) else (clients,),
            Path(directory) / "cirrus",
            max_file_bytes=max_shard_bytes,
            n_ahead=n_ahead,
            keep_in=keep_in,
            progress=progress,
        )
        self.url = url if shard_name(url) else folder_of(url)
        self.text = text
        self.n_processes = n_processes
        self._shards: list[tuple[str, int | None]] | None = None

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others."""
        return {"source": "cirrus", "url": unquote(self.url), "text": self.text}

    @property
    def language(self) -> str:
        """Language of the wiki that the addresses name; `und` if they name none."""
        return self._wiki().language

    @property
    def site(self) -> str:
        """Prefix of the address of a title, such as `https://en.wikipedia.org/wiki/`.

        It follows from the names of the folder and its shards, before a download. It is empty if
        they name no Wikimedia wiki. Two wikis of one language differ in it.
        """
        return self._wiki().article_path

    def _wiki(self) -> Site:
        folder = unquote(self.url).rstrip("/").rpartition("/")[2]
        match = WIKI_OF_NAME.match(folder) or WIKI_OF_NAME.match(shard_name(self.shards()[0][0]))
        return site_of(match[1] if match else "", "")

    def shards(self) -> list[tuple[str, int | None]]:
        """Return the addresses and sizes of the shards; requested once."""
        if self._shards is None:
            self._shards = remote_shards(self.clients[0], self.url)
        return self._shards

    def files(self, cursor: dict[str, Any]) -> tuple[list[RemoteFile], dict[str, Any]]:  # noqa: ARG002
        """Return the shards; the cursor needs nothing more than the names of those done."""
        files = []
        for url, n_bytes in self.shards():
            # The same name at another address is another file.
            origin = hashlib.sha256(unquote(url).encode()).hexdigest()[:12]
            name = shard_name(url)
            files.append(RemoteFile(url, f"{origin}-{name}", name, n_bytes))
        return files, {}

    def read(self, path: Path, file: RemoteFile, known: Callable[[int], bool]) -> Iterator[Found]:
        """Yield the articles of a shard, and what is none; see `DumpFiles`."""
        del file
        here: bool | None = None  # whether the articles have the language of `known`
        failure: list[CorpusFormatError] = []

        def wanted() -> Iterator[CirrusRecord | int]:
            n_known = 0
            try:
                for number, record in enumerate(read_records(path, self.note_read), start=1):
                    if here and record.page_id is not None and known(record.page_id):
                        n_known += 1
                    else:
                        yield record
                    if number % BATCH_RECORDS == 0:
                        yield n_known
                        n_known = 0
            except CorpusFormatError as error:
                failure.append(error)  # raised after the articles that are still being parsed
            yield n_known

        for found in ordered_map(partial(attempt, text=self.text), wanted(), self.n_processes):
            if here is None and isinstance(found, Article):
                here = found.language == self.language
            yield found
        if failure:
            raise failure[0]


def attempt(record: CirrusRecord | int, text: TextField) -> Found:
    """Return the result of a record, its error if it is malformed, or a number as it is."""
    try:
        return record if isinstance(record, int) else read_document(record, text)
    except CorpusFormatError as error:
        return error


def remote_shards(client: PoliteClient, url: str) -> list[tuple[str, int | None]]:
    """Return addresses and sizes of the shards in a folder of a server, by the order of names.

    Only files with plain names directly in that folder count; other links are skipped. The address
    of a shard gives a list of one.

    Raises RefusedError if the folder has no shards, or shards of several wikis; the message names
    the folders or files to choose from; DownloadError if the server does not answer, or refuses.
    """
    name = shard_name(url)
    if name:
        return [(url, None)]
    try:
        listing = list_folder(client, url)
    except RefusedError as error:
        if error.status not in {404, 410}:
            raise
        raise RefusedError(
            f"{one_line(url, 200)} is not there: dumps are deleted after about four weeks, and"
            f" those of other/cirrussearch are gone; choose a date below {SEARCH_INDEX}, or take"
            " --source content",
            error.status,
        ) from error
    shards = [name for name in listing.names if SHARD_NAME.fullmatch(name)]
    if not shards:
        refuse_folder(listing.url, listing.names)
    kinds = {re.sub(r"\d{5,}", "", shard): shard for shard in shards}
    if len(kinds) > 1:
        names = sorted(kinds.values())
        raise RefusedError(
            f"{listing.url} has files of {len(kinds)} indices: give the address of one of them,"
            f" such as {listing.url}{names[0]}; found {some(names)}"
        )
    if "_SUCCESS" not in listing.sizes and re.search(r"-\d{5}\.json\.\w+$", shards[0]):
        logger.warning("%s has no _SUCCESS: the dump may not be complete yet", listing.url)
    return [(listing.address_of(shard), listing.sizes[shard]) for shard in shards]


def shard_name(url: str) -> str:
    """Return the file name in the address of a shard; empty if it is no such address."""
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    return name if SHARD_NAME.fullmatch(name) else ""


def refuse_folder(listing: str, names: list[str]) -> NoReturn:
    """Raise `RefusedError` with the content of a folder without shards."""
    folders = [name for name in names if name.endswith("/")]
    folders = [name for name in folders if "_general" not in name] or folders
    if not folders:
        raise RefusedError(
            f"{listing} has no .json.bz2 or .json.gz files: give the address of a folder such as"
            f" {SEARCH_INDEX}DATE/index_name=enwiki_content/"
        )
    raise RefusedError(
        f"{listing} has no .json.bz2 or .json.gz files, but folders: give the address of one of"
        f" them, such as {listing}{folders[-1]}; found {some(folders)}"
    )
