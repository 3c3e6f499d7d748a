"""`reproduce --all`: what is run, what is left, what is gathered, and how it ends."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from corpora import writer_lock
from corpora.errors import CorpusFormatError
from pipeline.errors import Interrupted
from pipeline.reproduce import run_all as command
from pipeline.reproduce.settings import EXPERIMENTS
from tests.pipeline.support import call

RUNNING = [name for name in EXPERIMENTS if name != "bam-abalone"]
"""Those that need nothing."""


class Runs:
    """Stands for `reproduce`: writes a stored result, and notes what it was asked for."""

    def __init__(self, stored):
        self.stored = stored
        self.asked = []
        self.errors = {}

    def __call__(self, settings, experiment):
        self.asked.append(experiment)
        if experiment in self.errors:
            raise self.errors[experiment]
        wanted = {"scale": settings.scale, "seed": settings.seed}
        return self.write(Path(settings.output), experiment, **wanted)

    def write(self, directory, experiment, **also):
        result = self.stored[experiment] | also
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{result['name']}.json").write_text(json.dumps(result))
        return result


@pytest.fixture
def runs(stored, monkeypatch):
    made = Runs(stored)
    monkeypatch.setattr(command, "reproduce", made)
    return made


def all_of(*argv, cwd):
    return call("reproduce", "--all", *argv, "--json", cwd=cwd)


def verdicts(outcome):
    return {row["experiment"]: row["verdict"] for row in outcome.result["experiments"]}


def test_all_run_in_order_and_are_gathered(runs, tmp_path):
    outcome = all_of("--seed", 3, cwd=tmp_path)
    assert outcome.code == 0, outcome.err
    assert runs.asked == RUNNING
    assert outcome.result["report"] == "reproduce/report.html"
    assert (outcome.result["scale"], outcome.result["seed"]) == ("quick", 3)
    assert outcome.result["failed"] == []
    assert list(verdicts(outcome)) == list(EXPERIMENTS)
    assert verdicts(outcome)["bam-abalone"] == "not run"
    (row,) = (r for r in outcome.result["experiments"] if r["experiment"] == "bam-abalone")
    assert row["results"] == []
    assert row["problem"].startswith("it needs --table abalone.csv, the abalone data of the UCI")
    page = (tmp_path / "reproduce" / "report.html").read_text()
    assert (
        "python -m pipeline reproduce bam-abalone --table abalone.csv --scale quick --seed 3"
    ) in page
    assert "by python -m pipeline reproduce --all --scale quick --seed 3." in page


def test_only_what_is_missing_runs(runs, tmp_path):
    place = tmp_path / "out"
    runs.write(place / "bam-toy", "bam-toy", seed=0, scale="quick")
    runs.write(place / "l2r-kl", "l2r-kl", seed=0, scale="full")  # serves for quick
    runs.write(place / "bam-letters", "bam-letters", seed=1, scale="quick")
    runs.write(place / "bam-abalone", "bam-abalone", seed=0, scale="quick")
    older = [{"claim": "x", "fails_at": []}]
    runs.write(place / "bam-histogram", "bam-histogram", seed=0, scale="quick", findings=older)
    runs.write(place / "bam-parafac", "bam-parafac", seed=0, scale="full", findings=older)  # kept
    (place / "lpmrf-scaling").mkdir()
    (place / "lpmrf-scaling" / "lpmrf-scaling.json").write_text('{"experiment": "lpmrf-sc')
    outcome = all_of("--output", "out", cwd=tmp_path)
    serving = ("bam-toy", "l2r-kl", "bam-parafac")
    assert runs.asked == [name for name in RUNNING if name not in serving]
    assert "lpmrf-scaling.json is skipped" in outcome.err
    assert "not run" not in verdicts(outcome).values()
    assert (place / "report.html").exists()
    runs.asked.clear()
    assert all_of("--output", "out", cwd=tmp_path).code == 0
    assert runs.asked == []
    all_of("--output", "out", "--scale", "full", cwd=tmp_path)
    assert runs.asked == [name for name in RUNNING if name != "l2r-kl"]


def test_results_of_several_variants(runs, tmp_path):
    place, name = tmp_path / "reproduce" / "buntine-model-selection", "buntine-model-selection"
    runs.write(place, name)
    runs.write(place, name, name=f"{name}-s40", dataset="s40")
    outcome = call("reproduce", "--gather", "--json", cwd=tmp_path)
    (row,) = (r for r in outcome.result["experiments"] if r["experiment"] == name)
    assert [each["name"] for each in row["results"]] == [f"{name}-s10s", f"{name}-s40"]


def test_one_that_fails_stops_no_other(runs, tmp_path):
    runs.errors = {
        "l2r-kl": CorpusFormatError("line 3: <b>no</b> number"),
        "bam-histogram": RuntimeError("our mistake"),
    }
    outcome = all_of(cwd=tmp_path)
    assert outcome.code == 1
    assert runs.asked == RUNNING
    assert outcome.result["failed"] == ["l2r-kl", "bam-histogram"]
    assert "l2r-kl failed: line 3" in outcome.err
    assert "Traceback" in outcome.err  # of our mistake only
    assert "line 3:" not in outcome.err.partition("Traceback")[2]
    page = (tmp_path / "reproduce" / "report.html").read_text()
    assert "The last attempt failed: line 3: &lt;b&gt;no&lt;/b&gt; number." in page
    assert "The last attempt failed: RuntimeError: our mistake." in page
    runs.asked.clear()
    runs.errors = {}
    assert all_of(cwd=tmp_path).code == 0
    assert runs.asked == ["l2r-kl", "bam-histogram"]


def test_a_failure_beside_an_older_result(runs, tmp_path):
    runs.write(tmp_path / "reproduce" / "bam-toy", "bam-toy", seed=9)
    runs.errors = {"bam-toy": CorpusFormatError("no")}
    outcome = all_of(cwd=tmp_path)
    assert outcome.code == 1
    (row,) = (r for r in outcome.result["experiments"] if r["experiment"] == "bam-toy")
    assert (row["verdict"], row["results"][0]["seed"]) == ("failed", 9)


def test_what_is_printed(runs, tmp_path):
    outcome = call("reproduce", "--all", cwd=tmp_path)
    lines = outcome.out.splitlines()
    assert lines[-1] == "reproduce/report.html"
    assert [line.split(" ")[0] for line in lines[:-1] if line[0] != " "] == list(EXPERIMENTS)
    assert "buntine-table-1 (Buntine 2009): " in outcome.out
    assert "17 of 17, lpmrf-scaling" in outcome.err


def wrapped(error):
    made = SystemError("a kernel returned a result with an exception set")
    made.__cause__ = error
    return made


@pytest.mark.parametrize("as_raised", [lambda error: error, wrapped])
def test_an_interrupt_ends_it_and_the_same_command_goes_on(as_raised, runs, tmp_path):
    runs.errors = {"bam-toy": as_raised(Interrupted(15))}
    outcome = all_of(cwd=tmp_path)
    assert outcome.code == 143
    assert runs.asked == RUNNING[: RUNNING.index("bam-toy") + 1]
    assert not (tmp_path / "reproduce" / "report.html").exists()
    runs.asked.clear()
    runs.errors = {}
    assert all_of(cwd=tmp_path).code == 0
    assert runs.asked == RUNNING[RUNNING.index("bam-toy") :]


def test_a_full_disk_ends_it(runs, tmp_path):
    runs.errors = {"bam-toy": OSError(28, "No space left on device")}
    outcome = all_of(cwd=tmp_path)
    assert outcome.code == 75
    assert runs.asked[-1] == "bam-toy"


def test_gathering_runs_nothing(runs, tmp_path):
    runs.write(tmp_path / "reproduce" / "bam-toy", "bam-toy", seed=7, scale="full")
    for argv in (("--gather",), ("--all", "--gather")):
        outcome = call("reproduce", *argv, "--json", cwd=tmp_path)
        assert outcome.code == 0, outcome.err
        found = verdicts(outcome)
        assert found.pop("bam-toy") != "not run"
        assert set(found.values()) == {"not run"}
    assert runs.asked == []
    page = (tmp_path / "reproduce" / "report.html").read_text()
    assert "Scale full, seed 7" in page


def test_one_at_a_time(runs, tmp_path):
    (tmp_path / "reproduce").mkdir()
    with writer_lock(tmp_path / "reproduce"):
        assert all_of(cwd=tmp_path).code == 75
    assert runs.asked == []


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ("", "reproduce takes an EXPERIMENT, one of aldebakel-trainers, "),
        ("bam-toy --all", "or --all or --gather without one"),
        ("bam-toy --gather", "or --all or --gather without one"),
        ("--all --pairs 3", "--pairs is for buntine-table-1: give it with the experiment"),
        ("--all --seed -1", "--seed must be from 0"),
        ("--all --scale huge", "--scale must be one of quick, full"),
        ("--gather", "--gather: there is no result in reproduce"),
    ],
)
def test_usage_errors(argv, complaint, runs, tmp_path):
    outcome = call("reproduce", *shlex.split(argv), cwd=tmp_path)
    assert outcome.code == 2
    assert complaint in outcome.error
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_real_results_are_gathered(tmp_path):
    for argv in (("buntine-table-1", "--pairs", 3, "--seed", 2), ("bam-histogram",)):
        outcome = call("reproduce", *argv, "--threads", 1, cwd=tmp_path)
        assert outcome.code == 0, outcome.err
    outcome = call("reproduce", "--gather", "--json", cwd=tmp_path)
    assert outcome.code == 0, outcome.err
    found = verdicts(outcome)
    assert [name for name in found if found[name] != "not run"] == [
        *("buntine-table-1", "bam-histogram")
    ]
    page = (tmp_path / "reproduce" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "python -m pipeline reproduce buntine-table-1 --scale quick --pairs 3 --seed 2" in page
    assert found["bam-histogram"] == "reproduced"
