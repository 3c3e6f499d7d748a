from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from evaluation import ZeroProbabilityError, certify, log_likelihood, prediction
from evaluation.methods import scoring_of
from models import (
    KLNMF,
    FixedLengthPoissonMRF,
    GammaPoissonTopics,
    LDATopics,
    LPMRFMixture,
    LPMRFTopicModel,
    OnlineLDA,
    PoissonMRFMixture,
    PoissonMRFTopicModel,
)
from tests.evaluation.registry import KINDS, KINDS_AND_METHODS, identify

EVERY_METHOD = pytest.mark.parametrize(
    ("kind", "method"),
    KINDS_AND_METHODS,
    ids=identify,
)
MAY_HAVE_ZEROS = pytest.mark.parametrize(
    ("kind", "method"),
    [each for each in KINDS_AND_METHODS if each[0] in (LDATopics, GammaPoissonTopics)],
    ids=identify,
)
"""The same of models in which a word can be impossible."""
BRIEFLY = {"n_iter": 2, "n_samples": 5, "n_temperatures": 5}
TRAINERS = {
    LDATopics: OnlineLDA(3, random_state=0),
    GammaPoissonTopics: KLNMF(3, random_state=0),
    PoissonMRFTopicModel: LPMRFTopicModel(3, lda_sweeps=20, random_state=0, **BRIEFLY),
    PoissonMRFMixture: LPMRFMixture(3, random_state=0, **BRIEFLY),
}
FEW = 20
"""Samples, where all that matters is what becomes of them."""


def model_of(kind, topic_word, shape):
    """LDA with alpha `shape`, or a Gamma-Poisson model with r, its topics of unequal weight.

    Or Poisson MRFs with that prior, in which two words bar each other.
    """
    if kind is LDATopics:
        return LDATopics(topic_word, shape)
    if kind in (PoissonMRFTopicModel, PoissonMRFMixture):
        phi = np.zeros((topic_word.shape[1],) * 2)
        phi[0, 1] = phi[1, 0] = -0.4
        fields = [FixedLengthPoissonMRF(np.log(words), phi, 5.0) for words in topic_word]
        return kind.of_fields(fields, np.zeros((len(fields), 9)), shape)
    rng = np.random.default_rng(7)
    scaled = np.asarray(topic_word) * rng.uniform(1.0, 9.0, (len(shape), 1))
    return GammaPoissonTopics(scaled, shape, rng.uniform(0.2, 0.8, len(shape)))


def topics(kind=LDATopics, n_topics=3, n_words=6, seed=0):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.ones(n_words), n_topics)
    return model_of(kind, topic_word, rng.gamma(1, 1, n_topics) + 0.1)


def documents(n_docs=9, n_words=6, seed=1):
    return np.random.default_rng(seed).poisson(1.5, size=(n_docs, n_words))


@EVERY_METHOD
def test_what_every_estimator_promises(kind, method):
    counts = documents()
    counts[4] = 0
    found = log_likelihood(topics(kind), counts, method, n_samples=FEW, random_state=0)
    assert found.method == method
    assert found.log_likelihood.shape == found.standard_error.shape == found.n_tokens.shape == (9,)
    assert (found.log_likelihood <= 0).all()
    assert found.n_tokens[4] == 0
    is_empty_scored = found.convention == "bag-and-length"
    expected = topics(kind).tilted.log_empty if is_empty_scored else 0.0
    assert found.log_likelihood[4] == pytest.approx(expected, rel=1e-12)
    assert found.n_documents == 8 + is_empty_scored
    assert (found.n_tokens <= counts.sum(axis=1)).all()


@EVERY_METHOD
def test_the_same_bits_for_a_seed_whatever_the_threads(kind, method):
    # Of Poisson MRFs exact would take long, and of all families annealing.
    n_docs, n_words = (20, 12) if kind is PoissonMRFTopicModel else (60, 30)
    n_samples = 2 if method == "annealed-importance-sampling" else FEW
    model, counts = topics(kind, 4, n_words), documents(n_docs, n_words)
    settings = {"n_samples": n_samples, "random_state": 5}
    first = log_likelihood(model, counts, method, **settings)
    for n_jobs in (2, 3):
        again = log_likelihood(model, counts, method, **settings, n_jobs=n_jobs)
        assert (again.log_likelihood == first.log_likelihood).all()
        assert (again.standard_error == first.standard_error).all()


def test_seeds_of_a_random_method():
    def values(random_state):
        found = log_likelihood(topics(), documents(), "completion", random_state=random_state)
        return found.log_likelihood

    assert (values(5) != values(6)).any()
    assert (values(None) != values(None)).any()
    same = [values(np.random.default_rng(1)) for _ in range(2)]
    assert (same[0] == same[1]).all()
    rng = np.random.default_rng(1)
    assert (values(rng) != values(rng)).any()


@EVERY_METHOD
def test_an_estimator_is_scored_by_its_topics(kind, method):
    model = clone(TRAINERS[kind]).fit(documents(40))
    expected = log_likelihood(model.topics_, documents(), method, n_samples=FEW, random_state=0)
    found = log_likelihood(model, documents(), method, n_samples=FEW, random_state=0)
    assert (found.log_likelihood == expected.log_likelihood).all()


@EVERY_METHOD
@pytest.mark.parametrize(
    "container",
    [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, np.ndarray.tolist]
    + [lambda counts, t=t: counts.astype(t) for t in (np.uint8, np.float32, np.float64, np.uint64)],
)
def test_any_matrix_of_whole_numbers(kind, method, container):
    expected = log_likelihood(topics(kind), documents(), method, n_samples=FEW, random_state=0)
    found = log_likelihood(
        topics(kind), container(documents()), method, n_samples=FEW, random_state=0
    )
    assert (found.log_likelihood == expected.log_likelihood).all()


@EVERY_METHOD
def test_booleans(kind, method):
    counts = documents() > 0
    expected = log_likelihood(
        topics(kind), counts.astype(int), method, n_samples=FEW, random_state=0
    )
    found = log_likelihood(topics(kind), counts, method, n_samples=FEW, random_state=0)
    assert (found.log_likelihood == expected.log_likelihood).all()


@EVERY_METHOD
@pytest.mark.parametrize("dtype", [np.int64, np.int32, float])
@pytest.mark.parametrize("read_only", [False, True])
def test_the_callers_matrix_is_left_alone(kind, method, dtype, read_only):
    """Unsorted, with a duplicate and an explicit zero."""
    data, indices = np.array([1, 2, 3, 4, 0, 5], dtype=dtype), np.array([3, 0, 2, 2, 1, 0])
    counts = sparse.csr_array((data, indices, np.array([0, 2, 5, 6])), shape=(3, 6))
    arrays = (counts.data, counts.indices, counts.indptr)
    kept = [array.tolist() for array in arrays]
    for array in arrays:
        array.setflags(write=not read_only)
    found = log_likelihood(topics(kind), counts, method, n_samples=FEW, random_state=0)
    assert [a.tolist() for a in (counts.data, counts.indices, counts.indptr)] == kept
    dense = [[2, 0, 0, 1, 0, 0], [0, 0, 7, 0, 0, 0], [5, 0, 0, 0, 0, 0]]
    expected = log_likelihood(topics(kind), dense, method, n_samples=FEW, random_state=0)
    assert (found.n_tokens == expected.n_tokens).all()
    assert (found.log_likelihood == expected.log_likelihood).all()


def impossible(kind):
    """Of four words no topic has the last two."""
    return model_of(kind, [[0.5, 0.5, 0.0, 0.0], [0.1, 0.9, 0.0, 0.0]], np.array([1.0, 0.5]))


@MAY_HAVE_ZEROS
def test_an_impossible_word_is_an_error_that_names_it(kind, method):
    message = r"word 2 of document 1 .* 1 other words, in 2 documents.*smoothing"
    with pytest.raises(ZeroProbabilityError, match=message):
        log_likelihood(
            impossible(kind), [[1, 2, 0, 0], [2, 2, 1, 0], [0, 0, 3, 1]], method, n_samples=FEW
        )
    with pytest.raises(ZeroProbabilityError, match="word 3 of document 0"):
        log_likelihood(impossible(kind), [[1, 2, 0, 1]], method, n_samples=FEW)


@MAY_HAVE_ZEROS
def test_a_count_of_zero_is_no_word(kind, method):
    counts = sparse.csr_array(([1, 0, 2], [0, 2, 1], [0, 2, 3]), shape=(2, 4))
    assert np.isfinite(log_likelihood(impossible(kind), counts, method, n_samples=FEW).total)


@MAY_HAVE_ZEROS
def test_a_word_that_one_topic_has_is_possible(kind, method):
    model = model_of(kind, [[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]], np.array([1.0, 0.5]))
    found = log_likelihood(
        model, [[3, 2, 4], [0, 3, 3], [0, 0, 5]], method, n_samples=FEW, random_state=0
    )
    assert np.isfinite(found.log_likelihood).all()


@MAY_HAVE_ZEROS
def test_smoothing_on_request(kind, method):
    counts = [[1, 2, 0, 0], [2, 2, 1, 0], [0, 0, 3, 1]]
    found = log_likelihood(
        impossible(kind), counts, method, n_samples=FEW, smoothing=0.01, random_state=0
    )
    expected = log_likelihood(
        impossible(kind).smoothed(0.01), counts, method, n_samples=FEW, random_state=0
    )
    assert np.isfinite(found.log_likelihood).all()
    assert (found.log_likelihood == expected.log_likelihood).all()
    for bad in (-0.1, 1.0, np.nan, "a", True):
        with pytest.raises((ValueError, TypeError), match="smoothing"):
            log_likelihood(impossible(kind), counts, method, n_samples=FEW, smoothing=bad)


@EVERY_METHOD
def test_no_documents(kind, method):
    found = log_likelihood(topics(kind), np.zeros((0, 6), dtype=int), method)
    assert found.n_documents == 0
    assert np.isnan(found.perplexity)


@EVERY_METHOD
def test_one_document(kind, method):
    found = log_likelihood(topics(kind), documents(1), method, n_samples=FEW)
    assert np.isfinite(found.perplexity)
    assert np.isnan(found.nats_per_word_standard_error)


def test_few_effective_samples_are_warned_of(caplog):
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.full(300, 0.5), 30), np.full(30, 0.1))
    counts = rng.multinomial(150, rng.dirichlet(np.full(30, 0.2), 4) @ model.topic_word)
    with caplog.at_level("WARNING", "evaluation"):
        found = log_likelihood(model, counts, "mean-field-is-1", random_state=0)
    assert found.is_unsure.any()
    assert f"{found.is_unsure.sum()} of 4 documents" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING", "evaluation"):
        found = log_likelihood(topics(), documents(), "mean-field-is-1", random_state=0)
    assert not found.is_unsure.any()
    assert not caplog.text


# --- errors ---------------------------------------------------------------------------------------


def test_a_single_field_has_no_table():
    mrf = FixedLengthPoissonMRF(np.zeros(6), np.zeros((6, 6)))
    with pytest.raises(TypeError, match=r"FixedLengthPoissonMRF.*PoissonMRFMixture\.of_fields"):
        log_likelihood(mrf, documents())
    mixture = PoissonMRFMixture.of_fields([mrf], np.zeros((1, 2)), [1.0])
    found = log_likelihood(mixture, documents()).log_likelihood
    np.testing.assert_allclose(found, -documents().sum(axis=1) * np.log(6.0), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_of_each_kind(kind):
    found = log_likelihood(topics(kind), documents(), random_state=0)
    assert found.method == scoring_of(topics(kind)).default
    expected = log_likelihood(topics(kind), documents(), found.method, random_state=0)
    assert (found.log_likelihood == expected.log_likelihood).all()


@pytest.mark.parametrize("kind", [PoissonMRFTopicModel, PoissonMRFMixture])
def test_what_poisson_mrfs_have_not(kind):
    with pytest.raises(ValueError, match=r"use one of .*exact; a Poisson MRF of L tokens"):
        log_likelihood(topics(kind), documents(), "completion")
    with pytest.raises(ValueError, match=r"no model of how long .* \"sequence\" or \"bag\""):
        log_likelihood(topics(kind), documents(), "exact", convention="bag-and-length")
    with pytest.raises(ValueError, match="not smoothed"):
        log_likelihood(topics(kind), documents(), smoothing=0.1)
    with pytest.raises(TypeError, match=f"no prediction by a {kind.__name__}: a Poisson MRF"):
        prediction(topics(kind), documents())
    with pytest.raises(TypeError, match=r"by Markov chains only.*short documents.*exact"):
        certify(topics(kind), documents(), "exact")


@pytest.mark.parametrize("model", [None, "model", object(), np.ones((2, 2)), dict])
def test_no_model(model):
    with pytest.raises(TypeError, match="no likelihood estimator"):
        log_likelihood(model, documents())


def test_an_estimator_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        log_likelihood(OnlineLDA(3), documents())


def test_an_unknown_method_lists_the_known():
    with pytest.raises(ValueError, match=r"completion.*variational-bound"):
        log_likelihood(topics(), documents(), "perplexity")


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (documents(n_words=5), "5 words"),
        (documents(n_words=7), "7 words"),
        ([[1, 2, 3, 4, 5, -1]], "negative"),
        ([[1, 2, 3, 4, 5, -1.0]], "negative"),
        ([[1, 2, 3, 4, 5, 0.5]], "whole"),
        ([[1, 2, 3, 4, 5, np.nan]], "whole"),
        ([[1, 2, 3, 4, 5, np.inf]], "whole"),
        ([[1, 2, 3, 4, 5, -np.inf]], "whole|negative"),
        ([[1, 2, 3, 4, 5, 1e300]], "above"),
        ([1, 2, 3, 4, 5, 6], "n_docs, n_words"),
        (np.zeros((2, 2, 6)), r".{5}"),
        ([["a", "b", "c", "d", "e", "f"]], "whole numbers"),
        ([[1, 2, 3, 4, 5, 6j]], "whole numbers"),
    ],
)
@EVERY_METHOD
def test_what_are_no_counts(kind, method, counts, message):
    with pytest.raises(ValueError, match=message):
        log_likelihood(topics(kind), counts, method, n_samples=FEW)


@pytest.mark.parametrize("counts", [None, "counts", {}])
def test_what_is_no_matrix(counts):
    with pytest.raises((TypeError, ValueError), match="counts"):
        log_likelihood(topics(), counts)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "4", True])
def test_a_bad_number_of_samples(bad):
    with pytest.raises((ValueError, TypeError), match="n_samples"):
        log_likelihood(topics(), documents(), n_samples=bad)


@pytest.mark.parametrize("name", ["n_jobs", "random_state"])
def test_other_bad_settings(name):
    with pytest.raises((ValueError, TypeError), match=name):
        log_likelihood(topics(), documents(), **{name: "2"})
