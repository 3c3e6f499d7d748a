import math

import numpy as np
import pytest

from evaluation import LikelihoodEstimate, PairedDifference, compare, paired_difference


def estimate(values, tokens, method="made up"):
    n = len(values)
    arrays = (np.array(values), np.zeros(n), np.array(tokens))
    return LikelihoodEstimate(*arrays, method, "sequence", "exact")


def test_differences_by_hand_and_of_one_model():
    first, second = estimate([-10.0, -20.0], [2, 2]), estimate([-8.0, -19.0], [2, 2])
    found = paired_difference(first, second)
    assert found.nats_per_word == pytest.approx(3 / 4)
    assert found.nats_per_word == pytest.approx(first.nats_per_word - second.nats_per_word)
    # Gains 2 and 1 are 0.5 above and below the mean a document.
    assert found.standard_error == pytest.approx(math.sqrt(2 * (0.5**2 + 0.5**2)) / 4)
    back = paired_difference(second, first)
    assert back.nats_per_word == -found.nats_per_word
    assert back.standard_error == pytest.approx(found.standard_error)
    one = estimate([-10.0, -20.0, 0.0], [2, 2, 0])
    assert paired_difference(one, one).nats_per_word == 0
    assert paired_difference(one, one).standard_error == 0
    single = paired_difference(estimate([-1.0], [1]), estimate([-2.0], [1]))
    assert math.isnan(single.standard_error)
    impossible = paired_difference(estimate([-math.inf, -1], [1, 1]), estimate([-1, -1], [1, 1]))
    assert impossible.nats_per_word == math.inf
    assert math.isnan(impossible.standard_error)
    assert math.isnan(paired_difference(estimate([0.0], [0]), estimate([0.0], [0])).nats_per_word)
    one = estimate([-1.0, -2.0], [1, 2])
    for other in (estimate([-1.0, -2.0], [2, 1]), estimate([-1.0, -2.0], [1, 2], "another")):
        with pytest.raises(ValueError, match="same documents by the same method"):
            paired_difference(one, other)


def test_the_standard_error_is_that_of_simulations():
    rng = np.random.default_rng(0)

    def draw():
        tokens = rng.integers(5, 200, size=200)
        first = -tokens * rng.normal(7, 1, size=200)
        second = first + tokens * rng.normal(0.1, 0.3, size=200)
        found = paired_difference(estimate(first, tokens), estimate(second, tokens))
        return found.nats_per_word, found.standard_error

    values, errors = np.array([draw() for _ in range(400)]).T
    assert values.std() == pytest.approx(errors.mean(), rel=0.15)


def test_certainty():
    found = PairedDifference(0.3, 0.1)
    assert found.z == pytest.approx(3)
    assert found.probability == pytest.approx(0.9986501019683699)  # tables of Φ(3)
    assert found.p_value == pytest.approx(0.0026997960632602)
    assert found.perplexity_ratio == pytest.approx(math.exp(0.3))
    back = PairedDifference(-0.3, 0.1)
    assert (back.z, back.probability) == (-found.z, pytest.approx(1 - found.probability))
    assert back.p_value == found.p_value
    assert back.perplexity_ratio == pytest.approx(1 / found.perplexity_ratio)
    one = estimate([-10.0, -20.0], [2, 2])
    found = paired_difference(one, one)
    assert (found.z, found.probability, found.p_value, found.perplexity_ratio) == (0, 0.5, 1, 1)
    first, second = estimate([-10.0, -20.0], [2, 4]), estimate([-9.0, -18.0], [2, 4])
    found, back = paired_difference(first, second), paired_difference(second, first)
    assert (found.z, found.probability, found.p_value) == (math.inf, 1, 0)
    assert (back.z, back.probability, back.p_value) == (-math.inf, 0, 0)


@pytest.mark.parametrize(
    "unknown",
    [
        paired_difference(estimate([-1.0], [1]), estimate([-2.0], [1])),
        paired_difference(estimate([-math.inf, -1], [1, 1]), estimate([-1, -1], [1, 1])),
        paired_difference(estimate([-1, -1], [1, 1]), estimate([-math.inf, -1], [1, 1])),
        paired_difference(estimate([0.0], [0]), estimate([0.0], [0])),
    ],
)
def test_without_an_error_nothing_is_certain(unknown):
    assert all(math.isnan(each) for each in (unknown.z, unknown.probability, unknown.p_value))


def test_p_values_of_equal_models_are_even():
    """One in ten is below 0.1; if the pairing is thrown away, hardly any is."""
    rng = np.random.default_rng(0)

    def draw():
        tokens = rng.integers(50, 200, size=100)
        common = -tokens * rng.normal(7, 1, size=100)
        first, second = (
            estimate(common + tokens * rng.normal(0, 0.1, size=100), tokens) for _ in range(2)
        )
        found = paired_difference(first, second)
        errors = first.nats_per_word_standard_error, second.nats_per_word_standard_error
        return found.p_value, PairedDifference(found.nats_per_word, math.hypot(*errors)).p_value

    n = 1000
    paired, unpaired = (np.array([draw() for _ in range(n)]) < 0.1).mean(axis=0)
    tolerance = 4 * math.sqrt(0.1 * 0.9 / n)
    assert abs(paired - 0.1) < tolerance
    assert not abs(unpaired - 0.1) < tolerance


def test_the_best_of_several():
    estimates = {
        "worst": estimate([-10.0, -20.0], [2, 2]),
        "best": estimate([-7.0, -18.0], [2, 2]),
        "second": estimate([-8.0, -18.0], [2, 2]),
    }
    found = compare(estimates)
    assert (found.best, list(found.against_best)) == ("best", ["worst", "second"])
    assert [each.nats_per_word for each in found.against_best.values()] == [5 / 4, 1 / 4]
    assert all(each.probability > 0.5 for each in found.against_best.values())
    assert found.against_best["worst"] == paired_difference(estimates["worst"], estimates["best"])
    assert found.between("second", "worst").nats_per_word == -1
    assert dict(found.estimates) == estimates
    one = estimate([-10.0, -20.0], [2, 2])
    found = compare({"b": one, "a": one})
    assert (found.best, found.against_best["a"].probability) == ("b", 0.5)
    found = compare({"only": estimate([-1.0], [1])})
    assert (found.best, dict(found.against_best)) == ("only", {})
    with pytest.raises(ValueError, match="nothing to compare"):
        compare({})
    bad, good = estimate([-math.inf, -1], [1, 1]), estimate([-9.0, -9.0], [1, 1])
    found = compare({"bad": bad, "good": good})
    assert (found.best, found.against_best["bad"].nats_per_word) == ("good", math.inf)
    assert math.isnan(found.against_best["bad"].probability)


def test_other_documents_are_refused_by_name():
    one = estimate([-1.0, -2.0], [1, 2])
    with pytest.raises(ValueError, match=r"long and short: .*same documents by"):
        compare({"short": one, "long": estimate([-2.0, -3.0], [2, 1])})
    with pytest.raises(ValueError, match="same documents by the same method"):
        compare({"one": one, "other": estimate([-2.0, -3.0], [1, 2], "another")})


def test_the_error_holds_that_of_sampling():
    rng = np.random.default_rng(0)

    def draw():
        tokens = rng.integers(20, 100, size=100)
        first = -tokens * rng.normal(7, 1, size=100)
        second = first + rng.normal(1, 1, size=100)
        exact, noise = compare_two(first, second, tokens), rng.normal(0, 5, size=(2, 100))
        found = compare_two(first + noise[0], second + noise[1], tokens)
        return found.nats_per_word, found.standard_error, exact.standard_error

    def compare_two(first, second, tokens):
        estimates = {"first": estimate(first, tokens), "second": estimate(second, tokens)}
        return compare(estimates).between("first", "second")

    n = 400
    values, errors, without = np.array([draw() for _ in range(n)]).T
    relative = 4 / math.sqrt(2 * (n - 1))  # four standard errors of a standard deviation
    assert values.std(ddof=1) == pytest.approx(errors.mean(), rel=relative)
    assert values.std(ddof=1) != pytest.approx(without.mean(), rel=relative)


def test_a_notebook_shows_the_best_model_first_and_names_escaped():
    n_tokens = np.array([10, 20, 30])
    estimates = {
        name: LikelihoodEstimate.deterministic(-n_tokens * nats, n_tokens, "exact", "exact")
        for name, nats in {"<worst>": np.array([3.0, 4.0, 5.0]), "best": 1.5, "middle": 2.0}.items()
    }
    shown = compare(estimates)._repr_html_()
    places = [shown.index(name) for name in (">best<", ">middle<", ">&lt;worst&gt;<")]
    assert places == sorted(places)
    assert f"{np.exp(1.5):,.2f}" in shown
    assert ">0.5000<" in shown
    assert "exact, 3 documents" in shown
