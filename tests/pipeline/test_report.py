import json
import shutil

import numpy as np
import pytest

from pipeline.cache.results import ResultCache
from tests.pipeline.support import call, figures_of_runs_left_out

QUICK = ("--threads", 1, "--documents", 2, "--scored", 5)


@pytest.fixture(scope="module")
def reported(tiny_gibbs, tmp_path_factory):
    directory = shutil.copytree(tiny_gibbs, tmp_path_factory.mktemp("reported") / "tiny")
    given = {"cwd": directory, "WIKITOPICS_CACHE": "cache"}
    call("report", "tiny", *QUICK, **given).succeeded()
    with figures_of_runs_left_out():
        call("report", "tiny", "gibbs", *QUICK, **given).succeeded()
    return directory


@pytest.fixture
def copied(reported, tmp_path):
    return shutil.copytree(reported, tmp_path / "copied")


def data_of(page):
    text = page.read_text("utf-8")
    start = text.index('id="page-data">') + len('id="page-data">')
    found = json.loads(text[start : text.index("</script>", start)])
    assert isinstance(found, dict)
    return found


def test_a_page_and_figures(reported):
    run = reported / "runs/tiny"
    assert (run / "report.html").stat().st_size > 50_000
    names = {path.stem for path in (run / "figures").iterdir()}
    assert names >= {
        "topic-map",
        "training",
        "prevalence",
        "top-words",
        "coherences",
        "likelihoods",
    }
    for name in names:
        assert (run / "figures" / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (run / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (reported / "report.html").exists()
    assert (reported / "figures/comparison.svg").exists()
    assert (reported / "figures/measures.svg").exists()


def test_equal_runs_give_equal_pages(copied):
    before = (copied / "runs/tiny/report.html").read_bytes()
    argv = ("report", "tiny", *QUICK, "--page-only", "--json")
    outcome = call(*argv, cwd=copied, WIKITOPICS_CACHE="cache")  # as seconds would differ
    assert outcome.result == {
        "page": "runs/tiny/report.html",
        "bytes": len(before),
        "runs": ["tiny"],
        "figures": [],
    }
    assert (copied / "runs/tiny/report.html").read_bytes() == before


@pytest.mark.usefixtures("images_left_out")
def test_the_page_goes_where_it_is_to(copied):
    argv = ("report", "tiny", *QUICK, "--page-only", "-o", "a b.html")
    outcome = call(*argv, cwd=copied).succeeded()
    assert "report: a b.html (0." in outcome.out
    assert (copied / "a b.html").exists()


@pytest.mark.usefixtures("images_left_out")
def test_as_many_samples_as_are_asked_for(copied):
    argv = ("report", *QUICK, "--page-only", "--samples", 7)
    call(*argv, "tiny", "gibbs", cwd=copied).succeeded()
    text = (copied / "report.html").read_text("utf-8")
    assert " 7 samples per document." in text
    assert "100 samples per document." not in text
    found = [np.load(path)["n_samples"] for path in ResultCache().directory.glob("scores/*.npz")]
    assert set(np.concatenate(found).tolist()) == {0, 7}
    error = call("report", "tiny", "--samples", 0, cwd=copied).failed()
    assert "--samples must be at least 1, found 0" in error


@pytest.mark.usefixtures("images_left_out")
def test_without_the_store_the_page_says_so(copied):
    shutil.rmtree(copied / "articles")
    call("report", "tiny", *QUICK, "--page-only", cwd=copied).succeeded()
    text = (copied / "runs/tiny/report.html").read_text("utf-8")
    assert "articles" in text
    assert "without" in text
    (run,) = data_of(copied / "runs/tiny/report.html")["runs"]  # type: ignore[misc]
    assert not any(document["isText"] for document in run["documents"])  # type: ignore[has-type]
    assert "CC BY-SA" in text


@pytest.mark.usefixtures("images_left_out")
def test_from_another_directory_the_store_is_found(copied, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    call("report", copied / "runs/tiny", *QUICK, "--page-only", cwd=elsewhere).succeeded()
    (run,) = data_of(copied / "runs/tiny/report.html")["runs"]  # type: ignore[misc]
    assert all(document["isText"] for document in run["documents"])  # type: ignore[has-type]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nowhere"], "no run 'nowhere' in runs"),
        (["tiny", "tiny"], "tiny is named twice"),
        (["tiny", "--documents", "-1"], "--documents must be at least 0, found -1"),
        (["tiny", "--words", "0"], "--words must be at least 1, found 0"),
        (["tiny", "--scored", "1"], "--scored must be at least 2, or 0"),
        (["tiny", "--seed", "-1"], "--seed must be from 0"),
        (["tiny", "--reference", "no.index"], "--reference no.index: there is no such file"),
        (["tiny", "./runs/tiny"], "./runs/tiny is named twice"),
        (["tiny", "-o", "."], "--output: . exists and is not a file"),
        (["tiny", "-o", "no/page.html"], "--output: the directory of no/page.html does not exist"),
        (["tiny", "-o", "/dev/null"], "--output: /dev/null exists and is not a file"),
    ],
)
def test_what_makes_no_sense_is_refused(reported, argv, message):
    assert message in call("report", *argv, cwd=reported).failed()


def test_a_run_that_is_not_done(copied):
    (copied / "runs/tiny/model.npz").unlink()
    assert "has no model yet" in call("report", "tiny", cwd=copied).failed()


@pytest.mark.usefixtures("images_left_out")
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.npz", "{damaged"),
        ("provenance.json", "{damaged"),
        ("metrics.jsonl", "{damaged"),
        ("metrics.jsonl", '{"documents": 1, "seconds": 1.0, "perplexity": NaN}'),
    ],
)
def test_a_damaged_run_is_bad_data(copied, name, damage):
    (copied / "runs/tiny" / name).write_text(damage)
    assert name in call("report", "tiny", *QUICK, "--page-only", cwd=copied).failed(3)
