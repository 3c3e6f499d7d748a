"""`reproduce`: tables, files and pictures of each experiment, and going on after an end."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest

import pipeline.reproduce.run as command
from corpora import writer_lock
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce.buntine2009 import convergence_view as convergence
from pipeline.reproduce.buntine2009 import model_selection_view as model_selection
from pipeline.reproduce.buntine2009 import table_1_view as view
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS
from pipeline.reproduce.buntine2009.model_selection import (
    Cell,
    Dataset,
    SelectionSettings,
    cell,
    planned,
    problem,
)
from pipeline.reproduce.buntine2009.model_selection_view import cells_of
from pipeline.reproduce.buntine2009.table_1 import Table1, Table1Settings, table_1
from pipeline.reproduce.claims import decided
from pipeline.reproduce.settings import EXPERIMENTS, ReproduceSettings
from pipeline.setting_sources import resolve
from tests.pipeline.support import Outcome, call

if TYPE_CHECKING:
    from pathlib import Path

BUNTINE = [name for name in EXPERIMENTS if name.startswith("buntine-")]
"""The others are in `test_reproduce_l2r`."""

SMALL = SelectionSettings(
    Dataset(3, 60, (2, 3)),
    training_sizes=(40, 80),
    n_held_out=20,
    left_to_right_samples=4,
    mean_field_samples=10,
    n_starts=1,
    start_sweeps=3,
    n_sweeps=5,
)


def reproduced(*argv: object, cwd: Path, **environment: str) -> Outcome:
    outcome = call("reproduce", *argv, "--threads", 1, cwd=cwd, **environment)
    assert outcome.code == 0, outcome.err
    return outcome


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    monkeypatch.setattr(convergence, "QUICK_SIZES", (10, 20))
    monkeypatch.setattr(convergence, "RUNS", {"quick": 2})
    monkeypatch.setattr(
        model_selection,
        "protocol",
        lambda settings: replace(
            SMALL, seed=settings.seed, n_held_out=settings.held_out or SMALL.n_held_out
        ),
    )


ARGUMENTS = dict(zip(BUNTINE, ("--pairs 2", "", ""), strict=True))


@pytest.mark.parametrize("experiment", BUNTINE)
def test_what_is_printed_and_what_is_written(
    experiment: str, quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = (experiment, *shlex.split(ARGUMENTS[experiment]))
    result = reproduced(*argv, "--json", cwd=tmp_path).result
    directory = tmp_path / "reproduce" / experiment
    assert result["path"] == f"reproduce/{experiment}"
    assert (result["experiment"], result["scale"], result["seed"]) == (experiment, "quick", 0)
    assert json.loads((directory / f"{result['name']}.json").read_text()) == result
    assert len(result["pictures"]) in (2, 4, 6)
    for name in result["pictures"]:
        content = (directory / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {result['name']}.json and figures"
    assert all(line == line.rstrip() for line in lines)


def test_the_table_of_pairs(no_pictures: None, tmp_path: Path) -> None:
    result = reproduced(
        *("buntine-table-1", "--pairs", 4, "--seed", 3, "--output", "out", "--json"), cwd=tmp_path
    ).result
    found = table_1(Table1Settings(n_pairs=4, seed=3))
    assert len(result["rows"]) == 4 * len(ESTIMATORS)
    row = result["rows"][1]
    assert (row["gamma"], row["estimator"]) == (0.2, "MFI 1st")
    assert row["mean"] == found.mean[0, 1]
    assert row["standard_deviation"] == found.standard_deviation[0, 1]
    assert row["t"] == found.student_t[0, 1]
    assert row["coverage"] == found.coverage[0, 1]
    assert row["published"] == {"mean": 0.0018, "standard_deviation": 0.0114, "t": 1.58}
    assert result["rows"][5]["published"] is None
    text = reproduced(
        *("buntine-table-1", "--pairs", 4, "--seed", 3, "--output", "out"), cwd=tmp_path
    ).out
    line = next(line for line in text.splitlines() if line.startswith("MFI 1st"))
    assert f"{row['mean']:.5f}" in line
    assert line.endswith("0.00180    0.0114    1.58")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"buntine-table-1.json", "lock"}


def test_findings_say_where_they_fail() -> None:
    def places(found: Table1) -> list[tuple[str, ...]]:
        return [each.fails_at for each in decided(view.CLAIMS, view.as_json(found))]

    found = table_1(Table1Settings(n_pairs=2, gammas=(0.5, 3.0), n_words=20, length=3))
    m = {name: m for m, name in enumerate(found.estimators)}
    found.error[:] = np.array([-1e-3, 1e-3])  # t = 0, all alike
    found.error[:, m["HM"]] = np.array([-2.0, -2.1])
    assert places(found) == [()] * 6
    found.error[1, m["LRS"]] = np.array([0.1, 0.1001])
    found.error[0, m["HM"]] = np.array([-1.0, 1.0])
    found.error[0, m["LRS"]] = np.array([-1.0, 1.0])
    at_half, at_three = ("gamma = 0.5",), ("gamma = 3.0",)
    assert places(found) == [at_three, at_three, (), (), at_half, at_half]


@pytest.mark.parametrize("experiment", BUNTINE)
def test_the_same_rows_for_a_seed(
    experiment: str, quick: None, no_pictures: None, tmp_path: Path
) -> None:
    def rows(seed: int, where: str) -> object:
        argv = (experiment, *shlex.split(ARGUMENTS[experiment]), "--seed", seed, "--output", where)
        ResultCache().clear()
        return without_seconds(reproduced(*argv, "--json", cwd=tmp_path).result["rows"])

    first = rows(1, "a")
    assert first == rows(1, "b")
    assert first != rows(2, "c")


def without_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {name: without_seconds(each) for name, each in value.items() if name != "seconds"}
    return [without_seconds(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ("nonsense", "buntine-table-1"),
        ("", "EXPERIMENT"),
        ("buntine-table-1 --pairs 1", "--pairs must be at least 2, found 1"),
        ("buntine-table-1 --pairs x", "--pairs must be a whole number"),
        ("buntine-table-1 --seed -1", "--seed must be from 0"),
        ("buntine-convergence --pairs 1", "--pairs is for buntine-table-1, not buntine-conv"),
        ("buntine-convergence --seed -1", "--seed must be from 0"),
        ("buntine-convergence --scale huge", "--scale must be one of quick, full"),
        ("buntine-model-selection --held-out 1", "--held-out must be at least 2, found 1"),
        ("buntine-model-selection --seed -1", "--seed must be from 0"),
        ("buntine-model-selection --dataset s20", "--dataset must be one of s10s, s10, s40"),
        ("buntine-model-selection --threads 0", "--threads must not be 0"),
    ],
)
def test_usage_errors(argv: str, complaint: str, tmp_path: Path) -> None:
    outcome = call("reproduce", *shlex.split(argv), cwd=tmp_path)
    assert outcome.code == 2
    assert outcome.out == ""
    assert complaint in outcome.err
    assert not list(tmp_path.iterdir())


SETTINGS_OF = {
    "buntine-table-1": {"--pairs"},
    "buntine-convergence": set(),
    "buntine-model-selection": {"--dataset", "--held-out"},
    "l2r-kl": {"--counts", "--topics", "--scored", "--max-tokens"},
    "l2r-convergence": {"--counts", "--topics", "--scored"},
    "bam-toy": {"--particles", "--repeats", "--moves"},
    "bam-histogram": set(),
    "bam-parafac": {"--particles", "--repeats", "--moves"},
    "bam-abalone": {"--table", "--particles", "--repeats", "--moves"},
    "bam-letters": {"--table", "--particles", "--repeats", "--moves"},
    "bam-decompositions": {"--table", "--particles", "--repeats", "--moves"},
    "lpmrf-classic3": {"--counts", "--topics", "--select", "--penalty", "--length-scale"},
    "lpmrf-wikipedia": {
        *("--counts", "--topics", "--select", "--penalty", "--length-scale"),
        *("--words", "--documents"),
    },
    "lpmrf-dependencies": {"--counts", "--vocabulary", "--penalty", "--length-scale"},
    "lpmrf-scaling": {"--counts"},
}
GIVEN = {
    "--pairs": "2",
    "--dataset": "s10",
    "--held-out": "2",
    "--counts": "x.npz",
    "--vocabulary": "x.txt",
    "--topics": "2",
    "--scored": "2",
    "--max-tokens": "10",
    "--table": "x.csv",
    "--particles": "10",
    "--repeats": "2",
    "--moves": "1",
    "--select": "validation",
    "--penalty": "0.1",
    "--length-scale": "1.5",
    "--words": "10",
    "--documents": "20",
}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_settings_of_other_experiments_are_refused(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(command.EXPERIMENTS, experiment, mock.Mock())
    for option, value in GIVEN.items():
        if option in SETTINGS_OF[experiment]:
            command._check(resolve_with(**{option[2:].replace("-", "_"): value}), experiment)
            continue
        outcome = call("reproduce", experiment, option, value, cwd=tmp_path)
        assert outcome.code == 2
        owners = " or ".join(name for name in EXPERIMENTS if option in SETTINGS_OF[name])
        assert f"{option} is for {owners}, not {experiment}: leave it out" in outcome.error
        assert not list(tmp_path.iterdir())


def test_help_says_which_experiment_a_setting_is_of() -> None:
    of_some = {
        each.name: each.metadata for each in fields(ReproduceSettings) if each.metadata["of"]
    }
    assert {"--" + name.replace("_", "-") for name in of_some} == set(GIVEN)
    for metadata in of_some.values():
        assert metadata["help"].startswith(", ".join(metadata["of"]) + ": ")
        assert metadata["help"].count(metadata["of"][0]) == 1


def test_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with writer_lock(tmp_path / "out"):
        outcome = call("reproduce", "buntine-table-1", "--output", "out", cwd=tmp_path)
    assert outcome.code == 75
    assert "out is being written to" in outcome.error


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    outcome = call("reproduce", "buntine-table-1", "--output", "out", cwd=tmp_path)
    assert outcome.code == 1
    assert "out" in outcome.error


def test_scales() -> None:
    full = model_selection.protocol(resolve_with(scale="full", dataset="s40", seed="7"))
    assert full == SelectionSettings(model_selection.DATASETS["s40"], seed=7)
    assert model_selection.protocol(resolve_with(held_out="50")).n_held_out == 50
    quick = model_selection.protocol(resolve_with())
    assert quick.dataset == full.dataset._replace(
        n_topics=10, n_words=5000, candidates=(5, 8, 9, 10, 11, 12, 20, 40)
    )
    assert max(quick.training_sizes) < max(full.training_sizes)


def resolve_with(**given: str) -> ReproduceSettings:
    return resolve(ReproduceSettings, "reproduce", given, {})


# --- going on -------------------------------------------------------------------------------------


def test_interrupted_it_goes_on_where_it_was(
    quick: None, no_pictures: None, tmp_path: Path
) -> None:
    argv = ("buntine-model-selection", "--seed", 5, "--json")
    whole = reproduced(*argv, "--output", "whole", cwd=tmp_path).result
    ResultCache().clear()
    done: list[tuple[int, int]] = []

    def until_the_third(drawn: object, n_train: int, n_topics: int, n_jobs: int) -> Cell:
        if len(done) == 3:
            raise Interrupted(15)
        done.append((n_train, n_topics))
        return cell(drawn, n_train, n_topics, n_jobs)  # type: ignore[arg-type]

    with mock.patch.object(model_selection, "cell", until_the_third):
        outcome = call("reproduce", *argv, "--output", "parts", cwd=tmp_path)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err
        assert not (tmp_path / "parts" / f"{whole['name']}.json").exists()
    with mock.patch.object(model_selection, "cell", wraps=cell) as rest:
        again = reproduced(*argv, "--output", "parts", cwd=tmp_path).result
    assert [each.args[1:3] for each in rest.call_args_list] == planned(SMALL)[3:]
    for name in ("rows", "chosen", "true_perplexity"):
        assert without_seconds(again[name]) == without_seconds(whole[name])
    with mock.patch.object(model_selection, "cell", wraps=cell) as none:
        reproduced(*argv, "--output", "parts", cwd=tmp_path)
        assert not none.called
        reproduced(*argv, "--output", "parts", "--held-out", 21, cwd=tmp_path)
        assert none.call_count == len(planned(SMALL))  # those of other settings are of no use


def test_a_cell_comes_back_to_the_bit() -> None:
    found = cell(problem(SMALL), 40, 2)
    cache = ResultCache()
    cache.put("kind", "key", found.to_arrays())
    again = cache.get("kind", "key", Cell.from_arrays)
    assert again is not None
    assert (again.n_train, again.n_topics, again.seconds) == (40, 2, found.seconds)
    assert (again.bounds == found.bounds).all()
    assert list(again.estimates) == list(found.estimates)
    for name, estimate in found.estimates.items():
        for field, value in vars(estimate).items():
            np.testing.assert_array_equal(getattr(again.estimates[name], field), value)


def test_what_cells_depend_on() -> None:
    first = cells_of(ResultCache(), SMALL)
    assert cells_of(ResultCache(), replace(SMALL, training_sizes=(7,))).key == first.key
    others = (
        {"seed": 9},
        {"n_held_out": 21},
        {"n_sweeps": 11},
        {"dataset": Dataset(3, 61, (2, 3))},
    )
    keys = {cells_of(ResultCache(), replace(SMALL, **each)).key for each in others}  # type: ignore[arg-type]
    assert len(keys - {first.key}) == len(others)
