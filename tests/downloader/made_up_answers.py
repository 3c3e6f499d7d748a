"""What a wiki may answer, and what comes of it: for the tests of live sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from corpora import Article
    from downloader.http_client import PoliteClient
    from downloader.live import Batch


N_PAGES = 130
"""Of the wiki that the fixture `made_up` gives."""

Ask = dict[str, str]
MadeUp = tuple[SyntheticWiki, Scripted, str]
Skipped = dict[str, list[str]]


def nothing(page_id: int) -> bool:
    return False


def impatient(client: PoliteClient) -> PoliteClient:
    """The same client; having had good answers it would wait for more of them."""
    client._retry._patience = 0.1
    return client


def gathered(batches: Iterator[Batch]) -> tuple[list[Article], Skipped, list[Batch]]:
    articles: list[Article] = []
    skipped: Skipped = {}
    kept = []
    for batch in batches:
        articles += batch.articles
        kept.append(batch)
        for reason, names in batch.skipped.items():
            skipped.setdefault(reason, []).extend(names)
    return articles, skipped, kept


def page(**changes: Any) -> dict[str, Any]:
    slot = {"contentmodel": "wikitext", "content": "It is here. It is a sentence."}
    revision = {"revid": 5, "timestamp": "2024-01-02T03:04:05Z", "slots": {"main": slot}}
    return {"pageid": 1, "ns": 0, "title": "One", "revisions": [revision], **changes}


def revised(**changes: Any) -> dict[str, Any]:
    return page(revisions=[{**page()["revisions"][0], **changes}])


def slotted(**changes: Any) -> dict[str, Any]:
    slot = page()["revisions"][0]["slots"]["main"]
    return revised(slots={"main": {**slot, **changes}})


def random_answers(client: PoliteClient, *pages: object) -> tuple[list[Article], Skipped]:
    """What comes of a wiki whose random pages are these."""
    site = json.loads(SyntheticWiki(3).answer({"meta": "siteinfo"}))

    def answer(asked: Ask) -> object:
        return site if "meta" in asked else {"batchcomplete": True, "query": {"pages": pages}}

    with serving(Scripted(answer)) as url:
        return gathered(RandomPages(MediaWikiApi(client, url)).batches(None, nothing))[:2]


def tree(*edges: tuple[str, str]) -> Callable[[Ask], object]:
    """A wiki of categories: parent and child, a child of small letters being a page."""
    ids: dict[str, int] = {}
    pages: dict[int, str] = {}
    for _, child in edges:
        number = ids.setdefault(child, len(ids) + 1)
        pages[number] = child
    site = json.loads(SyntheticWiki(9).answer({"meta": "siteinfo"}))

    def answer(asked: Ask) -> object:
        if "meta" in asked:
            return site
        if "list" in asked:
            name = asked["cmtitle"].removeprefix("Category:")
            children = [child for parent, child in edges if parent == name]
            members = [
                {"pageid": ids[c], "ns": 0, "title": c}
                if c.islower()
                else {"pageid": ids[c], "ns": 14, "title": f"Category:{c}"}
                for c in children
            ]
            return {"batchcomplete": True, "query": {"categorymembers": members}}
        if "pageids" in asked:
            wanted = map(int, asked["pageids"].split("|"))
            found = [page(pageid=number, title=pages[number]) for number in wanted]
            return {"batchcomplete": True, "query": {"pages": found}}
        title = asked["titles"]
        is_there = title.removeprefix("Category:") in {parent for parent, _ in edges}
        info = {"ns": 14, "title": title, "missing": True}
        if is_there:
            info["categoryinfo"] = {"size": 3, "pages": 2, "files": 0, "subcats": 1}
        return {"batchcomplete": True, "query": {"pages": [info]}}

    return answer
