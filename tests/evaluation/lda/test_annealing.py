import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from evaluation.lda import annealing
from evaluation.lda.annealing import Document
from models import LDATopics


def document_of(model, tokens):
    words, word_of = np.unique(tokens, return_inverse=True)
    weight = model.word_topic[words] / model.word_topic[words].max(axis=1, keepdims=True)
    cumulative = np.cumsum(weight * model.alpha, axis=1)
    return Document(weight, cumulative, word_of.astype(np.int32), model.alpha)


def packed_law(model, tokens, t):
    states, weight = list(itertools.product(range(model.n_topics), repeat=len(tokens))), []
    for z in states:
        value = math.prod(model.topic_word[k, w] for k, w in zip(z, tokens, strict=True))
        for k in range(model.n_topics):
            value *= math.prod(model.alpha[k] + t * i for i in range(z.count(k)))
        weight.append(value)
    return np.array(states, dtype=np.int32), np.array(weight) / sum(weight)


TOKENS = (0, 1, 2)
PAIR = LDATopics([[0.6, 0.3, 0.1], [0.0, 0.4, 0.6]], [0.2, 0.3])


def swept_pairs(t, swept_at, backwards, n=3000, seed=0):
    """Numbers of n states that are draws at t, and of the states a sweep after."""
    states, law = packed_law(PAIR, TOKENS, t)
    rng, document = np.random.default_rng(seed), document_of(PAIR, TOKENS)
    before, after = rng.choice(len(states), n, p=law), np.empty(n, dtype=int)
    for i, state in enumerate(before):
        z = states[state].copy()
        tally = annealing.tally_of(z, PAIR.n_topics)
        annealing._sweep(document, swept_at, backwards, z, tally, rng)
        assert tally.n_active[0] == len(set(z.tolist()))
        after[i] = np.ravel_multi_index(z, (2,) * len(TOKENS))
    return before, after


def invariance(t, swept_at, backwards):
    _, law = packed_law(PAIR, TOKENS, t)
    _, after = swept_pairs(t, swept_at, backwards)
    seen = np.bincount(after, minlength=len(law))
    assert not seen[law == 0].any()
    return chisquare(seen[law > 0], law[law > 0] * len(after)).pvalue


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.1, 1.0])
def test_a_sweep_leaves_its_law_as_it_is(t, backwards):
    assert invariance(t, t, backwards) > 1e-4


def test_wrong_laws_and_orders_would_be_noticed():
    assert invariance(0.1, 1.0, False) < 1e-6
    assert reversibility(True) > 1e-4
    assert reversibility(False) < 1e-6


def reversibility(backwards):
    """p-value of (z, sweep of z) and (sweep back of z, z) having one law."""
    before, after = swept_pairs(0.5, 0.5, False, n=4000)
    end, start = swept_pairs(0.5, 0.5, backwards, n=4000, seed=1)
    pairs = [np.bincount(8 * a + b, minlength=64) for a, b in ((before, after), (start, end))]
    return chi2_contingency(np.array(pairs)[:, np.sum(pairs, axis=0) > 10]).pvalue


@pytest.mark.parametrize("below", [0.0, 1e-14, 1e-6, 0.3])
@pytest.mark.parametrize("step", [1e-14, 1e-7, 0.5])
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 1e4])
def test_log_ratio_by_its_sum(below, step, alpha):
    counts = (3, 20_000)
    topic_of, prior = np.repeat([0, 2], counts).astype(np.int32), np.array([alpha, 1.0, 2 * alpha])
    found = annealing._log_ratio(prior, annealing.tally_of(topic_of, 3), below + step, below)
    gained = (below + step) - below
    expected = math.fsum(
        math.log1p(gained * i / (a + below * i))
        for a, n in zip((alpha, 2 * alpha), counts, strict=True)
        for i in range(n)
    )
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-11)
