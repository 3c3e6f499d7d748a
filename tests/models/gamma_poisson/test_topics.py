import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from models import GammaPoissonTopics
from tests.oracles.gamma_poisson_likelihood import length_probabilities, simulated_documents

PHI = np.array([[0.5, 1.0, 0.0, 0.3], [0.2, 0.3, 0.1, 0.4]])
R, P = np.array([0.7, 2.0]), np.array([0.4, 0.6])


def topics():
    return GammaPoissonTopics(PHI, R, P)


def test_shapes_rates_and_arrays_of_its_own():
    model = topics()
    assert (model.n_topics, model.n_words) == (2, 4)
    assert_allclose(model.rate, [1.5, 2 / 3])
    one = GammaPoissonTopics([0.25, 0.75], 0.5, 0.5)
    assert one.topic_word.shape == (1, 2)
    assert one.shape.shape == one.probability.shape == (1,)
    assert model.tilted is model.tilted
    given = PHI.copy()
    model = GammaPoissonTopics(given, R, P)
    given[0, 0] = 9.0
    assert model.topic_word[0, 0] == 0.5


def test_what_is_no_model():
    for topic_word, shape, probability, message in (
        (PHI, [1.0], P, "shape"),
        (PHI, R, [0.5], "probability"),
        (PHI, R, [[0.5, 0.5]], "probability"),
        *((PHI, [1.0, r], P, "shape must be positive") for r in (0.0, -1.0, np.inf, np.nan)),
        *((PHI, R, [0.5, p], "must be strictly between 0 and 1") for p in (0.0, 1.0, np.nan)),
        (PHI, R, [0.5, -0.1], r"found -0\.1 to 0\.5"),
        (-PHI, R, P, "none negative"),
        (PHI * np.nan, R, P, "finite"),
        (PHI + np.inf, R, P, "finite"),
        (PHI * 0, R, P, "only zeros"),
        (np.empty((0, 3)), [], [], "a topic and a word"),
        (np.empty((2, 0)), R, P, "a topic and a word"),
        (PHI[None], R, P, "n_topics, n_words"),
    ):
        with pytest.raises(ValueError, match=message):
            GammaPoissonTopics(topic_word, shape, probability)
    assert GammaPoissonTopics([[0.5, 0.5], [0.0, 0.0]], R, P).tilted.topic_word[1].sum() == 0


def test_expected_shares_and_thinning():
    counts = simulated_documents(PHI, R, P, 40_000, np.random.default_rng(0))
    share = topics().word_share
    assert share.sum() == pytest.approx(1)
    # The ratio of two means, linearised.
    residual = counts - share * counts.sum(axis=1, keepdims=True)
    error = residual.std(axis=0) / np.sqrt(len(counts)) / counts.sum(axis=1).mean()
    assert (np.abs(residual.mean(axis=0)) / counts.sum(axis=1).mean() < 4 * error).all()
    assert share[0] != pytest.approx(PHI.sum(axis=0)[0] / PHI.sum(), rel=0.02)  # topics differ
    assert_allclose(topics().thinned(0.25).topic_word, PHI / 4)
    assert (topics().thinned(1).topic_word == PHI).all()
    for bad in (0.0, -0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="share must be above 0"):
            topics().thinned(bad)


def test_words_in_another_order_and_smoothed():
    order = np.array([2, 0, 3, 1])
    moved = topics().with_words(order)
    assert (moved.topic_word == PHI[:, order]).all()
    assert (moved.shape == R).all()
    smooth = topics().smoothed(0.1)
    assert (smooth.topic_word > 0).all()
    assert_allclose(smooth.topic_word.sum(axis=1), PHI.sum(axis=1), rtol=1e-14)
    found = length_probabilities(20, smooth.topic_word, R, P)
    assert_allclose(found, length_probabilities(20, PHI, R, P))
    assert (topics().smoothed(0.0).topic_word == PHI).all()


def test_scores_of_one_topic_are_the_posterior_mean():
    phi, r, p = np.array([0.4, 0.9]), 0.7, 0.6
    prior = stats.gamma(r, scale=p / (1 - p))

    def moment(power):
        def integrand(theta):
            return theta**power * prior.pdf(theta) * stats.poisson.pmf([3, 2], theta * phi).prod()

        return integrate.quad(integrand, 0, 60)[0]

    found = GammaPoissonTopics([phi], [r], [p]).transform([[3, 2], [0, 0]])
    assert found[0, 0] == pytest.approx(moment(1) / moment(0), rel=1e-6)
    assert found[1, 0] == pytest.approx(0.7 / (1.3 + 2 / 3), rel=1e-9)


def test_scores_find_the_topics_of_documents():
    model = GammaPoissonTopics(np.kron(np.eye(2), [[0.5, 0.5]]), [0.5, 0.5], [0.9, 0.9])
    scores = model.transform([[20, 10, 0, 0], [5, 5, 30, 30]])
    # Topics without common words: each is the one topic of its own words.
    assert_allclose(scores, np.array([[30.5, 0.5], [10.5, 60.5]]) / (1 + 1 / 9), rtol=1e-4)
    shares = model.proportions([[20, 10, 0, 0], [5, 5, 30, 30]])
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_allclose(shares[1], [10.5 / 71, 60.5 / 71], rtol=1e-4)


def test_from_lda():
    model = GammaPoissonTopics.from_lda([[0.5, 0.5], [0.1, 0.9]], [0.3, 0.4], 0.2)
    assert (model.shape.tolist(), model.probability.tolist()) == ([0.3, 0.4], [0.2, 0.2])
    length = length_probabilities(10, model.topic_word, model.shape, model.probability)
    assert_allclose(length, stats.nbinom.pmf(np.arange(11), 0.7, 0.8), rtol=1e-12)
