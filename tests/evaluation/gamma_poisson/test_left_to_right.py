import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.gamma_poisson.left_to_right import EXACTLY, left_to_right, log_factors
from models import GammaPoissonTopics
from tests.evaluation.gamma_poisson.models_of import arrays_of, model_of, truth_of
from tests.oracles.gamma_poisson_likelihood import (
    conditional_by_partitions,
    log_probability_of_one_topic,
)

METHODS = pytest.mark.parametrize("method", ["left-to-right", "left-to-right-exact"])


def document_of(topics, document, norm=None):
    """What the kernel takes of a document, words in the order of the vocabulary.

    `norm` (K,) is what a scale of scores is p over, for misprints.
    """
    topic_word, _, p = arrays_of(topics)
    norm = 1 - p + p * topic_word.sum(axis=1) if norm is None else norm
    words, padding = np.flatnonzero(document), (0, 8 - topics.n_topics)
    weight = np.pad((topic_word * (p / norm)[:, None]).T[words], ((0, 0), padding))
    stays = np.pad((1 - p) / norm, padding, constant_values=1.0)
    counts, shape = np.asarray(document)[words], np.pad(topics.shape, padding)
    return weight, np.zeros(len(words)), counts, shape, stays


def naive_chain(topics, document, n_sweeps, rng):
    """Algorithm 1 with exact conditionals, in the symbols of the paper."""
    phi, r, p = arrays_of(topics)
    n_topics, words = len(r), np.flatnonzero(document)
    x, factors = np.zeros((len(words), n_topics), dtype=int), []

    def pick(weights):
        return int(np.searchsorted(np.cumsum(weights), rng.random() * sum(weights), side="right"))

    def sweep(w):  # eqs. 15 and 16
        scale = p / (1 - p + p * phi[:, words[:w]].sum(axis=1))
        theta = [rng.standard_gamma(r[k] + x[:w, k].sum()) * scale[k] for k in range(n_topics)]
        for v in range(w):
            x[v] = 0
            for _ in range(document[words[v]]):
                x[v, pick(phi[:, words[v]] * theta)] += 1

    for w, word in enumerate(words):
        y, left = document[word], phi[:, words[:w]].sum(axis=1)
        success = phi[:, word] * p / (1 - p + p * (left + phi[:, word]))
        factors.append([])
        for _ in range(n_sweeps):
            sweep(w)
            shape = r + x[:w].sum(axis=0)
            factors[-1].append(conditional_by_partitions(y, shape, success))  # eq. 17
        # x_w by clusters, as the kernel draws it; by what law is tested elsewhere.
        while y:
            none = (1 - success) ** shape
            of_rest = [conditional_by_partitions(n, shape, success) / none.prod() for n in range(y)]
            size = 1 + pick([(shape @ success**j) * of_rest[y - j] for j in range(1, y + 1)])
            x[w, pick(shape * success**size)] += size
            y -= size
    factors.append([])
    for _ in range(n_sweeps):
        sweep(len(words))
        ratio = (1 - p + p * phi[:, words].sum(axis=1)) / (1 - p + p * phi.sum(axis=1))
        factors[-1].append(np.prod(ratio ** (r + x.sum(axis=0))))  # eq. 22
    return np.array(factors)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_the_same_factors_as_plain_loops(n_topics, seed):
    topics, document = model_of(seed, n_topics, 6), np.array([2, 0, 1, 3, 0, 1])
    one, other = np.random.default_rng(7), np.random.default_rng(7)
    found = np.exp(log_factors(*document_of(topics, document), 5, EXACTLY, one))
    assert_allclose(found, naive_chain(topics, document, 5, other), rtol=1e-9)


def test_the_estimate_is_the_product_of_mean_factors_in_a_random_order():
    topics, document = model_of(1, 3, 6), np.array([2, 0, 1, 3, 1, 1])
    rng = np.random.default_rng([4, 0])
    moved = np.append(np.flatnonzero(document)[rng.permutation(5)], 1)
    factors = naive_chain(topics.with_words(moved), document[moved], 9, rng)
    found = log_likelihood(topics, [document], "left-to-right-exact", n_samples=9, random_state=4)
    assert found.log_likelihood[0] == pytest.approx(np.log(factors.mean(axis=1)).sum())
    batches = (factors / factors.mean(axis=1, keepdims=True)).reshape(-1, 3, 3).mean(axis=2)
    error = math.sqrt((batches.var(axis=1, ddof=1) / 3).sum())
    assert found.standard_error[0] == pytest.approx(error)


@pytest.mark.parametrize("n_proposals", [EXACTLY, 1, 2])
@pytest.mark.parametrize("document", [[1, 2, 0, 1], [3, 0, 1, 0]])
def test_the_product_of_one_chains_factors_is_unbiased(document, n_proposals):
    """Sweeps leave p(x_<w | y_<w) as it is. Misprints and omissions are found out."""
    topics, rng = model_of(6), np.random.default_rng(0)
    truth = truth_of(topics, document)

    def z(log_f):
        ratios = np.exp(log_f.sum(axis=1) - truth)
        return abs(ratios.mean() - 1) / (ratios.std() / math.sqrt(len(ratios)))

    def chains(n_chains, norm=None):
        arrays = document_of(topics, document, norm)
        factors = [log_factors(*arrays, 1, n_proposals, rng) for _ in range(n_chains)]
        return np.array(factors)[:, :, 0]

    log_f = chains(10_000)
    assert z(log_f) < 4
    # Negative controls: without eq. 22, and scales as if every topic summed to 1.
    assert z(log_f[:, :-1]) > 4
    assert z(chains(2000, norm=np.ones(2))) > 4


@METHODS
@pytest.mark.parametrize("seed", range(2))
def test_close_to_the_truth_on_many_documents(method, seed):
    topics, counts = model_of(seed, 2, 5), np.random.default_rng(seed).poisson(1.2, size=(300, 5))
    truth = np.array([truth_of(topics, document) for document in counts])
    found = log_likelihood(topics, counts, method, n_samples=200, random_state=seed)
    ratios = np.exp(found.log_likelihood - truth)
    assert abs(ratios.mean() - 1) < 4 * ratios.std() / math.sqrt(len(ratios))
    assert ratios.std() < 0.2
    assert (found.method, found.convention, found.direction) == (method, "bag-and-length", "biased")


def errors_of(method, n_samples, seed):
    topics, counts = model_of(4, 3, 6), np.random.default_rng(1).poisson(1.2, size=(60, 6))
    found = log_likelihood(topics, counts, method, n_samples=n_samples, random_state=seed)
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    return found.log_likelihood - truth, found.standard_error


@pytest.mark.slow
@METHODS
def test_more_samples_bring_it_closer(method):
    spread = [np.sqrt((errors_of(method, n, 0)[0] ** 2).mean()) for n in (20, 200, 2000)]
    assert 2 < spread[0] / spread[1] < 5
    assert 2 < spread[1] / spread[2] < 5


@METHODS
def test_the_standard_error_is_about_the_error(method):
    errors, standard_errors = errors_of(method, 1000, 1)
    ratio = np.sqrt((errors**2).mean() / (standard_errors**2).mean())
    assert 0.6 < ratio < 1.6


@pytest.mark.slow
def test_exact_conditionals_are_less_noisy():
    topics, counts = model_of(4, 3, 6), np.random.default_rng(0).poisson(5, size=(200, 6))
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    sampled, exact = (
        log_likelihood(topics, counts, method, n_samples=100, random_state=0).log_likelihood
        for method in ("left-to-right", "left-to-right-exact")
    )
    assert np.std(sampled - truth) > 1.1 * np.std(exact - truth)


@pytest.mark.slow
def test_more_proposals_are_less_noisy():
    topics = model_of(4, 3, 6)
    counts = sparse.csr_array(np.random.default_rng(0).poisson(5, size=(200, 6)))
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    one, many = (
        left_to_right(topics, DocumentBlock(counts), n_samples=50, n_proposals=n).log_likelihood
        for n in (1, 100)
    )
    assert np.std(one - truth) > np.std(many - truth)


def test_exact_with_one_topic():
    phi, r, p = [0.3, 0.7, 0.01, 0.9], 0.4, 0.8
    topics = GammaPoissonTopics([phi], [r], [p])
    counts = [[300, 0, 1, 20], [0, 0, 0, 1], [0, 0, 0, 0]]
    expected = [log_probability_of_one_topic(document, phi, r, p) for document in counts]
    for method in ("left-to-right", "left-to-right-exact"):
        found = log_likelihood(topics, counts, method, n_samples=4, random_state=0)
        assert_allclose(found.log_likelihood, expected, rtol=1e-10)
        assert_allclose(found.standard_error, 0.0, atol=1e-10)
        assert found.n_samples.tolist() == [4, 4, 0]


@pytest.mark.parametrize("probability", [1e-9, 0.5, 1 - 1e-9])
@METHODS
def test_extreme_scales_and_counts(method, probability):
    """Shapes are so large that topic counts hardly vary: what could go wrong are the numbers."""
    topic_word = [[0.5, 0.5, 1e-250], [0.4, 0.6, 0.0]]
    topics = GammaPoissonTopics(topic_word, [2e4, 3e4], [probability] * 2)
    counts = [[400, 300, 2], [0, 1, 0]]
    found = log_likelihood(topics, counts, method, n_samples=1000, random_state=0)
    truth = log_likelihood(topics, counts, "exact").log_likelihood
    assert (found.standard_error < 0.5).all()
    # Five: of 30 batches, a standard error is itself known to 13 %.
    tolerance = 5 * found.standard_error + 1e-11 * np.abs(truth)
    assert (np.abs(found.log_likelihood - truth) < tolerance).all()
