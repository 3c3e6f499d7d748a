import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import multinomial

from models.poisson_mrf import field_scores as scores
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.field_scores import field_scores, log_arrangements
from models.poisson_mrf.topics import LPMRFClusters
from tests.oracles import poisson_mrf as oracle

HALF_LENGTHS = (np.inf, 4.0, 9.0)


def model_of(seed=0, n_words=4, longest=8, scale=0.5):
    """Fields, with exact tables up to `longest` tokens."""
    rng, fields, table = np.random.default_rng(seed), [], []
    for half_length in HALF_LENGTHS:
        upper = np.triu(rng.normal(0.0, scale, (n_words, n_words)), k=1)
        field = Field(rng.normal(size=n_words), upper + upper.T, half_length).normalised()
        fields.append(field)
        table.append(
            [
                oracle.log_partition(field.node, field.interactions.toarray(), length, half_length)
                + math.lgamma(length + 1)
                for length in range(longest + 1)
            ]
        )
    return LPMRFClusters.of_fields(fields, table, np.ones(len(fields)))


def random_counts(seed=0, n_docs=9, n_words=4, longest=8):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, n_docs)
    lengths[0] = 0
    return sparse.csr_array(rng.multinomial(lengths, np.full(n_words, 1 / n_words)))


@pytest.mark.parametrize("block", [2, 1024])
def test_scores_are_probabilities_of_sequences(monkeypatch, block):
    """The bag's, by the oracle, over the number of its sequences."""
    monkeypatch.setattr(scores, "DOCUMENTS_AT_ONCE", block)
    topics, counts = model_of(), random_counts()
    found = field_scores(topics, counts)
    assert found.shape == (9, 3)
    for d, x in enumerate(counts.toarray().tolist()):
        orders = math.factorial(sum(x)) / math.prod(math.factorial(n) for n in x)
        assert log_arrangements(counts)[d] == pytest.approx(math.log(orders), abs=1e-12)
        for k, field in enumerate(topics.fields):
            arguments = (field.node, field.interactions.toarray())
            bag = oracle.log_bag_weight(*arguments, x, field.half_length)
            bag -= oracle.log_partition(*arguments, sum(x), field.half_length)
            assert found[d, k] == pytest.approx(bag - math.log(orders), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_scores_of_all_documents_of_a_length_sum_to_one(length):
    topics, counts = model_of(), sparse.csr_array(np.array(list(oracle.bags(4, length))))
    bags = field_scores(topics, counts) + log_arrangements(counts)[:, None]
    assert_allclose(np.exp(bags).sum(axis=0), 1.0, rtol=1e-12)


def test_without_interactions_they_are_multinomials():
    words = np.random.default_rng(0).dirichlet(np.ones(4), 2)
    none = [Field(np.log(row), sparse.csr_array((4, 4))) for row in words]
    topics, counts = LPMRFClusters.of_fields(none, np.zeros((2, 2)), np.ones(2)), random_counts()
    found, x = field_scores(topics, counts) + log_arrangements(counts)[:, None], counts.toarray()
    expected = [multinomial.logpmf(x, x.sum(axis=1), row) for row in words]
    assert_allclose(found.T, expected, rtol=1e-12, atol=1e-12)


def test_documents_without_tokens_and_longer_than_the_table():
    topics, nothing = model_of(), sparse.csr_array((2, 4), dtype=np.int64)
    assert_array_equal(field_scores(topics, nothing), np.zeros((2, 3)))
    assert_array_equal(log_arrangements(nothing), np.zeros(2))
    assert field_scores(topics, nothing[:0]).shape == (0, 3)
    assert log_arrangements(nothing[:0]).shape == (0,)
    topics, counts = model_of(longest=4), random_counts(longest=8)
    assert counts.sum(axis=1).max() > 4
    longer = LPMRFClusters(
        *(topics.topic_word, topics.edge_topic, topics.edge_words, topics.edge_weight),
        *(topics.half_length, topics.log_partition_to(8), topics.prior),
    )
    assert_array_equal(field_scores(topics, counts), field_scores(longer, counts))
