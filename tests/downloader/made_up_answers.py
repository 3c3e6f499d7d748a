"""What a wiki may answer, and what comes of it: for the tests of live sources."""

import json

from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

N_PAGES = 130


def nothing(page_id):
    return False


def impatient(client):
    client._retry._patience = 0.1
    return client


def gathered(batches):
    articles, skipped = [], {}
    kept = []
    for batch in batches:
        articles += batch.articles
        kept.append(batch)
        for reason, names in batch.skipped.items():
            skipped.setdefault(reason, []).extend(names)
    return articles, skipped, kept


def page(**changes):
    slot = {"contentmodel": "wikitext", "content": "It is here. It is a sentence."}
    revision = {"revid": 5, "timestamp": "2024-01-02T03:04:05Z", "slots": {"main": slot}}
    return {"pageid": 1, "ns": 0, "title": "One", "revisions": [revision], **changes}


def revised(**changes):
    return page(revisions=[{**page()["revisions"][0], **changes}])


def slotted(**changes):
    return revised(slots={"main": {**page()["revisions"][0]["slots"]["main"], **changes}})


def random_answers(client, *pages):
    site = json.loads(SyntheticWiki(3).answer({"meta": "siteinfo"}))

    def answer(asked):
        return site if "meta" in asked else {"batchcomplete": True, "query": {"pages": pages}}

    with serving(Scripted(answer)) as url:
        return gathered(RandomPages(MediaWikiApi(client, url)).batches(None, nothing))[:2]


def tree(*edges):
    """A wiki of categories: parent and child, a child of small letters being a page."""
    ids, pages = {}, {}
    for _, child in edges:
        number = ids.setdefault(child, len(ids) + 1)
        pages[number] = child
    site = json.loads(SyntheticWiki(9).answer({"meta": "siteinfo"}))

    def answer(asked):
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
