"""What every estimator of every family's likelihood keeps to.

The models are those of `tests.small_models`; that blocks of documents get what their documents get
among all is in `test_document_blocks`.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from evaluation import LikelihoodEstimate, ZeroProbabilityError, log_likelihood
from evaluation.estimate import PER_DOCUMENT
from tests.evaluation.registry import KINDS, KINDS_AND_METHODS, identify, method_of, scoring_for
from tests.small_models import (
    CASES,
    MODEL_OF,
    documents,
    make_blocks_small,
    may_have_zeros,
    model_of,
    training_counts,
)

pytestmark = pytest.mark.usefixtures("fifth_family")
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=identify)
EVERY_METHOD = pytest.mark.parametrize(("kind", "method"), KINDS_AND_METHODS, ids=identify)
WITH_ZEROS = [each for each in KINDS_AND_METHODS if may_have_zeros(each[0])]
MAY_HAVE_ZEROS = pytest.mark.parametrize(("kind", "method"), WITH_ZEROS, ids=identify)
"""Estimators of models in which a word can be impossible."""
FEW = 9
"""Samples, where all that matters is what becomes of them."""


def estimate_of(model, counts, method=None, **settings):
    settings = {"n_samples": FEW, "random_state": 0, **settings}
    return log_likelihood(model, counts, method, **settings)


def assert_same(found, expected):
    for name in PER_DOCUMENT:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for name in LikelihoodEstimate.one_value_fields():
        assert getattr(found, name) == getattr(expected, name)


def log_empty(kind, convention):
    if convention != "bag-and-length":
        return 0.0
    return scoring_for(kind).log_length(model_of(kind), np.array([0]))[0]


# --- what an estimate is --------------------------------------------------------------------------


@EVERY_METHOD
def test_what_every_estimator_promises(kind, method):
    counts = documents()
    found, chosen = estimate_of(model_of(kind), counts, method), method_of(kind, method)
    assert found.method == method
    for name, dtype in PER_DOCUMENT.items():
        assert (getattr(found, name).shape, getattr(found, name).dtype) == ((9,), dtype)
    assert (found.log_likelihood <= 0).all()
    assert (found.n_tokens <= counts.sum(axis=1)).all()
    assert (found.n_samples == 0).all() or chosen.is_sampled
    assert (found.direction == "unbiased") == chosen.is_unbiased
    if not chosen.is_sampled:
        assert (found.standard_error == 0).all()


@EVERY_METHOD
def test_an_estimate_comes_back_from_its_arrays(kind, method):
    target = 5.0 if method_of(kind, method).is_unbiased else None
    found = estimate_of(model_of(kind), documents(), method, target_standard_error=target)
    assert found.target_standard_error == target
    arrays = found.to_arrays("some_")
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert_same(LikelihoodEstimate.from_arrays({**arrays, "other": np.ones(2)}, "some_"), found)
    for name in PER_DOCUMENT:
        kept = {key: array for key, array in arrays.items() if key != f"some_{name}"}
        with pytest.raises(KeyError, match=name):
            LikelihoodEstimate.from_arrays(kept, "some_")
        for other in (arrays[f"some_{name}"][:, None], arrays[f"some_{name}"].astype(np.float32)):
            with pytest.raises(ValueError, match=f"some_{name} is not one number a document"):
                LikelihoodEstimate.from_arrays({**arrays, f"some_{name}": other}, "some_")


@EVERY_METHOD
def test_documents_without_tokens(kind, method):
    counts, model = documents(), model_of(kind)
    found = estimate_of(model, counts, method)
    is_empty = np.asarray(counts.sum(axis=1)).ravel() == 0
    assert is_empty.sum() > 1
    expected = log_empty(kind, found.convention)
    assert found.log_likelihood[is_empty] == pytest.approx(expected, rel=1e-12)
    assert (found.standard_error[is_empty] == 0).all()
    assert not found.n_tokens[is_empty].any()
    assert not found.n_samples[is_empty].any()
    assert found.n_documents == 9 - (found.convention != "bag-and-length") * is_empty.sum()
    assert np.isfinite(found.log_likelihood).all()
    assert estimate_of(model, np.zeros((2, 6), dtype=int), method).total_tokens == 0
    none = estimate_of(model, np.zeros((0, 6), dtype=int), method)
    assert none.n_documents == 0
    assert np.isnan(none.perplexity)
    one = estimate_of(model, documents(3)[1:2], method)
    assert np.isfinite(one.perplexity)
    assert np.isnan(one.nats_per_word_standard_error)


# --- the same bits --------------------------------------------------------------------------------


@EVERY_METHOD
def test_threads_change_no_bit_and_seeds_do(kind, method, monkeypatch):
    pools = make_blocks_small(monkeypatch)
    model, counts = model_of(kind, 4, 7), documents(20, 7, mean=0.8)
    few = 2 if method == "annealed-importance-sampling" else FEW
    expected = estimate_of(model, counts, method, n_samples=few)
    assert not pools
    for n_jobs in (2, 3, -1):
        assert_same(estimate_of(model, counts, method, n_samples=few, n_jobs=n_jobs), expected)
    other = estimate_of(model, counts, method, n_samples=few, random_state=1)
    is_sampled = method_of(kind, method).is_sampled
    assert (other.log_likelihood != expected.log_likelihood).any() == is_sampled
    twins = estimate_of(model, [[1, 2, 0, 1, 1, 0, 0]] * 9, method, n_samples=few).log_likelihood
    assert (len(np.unique(twins)) > 1) == is_sampled  # documents draw for themselves


@EVERY_METHOD
def test_seeds_that_generators_give(kind, method):
    def estimate(random_state):
        settings = {"n_samples": 2, "random_state": random_state}
        return estimate_of(model_of(kind), documents(), method, **settings)

    for make in (np.random.default_rng, np.random.RandomState):
        rng = make(1)
        first, second = estimate(rng), estimate(rng)
        assert_same(estimate(make(1)), first)
        is_sampled = method_of(kind, method).is_sampled
        assert (first.log_likelihood != second.log_likelihood).any() == is_sampled
    first, second = estimate(None), estimate(None)
    assert (first.log_likelihood != second.log_likelihood).any() == is_sampled


FORMS = {
    **{kind.__name__: kind for kind in (sparse.csc_array, sparse.coo_array, sparse.csr_matrix)},
    "dense": lambda counts: counts.toarray(),
    "lists": lambda counts: counts.toarray().tolist(),
    **{
        np.dtype(dtype).name: lambda counts, dtype=dtype: counts.astype(dtype)
        for dtype in (np.uint8, np.int32, np.uint64, np.float32, np.float64)
    },
}


@EVERY_METHOD
def test_any_matrix_of_whole_numbers(kind, method):
    model, counts = model_of(kind), documents(5)
    settings = {"method": method, "n_samples": 2}
    expected = estimate_of(model, counts, **settings)
    for form in FORMS.values():
        assert_same(estimate_of(model, form(counts), **settings), expected)
    is_there = counts > 0
    expected = estimate_of(model, is_there.astype(int), **settings)
    assert_same(estimate_of(model, is_there, **settings), expected)


@EVERY_METHOD
def test_the_callers_matrix_is_left_alone(kind, method):
    dense = [[2, 0, 0, 1, 0, 0], [0, 0, 7, 0, 0, 0], [5, 0, 0, 0, 0, 0]]
    settings = {"method": method, "n_samples": 2}
    expected = estimate_of(model_of(kind), dense, **settings)
    for dtype in (np.int64, np.int32, float):
        data, indices = np.array([1, 2, 3, 4, 0, 5], dtype=dtype), np.array([3, 0, 2, 2, 1, 0])
        for writeable in (True, False):
            counts = sparse.csr_array((data, indices, np.array([0, 2, 5, 6])), shape=(3, 6))
            arrays = (counts.data, counts.indices, counts.indptr)
            kept = [array.tolist() for array in arrays]
            for array in arrays:
                array.setflags(write=writeable)
            assert_same(estimate_of(model_of(kind), counts, **settings), expected)
            assert [a.tolist() for a in (counts.data, counts.indices, counts.indptr)] == kept


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_estimator_is_scored_by_its_topics(case):
    with pytest.raises(NotFittedError):
        log_likelihood(case.build(), documents(9, 10))
    model = case.build().fit(training_counts())
    for method in scoring_for(type(model.topics_)).names:
        expected = estimate_of(model.topics_, documents(3, 10), method, n_samples=2)
        assert_same(estimate_of(model, documents(3, 10), method, n_samples=2), expected)


# --- impossible words -----------------------------------------------------------------------------

IMPOSSIBLE = [[1, 2, 0, 0], [2, 2, 1, 0], [0, 0, 3, 1]]


def impossible(kind):
    """Topics of four words, none of which has the last two."""
    return MODEL_OF[kind]([[0.5, 0.5, 0.0, 0.0], [0.1, 0.9, 0.0, 0.0]], np.array([1.0, 0.5]))


@MAY_HAVE_ZEROS
def test_impossible_words_are_named_or_smoothed(kind, method):
    message = r"word 2 of document 1 .* 1 other words, in 2 documents.*smoothing"
    with pytest.raises(ZeroProbabilityError, match=message):
        estimate_of(impossible(kind), IMPOSSIBLE, method)
    with pytest.raises(ZeroProbabilityError, match="word 3 of document 0"):
        estimate_of(impossible(kind), [[1, 2, 0, 1]], method)
    found = estimate_of(impossible(kind), IMPOSSIBLE, method, smoothing=0.01)
    assert np.isfinite(found.log_likelihood).all()
    assert_same(found, estimate_of(impossible(kind).smoothed(0.01), IMPOSSIBLE, method))
    stored = sparse.csr_array(([1, 0, 2], [0, 2, 1], [0, 2, 3]), shape=(2, 4))
    assert np.isfinite(estimate_of(impossible(kind), stored, method).total)
    model = MODEL_OF[kind]([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]], np.array([1.0, 0.5]))
    counts = [[3, 2, 0], [4, 0, 1], [0, 0, 5]]
    if not kind.has_one_topic_per_document:
        counts.append([0, 3, 3])
    assert np.isfinite(estimate_of(model, counts, method).log_likelihood).all()


# --- what is refused ------------------------------------------------------------------------------


@EVERY_METHOD
def test_what_are_no_counts(kind, method):
    for counts, message in (
        (documents(n_words=5), "5 words"),
        (documents(n_words=7), "7 words"),
        ([[1, 2, 3, 4, 5, -1]], "negative"),
        ([[1, 2, 3, 4, 5, -1.0]], "negative"),
        ([[1, 2, 3, 4, 5, 0.5]], "whole"),
        ([[1, 2, 3, 4, 5, np.nan]], "whole"),
        ([[1, 2, 3, 4, 5, np.inf]], "whole"),
        ([[1, 2, 3, 4, 5, -np.inf]], r"whole|negative"),
        ([[1, 2, 3, 4, 5, 1e300]], "above"),
        ([1, 2, 3, 4, 5, 6], "n_docs, n_words"),
        (np.zeros((2, 2, 6)), r".{5}"),
        ([["a", "b", "c", "d", "e", "f"]], "whole numbers"),
        ([[1, 2, 3, 4, 5, 6j]], "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            estimate_of(model_of(kind), counts, method)
    for counts in (None, "counts", {}):
        with pytest.raises((TypeError, ValueError), match="counts"):
            estimate_of(model_of(kind), counts, method)


BAD_SETTINGS = {
    "n_samples": (0, -1, 2.5, "4", True),
    "target_standard_error": (0.0, -1.0, np.nan, np.inf, "0.1", True),
    "smoothing": (-0.1, 1.0, np.nan, "a", True),
    "convention": ("log", "bags", 1),
    "n_jobs": (0, 1.5, "2", True),
    "random_state": (-1, 1.5, "2", True),
}


@EVERY_METHOD
@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_a_bad_setting_is_named(kind, method, name):
    named = {"smoothing": "smooth", "random_state": r"random_state|seed"}.get(name, name)
    for bad in BAD_SETTINGS[name]:
        with pytest.raises((ValueError, TypeError), match=named):
            estimate_of(model_of(kind), documents(), method, **{name: bad})


@EVERY_METHOD
def test_a_target_is_for_methods_that_come_to_the_truth(kind, method):
    chosen = method_of(kind, method)
    if chosen.is_sampled and not chosen.is_unbiased:
        with pytest.raises(ValueError, match=r"target_standard_error: more samples do not bring"):
            estimate_of(model_of(kind), documents(), method, target_standard_error=0.1)
    elif not chosen.is_sampled:
        found = estimate_of(model_of(kind), documents(), method, target_standard_error=0.1)
        assert_same(found, estimate_of(model_of(kind), documents(), method))


@EVERY_KIND
def test_the_default_of_each_kind(kind):
    found = log_likelihood(model_of(kind), documents(), random_state=0)
    assert found.method == scoring_for(kind).default
    assert_same(log_likelihood(model_of(kind), documents(), found.method, random_state=0), found)
    known = ".*".join(scoring_for(kind).names)
    with pytest.raises(ValueError, match=rf"'perplexity' is not an estimator for .*{known}"):
        log_likelihood(model_of(kind), documents(), "perplexity")
