import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax

from models.families import arrays_of
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

KINDS = (LPMRFClusters, LPMRFTopics)
TABLE = [[0.0, 0.0, 0.2, 0.5], [0.0, 0.0, -0.1, -0.3]]


def arrays(**changed):
    return {
        "topic_word": np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]]),
        "edge_topic": np.array([0, 0, 1]),
        "edge_words": np.array([[0, 1], [1, 3], [2, 3]]),
        "edge_weight": np.array([0.3, -0.2, 0.5]),
        "half_length": np.array([4.0, np.inf]),
        "log_partition": np.array(TABLE),
        "prior": np.array([0.5, 1.5]),
        **changed,
    }


def model(kind=LPMRFTopics, **changed):
    return kind(**arrays(**changed))


def random_counts(seed=0, n_docs=12):
    return sparse.csr_array(np.random.default_rng(seed).poisson(0.8, size=(n_docs, 4)))


def assert_same(one, other):
    assert type(one) is type(other)
    for name, value in arrays_of(one).items():
        assert_array_equal(value, getattr(other, name), err_msg=name)


def test_fields_and_neighbours():
    first, second = model().fields
    phi = np.zeros((4, 4))
    phi[[0, 1, 1, 3], [1, 0, 3, 1]] = [0.3, 0.3, -0.2, -0.2]
    assert_array_equal(first.interactions.toarray(), phi)
    assert_allclose(first.word_probability, [0.1, 0.2, 0.3, 0.4])
    assert (first.half_length, second.n_interactions, second.interactions[2, 3]) == (4.0, 1, 0.5)
    assert np.isinf(second.half_length)
    topics = model()
    start, word, weight = topics.neighbours
    assert len(start) == 2 * 4 + 1
    for k, field in enumerate(topics.fields):
        for s in range(4):
            row, entries = np.zeros(4), slice(start[k * 4 + s], start[k * 4 + s + 1])
            assert (np.diff(word[entries]) > 0).all()
            row[word[entries]] = weight[entries]
            assert_array_equal(row, field.interactions[[s]].toarray().ravel())
    assert start[-1] == len(word) == 6
    field = Field([0.0, 1.0, 2.0], sparse.csr_array((3, 3)))
    topics = LPMRFClusters.of_fields([field, field], np.zeros((2, 2)), [1.0, 1.0])
    assert (topics.edge_words.shape, len(topics.neighbours.word)) == ((0, 2), 0)
    assert topics.fields[1].n_interactions == 0


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back_through_fields(kind):
    topics = model(kind)
    again = kind.of_fields(topics.fields, TABLE, topics.prior)
    assert_allclose(again.topic_word, topics.topic_word, rtol=1e-15)
    for name in ("edge_topic", "edge_words", "edge_weight", "half_length", "log_partition"):
        assert_array_equal(getattr(again, name), getattr(topics, name), err_msg=name)


def test_edges_are_put_in_order_and_arrays_belong_to_the_model():
    given = arrays(
        edge_topic=np.array([1, 0, 0]),
        edge_words=np.array([[2, 3], [1, 3], [0, 1]]),
        edge_weight=np.array([0.5, -0.2, 0.3]),
    )
    topics = LPMRFTopics(**given)
    assert_same(topics, model())
    given["edge_weight"][0] = given["prior"][0] = given["topic_word"][0, 0] = 9.0
    assert_same(topics, model())
    for array in arrays_of(topics).values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_rows_are_normalised_and_what_is_no_model_is_refused():
    weights = np.array([[1.0, 2.0, 3.0, 4.0], [0.25, 0.25, 0.4, 0.1]])
    assert_allclose(model(topic_word=weights).topic_word, arrays()["topic_word"], rtol=1e-15)
    topics = model(topic_word=np.random.default_rng(0).dirichlet(np.ones(4), 2))
    assert_same(LPMRFTopics(**arrays_of(topics)), topics)
    one, two = [0, 1], [2, 3]
    for name, values, message in (
        ("edge_topic", ([0, 0, 2], [0, -1, 1]), "a topic or a word that there is not"),
        ("edge_words", ([one, [1, 4], two], [one, [-1, 3], two]), "a topic or a word that there"),
        ("edge_words", ([one, [3, 1], two], [one, [3, 3], two]), "must be below the second"),
        ("edge_words", ([one, one, two],), "a pair of words is twice"),
        ("edge_words", ([one, [1, 3]],), "of as many edges"),
        ("edge_topic", ([0, 0],), "of as many edges"),
        ("edge_weight", ([0.3, np.nan, 0.5], [0.3, np.inf, 0.5]), "edge_weight must hold finite"),
        ("topic_word", ([[0.0, 0.5, 0.3, 0.2]] * 2,), "topic_word must be positive"),
        ("topic_word", ([[-0.1, 0.5, 0.3, 0.2]] * 2,), "none negative"),
        ("topic_word", ([[0.1, 0.5, 0.3, 0.2]] * 3,), "half_length"),
        ("half_length", ([0.0, 1.0], [np.nan, 1.0]), "half_length must be positive"),
        ("prior", ([0.0, 1.0], [np.inf, 1.0]), "prior must be positive and finite"),
        ("prior", ([1.0],), "prior"),
        ("log_partition", ([[0.0], [0.0]], [[0.0] * 3], [[0, np.nan], [0, 0]]), "must be finite"),
    ):
        for value in values:
            with pytest.raises(ValueError, match=message):
                model(**{name: np.array(value)})
    topics = model(edge_words=np.array([[0, 1], [2, 3], [2, 3]]))
    assert [field.n_interactions for field in topics.fields] == [2, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_words_in_another_order_there_and_back(kind):
    topics, order = model(kind), np.array([2, 0, 3, 1])
    other = topics.with_words(order)
    assert_same(other.with_words(np.argsort(order)), topics)
    for before, after in zip(topics.fields, other.fields, strict=True):
        assert_array_equal(
            after.interactions.toarray(), before.interactions.toarray()[np.ix_(order, order)]
        )
    counts = random_counts()
    assert_allclose(other.transform(counts[:, order]), topics.transform(counts), rtol=1e-12)
    assert (np.abs(other.transform(counts) - topics.transform(counts)) > 1e-3).any()


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4], [], [[0, 1, 2, 3]]])
def test_some_of_the_words_are_refused(order):
    with pytest.raises(ValueError, match="keeps all of its 4 words"):
        model().with_words(np.array(order, dtype=np.intp))


def test_tables_are_cut_and_gone_on_with():
    topics = model()
    assert_array_equal(topics.log_partition_to(2), np.array(TABLE)[:, :3])
    assert_array_equal(topics.log_partition_to(0), np.zeros((2, 1)))
    assert_array_equal(topics.log_partition_to(3), TABLE)
    longer = topics.log_partition_to(50)
    assert longer.shape == (2, 51)
    assert_array_equal(longer[:, :4], TABLE)
    lengths = np.arange(3, 51)
    for k, field in enumerate(topics.fields):
        growth = field.weight(lengths) * lengths**2
        assert_allclose(longer[k, 3:], TABLE[k][3] * growth / growth[0], rtol=1e-12)
    assert (np.abs(longer[:, 50]) > np.abs(longer[:, 3])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_shares_sum_to_one(kind):
    topics, counts = model(kind), random_counts()
    shares = topics.transform(counts)
    assert shares.shape == (12, 2)
    assert (shares > 0).all()
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(topics.proportions(counts, n_jobs=2), shares)
    halves = topics.transform(0.5 * counts.toarray())
    assert_array_equal(topics.transform(0.5 * counts.toarray()[3:4]), halves[3:4])
    stored = counts.copy()
    topics.transform(stored)
    assert_array_equal(stored.toarray(), counts.toarray())
    assert_allclose(topics.transform(np.zeros((1, 4)))[0], topics.prior / topics.prior.sum())


def test_topics_by_bayes_rule_and_by_the_best_split():
    topics = model(LPMRFClusters)
    assert_allclose(topics.component_share, [0.25, 0.75])
    counts, expected = random_counts(), np.zeros((12, 2))
    table = topics.log_partition_to(int(counts.sum(axis=1).max()))
    for d, x in enumerate(counts.toarray()):
        for k, field in enumerate(topics.fields):
            weight = field.weight(x.sum())
            expected[d, k] = np.log(topics.component_share[k]) - table[k, x.sum()]
            expected[d, k] += field.node @ x + weight * (x @ field.interactions @ x)
    assert_allclose(topics.log_joint(counts), expected, rtol=1e-12)
    assert_allclose(topics.transform(counts), softmax(expected, axis=1), rtol=1e-10)
    topics, counts = model(), random_counts()
    assert_array_equal(topics.alpha, [0.5, 1.5])
    lengths = map_assignment(topics, counts).lengths
    expected = (lengths + topics.alpha) / (counts.sum(axis=1)[:, None] + 2.0)
    assert_allclose(topics.transform(counts), expected, rtol=1e-12)
    topics = model()
    assert_allclose(topics.word_share, 0.25 * topics.topic_word[0] + 0.75 * topics.topic_word[1])
    assert_array_equal(topics.top_words(2), [[3, 2], [2, 0]])
    assert (topics.n_topics, topics.n_words) == (2, 4)
