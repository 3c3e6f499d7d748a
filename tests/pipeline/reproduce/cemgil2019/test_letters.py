"""Samples of letter pairs, and which of tied and untied factors explains them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.allocation.log_marginal import log_marginal
from pipeline.reproduce.cemgil2019 import letters
from pipeline.reproduce.cemgil2019.letters import (
    GRAPHS,
    NMF,
    SYMMETRIC,
    asymmetry,
    draw_pairs,
    models_of,
)
from pipeline.reproduce.cemgil2019.scores import SCORING, Budget, score
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import places, shifted

SMALL = Budget(50, 3, 3, 5)


def test_the_sample_is_drawn_in_proportion():
    pairs = np.array([[8.0e11, 1.0e11], [1.0e11, 0.0]])
    X = draw_pairs(pairs, 10_000, 0)
    assert X.sum() == 10_000
    assert X[1, 1] == 0
    assert abs(X[0, 0] - 8000) < 4 * np.sqrt(10_000 * 0.8 * 0.2)
    assert abs(X[0, 1] - 1000) < 4 * np.sqrt(10_000 * 0.1 * 0.9)
    assert (draw_pairs(pairs, 10_000, 0) == X).all()
    assert (draw_pairs(pairs, 10_000, 1) != X).any()


def test_asymmetry():
    assert asymmetry(np.array([[5, 2], [2, 0]])) == 0
    assert asymmetry(np.array([[0, 2], [0, 0]])) == 1
    assert asymmetry(np.array([[4, 3], [1, 0]])) == pytest.approx(4 / 16)


def test_models():
    untied, tied = (models_of(4)[graph](3, a=0.5) for graph in GRAPHS)
    assert untied.shape == tied.shape == (4, 4)
    assert untied.tied == ()
    assert tied.tied == (("i", "j"),)
    for model in (untied, tied):
        assert (model.cardinalities["k"], model.a, model.b) == (3, 0.5, None)


@pytest.mark.parametrize("graph", GRAPHS)
def test_one_component_is_exact(graph):
    X = np.random.default_rng(0).poisson(1.0, (3, 3))
    for a in (1.0, 0.01):
        model = models_of(3)[graph](1, a=a)
        exact = log_marginal(model, X, "exact").log_marginal
        for method in SCORING:
            found = score(model, X, method, SMALL, (graph, method, a, 1))
            assert found["log_marginal"] == pytest.approx(exact, abs=1e-8)


def test_what_is_tied_is_seen_in_the_scores():
    rng = np.random.default_rng(1)
    profiles = np.repeat(np.eye(2), 3, axis=1) / 3
    both = draw_pairs(profiles.T @ profiles, 60, 2)  # each block follows itself
    one_way = draw_pairs(np.outer(profiles[0], profiles[1]), 60, 2)  # the second follows the first
    assert asymmetry(one_way) == 1
    for X, preferred, other in ((both, SYMMETRIC, NMF), (one_way, NMF, SYMMETRIC)):
        shuffled = X[np.ix_(*[rng.permutation(6)] * 2)]
        found = {
            graph: score(
                models_of(6)[graph](2, a=1.0), shuffled, "smc", SMALL, (graph, "smc", 1.0, 2)
            )
            for graph in GRAPHS
        }
        assert found[preferred]["repeats"].min() > found[other]["repeats"].max()


@pytest.mark.slow
def test_findings_tell_where_they_fail(quick, place):
    given = ReproduceSettings(table=str(place / "pairs.csv"), threads=1)
    result = letters.EXPERIMENT.run(given).result
    rows = []
    for row in result["rows"]:
        at = (row["a"], row["rank"])
        raised = (row["graph"] == NMF) == (row["a"] == 1.0) and at != (1.0, 2)
        is_smc = (row["graph"], row["method"], *at) == (SYMMETRIC, "smc", 1.0, 2)
        rows.append(shifted(row, 1e5 * raised + 1e3 * is_smc))
    best = [row | {"rank": 1} for row in result["best"]]
    failed = places(letters.EXPERIMENT, result | {"rows": rows, "best": best})
    assert failed["a = 1, SMC: NMF above symmetric NMF from rank 2 on"] == ["rank 2"]
    assert failed["a = 0.001, SMC: symmetric NMF above NMF at 90% of ranks"] == []
    assert failed["a = 0.001, VB: symmetric NMF not above NMF throughout"] == ["any rank"]
    assert failed["a = 1: the best rank of VB below that of SMC"][0] == f"{NMF} (1 and 1)"
    at_1 = "a = 1: NMF above symmetric NMF at rank 1, where all methods are exact"
    assert failed[at_1] == []
    lowered = [shifted(row, -5.0 * (row["method"] == "smc")) for row in rows]
    claims = places(letters.EXPERIMENT, result | {"rows": lowered})
    assert "rank 1" in claims[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    assert "rank 1" not in failed[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    curves = letters.scores.Curves({"rows": rows, "best": best})
    by_smc = letters._preferred(curves, "smc", 1.0)
    assert (by_smc["nmf"], by_smc["symmetric"], by_smc["not_told_apart"]) == ([1], [2], [])
