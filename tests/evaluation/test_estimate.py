import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from evaluation import LikelihoodEstimate


def estimate(log_likelihood, n_tokens, standard_error=None, **changes):
    log_likelihood = np.asarray(log_likelihood, dtype=float)
    error = np.zeros_like(log_likelihood) if standard_error is None else standard_error
    settings = {"method": "m", "convention": "sequence", "direction": "exact", **changes}
    n_tokens = np.asarray(n_tokens, dtype=np.int64)
    return LikelihoodEstimate(log_likelihood, np.asarray(error, float), n_tokens, **settings)


document = st.tuples(st.floats(-1e4, -1e-3), st.integers(1, 500))
documents = st.lists(document, min_size=1, max_size=20)


@given(documents)
def test_identities(rows):
    found = estimate(*zip(*rows, strict=True))
    total, tokens = sum(row[0] for row in rows), sum(row[1] for row in rows)
    assert (found.total, found.total_tokens) == (pytest.approx(total), tokens)
    assert (found.n_documents, found.nats_per_word) == (len(rows), pytest.approx(-total / tokens))
    assert found.bits_per_word == pytest.approx(-total / tokens / math.log(2))
    if found.nats_per_word < 700:
        assert found.perplexity == pytest.approx(math.exp(-total / tokens))
        assert found.perplexity == pytest.approx(2**found.bits_per_word)


@given(documents, st.integers(0, 3))
def test_documents_without_tokens_change_nothing(rows, at):
    plain, rows = estimate(*zip(*rows, strict=True)), [*rows[:at], (-3.0, 0), *rows[at:], (0.0, 0)]
    padded = estimate(*zip(*rows, strict=True))
    for name in ("total", "total_tokens", "n_documents", "nats_per_word"):
        assert getattr(padded, name) == pytest.approx(getattr(plain, name))
    error = plain.nats_per_word_standard_error
    assert padded.nats_per_word_standard_error == pytest.approx(error, nan_ok=True)


def test_uniform_model_has_the_perplexity_of_its_vocabulary():
    lengths = np.array([3, 10, 1])
    found = estimate(lengths * -math.log(250), lengths)
    assert found.perplexity == pytest.approx(250)
    assert found.nats_per_word_standard_error == pytest.approx(0.0, abs=1e-12)


def test_a_malformed_estimate():
    for arrays in (([-1.0, -2.0], [1]), ([-1.0], [1], [0.1, 0.2])):
        with pytest.raises(ValueError, match="one number a document"):
            estimate(*arrays)
    for name, value in (("convention", "words"), ("direction", "up")):
        with pytest.raises(ValueError, match=name):
            estimate([-1.0], [1], **{name: value})


@pytest.mark.parametrize("seed", range(3))
def test_standard_error_of_documents_of_one_length_is_that_of_a_mean(seed):
    values = np.random.default_rng(seed).normal(-80, 9, size=37)
    found, expected = estimate(values, np.full(37, 12)), values.std(ddof=1) / math.sqrt(37) / 12
    assert found.nats_per_word_standard_error == pytest.approx(expected, rel=1e-12)
    assert found.perplexity_standard_error == pytest.approx(found.perplexity * expected)


def draw(rng, n_docs):
    """Documents whose log-probability a token depends on their length."""
    lengths = rng.integers(5, 200, size=n_docs)
    return rng.normal(-6.0 - lengths / 100, 0.8) * lengths, lengths


@pytest.mark.parametrize("seed", range(4))
def test_standard_error_is_the_bootstraps(seed):
    rng = np.random.default_rng(seed)
    values, lengths = draw(rng, 400)
    found, resampled = estimate(values, lengths), rng.integers(400, size=(3000, 400))
    ratios = -values[resampled].sum(axis=1) / lengths[resampled].sum(axis=1)
    # The bootstrap's own error is 1/√6000 = 1.3 %; linearisation adds O(1/D).
    assert found.nats_per_word_standard_error == pytest.approx(ratios.std(), rel=0.06)
    naive = values.std(ddof=1) * 20 / lengths.sum()  # negative control: as if n were fixed
    assert naive > 2 * ratios.std()


def test_standard_error_is_the_spread_of_fresh_samples():
    rng = np.random.default_rng(0)
    samples = [estimate(*draw(rng, 100)) for _ in range(1500)]
    spread = np.std([sample.nats_per_word for sample in samples])
    squares = np.mean([sample.nats_per_word_standard_error**2 for sample in samples])
    assert math.sqrt(squares) == pytest.approx(spread, rel=0.08)  # 4 · 1/√3000


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_tokens", [[], [5], [5, 0], [0, 0]])
def test_fewer_than_two_documents_have_no_standard_error(n_tokens):
    found = estimate([-10.0] * len(n_tokens), n_tokens)
    assert math.isnan(found.nats_per_word_standard_error)
    assert math.isnan(found.perplexity_standard_error)


@pytest.mark.filterwarnings("error")
def test_nothing_scored_and_impossible_documents():
    found = estimate([0.0, 0.0], [0, 0])
    assert (found.total, found.total_tokens, found.n_documents) == (0.0, 0, 0)
    assert math.isnan(found.nats_per_word)
    assert math.isnan(found.perplexity)
    found = estimate([-10.0, -np.inf, -4.0], [5, 6, 2])
    assert (found.total, found.perplexity, found.bits_per_word) == (-np.inf, np.inf, np.inf)
    assert math.isnan(found.nats_per_word_standard_error)
    assert math.isnan(found.perplexity_standard_error)
    found = estimate([-1.0, -np.inf, -2.0], [1, 2, 0])
    grouped = found.by_group(["x", "y", "z"])
    assert (grouped.log_likelihood.tolist(), grouped.n_documents) == ([-1.0, -np.inf, 0.0], 2)
    assert estimate([], []).by_group([]).n_documents == 0
    assert found.by_group(np.array(["x", "x", "x"])).total == -np.inf
    for groups in (["x"], ["x"] * 4):
        with pytest.raises(ValueError, match="3 documents"):
            found.by_group(groups)


def test_groups():
    found = estimate([-1.0, -2.0, -4.0, -8.0, -16.0], [1, 2, 0, 4, 5], [0.3, 0.1, 9.0, 0.4, np.nan])
    grouped = found.by_group(["b", "a", "b", "b", "c"])
    assert_allclose(grouped.log_likelihood, [-9.0, -2.0, -16.0])
    assert_allclose(grouped.n_tokens, [5, 2, 5])
    assert_allclose(grouped.standard_error, [0.5, 0.1, np.nan])
    assert (grouped.method, grouped.convention, grouped.direction) == ("m", "sequence", "exact")
    assert (grouped.total, grouped.perplexity) == (found.total, pytest.approx(found.perplexity))
    of_article = np.repeat(np.random.default_rng(0).normal(-70, 10, size=50), 6)
    found = estimate(of_article, np.full(300, 10))
    grouped = found.by_group([str(i // 6) for i in range(300)])
    ratio = grouped.nats_per_word_standard_error / found.nats_per_word_standard_error
    assert ratio == pytest.approx(math.sqrt(6), rel=0.02)


@given(documents, st.data())
def test_groups_of_one_document_are_the_documents(rows, data):
    found = estimate(*zip(*rows, strict=True))
    grouped = found.by_group([str(i) for i in range(len(rows))])
    assert (grouped.log_likelihood == found.log_likelihood).all()
    labels = data.draw(st.lists(st.sampled_from("abc"), min_size=len(rows), max_size=len(rows)))
    assert found.by_group(labels).total == pytest.approx(found.total)
    assert found.by_group(labels).total_tokens == found.total_tokens


def test_a_notebook_shows_the_totals_with_their_errors_and_warnings():
    estimate = LikelihoodEstimate(
        np.array([-10.0, -22.0, -31.0]),
        np.array([0.1, 0.2, 0.2]),
        np.array([2, 4, 6]),
        "a <method>",
        "sequence",
        "unbiased",
        effective_sample_size=np.array([2.0, 9.0, 9.0]),
        n_samples=np.array([20, 20, 20]),
    )
    shown = estimate._repr_html_()
    assert "a &lt;method&gt;, sequence, unbiased; 1 of 3 documents" in shown
    for figure in (
        f"{np.exp(63 / 12):,.2f}",
        f"{estimate.perplexity_standard_error:,.2f}",
        f"{63 / 12:.4f}",
        "-63.0",
        "0.3 (sampling alone)",
        ">3</td>",
        ">12</td>",
    ):
        assert figure in shown
