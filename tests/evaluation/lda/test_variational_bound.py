import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.variational_bound import variational_bound
from models import LDATopics
from tests.evaluation.lda.small_topics import truth_of
from tests.oracles import lda_likelihood, online_vb


@st.composite
def tiny_cases(draw, max_topics=3):
    """At most 3 topics and 6 tokens: 729 assignments."""
    n_topics, n_words = draw(st.integers(1, max_topics)), draw(st.integers(1, 4))
    weight = draw(hnp.arrays(float, (n_topics, n_words), elements=st.floats(0.01, 1.0)))
    alpha = draw(hnp.arrays(float, n_topics, elements=st.floats(0.01, 20.0)))
    counts = draw(
        hnp.arrays(int, n_words, elements=st.integers(0, 3)).filter(lambda c: 1 <= c.sum() <= 6)
    )
    return LDATopics.from_weights(weight, alpha), counts


@settings(max_examples=80, deadline=None)
@given(tiny_cases())
def test_never_above_the_exact_log_probability(case):
    model, counts = case
    exact = lda_likelihood.log_probability_by_enumeration(counts, model.topic_word, model.alpha)
    bound = log_likelihood(model, [counts], "variational-bound").log_likelihood[0]
    assert bound <= exact + 1e-9 * abs(exact) + 1e-12
    assert np.isfinite(bound)


@settings(max_examples=30, deadline=None)
@given(tiny_cases(max_topics=1))
def test_tight_with_one_topic(case):
    model, counts = case
    exact = counts @ np.log(model.topic_word[0])
    bound = log_likelihood(model, [counts], "variational-bound").log_likelihood[0]
    assert bound == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_naive_bound(seed):
    rng = np.random.default_rng(seed)
    model = LDATopics(rng.dirichlet(np.ones(8), 3), rng.gamma(1, 0.5, 3) + 0.05)
    counts = rng.poisson(1.0, size=(6, 8))
    found = variational_bound(model, DocumentBlock(sparse.csr_array(counts)))
    for d, document in enumerate(counts):
        start = model.alpha + document.sum() / 3
        gamma = online_vb.infer_document(document, model.topic_word, model.alpha, start, 1000, 1e-6)
        expected = online_vb.document_bound(document, np.log(model.topic_word), model.alpha, gamma)
        assert found.log_likelihood[d] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (found.standard_error == 0).all()
    assert (found.n_tokens == counts.sum(axis=1)).all()
    assert (found.convention, found.direction) == ("sequence", "lower bound")


@pytest.mark.parametrize("seed", range(3))
def test_near_the_exact_value_on_longer_documents(seed):
    rng = np.random.default_rng(seed)
    model = LDATopics(rng.dirichlet(np.full(10, 0.3), 3), np.full(3, 0.5))
    counts = rng.multinomial(40, rng.dirichlet(np.full(3, 0.5)) @ model.topic_word, size=3)
    found = log_likelihood(model, counts, "variational-bound").log_likelihood
    exact = np.array([truth_of(model, document) for document in counts])
    assert (found <= exact).all()
    assert (found > exact - 3).all()


def test_documents_stand_alone_and_may_be_large():
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.ones(9), 4), np.full(4, 0.1))
    counts = rng.poisson(1.0, size=(70, 9))
    together = log_likelihood(model, counts, "variational-bound").log_likelihood
    alone = [log_likelihood(model, [c], "variational-bound").log_likelihood[0] for c in counts]
    assert (together == alone).all()
    found = log_likelihood(LDATopics([[0.5, 0.5]], [1.0]), [[2**52, 2**40]], "variational-bound")
    assert_allclose(found.log_likelihood, (2**52 + 2**40) * np.log(0.5))


@pytest.mark.parametrize("n_topics", [400, 2000])
def test_short_documents_under_many_topics(n_topics):
    """One token has the mean topic's probability; exp ψ(γ) of its γ underflows."""
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.ones(10), n_topics), np.full(n_topics, 1 / n_topics))
    found = log_likelihood(model, np.eye(10, dtype=int), "variational-bound").log_likelihood
    exact = np.log(model.topic_word.mean(axis=0))
    assert (found <= exact).all()
    assert (found > exact - 2 * np.log(n_topics)).all()
