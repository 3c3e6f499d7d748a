"""Several models against the best of them: by hand, and by simulation with Monte Carlo error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation import LikelihoodEstimate, PairedDifference, paired_difference
from evaluation.comparison import compare


def estimate(values: list[float], tokens: list[int], method: str = "made up") -> LikelihoodEstimate:
    n = len(values)
    return LikelihoodEstimate(
        np.array(values), np.zeros(n), np.array(tokens), method, "sequence", "exact"
    )


def test_by_hand() -> None:
    estimates = {
        "worst": estimate([-10.0, -20.0], [2, 2]),
        "best": estimate([-7.0, -18.0], [2, 2]),
        "second": estimate([-8.0, -18.0], [2, 2]),
    }
    found = compare(estimates)
    assert found.best == "best"
    assert list(found.against_best) == ["worst", "second"]
    assert [each.nats_per_word for each in found.against_best.values()] == [5 / 4, 1 / 4]
    assert all(each.probability > 0.5 for each in found.against_best.values())
    assert found.against_best["worst"] == paired_difference(estimates["worst"], estimates["best"])
    assert found.between("second", "worst").nats_per_word == -1
    assert dict(found.estimates) == estimates


def test_the_first_of_equal_models_is_the_best() -> None:
    one = estimate([-10.0, -20.0], [2, 2])
    found = compare({"b": one, "a": one})
    assert found.best == "b"
    assert found.against_best["a"].probability == 0.5


def test_one_model_and_none() -> None:
    found = compare({"only": estimate([-1.0], [1])})
    assert (found.best, dict(found.against_best)) == ("only", {})
    with pytest.raises(ValueError, match="nothing to compare"):
        compare({})


def test_other_documents_are_refused_by_name() -> None:
    one = estimate([-1.0, -2.0], [1, 2])
    with pytest.raises(ValueError, match=r"long and short: .*same documents by"):
        compare({"short": one, "long": estimate([-2.0, -3.0], [2, 1])})
    with pytest.raises(ValueError, match="same documents by the same method"):
        compare({"one": one, "other": estimate([-2.0, -3.0], [1, 2], "another")})


def test_an_impossible_document_is_the_worst_of_all() -> None:
    found = compare(
        {"bad": estimate([-math.inf, -1], [1, 1]), "good": estimate([-9.0, -9.0], [1, 1])}
    )
    assert found.best == "good"
    assert found.against_best["bad"].nats_per_word == math.inf
    assert math.isnan(found.against_best["bad"].probability)


def test_the_error_holds_that_of_sampling() -> None:
    """Over simulated documents and samples; without the samples' noise it is far too small."""
    rng = np.random.default_rng(0)

    def draw() -> tuple[float, float, float]:
        tokens = rng.integers(20, 100, size=100)
        first = -tokens * rng.normal(7, 1, size=100)
        second = first + rng.normal(1, 1, size=100)
        exact = compare_two(first, second, tokens)
        noise = rng.normal(0, 5, size=(2, 100))
        found = compare_two(first + noise[0], second + noise[1], tokens)
        return found.nats_per_word, found.standard_error, exact.standard_error

    def compare_two(first: np.ndarray, second: np.ndarray, tokens: np.ndarray) -> PairedDifference:
        return compare(
            {
                "first": estimate(first.tolist(), tokens.tolist()),
                "second": estimate(second.tolist(), tokens.tolist()),
            }
        ).between("first", "second")

    n = 400
    values, errors, without = np.array([draw() for _ in range(n)]).T
    relative = 4 / math.sqrt(2 * (n - 1))  # four standard errors of a standard deviation
    assert values.std(ddof=1) == pytest.approx(errors.mean(), rel=relative)
    assert values.std(ddof=1) != pytest.approx(without.mean(), rel=relative)
