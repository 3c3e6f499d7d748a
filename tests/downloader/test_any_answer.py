import json
import logging
import random
from itertools import product
from typing import Any

import pytest

from downloader.category import Category
from downloader.errors import DownloadError, TryLaterError, UnusableAnswerError
from downloader.mediawiki_api import ApiError, MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.titles import Titles
from tests.downloader.impatient_client import PATIENT, new_client
from tests.downloader.made_up_answers import gathered, nothing, page
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

SAID: dict[str, Any] = {
    "site": json.loads(SyntheticWiki(3).answer({"meta": "siteinfo"})),
    "random": {
        "batchcomplete": True,
        "continue": {"grncontinue": "0.5|0.7|3|0", "continue": "grncontinue||"},
        "warnings": {"main": {"warnings": "Subscribe to the list."}},
        "query": {"pages": [page(contentmodel="wikitext")]},
    },
    "error": {"error": {"code": "badvalue", "info": "Unrecognized value."}},
    "titles": {
        "batchcomplete": True,
        "query": {
            "normalized": [{"fromencoded": False, "from": "one", "to": "One"}],
            "converted": [{"from": "Eins", "to": "One"}],
            "redirects": [{"from": "Uno", "to": "One"}],
            "interwiki": [{"title": "de:Eins", "iw": "de"}],
            "pages": [
                page(),
                {"pageid": 5, "ns": 0, "title": "Gone", "missing": True},
                {"title": "<", "invalid": True, "invalidreason": "no"},
            ],
        },
    },
    "category": {
        "batchcomplete": True,
        "query": {
            "pages": [{"pageid": 9, "ns": 14, "title": "Category:A", "categoryinfo": {"pages": 2}}]
        },
    },
    "members": {
        "batchcomplete": True,
        "query": {
            "categorymembers": [
                {"pageid": 1, "ns": 0, "title": "One"},
                {"pageid": 5, "ns": 14, "title": "Category:Gone", "missing": True},
            ]
        },
    },
    "ids": {"batchcomplete": True, "query": {"pages": [page()]}},
    "parse": {"parse": {"title": "One", "pageid": 1, "revid": 5, "text": "<p>It is here.</p>"}},
}
REMOVED = object()
NASTY = "\x1b]0;x\x07\ud83d\u202e\n2"
ODD = [REMOVED, None, True, -1, 2**63, NASTY, [], {NASTY: NASTY}]


def kind_of(asked):
    for name, kind in (("meta", "site"), ("list", "members"), ("pageids", "ids")):
        if name in asked:
            return kind
    if "titles" in asked:
        return "category" if asked["titles"].startswith("Category:") else "titles"
    return "parse" if "oldid" in asked else "random"


def places_in(said, *path):
    pairs = said.items() if isinstance(said, dict) else enumerate(said)  # type: ignore[arg-type]
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places_in(value, *path, key)


def with_a_change(said, path, value):
    changed = holder = json.loads(json.dumps(said))
    for key in path[:-1]:
        holder = holder[key]
    if not path:
        return changed
    if value is REMOVED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return changed


def sources_that_ask_for(kind, api, titles):
    if kind in {"site", "error", "random"}:
        yield RandomPages(api)
    if kind in {"random", "parse"}:
        yield RandomPages(api, "html")
    if kind == "titles":
        yield Titles(api, titles)
    if kind in {"site", "category", "members", "ids"}:
        yield Category(api, "A", 1)


def outcome_of(source):
    try:
        articles, skipped, _ = gathered(source.batches(None, nothing))
    except DownloadError as error:
        return type(error), [str(error)]
    return len(articles), [name for names in skipped.values() for name in names]


class NoJitter(random.Random):
    def random(self):
        return 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAID)
def test_no_member_of_an_answer_breaks_anything(tmp_path, caplog, kind):
    client = new_client(tmp_path, **(PATIENT | {"patience": 0}))
    client._retry._rng = NoJitter()
    titles = tmp_path / "titles"
    titles.write_text("one\nEins\nUno\nde:Eins\nGone\n<\n")
    change = ((), None)

    def answer(asked):
        asked_for = "error" if kind == "error" and "meta" not in asked else kind_of(asked)
        if asked_for == "random" and asked.keys() & {"grncontinue", "continue", NASTY}:
            return SAID["ids"]
        if asked.get("cmtitle", "Category:A") != "Category:A":
            return {"batchcomplete": True, "query": {"categorymembers": []}}
        return with_a_change(SAID[asked_for], *change) if asked_for == kind else SAID[asked_for]

    outcomes = []
    caplog.set_level(logging.DEBUG, "downloader")
    with serving(Scripted(answer)) as url:
        api = MediaWikiApi(client, url)
        api.site()
        changes = [((), None), *product(places_in(SAID[kind]), ODD)]
        for change in changes:  # noqa: B007 - the server looks at it
            if kind == "site":
                api._site = None
            api._warned.clear()
            for source in sources_that_ask_for(kind, api, titles):
                outcome, said_of_it = outcome_of(source)
                outcomes.append(outcome)
                said_of_it += [record.getMessage() for record in caplog.records]
                caplog.clear()
                assert all(text.isprintable() and len(text) < 1000 for text in said_of_it)
    client.close()
    assert TryLaterError not in outcomes  # it would mean that an answer was not even asked for
    assert {UnusableAnswerError, ApiError} & set(outcomes)
    assert kind == "error" or {1, 2} & set(outcomes)
