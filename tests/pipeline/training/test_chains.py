import json
import re
import shutil
import signal
from unittest import mock

import pytest

import pipeline.training.train as training
from models import GibbsLDAChains, load_model
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of
from tests.pipeline.support import TINY_GIBBS, arrays_of, call, signalled_at

CHAINS = (*TINY_GIBBS, "--chains", 3, "--max-passes", 12)


def model_of(directory, run):
    return arrays_of(directory / "runs" / run / "model.npz")


@pytest.fixture(scope="module")
def chains_once(tiny_finished, tmp_path_factory):
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("chains") / "tiny")
    call("train", "--run", "three", *CHAINS, cwd=directory).succeeded()
    return directory


@pytest.fixture
def three(chains_once, tmp_path):
    return shutil.copytree(chains_once, tmp_path / "tiny")


def test_the_setting_selects_the_trainer():
    given = {"model": "gibbs", "topics": 7, "seed": 4, "max_passes": 11}
    estimator = estimator_of(TrainSettings(chains=5, **given), 2)
    assert isinstance(estimator, GibbsLDAChains)
    wanted = {"n_topics": 7, "chains": 5, "n_iter": 11, "random_state": 4, "n_jobs": 2}
    assert estimator.get_params() == estimator.get_params() | wanted
    assert not isinstance(estimator_of(TrainSettings(**given), 2), GibbsLDAChains)


def test_topics_say_in_how_many_chains_each_is_found_again(three):
    result = call("topics", "three", "--json", cwd=three).result
    for row in result["topics"]:
        figures = row["stability"]
        assert 0 <= figures["found"] <= figures["chains"] == 3
        assert 0 < figures["cosine"] <= 1
        assert figures["standard_error"] >= 0
    text = call("topics", "three", cwd=three).succeeded().out.splitlines()
    assert "found again  cosine ± s.e." in text[0]
    for line, row in zip(text[1:], result["topics"], strict=True):
        found = re.search(r"(\d) of 3 +(\d\.\d+) ± (\d\.\d+) ", line)
        assert found
        assert int(found[1]) == row["stability"]["found"]
    header = load_model(three / "runs/three/model.npz").header["stability"]
    shares = [row["stability"]["found"] / 3 for row in result["topics"]]
    assert header["share"] == pytest.approx(sum(shares) / len(shares))
    assert "found again" not in call("topics", "tiny", cwd=three).out


@pytest.mark.slow
def test_the_report_has_a_column_of_them(three):
    argv = ("--scored", 0, "--documents", 0, "--page-only", "--threads", 1)
    for run in ("three", "tiny"):
        call("report", run, *argv, cwd=three).succeeded()
    page, other = ((three / f"runs/{run}/report.html").read_text() for run in ("three", "tiny"))
    assert len(re.findall(r'class="found-again" data-value="\d">\d of 3<', page)) == 3
    assert "consensus of 3 chains" in page
    assert "Found again" not in other


@pytest.mark.slow
def test_threads_change_no_bit(three):
    call("train", "--run", "more", *CHAINS, "--threads", 4, cwd=three).succeeded()
    assert model_of(three, "more") == model_of(three, "three")


def test_interrupted_and_resumed(three):
    iterate = signalled_at(GibbsLDAChains.iterate, 5, signal.SIGINT)
    with mock.patch.object(GibbsLDAChains, "iterate", iterate):
        assert call("train", "--run", "again", *CHAINS, cwd=three).code == 130
    assert (three / "runs/again").exists()
    with mock.patch.object(training, "CHECKPOINT_SECONDS", 0.0):
        call("train", "--run", "again", *CHAINS, cwd=three).succeeded()
    assert model_of(three, "again") == model_of(three, "three")


@pytest.mark.slow
def test_a_selection_has_a_column_of_them(three):
    argv = [
        each for i, each in enumerate(CHAINS) if "--topics" not in CHAINS[max(0, i - 1) : i + 1]
    ]
    call("select", *argv, "--topics", "2,3", cwd=three).succeeded()
    rows = json.loads((three / "runs/select-gibbs/select.json").read_text())["rows"]
    assert all(0 <= row["stability"] <= 1 and row["stability_standard_error"] >= 0 for row in rows)
    text = call("select", *argv, "--topics", "2,3", cwd=three).succeeded().out
    assert "found again ± s.e." in text.splitlines()[0]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--chains", 0), "--chains must be at least 1, found 0"),
        (("--model", "online", "--chains", 2), "--chains is for --model gibbs"),
    ],
)
def test_bad_settings(tiny, argv, message):
    assert message in call("train", *TINY_GIBBS, "--run", "bad", *argv, cwd=tiny).failed()
