from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from evaluation.allocation.exact import exact
from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal
from evaluation.allocation.simulate import draw
from models.allocation.cell_counts import CellCounts
from models.allocation.mean_field.coordinate_ascent import MeanField
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_total_probability
from pipeline.reproduce.cemgil2019 import parafac as ranks
from pipeline.reproduce.cemgil2019 import parafac_cost as costs
from pipeline.reproduce.cemgil2019.histogram import all_allocations, log_allocations
from pipeline.reproduce.cemgil2019.parafac import (
    RankCurves,
    RankSettings,
    drawn_tensor,
    rank_curves,
)
from pipeline.reproduce.cemgil2019.parafac_cost import Cost, CostSettings, cost_curves, measured
from pipeline.reproduce.cemgil2019.scores import WITH_MOVES, Effort

SMALL = RankSettings(
    shape=(3, 4, 5),
    true_rank=2,
    n_tokens=12,
    ranks=(1, 2, 3),
    n_tensors=2,
    effort=Effort(20, 3, 2, 4),
    seed=5,
)
SMALL_COSTS = CostSettings(sizes=(2, 8), n_tokens=20, n_tensors=2, n_particles=20, seed=5)
LEAST_P = 1e-4
"""A test of a right law fails once in 10,000 seeds; the seed is fixed."""
OFTEN = pytest.mark.parametrize("n", [250, pytest.param(5000, marks=pytest.mark.slow)])


# --- draws from a model ---------------------------------------------------------------------------


def drawn_often(model: AllocationModel, n_tokens: int, n: int, *, whole: bool) -> dict[bytes, int]:
    """How often each tensor comes, over all indices or the visible ones."""
    rng = np.random.default_rng(0)
    found: dict[bytes, int] = {}
    for _ in range(n):
        key = draw(model, n_tokens, rng)[int(whole)].dense().tobytes()
        found[key] = found.get(key, 0) + 1
    return found


def p_value(found: dict[bytes, int], law: dict[bytes, float]) -> float:
    """Of the law, cells of fewer than five expected taken together."""
    assert set(found) <= set(law)
    n = sum(found.values())
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    expected = np.array([n * share for share in law.values()])
    seen = np.array([found.get(key, 0) for key in law])
    is_rare = expected < 5
    parts = [np.append(each[~is_rare], each[is_rare].sum() or 0) for each in (seen, expected)]
    if parts[1][-1] == 0:
        parts = [each[:-1] for each in parts]
    return float(chisquare(parts[0], parts[1]).pvalue)


def law_of_allocations(model: AllocationModel, n_tokens: int) -> dict[bytes, float]:
    """π(S) given S₊, by eq. 3.11, of every tensor over all indices."""
    complete = model.fully_visible()
    shape = (1, *complete.shape)
    one_cell = AllocationModel(
        {"all": (), **complete.parents},
        {"all": 1, **complete.cardinalities},
        ("all",),
    )
    X = CellCounts([[0]], [n_tokens], (1,))  # type: ignore[arg-type]
    tensors = all_allocations(one_cell, X).reshape(-1, *shape[1:])
    log_p = log_allocations(complete, tensors) - log_total_probability(complete, n_tokens)
    return {tensor.tobytes(): float(p) for tensor, p in zip(tensors, np.exp(log_p), strict=True)}


@pytest.mark.parametrize(
    "model",
    [
        AllocationModel.nmf(2, 2, 2, 1.5),
        AllocationModel(  # parents after their children, and a prior of its own
            {"s": ("x", "y"), "x": (), "y": ()},
            {"s": 2, "x": 2, "y": 2},
            ("y", "s"),
            a=2.0,
            b=1.0,
            prior={
                "s": [[[0.3, 0.0], [1.0, 2.0]], [[0.5, 0.5], [1.0, 4.0]]],
                "x": [1, 2],
                "y": [3, 1],
            },
        ),
    ],
)
@OFTEN
def test_draws_have_the_law_of_allocations(model: AllocationModel, n: int) -> None:
    found = drawn_often(model, 2, n, whole=True)
    law = law_of_allocations(model, 2)
    assert p_value(found, law) > LEAST_P
    wrong = law_of_allocations(AllocationModel.nmf(2, 2, 2, 30.0), 2)
    if model.prior is None:
        assert p_value(found, wrong) < LEAST_P


@OFTEN
def test_tied_tables_are_drawn_once(n: int) -> None:
    """One token of X ~ W Wᵀ: the two indices are more often the same than by two tables."""

    def law(model: AllocationModel) -> dict[bytes, float]:
        tensors = [np.eye(1, 9, n, dtype=np.int64).reshape(3, 3) for n in range(9)]
        total = log_total_probability(model, 1)
        scores = [exact(model, CellCounts.of(X, model)).log_marginal - total for X in tensors]
        return {X.tobytes(): float(np.exp(s)) for X, s in zip(tensors, scores, strict=True)}

    model = AllocationModel.symmetric_nmf(3, 2, 1.0)
    found = drawn_often(model, 1, n, whole=False)
    assert p_value(found, law(model)) > LEAST_P
    assert p_value(found, law(AllocationModel.nmf(3, 3, 2, 1.0))) < LEAST_P


def test_counts_are_a_marginal_of_their_allocation() -> None:
    model = AllocationModel(
        {"j": ("k",), "k": ("i",), "i": ()}, {"i": 3, "j": 5, "k": 2}, ("i", "j"), a=3.0
    )
    X, S = draw(model, 40, np.random.default_rng(3))
    assert X.n_tokens == S.n_tokens == 40
    assert (X.shape, S.shape) == ((3, 5), (5, 2, 3))
    assert (X.dense() == S.dense().sum(axis=1).T).all()
    again, _ = draw(model, 40, np.random.default_rng(3))
    assert (again.cells == X.cells).all()
    empty, nothing = draw(model, 0, np.random.default_rng(3))
    assert empty.n_tokens == nothing.n_tokens == 0


def test_a_table_larger_than_memory_is_never_made() -> None:
    model = AllocationModel.complete((1000,) * 6, a=1e9)
    X, S = draw(model, 30, np.random.default_rng(0))
    assert (X.cells == S.cells).all()
    assert len(X.counts) == 30


def test_bad_draws() -> None:
    model = AllocationModel.nmf(2, 2, 2)
    with pytest.raises(ValueError, match="n_tokens must be at least 0, found -1"):
        draw(model, -1, np.random.default_rng(0))
    for bad in (2.5, True):
        with pytest.raises(TypeError, match="n_tokens must be a whole number"):
            draw(model, bad, np.random.default_rng(0))  # type: ignore[arg-type]
    prior = {"k": [1.0, 0.0], "i": [[0.0, 0.0], [1.0, 1.0]]}
    no_value = AllocationModel({"k": (), "i": ("k",)}, {"k": 2, "i": 2}, ("i",), prior=prior)
    with pytest.raises(ValueError, match="'i' has no positive pseudo-count at"):
        draw(no_value, 3, np.random.default_rng(0))


# --- ranks ----------------------------------------------------------------------------------------


def test_tensors_do_not_depend_on_how_many_there_are() -> None:
    first, second = (drawn_tensor(SMALL, tensor) for tensor in (0, 1))
    again = drawn_tensor(replace(SMALL, n_tensors=9, ranks=(2, 7), effort=Effort(3)), 1)
    assert (again.cells == second.cells).all()
    assert (first.shape, first.n_tokens) == ((3, 4, 5), 12)
    other = drawn_tensor(replace(SMALL, seed=6), 1)
    assert other.cells.tolist() != second.cells.tolist() != first.cells.tolist()


def test_a_cell_depends_on_its_own_settings_alone() -> None:
    X = drawn_tensor(SMALL, 0)
    for method in ranks.METHODS:
        cell = ranks.Cell(0, 3, method)
        found = ranks.estimate(cell, X, SMALL).repeats
        other = replace(SMALL, ranks=(2, 3, 9), n_tensors=1)
        assert (ranks.estimate(cell, X, other, n_jobs=2).repeats == found).all()
        assert (ranks.estimate(cell, X, replace(SMALL, seed=1)).repeats != found).any()
        assert (ranks.estimate(cell._replace(tensor=1), X, SMALL).repeats != found).any()


def made_up(smc: list[list[float]], vb: list[list[float]], width: float) -> RankCurves:
    """Runs of SMC at and `width` above and below each value."""
    scores = {}
    for cell in SMALL.cells:
        value = (vb if cell.method == "vb" else smc)[cell.tensor][cell.rank - 1]
        value += cell.method == WITH_MOVES  # one nat more
        repeats = value + width * np.array([-1.0, 0.0, 1.0])
        estimate = MarginalEstimate(value, 0.1 * cell.rank, cell.method, "unbiased", 12, repeats)
        scores[cell] = TimedMarginal(estimate, 1.0)
    return rank_curves(SMALL, scores)


def test_ranks_by_hand() -> None:
    smc, vb = [[-9.0, -5.0, -3.0], [-9.0, -4.0, -4.5]], [[-9.0, -7.0, -8.0], [-8.0, -8.5, -9.0]]
    found = made_up(smc, vb, 0.5)
    assert found.found_rank("smc").tolist() == [3, 2]
    assert found.found_rank("vb").tolist() == [2, 1]
    assert found.above_truth("smc").tolist() == [2.0, 0.0]
    assert found.above_truth("vb").tolist() == [0.0, 0.5]
    assert found.is_told_apart("smc").tolist() == [True, False]
    assert made_up(smc, vb, 1.5).is_told_apart("smc").tolist() == [False, False]
    assert found.spread(WITH_MOVES).tolist() == [1.0, 1.0]
    assert found.gap("smc").tolist() == [[0.0, 2.0, 5.0], [-1.0, 4.5, 4.5]]
    assert found.gap(WITH_MOVES).tolist() == [[1.0, 3.0, 6.0], [0.0, 5.5, 5.5]]
    assert found.standard_error["smc"][1].tolist() == pytest.approx([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="not those of the settings"):
        rank_curves(SMALL, {})


def test_a_rank_that_is_plain_is_found() -> None:
    """Many tokens of a tensor of two blocks: both methods see that one is too few."""
    settings = replace(SMALL, effort=Effort(200, 3, 2, 4))
    X = CellCounts([[0, 0, 0], [2, 3, 4]], [6, 6], settings.shape)  # type: ignore[arg-type]
    for method in ranks.METHODS:
        one, two = (
            ranks.estimate(ranks.Cell(0, rank, method), X, replace(settings, a=0.5)).log_marginal
            for rank in (1, 2)
        )
        assert two > one + 3


@pytest.mark.parametrize(
    "bad",
    [
        {"true_rank": 0},
        {"n_tokens": 0},
        {"n_tensors": 0},
        {"ranks": (1, 2)},
        {"ranks": (0, 5)},
    ],
)
def test_bad_rank_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RankSettings(**bad)  # type: ignore[arg-type]


# --- costs ----------------------------------------------------------------------------------------


def test_what_is_measured() -> None:
    cell = costs.Cell(8, 1, "vb")
    model = SMALL_COSTS.model(8)
    X, _ = draw(model, 20, np.random.default_rng([5, costs.DRAWING, 8, 1]))
    vb = measured(cell, SMALL_COSTS)
    assert vb.n_cells == len(X.counts) == measured(cell._replace(method="smc"), SMALL_COSTS).n_cells
    assert 1 < vb.n_epochs <= 1000
    assert measured(cell, SMALL_COSTS).n_epochs == vb.n_epochs
    assert measured(cell._replace(method="smc"), SMALL_COSTS).n_epochs == 1
    assert 0 < vb.seconds < 10


def test_work_follows_cells_that_are_not_empty() -> None:
    """What VB holds is of the rows that occur: no more for a tensor of 4096 times the cells."""
    held = []
    for size in (16, 256):
        X, _ = draw(SMALL_COSTS.model(size), 20, np.random.default_rng(0))
        field = MeanField.of(SMALL_COSTS.model(size), X, "vb")
        held.append(field.plan.n_state)
        assert field.plan.n_state <= SMALL_COSTS.rank * (1 + 3 * 20)
    assert held[1] < 2 * held[0]


def test_costs_by_hand() -> None:
    given = {
        cell: Cost(cell.size + cell.tensor + 10.0 * (cell.method == "vb"), 7 + cell.tensor, n)
        for n, cell in enumerate(SMALL_COSTS.cells)
    }
    found = cost_curves(SMALL_COSTS, given)
    assert found.seconds["smc"].tolist() == [[2, 3], [8, 9]]
    assert found.median_seconds("vb").tolist() == [12.5, 18.5]
    assert found.n_cells.tolist() == [[7, 8], [7, 8]]
    assert found.n_epochs.tolist() == [[1, 5], [3, 7]]
    assert found.median_epoch_seconds[1] == pytest.approx((18 / 3 + 19 / 7) / 2)
    with pytest.raises(ValueError, match="not those of the settings"):
        cost_curves(SMALL_COSTS, {})


@pytest.mark.parametrize(
    "bad", [{"n_tokens": 0}, {"rank": 0}, {"n_tensors": 0}, {"n_particles": 1}, {"sizes": (0,)}]
)
def test_bad_cost_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        CostSettings(**bad)  # type: ignore[arg-type]


def test_the_paper_has_these_settings() -> None:
    of_ranks, of_costs = RankSettings(), CostSettings()
    assert (of_ranks.shape, of_ranks.true_rank) == ((20, 25, 30), 5)
    assert (of_ranks.n_tokens, of_ranks.a, of_ranks.ranks[-1]) == (500, 30.0, 15)
    assert (of_costs.n_tokens, of_costs.n_tensors) == (1000, 10)
    assert {4, 8, 16, 32, 64} < set(of_costs.sizes)
