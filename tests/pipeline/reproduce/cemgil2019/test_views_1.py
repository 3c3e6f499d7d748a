from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure

import pipeline.reproduce.run as command
from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce.cemgil2019 import histogram_view as bam_histogram
from pipeline.reproduce.cemgil2019 import parafac_cost as costs
from pipeline.reproduce.cemgil2019 import parafac_view as bam_parafac
from pipeline.reproduce.cemgil2019 import toy_view as bam_toy
from pipeline.reproduce.cemgil2019.histogram import Histogram, HistogramSettings
from pipeline.reproduce.cemgil2019.parafac import RankCurves, RankSettings
from pipeline.reproduce.cemgil2019.parafac_cost import CostCurves, CostSettings
from pipeline.reproduce.cemgil2019.rank_scores_view import cached_scores
from pipeline.reproduce.cemgil2019.scores import SORTED, WITH_MOVES, Effort
from pipeline.reproduce.cemgil2019.toy import (
    BY_PARTICLES,
    MATRICES,
    METHODS,
    Cell,
    ToyComparison,
    ToySettings,
)
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import failing
from tests.pipeline.support import Outcome, call

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

BAM_EXPERIMENTS = ("bam-toy", "bam-histogram", "bam-parafac")
SMALL_TOY = ToySettings(a=(1.0,), ranks=(1, 2), effort=Effort(30, 4, 2))
SMALL_RANKS = RankSettings(
    shape=(3, 4, 5),
    true_rank=2,
    n_tokens=12,
    ranks=(1, 2, 3),
    n_tensors=2,
    effort=Effort(20, 3, 2, 3),
)
SMALL_COSTS = CostSettings(sizes=(4, 8), n_tokens=10, n_tensors=1, n_particles=20)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    monkeypatch.setattr(
        bam_toy, "protocol", lambda settings: replace(SMALL_TOY, seed=settings.seed)
    )
    monkeypatch.setattr(
        bam_parafac,
        "protocol",
        lambda settings: (
            replace(SMALL_RANKS, seed=settings.seed),
            replace(SMALL_COSTS, seed=settings.seed),
        ),
    )
    monkeypatch.setattr(bam_histogram, "HistogramSettings", lambda: HistogramSettings(rank=2))


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def reproduced(*argv: object, cwd: Path, threads: int = 1) -> Outcome:
    outcome = call("reproduce", *argv, "--threads", threads, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", BAM_EXPERIMENTS)
def test_what_is_printed(
    experiment: str,
    quick: None,
    no_pictures: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = reproduced(experiment, "--json", cwd=tmp_path).result
    directory = tmp_path / "reproduce" / experiment
    assert (result["experiment"], result["name"], result["seed"]) == (experiment, experiment, 0)
    assert json.loads((directory / f"{experiment}.json").read_text()) == result
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    assert len(result["findings"]) >= 5
    for each in result["findings"]:
        (line,) = [line for line in lines if line.startswith(f"{each['claim']}: ")]
        assert line.endswith(": yes") == (not each["fails_at"])


def test_rows_of_the_toy_experiment(quick: None, no_pictures: None, tmp_path: Path) -> None:
    result = reproduced("bam-toy", "--json", "--seed", 3, cwd=tmp_path).result
    assert len(result["rows"]) == 2 * 2
    for row in result["rows"]:
        assert row["exact"] == pytest.approx(row["published"]["exact"], abs=1e-8)
        for method in BY_PARTICLES:
            assert row["error"][method] == row[method] - row["exact"]
            assert (row["t"][method] is None) == (row["rank"] == 1)
        assert row["vb"] <= row["exact"] + 1e-9
    for matrix in MATRICES:
        rows = [row for row in result["rows"] if (row["matrix"], row["a"]) == (matrix, 1.0)]
        for method in METHODS:
            assert np.exp([row["log_odds"][method] for row in rows]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "experiment", ["bam-toy", pytest.param("bam-parafac", marks=pytest.mark.slow)]
)
def test_the_same_rows_for_a_seed_whatever_the_threads(
    experiment: str, quick: None, no_pictures: None, tmp_path: Path
) -> None:
    def rows(seed: int, threads: int) -> object:
        where = ("--output", f"{seed}-{threads}")
        argv = (experiment, "--seed", seed, "--json", *where)
        ResultCache().clear()
        return reproduced(*argv, cwd=tmp_path, threads=threads).result["rows"]

    first = rows(1, 1)
    assert first == rows(1, 3)
    assert first != rows(2, 1)


def test_histogram_of_the_paper(no_pictures: None, tmp_path: Path) -> None:
    result = reproduced("bam-histogram", "--json", cwd=tmp_path).result
    assert result["allocations"] == 8748
    assert not any(each["fails_at"] for each in result["findings"])
    assert sum(level["allocations"] for level in result["levels"]) == 8748


@pytest.mark.parametrize(
    "experiment", [pytest.param("bam-toy", marks=pytest.mark.slow), *BAM_EXPERIMENTS[1:]]
)
def test_what_pictures_show(experiment: str, quick: None, tmp_path: Path) -> None:
    declared = command.EXPERIMENTS[experiment]
    found = declared.run(ReproduceSettings(threads=1), ResultCache())
    n_panels = {
        "bam-toy-X1": 3 * 2,
        "bam-toy-X2": 3 * 2,
        "bam-histogram": 7,
        "bam-parafac-rank": 2,
        "bam-parafac-cost": 1,
    }
    drawn = declared.draw(found)
    assert list(drawn) == [name for name in n_panels if name.startswith(experiment)]
    for name, draw in drawn.items():
        figure = Figure()
        draw(figure)
        shown = [axes for axes in figure.axes if axes.axison]
        assert len(shown) == n_panels[name]
        assert all(axes.has_data() for axes in shown)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", BAM_EXPERIMENTS)
def test_pictures_are_written(experiment: str, quick: None, tmp_path: Path) -> None:
    result = reproduced(experiment, "--json", cwd=tmp_path).result
    assert len(result["pictures"]) == (2 if experiment == "bam-histogram" else 4)
    for name in result["pictures"]:
        content = (tmp_path / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


# --- findings -------------------------------------------------------------------------------------


def toy(change: dict[str, float], noise: float = 0.01) -> ToyComparison:
    """At the published figures, but for changes to X1 at K = 2 of some methods."""
    settings = ToySettings(a=(0.1, 1.0))
    shape = (2, 2, 4)
    blank = ToyComparison(
        settings,
        {m: np.zeros(shape) for m in METHODS},
        {m: np.zeros(shape) for m in BY_PARTICLES},
        {m: np.zeros((*shape, 100)) for m in BY_PARTICLES},
    )
    marginal = {method: values.copy() for method, values in blank.published.items()}
    marginal |= {m: marginal["exact"].copy() for m in BY_PARTICLES}
    for method, by in change.items():
        marginal[method][0, :, 1] += by
    ratio = 1 + noise * np.resize([1.0, -1.0], 100)
    repeats = {m: marginal[m][..., None] + np.log(ratio) for m in BY_PARTICLES}
    errors = {m: np.full(shape, 0.1 * noise) for m in BY_PARTICLES}
    return ToyComparison(settings, marginal, errors, repeats)


def test_findings_of_the_toy_experiment() -> None:
    # VB of X2 prefers K = 2, where exact prefers 3 and 4: so it is published.
    vb_of_2 = ["X2 a = 0.1 (K = 2 for 3)", "X2 a = 1 (K = 2 for 4)"]
    good = failing(bam_toy.EXPERIMENT, toy({}))
    assert list(good.values()) == [vb_of_2]
    low = failing(bam_toy.EXPERIMENT, toy({"smc": -2.0}))
    assert (
        "X1 a = 0.1 (K = 1 for 2, by 1.4 ± 0.0014)" in low["SMC: prefers the rank that exact does"]
    )
    assert len(low["SMC: where not, by less than 2.58 standard errors"]) == 2
    assert low["SMC: within 0.02 nats of exact from a = 0.1 on"] == [
        f"X1 a = {a} K = 2 (-2.000 ± 0.001)" for a in (0.1, 1)
    ]
    (t,) = [claim for claim in low if "p / exact is 1" in claim]
    assert t.startswith("SMC: ")
    assert "in all 16 that vary" in t
    other = failing(bam_toy.EXPERIMENT, toy({SORTED: -2.0}))
    assert len(other["SMC, sorted order: within 0.02 nats of exact from a = 0.1 on"]) == 2
    assert not any(claim.startswith("SMC:") for claim in other)
    assert len(low[t]) == 2
    vb = failing(bam_toy.EXPERIMENT, toy({"vb": 9.0}))
    assert vb["VB is below exact"] == ["X1 a = 0.1 K = 2", "X1 a = 1 K = 2"]
    assert vb["VB prefers another rank for X1 up to a = 1"] == ["X1 a = 0.1", "X1 a = 1"]
    worse = failing(bam_toy.EXPERIMENT, toy({"vb": -1e-4}))
    assert len(worse["VB is at least as high as published, to 1e-6 nats"]) == 2
    wrong = failing(bam_toy.EXPERIMENT, toy({"exact": 1e-6}))
    assert wrong["exact is as published, to 1e-8 nats"] == ["X1 a = 0.1 K = 2", "X1 a = 1 K = 2"]


def test_findings_of_the_histogram() -> None:
    rng = np.random.default_rng(0)
    settings = HistogramSettings(a=(1e-2, 1e-4))
    found = Histogram(settings, rng.normal(-9, 1, (2, 50)), rng.integers(3, 9, 50), np.zeros(2))
    failed = failing(bam_histogram.EXPERIMENT, found)
    assert len(failed) >= 4
    assert all("a = 0.0001" in at for at in failed.values())


def parafac(smc: list[list[float]], vb: list[list[float]], seconds: list[float]) -> Any:
    """Two tensors at three ranks, of which the second is the true one; two sizes."""
    repeats = np.array(smc)[..., None] + np.array([-0.4, 0.0, 0.4])
    of_ranks = RankCurves(
        SMALL_RANKS,
        {"smc": np.array(smc), WITH_MOVES: np.full((2, 3), [0.0, 2.0, 1.0]), "vb": np.array(vb)},
        {"smc": np.ones((2, 3)), WITH_MOVES: np.ones((2, 3))},
        {"smc": repeats, WITH_MOVES: np.full((2, 3, 3), [[0.0], [2.0], [1.0]])},
    )
    each = np.array(seconds)[:, None]
    sizes = replace(SMALL_COSTS, sizes=(8, 64))
    of_costs = CostCurves(sizes, {"smc": each, "vb": each}, each + 3, each + 20)
    return bam_parafac.Curves(of_ranks, of_costs)


def test_findings_of_parafac() -> None:
    good = parafac([[-9.0, -3.0, -4.0]] * 2, [[-9.0, -3.5, -6.0]] * 2, [1.0, 1.1])
    assert list(failing(bam_parafac.EXPERIMENT, good).values()) == [["64³ (+10%)"]]
    bad = parafac([[-2.0, -3.0, -4.0], [-9.0, -3.0, -4.0]], [[-9.0, -8.0, -4.0]] * 2, [1.0, 1.5])
    result = bam_parafac.as_json(bad)
    failed = failing(bam_parafac.EXPERIMENT, bad)
    assert failed["SMC is highest at the true R = 2, in 1 of 2 tensors"] == ["tensor 0 (R = 1)"]
    assert failed["SMC has no other rank above R = 2 by every run above every run"] == [
        "tensor 0 (R = 1)"
    ]
    assert len(failed["VB is highest at the true R = 2, in 0 of 2 tensors"]) == 2
    assert failed["SMC takes as long on larger tensors as on 8³, to 20%"] == ["64³ (+50%)"]
    assert len(failed["VB falls below SMC by more at the highest rank than at the true one"]) == 2
    assert [each["smc_above_truth"] for each in result["found"]] == [1.0, 0.0]
    low = parafac([[-9.0, -3.0, -4.0]] * 2, [[-8.5, -3.5, -6.0]] * 2, [1.0, 1.0])
    (at,) = [at for claim, at in failing(bam_parafac.EXPERIMENT, low).items() if "bound" in claim]
    assert at == ["tensor 0 R = 1 (by 0.5 nats)", "tensor 1 R = 1 (by 0.5 nats)"]


# --- what is kept ---------------------------------------------------------------------------------


def n_cached() -> int:
    return len(list(ResultCache().directory.glob("experiment-*/*.npz")))


@pytest.mark.parametrize(
    ("experiment", "called"),
    [
        ("bam-toy", "estimate"),
        pytest.param("bam-parafac", "costs.measured", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(
    experiment: str,
    called: str,
    quick: None,
    no_pictures: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = reproduced(experiment, "--output", "whole", "--json", cwd=tmp_path).result
    ResultCache().clear()
    module: Any = bam_toy if experiment == "bam-toy" else costs
    function = getattr(module, called.rsplit(".", maxsplit=1)[-1])
    calls: list[object] = []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 3:
            raise Interrupted(2)
        return function(*arguments)

    monkeypatch.setattr(module, function.__name__, interrupted)
    assert call("reproduce", experiment, "--threads", 1, cwd=tmp_path).code == 130
    n_kept = n_cached()
    assert n_kept > 0
    calls.clear()

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(module, function.__name__, counted)
    again = reproduced(experiment, "--json", cwd=tmp_path).result
    n_all = n_cached()
    assert len(calls) == n_all - n_kept
    assert again["rows"] == whole["rows"]
    calls.clear()
    reproduced(experiment, cwd=tmp_path)
    assert not calls


def test_damaged_results_are_computed_again(quick: None, no_pictures: None, tmp_path: Path) -> None:
    first = reproduced("bam-toy", "--json", cwd=tmp_path).result
    path = max(ResultCache().directory.glob("experiment-bam-toy/*.npz"))
    data = path.read_bytes()
    for damaged in (data[:50], data[: len(data) // 2], b""):
        path.write_bytes(damaged)
        assert reproduced("bam-toy", "--json", cwd=tmp_path).result == first
        assert path.stat().st_size > 50  # whole again, though its seconds are others


def test_longer_lists_go_on_with_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []

    def made_up(cell: Cell, settings: ToySettings, n_jobs: int | None) -> MarginalEstimate:
        calls.append((cell, n_jobs))
        repeats = np.full(settings.effort.n_repeats, -1.0)
        return MarginalEstimate(-1.0, 0.0, cell.method, "exact", 9, repeats)

    def run(settings: ToySettings) -> int:
        monkeypatch.setattr(bam_toy, "protocol", lambda _: settings)
        bam_toy.run(ReproduceSettings(threads=1), ResultCache())
        n_calls = len(calls)
        calls.clear()
        return n_calls

    monkeypatch.setattr(bam_toy, "estimate", made_up)
    longer = replace(SMALL_TOY, a=(1.0, 10.0), ranks=(1, 2, 3))
    n_cells = len(SMALL_TOY.cells)
    assert run(SMALL_TOY) == n_cells
    assert run(longer) == len(longer.cells) - n_cells
    assert run(SMALL_TOY) == 0
    for effort in (Effort(30, 5, 2), Effort(31, 4, 2), Effort(30, 4, 3)):
        assert run(replace(SMALL_TOY, effort=effort)) == n_cells
    assert run(replace(SMALL_TOY, seed=1)) == n_cells


def test_estimates_come_back_as_they_were() -> None:
    path = ParticlePath(np.arange(1, 4), np.ones((2, 3)) / 3, np.arange(6).reshape(2, 3))
    given = {
        "smc": MarginalEstimate(-0.1, 0.3, "smc", "unbiased", 3, np.array([-0.1, -0.7]), 5, path),
        "vb": MarginalEstimate(-1 / 3, 0.0, "vb", "lower bound", 3, np.array([-1 / 3])),
        "one": MarginalEstimate(-np.inf, np.nan, "smc", "unbiased", 3, np.array([-np.inf]), 5),
    }

    def never() -> MarginalEstimate:
        raise AssertionError("it is cached")

    def of(value: MarginalEstimate) -> Any:
        return lambda: value

    group = ResultCache().group("kind", seed=1)
    first = cached_scores(group, {name: of(value) for name, value in given.items()}, stage="x")
    again = cached_scores(group, dict.fromkeys(given, never), stage="x")
    for name, value in given.items():
        found = again[name].estimate
        assert again[name].seconds == first[name].seconds
        for field, wanted in vars(value).items():
            if field != "path":
                np.testing.assert_array_equal(getattr(found, field), wanted)
                assert type(getattr(found, field)) is type(wanted)
        assert (found.path is None) == (value.path is None)
    read = again["smc"].estimate.path
    assert read is not None
    for field, wanted in vars(path).items():
        np.testing.assert_array_equal(getattr(read, field), wanted)
