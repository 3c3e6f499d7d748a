import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from evaluation.topics.stability import cosines
from models import GibbsLDA, GibbsLDAChains
from models.lda import anchor_words
from models.lda.anchor_words import anchor_topics, cooccurrences


def planted(n_docs=400, n_topics=4, length=60, seed=0):
    """Documents of topics that share half of their words; word 10·k is of topic k alone."""
    rng = np.random.default_rng(seed)
    topics = np.full((n_topics, 10 * n_topics), 0.5 / (9 * n_topics))
    topics[:, ::10] = 0.0
    for k in range(n_topics):
        topics[k, 10 * k + 1 : 10 * k + 10] += 0.3 / 9
        topics[k, 10 * k] = 0.2
    shares = rng.dirichlet(np.full(n_topics, 0.3), n_docs)
    counts = np.stack([rng.multinomial(length, share @ topics) for share in shares])
    return topics, sparse.csr_array(counts.astype(np.int32))


def test_cooccurrences_are_those_of_all_pairs_of_tokens():
    counts = np.array([[2, 1, 0], [0, 0, 1], [1, 0, 3], [0, 0, 0]], dtype=np.int32)
    words, others = np.array([2, 0]), np.array([0, 1, 2])
    expected = np.zeros((2, 3))
    for row in counts:
        tokens = np.repeat(np.arange(3), row)
        pairs = [(a, b) for i, a in enumerate(tokens) for j, b in enumerate(tokens) if i != j]
        for a, b in pairs:
            expected += np.outer(words == a, others == b) / len(pairs)
    assert_allclose(cooccurrences(sparse.csr_array(counts), words, others), expected, rtol=1e-12)


def test_cooccurrences_do_not_depend_on_blocks(monkeypatch):
    _, counts = planted(50)
    words = np.arange(counts.shape[1])
    whole = cooccurrences(counts, words, words)
    monkeypatch.setattr("corpora.row_blocks.MAX_ROWS", 7)
    assert_allclose(cooccurrences(counts, words, words), whole, rtol=1e-12)


def test_anchors_of_planted_topics_are_found():
    topics, counts = planted()
    found = anchor_topics(counts, 4)
    assert found.shape == (40, 4)
    assert found.flags.c_contiguous
    assert_allclose(found.sum(axis=0), 1.0)
    # Words beside the anchor of a topic are of all topics of its documents, but of this one first.
    nearest = np.argmax(topics @ found, axis=0)
    assert sorted(nearest) == [0, 1, 2, 3]


def test_anchors_are_among_the_words_of_most_documents(monkeypatch):
    _, counts = planted()
    rare = sparse.csr_array(np.eye(400, 1, dtype=np.int32) * 3)
    counts = sparse.csr_array(sparse.hstack([rare, counts], "csr"))
    monkeypatch.setattr(anchor_words, "MAX_WORDS", 40)
    with_rare_word = anchor_topics(counts, 4)
    monkeypatch.setattr(anchor_words, "MAX_WORDS", 41)
    assert not np.array_equal(anchor_topics(counts, 4), with_rare_word)


@pytest.mark.parametrize(
    ("counts", "n_topics", "n_found"),
    [
        ([[1, 0, 0], [0, 1, 0]], 2, 0),  # no two tokens in a document
        ([[2, 0, 0], [0, 0, 2]], 3, 2),
        ([[1, 1, 1], [2, 2, 2]], 3, 3),
        ([[3, 0], [0, 0]], 5, 1),
    ],
)
def test_fewer_anchors_than_topics(counts, n_topics, n_found):
    counts = sparse.csr_array(np.array(counts, dtype=np.int32))
    found = anchor_topics(counts, n_topics)
    assert found.shape == (counts.shape[1], n_found)
    assert np.isfinite(found).all()
    model = GibbsLDA(n_topics, n_iter=2, start="anchors", random_state=0).fit(counts)
    assert np.isfinite(model.topics_.topic_word).all()


def test_topics_of_the_start_do_not_depend_on_the_seed():
    topics, counts = planted()
    found = [
        GibbsLDA(4, n_iter=30, start="anchors", random_state=seed).fit(counts).topics_.topic_word
        for seed in range(4)
    ]
    for other in found[1:]:  # the same topic has the same number
        assert np.diagonal(cosines(other, found[0])).min() > 0.99
    similar = cosines(topics, found[0])
    assert np.sort(similar.argmax(axis=1)).tolist() == [0, 1, 2, 3]
    assert similar.max(axis=1).min() > 0.98


def test_seeds_and_threads():
    _, counts = planted(3000)

    def fitted(seed, n_jobs):
        model = GibbsLDA(4, n_iter=2, start="anchors", random_state=seed, n_jobs=n_jobs)
        return model.fit(counts).state_.topic_of

    assert_array_equal(fitted(1, 2), fitted(1, 1))
    assert not np.array_equal(fitted(2, 1), fitted(1, 1))


def test_streams_and_frozen_words():
    _, counts = planted()
    model = GibbsLDA(4, n_iter=4, start="anchors", word_budget=30, random_state=0)
    for first in range(0, 400, 100):
        model.partial_fit(counts[first : first + 100])
    assert model.topics_.topic_word.shape == (4, 40)


def test_chains_from_one_start_are_refused():
    with pytest.raises(ValueError, match="3 chains would all begin at the same topics: take"):
        GibbsLDAChains(2, chains=3, start="anchors").check_settings()
    GibbsLDAChains(2, chains=1, start="anchors").check_settings()
