import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import gammaln

from evaluation import log_likelihood
from evaluation.convention import in_convention, log_factorials
from evaluation.document_blocks import DocumentBlock
from evaluation.gamma_poisson.length import log_length_probability
from models import GammaPoissonTopics, LDATopics
from tests.oracles.gamma_poisson_likelihood import documents_of_length
from tests.oracles.lda_likelihood import log_probability_by_enumeration

LDA = LDATopics([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [0.6, 1.5])
GAMMA_POISSON = GammaPoissonTopics([[0.5, 0.3, 0.2], [0.1, 0.9, 0.7]], [0.6, 1.5], [0.4, 0.3])
COUNTS = sparse.csr_array(np.array([[2, 0, 1], [0, 0, 0], [1, 1, 3], [0, 4, 0]]))


def test_factorials_sequences_and_bags():
    expected = gammaln(COUNTS.toarray() + 1).sum(axis=1)
    assert_allclose(log_factorials(COUNTS), expected, rtol=1e-14)
    assert log_factorials(sparse.csr_array((0, 3), dtype=int)).shape == (0,)
    sequence = log_likelihood(LDA, COUNTS, "exact")
    bag = log_likelihood(LDA, COUNTS, "exact", convention="bag")
    assert (sequence.convention, bag.convention) == ("sequence", "bag")
    expected = log_probability_by_enumeration([2, 0, 1], LDA.topic_word, LDA.alpha)
    assert sequence.log_likelihood[0] == pytest.approx(expected, rel=1e-12)
    assert_allclose(bag.log_likelihood - sequence.log_likelihood, np.log([3, 1, 20, 1]), atol=1e-12)


@pytest.mark.parametrize("model", [LDA, GAMMA_POISSON])
def test_bags_of_a_length_sum_to_one(model):
    counts = documents_of_length(4, 3)
    bag = log_likelihood(model, counts, "exact", convention="bag")
    assert np.exp(bag.log_likelihood).sum() == pytest.approx(1, rel=1e-12)
    orders = [math.factorial(4) / math.prod(map(math.factorial, y)) for y in counts]
    sequence = log_likelihood(model, counts, "exact", convention="sequence")
    assert orders @ np.exp(sequence.log_likelihood) == pytest.approx(1, rel=1e-12)


def converted(estimate, convention):
    """The estimate of `COUNTS` by the Gamma-Poisson model in another convention."""
    documents = DocumentBlock(COUNTS)
    return in_convention(estimate, GAMMA_POISSON, documents, convention, log_length_probability)


def test_lengths_are_taken_out_and_put_back():
    both = log_likelihood(GAMMA_POISSON, COUNTS, "left-to-right", n_samples=20, random_state=0)
    assert both.convention == "bag-and-length"
    bag, length = converted(both, "bag"), log_length_probability(GAMMA_POISSON, both.n_tokens)
    assert_allclose(bag.log_likelihood + length, both.log_likelihood, rtol=1e-12)
    assert bag.log_likelihood[1] == pytest.approx(0, abs=1e-12)  # there is one bag of nothing
    assert (bag.standard_error == both.standard_error).all()
    assert (bag.n_documents, both.n_documents) == (3, 4)
    of_documents = (GAMMA_POISSON, DocumentBlock(COUNTS))
    sequence = in_convention(bag, *of_documents, "sequence", log_length_probability)
    again = in_convention(sequence, *of_documents, "bag-and-length", log_length_probability)
    assert_allclose(again.log_likelihood, both.log_likelihood, rtol=1e-12)
    assert in_convention(both, *of_documents, "bag-and-length", log_length_probability) is both


def test_what_cannot_be_converted():
    estimate = log_likelihood(LDA, COUNTS, "exact")
    with pytest.raises(ValueError, match="LDATopics are no model of how long"):
        in_convention(estimate, LDA, DocumentBlock(COUNTS), "bag-and-length")
    with pytest.raises(ValueError, match="convention must be one of"):
        in_convention(estimate, LDA, DocumentBlock(COUNTS), "order")
    with pytest.raises(ValueError, match="convention must be one of"):
        log_likelihood(LDA, COUNTS, "exact", convention="order")
    part = log_likelihood(LDA, COUNTS, "completion", random_state=0)
    with pytest.raises(ValueError, match="a part of each document"):
        in_convention(part, LDA, DocumentBlock(COUNTS), "bag")
