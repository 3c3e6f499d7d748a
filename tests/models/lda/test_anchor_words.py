from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from evaluation import stability
from evaluation.topics.stability import cosines
from models import BetaGammaPFA, GibbsLDA, GibbsLDAChains, OnlineLDA
from models.gibbs import start
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


def alike(models):
    """Smallest cosine of topics of the same number in the first model and another."""
    first, *others = (model.topics_.topic_word for model in models)
    return min(np.diagonal(cosines(other, first)).min() for other in others)


def test_planted_topics_have_the_same_numbers_from_every_seed_and_order_of_documents():
    topics, counts = planted()
    rng = np.random.default_rng(0)
    found = [
        GibbsLDA(4, n_iter=30, start="anchors", random_state=seed).fit(each)
        for seed, each in enumerate([counts, counts, counts[rng.permutation(400)]])
    ]
    assert alike(found) > 0.99
    similar = cosines(topics, found[0].topics_.topic_word)
    assert np.sort(similar.argmax(axis=1)).tolist() == [0, 1, 2, 3]
    assert similar.max(axis=1).min() > 0.98


@pytest.mark.parametrize("start", ["anchors", "online"])
def test_seeds_find_the_same_topics_from_anchors_alone(start):
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(200, 0.1), 20)
    shares = rng.dirichlet(np.full(20, 0.1), 300)
    counts = np.stack([rng.multinomial(50, share @ truth) for share in shares])
    models = [
        GibbsLDA(20, n_iter=20, start=start, random_state=seed).fit(counts) for seed in range(3)
    ]
    found = stability(models[0].topics_, [model.topics_ for model in models[1:]])
    # Of six groups of seeds and two samplers: 0.85 to 0.925, and 0.65 to 0.8 from an online start.
    assert (found.share > 0.82) == (start == "anchors")


def naive_corners(rows, n_corners):
    corners = [np.argmax(np.linalg.norm(rows, axis=1))]
    while len(corners) < n_corners:
        span = (rows[corners[1:]] - rows[corners[0]]).T
        apart = (rows - rows[corners[0]]).T
        if span.shape[1]:
            apart = apart - span @ np.linalg.lstsq(span, apart)[0]
        corners.append(np.argmax(np.linalg.norm(apart, axis=0)))
    return corners


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_corners_are_the_rows_farthest_from_the_affine_span(seed, n_corners):
    rows = np.random.default_rng(seed).dirichlet(np.full(15, 0.5), 30)
    expected = naive_corners(rows, n_corners)
    assert anchor_words._corners(rows, n_corners).tolist() == expected


@pytest.mark.parametrize("seed", [5, 54])  # where rounded distances would not break ties
def test_ties_take_the_first_word_whatever_the_order_of_sums(seed):
    rng = np.random.default_rng(seed)
    six_copies = np.kron(np.eye(6), rng.poisson(0.08, (150, 60))).astype(np.int32)
    words = np.arange(360)
    rows = cooccurrences(sparse.csr_array(six_copies), words, words)
    rows = rows[rows.any(axis=1)]
    rows /= rows.sum(axis=1, keepdims=True)
    found = anchor_words._corners(rows.copy(), 300)
    for _ in range(4):
        permuted = np.ascontiguousarray(rows[:, rng.permutation(360)])
        assert_array_equal(anchor_words._corners(permuted, 300), found)


def test_the_run_of_the_start_begins_at_the_topics_of_anchors():
    _, counts = planted()
    state = OnlineLDA(6, word_budget=30, random_state=0).resume(counts, None).state_
    before = state.excess.copy()
    start._begin_at_anchors(state, counts)
    topics = anchor_topics(counts, 6)
    assert topics.shape[1] == 6
    expected = topics * 0.1 * counts.sum() / 6
    expected[state.frozen] = 0.0
    assert state.frozen.sum() == 10
    assert_allclose(state.excess, expected)
    with mock.patch.object(start, "anchor_topics", return_value=topics[:, :2]):
        state.excess = before.copy()
        start._begin_at_anchors(state, counts)
    assert_allclose(state.excess[~state.frozen, 2:], before[~state.frozen, 2:])


@pytest.mark.parametrize(
    ("n_docs", "n_topics", "batch_size", "n_passes"),
    [
        (100, 20, 100, 3),
        (25_000, 100, 25_000, 3),
        (60_000, 100, 40_000, 2),
        (1_000_000, 100, 40_000, 1),
        (25_000, 1500, 2666, 1),
        (25_000, 10_000, 1000, 1),
    ],
)
def test_few_steps_of_many_documents(n_docs, n_topics, batch_size, n_passes):
    steps = start._anchored_steps(n_docs, n_topics)
    assert (steps["batch_size"], steps["n_passes"]) == (batch_size, n_passes)


def test_zeros_that_are_stored_change_nothing(monkeypatch):
    monkeypatch.setattr(anchor_words, "MAX_WORDS", 20)
    _, counts = planted(100)
    dense = counts.toarray()
    dense[:, ::2][dense[:, ::2] == 0] = -1
    stored = sparse.csr_array(dense)
    stored.data[stored.data < 0] = 0
    assert stored.nnz > counts.nnz
    assert_array_equal(anchor_topics(stored, 4), anchor_topics(counts, 4))


def test_seeds_and_threads():
    _, counts = planted(3000)

    def fitted(seed, n_jobs):
        model = GibbsLDA(4, n_iter=2, start="anchors", random_state=seed, n_jobs=n_jobs)
        return model.fit(counts).state_.topic_of

    assert_array_equal(fitted(1, 2), fitted(1, 1))
    assert not np.array_equal(fitted(2, 1), fitted(1, 1))


@pytest.mark.parametrize(
    ("estimator", "n_docs", "start"),
    [
        *((GibbsLDA, 1000, "anchors"), (GibbsLDA, 999, "online")),
        *((GibbsLDAChains, 1000, "online"), (BetaGammaPFA, 1000, "online")),
    ],
)
def test_the_start_that_auto_stands_for(estimator, n_docs, start):
    counts = np.random.default_rng(0).poisson(0.3, (n_docs, 12)).astype(np.int32)
    counts[:, 0] += 1

    def first_topics(**settings):
        model = estimator(3, random_state=0, **settings).resume(counts, None)
        return np.asarray(model.state_.topic_of)

    found = {each: first_topics(start=each) for each in ("auto", "online", "anchors", "random")}
    same = [each for each, topics in found.items() if np.array_equal(topics, found["auto"])]
    assert same == ["auto", start]
    assert_array_equal(first_topics(), found["auto"])


def test_many_topics_begin_at_the_online_start():
    assert [GibbsLDA(k)._start_of(1000) for k in (2000, 2001)] == ["anchors", "online"]
    assert GibbsLDA(2001, start="anchors")._start_of(10) == "anchors"
