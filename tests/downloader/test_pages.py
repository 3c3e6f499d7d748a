import json

import pytest

from downloader import random_pages
from downloader.errors import UnusableAnswerError
from downloader.mediawiki_api import ApiError, MediaWikiApi
from downloader.random_pages import RandomPages
from tests.downloader.impatient_client import PATIENT
from tests.downloader.made_up_answers import (
    gathered,
    impatient,
    nothing,
    page,
    random_answers,
    revised,
    slotted,
)
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

CLIENT = PATIENT


def test_a_page_becomes_an_article_with_slots_or_without(client):
    ((article,), skipped) = random_answers(client, page(title="A b/ü?&+%"))
    assert not skipped
    assert (article.page_id, article.revision_id) == (1, 5)
    assert (article.title, article.timestamp) == ("A b/ü?&+%", "2024-01-02T03:04:05Z")
    assert article.url == "http://127.0.0.1/wiki/A_b/%C3%BC%3F%26%2B%25"
    assert (article.language, article.license) == ("en", "CC0")
    assert article.text == "It is here. It is a sentence."
    slot = page()["revisions"][0]["slots"]["main"]
    revision = {"revid": 5, "timestamp": "2016-01-02T03:04:05Z", **slot}
    ((article,), skipped) = random_answers(client, page(revisions=[revision]))
    assert (article.text, skipped) == ("It is here. It is a sentence.", {})


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        ("missing", {"pageid": 1, "missing": True}),
        ("missing", {"ns": 0, "title": "One", "missing": True}),
        ("invalid", {"title": "One|", "invalid": True, "invalidreason": "no"}),
        *(("not an article", page(ns=4)), ("not an article", page(ns=-1, special=True))),
        *(("redirect", page(redirect=True)), ("redirect", slotted(content="#REDIRECT [[Two]]"))),
        ("redirect", slotted(content="#WEITERLEITUNG [[Zwei]]")),
        ("not wikitext", page(contentmodel="json")),
        *(("not wikitext", slotted(contentmodel="css")), ("hidden", slotted(texthidden=True))),
        *(("hidden", revised(texthidden=True)), ("no text", slotted(content=""))),
        ("no text", slotted(content="{{Only}}\n[[Category:X]]")),
        ("no text", revised(slots={"main": {"missing": True}})),
        *(("no text", slotted(textmissing=True)), ("no text", page(revisions=[]))),
        ("no text", {"pageid": 1, "ns": 0, "title": "One"}),
        *(("no text", page(revisions="none")), ("no text", page(revisions=[None]))),
        *(("no text", revised(slots=None)), ("no text", revised(slots={"main": ["x"]}))),
        ("not Unicode", page(title="Half \ud83d pair")),
        ("not Unicode", slotted(content="A half \udc00 pair.")),
    ],
)
def test_what_is_no_article_is_reported_and_the_others_come(client, reason, given):
    articles, skipped = random_answers(client, given, page(pageid=2, title="Two"))
    assert [article.title for article in articles] == ["Two"]
    ((found, (name,)),) = skipped.items()
    assert found == reason
    name.encode()


@pytest.mark.parametrize(
    "given",
    [
        *(revised(revid=revid) for revid in ("5", -5, True, 2**63, None)),
        *(page(contentmodel=[]), page(contentmodel=None), slotted(contentmodel={})),
        *(page(missing=True, title=[]), page(missing=True, ns="0"), revised(timestamp=20240102)),
        *(slotted(content=["text"]), slotted(content=5), page(pageprops=[])),
        page(pageprops={"wikibase_item": 42}),
    ],
)
def test_a_malformed_page_is_a_named_error(client, given):
    with pytest.raises(UnusableAnswerError):
        random_answers(impatient(client), page(pageid=2), given)


def test_a_page_that_comes_twice_in_an_answer_is_one(client):
    articles, _ = random_answers(client, page(), page(), page(pageid=2, title="Two"))
    assert [article.page_id for article in articles] == [1, 2]


def test_more_pages_than_there_are_end_in_an_error(client, monkeypatch):
    wiki = SyntheticWiki(100)

    def answer(asked):
        position = int(asked.get("grncontinue", 0))
        said = json.loads(wiki.answer({**asked, "grncontinue": "0"}))
        if "generator" in asked:
            said["continue"] = {"grncontinue": str(position + 1)}
        return said

    with serving(Scripted(answer)) as url:
        source = RandomPages(MediaWikiApi(client, url), batch_size=100)
        monkeypatch.setattr(random_pages, "PAGE_MARGIN", 1000)
        with pytest.raises(UnusableAnswerError, match="more than twice"):
            list(source.batches(None, lambda _: True))
    assert client.n_requests < 30


@pytest.mark.parametrize("code", ["nosuchrevid", "permissiondenied"])
def test_a_page_that_is_deleted_after_it_was_listed(client, code):
    wiki = SyntheticWiki(9)

    def answer(asked):
        if asked.get("oldid") == str(10**7 + 4):
            return {"error": {"code": code, "info": "There is no revision with ID 4."}}
        return wiki.answer(asked)

    with serving(Scripted(answer)) as url:
        source = RandomPages(MediaWikiApi(client, url), "html")
        articles, skipped, _ = gathered(source.batches(None, nothing))
    assert (len(articles), skipped) == (8, {"missing": ["Page 4"]})


def test_a_wiki_that_renders_nothing_is_no_wiki_without_pages(client):
    wiki = SyntheticWiki(9)
    refusal = {"error": {"code": "readapidenied", "info": "You need read permission."}}
    with serving(
        Scripted(lambda asked: refusal if asked["action"] == "parse" else wiki.answer(asked))
    ) as url:
        source = RandomPages(MediaWikiApi(client, url), "html")
        with pytest.raises(ApiError, match="read permission"):
            list(source.batches(None, nothing))
