"""Articles from MediaWiki's XML exports: Wikipedia's dumps, and `Special:Export` of any wiki."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from corpora.articles.article import Article
from corpora.articles.bzip2_blocks import (
    BlockCheck,
    Share,
    UnreadableError,
    between_marks,
    checked,
    shares_of,
)
from corpora.articles.compressed import read_chunks
from corpora.articles.page import REDIRECT, UNKNOWN_LANGUAGE, Page, Site, Skipped, page_to_article
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.worker_pool import WorkerDiedError, ordered_map

PAGE = b"<page>"
MAX_HEAD_BYTES = 1 << 24
MAX_DEATHS = 3
MAX_TAG_BYTES = 1 << 20  # Bytes of a tag or comment, which expat reads anew with each chunk
MAX_TEXT_BYTES = 1 << 26  # Bytes of a page's text: MediaWiki allows 2 MB unless told otherwise
MAX_DEPTH = 100  # Depth of an element; those of an export are up to 6 deep
LANGUAGE = "http://www.w3.org/XML/1998/namespace}lang"


def read_articles(
    path: PathLike,
    *,
    n_processes: int = 1,
    known: Callable[[int], bool] | None = None,
    wanted: Callable[[Page], bool] | None = None,
    progress_bytes: Callable[[int], None] | None = None,
) -> Iterator[Article | Skipped]:
    """Parse the pages of a MediaWiki XML export that `read_pages` gives, in their order, by
    `n_processes` processes; each reads shares of a bzip2 file. Pages whose id is `known` give no
    article; of a file that was read in part before, they are not parsed. Pages that are not
    `wanted` are left out. Worker processes may receive `wanted` as a pickle. Raises what
    `read_pages` does, after the articles before, and WorkerDiedError if processes die again and
    again at the same share.
    """
    n_found = 0
    if n_processes > 1 and (shares := shares_of(path, n_processes)):
        try:
            for found in read_shares(path, shares, n_processes, known, wanted, progress_bytes):
                yield found
                n_found += 1
        except (UnreadableError, CorpusFormatError):
            pass  # what is wrong, and whether anything is, shows when the file is read as a whole
        else:
            return
    failure: list[CorpusFormatError] = []

    def pages() -> Iterator[Page | Skipped]:
        try:
            some = chosen(read_pages(path, progress_bytes), wanted)
            for page in islice(some, n_found, None):
                is_known = known is not None and known(page.page_id)
                yield Skipped("known", page.title) if is_known else page
        except CorpusFormatError as error:
            failure.append(error)  # raised after the articles that are still being parsed

    yield from ordered_map(parsed, pages(), n_processes)
    if failure:
        raise failure[0]


def chosen(pages: Iterator[Page], wanted: Callable[[Page], bool] | None) -> Iterator[Page]:
    """The pages that are wanted."""
    return pages if wanted is None else filter(wanted, pages)


def parsed(page: Page | Skipped) -> Article | Skipped:
    """The article of a page, or the reason why there is none."""
    if isinstance(page, Skipped):
        return page
    return page_to_article(page) or Skipped("no text", page.title)


def read_shares(
    path: PathLike,
    shares: list[Share],
    n_processes: int,
    known: Callable[[int], bool] | None,
    wanted: Callable[[Page], bool] | None,
    progress_bytes: Callable[[int], None] | None,
) -> Iterator[Article | Skipped]:
    """Yield what `read_articles` does, from all shares of a file. Raises UnreadableError or
    CorpusFormatError if something may be wrong with the file.
    """
    head = head_of(path)
    total = 0  # check of the blocks since the beginning of their stream
    n_known = 0
    first = next(read_pages(path), None) if known is not None else None
    if known is not None and first is not None and known(first.page_id):
        find = partial(titles_in, head=head, wanted=wanted)
        results = ordered_map(find, shares, n_processes, on_death=try_again)
        for share, (titles, checks) in zip(shares, results, strict=True):
            if not all(known(page_id) for page_id, _ in titles):
                break
            total = checked(total, checks)
            yield from (Skipped("known", title) for _, title in titles)
            n_known += 1
            if progress_bytes is not None:
                progress_bytes(share.end)
        del results  # and its processes
    shares = shares[n_known:]
    read = partial(articles_in, head=head, wanted=wanted)
    for share, (found, checks) in zip(
        shares, ordered_map(read, shares, n_processes, on_death=try_again), strict=True
    ):
        total = checked(total, checks)
        for page_id, title, result in found:
            is_known = known is not None and known(page_id)
            yield Skipped("known", title) if is_known else result
        if progress_bytes is not None:
            progress_bytes(share.end)


def head_of(path: PathLike) -> bytes:
    """The content of an export before the first page."""
    head = b""
    for chunk in read_chunks(path):
        head += chunk
        before, page, _ = head.partition(PAGE)
        if page:
            return before
        if len(head) > MAX_HEAD_BYTES:
            break
    raise UnreadableError


def articles_in(
    share: Share, head: bytes, wanted: Callable[[Page], bool] | None
) -> tuple[list[tuple[int, str, Article | Skipped]], list[BlockCheck]]:
    """Ids, titles and results of the pages in a share, and the checks of its blocks."""
    checks: list[BlockCheck] = []
    pages = chosen(pages_of(share, head, checks), wanted)
    return [(page.page_id, page.title, parsed(page)) for page in pages], checks


def titles_in(
    share: Share, head: bytes, wanted: Callable[[Page], bool] | None
) -> tuple[list[tuple[int, str]], list[BlockCheck]]:
    """Ids and titles of the pages in a share, and the checks of its blocks."""
    checks: list[BlockCheck] = []
    pages = chosen(pages_of(share, head, checks), wanted)
    return [(page.page_id, page.title) for page in pages], checks


def pages_of(share: Share, head: bytes, checks: list[BlockCheck]) -> Iterator[Page]:
    """The pages that begin in a share of a file with this head; its checks are appended."""
    content = between_marks(share, PAGE, b"</mediawiki>", checks)
    first = next(content, None)
    if first is not None:
        yield from pages_in(chain([head, first], content), share.path)


def try_again(share: Share, _: str, n_deaths: int) -> Share:
    """The share whose process died, for another; the third time WorkerDiedError is raised."""
    if n_deaths < MAX_DEATHS:
        return share
    raise WorkerDiedError(
        f"{n_deaths} worker processes ended while they read bytes {share.start:,} to {share.end:,}"
        f" of {share.path}; if the system ran out of memory, use fewer processes"
    )


def read_pages(
    path: PathLike, progress_bytes: Callable[[int], None] | None = None
) -> Iterator[Page]:
    """Stream the pages of a MediaWiki XML export of any version, plain or .bz2, .gz or .xz: those
    of the main namespace without redirects, each in its latest revision that is wikitext. Memory is
    bounded by the largest page. `progress_bytes` is called with the number of bytes of the file
    read so far. Raises OSError if the file cannot be read; CorpusFormatError if it is no such
    export, is damaged or incomplete, or declares a document type, as entity bombs must, after the
    pages before.
    """
    yield from pages_in(read_chunks(path, progress_bytes), path)


def pages_in(chunks: Iterator[bytes], path: PathLike) -> Iterator[Page]:
    """The pages in the content of an export, see `read_pages`."""
    export = Export(path)
    line = 1
    chunk = next(chunks, b"")
    if chunk.lstrip()[:14].lower() == b"<!doctype html":
        export.refuse_document_type("html")  # in lower case it is no XML
    try:
        while chunk:
            yield from export.pages_after(chunk)
            line += chunk.count(b"\n")
            try:
                chunk = next(chunks, b"")
            except CorpusFormatError as error:
                raise CorpusFormatError(f"{error} (after line {line})") from error
        yield from export.pages_after(b"", is_last=True)
    except ExpatError as error:
        raise CorpusFormatError(
            f"{path}, line {error.lineno}: not well-formed XML ({ErrorString(error.code)});"
            " the file is no MediaWiki XML export, or is damaged or incomplete: download it again"
        ) from error


Place = tuple[int, str, str]
"""Depth of an element, the name of the one around it, and its own."""
SITEINFO = (2, "mediawiki", "siteinfo")
NAMESPACE = (4, "namespaces", "namespace")
A_PAGE = (2, "mediawiki", "page")
REVISION, REDIRECTS = (3, "page", "revision"), (3, "page", "redirect")
FIELDS = frozenset(
    (depth, parent, name)
    for depth, parent, names in (
        (3, "siteinfo", "dbname base case"),
        (3, "page", "title ns id"),
        (4, "revision", "id timestamp model text"),
    )
    for name in names.split()
)
"""Elements whose text is read."""


class Export:
    """Export that is read piece by piece. Elements are handled as expat finds them: a tree of them
    takes twice as long.
    """

    def __init__(self, path: PathLike) -> None:
        self._path = path
        self._site = Site()
        self._language = ""
        self._open: list[str] = []  # names of the elements that have begun and not ended
        self._fields: dict[str, dict[str, str]] = {}  # texts, by the element around and the name
        self._namespaces: list[tuple[int, str]] = []
        self._revision: dict[str, str] | None = None  # the page's latest that is wikitext, if any
        self._read: Place | None = None  # the element whose text is being read
        self._key = ""  # its number if it is a namespace
        self._text: list[str] = []
        self._n_text = 0  # bytes that were read for it, about
        self._n_bytes = 0  # bytes that were read of all
        self._pages: list[Page] = []
        self._parser = ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.buffer_size = 1 << 16
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self.refuse_document_type

    def pages_after(self, chunk: bytes, *, is_last: bool = False) -> Iterator[Page]:
        """Yield the pages that end in the next bytes. Raises ExpatError or CorpusFormatError behind
        them.
        """
        failure: Exception | None = None
        try:
            self._parser.Parse(chunk, is_last)
            self._check_lengths(len(chunk))
        except (ExpatError, CorpusFormatError) as error:
            failure = error
        pages, self._pages = self._pages, []
        yield from pages
        if failure is not None:
            raise failure

    def _check_lengths(self, n_bytes: int) -> None:
        """Raise CorpusFormatError if something is longer or deeper than anything in an export."""
        self._n_bytes += n_bytes
        self._n_text += n_bytes
        if self._read is not None and self._n_text > MAX_TEXT_BYTES:
            what = f"a text of more than {MAX_TEXT_BYTES:,} bytes"
        elif self._n_bytes - self._parser.CurrentByteIndex > MAX_TAG_BYTES:
            what = f"a tag or comment of more than {MAX_TAG_BYTES:,} bytes"
        elif len(self._open) > MAX_DEPTH:
            what = f"an element in more than {MAX_DEPTH} others"
        else:
            return
        raise CorpusFormatError(
            f"{self._path}, line {self._parser.CurrentLineNumber}: {what}; is this a MediaWiki XML"
            " export?"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        place = len(self._open), parent, name
        if self._read is not None:
            self._parser.CharacterDataHandler = None  # a field is what stands before other elements
        elif place in FIELDS:
            if name not in self._fields[parent] and not self._is_left_out(name):
                self._read_text(place)
        elif place == NAMESPACE:
            self._key = attributes.get("key", "")
            self._read_text(place)
        elif place in (SITEINFO, A_PAGE, REVISION):
            self._fields[name] = {}
            if place == SITEINFO:
                self._namespaces = []
            elif place == A_PAGE:
                self._revision = None
        elif place == REDIRECTS:
            self._fields["page"][name] = ""
        elif not parent:
            self._begin(name, attributes)

    def refuse_document_type(self, name: str, *_: object) -> None:
        """Raise CorpusFormatError: no export declares a document type."""
        what = "an HTML page" if name.lower() == "html" else "XML with a document type"
        raise CorpusFormatError(
            f"{self._path}: this is {what}, not a MediaWiki XML export;"
            " use an XML export of a wiki, .xml or .xml.bz2"
        )

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if name != "mediawiki":
            raise CorpusFormatError(
                f"{self._path}: a MediaWiki XML export begins with <mediawiki>, this file with"
                f" <{name}>; use an XML export of a wiki, .xml or .xml.bz2"
            )
        self._language = attributes.get(LANGUAGE, "")
        self._site = Site(language=self._language or UNKNOWN_LANGUAGE)

    def _is_left_out(self, name: str) -> bool:
        """Whether the field is a long text that nobody needs."""
        page = self._fields.get("page", {})
        return name == "text" and (page.get("ns") or "0") != "0"

    def _read_text(self, place: Place) -> None:
        self._read, self._text, self._n_text = place, [], 0
        self._parser.CharacterDataHandler = self._text.append

    def _end(self, _: str) -> None:
        name = self._open.pop()
        parent = self._open[-1] if self._open else ""
        place = len(self._open) + 1, parent, name
        if self._read is not None:
            if place == self._read:
                self._parser.CharacterDataHandler = None
                self._read = None
                self._keep(place, "".join(self._text))
        elif place == REVISION:
            new = self._fields["revision"]
            if self._revision is None or rank(new) >= rank(self._revision):
                self._revision = new
        elif place == A_PAGE:
            page = page_of(self._fields["page"], self._revision, self._site, self._path)
            if page is not None:
                self._pages.append(page)
        elif place == SITEINFO:
            info = self._fields["siteinfo"]
            address = re.sub(r"[^/=]*$", "", info.get("base", ""))
            self._site = Site.described(
                self._language,
                info.get("dbname", ""),
                address,
                self._namespaces,
                case=info.get("case", ""),
            )

    def _keep(self, place: Place, text: str) -> None:
        _, parent, name = place
        if place != NAMESPACE:
            self._fields[parent][name] = text
        elif re.fullmatch(r"-?\d{1,9}", self._key):
            self._namespaces.append((int(self._key), text))


def rank(revision: dict[str, str]) -> tuple[bool, str]:
    """The greater, the rather a revision is the one to keep: the latest that is wikitext."""
    return is_wikitext(revision), revision.get("timestamp", "")


def is_wikitext(revision: dict[str, str]) -> bool:
    """Whether a revision's text is wikitext; exports before version 0.6 do not say and are."""
    return revision.get("model", "") in ("", "wikitext")


def page_of(
    page: dict[str, str], revision: dict[str, str] | None, site: Site, path: PathLike
) -> Page | None:
    """The page of these fields; None if it is no article."""
    title, namespace = page.get("title", ""), page.get("ns", "")
    if not namespace:  # before version 0.6
        namespace = "1" if title.partition(":")[0].lower() in site.other_namespaces else "0"
    if namespace != "0" or "redirect" in page:
        return None
    if revision is None or not is_wikitext(revision):
        return None
    wikitext = revision.get("text", "")
    if REDIRECT.match(wikitext):
        return None
    try:
        page_id, revision_id = int(page.get("id", "")), int(revision.get("id") or 0)
    except ValueError as error:
        raise CorpusFormatError(
            f"{path}: page {title!r} has no number as its id; is this a MediaWiki XML export?"
        ) from error
    return Page(site, page_id, revision_id, title, revision.get("timestamp", ""), wikitext)
