"""Topics from full conditionals, against plain loops and in cases whose answer is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from models import GibbsLDA
from models.gibbs.state import SAMPLERS
from models.gibbs.tokens import tokens_of
from tests.small_models import make_blocks_small, training_counts


def trained(counts, **settings):
    """A model with its samples, not yet finished."""
    model = GibbsLDA(
        **{"n_topics": 3, "n_iter": 6, "random_state": 0, "start": "random"} | settings
    )
    for _ in model.iterate(counts):
        pass
    return model


def tokens_in_order(counts):
    tokens = tokens_of(counts)
    return list(zip(tokens.doc_of, tokens.word_of, strict=True))


def conditionals(model, counts):
    """p_tk of each token in the order of the state, by loops over topics."""
    state, topic_word = model.state_, model.topics_.topic_word
    order, n_topics, frozen = tokens_in_order(counts), len(state.alpha), state.frozen
    n_dk, n_k = np.zeros((counts.shape[0], n_topics)), state.eta.sum() + np.zeros(n_topics)
    for (d, w), k in zip(order, state.topic_of, strict=True):
        n_dk[d, k] += 1
        n_k[k] += not frozen[w]
    n_w, found = np.bincount([w for _, w in order]), []
    for (d, w), z in zip(order, state.topic_of, strict=True):
        eta, of_document = state.eta[w], [k for k in range(n_topics) if n_dk[d, k]]
        n = [max(0.0, topic_word[k, w] * n_k[k] - eta) for k in range(n_topics)]
        prior = [n_dk[d, k] - (z == k) + state.alpha[k] for k in range(n_topics)]
        p = [prior[k] * (n[k] + eta) / n_k[k] for k in range(n_topics)]
        own = [each / n_w[w] for each in n]
        for k in of_document:
            own[k] = min(p[k] / sum(p), n[k])
        room = sum(n[k] - own[k] for k in of_document)
        part = min(1.0, max(0.0, 1 - sum(own)) / max(room, 1e-30))
        for k in of_document:
            own[k] += part * (n[k] - own[k])
        total = [n_k[k] - own[k] * (k in of_document) for k in range(n_topics)]
        p = [prior[k] * (n[k] + eta - own[k]) / total[k] for k in range(n_topics)]
        found.append([each / sum(p) for each in p])
    return np.array(found)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "settings", [{}, {"word_budget": 6, "burn_in": 4}, {"n_topics": 20, "eta": np.full(10, 0.3)}]
)
def test_expected_counts_by_loops(sampler, settings):
    counts = training_counts()
    model = trained(counts, sampler=sampler, **settings)
    p = conditionals(model, counts)
    expected = np.zeros((10, model.n_topics))
    for (_, w), of_token in zip(tokens_in_order(counts), p, strict=True):
        expected[w] += 0.0 if model.state_.frozen[w] else of_token
    assert model.finish()
    # Of rare words m_kw - eta_w is a small difference, in single precision.
    assert_allclose(model.state_.expected_n_wk, expected, rtol=1e-4, atol=1e-5)
    weight = expected + model.state_.eta[:, None]
    assert_allclose(model.topics_.word_topic, weight / weight.sum(axis=0), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("sampler", ["exact-dense", "exact-sparse"])
def test_a_word_that_occurs_once_does_not_vouch_for_itself(sampler):
    counts = np.random.default_rng(0).poisson(80.0, (5, 9))
    counts[:, 8] = [1, 0, 0, 0, 0]
    model = trained(counts, sampler=sampler, learn_priors="none", n_iter=3)
    state = model.state_
    (place,) = np.flatnonzero([w == 8 for _, w in tokens_in_order(sparse.csr_array(counts))])
    of_document = [d == 0 for d, _ in tokens_in_order(sparse.csr_array(counts))]
    n_dk = np.bincount(state.topic_of[of_document], minlength=3).astype(float)
    n_dk[state.topic_of[place]] -= 1
    p = (n_dk + state.alpha) / (np.bincount(state.topic_of, minlength=3) + state.eta.sum())
    p /= p.sum()
    samples = model.topics_.topic_word[:, 8]
    model.finish()
    found = state.expected_n_wk[8]
    assert_allclose(found, p, rtol=0.005)  # a token among the 900 of each topic
    assert np.abs(samples / samples.sum() - p).max() > 0.1


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_tokens_are_shared_out_whole_and_threads_change_no_bit(sampler, monkeypatch):
    counts = training_counts()
    one = GibbsLDA(3, n_iter=4, sampler=sampler, random_state=0).fit(counts).state_
    assert_allclose(one.expected_n_wk.sum(axis=1), counts.sum(axis=0), rtol=1e-5)
    pools = make_blocks_small(monkeypatch)
    several = [
        GibbsLDA(3, n_iter=4, sampler=sampler, random_state=0, n_jobs=n).fit(counts).state_
        for n in (1, 2)
    ]
    assert pools == {2}
    assert_array_equal(several[0].expected_n_wk, several[1].expected_n_wk)


def test_another_sweep_is_from_samples_again():
    counts = training_counts()
    whole = trained(counts, n_iter=8)
    model = trained(counts, n_iter=5)
    assert model.finish()
    model.n_iter = 8
    for _ in model.iterate(counts, state=model.state_):
        pass
    assert not len(model.state_.expected_n_wk)
    assert_array_equal(model.topics_.topic_word, whole.topics_.topic_word)


def test_samples_where_nothing_else_is_asked_for_or_possible():
    counts = training_counts()
    assert not trained(counts, topics_from="samples").finish()
    assert not trained(counts, burn_in=6).finish()  # no sample
    stream = GibbsLDA(3, n_iter=4, random_state=0).partial_fit(counts[:30])
    assert not len(stream.state_.expected_n_wk)
    assert not stream.partial_fit(counts[30:]).finish()
    with pytest.raises(ValueError, match="topics_from"):
        GibbsLDA(3, topics_from="counts").fit(counts)


def test_a_token_whose_probabilities_all_underflow_is_no_nan():
    counts = sparse.csr_array(np.eye(3, 4, dtype=np.int32))
    settings = {"alpha": 1e-36, "eta": 1e-3, "learn_priors": "none"}
    topics = GibbsLDA(2, start="random", n_iter=2, random_state=0, **settings).fit(counts).topics_
    assert np.isfinite(topics.topic_word).all()
