import json

import pytest

import downloader.category as category_module
from downloader.category import Category
from downloader.errors import RefusedError, UnusableAnswerError
from downloader.mediawiki_api import MediaWikiApi
from tests.downloader.impatient_client import PATIENT
from tests.downloader.made_up_answers import gathered, impatient, nothing, page, tree
from tests.downloader.synthetic_wiki import Scripted, serving

CLIENT = PATIENT
EDGES = (
    *(("A", "p"), ("A", "q"), ("A", "B"), ("A", "C")),
    *(("B", "q"), ("B", "r"), ("B", "A"), ("B", "D")),
    *(("C", "D"), ("C", "s"), ("D", "t"), ("D", "D"), ("D", "A")),
)
MEMBER = {"pageid": 1, "ns": 0, "title": "p"}
CATEGORY = {"pageid": 1, "ns": 14}


@pytest.mark.parametrize(
    ("depth", "expected"), [(0, "pq"), (1, "pqrs"), (2, "pqrst"), (3, "pqrst"), (99, "pqrst")]
)
def test_depth_and_circles(client, depth, expected):
    wiki, found = Scripted(tree(*EDGES)), []
    known = set()
    with serving(wiki) as url:
        for batch in Category(MediaWikiApi(client, url), "A", depth).batches(
            None, known.__contains__
        ):
            found += (article.title for article in batch.articles)
            known.update(article.page_id for article in batch.articles)
    assert "".join(sorted(found)) == expected
    gone_through = [asked["cmtitle"] for asked in wiki.asked if "list" in asked]
    assert len(set(gone_through)) == len(gone_through)


@pytest.mark.parametrize("name", ["A", "Category:A", "category:A", " A "])
def test_a_category_with_and_without_prefix(client, name):
    with serving(Scripted(tree(("A", "p"), ("category:A", "p")))) as url:
        source = Category(MediaWikiApi(client, url), name)
        assert source.total() == 2
        assert len(gathered(source.batches(None, nothing))[0]) == 1


def test_a_category_that_is_not_there(client):
    with serving(Scripted(tree(*EDGES))) as url:
        source = Category(MediaWikiApi(client, url), "Nowhere")
        with pytest.raises(RefusedError, match="no category 'Nowhere'"):
            list(source.batches(None, nothing))


def test_categories_without_end(client, monkeypatch):
    monkeypatch.setattr(category_module, "MAX_CATEGORIES", 50)
    inner = tree(("A", "B"))

    def answer(asked):
        if "list" not in asked:
            return inner(asked)
        name = asked["cmtitle"]
        members = [{"pageid": 7, "ns": 14, "title": f"{name}{letter}"} for letter in "xy"]
        return {"batchcomplete": True, "query": {"categorymembers": members}}

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(client, url), "A", 10**6)
        with pytest.raises(UnusableAnswerError, match="smaller depth"):
            list(source.batches(None, nothing))


def check_refused(client, name, change, match=None):
    inner = tree(("A", "p"))

    def answer(asked):
        return change(inner(asked)) if name in asked else inner(asked)

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(impatient(client), url), "A")
        with pytest.raises(UnusableAnswerError, match=match):
            source.total() if name == "titles" else list(source.batches(None, nothing))


@pytest.mark.parametrize(
    "members",
    [
        *(None, {"1": MEMBER}, ["p"], [MEMBER] * 10_000),
        *([{**MEMBER, "pageid": "1"}], [{**MEMBER, "pageid": True}], [{**MEMBER, "pageid": 0}]),
        *([{**MEMBER, "ns": None}], [{"ns": 0, "title": "p"}], [CATEGORY]),
        *([{"pageid": 1, "missing": True}], [{**CATEGORY, "missing": True}]),
        [{**CATEGORY, "title": "Category:half \ud83d"}],
        [{**CATEGORY, "title": ["B"], "missing": True}],
        [{"pageid": 1, "title": "p", "invalid": True}],
    ],
)
def test_malformed_members_are_a_named_error(client, members):
    said = {"batchcomplete": True, "query": {"categorymembers": members}}
    check_refused(client, "list", lambda _: said)


@pytest.mark.parametrize(
    "pages",
    [
        *([], [page(pageid=2, title="p")], [page(pageid=1, title="p"), page(pageid=2, title="q")]),
        [{"title": "p", "ns": 0, "missing": True}],
    ],
)
def test_pages_that_were_not_requested(client, pages):
    said = {"batchcomplete": True, "query": {"pages": pages}}
    check_refused(client, "pageids", lambda _: said)


def test_pages_that_continue_after_all_that_was_requested(client):
    said = {"batchcomplete": True, "query": {"pages": [page(title="p")]}, "continue": {"x": "1"}}
    check_refused(client, "pageids", lambda _: said, "it continues")


def test_a_title_that_continues_after_all_that_was_requested(client):
    more = {"continue": {"x": "1"}}
    check_refused(client, "titles", lambda said: said | more, "it continues")


@pytest.mark.parametrize("n_pages", [-1, True, "7", 10**9 + 1, 2**63 - 1])
def test_a_category_of_more_pages_than_there_can_be(client, n_pages):
    def change(said):
        said["query"]["pages"][0]["categoryinfo"]["pages"] = n_pages
        return said

    check_refused(client, "titles", change)


@pytest.mark.parametrize("interrupted", [False, True])
def test_members_without_end(client, monkeypatch, *, interrupted):
    monkeypatch.setattr(category_module, "PAGE_MARGIN", 100)
    inner = tree(("A", "p"))

    def answer(asked):
        if "list" not in asked:
            return inner(asked)
        start = int(asked.get("cmcontinue", 1))
        members = [{"pageid": start + i, "ns": 0, "title": f"{start + i}"} for i in range(10)]
        more = {"cmcontinue": str(start + 10)}
        return {"batchcomplete": True, "continue": more, "query": {"categorymembers": members}}

    with serving(Scripted(answer)) as url:
        source, cursor = Category(MediaWikiApi(client, url), "A"), None
        for _ in range(11 if interrupted else 0):
            cursor = json.loads(json.dumps(next(source.batches(cursor, lambda _: True)).cursor))
        with pytest.raises(UnusableAnswerError, match="seem endless"):
            list(source.batches(cursor, lambda _: True))
    assert client.n_requests < 20
