import numpy as np
import pytest

from pipeline.reproduce.buntine2009.simulated import draw_lengths, draw_topics, zipf_word_prior


def test_the_zipf_prior_by_hand():
    found = zipf_word_prior(3, 6.0)
    weights = [1 / 2.7, 1 / 3.7, 1 / 4.7]
    assert found == pytest.approx([6 * weight / sum(weights) for weight in weights])


def test_topics_have_the_prior_as_their_mean():
    prior = zipf_word_prior(4, 2.0)
    topics = draw_topics(4000, prior, 0.3, np.random.default_rng(0))
    mean = prior / 2.0
    # Var φ_w = mean (1 - mean) / (concentration + 1)
    error = np.sqrt(mean * (1 - mean) / 3.0 / 4000)
    assert (np.abs(topics.topic_word.mean(axis=0) - mean) < 4 * error).all()
    assert (np.abs(topics.topic_word.mean(axis=0) - 0.25) > 4 * error).any()  # not even
    assert (topics.alpha == 0.3).all()
    assert topics.n_topics == 4000


def test_lengths_have_mean_and_variance():
    n, mean, shape = 20_000, 31.0, 3.0
    lengths = draw_lengths(n, mean, shape, np.random.default_rng(0))
    variance = 30.0 + 30.0**2 / shape
    assert lengths.min() >= 1
    assert abs(lengths.mean() - mean) < 4 * np.sqrt(variance / n)
    squares = (lengths - mean) ** 2
    error = squares.std() / np.sqrt(n)
    assert abs(squares.mean() - variance) < 4 * error
    assert abs(squares.mean() - 30.0) > 4 * error  # as Poisson would have it
