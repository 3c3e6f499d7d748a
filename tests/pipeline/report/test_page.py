import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser

from corpora.articles.attribution import UNKNOWN
from pipeline.report.page import number, render, render_template, run_summary, share, summary_row
from pipeline.report.page_data import (
    clean,
    embedded_json,
    front_coded,
    licence_of,
    page_data,
    rounded,
    safe_url,
)
from pipeline.report.sections import AlignedTopics
from tests.pages.made_up_figures import made_up_figures
from tests.pages.made_up_report import made_up_report

LETTERS = st.text(st.characters(exclude_categories=()), max_size=8)


def small(**settings):
    sizes = {"n_topics": 4, "n_words": 120, "n_documents": 3, "words_a_document": 20}
    return made_up_report(**(sizes | settings))


def data_of(html):
    return json.loads(LexborHTMLParser(html).css_first("#page-data").text())


def test_data_of_the_page_is_that_of_the_report():
    report = small()
    run, topics = report.runs[0], report.runs[0].topics
    found = data_of(render(report, {}))["runs"][0]
    assert found["words"][: len(topics.words)] == list(topics.words)
    assert found["share"] == pytest.approx(topics.word_share, rel=1e-6)
    for ours, theirs in zip(found["topics"], topics.topics, strict=True):
        assert ours["number"] == theirs.number
        assert ours["words"] == list(theirs.words)
        assert ours["probabilities"] == pytest.approx(theirs.probabilities, rel=1e-6)
    for ours, theirs in zip(found["topics"], topics.clouds, strict=True):
        assert [found["words"][each[0]] for each in ours["cloud"]] == [w.word for w in theirs]
    for ours, theirs in zip(found["found"], topics.topics_of_word, strict=True):
        assert [each // 1000 for each in ours] == [k for k, _ in theirs]
        assert [each % 1000 / 1000 for each in ours] == pytest.approx(
            [p for _, p in theirs], abs=0.0011
        )
    for ours, theirs in zip(found["documents"], run.documents.documents, strict=True):
        assert ours["pieces"] == list(theirs.pieces)
        assert ours["wordTopics"] == list(theirs.word_topics)


def test_policy_names_the_hash_of_the_script_which_builds_no_markup():
    html = render(small(), {})
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    expected = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    node = LexborHTMLParser(html).css_first("meta[http-equiv]")
    policy = node.attributes["content"] or ""
    assert f"script-src 'sha256-{expected}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    script = html[html.rindex("<script>") :]
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "onclick")
    assert not [way for way in ways if way in script]


def test_figures_go_in_as_they_are_and_each_into_its_place():
    report = small(n_runs=2)
    figures = made_up_figures(report)
    html = render(report, figures)
    for svg in figures.values():
        assert html.count(svg) == 1


@pytest.mark.parametrize("first", [0, 1])
def test_figures_of_alignments_are_counted_from_nought_or_one(first):
    report = small(n_runs=3)
    figures = {(None, f"alignment-{first + i}"): f"<svg id='alignment{i}'/>" for i in range(2)}
    html = render(report, figures)
    for i in range(2):
        heading = html.index(f"</bdi> and <bdi>run {i + 2}")
        assert 0 < html.index(f"<svg id='alignment{i}'/>") - heading < 2000


def test_what_a_run_does_not_have_is_left_out_and_clouds_may_be_missing():
    report = small()
    whole = render(report, {})
    nothing = dict.fromkeys(("training", "documents", "coherence", "likelihood"))
    bare = replace(report.runs[0], **nothing, notes=("Why.",))
    html = render(replace(report, runs=(bare,)), {})
    for name in nothing:
        assert f'id="run-1-{name}"' in whole
        assert f"run-1-{name}" not in html
    assert "Why." in html
    assert data_of(html)["runs"][0]["documents"] == []
    report = small()
    run = report.runs[0]
    data = page_data(replace(report, runs=(replace(run, topics=replace(run.topics, clouds=())),)))
    assert all(topic["cloud"] == [] for topic in data["runs"][0]["topics"])


def test_shapes_and_dependencies_have_their_sections():
    report, pair = small(), {"first": "new", "second": "<york>", "weight": 1.25}
    numbers = [topic.number for topic in report.runs[0].topics.topics]
    rows = tuple({"topic": k, "positive": (pair,), "negative": ()} for k in numbers)
    run = replace(report.runs[0], shapes=(3.0, 0.5, 0.01, 1e-7), dependencies=rows)
    text = LexborHTMLParser(render(replace(report, runs=(run,)), {})).text()
    assert "Active topics" in text
    assert "1e-07" in text
    assert "new – <york> 1.25" in re.sub(r"\s+", " ", text)


def test_summary_is_of_the_best_estimate_and_tells_of_many_unknown_words():
    run = small().runs[0]
    assert summary_row(run).direction == "unbiased"
    assert run_summary(run).startswith("4 topics of 25,000 articles")
    assert run_summary(run).endswith("by left-to-right-sequential.")
    assert run_summary(replace(run, likelihood=None)).endswith("different words).")
    run = small().runs[0]
    assert "unknown" not in run_summary(run)
    assert "\u00a0±\u00a0" in run_summary(run)
    assert run_summary(
        replace(run, likelihood=replace(run.likelihood, unknown_share=0.34))
    ).endswith("; 34\u00a0% of the held-out tokens are words unknown to the model.")


def test_bounds_say_what_they_are_of():
    tags = [each.text() for each in LexborHTMLParser(render(small(), {})).css(".likelihoods .tag")]
    assert tags == ["unbiased"] * 2 + ["lower bound of log p", "upward biased", "biased", "plug-in"]


@pytest.mark.parametrize(("n_runs", "word"), [(2, "better"), (3, "best")])
def test_of_two_one_is_better_of_several_best(n_runs, word):
    tree = LexborHTMLParser(render(small(n_runs=n_runs), {}))
    table = tree.css_first("section[aria-labelledby=comparison] table")
    assert [each.text() for each in table.css("tbody .tag")] == [word]
    assert f"Above the {word}" in table.text()
    assert f"the {word} first" in table.css_first("caption").text()
    assert table.css("tbody tr")[0].css("td")[2].text() == "–"


def test_models_of_different_words_are_not_ranked():
    report = small(n_runs=2)
    first, second = report.comparison.rows
    rows = (
        replace(first, scored_share=0.61),
        replace(second, conditional_difference=-0.25, conditional_low=-0.3, conditional_high=-0.2),
    )
    section = replace(report.comparison, rows=rows, is_comparable=False)
    tree = LexborHTMLParser(render(replace(report, comparison=section), {}))
    table = tree.css_first("section[aria-labelledby=comparison] table")
    assert table.css("tbody .tag") == []
    text = table.text()
    for part in ("61\u00a0%", "−0.2500", "−0.3000 to −0.2000", "Above the first"):
        assert part in text


@pytest.mark.parametrize("n_alone", [5, 6])
def test_many_topics_without_a_partner_are_folded(n_alone):
    report = small(n_runs=2)
    alignment = report.comparison.alignments[0]
    paired = tuple(pair for pair in alignment.pairs if pair.distance is not None)
    alone = tuple(AlignedTopics(None, k, None, ()) for k in range(n_alone))
    section = replace(report.comparison, alignments=(replace(alignment, pairs=(*paired, *alone)),))
    tree = LexborHTMLParser(render(replace(report, comparison=section), {}))
    folded = tree.css("section[aria-labelledby=comparison] details tbody tr")
    assert len(folded) == (n_alone if n_alone > 5 else 0)
    assert len(tree.css("table.alignment tbody tr")) == len(paired) + n_alone


def test_the_command_stands_before_what_is_folded():
    report = small()
    run = report.runs[0]
    provenance = replace(
        run.provenance, entries=(("command", "python -m pipeline train --stop-words 'a <b>'"),)
    )
    section = LexborHTMLParser(
        render(replace(report, runs=(replace(run, provenance=provenance),)), {})
    ).css_first("section[aria-labelledby=run-1-provenance]")
    command = section.css_first("pre.command").text()
    assert command == "python -m pipeline train --stop-words 'a <b>'"
    assert "--stop-words" not in section.css_first("details").text()


def test_a_licence_is_named_if_it_is_that_of_all():
    provenance = small().runs[0].provenance
    english, german = ("en", "a", "CC BY-SA 4.0"), ("de", "b", "CC BY-SA 4.0")
    other, unknown = ("fr", "c", "CC0"), ("it", "d", UNKNOWN)
    for sources, expected in (
        *(((english, german), "CC BY-SA 4.0"), ((english, other), ""), ((unknown,), ""), ((), "")),
    ):
        assert licence_of(replace(provenance, sources=sources)) == expected


def test_one_topic_and_no_validation_make_a_page():
    report = small(n_topics=1)
    run = report.runs[0]
    run = replace(run, training=replace(run.training, checks=(), best=None))
    assert "1 topic, " in render(replace(report, runs=(run,)), {})


def test_other_pages_extend_the_same_ground():
    tree = LexborHTMLParser(render_template("base.html.j2", None, title="<b>Title</b>"))
    assert tree.css_first("h1").text() == "<b>Title</b>"
    assert tree.css_first("#page-data") is None


@given(text=LETTERS, key=LETTERS)
def test_embedded_json_is_read_as_what_it_was(text, key):
    data = {clean(key): [clean(text), "</script><!--", "\u2028&"]}
    html = f'<script type="application/json">{embedded_json(data)}</script>'
    html.encode()
    assert json.loads(LexborHTMLParser(html).css_first("script").text()) == data
    inside = embedded_json(data)
    assert not set("<>&\u2028\u2029") & set(inside)


@given(text=st.text(st.characters(exclude_categories=())))
def test_cleaned_text_has_nothing_that_is_not_seen(text):
    shown = clean(text)
    assert len(shown) == len(text)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]", shown)
    assert clean(shown) == shown
    ordinary = [each for each in text if each.isalnum()]
    assert [each for each in shown if each in set(ordinary)] == ordinary


@given(words=st.lists(LETTERS.map(clean)))
def test_front_coded_words_are_put_back_as_scripts_count(words):
    before = b""
    for word, coded in zip(words, front_coded(words), strict=True):
        before = before[: 2 * int(coded[0], 36)] + coded[1:].encode("utf-16-le")
        assert before.decode("utf-16-le") == word


def test_only_addresses_of_the_web_are_linked():
    for url in (
        "https://en.wikipedia.org/w/index.php?title=A&oldid=1",
        "http://localhost:8080/wiki/Ünï",
        "HTTPS://de.wikipedia.org/",
    ):
        assert safe_url(url) == url
    for url in (
        *("javascript:alert(1)", "java\nscript:alert(1)", " https://en.wikipedia.org/", ""),
        *("data:text/html,x", "//en.wikipedia.org/", "https://", "http://["),
        "https://a.org/\u3000",
        *("https://a.org/\ud800", "https://a.org/\u202e", "https://a.org/\x85"),
    ):
        assert safe_url(url) == ""


def test_control_characters_and_markup_in_templates():
    tree = LexborHTMLParser(render(replace(small(), title='nul\0 <i> " \u2028'), {}))
    assert tree.css_first("h1").text() == 'nul␀ <i> " ␤'
    assert tree.css_first("title").text() == 'nul␀ <i> " ␤'


def test_shares_and_numbers():
    values = (0.5, 0.0996, 0.0994, 0.00123, 1.0, 0.9991, 0.9997)
    texts = ["50", "10", "9.9", "0.12", "100", "99.9", ">99.9"]
    assert [share(value) for value in values] == [f"{text}\u00a0%" for text in texts]
    assert number(-1234.5, 1) == "−1,234.5"
    assert number(None) == "–"
    assert rounded(123456789.0, 4) == 123500000
    assert isinstance(embedded_json({}), Markup)
