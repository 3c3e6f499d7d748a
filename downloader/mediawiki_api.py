"""The Action API of a MediaWiki: what the wiki is, queries followed to their end, rendered pages.

https://www.mediawiki.org/wiki/API:Main_page. Answers come from a machine that may be busy, broken
or hostile, so nothing of their shape is taken for granted: an answer of another shape than asked
for is asked for again, and whatever could go on for ever has a bound.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from corpora.articles.page import Site
from downloader.answer import BadAnswer, json_object, one_line
from downloader.errors import RefusedError, UnusableAnswerError
from downloader.retry_after import retry_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from downloader.answer import Answer
    from downloader.http_client import PoliteClient

logger = logging.getLogger(__name__)

T = TypeVar("T")

LARGEST_ID = 2**63 - 1
LARGEST_COUNT = 10**9
"""Pages of a wiki, or members of a category. The largest wikis have a tenth."""
FEW_PAGES = 10_000
"""So many more than twice as many as it counts may come from a wiki: wikis miscount."""
MOST_PAGES = 500
"""In one batch: the most that MediaWiki gives to those who are not bots."""
MOST_ANSWERS = 500
"""For one batch: MediaWiki cuts a batch at 8 MB an answer, and 50 pages have at most 100 MB."""
LARGEST_BATCH = 2**28
"""Bytes of all answers of one batch."""
MOST_EMPTY_BATCHES = 500
"""In a row: a filter may leave some empty."""
LONGEST_CONTINUATION = 2000
"""Characters; it becomes part of the next address."""
LONGEST_PARTICULAR = 500
"""Characters: of a wiki's language, of its address and the like."""
LAG_WAIT = 5.0
"""Seconds to wait for a lagging database if the wiki does not say, as MediaWiki's manual has it."""

PASSING = re.compile(
    r"maxlag|ratelimited|readonly|actionthrottledtext|internal_api_error_.*|pool-.*"
    r"|concurrency-limit|apierror-.*-pool.*"
)
"""Codes of errors that a later request may not meet."""


class ApiError(RefusedError):
    """The wiki answered with an error that no retry mends; `code` is MediaWiki's name for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class WikiInfo:
    """What a wiki says of itself."""

    site: Site
    name: str
    generator: str
    """Its software and version: `MediaWiki 1.39.17`."""
    database: str
    """`enwiki` for the English Wikipedia."""
    n_articles: int
    """As the wiki counts them: with a link at least, or all that are no redirects."""
    n_pages: int
    """In all namespaces, redirects too."""
    seconds: float
    """How long the wiki took to say so."""


@dataclass(frozen=True)
class QueryBatch:
    """All that a query has to say of some pages."""

    pages: list[dict[str, Any]]
    """One object a page; ids, namespaces and titles are checked, other members are as they came."""
    answers: dict[str, list[Any]]
    """The other lists of the answer, such as `redirects` or `categorymembers`."""
    continuation: dict[str, str] | None
    """What a query that goes on after this batch is given; None at the end."""


class MediaWikiApi:
    """The Action API of one wiki.

    Parameters
    ----------
    client
        Asks, waits and retries.
    url
        Of the wiki's `api.php`.
    """

    def __init__(self, client: PoliteClient, url: str) -> None:
        self.client = client
        self.url = url
        self._site: WikiInfo | None = None
        self._warned: set[str] = set()

    def site(self) -> WikiInfo:
        """What the wiki says of itself; asked once."""
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
        """The batches of a query, from a continuation on, to the end.

        Parameters
        ----------
        params
            Of `action=query`; format, `maxlag` and the like are added.
        continuation
            Of an earlier batch, to go on after it.
        check
            Raises `BadAnswer` if a batch is not usable: its last answer is then asked for again.

        Raises
        ------
        ApiError
            If the wiki refuses.
        UnusableAnswerError
            If the answers go round in circles, or on without bringing anything.
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
            if n_empty > MOST_EMPTY_BATCHES:
                raise UnusableAnswerError(
                    f"{self.url} goes on without an end: {n_empty} answers in a row were empty"
                )

    def rendered(self, revision_id: int) -> str:
        """The HTML of a revision's text.

        Raises
        ------
        ApiError
            If the wiki refuses; with code `nosuchrevid` if the page was deleted meanwhile.
        """
        return self._get(
            {
                "action": "parse",
                "oldid": str(revision_id),
                "prop": "text",
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
        """The answers from `continuation` on, merged until a batch is complete."""
        gathered = QueryBatch([], {}, None)
        size = 0
        for _ in range(MOST_ANSWERS):

            def merged(
                answer: Answer, fields: dict[str, Any], before: QueryBatch = gathered
            ) -> tuple[QueryBatch, bool, int]:
                batch, is_complete = merge(before, fields, params)
                if is_complete and check is not None:
                    check(batch)
                return batch, is_complete, len(answer.body)

            gathered, is_complete, n_bytes = self._get({**params, **(continuation or {})}, merged)
            continuation = gathered.continuation
            if continuation is not None and loop.comes_round(tuple(sorted(continuation.items()))):
                raise UnusableAnswerError(
                    f"{self.url} goes round in circles: it continues where it was before"
                )
            if is_complete:
                return gathered
            size += n_bytes
            if size > LARGEST_BATCH:
                break
        raise UnusableAnswerError(
            f"{self.url} does not come to the end of {len(gathered.pages)} pages; it gave"
            f" {size / 2**20:.0f} MB; ask for fewer at once"
        )

    def _get(self, params: Mapping[str, str], read: Callable[[Answer, dict[str, Any]], T]) -> T:
        """What `read` makes of the answer, which is an object and no error."""

        def check(answer: Answer) -> T:
            fields = json_object(answer)
            self._log_warnings(fields.get("warnings"))
            raise_error(fields.get("error"), answer, self.url)
            return read(answer, fields)

        common = {"format": "json", "formatversion": "2", "utf8": "1", "maxlag": "5"}
        return self.client.get(self.url, {**params, **common}, check)

    def _log_warnings(self, warnings: object) -> None:
        """Log what the wiki warns of, each thing once."""
        for module, content in warnings.items() if isinstance(warnings, dict) else ():
            text = content.get("warnings") if isinstance(content, dict) else None
            if not isinstance(text, str):
                continue
            warning = one_line(f"{module}: {' '.join(text[:1000].split())}", 500)
            if not text or warning in self._warned or len(self._warned) >= 100:
                continue
            self._warned.add(warning)
            # `result` says that an answer was cut at some size, which continuing makes up for.
            level = logging.DEBUG if module == "result" else logging.WARNING
            logger.log(level, "%s warns of %s", self.url, warning)


class LoopDetector:
    """Notices that a sequence repeats itself, holding one of its members (Brent 1980)."""

    def __init__(self) -> None:
        self._kept: object = None
        self._n_since = self._n_until_next = 1

    def comes_round(self, member: object) -> bool:
        """Take the next member; True if it is the one that is held."""
        if member == self._kept:
            return True
        self._n_since -= 1
        if self._n_since == 0:
            self._kept = member
            self._n_until_next *= 2
            self._n_since = self._n_until_next
        return False


def malformed(reason: str) -> BadAnswer:
    """The error for an answer that is not of the shape that MediaWiki's are."""
    return BadAnswer(reason, malformed=True)


def raise_error(error: object, answer: Answer, url: str) -> None:
    """Raise what the `error` of an answer is; nothing if there is none."""
    if error is None:
        return
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        raise malformed("an error without a code")
    code, info = one_line(error["code"], 100), error.get("info")
    info = one_line(" ".join(info[:1000].split()), 300) if isinstance(info, str) else ""
    if PASSING.fullmatch(code):
        wait = retry_after(answer.headers)
        raise BadAnswer(f"{code}: {info}", LAG_WAIT if wait is None and code == "maxlag" else wait)
    raise ApiError(code, f"{url} refuses: {info} ({code})")


def merge(
    before: QueryBatch, fields: dict[str, Any], params: Mapping[str, str]
) -> tuple[QueryBatch, bool]:
    """A batch with another answer of it, and whether it is complete now."""
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
    if len(pages) > MOST_PAGES:
        raise malformed(f"more than {MOST_PAGES} pages in one answer")
    answers = dict(before.answers)
    for name, members in query.items():
        if name != "pages" and isinstance(members, list):
            answers[name] = [*answers.get(name, []), *members]
    return QueryBatch(list(pages.values()), answers, continuation), is_complete


def continuation_of(value: object, params: Mapping[str, str]) -> dict[str, str] | None:
    """The continuation under `continue`, as strings; it may add parameters but change none."""
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise malformed("`continue` is no object")
    if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in value.values()):
        raise malformed("`continue` holds something else than strings")
    continuation = {name: str(v) for name, v in value.items()}
    if sum(map(len, [*continuation, *continuation.values()])) > LONGEST_CONTINUATION:
        raise malformed("`continue` is too long")
    if not all(map(is_unicode, [*continuation, *continuation.values()])):
        raise malformed("half a surrogate pair in `continue`")
    if not params.keys().isdisjoint(continuation):
        raise malformed("`continue` would change what is asked for")
    return continuation


def check_page(page: object) -> None:
    """See to it that a page has the id, namespace and title that tell it from others."""
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
    """What tells a page from others of its batch."""
    return page["pageid"] if "pageid" in page else page["title"]


def list_of(value: object, name: str) -> list[Any]:
    """`value`, which has to be a list."""
    if not isinstance(value, list):
        raise malformed(f"`{name}` is no list but {type(value).__name__}")
    return value


def whole_number(fields: Mapping[str, Any], name: str, least: int) -> int:
    """The whole number under `name`, of at most 64 bits."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST_ID:
        found = str(value)[:40] if isinstance(value, str | int | float) else type(value).__name__
        raise malformed(f"`{name}` is no whole number from {least}: {found!r}")
    return value


def count_of(fields: Mapping[str, Any], name: str) -> int:
    """The number of pages under `name`, which no wiki has beyond measure."""
    value = whole_number(fields, name, 0)
    if value > LARGEST_COUNT:
        raise malformed(f"`{name}` is {value}, more pages than any wiki has")
    return value


def string(fields: Mapping[str, Any], name: str) -> str:
    """The string under `name`; empty if it is missing."""
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise malformed(f"`{name}` is no string but {type(value).__name__}")
    return value


def is_unicode(text: str) -> bool:
    """Whether `text` has no half of a surrogate pair, which no file or address can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(fields: Mapping[str, Any], name: str) -> str:
    """The string under `name`, a short one of letters, digits and the like; empty if missing."""
    value = string(fields, name)
    if not value.isprintable() or len(value) > LONGEST_PARTICULAR:
        raise malformed(f"`{name}` is too long, or holds control characters")
    return value


def member(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object under `name`; empty if it is missing."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise malformed(f"`{name}` is no object but {type(value).__name__}")
    return value


def html_of(fields: Mapping[str, Any], revision_id: int) -> str:
    """The text of an answer to `action=parse`."""
    parse = member(fields, "parse")
    if whole_number(parse, "revid", 0) != revision_id or not isinstance(parse.get("text"), str):
        raise malformed("not the text of the revision that was asked for")
    return string(parse, "text")


def site_of(answer: Answer, fields: Mapping[str, Any]) -> WikiInfo:
    """The wiki that an answer to `meta=siteinfo` describes."""
    query = member(fields, "query")
    general, statistics = member(query, "general"), member(query, "statistics")
    name, generator = (one_line(string(general, key), 200) for key in ("sitename", "generator"))
    if not generator:
        raise malformed("the wiki does not say what it is")
    database = printable(general, "wikiid")
    site = Site.described(
        printable(general, "lang"),
        database,
        article_path_of(general, answer.url),
        namespaces_of(query),
        one_line(string(member(query, "rightsinfo"), "text"), 200),
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
    """What a title is appended to for its address; empty if titles stand in the middle of it."""
    server, path = printable(general, "server"), printable(general, "articlepath")
    if server.startswith("//"):  # whichever protocol one came by
        server = url.partition("//")[0] + server
    return server + path.removesuffix("$1") if path.endswith("$1") else ""


def namespaces_of(query: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Numbers and names of namespaces, with canonical names and aliases."""
    aliases = list_of(query.get("namespacealiases", []), "namespacealiases")
    for namespace in [*member(query, "namespaces").values(), *aliases]:
        if not isinstance(namespace, dict):
            raise malformed("a namespace is no object")
        number = whole_number(namespace, "id", -2)
        for name in ("name", "canonical", "alias"):
            if value := string(namespace, name):
                yield number, value
