"""Random pages, titles and categories: every article once, wherever they stop and go on."""

from __future__ import annotations

import json
import logging
import random
from itertools import count, product
from typing import TYPE_CHECKING, Any

import pytest

import downloader.category as category_module
from corpora import CorpusFormatError
from downloader import random_pages
from downloader.category import Category
from downloader.errors import (
    DownloadError,
    RefusedError,
    SourceError,
    TryLaterError,
    UnusableAnswerError,
)
from downloader.mediawiki_api import ApiError, MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.titles import Titles
from tests.downloader.impatient_client import new_client
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from corpora import Article
    from downloader.http_client import PoliteClient
    from downloader.live import Batch, LiveSource, TextForm

Ask = dict[str, str]
Skipped = dict[str, list[str]]
N_PAGES = 130
SOURCES = ("random", "titles", "category")


def nothing(page_id: int) -> bool:
    return False


@pytest.fixture
def client(tmp_path: Path) -> Iterator[PoliteClient]:
    client = new_client(tmp_path, patience=8, deadline=5, read_timeout=5)
    yield client
    client.close()


@pytest.fixture
def made_up() -> Iterator[tuple[SyntheticWiki, Scripted, str]]:
    """A wiki, what it was asked, and where it is."""
    wiki = SyntheticWiki(N_PAGES)
    recorded = Scripted(wiki.answer)
    with serving(recorded) as url:
        yield wiki, recorded, url


def impatient(client: PoliteClient) -> PoliteClient:
    """The same client; having had good answers it would wait for more of them."""
    client._persistence._patience = 0.1
    return client


def new_source(
    name: str, api: MediaWikiApi, directory: Path, text: TextForm = "wikitext", batch: int = 20
) -> LiveSource:
    if name == "random":
        return RandomPages(api, text, batch)
    if name == "titles":
        path = directory / "titles.txt"
        path.write_text("".join(f"Page {number}\n" for number in range(1, N_PAGES + 1)))
        return Titles(api, path, text, batch)
    return Category(api, "All", 1, text, batch)


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


@pytest.mark.parametrize("text", ["wikitext", "html"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_article_comes_once(
    client: PoliteClient,
    made_up: tuple[SyntheticWiki, Scripted, str],
    tmp_path: Path,
    name: str,
    text: TextForm,
) -> None:
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
    assert source.language == articles[0].language == "en"
    n_rendered = sum(asked["action"] == "parse" for asked in recorded.asked)
    assert n_rendered == (N_PAGES if text == "html" else 0)
    assert not list(source.batches(batches[-1].cursor, nothing))


@pytest.mark.parametrize("text", ["wikitext", "html"])
@pytest.mark.parametrize("name", SOURCES)
def test_it_goes_on_from_any_cursor(
    client: PoliteClient,
    made_up: tuple[SyntheticWiki, Scripted, str],
    tmp_path: Path,
    name: str,
    text: TextForm,
) -> None:
    """Interrupted again and again after some batches, with nothing kept but cursor and articles."""
    _, recorded, url = made_up
    known: set[int] = set()
    cursor: dict[str, Any] | None = None
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
            cursor = json.loads(json.dumps(batch.cursor))
            finished = batch.finished
        if finished:
            break
        assert n_batches < 100
    assert known == set(range(1, N_PAGES + 1))
    # At most one page of those that were interrupted had to be rendered again.
    n_rendered = sum(asked["action"] == "parse" for asked in recorded.asked)
    assert n_rendered <= (N_PAGES + n_batches if text == "html" else 0)


@pytest.mark.parametrize("name", ["random", "category"])
@pytest.mark.parametrize(
    "cursor",
    [
        {},
        {"continue": "x"},
        {"continue": {"a": 1}, "pages": "many"},
        {"continue": {"grncontinue": "0", "cmcontinue": "0"}, "queue": "All", "seen": 3},
        {"queue": [["Category:All", "0"]], "seen": []},
        {"queue": [["Category:All"]], "seen": []},
        {"queue": [], "seen": [1]},
        {"lines": -1, "sha256": None},
    ],
)
def test_a_cursor_of_something_else_starts_anew(
    client: PoliteClient,
    made_up: tuple[SyntheticWiki, Scripted, str],
    tmp_path: Path,
    name: str,
    cursor: dict[str, Any],
) -> None:
    source = new_source(name, MediaWikiApi(client, made_up[2]), tmp_path)
    assert len(gathered(source.batches(cursor, nothing))[0]) == N_PAGES


@pytest.mark.parametrize("name", ["random", "category"])
def test_a_continuation_that_the_wiki_has_forgotten_starts_anew(
    client: PoliteClient, tmp_path: Path, name: str
) -> None:
    wiki = SyntheticWiki(N_PAGES)

    def answer(asked: Ask) -> object:
        token = asked.get("grncontinue", asked.get("cmcontinue", ""))
        if token == "old":
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


def test_what_is_known_is_not_asked_for(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    _, recorded, url = made_up
    api = MediaWikiApi(client, url)
    articles, _, batches = gathered(
        Category(api, "All", 1).batches(None, lambda number: number % 3 > 0)
    )
    assert sorted(article.page_id for article in articles) == list(range(3, N_PAGES + 1, 3))
    assert sum(batch.already_there for batch in batches) == N_PAGES - len(articles)
    asked_for = [ids for asked in recorded.asked for ids in asked.get("pageids", "").split("|")]
    assert {int(ids) for ids in asked_for if ids} == set(range(3, N_PAGES + 1, 3))


def test_totals(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    api = MediaWikiApi(client, made_up[2])
    assert new_source("random", api, tmp_path).total() == N_PAGES
    assert new_source("titles", api, tmp_path).total() == N_PAGES
    assert new_source("category", api, tmp_path).total() is None


def test_sources_know_themselves_apart(client: PoliteClient, tmp_path: Path) -> None:
    """A cursor of one is not given to another."""
    one, other = MediaWikiApi(client, "http://a/api.php"), MediaWikiApi(client, "http://b/api.php")
    sources = [
        RandomPages(one),
        RandomPages(other),
        RandomPages(one, "html"),
        Category(one, "A"),
        Category(one, "A", 1),
        Category(one, "B"),
        Titles(one, tmp_path / "a"),
        Titles(one, tmp_path / "b"),
    ]
    assert len({json.dumps(source.identity) for source in sources}) == len(sources)
    assert RandomPages(one).identity == RandomPages(one, batch_size=3).identity


@pytest.mark.parametrize(
    "make",
    [
        lambda api: RandomPages(api, "text"),
        lambda api: Category(api, "A", -1),
        lambda api: Category(api, "A|B"),
        lambda api: Category(api, "  "),
    ],
)
def test_settings_that_make_no_sense(
    client: PoliteClient, make: Callable[[MediaWikiApi], object]
) -> None:
    with pytest.raises(ValueError, match=r"has to be|at least|not the name"):
        make(MediaWikiApi(client, "http://a/api.php"))


@pytest.mark.parametrize("name", ["", " \t", "A|B", "A\x1b[31mB", "A\nB", "A\udcffB"])
def test_what_no_category_is_called(client: PoliteClient, name: str) -> None:
    """The last is what a byte that is not UTF-8 becomes on the command line."""
    with pytest.raises(SourceError) as caught:
        Category(MediaWikiApi(client, "http://a/api.php"), name)
    assert str(caught.value).isprintable()


# Pages that are no articles


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


def test_a_page_becomes_an_article(client: PoliteClient) -> None:
    ((article,), skipped) = random_answers(client, page(title="A b/ü?&+%"))
    assert not skipped
    assert (article.page_id, article.revision_id) == (1, 5)
    assert (article.title, article.timestamp) == ("A b/ü?&+%", "2024-01-02T03:04:05Z")
    assert article.url == "http://127.0.0.1/wiki/A_b/%C3%BC%3F%26%2B%25"
    assert (article.language, article.license) == ("en", "CC0")
    assert article.text == "It is here. It is a sentence."


def test_a_wiki_of_before_there_were_slots(client: PoliteClient) -> None:
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
        ("not an article", page(ns=4)),
        ("not an article", page(ns=-1, special=True)),
        ("redirect", page(redirect=True)),
        ("redirect", slotted(content="#REDIRECT [[Two]]")),
        ("redirect", slotted(content="#WEITERLEITUNG [[Zwei]]")),
        ("not wikitext", page(contentmodel="json")),
        ("not wikitext", slotted(contentmodel="css")),
        ("hidden", slotted(texthidden=True)),
        ("hidden", revised(texthidden=True)),
        ("no text", slotted(content="")),
        ("no text", slotted(content="{{Only}}\n[[Category:X]]")),
        ("no text", revised(slots={"main": {"missing": True}})),
        ("no text", slotted(textmissing=True)),
        ("no text", page(revisions=[])),
        ("no text", {"pageid": 1, "ns": 0, "title": "One"}),
        ("no text", page(revisions="none")),
        ("no text", page(revisions=[None])),
        ("no text", revised(slots=None)),
        ("no text", revised(slots={"main": ["x"]})),
        ("not Unicode", page(title="Half \ud83d pair")),
        ("not Unicode", slotted(content="A half \udc00 pair.")),
    ],
)
def test_what_is_no_article_is_reported_and_the_others_come(
    client: PoliteClient, reason: str, given: dict[str, Any]
) -> None:
    articles, skipped = random_answers(client, given, page(pageid=2, title="Two"))
    assert [article.title for article in articles] == ["Two"]
    ((found, (name,)),) = skipped.items()
    assert found == reason
    name.encode()


@pytest.mark.parametrize(
    "given",
    [
        revised(revid="5"),
        revised(revid=-5),
        revised(revid=True),
        revised(revid=2**63),
        revised(revid=None),
        page(contentmodel=[]),
        page(contentmodel=None),
        slotted(contentmodel={}),
        page(missing=True, title=[]),
        page(missing=True, ns="0"),
        revised(timestamp=20240102),
        slotted(content=["text"]),
        slotted(content=5),
    ],
)
def test_a_malformed_page_is_a_named_error(client: PoliteClient, given: dict[str, Any]) -> None:
    with pytest.raises(UnusableAnswerError):
        random_answers(impatient(client), page(pageid=2), given)


def test_a_page_that_comes_twice_in_an_answer_is_one(client: PoliteClient) -> None:
    articles, _ = random_answers(client, page(), page(), page(pageid=2, title="Two"))
    assert [article.page_id for article in articles] == [1, 2]


def test_more_pages_than_there_are_end_in_an_error(
    client: PoliteClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same pages again and again, and never the same continuation."""
    wiki = SyntheticWiki(100)

    def answer(asked: Ask) -> object:
        position = int(asked.get("grncontinue", 0))
        said = json.loads(wiki.answer({**asked, "grncontinue": "0"}))
        if "generator" in asked:
            said["continue"] = {"grncontinue": str(position + 1)}
        return said

    with serving(Scripted(answer)) as url:
        source = RandomPages(MediaWikiApi(client, url), batch_size=100)
        monkeypatch.setattr(random_pages, "FEW_PAGES", 1000)
        with pytest.raises(UnusableAnswerError, match="more than twice"):
            list(source.batches(None, lambda _: True))
    assert client.n_requests < 30


# Rendered pages


@pytest.mark.parametrize("code", ["nosuchrevid", "permissiondenied"])
def test_a_page_that_is_deleted_after_it_was_listed(client: PoliteClient, code: str) -> None:
    wiki = SyntheticWiki(9)

    def answer(asked: Ask) -> object:
        if asked.get("oldid") == str(10**7 + 4):
            return {"error": {"code": code, "info": "There is no revision with ID 4."}}
        return wiki.answer(asked)

    with serving(Scripted(answer)) as url:
        source = RandomPages(MediaWikiApi(client, url), "html")
        articles, skipped, _ = gathered(source.batches(None, nothing))
    assert len(articles) == 8
    assert skipped == {"missing": ["Page 4"]}


def test_a_wiki_that_renders_nothing_is_no_wiki_without_pages(client: PoliteClient) -> None:
    wiki = SyntheticWiki(9)
    refusal = {"error": {"code": "readapidenied", "info": "You need read permission."}}
    with serving(
        Scripted(lambda asked: refusal if asked["action"] == "parse" else wiki.answer(asked))
    ) as url:
        source = RandomPages(MediaWikiApi(client, url), "html")
        with pytest.raises(ApiError, match="read permission"):
            list(source.batches(None, nothing))


# Files of titles


def titles_source(client: PoliteClient, url: str, path: Path) -> Titles:
    return Titles(MediaWikiApi(client, url), path, batch_size=4)


def numbers(batches: Iterator[Batch]) -> list[int]:
    return [article.page_id for article in gathered(batches)[0]]


def test_blank_lines_comments_and_line_ends(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    path = tmp_path / "titles"
    lines = ["\ufeffPage 1", "", "# Page 2", "#Page 3", "  Page 4\t", "   ", "Page 5\r", "Page 6"]
    path.write_text("\n".join(lines))
    source = titles_source(client, made_up[2], path)
    assert source.total() == 4
    assert numbers(source.batches(None, nothing)) == [1, 4, 5, 6]


@pytest.mark.parametrize("content", ["", "\n\n# nothing\n"])
def test_a_file_without_titles(
    client: PoliteClient,
    made_up: tuple[SyntheticWiki, Scripted, str],
    tmp_path: Path,
    content: str,
) -> None:
    path = tmp_path / "titles"
    path.write_text(content)
    source = titles_source(client, made_up[2], path)
    assert source.total() == 0
    assert not list(source.batches(None, nothing))
    assert not made_up[1].asked


def test_a_file_that_grew_goes_on_and_one_that_changed_starts_anew(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    path = tmp_path / "titles"
    source = titles_source(client, made_up[2], path)
    path.write_text("".join(f"Page {number}\n" for number in range(1, 11)))
    cursor = gathered(source.batches(None, nothing))[2][-1].cursor
    assert not list(source.batches(cursor, nothing))
    with path.open("a") as file:
        file.write("Page 11\nPage 12")
    _, _, batches = gathered(source.batches(cursor, nothing))
    assert numbers(iter(batches)) == [11, 12]
    cursor = batches[-1].cursor
    with path.open("a") as file:
        file.write("3\n")  # the last line was not whole: it is another title now
    assert numbers(source.batches(cursor, nothing)) == [*range(1, 12), 123]
    path.write_text("Page 3\n")
    assert numbers(source.batches(cursor, nothing)) == [3]


@pytest.mark.parametrize(
    ("line", "fault"),
    [(b"Caf\xe9", "UTF-8"), (b"x" * 2000, "longer"), (b"\xff\xfeP\0", "UTF-8")],
)
def test_a_file_of_something_else(
    client: PoliteClient,
    made_up: tuple[SyntheticWiki, Scripted, str],
    tmp_path: Path,
    line: bytes,
    fault: str,
) -> None:
    path = tmp_path / "titles"
    path.write_bytes(b"Page 1\n\n" + line + b"\nPage 2\n")
    source = titles_source(client, made_up[2], path)
    with pytest.raises(CorpusFormatError, match=f"titles, line 3: .*{fault}"):
        source.total()
    with pytest.raises(CorpusFormatError, match="line 3"):
        list(source.batches(None, nothing))


def test_a_file_that_is_missing(client: PoliteClient, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        titles_source(client, "http://a/api.php", tmp_path / "none").total()


def test_a_file_that_is_one_endless_line_is_not_read_whole(
    client: PoliteClient, tmp_path: Path
) -> None:
    path = tmp_path / "titles"
    with path.open("wb") as file:
        file.truncate(2**36)  # a hole: takes no room on disk, but would in memory
    with pytest.raises(CorpusFormatError, match="line 1"):
        titles_source(client, "http://a/api.php", path).total()


def test_addresses_stay_short_enough_for_servers(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    path = tmp_path / "titles"
    path.write_text("".join(f"{'題' * 80} {number}\n" for number in range(1, 60)))
    source = Titles(MediaWikiApi(client, made_up[2]), path)
    assert len(numbers(source.batches(None, nothing))) == 59
    asked = [ask["titles"] for ask in made_up[1].asked if "titles" in ask]
    assert sum(titles.count("|") + 1 for titles in asked) >= 59
    assert max(len(titles.encode()) * 3 for titles in asked) < 7000


def test_titles_that_cannot_even_be_asked_for(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    path = tmp_path / "titles"
    path.write_text("Page 1|Page 2\nPage 3\nPage\x0b4\nPa\x1fge 5\n\x1b]0;title\x07\n")
    articles, skipped, _ = gathered(titles_source(client, made_up[2], path).batches(None, nothing))
    assert [article.page_id for article in articles] == [3]
    assert skipped["invalid"] == ["Page 1|Page 2", "Page 4", "Pa ge 5", "]0;title"]
    assert not any("|" in ask.get("titles", "") for ask in made_up[1].asked)


def test_an_answer_without_the_titles_asked_for(
    client: PoliteClient, made_up: tuple[SyntheticWiki, Scripted, str], tmp_path: Path
) -> None:
    """Left out, they are asked for alone; left out again, they are missing."""
    wiki = SyntheticWiki(9)

    def answer(asked: Ask) -> object:
        said = json.loads(wiki.answer(asked))
        if "titles" in asked:
            said["query"]["pages"] = [
                entry for entry in said["query"]["pages"] if entry["pageid"] != 2
            ]
            for entry in said["query"]["pages"]:
                if entry["pageid"] == 3:
                    entry["title"] = "As the wiki has it"
        return said

    path = tmp_path / "titles"
    path.write_text("Page 1\nPage 2\nPage 3\n")
    with serving(Scripted(answer)) as url:
        articles, skipped, _ = gathered(titles_source(client, url, path).batches(None, nothing))
    assert [article.title for article in articles] == ["Page 1", "As the wiki has it"]
    assert skipped == {"missing": ["Page 2"]}


# Categories


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


EDGES = (
    *(("A", "p"), ("A", "q"), ("A", "B"), ("A", "C")),
    *(("B", "q"), ("B", "r"), ("B", "A"), ("B", "D")),
    *(("C", "D"), ("C", "s"), ("D", "t"), ("D", "D"), ("D", "A")),
)


@pytest.mark.parametrize(
    ("depth", "expected"), [(0, "pq"), (1, "pqrs"), (2, "pqrst"), (3, "pqrst"), (99, "pqrst")]
)
def test_depth_and_circles(client: PoliteClient, depth: int, expected: str) -> None:
    wiki = Scripted(tree(*EDGES))
    found: list[str] = []
    known: set[int] = set()
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
def test_a_category_with_and_without_prefix(client: PoliteClient, name: str) -> None:
    wiki = Scripted(tree(("A", "p"), ("category:A", "p")))
    with serving(wiki) as url:
        source = Category(MediaWikiApi(client, url), name)
        assert source.total() == 2
        assert len(gathered(source.batches(None, nothing))[0]) == 1


def test_a_category_that_is_not_there(client: PoliteClient) -> None:
    with serving(Scripted(tree(*EDGES))) as url:
        source = Category(MediaWikiApi(client, url), "Nowhere")
        with pytest.raises(RefusedError, match="no category 'Nowhere'"):
            list(source.batches(None, nothing))


def test_categories_without_end(client: PoliteClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(category_module, "MOST_CATEGORIES", 50)
    inner = tree(("A", "B"))

    def answer(asked: Ask) -> object:
        if "list" not in asked:
            return inner(asked)
        name = asked["cmtitle"]
        members = [{"pageid": 7, "ns": 14, "title": f"{name}{letter}"} for letter in "xy"]
        return {"batchcomplete": True, "query": {"categorymembers": members}}

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(client, url), "A", 10**6)
        with pytest.raises(UnusableAnswerError, match="smaller depth"):
            list(source.batches(None, nothing))


MEMBER = {"pageid": 1, "ns": 0, "title": "p"}


@pytest.mark.parametrize(
    "members",
    [
        None,
        {"1": MEMBER},
        ["p"],
        [{**MEMBER, "pageid": "1"}],
        [{**MEMBER, "pageid": True}],
        [{**MEMBER, "pageid": 0}],
        [{**MEMBER, "ns": None}],
        [{"ns": 0, "title": "p"}],
        [{"pageid": 1, "ns": 14}],
        [{"pageid": 1, "missing": True}],
        [{"pageid": 1, "ns": 14, "missing": True}],
        [{"pageid": 1, "ns": 14, "title": "Category:half \ud83d"}],
        [{"pageid": 1, "ns": 14, "title": ["B"], "missing": True}],
        [{"pageid": 1, "title": "p", "invalid": True}],
        [MEMBER] * 10_000,
    ],
)
def test_malformed_members_are_a_named_error(client: PoliteClient, members: object) -> None:
    inner = tree(("A", "p"))

    def answer(asked: Ask) -> object:
        if "list" not in asked:
            return inner(asked)
        return {"batchcomplete": True, "query": {"categorymembers": members}}

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(impatient(client), url), "A")
        with pytest.raises(UnusableAnswerError):
            list(source.batches(None, nothing))


@pytest.mark.parametrize(
    "pages",
    [
        [],
        [page(pageid=2, title="p")],
        [page(pageid=1, title="p"), page(pageid=2, title="q")],
        [{"title": "p", "ns": 0, "missing": True}],
    ],
)
def test_pages_that_were_not_asked_for(client: PoliteClient, pages: list[object]) -> None:
    inner = tree(("A", "p"))

    def answer(asked: Ask) -> object:
        if "pageids" not in asked:
            return inner(asked)
        return {"batchcomplete": True, "query": {"pages": pages}}

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(impatient(client), url), "A")
        with pytest.raises(UnusableAnswerError):
            list(source.batches(None, nothing))


def test_pages_that_go_on_after_all_that_was_asked_for(client: PoliteClient) -> None:
    inner = tree(("A", "p"))

    def answer(asked: Ask) -> object:
        said = inner(asked)
        if "pageids" in asked:
            assert isinstance(said, dict)
            said["continue"] = {"x": asked.get("x", "") + "1"}
        return said

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(impatient(client), url), "A")
        with pytest.raises(UnusableAnswerError, match="goes on"):
            list(source.batches(None, nothing))


@pytest.mark.parametrize("n_pages", [-1, True, "7", 10**9 + 1, 2**63 - 1])
def test_a_category_of_more_pages_than_there_can_be(client: PoliteClient, n_pages: object) -> None:
    inner = tree(("A", "p"))

    def answer(asked: Ask) -> object:
        said: Any = inner(asked)
        if "titles" in asked:
            said["query"]["pages"][0]["categoryinfo"]["pages"] = n_pages
        return said

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(impatient(client), url), "A")
        with pytest.raises(UnusableAnswerError):
            source.total()


@pytest.mark.parametrize("interrupted", [False, True])
def test_members_without_end(
    client: PoliteClient, monkeypatch: pytest.MonkeyPatch, *, interrupted: bool
) -> None:
    """Ever new ones with ever new continuations; a process that is started again counts on."""
    monkeypatch.setattr(category_module, "FEW_PAGES", 100)
    inner = tree(("A", "p"))

    def answer(asked: Ask) -> object:
        if "list" not in asked:
            return inner(asked)
        start = int(asked.get("cmcontinue", 1))
        members = [{"pageid": start + i, "ns": 0, "title": f"{start + i}"} for i in range(10)]
        more = {"cmcontinue": str(start + 10)}
        return {"batchcomplete": True, "continue": more, "query": {"categorymembers": members}}

    with serving(Scripted(answer)) as url:
        source = Category(MediaWikiApi(client, url), "A")
        cursor: dict[str, Any] | None = None
        for _ in range(11 if interrupted else 0):
            batch = next(source.batches(cursor, lambda _: True))
            cursor = json.loads(json.dumps(batch.cursor))
        with pytest.raises(UnusableAnswerError, match="has no end"):
            list(source.batches(cursor, lambda _: True))
    assert client.n_requests < 20


# Whatever a wiki says


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
            "pages": [{"pageid": 9, "ns": 14, "title": "Category:A", "categoryinfo": {"pages": 2}}],
        },
    },
    "members": {
        "batchcomplete": True,
        "query": {
            "categorymembers": [
                {"pageid": 1, "ns": 0, "title": "One"},
                {"pageid": 5, "ns": 14, "title": "Category:Gone", "missing": True},
            ],
        },
    },
    "ids": {"batchcomplete": True, "query": {"pages": [page()]}},
    "parse": {"parse": {"title": "One", "pageid": 1, "revid": 5, "text": "<p>It is here.</p>"}},
}
"""What a wiki says, for each kind of question."""
REMOVED = object()
NASTY = "\x1b]0;x\x07\ud83d\u202e\n2"
ODD = [REMOVED, None, True, -1, 2**63, NASTY, [], {NASTY: NASTY}]


def kind_of(asked: Ask) -> str:
    for name, kind in (("meta", "site"), ("list", "members"), ("pageids", "ids")):
        if name in asked:
            return kind
    if "titles" in asked:
        return "category" if asked["titles"].startswith("Category:") else "titles"
    return "parse" if "oldid" in asked else "random"


def places_in(said: object, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Where something stands in an answer."""
    pairs: Any = said.items() if isinstance(said, dict) else enumerate(said)  # type: ignore[arg-type]
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places_in(value, *path, key)


def with_a_change(said: object, path: tuple[Any, ...], value: object) -> Any:
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


def sources_that_ask_for(kind: str, api: MediaWikiApi, titles: Path) -> Iterator[LiveSource]:
    if kind in {"site", "error", "random"}:
        yield RandomPages(api)
    if kind in {"random", "parse"}:
        yield RandomPages(api, "html")
    if kind == "titles":
        yield Titles(api, titles)
    if kind in {"site", "category", "members", "ids"}:
        yield Category(api, "A", 1)


def outcome_of(source: LiveSource) -> tuple[int | type, list[str]]:
    """How many articles come, or the kind of error that does; and what is said of it."""
    try:
        articles, skipped, _ = gathered(source.batches(None, nothing))
    except DownloadError as error:
        return type(error), [str(error)]
    return len(articles), [name for names in skipped.values() for name in names]


class NoJitter(random.Random):
    """No wait after a failure."""

    def random(self) -> float:
        return 0.0


@pytest.mark.parametrize("kind", SAID)
def test_no_member_of_an_answer_breaks_anything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """Each member of each answer in turn is something else: articles come, or a named error.

    And nothing that is said of it, be it in the log, could steer a terminal.
    """
    client = new_client(tmp_path, patience=0, deadline=5, read_timeout=5)
    client._persistence._rng = NoJitter()
    titles = tmp_path / "titles"
    titles.write_text("one\nEins\nUno\nde:Eins\nGone\n<\n")
    change: tuple[tuple[Any, ...], object] = ((), None)

    def answer(asked: Ask) -> object:
        asked_for = "error" if kind == "error" and "meta" not in asked else kind_of(asked)
        if asked_for == "random" and asked.keys() & {"grncontinue", "continue", NASTY}:
            return SAID["ids"]
        if asked.get("cmtitle", "Category:A") != "Category:A":
            return {"batchcomplete": True, "query": {"categorymembers": []}}
        return with_a_change(SAID[asked_for], *change) if asked_for == kind else SAID[asked_for]

    outcomes: list[int | type] = []
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
