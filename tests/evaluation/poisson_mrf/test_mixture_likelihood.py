import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import multinomial

from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.exact_likelihood import mixture_exact
from models.poisson_mrf.field_scores import field_scores
from models.poisson_mrf.topics import LPMRFClusters
from tests.evaluation.poisson_mrf.test_exact_likelihood import short_documents, tokens_of
from tests.models.poisson_mrf.test_assignment_kernel import model_of
from tests.oracles import poisson_mrf_topics as oracle


def mixture_of(plain):
    return model_of(plain, LPMRFClusters)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_sum_over_components(seed):
    rng = np.random.default_rng(seed)
    plain = oracle.random_model(rng, n_topics=1 + seed, scale=1.0)
    plain["table"][:, 0] = 0.0
    rows, mixture = short_documents(rng), mixture_of(plain)
    counts = sparse.csr_array(rows)
    found = mixture_exact(mixture, DocumentBlock(counts))
    expected = [oracle.log_probability_of_mixture(tokens_of(row), plain) for row in rows]
    assert_allclose(found.log_likelihood, expected, rtol=1e-12, atol=1e-14)
    assert (found.method, found.convention, found.direction) == ("exact", "sequence", "exact")
    scores = field_scores(mixture, counts)
    for k in range(1 + seed):
        of_field = [oracle.log_probability_of_field(tokens_of(row), plain, k) for row in rows]
        assert_allclose(scores[:, k], of_field, rtol=1e-12, atol=1e-14)
    shares = np.log(mixture.component_share) + scores - found.log_likelihood[:, None]
    assert_allclose(mixture.transform(counts), np.exp(shares), rtol=1e-11)


def test_multinomials_and_documents_of_a_length():
    plain = oracle.random_model(np.random.default_rng(1), n_topics=2, n_words=3, scale=1.5)
    mixture = mixture_of({**plain, "table": np.array(oracle.log_partitions(plain, 4))})
    sequences = np.array(list(itertools.product(range(3), repeat=4)))
    counts = sparse.csr_array((sequences[:, :, None] == np.arange(3)).sum(axis=1))
    found = mixture_exact(mixture, DocumentBlock(counts))
    assert np.exp(found.log_likelihood).sum() == pytest.approx(1.0, rel=1e-12)
    rng = np.random.default_rng(2)
    plain, rows = oracle.random_model(rng, density=0.0), rng.multinomial(60, np.full(5, 0.2), 7)
    mixture = mixture_of({**plain, "table": np.zeros((3, 2))})
    found = mixture_exact(mixture, DocumentBlock(sparse.csr_array(rows))).log_likelihood
    bag = [multinomial.pmf(rows, 60, words) for words in mixture.topic_word]
    one_order = np.exp(multinomial.logpmf(rows, 60, np.full(5, 0.2)) - 60 * np.log(0.2))
    assert_allclose(found, np.log(mixture.component_share @ bag) - np.log(one_order), rtol=1e-12)


def test_longer_than_the_table_and_without_tokens():
    plain = oracle.random_model(np.random.default_rng(3), longest=3)
    mixture, counts = mixture_of(plain), sparse.csr_array([[900, 20, 0, 3, 77], [0, 1, 0, 0, 0]])
    assert np.isfinite(mixture_exact(mixture, DocumentBlock(counts)).log_likelihood).all()
    assert_allclose(mixture.transform(counts).sum(axis=1), 1.0, rtol=1e-12)
    table, z = mixture.log_partition_to(1000)[:, 1000], counts.toarray()[0]
    expected = [
        z @ np.log(plain["topic_word"][k])
        + (z @ plain["phi"][k] @ z) / (1 + (1000 / plain["half_length"][k]) ** 2)
        - table[k]
        for k in range(3)
    ]
    assert_allclose(field_scores(mixture, counts)[0], expected, rtol=1e-12)
    plain = oracle.random_model(np.random.default_rng(4))  # Ã_0 is not 0
    mixture, counts = mixture_of(plain), sparse.csr_array((2, 5), dtype=np.int64)
    found = mixture_exact(
        mixture, DocumentBlock(counts), n_samples=4, seed=3, n_jobs=2, max_memory=1
    )
    assert (found.log_likelihood.tolist(), found.n_documents) == ([0.0, 0.0], 0)
    plain["table"][:, 0] = 0.0
    assert_allclose(mixture_of(plain).transform(counts), [mixture.component_share] * 2, rtol=1e-12)
    assert mixture_exact(mixture, DocumentBlock(counts[:0])).n_tokens.shape == (0,)
