from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import chisquare

from models.poisson_mrf import assignment_kernel as kernels
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.topics import LPMRFTopics
from tests.oracles import poisson_mrf_topics as oracle


def model_of(plain, kind=LPMRFTopics):
    each = zip(plain["topic_word"], plain["phi"], plain["half_length"], strict=True)
    fields = [Field(np.log(words), sparse.csr_array(phi), half) for words, phi, half in each]
    return kind.of_fields(fields, plain["table"], plain["alpha"])


def document_of(model, tokens, longest=None):
    """Tokens in ascending order: theirs in the document."""
    words, n = np.unique(np.asarray(tokens, dtype=np.int32), return_counts=True)
    fields = kernels.field_arrays(model, longest or len(tokens))
    place_of = np.full(model.n_words, -1, dtype=np.int32)
    document = kernels.document_of(words, n.astype(np.int64), fields, place_of)
    assert (place_of == -1).all()
    return document


def state_of(document, topic_of):
    return kernels.state_of(document, np.array(topic_of, dtype=np.int32))


def counts_of(state, document):
    z = np.zeros(document.share.shape)
    np.add.at(z, (document.word_of, state.topic_of), 1)
    return z


def check_state(state, document, plain, words):
    z = counts_of(state, document)
    assert (state.n == z.sum(axis=0)).all()
    for k, phi in enumerate(plain["phi"]):
        inner = phi[np.ix_(words, words)] @ z[:, k]
        assert_allclose(state.inner[:, k], inner, atol=1e-11)
        assert_allclose(state.pairs[k], z[:, k] @ inner, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_sums_that_are_kept_are_those_that_would_be_computed_anew(seed):
    rng = np.random.default_rng(seed)
    plain = oracle.random_model(rng, n_topics=4, n_words=12, longest=40)
    tokens = np.sort(rng.integers(0, 12, 40))
    document = document_of(model_of(plain), tokens)
    state = state_of(document, rng.integers(0, 4, 40))
    check_state(state, document, plain, np.unique(tokens))
    visited = set()
    for t in (0.0, 0.3, 1.0, 1.0, *[0.5] * 50):
        kernels.sweep(document, state, t, rng)
        visited.add(tuple(state.n))
        check_state(state, document, plain, np.unique(tokens))
    assert len(visited) > 20


def test_tokens_without_a_topic_get_one():
    rng = np.random.default_rng(0)
    plain = oracle.random_model(rng)
    document = document_of(model_of(plain), (0, 0, 1, 3))
    state = state_of(document, [-1] * 4)
    assert not state.n.any()
    kernels.sweep(document, state, 1.0, rng)
    check_state(state, document, plain, [0, 1, 3])
    assert state.topic_of.min() >= 0


def conditional(plain, tokens, topic_of, place, t):
    """By the oracle, given the topics of all tokens but the one at `place`."""
    log_weight = []
    for k in range(len(plain["alpha"])):
        assignment = [*topic_of[:place], k, *topic_of[place + 1 :]]
        log_weight.append(oracle.log_weight_of_topics(tokens, assignment, plain, t))
    weight = np.exp(np.array(log_weight) - max(log_weight))
    return weight / weight.sum()


@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0, 300.0])
@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
def test_topics_of_one_token(scale, t):
    """What a sweep leaves in `product` is of the last token."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        plain = oracle.random_model(rng, longest=9, scale=scale)
        tokens = np.sort(rng.integers(0, 5, 9))
        document = document_of(model_of(plain), tokens)
        state = state_of(document, rng.integers(0, 3, 9))
        kernels.sweep(document, state, t, rng)
        expected = conditional(plain, tokens, list(state.topic_of), 8, t)
        assert_allclose(state.product / state.product.sum(), expected, rtol=1e-9, atol=1e-100)


def test_what_rounding_leaves_is_no_topic_of_probability_zero():
    plain = oracle.random_model(np.random.default_rng(2), density=0.0)
    plain["topic_word"] = np.array([[0.5, 0.5], [1.0, 1e-322], [1.0, 1e-322]])
    plain["alpha"], plain["phi"] = np.array([1.0, 1e-3, 1e-3]), np.zeros((3, 2, 2))
    document = document_of(model_of(plain), [1])
    state, rng = state_of(document, [-1]), mock.Mock(random=lambda: 1.0)
    getattr(kernels.sweep, "py_func", kernels.sweep)(document, state, 1.0, rng)
    assert state.topic_of.tolist() == [0]


TOKENS = (0, 1, 1, 3)
PLAIN = oracle.random_model(np.random.default_rng(3), n_topics=2, n_words=4, scale=1.5, density=1.0)


def law_at(t):
    every = oracle.assignments(TOKENS, PLAIN)
    weight = np.exp([oracle.log_weight_of_topics(TOKENS, each, PLAIN, t) for each in every])
    return weight / weight.sum()


def invariance(plain, t, swept_at, n=3000):
    """p-value of states that are draws at t still being so after a sweep by another model."""
    law, rng = law_at(t), np.random.default_rng(0)
    states = np.array(oracle.assignments(TOKENS, PLAIN), dtype=np.int32)
    document, seen = document_of(model_of(plain), TOKENS), np.zeros(len(law))
    for start in rng.choice(len(law), n, p=law):
        state = state_of(document, states[start])
        kernels.sweep(document, state, swept_at, rng)
        seen[np.ravel_multi_index(tuple(state.topic_of), (2,) * len(TOKENS))] += 1
    return chisquare(seen, law * n).pvalue


@pytest.mark.parametrize("t", [0.0, 0.2, 1.0])
def test_a_sweep_leaves_its_law_as_it_is(t):
    assert invariance(PLAIN, t, t) > 1e-4


@pytest.mark.parametrize(
    ("wrong", "swept_at"),
    [
        ({}, 0.5),
        ({"phi": PLAIN["phi"] / 2}, 1.0),
        ({"table": np.zeros((2, 9))}, 1.0),
        pytest.param({"half_length": [np.inf] * 2}, 1.0, marks=pytest.mark.slow),
        pytest.param({"alpha": PLAIN["alpha"][::-1]}, 1.0, marks=pytest.mark.slow),
    ],
)
def test_another_law_would_be_noticed(wrong, swept_at):
    assert invariance({**PLAIN, **wrong}, 1.0, swept_at) < 1e-6


@pytest.mark.parametrize(("below", "above"), [(0.0, 0.3), (0.2, 1.0), (0.5, 0.5), (1.0, 0.0)])
def test_log_ratio(below, above):
    rng = np.random.default_rng(4)
    for _ in range(10):
        plain = oracle.random_model(rng, longest=9, scale=2.0)
        tokens, topic_of = np.sort(rng.integers(0, 5, 9)), rng.integers(0, 3, 9)
        document = document_of(model_of(plain), tokens)
        found = kernels.log_ratio(document, state_of(document, topic_of), below, above)
        at = [oracle.log_weight_of_topics(tokens, topic_of, plain, t) for t in (below, above)]
        assert found == pytest.approx(at[1] - at[0], rel=1e-11, abs=1e-11)


def test_log_ratio_of_many_tokens_is_finite():
    plain = oracle.random_model(np.random.default_rng(5), scale=0.0)
    plain["alpha"][:] = 1e-8
    document = document_of(model_of({**plain, "table": np.zeros((3, 3))}), np.zeros(500, dtype=int))
    found = kernels.log_ratio(document, state_of(document, np.zeros(500)), 1e-10, 1.0)
    i = np.arange(1, 500)
    assert found == pytest.approx(np.log((1e-8 + i) / (1e-8 + 1e-10 * i)).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", [pytest.param(np.int16, marks=pytest.mark.slow), np.int32])
def test_sweeps_of_documents_are_those_of_each(kind):
    rng = np.random.default_rng(6)
    plain, dense = oracle.random_model(rng, longest=30), rng.poisson(1.0, (8, 5))
    dense[3] = 0
    model, counts = model_of(plain), sparse.csr_array(dense)
    documents, n_tokens = kernels.documents_of(counts), counts.sum(axis=1)
    assert (np.diff(documents.first_token) == n_tokens).all()
    fields = kernels.field_arrays(model, longest := int(n_tokens.max()))
    start = rng.integers(0, 3, n_tokens.sum()).astype(kind)
    found, expected = start.copy(), start.copy()
    kernels.sweep_documents(documents, found, fields, 5, np.random.default_rng(7), 2, 6)
    rng = np.random.default_rng(7)
    for d in (2, 4, 5):
        tokens = np.repeat(np.arange(5), counts[[d]].toarray()[0])
        of_document = slice(documents.first_token[d], documents.first_token[d + 1])
        document = document_of(model, tokens, longest)
        state = state_of(document, expected[of_document])
        for _ in range(5):
            kernels.sweep(document, state, 1.0, rng)
        expected[of_document] = state.topic_of
    assert (found == expected).all()
    assert (found != start).any()
