"""A family that only tests know, `tests.unigrams`, is trained, chosen, scored and reported."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from evaluation import log_likelihood
from models import load_model
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from tests.fork_server import ForkServer
from tests.pipeline.support import MADE_UP, THEMES, arrays_of, call, figures_of_runs_left_out
from tests.unigrams import register
from tests.unigrams.model import UnigramMixture

TRAIN = ("train", *MADE_UP, "--model", "unigrams")
ROOT = Path(__file__).parents[2]
DRIVER = """
import os, signal, sys
import pipeline.training.train as command
from pipeline.cli import main
from tests.unigrams import register
from tests.unigrams.model import UnigramMixtureEM
register()
command.CHECKPOINT_SECONDS = 0.0
iterate = UnigramMixtureEM.iterate

def killed(*args, **kwargs):
    for number, step in enumerate(iterate(*args, **kwargs), start=1):
        if number == {n_steps}:
            os.kill(os.getpid(), signal.SIGKILL)
        yield step

UnigramMixtureEM.iterate = killed
sys.exit(main())
"""


@pytest.fixture(scope="module", autouse=True)
def _registered():
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        yield


@pytest.fixture(scope="module")
def trained_once(tiny_finished, tmp_path_factory):
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("fifth") / "trained")
    call(*TRAIN, "--run", "mixture", cwd=directory).succeeded()
    return directory


@pytest.fixture
def trained(trained_once, tmp_path):
    return shutil.copytree(trained_once, tmp_path / "trained")


@pytest.fixture(scope="module")
def server():
    imported = "pipeline.cli, pipeline.commands.train, pipeline.training.train, tests.unigrams"
    with ForkServer(f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {imported}") as server:
        yield server


def test_it_learns_the_themes(trained):
    assert isinstance(load_model(trained / "runs/mixture/model.npz").topics, UnigramMixture)
    outcome = call("topics", "mixture", "--words", 5, "--json", cwd=trained)
    themes = [set(theme.split()) for theme in THEMES]
    found = [set(row["words"]) for row in outcome.result["topics"]]
    assert len(found) == 3
    assert all(any(words <= theme for theme in themes) for words in found)
    assert all(row["prevalence"] > 0.1 for row in outcome.result["topics"])


def test_a_validation_that_stands_still_stops_it(trained):
    run = RunDirectory(trained / "runs/mixture")
    lines, parts = run.metrics(), LoadedRun(run).parts
    passes = [line["passes"] for line in lines]
    assert len(lines) >= 4
    assert passes[-1] < 50  # of at most 100
    best = int(np.argmax([line["log_likelihood"] for line in lines]))
    assert run.provenance()["best_look"] == best
    kept = log_likelihood(load_model(run.model_path).topics, parts.validation.counts)
    assert kept.total == pytest.approx(lines[best]["log_likelihood"], rel=1e-12)


@pytest.mark.parametrize("n_steps", [2, 4])
def test_killed_and_resumed(trained, server, n_steps):
    with pytest.raises(RuntimeError, match="exit code -9"):
        server.run(DRIVER.format(n_steps=n_steps), *TRAIN, "--run", "killed", cwd=trained)
    assert (trained / "runs/killed/checkpoints/latest.npz").exists()
    assert "going on after" in call("train", "--run", "killed", cwd=trained).err
    whole, parts = (arrays_of(trained / f"runs/{run}/model.npz") for run in ("mixture", "killed"))
    assert whole == parts


def test_it_is_scored_beside_others(trained):
    result = call("evaluate", "mixture", "--json", cwd=trained).result
    assert (result["family"], result["method"], result["direction"]) == (
        *("unigrams", "exact", "exact"),
    )
    run = LoadedRun(RunDirectory(trained / "runs/mixture"))
    expected = log_likelihood(run.model.topics, run.parts.test.counts)
    assert result["log_likelihood"] == pytest.approx(expected.total, rel=1e-12)
    assert result["perplexity"] == pytest.approx(expected.perplexity, rel=1e-12)
    both = call("evaluate", "mixture", "tiny", "--json", cwd=trained).result
    assert both["method"] == "exact"
    rows = {row["model"]: row["perplexity"] for row in both["models"]}
    assert rows["mixture"] == pytest.approx(expected.perplexity, rel=1e-12)
    assert both["best"] == min(rows, key=rows.__getitem__)
    for argv, message in (
        (("--method", "completion"), "the tests have no need of it"),
        (("--certify",), "no documents can be simulated from it"),
        (("--convention", "bag-and-length"), "does not say how long documents are"),
    ):
        assert message in call("evaluate", "mixture", *argv, cwd=trained).failed()


@pytest.mark.usefixtures("images_left_out")
def test_models_of_other_words_are_compared_by_those_of_both(trained):
    argv = [*TRAIN, "--run", "few", "--keep-n", 20]
    assert call(*argv, cwd=trained).code == 0
    result = call("evaluate", "mixture", "few", "--json", cwd=trained).result
    shares = {row["model"]: row["probability_of_scored_words"] for row in result["models"]}
    assert shares["few"] == pytest.approx(1.0)
    assert 0.1 < shares["mixture"] < 0.95
    call("report", "mixture", "few", "--page-only", "-o", "page.html", cwd=trained).succeeded()
    assert "With each model restricted to the scored words" in (trained / "page.html").read_text()


def test_its_likelihood_is_a_probability(trained):
    rng = np.random.default_rng(0)
    topics = UnigramMixture(rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(3)))
    pairs = np.eye(4, dtype=int)[:, None] + np.eye(4, dtype=int)[None]
    found = log_likelihood(topics, pairs.reshape(16, 4))
    assert np.exp(found.log_likelihood).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.usefixtures("images_left_out")
def test_topics_are_chosen_and_inferred_and_other_settings_refused(trained):
    argv = ("select", *MADE_UP, "--model", "unigrams")
    argv = tuple("2,3" if each == "3" else str(each) for each in argv)
    assert "exact on the test part" in call(*argv, "--test", 0.3, cwd=trained).succeeded().out
    (trained / "new.txt").write_text("The river of the lake is the mountain of the forest.")
    (text,) = call("infer", "mixture", "new.txt", "--json", cwd=trained).result["texts"]
    assert sum(row["proportion"] for row in text["topics"]) == pytest.approx(1.0)
    assert text["topics"][0]["proportion"] > 0.5
    error = call(*TRAIN, "--run", "x", "--penalty", 0.1, cwd=trained).failed()
    assert "--penalty is for --model poisson-mrf, not unigrams" in error


def test_it_is_reported_alone_and_beside_lda(trained):
    for runs, all_or_some in (
        (("mixture",), nullcontext()),
        (("mixture", "tiny"), figures_of_runs_left_out()),
    ):
        with all_or_some:
            call("report", *runs, "--page-only", "-o", "page.html", cwd=trained).succeeded()
        page = (trained / "page.html").read_text()
        assert "Mixture of unigrams, EM" in page
        assert "The sum over all topics of a document." in page
        assert "likelihood of whole documents" in page
