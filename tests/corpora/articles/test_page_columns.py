import time

import pytest

from corpora.articles.page import Page, Site, categories_of, page_to_article
from corpora.articles.page_columns import (
    QUALITIES,
    QUALITY_TEMPLATES,
    categories_in,
    category_name,
    page_columns,
    quality_in,
    quality_of,
)

GERMAN = Site.described("de", "dewiki", "https://de.wikipedia.org/wiki/", [(14, "Kategorie")])
ENGLISH = frozenset(["category"])
TEXT = """{{Lesenswert|1. Mai 2005|1}}
'''Bern''' ist eine Stadt.<!-- [[Kategorie:Nicht]] -->
[[:Kategorie:Auch nicht]] und <nowiki>[[Kategorie:Und nicht]]</nowiki>.
[[Kategorie:Stadt|Bern]] [[ kategorie : stadt ]][[KATEGORIE:Ort_in_der  Schweiz|
]]
[[Category:A &amp; B]]<!--
[[Kategorie:Nie]]
"""


def test_columns_of_a_page():
    article = page_to_article(Page(GERMAN, 1, 2, "Bern", "", TEXT, "Q70"))
    assert article is not None
    assert list(article.columns.items()) == [
        ("categories", ("Stadt", "Ort in der Schweiz", "A & B")),
        ("wikidata", "Q70"),
        ("length", len(TEXT)),
        ("quality", "good"),
    ]
    without = page_to_article(Page(Site(), 1, 2, "Bern", "", "Bern."))
    assert without is not None
    assert without.columns == {"length": 5}


def test_names_are_those_of_the_wiki():
    other = "[[Catégorie:Ville]] [[Kategorie:Stadt]]"
    assert categories_of(Page(GERMAN, 1, 2, "Bern", "", other)) == ["Stadt"]
    assert categories_of(Page(Site(), 1, 2, "Bern", "", other)) == ["Ville", "Stadt"]
    of_words = Site.described("en", "", "", [(14, "Category")], case="case-sensitive")
    assert categories_of(Page(of_words, 1, 2, "a", "", "[[Category:en:Birds]]")) == ["en:Birds"]
    assert categories_in("[[Project talk:X]]", frozenset(["project_talk"])) == ["X"]


@pytest.mark.parametrize(
    "wikitext",
    [
        "[[Category:]]",
        "[[Category: _ ]]",
        "[[Category:A{{PAGENAME}}]]",
        "[[Category:A",
        "[[Category:A|b",
        "[[Category:A\n]]",
        "[Category:A]",
        "<pre>\n[[Category:A]]</pre >",
        "<!-- [[Category:A]]",
        "<syntaxhighlight lang='x'>[[Category:A]]</syntaxhighlight>",
        f"[[Category:{'é' * 128}]]",
    ],
)
def test_what_is_no_category(wikitext):
    assert categories_in(wikitext, ENGLISH) == []


@pytest.mark.parametrize(
    "wikitext",
    [
        "[[Category:A]]",
        "<nowiki/>[[Category:A]]",
        "<nowiki>[[Category:A]]",
        "--> [[Category:A]] <!--",
        "<!-- a --><!-- b -->[[Category:A]]<!-- [[Category:B]] -->",
        "<nowiki><!--</nowiki>[[Category:A]]",
        "<!--<nowiki>-->[[Category:A]]</nowiki>",
        "[[Category:\u200eA]][[category:a]]",
        "[[Category:A]] <!-- [[Category:B]]",
        "[[category:A]]" + "x" * 4000 + "[[Category:A]]",
        "[[category:A]]" + "x" * 90_000,
    ],
)
def test_what_is_a_category(wikitext):
    assert categories_in(wikitext, ENGLISH) == ["A"]


def test_a_capital_that_is_two_letters_is_none():
    assert category_name("ßx") == "ßx"
    assert category_name("élan_vital") == "Élan vital"


@pytest.mark.parametrize(
    ("language", "wikitext", "quality"),
    [
        ("en", "{{featured article}}", "featured"),
        ("en", "{{ Good_article }}", "good"),
        ("en", "{{Stub}}", "stub"),
        ("en", "{{Asia-geo-stub|x}}", "stub"),
        ("en", "{{stub}} {{Featured article}}", "featured"),
        ("en", "{{Stubbed}} {{Bad good article}} {{good article list}} {{a|-stub}}", ""),
        ("en", "<!-- {{stub}} -->{{x}}", ""),
        ("en", "{{Exzellent}}", ""),
        ("de", "{{Exzellent|1. Mai|2}}", "featured"),
        ("fr", "{{ébauche|ville}}\n", "stub"),
        ("fr", "{{Article\nde qualité}}", ""),
        ("pt", "{{esboço-geo}}", "stub"),
        ("sv", "{{Ortstub}}", "stub"),
        ("und", "{{stub}}", ""),
        ("en", "{{Good article}}" + "x" * 90_000, "good"),
        ("en", "x" * 90_000 + "{{good article}} <!-- {{featured article}} -->", "good"),
    ],
)
def test_quality(language, wikitext, quality):
    assert quality_in(wikitext, language) == quality


def test_every_template_of_the_table_is_known():
    for line in QUALITY_TEMPLATES.strip().splitlines():
        language, quality, names = line.split(maxsplit=2)
        assert quality in QUALITIES
        for name in names.split(", "):
            assert quality_of([f"Template:{name.replace('*', 'x')}"], language) == quality
            assert quality_of([f"{name.replace('*', 'x')}y z"], language) in ("", quality)


def test_what_is_empty_or_no_item_is_left_out():
    assert page_columns(["A", "B", "A"], "Q1") == {"categories": ("A", "B"), "wikidata": "Q1"}
    for item in (None, "", "P31", "Q0", "Q1 ", 42, ["Q1"]):
        assert page_columns((), item) == {}


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "[[Category:",
            "[[Category:A|",
            "[[Category:A",
            "[[",
            "[[_",
            "{{",
            "{{ ",
            "{{a-stub",
            "-stub",
        ),
        *("{{ \n", "<!--", "<nowiki>", "<nowiki>[[Category:A]]", "<!-- -->{{stub}}", "<pre <"),
    ],
)
def test_hostile_wikitext_takes_linear_time(piece):
    def seconds(length):
        wikitext = piece * (length // len(piece))
        began = time.process_time()
        categories_in(wikitext, ENGLISH)
        quality_in(wikitext, "en")
        return time.process_time() - began

    assert seconds(400_000) < max(0.5, 20 * seconds(40_000))


def test_a_number_of_no_character_in_a_category():
    assert categories_in(f"[[Category:A]] [[Category:&{'#' + '9' * 5000};]]", ENGLISH) == ["A"]
    assert category_name(f"&#{'9' * 5000};") == "\ufffd"
