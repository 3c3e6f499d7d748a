import numpy as np
import pytest
from scipy import stats

from evaluation import certify
from evaluation.gamma_poisson.length import log_length_probability
from evaluation.gamma_poisson.simulate import simulated_documents
from models import GammaPoissonTopics


def model(seed=0, n_topics=3, n_words=8):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(n_words, 0.5), n_topics) * rng.gamma(3, 1, (n_topics, 1))
    shape = rng.uniform(0.3, 1.5, n_topics)
    return GammaPoissonTopics(topic_word, shape, rng.uniform(0.3, 0.8, n_topics))


def test_lengths_and_words_have_their_laws():
    topics = model()
    counts, _ = simulated_documents(topics, 20_000, np.random.default_rng(1))
    lengths, most = np.asarray(counts.sum(axis=1)).ravel(), 25
    expected = np.exp(log_length_probability(topics, np.arange(most)))
    expected = np.append(expected, 1 - expected.sum()) * len(lengths)
    found = np.bincount(np.minimum(lengths, most), minlength=most + 1)
    assert stats.chisquare(found, expected).pvalue > 1e-3
    topics = model(1)
    counts, topic_of = simulated_documents(topics, 20_000, np.random.default_rng(2))
    dense = counts.toarray()
    error = dense.std(axis=0) / np.sqrt(len(dense))
    expected = (topics.shape / topics.rate) @ topics.topic_word
    assert (np.abs(dense.mean(axis=0) - expected) < 4.5 * error).all()
    word_of = np.repeat(counts.indices, counts.data)
    for k in range(3):
        of_topic = np.bincount(word_of[topic_of == k], minlength=8)
        share = topics.topic_word[k] / topics.topic_word[k].sum()
        assert stats.chisquare(of_topic, share * of_topic.sum()).pvalue > 1e-3


def test_what_nobody_could_hold_or_certify():
    endless = GammaPoissonTopics([[1.0, 2.0]], [5.0], [1 - 1e-9])
    with pytest.raises(ValueError, match="tokens: too many to simulate"):
        simulated_documents(endless, 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"scores .* of .* tokens"):
        certify(model(), np.full(9, 9), "completion", random_state=0)
    empty = GammaPoissonTopics([[1e-9, 1e-9]], [1e-3], [0.1])
    with pytest.raises(ValueError, match="documents without tokens"):
        certify(empty, np.full(9, 9), "exact", random_state=0)


@pytest.mark.parametrize(
    ("method", "consistent"),
    [("exact", True), ("left-to-right-sequential", True), ("harmonic-mean", False)],
)
def test_a_certificate_tells_right_from_wrong(method, consistent):
    settings = {"n_samples": 100, "n_temperatures": 100, "random_state": 0}
    found = certify(model(2, 4, 30), np.full(60, 9), method, **settings)
    assert found.consistent is consistent
    assert found.gap < 0.1
    assert 40 < found.n_documents <= 60  # those without tokens are left out
