"""Articles from MediaWiki's XML exports: Wikipedia's dumps, and `Special:Export` of any wiki."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers.expat import ErrorString

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
from corpora.articles.page import (
    REDIRECT,
    UNKNOWN_LANGUAGE,
    Page,
    Site,
    Skipped,
    page_to_article,
)
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.worker_pool import WorkerDiedError, ordered_map

PAGE = b"<page>"
MAX_HEAD_BYTES = 1 << 24
MAX_DEATHS = 3
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


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
    """What `read_articles` yields, from all shares of a file. Raises UnreadableError or
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
    site = Site()
    root: Element | None = None
    page: Element | None = None
    for event, element in read_events(chunks, path):
        name = local_name(element)
        if root is None:
            root = element
            if name != "mediawiki":
                raise CorpusFormatError(
                    f"{path}: a MediaWiki XML export begins with <mediawiki>, this file with"
                    f" <{name}>; use an XML export of a wiki, .xml or .xml.bz2"
                )
            site = site_of(root)
        elif event == "start":
            page = element if name == "page" else page
        elif name == "siteinfo":
            site = site_of(root)
        elif name == "revision" and page is not None:
            drop_older_revision(page)
        elif name == "page":
            article_page = page_of(element, site, path)
            if article_page is not None:
                yield article_page
            root.clear()


def read_events(chunks: Iterator[bytes], path: PathLike) -> Iterator[tuple[str, Element]]:
    """The starts and ends of the elements in the content of an XML file."""
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    line = 1
    chunk = next(chunks, b"")
    before, doctype, name = chunk.upper().partition(b"<!DOCTYPE")
    if doctype and re.search(rb"<[A-Z]", before) is None:
        what = "an HTML page" if name.lstrip().startswith(b"HTML") else "XML with a document type"
        raise CorpusFormatError(
            f"{path}: this is {what}, not a MediaWiki XML export;"
            " use an XML export of a wiki, .xml or .xml.bz2"
        )
    try:
        while chunk:
            parser.feed(chunk)
            yield from parser.read_events()  # type: ignore[misc]  # start and end events hold elements
            line += chunk.count(b"\n")
            chunk = next(chunks, b"")
        parser.close()
    except ParseError as error:
        raise CorpusFormatError(
            f"{path}, line {error.position[0]}: not well-formed XML ({ErrorString(error.code)});"
            " the file is no MediaWiki XML export, or is damaged or incomplete: download it again"
        ) from error
    except CorpusFormatError as error:
        raise CorpusFormatError(f"{error} (after line {line})") from error


def local_name(element: Element) -> str:
    """The name of an element without its XML namespace, which every version of exports changes."""
    return element.tag.rpartition("}")[2]


def child_text(element: Element, name: str) -> str:
    """Text of the first child of this name; empty if there is none."""
    child = element.find(f"{{*}}{name}")
    return "" if child is None else child.text or ""


def site_of(root: Element) -> Site:
    """The wiki that the head of an export describes."""
    info = root.find("{*}siteinfo")
    language = root.get(LANGUAGE, "")
    if info is None:
        return Site(language=language or UNKNOWN_LANGUAGE)
    return Site.described(
        language,
        child_text(info, "dbname"),
        re.sub(r"[^/=]*$", "", child_text(info, "base")),
        (
            (int(element.get("key", "")), element.text or "")
            for element in info.iterfind("{*}namespaces/{*}namespace")
            if re.fullmatch(r"-?\d{1,9}", element.get("key", ""))
        ),
        case=child_text(info, "case"),
    )


def drop_older_revision(page: Element) -> None:
    """Keep one revision of a page that is being read: the latest that is wikitext."""
    revisions = page.findall("{*}revision")
    kept = max(
        reversed(revisions), key=lambda one: (is_wikitext(one), child_text(one, "timestamp"))
    )
    for revision in revisions:
        if revision is not kept:
            page.remove(revision)


def is_wikitext(revision: Element) -> bool:
    """Whether a revision's text is wikitext; exports before version 0.6 do not say and are."""
    return child_text(revision, "model") in ("", "wikitext")


def page_of(element: Element, site: Site, path: PathLike) -> Page | None:
    """The page in a `<page>` element; None if it is no article."""
    title, namespace = child_text(element, "title"), child_text(element, "ns")
    revision = element.find("{*}revision")
    if not namespace:  # before version 0.6
        namespace = "1" if title.partition(":")[0].lower() in site.other_namespaces else "0"
    if namespace != "0" or element.find("{*}redirect") is not None:
        return None
    if revision is None or not is_wikitext(revision):
        return None
    wikitext = child_text(revision, "text")
    if REDIRECT.match(wikitext):
        return None
    try:
        page_id, revision_id = int(child_text(element, "id")), int(child_text(revision, "id") or 0)
    except ValueError as error:
        raise CorpusFormatError(
            f"{path}: page {title!r} has no number as its id; is this a MediaWiki XML export?"
        ) from error
    return Page(site, page_id, revision_id, title, child_text(revision, "timestamp"), wikitext)
