"""The page of all reproduced tables and figures: what is on it, and what may not be."""

from __future__ import annotations

import copy
import json
import logging
from html.parser import HTMLParser

import pytest

from pipeline.figures.svg import DamagedFigureError, file_svg
from pipeline.reproduce.buntine2009 import convergence, model_selection
from pipeline.reproduce.claims import Finding, findings_of, verdict_of
from pipeline.reproduce.page import Outcome, reproductions_page, views_of
from pipeline.reproduce.papers import EXPERIMENTS, PAPERS
from pipeline.reproduce.settings import EXPERIMENTS as NAMES
from pipeline.reproduce.tables import Column, Table, plus_minus, text
from tests.pipeline.reproduce.small_results import shape_of, small_results

HOSTILE = "<script>alert(1)</script>\"'&\u202e\x00</style><!--"
VOID = {"meta", "link", "br", "img", "input", "hr"}


def page_of(results, place, **outcomes):
    nothing = Outcome([], "it has not been run", command="python -m pipeline reproduce x")
    found = {name: Outcome([results[name]]) if name in results else nothing for name in EXPERIMENTS}
    views = views_of(found | outcomes, place)
    return reproductions_page(views, "Made for a test."), views


class Elements(HTMLParser):
    """All elements with their attributes, and all text; complains of wrong nesting."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.open = []
        self.texts = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def test_every_experiment_is_shown():
    assert tuple(EXPERIMENTS) == NAMES
    assert len(PAPERS) == 5


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_tables_and_headlines(experiment, stored):
    result, declared = stored[experiment], EXPERIMENTS[experiment]
    tables = declared.tables(result)
    assert tables
    assert len({table.title for table in tables}) == len(tables)
    for table in tables:
        assert table.rows
        assert all(table.heads[table.headings :])
        assert all(cell.isprintable() for row in table.cells for cell in row)
        assert all(line == line.rstrip() for line in table.lines())
    headline = declared.headline(result)
    assert all(headline)
    shown = [(table.title, table.heads, table.cells, table.note) for table in tables]
    assert "None" not in f"{shown} {headline}"
    assert findings_of(result) or experiment in ("lpmrf-dependencies", "aldebakel-topics")


def test_numbers_are_those_of_the_result(stored):
    result = stored["buntine-table-1"]
    first, *_ = EXPERIMENTS["buntine-table-1"].tables(result)
    row = result["rows"][0]
    assert first.title == "gamma = 0.2"
    assert first.cells[0][0] == "HM"
    assert first.cells[0][1] == f"{row['mean']:.5f}".replace("-", "−")
    assert first.cells[0][6:] == ["−0.33570", "0.2345", "−14.30"]
    assert first.cells[-1][6:] == ["–"] * 3  # LRS refined is not in the paper
    assert EXPERIMENTS["buntine-table-1"].headline(result).published == "0.00072 (t = 0.46)"
    result = stored["bam-parafac"]
    found, *_ = EXPERIMENTS["bam-parafac"].tables(result)
    assert [row[1] for row in found.cells] == [str(each["smc"]) for each in result["found"]]


def test_ranks_from_which_the_hidden_class_is_better(stored):
    result = stored["bam-abalone"]
    complete = max(result["complete_graph"], key=lambda each: each["a"])
    for row in result["rows"]:
        row["log_marginal"] = complete["log_marginal"] + (1 if row["rank"] > 1 else -1)
    assert EXPERIMENTS["bam-abalone"].headline(result).ours == "SMC 3, VB 3"
    for row in result["rows"]:
        if row["rank"] == 3 and row["method"] == "vb":
            row["log_marginal"] = complete["log_marginal"] - 1
    assert EXPERIMENTS["bam-abalone"].headline(result).ours == "SMC 3, VB –"


def test_numbers_for_people():
    assert text(-1.25, ".1f") == "−1.2"
    assert text(None, ".1f") == "–"
    assert plus_minus(1.0, 0.5, ".1f") == "1.0 ± 0.5"
    assert plus_minus(1.0, None, ".1f") == "1.0"


def test_one_table_for_terminal_and_page():
    columns = (Column("name", "name"), Column("p", "p.mean", ".2f", "p.error", "ours"))
    rows = [{"name": "a", "p": {"mean": -0.5, "error": 0.125}}, {"name": "bcd", "p": None}]
    table = Table("Title", columns, rows, "A note.")
    assert table.heads == ["name", "p"]
    assert table.groups == [("", 1), ("ours", 1)]
    assert table.cells == [["a", "−0.50 ± 0.12"], ["bcd", "–"]]
    assert list(table.lines()) == [
        "Title",
        "          ours",
        "name             p",
        "a     −0.50 ± 0.12",
        "bcd              –",
        "A note.",
    ]


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        ([True, True], "reproduced"),
        ([True, False], "partly reproduced"),
        ([False, False], "not reproduced"),
        ([], "not compared"),
    ],
)
def test_verdicts(held, verdict):
    claims = [Finding("x", "x", () if each else ("there",), "The paper says so.") for each in held]
    of_ours = [Finding("ours", "ours", ("there",)), Finding("too", "too", ())]
    assert verdict_of([*claims, *of_ours]) == verdict


def test_claims_on_convergence(stored):
    result = stored["buntine-convergence"]
    error = {"HM": 0.2, "MFI 1st": 0.005, "MFI 2nd": 0.01, "LR": 0.03, "LRS": 0.002}
    sizes = {row["samples"] for row in result["rows"]}
    for row in result["rows"]:
        row["root_mean_square_error"] = error.get(row["estimator"], 0.001)
        if row["samples"] == min(sizes):
            row["root_mean_square_error"] = 0.1
    close, nearer, falls = convergence.EXPERIMENT.findings(result)
    assert close.holds
    assert nearer.holds
    assert falls.holds
    for row in result["rows"]:
        if row["samples"] == max(sizes):
            row["root_mean_square_error"] = 0.05
    close, nearer, falls = convergence.EXPERIMENT.findings(result)
    assert len(close.fails_at) == 4
    assert close.fails_at[0] == "MFI 1st (0.0500)"
    assert nearer.fails_at == ["LR", "HM"]


def test_claims_on_the_number_of_topics(stored):
    result = stored["buntine-model-selection"]
    for row in result["chosen"]:
        row["topics"] = result["true_topics"] + (row["estimator"] == "LR")
    claims = list(model_selection.EXPERIMENT.findings(result))
    by_text = {claim.text.split()[0]: claim for claim in claims}
    assert by_text["MFI"].holds
    assert by_text["LR"].fails_at == ["40 documents (4)", "80 documents (4)"]
    assert not by_text["completion"].paper
    assert verdict_of(claims) == "partly reproduced"


def test_what_is_said_of_other_data(stored):
    said = {name: EXPERIMENTS[name].data(result) for name, result in stored.items()}
    assert said["bam-toy"] == ""
    assert said["lpmrf-dependencies"] == ""  # all words of the published table are there
    assert said["l2r-kl"] == "Of few; in the paper of six corpora."
    stored["l2r-kl"]["corpora"][0]["corpus"] = "sample"
    assert (
        EXPERIMENTS["l2r-kl"].data(stored["l2r-kl"])
        == "Of the built-in sample in place of six corpora."
    )


@pytest.mark.slow
def test_the_stored_results_are_as_experiments_make_them(stored, tmp_path):
    """The other tests have the names and kinds of values that this version writes."""
    made = json.loads(json.dumps(small_results(tmp_path)))
    assert list(made) == list(stored)
    for name, result in made.items():
        assert _names(shape_of(result)) == _names(shape_of(stored[name])), name


def _names(shape):
    """All names in it, with those around them: values that may be missing are skipped."""
    if isinstance(shape, dict):
        return {name: _names(each) for name, each in shape.items() if each != "NoneType"}.keys()
    return None


def test_everything_is_on_the_page(stored, tmp_path):
    page, views = page_of(stored, tmp_path)
    elements = Elements(page)
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {paper.key for paper in PAPERS} | set(EXPERIMENTS) <= set(ids)
    for name in ("aria-labelledby", "href"):
        pointed = [a[name] or "" for _, a in elements.found if name in a]
        local = {each.removeprefix("#") for each in pointed if name != "href" or each[:1] == "#"}
        assert local <= set(ids)
    n_tables = sum(len(each.tables) for view in views for each in view.results)
    assert len(elements.all("table")) == len(elements.all("caption")) == n_tables + 1
    assert {each["scope"] for each in elements.all("th")} == {"col", "row", "colgroup"}
    words = "".join(elements.texts)
    for paper in PAPERS:
        assert paper.citation in words
        assert all(claim in words for claim in paper.claims)
    for view in views:
        (result,) = view.results
        assert result.result["command"] in words
        assert result.headline.ours in words
        assert all(claim.text in words for claim in result.findings)
    assert [len(elements.all(f"h{level}")) for level in (1, 2, 3)] == [1, 6, 17]


@pytest.mark.parametrize(
    ("name", "damage"),
    [("bam-letters", {"best": None}), ("buntine-table-1", {"rows": []}), ("l2r-kl", {"rows": []})],
)
def test_what_has_not_been_run_or_has_failed(name, damage, stored, tmp_path):
    del stored["bam-abalone"]
    failed = Outcome([], "no room <b>here</b>", has_failed=True, command="python -m again")
    older = Outcome([stored[name] | damage])
    page, views = page_of(stored, tmp_path, **{"bam-toy": failed, name: older})
    verdicts = {view.experiment.name: view.verdict for view in views}
    assert verdicts["bam-abalone"] == "not run"
    assert verdicts["bam-toy"] == verdicts[name] == "failed"
    words = "".join(Elements(page).texts)
    assert "The last attempt failed: no room <b>here</b>." in words
    assert "its result is of another version of this software: run it again" in words
    assert "python -m again" in words
    assert "1 not run, 2 failed. A verdict" in words


def test_a_result_of_an_older_version(stored, tmp_path):
    for each in stored["bam-toy"]["findings"]:
        del each["name"], each["paper"]
    del stored["buntine-convergence"]["findings"]
    _, views = page_of(stored, tmp_path)
    for view in views:
        is_older = view.experiment.name in ("bam-toy", "buntine-convergence")
        (result,) = view.results
        assert ("run it again for a verdict" in result.data) == is_older
        assert result.tables
        if is_older:
            assert view.verdict == "not compared"


def test_nothing_hostile_runs(stored, tmp_path):
    clean, _ = page_of(stored, tmp_path)
    hostile = copy.deepcopy(stored)
    for result in hostile.values():
        result |= {"command": HOSTILE, "version": HOSTILE, "date": HOSTILE}
        for each in result.get("findings", ()):
            each["claim"] += HOSTILE
            each["fails_at"] = [HOSTILE]
    for topic in hostile["lpmrf-dependencies"]["rows"]:
        topic["words"] = [HOSTILE for _ in topic["words"]]
        for each in topic["positive"]:
            each["first"] = HOSTILE
    hostile["lpmrf-classic3"]["corpus"]["name"] = HOSTILE
    hostile["bam-letters"]["source"] = HOSTILE
    for row in hostile["l2r-kl"]["rows"] + hostile["l2r-kl"]["corpora"]:
        row["corpus"] = HOSTILE
    page, views = page_of(hostile, tmp_path)
    assert all(view.results for view in views)
    plain, attacked = Elements(clean), Elements(page)
    assert len(attacked.all("script")) == len(plain.all("script")) == 1
    assert len(attacked.all("style")) == len(plain.all("style"))
    assert {tag for tag, _ in attacked.found} == {tag for tag, _ in plain.found}
    assert not [a for _, a in attacked.found if any(name.startswith("on") for name in a)]
    assert "\x00" not in page
    assert any("<script>alert(1)</script>" in each for each in attacked.texts)  # shown as text


DRAWING = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="720pt" height="432pt"
 viewBox="0 0 720 432" xmlns="http://www.w3.org/2000/svg" version="1.1" onload="alert(1)">
 <metadata>when</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style><clipPath id="c"/></defs>
 <script>alert(1)</script>
 <!-- said -->
 <g id="figure_1" clip-path="url(#c)"><path id="m" d="M 1.23456 2 L 3e-07 4.5&#10;"
 style="fill: #1c1c1c"/><use xlink:href="#m" x="1"/><use xlink:href="https://a.example/#m"/>
 <a xlink:href="javascript:alert(1)"><text>a &lt; b</text></a></g></svg>
"""


def test_a_drawing_in_a_page(tmp_path):
    (tmp_path / "x.svg").write_text(DRAWING)
    svg = file_svg(tmp_path / "x.svg", "one", "What it <shows>")
    elements = Elements(svg)
    (root,) = elements.all("svg")
    assert (root["role"], root["aria-label"]) == ("img", "What it <shows>")
    assert root["viewbox"] == "0 0 720 432"
    assert "width" not in root
    assert {tag for tag, _ in elements.found} == {
        *("svg", "defs", "clippath", "g", "path", "use", "a", "text")
    }
    assert [each["id"] for _, each in elements.found if "id" in each] == [
        *("one-c", "one-figure_1", "one-m")
    ]
    assert 'clip-path="url(#one-c)"' in svg
    assert [use.get("href") for use in elements.all("use")] == ["#one-m", None]
    assert elements.all("path")[0]["d"] == "M 1.23 2 L 3e-07 4.5"
    assert "fill: var(--ink,#1c1c1c)" in svg
    for word in ("script", "onload", "http", "said", "when", "javascript", "<?xml", "DOCTYPE"):
        assert word not in svg


@pytest.mark.parametrize("content", ["", "<svg", "<html/>", DRAWING.replace("viewBox", "box")])
def test_what_is_no_drawing(content, tmp_path):
    (tmp_path / "x.svg").write_text(content)
    with pytest.raises(DamagedFigureError, match=r"x\.svg: no SVG figure"):
        file_svg(tmp_path / "x.svg", "one", "label")


def test_pictures_on_the_page(stored, tmp_path, caplog):
    for name in ("bam-letters", "bam-decompositions", "bam-toy"):
        (tmp_path / name).mkdir()
        stored[name]["pictures"] = [f"{name}.svg", f"{name}.png", "../../else.svg"]
        (tmp_path / name / f"{name}.svg").write_text(DRAWING)
    (tmp_path / "bam-toy" / "bam-toy.svg").write_text("nothing")
    with caplog.at_level(logging.WARNING):
        page, views = page_of(stored, tmp_path)
    drawings = {view.experiment.name: view.results[0].drawings for view in views}
    assert [len(drawings[name]) for name in ("bam-letters", "bam-toy")] == [1, 0]
    assert drawings["bam-letters"][0].caption == "Figure 15: log marginal likelihood against rank"
    assert "bam-toy.svg" in caplog.text
    elements = Elements(page)
    assert len(elements.all("svg")) == len(elements.all("figure")) == 2
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["lpmrf-classic3", "lpmrf-wikipedia"])
def test_perplexities_of_another_corpus_are_not_compared(stored, tmp_path, name):
    def verdict():
        (view,) = [each for each in page_of(stored, tmp_path)[1] if each.experiment.name == name]
        return view.verdict

    assert verdict() != "not compared"
    stored[name]["corpus"]["name"] = "sample"
    assert verdict() == "not compared"
