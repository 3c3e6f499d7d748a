import tomllib
from dataclasses import replace

import numpy as np
import pytest

from pipeline.commands.train import print_training
from pipeline.runs.run_directory import _mended
from pipeline.settings import TrainSettings
from pipeline.training.prevalence import is_starving
from pipeline.training.trainers import decided_as_begun, decided_eta, estimator_of
from tests.pipeline.support import TINY_GIBBS, call


@pytest.mark.parametrize(
    ("model", "trainer", "eta"),
    [
        *(("online", "beta-gamma-pfa", "0.5"), ("gibbs", "beta-gamma-pfa", "0.05")),
        *(("gamma-poisson", "beta-gamma-pfa", "0.1"), ("gamma-poisson", "gap", "auto")),
        *(("gamma-poisson", "kl-nmf", "auto"), ("poisson-mrf", "beta-gamma-pfa", "auto")),
    ],
)
def test_the_eta_that_is_recorded(model, trainer, eta):
    settings = TrainSettings(model=model, trainer=trainer)
    default = getattr(estimator_of(settings, 1), "eta", "auto")
    assert decided_eta(settings).eta == str(default) == eta
    assert decided_eta(TrainSettings(model=model, trainer=trainer, eta="0.3")).eta == "0.3"


def test_the_start_of_runs_that_were_begun():
    asked = TrainSettings(model="gibbs")
    assert decided_as_begun(asked, asked).start == "auto"
    assert decided_as_begun(replace(asked, start="random"), asked).start == "auto"
    former = replace(asked, start="online")  # the default it was begun with
    assert decided_as_begun(former, asked).start == "online"
    assert decided_as_begun(former, replace(asked, start="anchors")).start == "anchors"


def test_eta_of_runs_that_were_begun_or_are_mended():
    asked = TrainSettings(model="gibbs")
    assert decided_as_begun(replace(asked, eta="0.01"), asked).eta == "0.05"
    assert decided_as_begun(replace(asked, eta="0.05"), asked).eta == "0.05"
    former = replace(asked, eta="0.1")  # the default it was begun with
    assert decided_as_begun(former, asked).eta == "0.1"
    assert decided_as_begun(former, replace(asked, eta="0.2")).eta == "0.2"
    begun = TrainSettings(model="online", eta="0.5", no_below=9)
    assert _mended(begun, {"model": "gibbs"}).eta == "auto"
    assert _mended(begun, {"no_below": 2}).eta == "0.5"
    assert _mended(begun, {"model": "gibbs", "eta": "0.2"}).eta == "0.2"


def test_runs_of_different_eta_are_different_runs(untouched):
    eta_of = {}
    for argv in (("--eta", "0.01"), ()):
        result = call("train", *argv, *TINY_GIBBS, "--json", cwd=untouched).result
        assert result["starving"] in range(len(result["topics"]) + 1)
        settings = tomllib.loads((untouched / result["path"] / "settings.toml").read_text())
        eta_of[result["run"]] = settings["train"]["eta"]
    assert list(eta_of.values()) == ["0.01", "0.05"]


def test_what_starves():
    prevalence = np.array([0.5, 0.4, 0.05, 0.03, 0.0199, 0.0001])
    assert is_starving(prevalence).tolist() == [False] * 4 + [False, True]
    assert not is_starving(np.ones(1)).any()


def test_topics_that_starve_are_counted_in_a_line(capsys):
    rows = [
        {"topic": k, "prevalence": share, "words": ["w"], "probabilities": [1.0]}
        for k, share in enumerate((0.999, 0.001))
    ]
    result = {"topics": rows, "validation": None, "path": "runs/x"}
    print_training({**result, "starving": 1})
    assert (
        "average topic's tokens: 1 of 2; fewer --topics, a lower --eta" in capsys.readouterr().out
    )
    for none in (0, None):
        print_training({**result, "starving": none})
        assert "average topic" not in capsys.readouterr().out
