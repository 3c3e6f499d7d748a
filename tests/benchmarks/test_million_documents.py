import numpy as np

from benchmarks.million_documents import MEDIAN_LENGTH, SPREAD, drawn_counts
from models import LDATopics


def model():
    rng = np.random.default_rng(0)
    return LDATopics(rng.dirichlet(np.full(9, 0.3), 3), np.array([0.2, 0.5, 0.1]))


def test_words_and_lengths_are_as_the_model_has_them():
    topics, n_docs = model(), 3_000
    counts = drawn_counts(topics, n_docs, np.random.default_rng(1))
    assert counts.shape == (n_docs, 9)
    assert counts.dtype == np.int32
    assert counts.has_canonical_format
    assert counts.data.min() > 0
    lengths = counts.sum(axis=1)
    # Documents are independent, and their lengths of their topics: 4 standard errors of each sum.
    residuals = counts.toarray() - lengths[:, None] * topics.word_share
    assert np.abs(residuals.sum(axis=0) / np.sqrt((residuals**2).sum(axis=0))).max() < 4
    # The control: topics that are all as frequent.
    other = topics.topic_word.mean(axis=0)
    residuals = counts.toarray() - lengths[:, None] * other
    assert np.abs(residuals.sum(axis=0) / np.sqrt((residuals**2).sum(axis=0))).max() > 10
    log_length = np.log(lengths)  # which are rounded up, by half a token on average
    assert abs(log_length.mean() - np.log(MEDIAN_LENGTH)) < 4 * SPREAD / np.sqrt(n_docs) + 0.005
    # Topics differ between documents, as alpha is small: more than if each word were drawn alone.
    assert np.median(np.abs(residuals).max(axis=1) / lengths) > 0.1


def test_the_same_generator_gives_the_same_documents():
    one, two = (drawn_counts(model(), 50, np.random.default_rng(5)) for _ in range(2))
    assert (one != two).nnz == 0
    assert (one != drawn_counts(model(), 50, np.random.default_rng(6))).nnz
