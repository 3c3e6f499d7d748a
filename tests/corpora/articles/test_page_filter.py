import pickle

import pytest

from corpora.articles.page import Page, Site
from corpora.articles.page_filter import PageFilter


def page(title="Alpha Beta", wikitext="Text."):
    site = Site.described("de", "dewiki", "", [(14, "Kategorie"), (0, "")])
    return Page(site, 1, 1, title, "", wikitext)


@pytest.mark.parametrize("title", ["Alpha Beta", "alpha_Beta", " Alpha  Beta "])
def test_titles_as_people_write_them(title):
    wanted = PageFilter.of([title, "Other"])
    assert wanted(page())
    assert not wanted(page("Alpha beta"))


@pytest.mark.parametrize(
    "link",
    [
        *("[[Kategorie:Fluss in Bern]]", "[[category:fluss_in Bern|Aare]]"),
        *("[[ Category : Fluss in Bern ]]", "[[Kategorie:Fluss  in Bern|*]]"),
    ],
)
def test_categories_that_the_wikitext_names(link):
    wanted = PageFilter.of(categories=["fluss_in Bern"])
    assert wanted(page(wikitext=f"Text.\n{link}\n[[Kategorie:Other]]"))
    assert not wanted(page(wikitext=f"Text.\n{link.replace('Bern', 'Basel')}"))
    assert not wanted(page(wikitext=f"Text.\n{link.replace('[[', '[[:')}"))


def test_categories_with_their_namespace():
    plain = PageFilter.of(categories=["Fluss in Bern"])
    for name in ("Category:Fluss in Bern", "Kategorie: fluss_in Bern"):
        assert PageFilter.of(categories=[name])(page(wikitext="[[Kategorie:Fluss in Bern]]"))
    assert PageFilter.of(categories=["Category:Fluss in Bern"]).stamp() == plain.stamp()
    assert PageFilter.of(categories=["Category:"]).categories == {"Category:"}
    assert PageFilter.of(categories=["Film: A"]).categories == {"Film: A"}


def test_both_have_to_hold():
    wanted = PageFilter.of(["Alpha Beta"], ["C"])
    assert wanted(page(wikitext="[[Category:C]]"))
    assert not wanted(page())
    assert not wanted(page("Gamma", "[[Category:C]]"))
    assert PageFilter()(page())


def test_workers_can_receive_it():
    wanted = PageFilter.of(["A"], ["B"])
    assert pickle.loads(pickle.dumps(wanted)) == wanted
