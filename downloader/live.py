"""What all live sources share: batches of articles, and pages of a wiki made into articles.

A source lists pages, and asks for their texts in the same request or in another: as wikitext, 50
pages a request, or as rendered HTML, a request a page.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from corpora.articles import rendered_html
from corpora.articles.page import REDIRECT, Page, Site, article_of, page_to_article
from downloader.answer import one_line
from downloader.mediawiki_api import ApiError, is_unicode, malformed, string, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from corpora.articles.article import Article
    from downloader.mediawiki_api import MediaWikiApi, QueryBatch

logger = logging.getLogger(__name__)

TextForm = Literal["wikitext", "html"]
Skipped = dict[str, list[str]]
"""Reason → titles, or ids of pages without a title, as they can be printed: see `shown`."""
LONGEST_NAME = 300
"""Characters of a title that are shown: MediaWiki's have at most 255 bytes, or little more."""

BATCH_SIZE = 50
"""Pages a request: the most whose texts MediaWiki gives to those who are not bots."""

GONE = frozenset({"nosuchrevid", "missingtitle", "missingcontent-revid", "permissiondenied"})
"""Errors of a revision that was deleted or hidden since it was listed."""


@dataclass(frozen=True)
class Batch:
    """Some articles, and where the source stands after them."""

    articles: list[Article]
    cursor: dict[str, Any]
    """Given to `batches`, the source goes on behind this batch. It can be written as JSON."""
    finished: bool
    """Whether this is the last."""
    skipped: Skipped = field(default_factory=dict)
    """What is not among the articles, and why."""
    already_there: int = 0
    """Pages left out because they are known."""


class LiveSource(Protocol):
    """Articles of a wiki, asked for while it is running."""

    @property
    def identity(self) -> dict[str, str | int]:
        """What makes it this source: with another identity, cursors mean something else."""

    @property
    def language(self) -> str:
        """That of the articles."""

    def total(self) -> int | None:
        """About how many pages there are to ask for; None if that is not known."""

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """The batches behind `cursor`, or all; `known` tells page ids that are not wanted."""


class PageReader:
    """Makes articles of the pages in answers.

    Parameters
    ----------
    api
        Of the wiki.
    text
        "wikitext", which comes with the pages, or "html", which is asked for page by page.
    """

    def __init__(self, api: MediaWikiApi, text: TextForm) -> None:
        if text not in ("wikitext", "html"):
            raise ValueError(f"text has to be 'wikitext' or 'html', not {text!r}")
        self.api = api
        self.text = text

    @property
    def params(self) -> dict[str, str]:
        """What a query has to ask for of each page."""
        content = "|content" if self.text == "wikitext" else ""
        return {
            "prop": "info|revisions",
            "rvprop": "ids|timestamp|contentmodel" + content,
            "rvslots": "main",
        }

    def batches(
        self,
        pages: Sequence[Mapping[str, Any]],
        known: Callable[[int], bool],
        before: dict[str, Any],
        after: Batch,
    ) -> Iterator[Batch]:
        """Batches with the articles of `pages`; the last is `after` with what is said here added.

        Rendered pages come one by one, each with the cursor `before`: whoever goes on from there
        gets those again that are not known by then.
        """
        site = self.api.site().site
        skipped = {reason: list(titles) for reason, titles in after.skipped.items()}
        articles: list[Article] = []
        n_known = after.already_there
        for fields in pages:
            reason = why_not(fields)
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
        """The article of a page, or why it is none."""
        if not is_unicode(page.title) or not is_unicode(page.wikitext):
            return None, "not Unicode"
        if REDIRECT.match(page.wikitext):  # as readers of dumps do, whatever the wiki thinks of it
            return None, "redirect"
        if self.text == "wikitext":
            article = page_to_article(page)
        else:
            try:
                html = self.api.rendered(page.revision_id)
            except ApiError as error:
                if error.code not in GONE:
                    raise
                return None, "missing"
            if not is_unicode(html):
                return None, "not Unicode"
            article = article_of(page, rendered_html.main_text(html))
        return article, "" if article else "no text"


def resumed(
    api: MediaWikiApi,
    params: Mapping[str, str],
    continuation: dict[str, str] | None,
    check: Callable[[QueryBatch], None] | None = None,
) -> Iterator[QueryBatch]:
    """The batches of a query; from its beginning if the wiki does not know the continuation."""
    batches = api.query(params, continuation, check)
    try:
        first = next(batches, None)
    except ApiError as error:
        if error.code != "badcontinue" or continuation is None:
            raise
        logger.warning("the wiki does not know any more where we were: starting again")
        batches = api.query(params, None, check)
        first = next(batches, None)
    if first is not None:
        yield first
        yield from batches


def saved_continuation(cursor: Mapping[str, Any]) -> dict[str, str] | None:
    """The continuation in a cursor; None if there is none, or something else."""
    value = cursor.get("continue")
    if not isinstance(value, dict) or not value:
        return None
    if not all(isinstance(text, str) for pair in value.items() for text in pair):
        return None
    return value


def check_pages(batch: QueryBatch) -> None:
    """Raise `BadAnswer` if one of a batch's pages should be an article but is malformed."""
    for fields in batch.pages:
        if not why_not(fields):
            page_of(fields, Site())


def check_named(batch: QueryBatch) -> None:
    """The same for pages that were asked for by name or id, which a query has no more of."""
    if batch.continuation is not None:
        raise malformed("it goes on after all that was asked for")
    check_pages(batch)


def why_not(page: Mapping[str, Any]) -> str:
    """Why a page is no article; empty if it may be one."""
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
    """The page that an answer describes, its wikitext empty if that was not asked for."""
    revision = revision_of(fields)
    return Page(
        site,
        page_id=whole_number(fields, "pageid", 1),
        revision_id=whole_number(revision, "revid", 1),
        title=string(fields, "title"),
        timestamp=string(revision, "timestamp"),
        wikitext=string(main_slot(revision), "content"),
    )


def revision_of(page: Mapping[str, Any]) -> Mapping[str, Any]:
    """The latest revision in a page's answer; empty if there is none."""
    revisions = page.get("revisions")
    if not isinstance(revisions, list) or not revisions or not isinstance(revisions[0], dict):
        return {}
    return revisions[0]


def main_slot(revision: Mapping[str, Any]) -> Mapping[str, Any]:
    """The main slot of a revision; empty if there is none.

    Before version 1.32 of MediaWiki, a revision had no slots and was what the main one is.
    """
    slots = revision.get("slots", {"main": revision})
    slot = slots.get("main") if isinstance(slots, dict) else None
    return slot if isinstance(slot, dict) else {}


def name_of(page: Mapping[str, Any]) -> str:
    """The title of a page, or its id, as it can be printed."""
    title = page.get("title")
    return (shown(title) if isinstance(title, str) else "") or f"page {page.get('pageid')}"


def shown(title: str) -> str:
    """A title as it can be printed: one short line without control characters or half surrogates.

    Whoever runs the wiki, or wrote the list, does not get to steer the terminal with it.
    """
    return one_line(title, LONGEST_NAME)
