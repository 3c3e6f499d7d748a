import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln, xlogy

from models.poisson_mrf import field_scores, topic_matrices
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.document_edges import edges_within
from models.poisson_mrf.move_kernel import TopicSums, sum_topics, sweep_moves
from models.poisson_mrf.topic_matrices import TopicMatrices, map_assignment, single_topic_scores
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from tests.oracles.topic_matrices import (
    all_matrices,
    greatest_gain,
    log_probability,
    log_probability_of_field,
)

SEEDS = range(8)


def random_topics(rng, n_topics, n_words, longest=20, scale=0.4):
    """Fields of any sign, with and without a half length, and tables that are far from 0."""
    fields = []
    for _ in range(n_topics):
        upper = np.triu(rng.normal(0.0, scale, (n_words, n_words)), k=1)
        upper *= rng.random(upper.shape) < 0.7
        half_length = rng.choice([2.0, 6.0, np.inf])
        fields.append(Field(rng.normal(0.0, 1.5, n_words), upper + upper.T, half_length))
    steps = rng.normal(0.1, 0.5, (n_topics, longest))
    table = np.concatenate([np.zeros((n_topics, 1)), np.cumsum(steps, axis=1)], axis=1)
    return LPMRFTopics.of_fields(fields, table, np.ones(n_topics))


def multinomial_topics(topic_word):
    topic_word = np.asarray(topic_word, dtype=float)
    none = sparse.csr_array(topic_word.shape[1:] * 2)
    fields = [Field(np.log(row), none) for row in topic_word]
    return LPMRFTopics.of_fields(fields, np.zeros((len(fields), 2)), np.ones(len(topic_word)))


def random_counts(rng, n_docs, n_words, most=4):
    return sparse.csr_array(
        rng.integers(0, most + 1, (n_docs, n_words)) * (rng.random((n_docs, n_words)) < 0.7)
    )


def random_case(n_topics, n_words, n_docs, seed=0, **settings):
    rng = np.random.default_rng(seed)
    topics = random_topics(rng, n_topics, n_words, **settings)
    return rng, topics, random_counts(rng, n_docs, n_words)


def random_start(rng, counts, n_topics):
    return rng.multinomial(counts.data, rng.dirichlet(np.ones(n_topics), counts.nnz))


def matrix_of(found, d):
    columns = [found.of_topic(k)[[d]].toarray().ravel() for k in range(found.n_topics)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("from_start", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_objective_is_the_probability_of_the_matrices(seed, from_start):
    rng = np.random.default_rng(seed)
    n_topics = int(rng.integers(1, 5))
    topics, counts = random_topics(rng, n_topics, 6), random_counts(rng, 4, 6)
    start = random_start(rng, counts, n_topics) if from_start else None
    found = map_assignment(topics, counts, start)
    for d in range(counts.shape[0]):
        Z = matrix_of(found, d)
        assert_array_equal(Z.sum(axis=1), counts[[d]].toarray().ravel())
        assert_allclose(found.objective[d], log_probability(topics, Z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_single_move_is_better(seed):
    rng = np.random.default_rng(seed)
    n_topics = int(rng.integers(2, 5))
    topics, counts = random_topics(rng, n_topics, 5), random_counts(rng, 4, 5)
    start = random_start(rng, counts, n_topics)
    before = map_assignment(topics, counts, start, max_sweeps=0)
    gains = [greatest_gain(topics, matrix_of(before, d)) for d in range(4)]
    assert max(gains) > 0.1  # the random start is none such
    for found in (map_assignment(topics, counts, start), map_assignment(topics, counts)):
        for d in range(4):  # 1e-9 is the tolerance, the rest rounding
            assert greatest_gain(topics, matrix_of(found, d)) < 1e-9 + 1e-11


def test_documents_longer_than_the_table():
    _, topics, counts = random_case(3, 5, 5, longest=4)
    assert counts.sum(axis=1).max() > 4
    found = map_assignment(topics, counts)
    for d in range(5):
        Z = matrix_of(found, d)
        assert_allclose(found.objective[d], log_probability(topics, Z), rtol=1e-12)
        assert greatest_gain(topics, Z) < 1e-9 + 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_of_all_matrices_is_found_from_some_start(seed):
    rng, n_topics = np.random.default_rng(seed), 2 + seed % 2
    topics, x = random_topics(rng, n_topics, 4), rng.integers(1, 4, 4)
    matrices = np.array(list(all_matrices(x, n_topics)))
    scores = np.array([log_probability(topics, Z) for Z in matrices])
    best = scores.argmax()
    assert map_assignment(topics, x[None]).objective[0] <= scores[best] + 1e-10
    # each matrix as a start, of as many documents
    found = map_assignment(topics, np.tile(x, (len(matrices), 1)), matrices.reshape(-1, n_topics))
    assert (found.objective <= scores[best] + 1e-10).all()
    assert (found.objective >= scores - 1e-10).all()
    assert_array_equal(found.split.reshape(matrices.shape)[best], matrices[best])
    assert_allclose(np.delete(found.objective, best).max(), scores[best], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_objective_never_falls(seed):
    rng, topics, counts = random_case(4, 12, 10, seed, longest=60)
    start = random_start(rng, counts, 4)
    traces = [map_assignment(topics, counts, start, max_sweeps=n) for n in range(12)]
    steps = np.diff([each.objective for each in traces], axis=0)
    assert (steps > -1e-11).all()
    assert (steps[0] > 0).all()
    assert_array_equal(traces[-1].split, map_assignment(topics, counts, start).split)
    step_by_step = map_assignment(topics, counts, traces[2].split, max_sweeps=3)
    assert_array_equal(step_by_step.split, traces[5].split)


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_maintained(seed):
    rng, topics, counts = random_case(3, 8, 1, seed, longest=40)
    shares, words = random_start(rng, counts, 3).astype(np.int32), counts.indices.astype(np.int32)
    fields = topic_matrices._field_tables(topics, int(counts.sum()))
    edges = edges_within(words, 3, topics.neighbours, np.full(8, -1, dtype=np.int32))
    empty = (np.empty(3, dtype=np.int64), np.empty(3), np.empty((3, len(words))))
    sums, anew = (TopicSums(*(array.copy() for array in empty)) for _ in range(2))
    sum_topics(shares, edges, sums)
    assert sweep_moves(words, edges, fields, 0.0, shares, sums) > 0
    sum_topics(shares, edges, anew)
    whole = np.zeros((8, 3))
    whole[words] = shares
    for k, field in enumerate(topics.fields):
        inner = field.interactions @ whole[:, k]
        assert_allclose(anew.inner[k], inner[words], atol=1e-12)
        assert_allclose(anew.pairs[k], whole[:, k] @ inner, atol=1e-12)
    assert_array_equal(sums.length, anew.length)
    assert_allclose(sums.pairs, anew.pairs, atol=1e-11)
    assert_allclose(sums.inner, anew.inner, atol=1e-12)


def test_without_dependencies_it_is_a_product_of_multinomials():
    rng = np.random.default_rng(0)
    topics = multinomial_topics(rng.dirichlet(np.full(9, 0.3), 3) + 1e-6)
    counts = random_counts(rng, 8, 9)
    found = map_assignment(topics, counts, random_start(rng, counts, 3), max_sweeps=2)
    for d in range(8):
        Z = matrix_of(found, d)
        orders = gammaln(Z.sum(axis=0) + 1).sum() - gammaln(Z + 1).sum()
        expected = orders + xlogy(Z, topics.word_topic).sum()
        assert_allclose(found.objective[d], expected, rtol=1e-12)


def test_words_of_one_topic_and_tokens_of_two():
    topics = multinomial_topics(np.kron(np.eye(3), np.ones((1, 4))) + 1e-9)
    counts = random_counts(np.random.default_rng(0), 20, 12)
    found = map_assignment(topics, counts)
    for k in range(3):
        expected = counts.toarray()
        expected[:, np.arange(12) // 4 != k] = 0
        assert_array_equal(found.of_topic(k).toarray(), expected)
    same = Field(np.zeros(3), sparse.csr_array((3, 3)))
    table = np.tile(0.3 * np.arange(12.0) ** 2, (2, 1))  # it is best if topics are as long
    topics = LPMRFTopics.of_fields([same, same], table, np.ones(2))
    assert_array_equal(map_assignment(topics, [[6, 0, 0]]).split, [[3, 3]])
    _, topics, counts = random_case(1, 6, 5)
    found = map_assignment(topics, counts)
    assert_array_equal(found.of_topic(0).toarray(), counts.toarray())
    assert_allclose(found.objective, single_topic_scores(topics, counts)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_topic_scores_are_those_of_the_fields(seed, monkeypatch):
    monkeypatch.setattr(field_scores, "DOCUMENTS_AT_ONCE", 3)
    _, topics, counts = random_case(3, 6, 7, seed)
    rows = counts.toarray().tolist()
    expected = [[log_probability_of_field(topics, k, x) for k in range(3)] for x in rows]
    assert_allclose(single_topic_scores(topics, counts), expected, rtol=1e-12, atol=1e-12)


def test_starts():
    _, topics, counts = random_case(4, 8, 30, longest=40)
    start = map_assignment(topics, counts, max_sweeps=0)
    assert ((start.lengths > 0).sum(axis=1) <= 1).all()
    assert_allclose(start.objective, single_topic_scores(topics, counts).max(axis=1), rtol=1e-11)
    assert len(set(start.lengths.argmax(axis=1))) > 1
    rng, topics, counts = random_case(3, 8, 10, longest=40)
    start = random_start(rng, counts, 3)
    kept = start.copy()
    for settings in ({"max_sweeps": 0}, {"tolerance": 1e6}):
        assert_array_equal(map_assignment(topics, counts, start, **settings).split, start)
    assert (map_assignment(topics, counts, start).split != start).any()
    assert_array_equal(start, kept)


def test_threads_and_other_documents_change_no_bit():
    _, topics, counts = random_case(5, 20, 200, longest=90)
    one, three = (map_assignment(topics, counts, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert_array_equal(one.split, three.split)
    assert_array_equal(one.objective, three.objective)
    some = map_assignment(topics, counts[150:170])
    assert_array_equal(some.split, one.split[counts.indptr[150] : counts.indptr[170]])
    assert_array_equal(some.objective, one.objective[150:170])


def test_empty_documents_and_matrices_by_topic_and_length():
    topics = random_topics(np.random.default_rng(0), 3, 4)
    found = map_assignment(topics, [[0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]])
    assert_array_equal(found.objective[[0, 2]], 0.0)
    assert_array_equal(found.lengths.sum(axis=1), [0, 3, 0])
    for empty in (np.zeros((2, 4)), np.zeros((0, 4))):
        found = map_assignment(topics, empty)
        assert found.split.shape == (0, 3)
        assert_array_equal(found.objective, np.zeros(len(empty)))
        assert found.lengths.shape == (len(empty), 3)
        assert found.of_topic(1).shape == empty.shape
        assert single_topic_scores(topics, empty).shape == (len(empty), 3)
    counts = sparse.csr_array([[2, 0, 3], [0, 0, 0], [0, 4, 0]])
    found = TopicMatrices(counts, np.array([[2, 0], [1, 2], [0, 4]], dtype=np.int32), np.zeros(3))
    assert_array_equal(found.lengths, [[3, 2], [0, 0], [0, 4]])
    assert found.lengths.dtype == np.int64
    assert_array_equal(found.of_topic(0).toarray(), [[2, 0, 1], [0, 0, 0], [0, 0, 0]])
    assert_array_equal(found.of_topic(1).toarray(), [[0, 0, 2], [0, 0, 0], [0, 4, 0]])
    assert (found.of_topic(1).nnz, found.of_topic(1).dtype) == (2, np.int64)


def test_counts_of_any_form_are_the_same_documents():
    _, topics, counts = random_case(3, 6, 5)
    expected, entries = map_assignment(topics, counts), np.tile(counts.tocoo().coords, 2)
    parts = np.concatenate([counts.data - 1, np.ones_like(counts.data)])
    twice = sparse.csr_array((parts, tuple(entries)), shape=counts.shape)  # in no order
    backwards = _with_entries_backwards(counts)
    stored = backwards.indices.copy()
    for same in (counts.toarray(), counts.astype(float), counts.tocsc(), twice, backwards):
        found = map_assignment(topics, same)
        assert_array_equal(found.split, expected.split)
        assert_array_equal(found.counts.toarray(), counts.toarray())
    assert_array_equal(backwards.indices, stored)
    mixture = LPMRFClusters.of_fields(topics.fields, topics.log_partition, topics.prior)
    assert_allclose(map_assignment(mixture, counts).objective, expected.objective, rtol=1e-12)


def _with_entries_backwards(counts):
    ends = zip(counts.indptr, counts.indptr[1:], strict=False)
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in ends])
    arrays = (counts.data[order], counts.indices[order], counts.indptr)
    return sparse.csr_array(arrays, shape=counts.shape)


def test_what_is_refused():
    topics = random_topics(np.random.default_rng(0), 2, 3)
    for start, message in (
        ([[1, 1], [3, 1]], "word 2 of document 1 has 3, found .3 1."),
        ([[3, -1], [3, 0]], "word 0 of document 0 has 2"),
        ([[2, 0]], r"\(2, 2\), found shape \(1, 2\)"),
        ([[2, 0, 0], [3, 0, 0]], r"\(2, 2\), found shape \(2, 3\)"),
        ([[2.0, 0.0], [3.0, 0.0]], "integers, found type float64"),
    ):
        counts = [[2, 0, 0], [0, 0, 3]]
        assert map_assignment(topics, counts, [[1, 1], [2, 1]], max_sweeps=0).split[1, 1] == 1
        with pytest.raises(ValueError, match=message):
            map_assignment(topics, counts, start)
    counts = sparse.csr_array([[2, 0, 2]])
    map_assignment(topics, counts, [[1, 1], [2, 0]])
    with pytest.raises(ValueError, match="in order"):
        map_assignment(topics, _with_entries_backwards(counts), [[1, 1], [2, 0]])
    for counts, message in (
        ([[1.5, 0, 0]], "whole numbers"),
        ([[np.nan, 0, 0]], "whole numbers"),
        ([[-1, 0, 0]], "must not be negative, found -1"),
        ([[1, 0]], "counts has 2 words, the model 3"),
        ([[2**31 - 1, 1, 0]], "2147483647 tokens"),
    ):
        for function in (map_assignment, single_topic_scores):
            with pytest.raises(ValueError, match=message):
                function(topics, counts)
    for settings, error, message in (
        ({"max_sweeps": -1}, ValueError, "max_sweeps must be at least 0, found -1"),
        ({"max_sweeps": 1.5}, TypeError, "max_sweeps must be a whole number"),
        ({"tolerance": -1e-9}, ValueError, "tolerance must be finite and not negative"),
        ({"tolerance": np.nan}, ValueError, "tolerance must be finite and not negative"),
        ({"n_jobs": 0}, ValueError, "n_jobs = 0"),
    ):
        with pytest.raises(error, match=message):
            map_assignment(topics, [[1, 0, 0]], **settings)
