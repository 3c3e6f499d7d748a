import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from evaluation.lda.simulate import simulated_documents
from models import LDATopics
from tests.oracles import lda_likelihood

MODEL = LDATopics([[0.6, 0.3, 0.1], [0.0, 0.4, 0.6]], [0.3, 0.5])


def draw(model=MODEL, n_docs=4000, length=3, seed=0):
    return simulated_documents(model, np.full(n_docs, length), np.random.default_rng(seed))


def document_fit(model, seed, simulated_from=None):
    """p-value of the simulated bags of words against their exact probabilities under `model`."""
    counts, _ = draw(simulated_from or model, seed=seed)
    found = Counter(map(tuple, counts.toarray().tolist()))
    bags = [c for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
    orders = [math.factorial(3) / math.prod(map(math.factorial, c)) for c in bags]
    log_p = [
        lda_likelihood.log_probability_by_enumeration(c, model.topic_word, model.alpha)
        for c in bags
    ]
    expected = np.array(orders) * np.exp(log_p) * counts.shape[0]
    assert expected.sum() == pytest.approx(counts.shape[0])
    return chisquare([found[c] for c in bags], expected).pvalue


def assignment_fit(seed, bag=(2, 0, 1), shuffled=False):
    """p-value of the topics of the documents that came out as `bag`, against the posterior."""
    counts, assignments = draw(n_docs=20_000, seed=seed)
    rows = assignments.reshape(-1, 3)[(counts.toarray() == bag).all(axis=1)]
    if shuffled:
        rows = np.random.default_rng(seed).permuted(rows, axis=1)
    tokens, found = lda_likelihood.tokens_of(bag), Counter(map(tuple, rows.tolist()))
    weight = {}
    for z in itertools.product(range(2), repeat=3):
        likelihood = math.prod(MODEL.topic_word[k, w] for k, w in zip(z, tokens, strict=True))
        if likelihood > 0:
            prior = lda_likelihood.log_prior_of_counts([z.count(0), z.count(1)], MODEL.alpha)
            weight[z] = likelihood * math.exp(prior)
    if not shuffled:
        assert set(found) <= set(weight)
    expected = np.array(list(weight.values())) / sum(weight.values()) * len(rows)
    seen = np.array([found[z] for z in weight])
    return chisquare(seen, expected * seen.sum() / len(rows)).pvalue


def test_documents_and_topics_come_with_their_probabilities():
    values = [document_fit(MODEL, seed) for seed in range(6)]
    assert min(values) > 1e-4
    assert max(values) > 0.05
    values = [assignment_fit(seed) for seed in range(6)]
    assert min(values) > 1e-4
    assert max(values) > 0.05


def test_the_chi_square_test_would_notice_other_tokens_and_topics():
    independent = LDATopics(MODEL.topic_word, MODEL.alpha * 1e6)
    assert document_fit(MODEL, 0, simulated_from=independent) < 1e-6
    assert assignment_fit(0, shuffled=True) < 1e-6


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 12), max_size=8),
    st.integers(1, 4),
    st.sampled_from([1e-8, 0.1, 1e3]),
    st.integers(0, 99),
)
def test_shapes(lengths, n_topics, alpha, seed):
    rng = np.random.default_rng(seed)
    weight = rng.gamma(0.3, size=(n_topics, 7)) * (rng.random((n_topics, 7)) < 0.5)
    weight[:, 3] += 0.1
    model = LDATopics.from_weights(weight, alpha)
    counts, assignments = simulated_documents(model, np.array(lengths, dtype=int), rng)
    assert (counts.shape, counts.dtype) == ((len(lengths), 7), np.int64)
    assert counts.has_canonical_format
    assert counts.data.all()
    assert np.asarray(counts.sum(axis=1)).ravel().tolist() == lengths
    assert len(assignments) == sum(lengths)
    assert (model.word_topic[np.repeat(counts.indices, counts.data), assignments] > 0).all()
    if alpha == 1e-8:  # a document has one topic
        doc_of = np.repeat(np.arange(len(lengths)), lengths)
        assert len({*zip(doc_of.tolist(), assignments.tolist(), strict=True)}) == np.sum(
            np.array(lengths) > 0
        )


def test_the_generator_decides():
    first, second, other = draw(seed=1), draw(seed=1), draw(seed=2)
    assert (first[0] != second[0]).nnz == 0
    assert (first[1] == second[1]).all()
    assert (first[0] != other[0]).nnz > 0


def test_what_are_no_lengths():
    for lengths, message in (
        ([1.5], "whole"),
        ([[1, 2]], "one a document"),
        ([3, -1], "negative"),
        (4, "one a document"),
    ):
        with pytest.raises(ValueError, match=message):
            simulated_documents(MODEL, lengths, np.random.default_rng(0))
