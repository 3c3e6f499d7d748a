"""Live sources: batches of articles, and the conversion of a wiki's pages to articles.

A source lists pages, and requests their texts together with the list or separately: as wikitext, 50
pages a request, or as rendered HTML, one page a request.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from corpora.articles import rendered_html
from corpora.articles.article import Article
from corpora.articles.page import REDIRECT, Page, Site, article_of, page_to_article
from corpora.articles.page_columns import category_name, page_columns
from corpora.files import is_unicode
from downloader.answer import one_line
from downloader.mediawiki_api import (
    ApiError,
    MediaWikiApi,
    QueryBatch,
    malformed,
    member,
    string,
    whole_number,
)

logger = logging.getLogger(__name__)

TextForm = Literal["wikitext", "html"]
Skipped = dict[str, list[str]]
"""Reason → printable titles, or ids of pages without a title: see `shown`."""
MAX_NAME_LENGTH = 300
"""Characters of a title that are shown; MediaWiki's titles have at most 255 bytes."""

BATCH_SIZE = 50  # Pages a request: MediaWiki's maximum of texts for users who are not bots

GONE = frozenset({"nosuchrevid", "missingtitle", "missingcontent-revid", "permissiondenied"})
"""Codes of errors for a revision that was deleted or hidden after it was listed."""


@dataclass(frozen=True)
class Batch:
    """Some articles, and the position of the source after them."""

    articles: list[Article]
    cursor: dict[str, Any]  #: Position after this batch, for `batches`; it can be written as JSON.
    finished: bool  #: Whether this is the last batch.
    skipped: Skipped = field(default_factory=dict)  #: Pages that became no article, by reason.
    already_there: int = 0  #: Number of pages that were skipped because they are known.
    commit: bool = False  #: Whether it has to be stored before the next batch is taken.


class LiveSource(Protocol):
    """Source of articles from a server."""

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others; cursors belong to one identity."""

    @property
    def language(self) -> str:
        """Language of the articles."""

    def total(self) -> int | None:
        """Return the approximate number of pages; None if it is not known."""

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield the batches after `cursor`, or all; pages whose id is `known` are skipped."""


class PageReader:
    """Converts the pages in answers to articles.

    Parameters
    ----------
    api
        API of the wiki.
    text
        "wikitext", which comes with the pages, or "html", with one request a page.
    """

    def __init__(self, api: MediaWikiApi, text: TextForm) -> None:
        if text not in ("wikitext", "html"):
            raise ValueError(f"text must be 'wikitext' or 'html', not {text!r}")
        self.api = api
        self.text = text

    @property
    def params(self) -> dict[str, str]:
        """Parameters of a query for the fields of each page."""
        content = "|content" if self.text == "wikitext" else ""
        return {
            "prop": "info|revisions|pageprops",
            "rvprop": "ids|timestamp|contentmodel" + content,
            "rvslots": "main",
            "ppprop": "wikibase_item",
        }

    def batches(
        self,
        pages: Sequence[Mapping[str, Any]],
        known: Callable[[int], bool],
        before: dict[str, Any],
        after: Batch,
    ) -> Iterator[Batch]:
        """Yield batches with the articles of `pages`; the last is `after` with this added.

        Rendered pages come one by one, each with the cursor `before`: a run that continues from
        there receives again the pages that it does not know.
        """
        site = self.api.site().site
        skipped = {reason: list(titles) for reason, titles in after.skipped.items()}
        articles: list[Article] = []
        n_known = after.already_there
        for fields in pages:
            reason = skip_reason(fields)
            if not reason and known(fields["pageid"]):
                n_known += 1
                continue
            article = None
            if not reason:
                article, reason = self._article_of(page_of(fields, site))
            if article is None:
                skipped.setdefault(reason, []).append(name_of(fields))
            elif self.text == "html":
                yield Batch([article], before, finished=False)
            else:
                articles.append(article)
        yield Batch(articles, after.cursor, after.finished, skipped, n_known)

    def _article_of(self, page: Page) -> tuple[Article | None, str]:
        """Return the article of a page, or None and the reason."""
        if not is_unicode(page.title) or not is_unicode(page.wikitext):
            return None, "not Unicode"
        if REDIRECT.match(page.wikitext):  # as in dumps, also if the wiki does not mark it
            return None, "redirect"
        if self.text == "wikitext":
            article = page_to_article(page)
        else:
            try:
                html, categories = self.api.rendered(page.revision_id)
            except ApiError as error:
                if error.code not in GONE:
                    raise
                return None, "missing"
            if not all(map(is_unicode, [html, *categories])):
                return None, "not Unicode"
            names = filter(None, map(category_name, categories))
            columns = page_columns(names, page.wikidata)
            article = article_of(page, rendered_html.main_text(html), columns)
        return article, "" if article else "no text"


def resumed(
    api: MediaWikiApi,
    params: Mapping[str, str],
    continuation: dict[str, str] | None,
    check: Callable[[QueryBatch], None] | None = None,
) -> Iterator[QueryBatch]:
    """Yield the batches of a query; from its start if the wiki refuses the continuation."""
    batches = api.query(params, continuation, check)
    try:
        first = next(batches, None)
    except ApiError as error:
        if error.code != "badcontinue" or continuation is None:
            raise
        logger.warning("the wiki refuses our last position: starting again")
        batches = api.query(params, None, check)
        first = next(batches, None)
    if first is not None:
        yield first
        yield from batches


def saved_continuation(cursor: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the continuation in a cursor; None if it is missing or malformed."""
    value = cursor.get("continue")
    if not isinstance(value, dict) or not value:
        return None
    if not all(isinstance(text, str) for pair in value.items() for text in pair):
        return None
    return value


def check_pages(batch: QueryBatch) -> None:
    """Raise `BadAnswer` if a page of a batch that should be an article is malformed."""
    for fields in batch.pages:
        if not skip_reason(fields):
            page_of(fields, Site())


def check_named(batch: QueryBatch) -> None:
    """Raise `BadAnswer` also if the answer about requested names or ids is continued."""
    if batch.continuation is not None:
        raise malformed("it continues after all that was requested")
    check_pages(batch)


def skip_reason(page: Mapping[str, Any]) -> str:
    """Return why a page is no article; empty if it may be one."""
    revision = revision_of(page)
    slot = main_slot(revision)
    reasons = {
        "invalid": page.get("invalid"),
        "missing": page.get("missing"),
        "not an article": page.get("special") or page.get("ns") != 0 or "pageid" not in page,
        "redirect": page.get("redirect"),
        "not wikitext": any(
            string(holder, "contentmodel") != "wikitext"
            for holder in (page, slot)
            if "contentmodel" in holder
        ),
        "hidden": revision.get("texthidden") or slot.get("texthidden"),
        "no text": not revision or slot.get("missing") or slot.get("textmissing"),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def page_of(fields: Mapping[str, Any], site: Site) -> Page:
    """Return the page that an answer describes; its wikitext is empty if it was not requested."""
    revision = revision_of(fields)
    return Page(
        site,
        page_id=whole_number(fields, "pageid", 1),
        revision_id=whole_number(revision, "revid", 1),
        title=string(fields, "title"),
        timestamp=string(revision, "timestamp"),
        wikitext=string(main_slot(revision), "content"),
        wikidata=string(member(fields, "pageprops"), "wikibase_item"),
    )


def revision_of(page: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the latest revision in a page's answer; empty if there is none."""
    revisions = page.get("revisions")
    if not isinstance(revisions, list) or not revisions or not isinstance(revisions[0], dict):
        return {}
    return revisions[0]


def main_slot(revision: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the main slot of a revision; empty if there is none.

    Before MediaWiki 1.32 a revision had no slots, but the fields of the main slot.
    """
    slots = revision.get("slots", {"main": revision})
    slot = slots.get("main") if isinstance(slots, dict) else None
    return slot if isinstance(slot, dict) else {}


def name_of(page: Mapping[str, Any]) -> str:
    """Return the printable title of a page, or its id."""
    title = page.get("title")
    return (shown(title) if isinstance(title, str) else "") or f"page {page.get('pageid')}"


def shown(title: str) -> str:
    """Return a title as one short line without control characters or half surrogates.

    So neither a wiki nor a list of titles can send control sequences to the terminal.
    """
    return one_line(title, MAX_NAME_LENGTH)
