import json
from itertools import count

import pytest

from downloader.category import Category
from downloader.errors import SourceError
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.titles import Titles
from tests.downloader.impatient_client import PATIENT
from tests.downloader.made_up_answers import N_PAGES, gathered, nothing
from tests.downloader.synthetic_wiki import N_CATEGORIES, Scripted, SyntheticWiki, serving

CLIENT = PATIENT
SOURCES = ("random", "titles", "category")


def new_source(name, api, directory, text="wikitext", batch=20):
    if name == "random":
        return RandomPages(api, text, batch)
    if name == "titles":
        path = directory / "titles.txt"
        path.write_text("".join(f"Page {number}\n" for number in range(1, N_PAGES + 1)))
        return Titles(api, path, text, batch)
    return Category(api, "All", 1, text, batch)


@pytest.mark.parametrize("text", ["wikitext", "html"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_article_comes_once(client, made_up, tmp_path, name, text):
    wiki, recorded, url = made_up
    source = new_source(name, MediaWikiApi(client, url), tmp_path, text)
    articles, skipped, batches = gathered(source.batches(None, nothing))
    assert sorted(article.page_id for article in articles) == list(range(1, N_PAGES + 1))
    assert not skipped
    assert batches[-1].finished
    for article in articles:
        assert article.title == f"Page {article.page_id}"
        assert article.revision_id == article.page_id + 10**7
        assert article.text == wiki.wikitext(article.page_id).replace("'''", "").replace(
            "==\n", "==\n\n"
        )
        assert article.columns == {"wikidata": f"Q{article.page_id}"} | (
            {"length": len(wiki.wikitext(article.page_id))}
            if text == "wikitext"
            else {"categories": (f"Part {article.page_id % N_CATEGORIES}",)}
        )
    assert source.language == articles[0].language == "en"
    n_rendered = sum(asked["action"] == "parse" for asked in recorded.asked)
    assert n_rendered == (N_PAGES if text == "html" else 0)
    assert not list(source.batches(batches[-1].cursor, nothing))


@pytest.mark.parametrize("text", ["wikitext", "html"])
@pytest.mark.parametrize("name", SOURCES)
def test_it_goes_on_from_any_cursor(client, made_up, tmp_path, name, text):
    _, recorded, url = made_up
    known, cursor = set(), None
    finished = False
    for n_batches in count(1):
        source = new_source(name, MediaWikiApi(client, url), tmp_path, text)
        for _, batch in zip(
            range(n_batches), source.batches(cursor, known.__contains__), strict=False
        ):
            ids = [article.page_id for article in batch.articles]
            assert len(set(ids)) == len(ids)
            assert known.isdisjoint(ids)
            known.update(ids)
            cursor, finished = json.loads(json.dumps(batch.cursor)), batch.finished
        if finished:
            break
        assert n_batches < 100
    assert known == set(range(1, N_PAGES + 1))
    # At most one page of those that were interrupted had to be rendered again.
    n_rendered = sum(asked["action"] == "parse" for asked in recorded.asked)
    assert n_rendered <= (N_PAGES + n_batches if text == "html" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "category"])
@pytest.mark.parametrize(
    "cursor",
    [
        *({}, {"continue": "x"}, {"continue": {"a": 1}, "pages": "many"}),
        {"continue": {"grncontinue": "0", "cmcontinue": "0"}, "queue": "All", "seen": 3},
        {"queue": [["Category:All", "0"]], "seen": []},
        *({"queue": [["Category:All"]], "seen": []}, {"queue": [], "seen": [1]}),
        {"lines": -1, "sha256": None},
    ],
)
def test_a_cursor_of_something_else_starts_anew(client, made_up, tmp_path, name, cursor):
    source = new_source(name, MediaWikiApi(client, made_up[2]), tmp_path)
    assert len(gathered(source.batches(cursor, nothing))[0]) == N_PAGES


@pytest.mark.parametrize("name", ["random", "category"])
def test_a_continuation_that_the_wiki_has_forgotten_starts_anew(client, tmp_path, name):
    wiki = SyntheticWiki(N_PAGES)

    def answer(asked):
        if asked.get("grncontinue", asked.get("cmcontinue", "")) == "old":
            return {"error": {"code": "badcontinue", "info": "Invalid continue param."}}
        return wiki.answer(asked)

    with serving(Scripted(answer)) as url:
        source = new_source(name, MediaWikiApi(client, url), tmp_path)
        cursor = {
            "continue": {"cmcontinue": "old", "grncontinue": "old"},
            "queue": [["Category:All", 0]],
            "seen": [],
        }
        assert len(gathered(source.batches(cursor, nothing))[0]) == N_PAGES


def test_what_is_known_is_not_asked_for(client, made_up, tmp_path):
    _, recorded, url = made_up
    articles, _, batches = gathered(
        Category(MediaWikiApi(client, url), "All", 1).batches(None, lambda number: number % 3 > 0)
    )
    assert sorted(article.page_id for article in articles) == list(range(3, N_PAGES + 1, 3))
    assert sum(batch.already_there for batch in batches) == N_PAGES - len(articles)
    asked_for = [ids for asked in recorded.asked for ids in asked.get("pageids", "").split("|")]
    assert {int(ids) for ids in asked_for if ids} == set(range(3, N_PAGES + 1, 3))


def test_totals(client, made_up, tmp_path):
    api = MediaWikiApi(client, made_up[2])
    assert new_source("random", api, tmp_path).total() == N_PAGES
    assert new_source("titles", api, tmp_path).total() == N_PAGES
    assert new_source("category", api, tmp_path).total() is None


def test_sources_know_themselves_apart(client, tmp_path):
    one, other = MediaWikiApi(client, "http://a/api.php"), MediaWikiApi(client, "http://b/api.php")
    sources = [
        *(RandomPages(one), RandomPages(other), RandomPages(one, "html")),
        *(Category(one, "A"), Category(one, "A", 1), Category(one, "B")),
        *(Titles(one, tmp_path / "a"), Titles(one, tmp_path / "b")),
    ]
    assert len({json.dumps(source.identity) for source in sources}) == len(sources)
    assert RandomPages(one).identity == RandomPages(one, batch_size=3).identity


@pytest.mark.parametrize(
    "make",
    [
        *(lambda api: RandomPages(api, "text"), lambda api: Category(api, "A", -1)),
        *(lambda api: Category(api, "A|B"), lambda api: Category(api, "  ")),
    ],
)
def test_settings_that_make_no_sense(client, make):
    with pytest.raises(ValueError, match=r"must be|at least|not the name"):
        make(MediaWikiApi(client, "http://a/api.php"))


@pytest.mark.parametrize("name", ["", " \t", "A|B", "A\x1b[31mB", "A\nB", "A\udcffB"])
def test_what_no_category_is_called(client, name):
    """The last is what a byte that is not UTF-8 becomes on the command line."""
    with pytest.raises(SourceError) as caught:
        Category(MediaWikiApi(client, "http://a/api.php"), name)
    assert str(caught.value).isprintable()
