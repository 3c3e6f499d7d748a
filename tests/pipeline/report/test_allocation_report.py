import json

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.pipeline.support import call

TABLE = "sort,<script>alert(1)</script>,b\nx,6,0\ny,5,1\n'z' & z,0,7\n"


@pytest.fixture(scope="module")
def allocated(tmp_path_factory):
    directory = tmp_path_factory.mktemp("allocated")
    (directory / "table.csv").write_text(TABLE)
    call(
        *("allocate", "table.csv", "--layout", "matrix", "--ranks", "1:2", "--method", "exact"),
        *("--threads", 1, "--repeats", 2),
        cwd=directory,
    ).succeeded()
    return directory


def test_the_page_has_evidence_factors_and_pictures(allocated):
    outcome = call("report", "allocate/table", "--json", cwd=allocated).succeeded()
    page = allocated / outcome.result["page"]
    assert page == allocated / "allocate/table/report.html"
    found = LexborHTMLParser(page.read_text("utf-8"))
    text = found.root.text()
    result = json.loads((allocated / "allocate/table/allocation.json").read_text())
    for row in result["rows"]:
        assert f"{row['log_marginal']:.2f}".replace("-", "\u2212") in text
    assert result["recommendation"] in text
    assert len(found.css("svg")) == sum(name.endswith(".svg") for name in result["files"])
    assert len(found.css("script")) == 1  # the page's own
    assert "<script>alert(1)</script>" in text  # as text


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
        text = " ".join(
            LexborHTMLParser((path / "report.html").read_text("utf-8")).root.text().split()
        )
        assert said in text
        assert f"{high - low:.2f} {lede}" in text
        assert "By variational Bayes." in text
        assert "wikitopics 9.8.7" in text
        assert ("after each token, 30 earlier tokens are resampled" in text) == (method == "smc")


def test_other_runs_and_damaged_results_are_refused(allocated):
    assert "a page of its own" in call("report", "allocate/table", "other", cwd=allocated).failed()
    path = allocated / "damaged"
    path.mkdir()
    (path / "allocation.json").write_text('{"rows": []}')
    error = call("report", "damaged", cwd=allocated).failed(3)
    assert "damaged/allocation.json: not a result of `allocate`" in error
