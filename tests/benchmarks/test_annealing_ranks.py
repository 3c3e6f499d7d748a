from dataclasses import dataclass

import pytest

from benchmarks import annealing_ranks
from benchmarks.annealing_ranks import MORE, decided, is_below


@dataclass(frozen=True)
class Estimate:
    log_marginal: float
    standard_error: float = 0.1


FEW, MANY, LONG = (4, 300), (4 * MORE, 300), (4 * MORE, 300 * MORE)


def asked_of(monkeypatch, **levels):
    """Estimates of models 0, 1, …, given those by few, many and long runs; and what was asked for
    after all models had few runs.
    """
    asked = []

    def log_marginal(model, X, method, *, n_repeats, n_sweeps):
        asked.append((model, n_repeats, n_sweeps))
        by = {FEW: "few", MANY: "many", LONG: "long"}[n_repeats, n_sweeps]
        return Estimate(levels[by][model])

    monkeypatch.setattr(annealing_ranks, "log_marginal", log_marginal)
    n_models = len(levels["few"])
    found, settings = decided(list(range(n_models)), None, {"n_repeats": 4, "n_sweeps": 300})
    return [each.log_marginal for each in found], tuple(settings.values()), asked[n_models:]


def test_a_rank_far_above_all_others_is_decided(monkeypatch):
    levels = [-20.0, -10.0, -13.0]
    assert asked_of(monkeypatch, few=levels) == (levels, FEW, [])


def test_close_ranks_and_the_best_have_more_runs(monkeypatch):
    found, settings, asked = asked_of(
        monkeypatch, few=[-20.0, -10.0, -12.0], many=[0.0, -11.0, -10.5]
    )
    assert (found, settings) == ([-20.0, -11.0, -10.5], MANY)
    assert sorted(asked) == [(1, *MANY), (2, *MANY)]


def test_ranks_that_come_close_with_more_runs_have_them_too(monkeypatch):
    # The best falls to within reach of the first, which was far below it.
    found, _, asked = asked_of(monkeypatch, few=[-14.0, -10.0, -12.0], many=[-14.5, -13.0, -12.5])
    assert found == [-14.5, -13.0, -12.5]
    assert sorted(asked[:2]) == [(1, *MANY), (2, *MANY)]
    assert asked[2:] == [(0, *MANY)]


def test_ranks_that_are_not_told_apart_have_more_sweeps(monkeypatch):
    found, settings, asked = asked_of(
        monkeypatch, few=[-11.0, -10.0, -12.0], many=[-10.1, -10.0, -12.0], long=[-9.8, -9.9, 0.0]
    )
    assert (found, settings) == ([-9.8, -9.9, -12.0], LONG)
    assert sorted(asked[3:]) == [(0, *LONG), (1, *LONG)]


@pytest.mark.parametrize(("gap", "expected"), [(0.9, False), (1.1, True), (-1.1, False)])
def test_two_standard_errors_of_the_difference_tell_estimates_apart(gap, expected):
    assert is_below(Estimate(-10.0 - gap, 0.3), Estimate(-10.0, 0.4)) is expected
