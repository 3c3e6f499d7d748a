from dataclasses import dataclass

import pytest

from benchmarks import annealing_ranks
from benchmarks.annealing_ranks import MORE_RUNS, decided, is_below


@dataclass(frozen=True)
class Estimate:
    log_marginal: float
    standard_error: float = 0.1


def asked_of(monkeypatch, few, many):
    """Estimates by `few` and by `many` runs of models 0, 1, …, and what was asked for, in order."""
    asked = []

    def log_marginal(model, X, method, *, n_repeats):
        asked.append((model, n_repeats))
        return Estimate((few if n_repeats == 4 else many)[model])

    monkeypatch.setattr(annealing_ranks, "log_marginal", log_marginal)
    found, settings = decided(list(range(len(few))), None, {"n_repeats": 4})
    return [each.log_marginal for each in found], settings["n_repeats"], asked[len(few) :]


def test_a_rank_far_above_all_others_is_decided(monkeypatch):
    found, n_runs, asked = asked_of(monkeypatch, [-20.0, -10.0, -13.0], [0.0, 0.0, 0.0])
    assert (found, n_runs, asked) == ([-20.0, -10.0, -13.0], 4, [])


def test_close_ranks_and_the_best_have_more_runs(monkeypatch):
    found, n_runs, asked = asked_of(monkeypatch, [-20.0, -10.0, -12.0], [0.0, -11.0, -10.5])
    assert (found, n_runs) == ([-20.0, -11.0, -10.5], 4 * MORE_RUNS)
    assert sorted(asked) == [(1, 16), (2, 16)]


def test_ranks_that_come_close_with_more_runs_have_them_too(monkeypatch):
    # The best falls to within reach of the first, which was far below it.
    found, _, asked = asked_of(monkeypatch, [-14.0, -10.0, -12.0], [-14.5, -13.0, -12.5])
    assert found == [-14.5, -13.0, -12.5]
    assert sorted(asked[:2]) == [(1, 16), (2, 16)]
    assert asked[2:] == [(0, 16)]


@pytest.mark.parametrize(("gap", "expected"), [(0.9, False), (1.1, True), (-1.1, False)])
def test_two_standard_errors_of_the_difference_tell_estimates_apart(gap, expected):
    assert is_below(Estimate(-10.0 - gap, 0.3), Estimate(-10.0, 0.4)) is expected
