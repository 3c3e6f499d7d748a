import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.lda import annealing_from_mean as from_mean
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of, row, truth_of, without_words

WORDS, N = np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 1])
TOKENS = (0, 1, 1, 2)
MODEL = LDATopics([[0.6, 0.3, 0.1], [0.1, 0.4, 0.5], [0.0, 0.2, 0.8]], [0.2, 0.6, 0.3])
STATES = list(itertools.product(range(3), repeat=len(TOKENS)))


@pytest.fixture(params=[1, 2, 32])
def document(request, monkeypatch):
    monkeypatch.setattr(from_mean, "N_LISTED", request.param)
    return from_mean.listed_document(MODEL, WORDS, N)[0]


def log_f(z, prior, model=MODEL):
    """log f of topics z with this prior (K,), from its definition; -infinity if impossible."""
    value = 0.0
    for k, w in zip(z, TOKENS, strict=True):
        value += math.log(model.topic_word[k, w]) if model.topic_word[k, w] else -math.inf
    for k in range(len(prior)):
        value += sum(math.log(prior[k] + i) for i in range(list(z).count(k)))
    return value - sum(math.log(prior.sum() + i) for i in range(len(z)))


def law(document, s):
    weight = np.exp([log_f(z, document.alpha + s * document.mean) for z in STATES])
    return weight / weight.sum()


def swept(document, s, swept_at, n=1500):
    rng, total = np.random.default_rng(0), np.empty(3)
    seen = np.zeros(len(STATES))
    for state in rng.choice(len(STATES), n, p=law(document, s)):
        z = np.array(STATES[state], dtype=np.int32)
        counts = np.bincount(z, minlength=3).astype(float)
        total = counts + document.alpha + swept_at * document.mean
        places = [list(document.listed[u]) for u in document.word_of]
        place = [at.index(k) if k in at else -1 for at, k in zip(places, z, strict=True)]
        share = np.empty(document.listed.shape[1])
        chain = from_mean.Chain(z, np.array(place, dtype=np.int32), counts, total, share)
        from_mean.sweep_listed(document, 1.0 + swept_at, chain, rng)
        assert np.array_equal(counts, np.bincount(z, minlength=3))
        for i, at in enumerate(places):
            assert chain.place_of[i] == (at.index(z[i]) if z[i] in at else -1)
        seen[np.ravel_multi_index(z, (3,) * len(TOKENS))] += 1
    expected = law(document, s)
    assert not seen[expected == 0].any()
    return chisquare(seen[expected > 0], expected[expected > 0] * n).pvalue


@pytest.mark.parametrize("s", [0.0, 0.2, 5.0])
def test_a_sweep_leaves_its_law_as_it_is(document, s):
    assert swept(document, s, s) > 1e-4


def test_a_sweep_at_another_place_would_be_noticed(document):
    assert swept(document, 5.0, 0.0) < 1e-6


def test_steps_by_definition(document):
    a, m = document.alpha, document.mean
    for z in STATES[::5]:
        n = np.bincount(z, minlength=3).astype(float)
        found = from_mean.log_step(n, a, m, 0.7, 0.1)
        likelihood = log_f(z, a + 0.1 * m)
        if likelihood > -math.inf:
            assert found == pytest.approx(likelihood - log_f(z, a + 0.7 * m), abs=1e-12)
        beyond = from_mean.log_step(n, a, m, 1e9, 0.7)
        assert from_mean.log_from_infinity(n, a, m, 0.7) == pytest.approx(beyond, abs=1e-6)


CASES = {
    "few topics": (model_of(1), [3, 0, 2, 1, 0, 2]),
    "one topic": (model_of(2, 1), [1, 2, 0, 0, 3, 1]),
    "impossible words": (
        without_words(np.random.default_rng(0).random((3, 4)), [0.4, 0.1, 0.5], [(0, 1), (1, 0)]),
        [4, 2, 0, 3],
    ),
    "twins": (
        LDATopics(np.repeat(model_of(3, 2).topic_word, 2, axis=0), [0.4] * 4),
        [2, 0, 1, 1, 0, 1],
    ),
}


@pytest.mark.parametrize("n_listed", [1, 2, 32])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_temperatures", [2, 9])
def test_the_mean_weight_is_unbiased(monkeypatch, case, n_listed, n_temperatures):
    monkeypatch.setattr(from_mean, "N_LISTED", n_listed)
    model, counts = CASES[case]
    words = np.flatnonzero(counts).astype(np.int32)
    document, constant = from_mean.listed_document(model, words, np.array(counts)[words])
    path = from_mean.path_for(n_temperatures, sum(counts), model.alpha)
    n = 10_000
    found = from_mean.log_weights_from_mean(document, path, n, np.random.default_rng(0))
    ratio = np.exp(found + constant - truth_of(model, counts))
    error = ratio.std() / math.sqrt(n)
    assert abs(ratio.mean() - 1.0) < 4 * error + 1e-12
    assert error < 0.05  # a wrong weight of a twentieth would be noticed


def test_as_a_method():
    counts = np.array([[3, 0, 2, 1, 0, 4], [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    model = model_of(1)
    found = log_likelihood(model, counts, "annealing-from-mean", n_samples=50, random_state=0)
    assert found.direction == "unbiased"
    assert abs(found.log_likelihood[0] - truth_of(model, counts[0])) < 4 * found.standard_error[0]
    assert found.log_likelihood[1] == 0.0
    assert found.log_likelihood[2] == pytest.approx(truth_of(model, counts[2]), abs=0.01)


@pytest.mark.parametrize(("n", "error"), [(1, ValueError), (2.5, TypeError)])
def test_a_number_of_temperatures_that_is_none(n, error):
    with pytest.raises(error, match="n_temperatures"):
        from_mean.annealing_from_mean(
            MODEL, DocumentBlock(row([1, 2, 1])), n_samples=1, n_temperatures=n
        )
