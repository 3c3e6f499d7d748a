from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal, timed
from models.allocation.model import AllocationModel
from pipeline.reproduce.cemgil2019 import scores as bam_scores
from pipeline.reproduce.cemgil2019.published import LOG_MARGINAL, RANKS, A
from pipeline.reproduce.cemgil2019.scores import (
    SORTED,
    WITH_MOVES,
    Effort,
    cell_seed,
)
from pipeline.reproduce.cemgil2019.toy import (
    BY_PARTICLES,
    MATRICES,
    METHODS,
    PUBLISHED,
    Cell,
    ToyComparison,
    ToySettings,
    comparison,
    estimate,
    log_odds,
)
from tests.shared_data import shared_file

SMALL = ToySettings(a=(0.1, 1.0), ranks=(1, 2), effort=Effort(50, 30, 2), seed=1)


def scored(settings: ToySettings) -> dict[Cell, TimedMarginal]:
    return {cell: timed(lambda cell=cell: estimate(cell, settings)) for cell in settings.cells}


@pytest.mark.shared
@pytest.mark.parametrize(("matrix", "number"), [("X1", ""), ("X2", "2")])
def test_published_figures_are_those_of_the_authors(matrix: str, number: str) -> None:
    path = shared_file(f"published/bam_published_marginal_lkhd{number}.json")
    table = json.loads(path.read_text())
    assert (np.array(table["X"]) == MATRICES[matrix]).all()
    assert tuple(table["K"]) == RANKS
    assert table["a"] == pytest.approx(A)
    for method in PUBLISHED:
        published = np.array(LOG_MARGINAL[matrix][method])
        assert published.shape == (len(A), len(RANKS))
        np.testing.assert_allclose(published, table[f"log_PX_{method}"], rtol=0, atol=1e-11)


def test_exact_is_as_published() -> None:
    for matrix, a, rank in (("X1", 1e-5, 2), ("X1", 1.0, 3), ("X2", 100.0, 2)):
        found = estimate(Cell(matrix, a, rank, "exact"), SMALL)
        published = LOG_MARGINAL[matrix]["exact"][A.index(a)][RANKS.index(rank)]
        assert found.log_marginal == pytest.approx(published, abs=1e-8)


def test_a_cell_depends_on_its_own_settings_alone() -> None:
    other = replace(SMALL, a=(1.0, 10.0, 100.0), ranks=(2, 3))
    for method in (*BY_PARTICLES, "vb"):
        cell = Cell("X1", 1.0, 2, method)
        first = estimate(cell, SMALL).repeats
        assert (estimate(cell, other, n_jobs=2).repeats == first).all()
        assert (estimate(cell, replace(SMALL, seed=2)).repeats != first).any()
        assert (estimate(cell._replace(rank=3), SMALL).repeats != first).any()
    cells = ToySettings().cells
    assert len({cell_seed(0, cell.name) for cell in cells}) == len(cells)


@pytest.mark.parametrize("method", BY_PARTICLES)
def test_smc_of_a_small_matrix_is_unbiased(method: str) -> None:
    """One cell, four standard errors; a tenth more than the truth is seen."""
    settings = replace(SMALL, a=(1.0,), ranks=(2,), effort=Effort(100, 100, 2))
    found = comparison(settings, scored(settings))
    assert np.abs(found.ratio_t(method)).max() < 4
    marginal = {**found.log_marginal, "exact": found.log_marginal["exact"] - np.log(1.1)}
    shifted = replace(found, log_marginal=marginal)
    assert shifted.ratio_t(method).min() > 4


def test_sorted_order_varies_less() -> None:
    """At 50 particles and a = .1; a deviation of 150 runs is known to a tenth or so."""
    settings = replace(SMALL, a=(0.1,), ranks=(3,), effort=Effort(50, 150, 2))
    cells = {method: Cell("X1", 0.1, 3, method) for method in BY_PARTICLES}
    ratio = {
        method: np.exp(estimate(cell, settings).repeats - LOG_MARGINAL["X1"]["exact"][4][2])
        for method, cell in cells.items()
    }
    assert ratio[SORTED].std() < 0.6 * ratio["smc"].std()


def test_arrays_are_those_of_the_cells() -> None:
    scores = scored(SMALL)
    found = comparison(SMALL, scores)
    for method in METHODS:
        for cell in (each for each in SMALL.cells if each.method == method):
            at = list(MATRICES).index(cell.matrix), SMALL.a.index(cell.a), cell.rank - 1
            assert found.log_marginal[method][at] == scores[cell].estimate.log_marginal
            if method in PUBLISHED:
                published = LOG_MARGINAL[cell.matrix][method][A.index(cell.a)][cell.rank - 1]
                assert found.published[method][at] == published
    # With one value there is nothing to sum over: no run differs, and VB is exact.
    for method in BY_PARTICLES:
        assert found.error(method).shape == found.standard_error[method].shape == (2, 2, 2)
        assert np.isnan(found.ratio_t(method)[..., 0]).all()
        assert np.isfinite(found.ratio_t(method)[..., 1]).all()
    for method in (*BY_PARTICLES, "vb"):
        np.testing.assert_allclose(
            found.log_marginal[method][..., 0], found.log_marginal["exact"][..., 0], atol=1e-9
        )
    assert (found.log_marginal["vb"] < found.log_marginal["exact"] + 1e-9).all()
    with pytest.raises(ValueError, match="not those of the settings"):
        comparison(replace(SMALL, a=(1.0,)), scores)


def made_up(smc: list[float], exact: list[float], error: list[float]) -> ToyComparison:
    """The same numbers for both matrices, at one a that nobody published."""
    settings = ToySettings(a=(0.5,), ranks=(1, 2, 3), effort=Effort(n_repeats=4))
    arrays = [np.broadcast_to(np.array(row), (2, 1, 3)) for row in (smc, exact, error)]
    marginal = {"smc": arrays[0], SORTED: arrays[1], "exact": arrays[1], "vb": arrays[1] - 1}
    repeats = arrays[1][..., None] + np.log(np.array([0.5, 1.0, 1.5, 2.0]))
    return ToyComparison(
        settings,
        marginal,
        {"smc": arrays[2], SORTED: arrays[2]},
        {"smc": repeats, SORTED: repeats + 1.0},
    )


def test_statistics_by_hand() -> None:
    found = made_up([-3.0, -2.0, -2.5], [-3.0, -2.2, -2.1], [0.0, 0.3, 0.4])
    assert found.error("smc")[0, 0].tolist() == pytest.approx([0.0, 0.2, -0.4])
    assert found.best_rank("smc").tolist() == [[2], [2]]
    assert found.best_rank("exact").tolist() == [[3], [3]]
    assert found.error(SORTED)[0, 0].tolist() == [0.0, 0.0, 0.0]
    assert found.gap(SORTED, 0, 0) == (0.0, 0.0)
    assert found.gap("smc", 0, 0) == pytest.approx((0.5, 0.5))
    deviation = np.std([0.5, 1.0, 1.5, 2.0], ddof=1)
    assert found.ratio_t(SORTED)[1, 0, 0] > found.ratio_t("smc")[1, 0, 0]
    assert found.ratio_t("smc")[1, 0].tolist() == pytest.approx([0.25 / (deviation / 2)] * 3)
    share = np.exp([-3.0, -2.0, -2.5])
    expected = np.log(share / share.sum())
    assert found.log_odds["smc"][0, 0].tolist() == pytest.approx(expected.tolist())
    assert np.isnan(found.published["smc"]).all()
    same = made_up([-3.0, -2.0, -2.5], [-3.0, -2.0, -2.1], [0.0, 0.3, 0.4])
    assert same.gap("smc", 1, 0) == (0.0, 0.0)


def test_the_error_of_log_odds_by_simulation() -> None:
    means, errors = np.array([-3.0, -2.0, -2.5]), np.array([0.001, 0.003, 0.004])
    found = made_up(means.tolist(), means.tolist(), errors.tolist())
    draws = np.random.default_rng(0).normal(means, errors, (20_000, 3))
    simulated = log_odds(draws).std(axis=0)
    # A standard deviation of 20,000 draws is known to half a percent.
    np.testing.assert_allclose(found.log_odds_standard_error("smc")[0, 0], simulated, rtol=0.025)


def test_what_is_timed() -> None:
    given = MarginalEstimate(-1.0, 0.0, "exact", "exact", 3, np.array([-1.0]))
    score = timed(lambda: given)
    assert score.estimate is given
    assert 0 <= score.seconds < 1


def test_the_paper_has_these_settings() -> None:
    settings = ToySettings()
    effort = settings.effort
    assert (effort.n_particles, effort.n_repeats, effort.n_starts) == (1000, 100, 100)
    assert [round(math.log10(a)) for a in settings.a] == list(range(-5, 6))
    assert len(settings.cells) == 2 * 11 * 4 * len(METHODS)


@pytest.mark.parametrize(
    "bad",
    [
        {"a": ()},
        {"a": (0.0,)},
        {"ranks": (0,)},
    ],
)
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ToySettings(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [{"n_particles": 1}, {"n_repeats": 1}, {"n_starts": 0}, {"n_moves": 0}]
)
def test_bad_effort(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Effort(**bad)


def test_smc_with_moves_has_fewer_particles() -> None:
    effort = Effort(n_particles=50, n_repeats=3, n_moves=7)
    assert effort.n_particles_with_moves == 5
    assert Effort(n_particles=2).n_particles_with_moves == 2
    model = AllocationModel.nmf(3, 4, 2, 1.0)
    found = bam_scores.estimate(model, MATRICES["X1"], WITH_MOVES, effort, 4)
    same = log_marginal(
        model,
        MATRICES["X1"],
        "smc",
        n_particles=5,
        n_repeats=3,
        n_moves=7,
        random_state=4,
    )
    assert (found.repeats == same.repeats).all()
    assert found.n_particles == 5
