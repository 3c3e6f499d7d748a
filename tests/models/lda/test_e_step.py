import copy
import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from models import OnlineLDA
from models.lda import e_step
from models.lda.e_step import EStep, combined, expected_counts, nodes, sum_by_word, words_of
from models.variational.inference import Occurrences

K, V = 3, 40


def some_counts(n_docs, seed=0, density=0.2):
    return sparse.csr_array(np.random.default_rng(seed).poisson(density, size=(n_docs, V)))


def some_step(counts, *, learns_alpha=True, seed=0):
    words = words_of(counts)
    weight = np.random.default_rng(seed).gamma(1.0, size=(len(words), K))
    return EStep(words, weight, np.full(K, 0.3), 20, 1e-4, (seed, 2, 0), learns_alpha)


def in_the_tree(parts):
    """Neighbours added, level after level."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [combined(a, b) for a, b in pairs] + odd
    return parts[0]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("n_docs", [1, 127, 128, 129, 700, 1100])
def test_parts_add_up_to_the_bits_of_the_whole(n_docs):
    counts = some_counts(n_docs)
    step = some_step(counts)
    whole = expected_counts(counts, step)
    for at_least in (1, 2, 3, 4, 7, 100):
        bounds, leaf = nodes(n_docs, at_least), e_step.LEAF
        parts = [expected_counts(counts[a:b], step, first_leaf=a // leaf) for a, b in bounds]
        assert same(in_the_tree(parts), whole)


def test_other_parts_do_not_add_up():
    """What the test above would see, were the sums those of consecutive documents."""
    counts = some_counts(1100)
    step, places = some_step(counts), range(0, 1100, 128)
    parts = [expected_counts(counts[a : a + 128], step, first_leaf=a // 128) for a in places]
    one_by_one, whole = functools.reduce(combined, parts), expected_counts(counts, step)
    assert not np.array_equal(one_by_one.sums, whole.sums)
    assert_allclose(one_by_one.sums, whole.sums, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_no_bit(n_jobs):
    counts = some_counts(300)
    step = some_step(counts)
    assert same(expected_counts(counts, step, n_jobs), expected_counts(counts, step))


def test_sums_are_those_of_the_fixed_points():
    counts = some_counts(5, density=1.0)
    step = dataclasses.replace(some_step(counts), max_iterations=1)
    found = expected_counts(counts, step)
    total = (found.sums * step.weight).sum()
    assert total == pytest.approx(counts.sum())  # responsibilities of a token sum to 1
    assert found.n_documents == found.iterations == 5


def test_of_alpha_nothing_is_summed_unless_wanted():
    counts = some_counts(20)
    assert not expected_counts(counts, some_step(counts, learns_alpha=False)).elog_doc_topic.any()
    assert (expected_counts(counts, some_step(counts)).elog_doc_topic < 0).all()


@given(
    leaves=st.lists(st.integers(0, 200), min_size=1, max_size=30, unique=True),
    seed=st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_sums_by_word_are_those_of_the_tree(leaves, seed):
    """Against sums made level by level over all leaves, those without the word as zeros."""
    rng = np.random.default_rng(seed)
    documents = [leaf * e_step.LEAF + rng.integers(0, 5, 3) for leaf in leaves]
    documents = np.sort(np.concatenate(documents)).astype(np.int32)
    ratio = rng.random(len(documents)) * 10.0 ** rng.integers(-8, 8, len(documents))
    theta, sums = rng.random((documents.max() + 1, K)), np.empty((1, K))
    start = np.array([0, len(documents)], dtype=np.int32)
    sum_by_word(0, 1, Occurrences(start, documents, ratio), theta, sums)

    level = [np.zeros(K) for _ in range(documents.max() // e_step.LEAF + 1)]
    for d, share in zip(documents, ratio, strict=True):
        level[d // e_step.LEAF] = level[d // e_step.LEAF] + share * theta[d]
    while len(level) > 1:
        level = [sum(level[i + 1 : i + 2], level[i]) for i in range(0, len(level), 2)]
    assert np.array_equal(sums[0], level[0])


@given(n_docs=st.integers(1, 5000), at_least=st.integers(1, 100))
def test_nodes_are_of_one_level(n_docs, at_least):
    parts, n_leaves = nodes(n_docs, at_least), -(-n_docs // e_step.LEAF)
    assert ([a for a, _ in parts], parts[-1][1]) == ([0, *(b for _, b in parts[:-1])], n_docs)
    size = parts[0][1] if len(parts) > 1 else e_step.LEAF
    assert (size % e_step.LEAF, (size // e_step.LEAF).bit_count()) == (0, 1)
    assert {b - a for a, b in parts[:-1]} <= {size}
    assert len(parts) >= min(at_least, n_leaves)


def test_with_staleness_a_batch_does_not_know_of_those_before_it():
    counts, seen = some_counts(400, density=0.5), []

    def submit(batch, step):
        seen.append((len(in_flight), step.weight.copy()))
        in_flight.append(None)
        statistics = expected_counts(batch, step)

        def result():
            in_flight.pop()
            return statistics

        return result

    in_flight, model = [], OnlineLDA(K, batch_size=20, n_passes=1, staleness=2, random_state=1)
    with pytest.deprecated_call(match="expect is now submit_e_step"):
        next(model.iterate(counts, expect=submit))
    seen.clear()
    in_flight.clear()
    steps = list(model.iterate(counts, submit_e_step=submit))
    assert ([n for n, _ in seen], model.state_.n_batches) == ([0, 1, 2] + [2] * 17, 20)
    assert steps[-1].n_documents == 400
    weights = [w for _, w in seen]
    if len({w.shape for w in weights[:3]}) == 1:
        assert np.array_equal(weights[0], weights[1])


@pytest.mark.parametrize("staleness", [1, 3])
def test_staleness_makes_other_topics_and_the_same_ones_again(staleness):
    counts = some_counts(300, density=0.5)

    def topics(value):
        settings = {"batch_size": 10, "n_passes": 3, "random_state": 1, "alpha": "learned"}
        return OnlineLDA(K, staleness=value, **settings).fit(counts).topics_.topic_word

    assert np.array_equal(topics(staleness), topics(staleness))
    assert not np.array_equal(topics(staleness), topics(0))


def test_training_goes_on_after_any_step_to_the_same_bits():
    """Steps of 16 · (1 + staleness) batches, where none is under way."""
    counts = some_counts(1000, density=0.3)
    settings = {"batch_size": 10, "n_passes": 2, "random_state": 1, "staleness": 1}
    whole = OnlineLDA(K, **settings)
    states = [copy.deepcopy(whole.state_) for _ in whole.iterate(counts)]
    assert [state.n_batches for state in states] == [32, 64, 96, 100, 132, 164, 196, 200]
    for state in states[:-1]:
        resumed = OnlineLDA(K, **settings)
        for _ in resumed.iterate(counts, state=state):
            pass
        assert np.array_equal(resumed.state_.excess, whole.state_.excess)
