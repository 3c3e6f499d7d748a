"""Budgets of experiments on allocation models, and what they refuse."""

import shlex

import numpy as np
import pytest

from pipeline.reproduce.cemgil2019.letters import QUICK, LettersBudget
from pipeline.reproduce.cemgil2019.parafac import CostBudget, RankBudget
from pipeline.reproduce.cemgil2019.scores import best_rank, budget_of
from pipeline.reproduce.cemgil2019.toy import ToyBudget
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.allocation.test_factors import pooled_row
from tests.pipeline.support import call


def test_the_papers_budgets():
    toy, letters, of_ranks, of_costs = ToyBudget(), LettersBudget(), RankBudget(), CostBudget()
    assert (toy.n_particles, toy.n_repeats, toy.n_starts) == (1000, 100, 100)
    assert toy.a == pytest.approx([10.0**n for n in range(-5, 6)])
    assert (letters.n_tokens, letters.strengths) == (2000, (1.0, 0.001))
    assert letters.ranks == tuple(range(1, 51))
    assert (of_ranks.shape, of_ranks.true_rank) == ((20, 25, 30), 5)
    assert (of_ranks.n_tokens, of_ranks.a, of_ranks.ranks[-1]) == (500, 30.0, 15)
    assert (of_costs.n_tokens, of_costs.n_tensors) == (1000, 10)
    assert {4, 8, 16, 32, 64} < set(of_costs.sizes)


def test_scales():
    full = LettersBudget()
    given = ReproduceSettings(scale="full", seed=7)
    assert vars(budget_of(full, given, QUICK)) == {**vars(full), "seed": 7}
    assert vars(budget_of(full, ReproduceSettings(), QUICK)) == vars(full) | QUICK
    asked = budget_of(full, ReproduceSettings(particles=9, repeats=8, moves=3, sweeps=7), QUICK)
    assert (asked.n_particles, asked.n_repeats, asked.n_moves) == (9, 8, 3)
    assert asked.n_sweeps == 7


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("bam-abalone", 2, "needs --table FILE, the abalone data of the UCI repository: https://"),
        ("bam-toy --moves 3", 2, "--moves is for bam-parafac or"),
        ("bam-letters --moves 0", 2, "--moves must be at least 1"),
        ("bam-toy --sweeps 3", 2, "--sweeps is for bam-parafac or"),
        ("bam-abalone --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --particles 1", 2, "--particles must be at least 2"),
        ("bam-decompositions --repeats 1", 2, "--repeats must be at least 2"),
        ("bam-decompositions --table abalone.csv", 3, "abalone.csv, line 1: expected a header"),
        ("bam-abalone --table pairs.csv", 3, "pairs.csv, line 1: expected the columns"),
    ],
)
def test_usage_and_missing_files(argv, code, complaint, place):
    outcome = call("reproduce", *shlex.split(argv), "--threads", 1, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


def test_ranks_that_share_runs_are_compared_repeat_by_repeat():
    common = np.array([0.7, -0.6, 0.2, -0.4, 0.5])
    of_ranks = [-9.0 - 0.3 * rank + common + 0.01 * (rank == 2) for rank in (1, 2)]
    rows = [
        {**pooled_row(rank, repeats), "direction": "unbiased", "rough": False}
        for rank, repeats in zip((1, 2), of_ranks, strict=True)
    ]
    found = best_rank(rows)
    assert (found["rank"], found["near"]) == (1, [])
    assert found["probability"] == pytest.approx(1 / (1 + np.exp(-0.29)))
    assert best_rank([{**row, "sources": None} for row in rows])["near"] == [2]
    rough = best_rank([rows[0], {**rows[1], "rough": True}])
    assert (rough["probability"], rough["near"]) == (None, [2])
