"""Samples of letter pairs, and which of tied and untied factors explains them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.allocation.log_marginal import log_marginal
from pipeline.reproduce.cemgil2019.letters import (
    GRAPHS,
    NMF,
    SYMMETRIC,
    LettersSettings,
    asymmetry,
    draw_pairs,
    model_of,
    score,
)
from pipeline.reproduce.cemgil2019.rank_scores import SCORING, RankCell, planned
from pipeline.reproduce.cemgil2019.scores import Effort

SMALL = LettersSettings(n_tokens=60, ranks=(1, 2), effort=Effort(50, 3, 3, 5))


def test_the_sample_is_drawn_in_proportion() -> None:
    pairs = np.array([[8.0e11, 1.0e11], [1.0e11, 0.0]])
    X = draw_pairs(pairs, 10_000, 0)
    assert X.sum() == 10_000
    assert X[1, 1] == 0
    assert abs(X[0, 0] - 8000) < 4 * np.sqrt(10_000 * 0.8 * 0.2)
    assert abs(X[0, 1] - 1000) < 4 * np.sqrt(10_000 * 0.1 * 0.9)
    assert (draw_pairs(pairs, 10_000, 0) == X).all()
    assert (draw_pairs(pairs, 10_000, 1) != X).any()


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(4), "square"),
        (np.zeros((2, 2)), "not all zero"),
        (np.array([[1.0, -1.0], [1.0, 1.0]]), "none negative"),
        (np.array([[1.0, np.nan], [1.0, 1.0]]), "finite"),
    ],
)
def test_tables_that_cannot_be_drawn_from(pairs: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        draw_pairs(pairs, 10, 0)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n_tokens": 0}, "n_tokens"),
        ({"ranks": (0,)}, "ranks"),
        ({"ranks": ()}, "ranks"),
        ({"strengths": ()}, "strengths"),
        ({"strengths": (-1.0,)}, "strengths"),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(LettersSettings(), **changes)


def test_asymmetry() -> None:
    assert asymmetry(np.array([[5, 2], [2, 0]])) == 0
    assert asymmetry(np.array([[0, 2], [0, 0]])) == 1
    assert asymmetry(np.array([[4, 3], [1, 0]])) == pytest.approx(4 / 16)


def test_the_full_protocol_is_the_papers() -> None:
    full = LettersSettings()
    assert (full.n_tokens, full.strengths, full.ranks[0], full.ranks[-1]) == (
        2000,
        (1.0, 0.001),
        1,
        50,
    )
    assert len(full.cells) == len(set(full.cells)) == 2 * 2 * 3 * 50
    assert len({cell.name for cell in full.cells}) == len(full.cells)
    assert planned(GRAPHS, (1.0,), (3, 1))[0] == RankCell(NMF, "smc", 1.0, 1)


def test_models() -> None:
    untied, tied = (model_of(RankCell(graph, "smc", 0.5, 3), 4) for graph in GRAPHS)
    assert untied.shape == tied.shape == (4, 4)
    assert untied.tied == ()
    assert tied.tied == (("i", "j"),)
    for model in (untied, tied):
        assert (model.cardinalities["k"], model.a, model.b) == (3, 0.5, None)


@pytest.mark.parametrize("graph", GRAPHS)
def test_one_component_is_exact(graph: str) -> None:
    X = np.random.default_rng(0).poisson(1.0, (3, 3))
    for a in (1.0, 0.01):
        cells = {method: RankCell(graph, method, a, 1) for method in SCORING}
        exact = log_marginal(model_of(cells["smc"], 3), X, "exact").log_marginal
        for cell in cells.values():
            assert score(X, cell, SMALL).log_marginal == pytest.approx(exact, abs=1e-8)


def test_what_is_tied_is_seen_in_the_scores() -> None:
    rng = np.random.default_rng(1)
    profiles = np.repeat(np.eye(2), 3, axis=1) / 3
    both = draw_pairs(profiles.T @ profiles, 60, 2)  # each block follows itself
    one_way = draw_pairs(np.outer(profiles[0], profiles[1]), 60, 2)  # the second follows the first
    assert asymmetry(one_way) == 1
    for X, preferred, other in ((both, SYMMETRIC, NMF), (one_way, NMF, SYMMETRIC)):
        shuffled = rng.permutation(6)
        found = {
            graph: score(X[np.ix_(shuffled, shuffled)], RankCell(graph, "smc", 1.0, 2), SMALL)
            for graph in GRAPHS
        }
        assert found[preferred].repeats.min() > found[other].repeats.max()
