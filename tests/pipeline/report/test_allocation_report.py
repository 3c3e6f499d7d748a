"""The page of one `allocate`."""

import json
from html.parser import HTMLParser

import pytest

from tests.pipeline.support import call

TABLE = "sort,<script>alert(1)</script>,b\nx,6,0\ny,5,1\n'z' & z,0,7\n"


@pytest.fixture(scope="module")
def allocated(tmp_path_factory):
    directory = tmp_path_factory.mktemp("allocated")
    (directory / "table.csv").write_text(TABLE)
    outcome = call(
        *("allocate", "table.csv", "--layout", "matrix", "--ranks", "1:2", "--method", "exact"),
        *("--threads", 1, "--repeats", 2),
        cwd=directory,
    )
    assert outcome.code == 0, outcome.err
    return directory


class Elements(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_the_page_has_evidence_factors_and_pictures(allocated):
    outcome = call("report", "allocate/table", "--json", cwd=allocated)
    assert outcome.code == 0, outcome.err
    page = allocated / outcome.result["page"]
    assert page == allocated / "allocate/table/report.html"
    found = Elements(page.read_text("utf-8"))
    result = json.loads((allocated / "allocate/table/allocation.json").read_text())
    for row in result["rows"]:
        assert f"{row['log_marginal']:.2f}".replace("-", "\u2212") in found.text
    assert result["recommendation"] in found.text
    assert found.tags.count("svg") == sum(name.endswith(".svg") for name in result["files"])
    assert found.tags.count("script") == 1  # the page's own
    assert "<script>alert(1)</script>" in found.text  # as text


def test_the_page_says_in_sentences_what_was_done(allocated, tmp_path):
    result = json.loads((allocated / "allocate/table/allocation.json").read_text())
    high, low = sorted((row["log_marginal"] for row in result["rows"]), reverse=True)
    lede = f"nats above nmf of rank {3 - result['best']['rank']}."
    for method, said in (
        ("exact", "makes the counts most probable"),
        ("smc", "sequential Monte Carlo: 2 runs of 200 particles each"),
        ("vb", "is bounded from below by variational Bayes, the best of 2 starts"),
    ):
        path = tmp_path / method
        path.mkdir()
        changed = result | {"method": method, "version": "9.8.7", "files": []}
        (path / "allocation.json").write_text(json.dumps(changed))
        assert call("report", method, cwd=tmp_path).code == 0
        text = " ".join(Elements((path / "report.html").read_text("utf-8")).text.split())
        assert said in text
        assert f"{high - low:.2f} {lede}" in text
        assert "By variational Bayes." in text
        assert "wikitopics 9.8.7" in text
        assert ("after each token, 30 earlier tokens are resampled" in text) == (method == "smc")


def test_other_runs_do_not_go_with_it(allocated):
    outcome = call("report", "allocate/table", "other", cwd=allocated)
    assert outcome.code == 2
    assert "a page of its own" in outcome.error


def test_a_damaged_result_is_bad_data(allocated):
    path = allocated / "damaged"
    path.mkdir()
    (path / "allocation.json").write_text('{"rows": []}')
    outcome = call("report", "damaged", cwd=allocated)
    assert outcome.code == 3
    assert "damaged/allocation.json: not a result of `allocate`" in outcome.error
