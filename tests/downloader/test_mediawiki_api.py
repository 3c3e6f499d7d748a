import json
import logging
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import downloader.mediawiki_api as api_module
from downloader.errors import DownloadError, RefusedError, TryLaterError, UnusableAnswerError
from downloader.mediawiki_api import ApiError, LoopDetector, MediaWikiApi
from tests.downloader.fault_proxy import FaultProxy, Settings
from tests.downloader.impatient_client import PATIENT, new_client
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

PAGE = {"pageid": 1, "ns": 0, "title": "One"}
CLIENT = PATIENT
STEERING = "\x1b[2J\x07 half \ud83d pair \u202e\nand a line " + "x" * 5000
SITE = json.loads(SyntheticWiki(3).answer({"meta": "siteinfo"}))


def pages_answer(*pages, **members):
    return {"batchcomplete": True, "query": {"pages": list(pages)}, **members}


def all_of(client, function, **params):
    with serving(Scripted(function)) as url:
        return list(MediaWikiApi(client, url).query(params))


def in_turn(*answers):
    remaining = iter(answers)
    return lambda _: next(remaining)


def test_the_wiki_describes_itself_once(client):
    query = {
        "general": {
            "sitename": "Wikipedia",
            "generator": "MediaWiki 1.45.0-wmf.3",
            "lang": "en",
            "wikiid": "simplewiki",
            "server": "//simple.wikipedia.org",
            "articlepath": "/wiki/$1",
        },
        "namespaces": {
            "0": {"id": 0, "name": ""},
            "6": {"id": 6, "name": "Bild", "canonical": "File"},
            "14": {"id": 14, "name": "Kat", "canonical": "Category"},
        },
        "namespacealiases": [{"id": 14, "alias": "Gruppe"}],
        "rightsinfo": {"text": "CC BY 9", "url": ""},
        "statistics": {"articles": 12, "pages": 34},
    }
    wiki = Scripted(lambda _: {"batchcomplete": True, "query": query})
    with serving(wiki) as url:
        api = MediaWikiApi(client, url)
        info = api.site()
        assert api.site() is info
    assert (len(wiki.asked), wiki.asked[0]["maxlag"]) == (1, "5")
    assert (info.n_articles, info.n_pages, info.database) == (12, 34, "simplewiki")
    assert (info.name, info.generator) == ("Wikipedia", "MediaWiki 1.45.0-wmf.3")
    assert info.seconds > 0
    assert (info.site.language, info.site.license) == ("simple", "CC BY-SA 4.0")
    assert info.site.address_of("A b") == "http://simple.wikipedia.org/wiki/A_b"
    assert {"kat", "gruppe", "category"} <= info.site.category_namespaces
    assert {"bild", "file"} <= info.site.file_namespaces


def test_a_title_in_the_middle_of_an_address_gives_no_addresses(client):
    def answer(asked):
        said = json.loads(SyntheticWiki(9).answer(asked))
        said["query"]["general"]["articlepath"] = "/show?title=$1&style=x"
        return said

    with serving(Scripted(answer)) as url:
        assert MediaWikiApi(client, url).site().site.address_of("One") == ""


def test_a_query_is_followed_to_its_end(client):
    second = {"pageid": 2, "ns": 0, "title": "Two"}
    wiki = Scripted(
        in_turn(
            {
                "continue": {"rvcontinue": "x|1", "continue": "||info"},
                "query": {
                    "pages": [PAGE, {**second, "revisions": [{"revid": 5}]}],
                    "redirects": [{"from": "Uno", "to": "One"}],
                },
            },
            {
                "batchcomplete": True,
                "continue": {"gapcontinue": "Three", "offset": 7, "continue": "gapcontinue||"},
                "query": {
                    "pages": [{**PAGE, "revisions": [{"revid": 4}]}, second],
                    "redirects": [{"from": "Due", "to": "Two"}],
                },
            },
            pages_answer({"pageid": 3, "ns": 0, "title": "Three"}),
        )
    )
    with serving(wiki) as url:
        first, last = MediaWikiApi(client, url).query({"generator": "allpages"})
    assert first.pages == [
        *({**PAGE, "revisions": [{"revid": 4}]}, {**second, "revisions": [{"revid": 5}]})
    ]
    assert [entry["from"] for entry in first.answers["redirects"]] == ["Uno", "Due"]
    more = {"gapcontinue": "Three", "offset": "7", "continue": "gapcontinue||"}
    assert first.continuation == more
    assert last.continuation is None
    one, two, three = wiki.asked
    common = {"action": "query", "generator": "allpages", "formatversion": "2", "maxlag": "5"}
    for asked in (one, two, three):
        assert common.items() <= asked.items()
    assert "continue" not in one
    assert (two["rvcontinue"], two["continue"]) == ("x|1", "||info")
    assert "rvcontinue" not in three
    assert (three["gapcontinue"], three["offset"]) == ("Three", "7")


def test_a_query_goes_on_where_it_is_told(client):
    with serving(SyntheticWiki(100)) as url:
        api, params = MediaWikiApi(client, url), {"generator": "random", "grnlimit": "10"}
        batches = list(api.query(params))
        resumed = list(api.query(params, batches[3].continuation))
    assert len(batches) == 10
    assert [batch.pages for batch in resumed] == [batch.pages for batch in batches[4:]]


@pytest.mark.parametrize(
    "code", ["ratelimited", "readonly", "internal_api_error_DBQueryError", "actionthrottledtext"]
)
def test_passing_errors_are_waited_out(client, code):
    refusal = {"error": {"code": code, "info": "not now"}}
    batches = all_of(client, in_turn(refusal, refusal, pages_answer(PAGE)))
    assert [batch.pages for batch in batches] == [[PAGE]]
    assert (client.n_requests, client.n_retries) == (3, 2)


def test_a_lag_is_waited_out_for_as_long_as_the_wiki_says(client):
    with serving(SyntheticWiki(5)) as url, FaultProxy(url, Settings(retry_after=1)) as proxy:
        proxy.next_faults = ["maxlag"]
        assert MediaWikiApi(client, proxy.url).site().n_articles == 5
        lagged, answered = proxy.requests
    assert answered.arrived - lagged.ended >= 1


def test_a_lag_without_a_time_means_five_seconds(tmp_path):
    client = new_client(tmp_path, patience=4, deadline=5, read_timeout=5)
    lag = {"error": {"code": "maxlag", "info": "Waiting for a server", "lag": 7.5}}
    with pytest.raises(TryLaterError, match="maxlag"):
        all_of(client, lambda _: lag)
    assert client.n_requests == 1


def test_other_errors_are_final_and_named(client):
    refusal = {"error": {"code": "badvalue", "info": "Unrecognized\nvalue."}}
    with pytest.raises(ApiError, match=r"Unrecognized value\. \(badvalue\)") as caught:
        all_of(client, lambda _: refusal)
    assert caught.value.code == "badvalue"
    assert isinstance(caught.value, RefusedError)
    assert client.n_requests == 1


def test_each_warning_is_logged_once(client, caplog):
    def answer(asked):
        warnings = {
            "main": {"warnings": "Subscribe to\nthe list."},
            "result": {"warnings": "truncated"},
            "odd": "not an object",
        }
        position = int(asked.get("c", 0))
        more = {"continue": {"c": str(position + 1)}} if position < 5 else {}
        return pages_answer(PAGE, warnings=warnings, **more)

    with caplog.at_level(logging.INFO, "downloader"):
        assert len(all_of(client, answer)) == 6
    warned = [record.getMessage() for record in caplog.records if "warns: " in record.message]
    assert len(warned) == 1
    assert "main: Subscribe to the list." in warned[0]


def test_no_error_steers_the_terminal(client):
    with pytest.raises(ApiError, match="half pair and a line") as caught:
        all_of(client, lambda _: {"error": {"code": "bad" + STEERING, "info": STEERING}})
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    assert caught.value.code.startswith("bad")


@pytest.mark.parametrize("info", [None, 5, [STEERING], {"a": STEERING}])
def test_an_error_with_an_explanation_that_is_none(client, info):
    with pytest.raises(ApiError, match=r"refuses:  \(odd\)$"):
        all_of(client, lambda _: {"error": {"code": "odd", "info": info}})


def test_no_warning_steers_the_terminal(client, caplog):
    warnings = {f"main{STEERING}": {"warnings": STEERING}, "odd": {"warnings": [STEERING]}}
    with caplog.at_level(logging.DEBUG, "downloader"):
        all_of(client, lambda _: pages_answer(PAGE, warnings=warnings))
    (warned,) = [text for record in caplog.records if "warns: " in (text := record.getMessage())]
    assert "half pair" in warned
    assert warned.isprintable()
    assert len(warned) < 700


def test_a_wiki_is_called_by_a_name_that_can_be_printed(client):
    said = without("query", "general", "sitename", value=f"Wiki {STEERING}")
    said["query"]["rightsinfo"]["text"] = STEERING
    with serving(Scripted(lambda _: said)) as url:
        info = MediaWikiApi(client, url).site()
    assert info.name.startswith("Wiki [2J half pair")
    assert info.name.isprintable()
    assert info.site.license.isprintable()


def nested(depth):
    return '{"batchcomplete":true,"query":{"pages":' + "[" * depth + "]" * depth + "}}"


MALFORMED = {
    "nothing": "",
    "no JSON": "<!DOCTYPE html><title>Error</title>",
    "a list": [],
    "an empty object": {},
    "null": "null",
    "cut": '{"batchcomplete":true,"query":{"pages":[',
    "deep nesting": nested(200_000),
    "a number out of range": '{"batchcomplete":true,"query":{"pages":[{"pageid":1e999}]}}',
    "a number of many digits": '{"batchcomplete":true,"query":{"pages":[' + "9" * 5000 + "]}}",
    "an error without a code": {"error": {"info": "?"}},
    "an error that is a string": {"error": "maxlag"},
    "query is a list": {"batchcomplete": True, "query": [1]},
    "batchcomplete is a string": {"batchcomplete": "", "query": {}},
    "pages are an object": {"batchcomplete": True, "query": {"pages": {"1": PAGE}}},
    "pages are null": {"batchcomplete": True, "query": {"pages": None}},
    "a page is a string": pages_answer("One"),
    "a page is null": pages_answer(None),
    "a page without anything": pages_answer({}),
    "id is a string": pages_answer({**PAGE, "pageid": "1"}),
    "id is true": pages_answer({**PAGE, "pageid": True}),
    "id is negative": pages_answer({**PAGE, "pageid": -1}),
    "id is zero": pages_answer({**PAGE, "pageid": 0}),
    "id is huge": pages_answer({**PAGE, "pageid": 2**63}),
    "id is a fraction": pages_answer({**PAGE, "pageid": 1.5}),
    "id is a list": pages_answer({**PAGE, "pageid": [1]}),
    "no namespace": pages_answer({"pageid": 1, "title": "One"}),
    "namespace is a string": pages_answer({**PAGE, "ns": "0"}),
    "no title": pages_answer({"pageid": 1, "ns": 0}),
    "title is a number": pages_answer({**PAGE, "title": 5}),
    "title is empty": pages_answer({**PAGE, "title": ""}),
    "too many pages": pages_answer(*({**PAGE, "pageid": i} for i in range(1, 10_001))),
    "continue is a string": pages_answer(PAGE, **{"continue": "next"}),
    "continue is empty": pages_answer(PAGE, **{"continue": {}}),
    "continue holds a list": pages_answer(PAGE, **{"continue": {"a": [1]}}),
    "continue holds half a pair": pages_answer(PAGE, **{"continue": {"a": "\ud83d"}}),
    "continue names half a pair": pages_answer(PAGE, **{"continue": {"\ud83d": "a"}}),
    "title of a missing page is a list": pages_answer({**PAGE, "missing": True, "title": []}),
    "continue holds true": pages_answer(PAGE, **{"continue": {"a": True}}),
    "continue is long": pages_answer(PAGE, **{"continue": {"a": "x" * 5000}}),
    "continue changes the query": pages_answer(PAGE, **{"continue": {"generator": "x"}}),
    "continue changes the action": pages_answer(PAGE, **{"continue": {"action": "logout"}}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_is_asked_for_again(client, name):
    batches = all_of(client, in_turn(MALFORMED[name], pages_answer(PAGE)), generator="random")
    assert [batch.pages for batch in batches] == [[PAGE]]


@pytest.mark.slow
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_answers_for_ever_are_a_named_error(client, name):
    with pytest.raises(UnusableAnswerError):
        all_of(client, lambda _: MALFORMED[name], generator="random")
    assert client.n_requests <= 10


def without(*path, value=None):
    changed = json.loads(json.dumps(SITE))
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        without("query", "general"),
        without("query", "general", "sitename", value=5),
        without("query", "general", "generator"),
        without("query", "general", "lang", value=["en"]),
        without("query", "namespaces", value=[1]),
        without("query", "namespaces", "14", value="Category"),
        without("query", "namespaces", "14", "id", value="14"),
        without("query", "namespacealiases", value={"a": 1}),
        without("query", "rightsinfo", "text", value=7),
        without("query", "statistics", value=[]),
        without("query", "statistics", "articles", value="many"),
        without("query", "statistics", "pages", value=-5),
        without("query", "statistics", "pages", value=2**63 - 1),
        without("query", "statistics", "articles", value=10**9 + 1),
        without("query", "general", "lang", value="e\x1bn"),
        without("query", "general", "lang", value="e\ud83dn"),
        without("query", "general", "articlepath", value="/\x07/$1"),
        without("query", "general", "server", value="http://" + "x" * 10**5),
        {"batchcomplete": True},
    ],
)
def test_a_wiki_that_describes_itself_badly(client, answer):
    with serving(Scripted(lambda _: answer)) as url, pytest.raises(UnusableAnswerError):
        MediaWikiApi(client, url).site()


@given(
    before=st.lists(st.integers(0, 50), unique=True, max_size=30),
    circle=st.lists(st.integers(100, 150), unique=True, min_size=1, max_size=30),
)
def test_circles_are_noticed(before, circle):
    loop, members = LoopDetector(), before + circle * 200
    found = next(i for i, member in enumerate(members) if loop.repeats(member))
    assert len(before) + len(circle) <= found <= 4 * (len(before) + len(circle)) + 4


@given(st.lists(st.integers(), unique=True))
def test_what_does_not_repeat_is_no_circle(members):
    loop = LoopDetector()
    assert not any(loop.repeats(member) for member in members)


@pytest.mark.parametrize("period", [1, 2, 7])
@pytest.mark.parametrize("complete", [True, False])
def test_a_continuation_in_circles_ends(client, period, *, complete):
    def answer(asked):
        return {
            "batchcomplete": complete,
            "continue": {"c": str((int(asked.get("c", 0)) + 1) % period)},
            "query": {"pages": [PAGE]},
        }

    with pytest.raises(UnusableAnswerError, match="sends a loop"):
        all_of(client, answer)
    assert client.n_requests < 40


@pytest.mark.parametrize("complete", [True, False])
def test_an_endless_continuation_of_nothing_ends(client, monkeypatch, *, complete):
    monkeypatch.setattr(api_module, "MAX_EMPTY_BATCHES", 50)
    monkeypatch.setattr(api_module, "MAX_ANSWERS", 50)

    def answer(asked):
        position = int(asked.get("c", 0)) + 1
        return {"batchcomplete": complete, "continue": {"c": str(position)}, "query": {}}

    with pytest.raises(UnusableAnswerError, match=r"does not complete|empty"):
        all_of(client, answer)
    assert 40 < client.n_requests < 60


def test_a_batch_that_swells_ends(client, monkeypatch):
    monkeypatch.setattr(api_module, "MAX_BATCH_BYTES", 10**6)

    def answer(asked):
        position, page = int(asked.get("c", 0)) + 1, {**PAGE, "filler": "x" * 100_000}
        return {"continue": {"c": str(position)}, "query": {"pages": [page]}}

    with pytest.raises(UnusableAnswerError, match="request fewer"):
        all_of(client, answer)
    assert client.n_requests < 13


def test_rendered_html(client):
    wiki = Scripted(SyntheticWiki(10).answer)
    with serving(wiki) as url:
        html, categories = MediaWikiApi(client, url).rendered(10**7 + 3)
    assert "Page 3 begins here." in html
    assert categories == ["Part_3"]
    assert (wiki.asked[0]["action"], wiki.asked[0]["oldid"]) == ("parse", "10000003")


@pytest.mark.parametrize(
    "parse",
    [
        *(None, [], {"revid": 4, "text": "another's"}, {"revid": 3}, {"revid": "3", "text": ""}),
        {"revid": 3, "text": {"*": ""}},
        *({"revid": 3, "text": "", "categories": each} for each in ({}, ["A"], [{"category": 1}])),
    ],
)
def test_html_of_something_else_is_not_taken(client, parse):
    with serving(Scripted(lambda _: {"parse": parse})) as url, pytest.raises(UnusableAnswerError):
        MediaWikiApi(client, url).rendered(3)


@settings(max_examples=25)
@given(
    said=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        *("query", "pages", "pageid", "ns", "title", "continue", "batchcomplete"),
                        "error",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_no_answer_raises_anything_else(tmp_path_factory, said):
    client = new_client(tmp_path_factory.mktemp("client"), patience=0, read_timeout=5)
    with serving(Scripted(lambda _: said)) as url, suppress(DownloadError):
        for batch in islice(MediaWikiApi(client, url).query({}), 3):
            assert all(isinstance(page, dict) for page in batch.pages)
            assert all(isinstance(members, list) for members in batch.answers.values())
