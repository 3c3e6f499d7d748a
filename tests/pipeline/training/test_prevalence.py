import numpy as np
import pytest
from scipy import sparse

from models import LDATopics
from pipeline.training import prevalence as topic_shares
from pipeline.training.prevalence import PrevalenceSum, prevalence_in, shares_in_blocks


@pytest.mark.parametrize("n_topics", [1, 2, 3, 50])
@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_the_sum_is_that_of_all_documents_to_the_bit(n_topics, at_once):
    rng = np.random.default_rng(n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1), 500)
    n_tokens, total = rng.integers(0, 300, 500), PrevalenceSum(n_topics)
    for first in range(0, 500, at_once):
        total.add(n_tokens[first : first + at_once], shares[first : first + at_once])
    expected = (n_tokens[:, None] * shares).sum(axis=0) / n_tokens.sum()
    assert total.prevalence.tolist() == expected.tolist()
    # The control: sums of blocks that are added up differ.
    if n_topics == 50 and at_once == 7:
        parts = [
            (n_tokens[i : i + 7, None] * shares[i : i + 7]).sum(axis=0) for i in range(0, 500, 7)
        ]
        assert (np.sum(parts, axis=0) / n_tokens.sum()).tolist() != expected.tolist()


def test_without_tokens_there_is_no_prevalence():
    assert np.isnan(PrevalenceSum(3).prevalence).all()


def model_and_counts():
    rng = np.random.default_rng(3)
    topics = LDATopics(rng.dirichlet(np.full(8, 0.3), 4), np.full(4, 0.2))
    counts = rng.poisson(1.0, (53, 8))
    counts[[0, 20]] = 0
    return topics, sparse.csr_array(counts.astype(np.int32))


@pytest.mark.parametrize("at_once", [1, 10, 53, 100])
def test_prevalence_does_not_depend_on_the_blocks(at_once, monkeypatch):
    topics, counts = model_and_counts()
    shares, n_tokens = topics.proportions(counts), counts.sum(axis=1)
    monkeypatch.setattr(topic_shares, "DOCUMENTS_AT_ONCE", at_once)
    found = prevalence_in(topics, counts, 1, "prevalence")
    expected = (n_tokens[:, None] * shares).sum(axis=0) / n_tokens.sum()
    assert found.tolist() == expected.tolist()
    blocks = list(shares_in_blocks(topics, counts, 1, "shares"))
    assert [first for first, _, _ in blocks] == list(range(0, 53, at_once))
    assert np.concatenate([n for _, n, _ in blocks]).tolist() == n_tokens.tolist()
    assert np.array_equal(np.concatenate([each for _, _, each in blocks]), shares)
