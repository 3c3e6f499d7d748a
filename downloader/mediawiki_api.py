"""MediaWiki's Action API: description of the wiki, queries with all continuations, rendered pages.

See https://www.mediawiki.org/wiki/API:Main_page. The server may be busy, broken or hostile, so the
structure of every answer is checked. A malformed answer is requested again, and every loop has a
limit.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from corpora.articles.page import Site
from corpora.files import is_unicode
from downloader.answer import BadAnswer, json_object, one_line
from downloader.errors import RefusedError, UnusableAnswerError
from downloader.http_status import retry_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from downloader.answer import Answer
    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_ID = 2**63 - 1
MAX_COUNT = 10**9  # Pages of a wiki, or members of a category; the largest wikis have a tenth
PAGE_MARGIN = 10_000
"""Wikis miscount: a wiki may send twice its own count of pages and this many more."""
MAX_PAGES = 500  # Pages of a batch: MediaWiki's maximum for users who are not bots
MAX_ANSWERS = 500
"""Answers of a batch: MediaWiki splits it into 8 MB each, and 50 pages have at most 100 MB."""
MAX_BATCH_BYTES = 2**28  # Bytes of all answers of a batch
MAX_EMPTY_BATCHES = 500  # Empty batches in a row, which a filter may leave
MAX_CONTINUATION = 2000  # Characters of a continuation, which becomes part of the next address
MAX_FIELD = 500  # Characters of a wiki's language, address and similar fields
LAG_WAIT = 5.0
"""Seconds to wait for a lagging database if the wiki names none, by MediaWiki's manual."""

TEMPORARY = re.compile(
    r"maxlag|ratelimited|readonly|actionthrottledtext|internal_api_error_.*|pool-.*"
    r"|concurrency-limit|apierror-.*-pool.*"
)
"""Codes of errors that a later request may avoid."""


class ApiError(RefusedError):
    """The wiki refused a request for good; `code` is MediaWiki's name of the error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class WikiInfo:
    """Description of a wiki by itself."""

    site: Site
    name: str
    generator: str  #: Software and version: `MediaWiki 1.39.17`.
    database: str  #: `enwiki` for the English Wikipedia.
    n_articles: int
    """The wiki's own count: pages with at least one link, or all that are no redirects."""
    n_pages: int  #: Pages of all namespaces, including redirects.
    seconds: float  #: Latency of this answer.


@dataclass(frozen=True)
class QueryBatch:
    """Complete answer of a query about some pages."""

    pages: list[dict[str, Any]]
    """One object a page; ids, namespaces and titles are checked, other fields are not."""
    answers: dict[str, list[Any]]
    """The other lists of the answer, such as `redirects` or `categorymembers`."""
    continuation: dict[str, str] | None
    """Parameters of the query for the next batch; None at the end."""


class MediaWikiApi:
    """Action API of one wiki.

    Parameters
    ----------
    client
        Client that sends the requests.
    url
        Address of the wiki's `api.php`.
    """

    def __init__(self, client: PoliteClient, url: str) -> None:
        self.client = client
        self.url = url
        self._site: WikiInfo | None = None
        self._warned: set[str] = set()

    def site(self) -> WikiInfo:
        """Return the description of the wiki; requested once."""
        if self._site is None:
            self._site = self._get(
                {
                    "action": "query",
                    "meta": "siteinfo",
                    "siprop": "general|namespaces|namespacealiases|rightsinfo|statistics",
                },
                site_of,
            )
        return self._site

    def query(
        self,
        params: Mapping[str, str],
        continuation: Mapping[str, str] | None = None,
        check: Callable[[QueryBatch], None] | None = None,
    ) -> Iterator[QueryBatch]:
        """Yield the batches of a query, from a continuation to the end.

        Parameters
        ----------
        params
            Parameters of `action=query`; format and `maxlag` are added.
        continuation
            Continuation of an earlier batch, to continue after it.
        check
            Raises `BadAnswer` if a batch is not usable: its last answer is then requested again.

        Raises ApiError if the wiki refuses; UnusableAnswerError if the continuations form a loop,
        or seem endless without content.
        """
        params = {"action": "query", **params}
        loop = LoopDetector()
        n_empty = 0
        while True:
            batch = self._batch(params, continuation, check, loop)
            yield batch
            continuation = batch.continuation
            if continuation is None:
                return
            n_empty = 0 if batch.pages or any(batch.answers.values()) else n_empty + 1
            if n_empty > MAX_EMPTY_BATCHES:
                raise UnusableAnswerError(
                    f"{self.url} continues without an end: {n_empty} answers in a row were empty"
                )

    def rendered(self, revision_id: int) -> tuple[str, list[str]]:
        """Return the HTML of a revision's text, and its categories less those that are hidden.

        Raises ApiError if the wiki refuses; the code is `nosuchrevid` if the page was deleted
        meanwhile.
        """
        return self._get(
            {
                "action": "parse",
                "oldid": str(revision_id),
                "prop": "text|categories",
                "disablelimitreport": "1",
                "disableeditsection": "1",
                "disabletoc": "1",
            },
            lambda _, fields: html_of(fields, revision_id),
        )

    def _batch(
        self,
        params: Mapping[str, str],
        continuation: Mapping[str, str] | None,
        check: Callable[[QueryBatch], None] | None,
        loop: LoopDetector,
    ) -> QueryBatch:
        """Return the next batch, merged from all of its answers."""
        gathered = QueryBatch([], {}, None)
        size = 0
        for _ in range(MAX_ANSWERS):

            def merged(
                answer: Answer, fields: dict[str, Any], before: QueryBatch = gathered
            ) -> tuple[QueryBatch, bool, int]:
                batch, is_complete = merge(before, fields, params)
                if is_complete and check is not None:
                    check(batch)
                return batch, is_complete, len(answer.body)

            gathered, is_complete, n_bytes = self._get({**params, **(continuation or {})}, merged)
            continuation = gathered.continuation
            if continuation is not None and loop.repeats(tuple(sorted(continuation.items()))):
                raise UnusableAnswerError(f"{self.url} sends a loop: a continuation came twice")
            if is_complete:
                return gathered
            size += n_bytes
            if size > MAX_BATCH_BYTES:
                break
        raise UnusableAnswerError(
            f"{self.url} does not complete {len(gathered.pages)} pages after"
            f" {size / 2**20:.0f} MB; request fewer pages at once"
        )

    def _get(self, params: Mapping[str, str], read: Callable[[Answer, dict[str, Any]], T]) -> T:
        """Return the result of `read` for the answer, which is an object and no error."""

        def check(answer: Answer) -> T:
            fields = json_object(answer)
            self._log_warnings(fields.get("warnings"))
            raise_error(fields.get("error"), answer, self.url)
            return read(answer, fields)

        common = {"format": "json", "formatversion": "2", "utf8": "1", "maxlag": "5"}
        return self.client.get(self.url, {**params, **common}, check)

    def _log_warnings(self, warnings: object) -> None:
        for module, content in warnings.items() if isinstance(warnings, dict) else ():
            text = content.get("warnings") if isinstance(content, dict) else None
            if not isinstance(text, str):
                continue
            warning = one_line(f"{module}: {' '.join(text[:1000].split())}", 500)
            if not text or warning in self._warned or len(self._warned) >= 100:
                continue
            self._warned.add(warning)
            # `result` tells that an answer was split at some size; its continuation has the rest.
            level = logging.DEBUG if module == "result" else logging.WARNING
            logger.log(level, "%s warns: %s", self.url, warning)


class LoopDetector:
    """Detects a loop in a sequence; stores one of its members (Brent 1980)."""

    def __init__(self) -> None:
        self._kept: object = None
        self._n_since = self._n_until_next = 1

    def repeats(self, member: object) -> bool:
        """Take the next member; return whether it equals the stored one."""
        if member == self._kept:
            return True
        self._n_since -= 1
        if self._n_since == 0:
            self._kept = member
            self._n_until_next *= 2
            self._n_since = self._n_until_next
        return False


def malformed(reason: str) -> BadAnswer:
    """Return the error for an answer that MediaWiki would not send."""
    return BadAnswer(reason, malformed=True)


def raise_error(error: object, answer: Answer, url: str) -> None:
    """Raise the `error` of an answer, if it has one."""
    if error is None:
        return
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        raise malformed("an error without a code")
    code, info = one_line(error["code"], 100), error.get("info")
    info = one_line(" ".join(info[:1000].split()), 300) if isinstance(info, str) else ""
    if TEMPORARY.fullmatch(code):
        wait = retry_after(answer.headers)
        raise BadAnswer(f"{code}: {info}", LAG_WAIT if wait is None and code == "maxlag" else wait)
    raise ApiError(code, f"{url} refuses: {info} ({code})")


def merge(
    before: QueryBatch, fields: dict[str, Any], params: Mapping[str, str]
) -> tuple[QueryBatch, bool]:
    """Add an answer to a batch; return the batch and whether it is complete."""
    query = fields.get("query", {})
    is_complete = fields.get("batchcomplete", False)
    if not isinstance(query, dict) or not isinstance(is_complete, bool):
        raise malformed("`query` or `batchcomplete` of another type than expected")
    continuation = continuation_of(fields.get("continue"), params)
    if continuation is None and not is_complete:
        raise malformed("the answer neither continues nor is complete")
    pages = {page_key(page): page for page in before.pages}
    for page in list_of(query.get("pages", []), "pages"):
        check_page(page)
        key = page_key(page)
        pages[key] = {**pages.get(key, {}), **page}
    if len(pages) > MAX_PAGES:
        raise malformed(f"more than {MAX_PAGES} pages in one answer")
    answers = dict(before.answers)
    for name, members in query.items():
        if name != "pages" and isinstance(members, list):
            answers[name] = [*answers.get(name, []), *members]
    return QueryBatch(list(pages.values()), answers, continuation), is_complete


def continuation_of(value: object, params: Mapping[str, str]) -> dict[str, str] | None:
    """Return the continuation as strings; it may add parameters but not change any."""
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise malformed("`continue` is no object")
    if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in value.values()):
        raise malformed("`continue` has a member that is no string")
    continuation = {name: str(v) for name, v in value.items()}
    if sum(map(len, [*continuation, *continuation.values()])) > MAX_CONTINUATION:
        raise malformed("`continue` is too long")
    if not all(map(is_unicode, [*continuation, *continuation.values()])):
        raise malformed("half a surrogate pair in `continue`")
    if not params.keys().isdisjoint(continuation):
        raise malformed("`continue` would change a parameter of the query")
    return continuation


def check_page(page: object) -> None:
    """Raise `BadAnswer` unless a page has a valid id, namespace and title."""
    if not isinstance(page, dict):
        raise malformed(f"a page is no object but {type(page).__name__}")
    is_there = not any(page.get(flag) for flag in ("missing", "invalid"))
    if "pageid" in page:
        whole_number(page, "pageid", 1)
    elif "title" not in page:
        raise malformed("a page without id and title")
    if "ns" in page or is_there:
        whole_number(page, "ns", -2)
    if not string(page, "title") and is_there:
        raise malformed("a page without a title")


def page_key(page: Mapping[str, Any]) -> object:
    """Return the id of a page, or its title if it has none."""
    return page["pageid"] if "pageid" in page else page["title"]


def list_of(value: object, name: str) -> list[Any]:
    """Return `value`, which must be a list."""
    if not isinstance(value, list):
        raise malformed(f"`{name}` is no list but {type(value).__name__}")
    return value


def whole_number(fields: Mapping[str, Any], name: str, least: int) -> int:
    """Return the whole number under `name`, of at most 64 bits."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_ID:
        found = str(value)[:40] if isinstance(value, str | int | float) else type(value).__name__
        raise malformed(f"`{name}` is no whole number from {least}: {found!r}")
    return value


def count_of(fields: Mapping[str, Any], name: str) -> int:
    """Return the number of pages under `name`, at most `MAX_COUNT`."""
    value = whole_number(fields, name, 0)
    if value > MAX_COUNT:
        raise malformed(f"`{name}` is {value}, more pages than any wiki has")
    return value


def string(fields: Mapping[str, Any], name: str) -> str:
    """Return the string under `name`; empty if it is missing."""
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise malformed(f"`{name}` is no string but {type(value).__name__}")
    return value


def printable(fields: Mapping[str, Any], name: str) -> str:
    """Return the string under `name`, short and printable; empty if it is missing."""
    value = string(fields, name)
    if not value.isprintable() or len(value) > MAX_FIELD:
        raise malformed(f"`{name}` is too long, or has control characters")
    return value


def member(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object under `name`; empty if it is missing."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise malformed(f"`{name}` is no object but {type(value).__name__}")
    return value


def html_of(fields: Mapping[str, Any], revision_id: int) -> tuple[str, list[str]]:
    """Return text and categories of an answer to `action=parse`."""
    parse = member(fields, "parse")
    if whole_number(parse, "revid", 0) != revision_id or not isinstance(parse.get("text"), str):
        raise malformed("not the text of the requested revision")
    listed = list_of(parse.get("categories", []), "categories")
    if not all(isinstance(each, dict) for each in listed):
        raise malformed("a category is no object")
    return string(parse, "text"), [string(c, "category") for c in listed if not c.get("hidden")]


def site_of(answer: Answer, fields: Mapping[str, Any]) -> WikiInfo:
    """Return the wiki that an answer to `meta=siteinfo` describes."""
    query = member(fields, "query")
    general, statistics = member(query, "general"), member(query, "statistics")
    name, generator = (one_line(string(general, key), 200) for key in ("sitename", "generator"))
    if not generator:
        raise malformed("the wiki does not name its software")
    database = printable(general, "wikiid")
    site = Site.described(
        printable(general, "lang"),
        database,
        article_path_of(general, answer.url),
        namespaces_of(query),
        one_line(string(member(query, "rightsinfo"), "text"), 200),
        printable(general, "case"),
    )
    return WikiInfo(
        site=site,
        name=name,
        generator=generator,
        database=database,
        n_articles=count_of(statistics, "articles"),
        n_pages=count_of(statistics, "pages"),
        seconds=answer.seconds,
    )


def article_path_of(general: Mapping[str, Any], url: str) -> str:
    """Return the prefix of the address of a title; empty if addresses have a suffix too."""
    server, path = printable(general, "server"), printable(general, "articlepath")
    if server.startswith("//"):  # the protocol of the request
        server = url.partition("//")[0] + server
    return server + path.removesuffix("$1") if path.endswith("$1") else ""


def namespaces_of(query: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield numbers and names of namespaces, with canonical names and aliases."""
    aliases = list_of(query.get("namespacealiases", []), "namespacealiases")
    for namespace in [*member(query, "namespaces").values(), *aliases]:
        if not isinstance(namespace, dict):
            raise malformed("a namespace is no object")
        number = whole_number(namespace, "id", -2)
        for name in ("name", "canonical", "alias"):
            if value := string(namespace, name):
                yield number, value
