import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import gammaln, psi

from models.kernel import read_only
from models.variational.fixed_topics import infer_given_topics, infer_in_float32
from models.variational.halved_weights import halved_weights
from models.variational.inference import documents_of


def infer(counts, weight, alpha, *, tolerance=1e-4, cap=5000, n_jobs=None):
    return infer_given_topics(
        sparse.csr_array(np.atleast_2d(counts)),
        weight,
        halved_weights(weight),
        alpha,
        max_iterations=cap,
        tolerance=tolerance,
        n_jobs=n_jobs,
    )


def in_float32(counts, weight, alpha):
    """Iterations, 0 where float32 does not suffice, and γ (K,) of one document."""
    documents = documents_of(sparse.csr_array(np.array([counts])))
    gamma, iterations = np.empty((1, len(alpha))), np.empty(1, dtype=np.int64)
    weights = halved_weights(weight)
    infer_in_float32(documents, 0, 1, read_only(alpha), weights, 100, 1e-4, gamma, iterations)
    return iterations[0], gamma[0]


def updated(counts, weight, alpha, gamma):
    theta = np.exp(psi(gamma) - psi(gamma.max()))
    return alpha + theta * ((counts / (weight @ theta)) @ weight)


def lower_bound(counts, weight, alpha, gamma):
    """Lower bound of the log-likelihood, up to a constant."""
    elog = psi(gamma) - psi(gamma.sum())
    words = counts @ np.log(weight @ np.exp(elog))
    return words + (alpha - gamma) @ elog + gammaln(gamma).sum() - gammaln(gamma.sum())


def problem(seed, n_topics, prior, n_words=60, length=150):
    """Weights (V, K), the counts (V,) of a document of few topics, and alpha (K,)."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(n_words, 0.2), size=n_topics).T + 1e-6
    shares = weight @ rng.dirichlet(np.full(n_topics, 0.05))
    return weight, rng.multinomial(length, shares / shares.sum()), np.full(n_topics, prior)


def test_halves_make_up_the_weights_of_a_row_in_float32():
    weight = np.random.default_rng(0).gamma(0.1, size=(40, 30))
    weight[3] = 0.0
    weight[4] *= 1e-300
    weight[5] = 0.0
    weight[5, 7] = 3.0  # its share is 1, the largest there is
    high, low = halved_weights(weight)
    found = ((high.astype(np.int32) << 14) + low).view(np.float32)
    whole = weight.sum(axis=1, keepdims=True)
    expected = weight / np.where(whole > 0, whole, 1.0)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-37)
    coarse = (high.astype(np.int32) << 14).view(np.float32)
    assert_allclose(coarse, expected, rtol=2.0**-10, atol=1e-37)


@pytest.mark.parametrize("n_topics", [3, 20, 100])
def test_the_only_fixed_point_is_that_of_plain_iteration(n_topics):
    """With alpha of 1 and more the plain iteration leads from any start to one point."""
    for seed in range(5):
        weight, counts, alpha = problem(seed, n_topics, 1.5)
        rng, ends = np.random.default_rng(seed), []
        for start in (np.full(n_topics, 1.0), rng.gamma(0.3, size=n_topics) + 1e-3):
            gamma = alpha + counts.sum() * start / start.sum()
            for _ in range(3000):
                gamma = updated(counts, weight, alpha, gamma)
            ends.append(gamma)
        assert_allclose(ends[0], ends[1], atol=1e-6)
        assert np.abs(infer(counts, weight, alpha)[0] - ends[0]).mean() < 3e-3
        assert_allclose(infer(counts, weight, alpha, tolerance=1e-10)[0], ends[0], atol=1e-6)


@pytest.mark.parametrize("prior", [0.003, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 1e-6])
def test_an_iteration_over_all_topics_would_change_little(prior, tolerance):
    for seed in range(15):
        weight, counts, alpha = problem(seed, 80, prior)
        gamma = infer(counts, weight, alpha, tolerance=tolerance)[0]
        assert np.abs(updated(counts, weight, alpha, gamma) - gamma).mean() < 2 * tolerance
        assert_allclose(gamma.sum(), alpha.sum() + counts.sum(), atol=80 * 4 * tolerance)


def test_a_topic_left_out_wakes_if_a_word_needs_it():
    """Word 0 seems to be of topics 0 to 9, which other words then leave; only topic 10 has it."""
    weight = np.full((12, 11), 1e-9)
    weight[0, :10] = 1.0
    weight[0, 10] = 0.05
    weight[1:11, :10] = np.eye(10)
    weight[11, 10] = 1.0
    counts = np.zeros(12)
    counts[[0, 11]] = 3, 40
    gamma = infer(counts, weight, np.full(11, 0.05))[0]
    theta = np.exp(psi(gamma))
    assert np.abs(updated(counts, weight, np.full(11, 0.05), gamma) - gamma).mean() < 2e-4
    assert theta[10] > theta[:10].max()


@pytest.mark.parametrize("n_topics", [2, 100, 3000])
@pytest.mark.parametrize("prior", [0.1, 1e-3])
def test_every_token_is_shared_out_however_faint_the_topics(n_topics, prior):
    weight = np.random.default_rng(0).dirichlet(np.ones(20), size=n_topics).T.copy()
    alpha = np.full(n_topics, prior / n_topics)
    counts = np.eye(20, dtype=int)[:4] * [[1], [2], [10], [1]]
    gamma = infer(counts, weight, alpha, tolerance=1e-6)
    assert_allclose(gamma.sum(axis=1), alpha.sum() + counts.sum(axis=1), rtol=1e-4)


@pytest.mark.parametrize(
    ("seed", "n_different", "n_topics"),
    [(26, 20, 30), (67, 5, 100), (68, 20, 30), (88, 20, 100), (141, 20, 30)],
)
def test_topics_hold_no_more_than_there_is_of_hundredths_of_tokens(seed, n_different, n_topics):
    """All topics seem to fade in a document of so little, and wake with up to 10^10 times that."""
    rng = np.random.default_rng(seed)
    kinds = rng.dirichlet(np.full(60, 0.02), size=n_different)
    near = kinds[rng.integers(0, n_different, size=n_topics)]
    weight = (near * (1 + 1e-4 * rng.random(near.shape))).T.copy()
    counts = 0.01 * (rng.random(60) < 0.5) * (weight.sum(axis=1) > 1e-6)
    gamma = infer(counts, weight, np.full(n_topics, 0.05), cap=200)[0]
    assert_allclose(gamma.sum() - 0.05 * n_topics, counts.sum(), atol=2e-4 * n_topics, rtol=0.01)


def test_where_float32_does_not_suffice_float64_takes_over():
    weight, alpha = np.array([[1.0, 1e-30], [0.0, 1.0]]), np.array([0.1, 0.01])
    counts = np.array([50.0, 0.0])
    assert in_float32([50.0, 1.0], weight, alpha)[0] > 0
    assert in_float32([50.0, 1.0], np.array([[1.0, 1.0], [0.0, 0.0]]), alpha)[0] == 0
    assert_allclose(infer(counts, weight, alpha)[0], [50.1, 0.01], atol=1e-3)
    with_nobodys = infer([50.0, 1.0], np.array([[1.0, 1e-3], [0.0, 0.0]]), alpha)[0]
    assert np.isfinite(with_nobodys).all()
    assert with_nobodys[0] == pytest.approx(50.1, abs=0.01)


def test_gamma_that_is_not_finite_is_no_result_of_float32():
    weight = np.full((2, 3), 0.5)
    iterations, gamma = in_float32([1.0, 2.0], weight, np.full(3, 1.0))
    assert iterations > 0
    assert np.isfinite(gamma).all()
    assert in_float32([1.0, 2.0], weight, np.array([1.0, 1.7e308, 1.7e308]))[0] == 0


def test_iterations_are_capped():
    weight, counts, alpha = problem(0, 30, 0.1)
    first = alpha + (counts / weight.sum(axis=1)) @ weight
    assert_allclose(infer(counts, weight, alpha, cap=1)[0], first, rtol=2.0**-10)


@pytest.mark.parametrize("n_topics", [4, 90])
def test_a_document_is_the_same_bits_in_any_company(n_topics):
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.full(60, 0.2), size=n_topics).T.copy()
    counts, alpha = rng.poisson(0.5, size=(100, 60)), np.full(n_topics, 0.1)
    together = infer(counts, weight, alpha)
    assert (infer(counts, weight, alpha, n_jobs=2) == together).all()
    for d in range(0, 100, 7):
        assert (infer(counts[d], weight, alpha)[0] == together[d]).all()


@pytest.mark.parametrize("prior", [0.002, 0.1, 0.6])
@pytest.mark.parametrize("length", [60, 5000])
def test_of_many_topics_an_iteration_would_change_little(prior, length):
    """A short document takes the weights' high halves, a long one both."""
    for seed in range(4):
        weight, counts, alpha = problem(seed, 1000, prior, n_words=300, length=length)
        gamma = infer(counts, weight, alpha)[0]
        assert np.abs(updated(counts, weight, alpha, gamma) - gamma).mean() < 2e-4
        assert_allclose(gamma.sum(), alpha.sum() + counts.sum(), atol=1000 * 4e-4)


def test_topics_that_are_left_out_hold_what_alpha_gives_them():
    """With an alpha above a half every topic holds tokens, if few, and none may be forgotten."""
    weight, counts, alpha = problem(0, 600, 0.8, n_words=300, length=40)
    gamma = infer(counts, weight, alpha)[0]
    plain = alpha + counts.sum() / 600
    for _ in range(3000):
        plain = updated(counts, weight, alpha, plain)
    assert np.abs(gamma - plain).mean() < 1e-3


def test_of_many_topics_fixed_points_are_as_good_as_those_of_plain_iteration():
    """In mean over long documents of few topics: each has many fixed points, of other bounds."""
    alpha, gains = np.full(600, 1 / 30), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weight = rng.dirichlet(np.full(600, 0.05), size=600).T + 1e-6
        shares = weight @ rng.dirichlet(np.full(600, 0.005))
        counts = rng.multinomial(2000, shares / shares.sum())
        weight, counts = weight[counts > 0].copy(), counts[counts > 0]
        plain = alpha + (counts / weight.sum(axis=1)) @ weight
        for _ in range(200):
            plain = updated(counts, weight, alpha, plain)
        bounds = [
            lower_bound(counts, weight, alpha, gamma)
            for gamma in (infer(counts, weight, alpha, cap=200)[0], plain)
        ]
        gains.append(bounds[0] - bounds[1])
    assert np.mean(gains) > -2.0
