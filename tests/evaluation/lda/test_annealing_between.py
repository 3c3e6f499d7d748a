import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from evaluation.lda import annealing_between as between
from evaluation.lda.annealing import document_of, tally_of
from evaluation.lda.topic_pairs import TopicPairs, topic_pairs
from models import LDATopics
from tests.evaluation.lda.small_topics import truth_of, without_words

TOKENS = np.array([0, 1, 1, 2])
WORDS, N = np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 1])
START = LDATopics([[0.6, 0.3, 0.1], [0.1, 0.4, 0.5]], [0.2, 0.6])
END = LDATopics([[0.5, 0.3, 0.2], [0.2, 0.1, 0.7], [0.2, 0.7, 0.1]], [0.5, 0.3, 0.2])
PAIRS = topic_pairs(START, END)


def log_f(z, t, start=START, end=END, pairs=PAIRS):
    """log f_t of pairs z, from its definition."""
    prior = (1 - t) * pairs.first_prior + t * pairs.second_prior
    value = 0.0
    for p, w in zip(z, TOKENS, strict=True):
        b = start.topic_word[pairs.first[p], w]
        value += math.log((1 - t) * b + t * end.topic_word[pairs.second[p], w])
    for p in range(len(prior)):
        value += sum(math.log(prior[p] + i) for i in range(list(z).count(p)))
    return value - sum(math.log(prior.sum() + i) for i in range(len(z)))


def step_at(t):
    return np.array([1 - t, t])


STATES = list(itertools.product(range(len(PAIRS.first)), repeat=len(TOKENS)))


def law(t):
    weight = np.exp([log_f(z, t) for z in STATES])
    return weight / weight.sum()


def test_both_ends_are_the_models_and_middles_lie_between():
    for t, model in ((0.0, START), (1.0, END)):
        total = sum(math.exp(log_f(z, t)) for z in STATES)
        assert math.log(total) == pytest.approx(truth_of(model, [1, 2, 1]))


def swept(t, swept_at, backwards, n=6000, seed=0):
    document = between.paired_document(START, END, PAIRS, WORDS, N)
    rng, states = np.random.default_rng(seed), np.array(STATES, dtype=np.int32)
    before, after = rng.choice(len(states), n, p=law(t)), np.empty(n, dtype=int)
    for i, state in enumerate(before):
        z = states[state].copy()
        tally = tally_of(z, len(PAIRS.first))
        between.sweep_pairs(document, step_at(swept_at), backwards, z, tally, rng)
        assert tally.n_active[0] == len(set(z.tolist()))
        after[i] = np.ravel_multi_index(z, (len(PAIRS.first),) * len(TOKENS))
    return before, after


def invariance(t, swept_at, backwards):
    seen = np.bincount(swept(t, swept_at, backwards)[1], minlength=len(STATES))
    return chisquare(seen, law(t) * seen.sum()).pvalue


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
def test_a_sweep_leaves_its_law_as_it_is(t, backwards):
    assert invariance(t, t, backwards) > 1e-4


def reversibility(backwards):
    """p-value of (z, sweep of z) and (sweep back of z, z) having one law, of 3 states of z."""
    before, after = swept(0.5, 0.5, False)
    end, start = swept(0.5, 0.5, backwards, seed=1)
    size = len(PAIRS.first)
    pairs = [
        np.bincount(size * (a // size ** (len(TOKENS) - 1)) + b % size, minlength=size**2)
        for a, b in ((before, after), (start, end))
    ]
    return chi2_contingency(np.array(pairs)).pvalue


def test_wrong_laws_and_orders_would_be_noticed():
    assert invariance(0.4, 0.0, False) < 1e-6
    assert reversibility(True) > 1e-4


@pytest.mark.parametrize(("above", "below"), [(1.0, 0.0), (0.31, 0.3), (0.5, 0.5)])
def test_log_step_by_definition(above, below):
    document = between.paired_document(START, END, PAIRS, WORDS, N)
    for z in STATES[::7]:
        pair_of = np.array(z, dtype=np.int32)
        found = between.log_step(
            document, pair_of, tally_of(pair_of, 3), *map(step_at, (above, below))
        )
        assert found == pytest.approx(log_f(z, above) - log_f(z, below), abs=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
def test_mean_weight_from_exact_draws_is_the_ratio(backwards):
    """Unbiased for three temperatures as for many, in either direction."""
    document = between.paired_document(START, END, PAIRS, WORDS, N)
    rng, n = np.random.default_rng(1), 20_000
    draws = np.array(STATES, dtype=np.int32)[rng.choice(len(STATES), n, p=law(float(backwards)))]
    path = np.array([step_at(t) for t in (0.0, 0.5, 1.0)])
    weights = np.exp(
        [between.anneal_between(document, path, backwards, z, rng) for z in draws.copy()]
    )
    ratio = math.exp(truth_of(END, [1, 2, 1]) - truth_of(START, [1, 2, 1]))
    if backwards:
        weights, ratio = 1 / weights, 1 / ratio
    assert abs(weights.mean() - ratio) < 4 * weights.std() / math.sqrt(n)
    assert weights.std() / math.sqrt(n) < 0.03 * ratio


def test_draws_are_from_the_posterior():
    own, rng, seen = (
        document_of(START, WORDS, N)[0],
        np.random.default_rng(0),
        np.zeros(len(STATES)),
    )
    burn_in = between.burn_in_of(own)
    for _ in range(6000):
        z = between.draw_pairs(own, burn_in, PAIRS.first, PAIRS.first_prior, rng)
        seen[np.ravel_multi_index(z, (len(PAIRS.first),) * len(TOKENS))] += 1
    assert chisquare(seen, law(0.0) * seen.sum()).pvalue > 1e-4
    assert chisquare(seen, law(0.5) * seen.sum()).pvalue < 1e-4


def test_the_path_begins_beside_an_end_with_an_impossible_word():
    gap = without_words(np.full((2, 3), 1 / 3), [0.2, 0.3], [(0, 1)])
    document = between.paired_document(gap, END, topic_pairs(gap, END), WORDS, N)
    path = between.path_of(document, 50)
    assert path[0, 1] == pytest.approx(between.EDGE, rel=1e-6)
    assert path[-1, 0] == pytest.approx(between.EDGE, rel=1e-6)
    assert (np.diff(path[:, 1]) > 0).all()
    assert path.sum(axis=1) == pytest.approx(np.ones(50))
    even = between.path_of(between.paired_document(START, END, PAIRS, WORDS, N), 5)
    assert even[:, 1].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert even[:, 0].tolist() == even[::-1, 1].tolist()


@given(
    exponents=st.lists(st.floats(-30, 0), min_size=24, max_size=24),
    prior=st.lists(st.floats(-16, 3), min_size=8, max_size=8),
    n_steps=st.integers(2, 30),
    z=st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
@example([0.0] * 12 + [-16.0] * 12, [0.0] * 4 + [-16.0] * 4, 5, [0, 1, 2, 3])
@settings(max_examples=60, deadline=None)
def test_with_start_and_end_swapped_a_path_has_the_other_sign(exponents, prior, n_steps, z):
    """Also where weights differ by many orders of magnitude, of which a difference loses all."""
    weights = 10.0 ** np.array(exponents).reshape(2, 4, 3)
    alpha = 10.0 ** np.array(prior).reshape(2, 4)
    models = [LDATopics.from_weights(*each) for each in zip(weights, alpha, strict=True)]
    pairs = TopicPairs(np.arange(4), np.arange(4), *alpha)
    swapped = TopicPairs(np.arange(4), np.arange(4), *alpha[::-1])
    pair_of, totals = np.array(z, dtype=np.int32), []
    for ends, each in ((models, pairs), (models[::-1], swapped)):
        document = between.paired_document(*ends, each, WORDS, N)
        path = between.path_of(document, n_steps)
        tally = tally_of(pair_of, 4)
        steps = itertools.pairwise(path)
        found = [between.log_step(document, pair_of, tally, above, below) for below, above in steps]
        totals.append(sum(found))
    assert totals[0] == pytest.approx(-totals[1], rel=1e-12, abs=1e-12)
    expected = log_f(z, 1.0, *models, pairs) - log_f(z, 0.0, *models, pairs)
    assert totals[0] == pytest.approx(expected, rel=1e-12, abs=1e-11)
