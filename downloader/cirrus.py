"""Articles from Wikimedia's search-index dumps, in local files or on a server.

A dump of a wiki is one file or some dozens, here called shards, in a folder of the server:

    …/other/cirrus_search_index/20260816/index_name=enwiki_content/enwiki_content-20260816-00000.json.bz2
    …/other/cirrussearch/20251229/enwiki-20251229-cirrussearch-content.json.gz    (until 2025)

They are downloaded and read one after the other, so that the disk holds one of them at a time.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from corpora.articles.article import Article
from corpora.articles.cirrus_json import parse_document, read_document, read_records, site_of
from corpora.articles.json_lines import string
from corpora.articles.page import UNKNOWN_LANGUAGE, Site, Skipped
from corpora.errors import CorpusFormatError
from corpora.worker_pool import ordered_map
from downloader.cirrus_listing import folder_of, remote_shards, shard_name
from downloader.live import Batch

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from corpora.articles.cirrus_json import CirrusRecord, TextField
    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

MAX_SHARD_BYTES = 8 << 30
"""Default maximal size of a shard. Today's have 0.6 GB; the single file of English Wikipedia until
2025 had about 40 GB."""
BATCH_ARTICLES = 200
BATCH_CHARACTERS = 1 << 24
BATCH_RECORDS = 5000
"""A batch ends at the first of these. Without the last, a shard of known articles would give no
progress for minutes."""
MAX_MALFORMED = 100
"""After so many unreadable documents and no readable one, the file is taken to be no dump."""

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


def progress_from(
    start: int, progress_bytes: Callable[[int], None] | None
) -> Callable[[int], None] | None:
    """Return `progress_bytes` for a file that begins `start` bytes after the first."""
    if progress_bytes is None:
        return None
    return lambda n_bytes: progress_bytes(start + n_bytes)


class CirrusShards:
    """Shards of a dump on a server, as a source of batches.

    Parameters
    ----------
    client
        Client that sends the requests.
    url
        Address of the folder, or of one shard.
    directory
        Its subdirectory `cirrus` holds the shard that is being downloaded or read. After an
        interruption the shard stays, and the next start continues with it.
    text, n_processes
        See `read_cirrus`.
    max_shard_bytes
        Maximal size of a shard.
    progress
        Is called with the number of bytes of the current shard that have arrived.
    """

    def __init__(
        self,
        client: PoliteClient,
        url: str,
        directory: str | os.PathLike[str],
        text: TextField = "auto",
        *,
        n_processes: int = 1,
        max_shard_bytes: int = MAX_SHARD_BYTES,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        if text not in ("auto", "wikitext", "extracted"):
            raise ValueError(f"text must be 'auto', 'wikitext' or 'extracted', not {text!r}")
        self.client = client
        self.url = url if shard_name(url) else folder_of(url)
        self.directory = Path(directory) / "cirrus"
        self.text = text
        self.n_processes = n_processes
        self.max_shard_bytes = max_shard_bytes
        self.progress = progress
        self._shards: list[str] | None = None

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
        match = WIKI_OF_NAME.match(folder) or WIKI_OF_NAME.match(shard_name(self.shards()[0]))
        return site_of(match[1] if match else "", "")

    def total(self) -> int | None:
        """Return None: a dump does not tell its number of articles."""
        return None

    def shards(self) -> list[str]:
        """Return the addresses of the shards; requested once."""
        if self._shards is None:
            self._shards = remote_shards(self.client, self.url)
        return self._shards

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield the articles of all shards that are not done by the cursor.

        An interrupted shard is read again from its start, but known articles are not parsed. The
        file of a shard is deleted after its last batch.

        Raises DownloadError if a shard cannot be downloaded; CorpusFormatError if a shard is
        damaged; its copy is deleted, so that the next start downloads it again; OSError if the disk
        has too little space for a shard.
        """
        saved = (cursor or {}).get("done")
        listed = saved if isinstance(saved, list) else []
        done = [name for name in listed if isinstance(name, str)]
        waiting = [url for url in self.shards() if shard_name(url) not in done]
        if not waiting:
            yield Batch([], {"done": done}, finished=True)
        for url in waiting:
            file = self._fetch(url)
            try:
                yield from self._read(file, url, {"done": done}, known)
            except CorpusFormatError:
                file.unlink(missing_ok=True)
                raise
            done = [*done, shard_name(url)]
            try:
                yield Batch([], {"done": done}, finished=url == waiting[-1])
            finally:
                file.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete the files of an interrupted download."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _fetch(self, url: str) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        # The same name at another address is another file.
        origin = hashlib.sha256(unquote(url).encode()).hexdigest()[:12]
        file = self.directory / f"{origin}-{shard_name(url)}"
        for other in self.directory.iterdir():
            if other.is_file() and not other.name.startswith(file.name):
                other.unlink()  # of another dump
        if not file.exists():
            self.client.fetch_file(url, file, self.max_shard_bytes, self.progress)
        return file

    def _read(
        self, file: Path, url: str, cursor: dict[str, Any], known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        pending = PendingBatch(cursor)
        here: bool | None = None  # whether the articles have the language of `known`
        failure: CorpusFormatError | None = None

        def wanted() -> Iterator[CirrusRecord | None]:
            nonlocal failure
            try:
                for number, record in enumerate(read_records(file), start=1):
                    if here and record.page_id is not None and known(record.page_id):
                        pending.n_known += 1
                    else:
                        yield record
                    if number % BATCH_RECORDS == 0:
                        yield None
            except CorpusFormatError as error:
                failure = CorpusFormatError(
                    f"{url}: {error} (its copy has been deleted: start again to download it again)"
                )

        for found in ordered_map(partial(attempt, text=self.text), wanted(), self.n_processes):
            if here is None and isinstance(found, Article):
                here = found.language == self.language
            pending.add(found, url)
            if found is None or pending.is_enough:
                yield pending.batch()
        yield pending.batch()
        if failure is not None:
            raise failure


class PendingBatch:
    """Articles of the next batch."""

    def __init__(self, cursor: dict[str, Any]) -> None:
        self.cursor = cursor
        self.n_malformed = 0
        self.any_good = False
        self._clear()

    def _clear(self) -> None:
        self.articles: list[Article] = []
        self.skipped: dict[str, list[str]] = {}
        self.n_characters = self.n_skipped = self.n_known = 0

    @property
    def is_enough(self) -> bool:
        """Whether the batch is full."""
        return (
            len(self.articles) >= BATCH_ARTICLES
            or self.n_characters >= BATCH_CHARACTERS
            or self.n_skipped >= BATCH_RECORDS
        )

    def add(self, found: Article | Skipped | CorpusFormatError | None, url: str) -> None:
        """Add the result of a record.

        Raises CorpusFormatError if many documents are malformed and none is good.
        """
        if isinstance(found, Article):
            self.articles.append(found)
            self.n_characters += len(found.text)
        elif isinstance(found, Skipped):
            self._skip(found.reason, found.page)
        elif found is not None:
            level = logging.INFO if self.n_malformed else logging.WARNING
            logger.log(level, "%s: skipped: %s", url, found)
            self._skip("malformed", str(found))
            self.n_malformed += 1
            if self.n_malformed >= MAX_MALFORMED and not self.any_good:
                raise CorpusFormatError(f"{url}: no document can be read, such as {found}")
            return
        self.any_good = self.any_good or found is not None

    def _skip(self, reason: str, page: str) -> None:
        self.skipped.setdefault(reason, []).append(page)
        self.n_skipped += 1

    def batch(self) -> Batch:
        """Return the batch, and start the next one."""
        batch = Batch(self.articles, self.cursor, False, self.skipped, already_there=self.n_known)
        self._clear()
        return batch


def attempt(
    record: CirrusRecord | None, text: TextField
) -> Article | Skipped | CorpusFormatError | None:
    """Return the result of a record, its error if it is malformed, or None for None."""
    try:
        return None if record is None else read_document(record, text)
    except CorpusFormatError as error:
        return error
