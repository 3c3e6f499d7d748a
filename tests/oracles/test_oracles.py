import math

import numpy as np
import pytest

from tests.oracles import lda_likelihood as oracle
from tests.oracles.simulated import block_topics, simulated_documents


@pytest.mark.parametrize("seed", range(5))
def test_enumeration_and_polynomial_agree(seed):
    rng = np.random.default_rng(seed)
    topic_word, alpha = rng.dirichlet(np.ones(4), 3), rng.gamma(1, 1, 3) + 0.05
    arguments = (rng.multinomial(6, np.full(4, 0.25)), topic_word, alpha)
    assert oracle.log_probability_by_polynomial(*arguments) == pytest.approx(
        oracle.log_probability_by_enumeration(*arguments), rel=1e-12
    )


def test_probabilities_of_all_documents_of_a_length_sum_to_one():
    topic_word, alpha = np.random.default_rng(0).dirichlet(np.ones(3), 2), np.array([0.3, 0.8])
    total = 0.0
    for a in range(5):
        for b in range(5 - a):
            counts = [a, b, 4 - a - b]
            orders = math.factorial(4) / math.prod(map(math.factorial, counts))
            p = math.exp(oracle.log_probability_by_enumeration(counts, topic_word, alpha))
            total += orders * p
    assert total == pytest.approx(1.0, rel=1e-12)


def test_one_token_is_of_the_mean_topic():
    topic_word, alpha = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1.0, 3.0])
    found = oracle.log_probability_by_enumeration([1, 0], topic_word, alpha)
    assert found == pytest.approx(math.log(0.25 * 0.9 + 0.75 * 0.2))


def test_simulated_documents_have_the_means_of_the_model():
    counts, proportions = simulated_documents(
        block_topics(2, 2), [1.0, 3.0], 2000, 10, np.random.default_rng(0)
    )
    assert (counts.sum(axis=1) == 10).all()
    # Var θ_1 = 0.25 · 0.75 / 5
    assert abs(proportions[:, 0].mean() - 0.25) < 4 * math.sqrt(0.0375 / 2000)
    share = counts[:, :2].sum() / counts.sum()
    assert abs(share - 0.25) < 4 * math.sqrt((0.0375 + 0.15 / 10) / 2000)
