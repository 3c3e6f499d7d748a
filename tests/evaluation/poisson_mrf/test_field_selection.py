from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from evaluation.poisson_mrf import field_selection
from evaluation.poisson_mrf.field_selection import (
    EFFORT,
    LENGTH_SCALES,
    PENALTIES,
    FieldSelection,
    multinomial_shares,
    select_fields,
)
from models.poisson_mrf.field_fitting import fit_fields
from models.poisson_mrf.partition_table import partition_table
from models.poisson_mrf.topic_matrices import map_assignment, single_topic_scores
from models.poisson_mrf.topic_model import parts_of_split
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

FAST = replace(EFFORT, n_samples=10, n_temperatures=8)


def documents_of_pairs(n_docs, strength, seed):
    """Documents of 20 tokens; words 0 and 1, and 2 and 3, are more or less frequent together."""
    rng = np.random.default_rng(seed)
    together, rate = strength * rng.standard_normal((n_docs, 2)), np.ones((n_docs, 8))
    rate[:, :4] = np.exp(np.repeat(together, 2, axis=1))
    return sparse.csr_array(rng.multinomial(20, rate / rate.sum(axis=1, keepdims=True)))


def two_parts(n_docs, seed):
    """Documents of mostly one half of the words each."""
    rng = np.random.default_rng(seed)
    rate = np.array([[4.0, 3, 2, 2, 0.2, 0.2, 0.2, 0.2], [0.2, 0.2, 0.2, 0.2, 2, 2, 3, 4]])
    return sparse.csr_array(rng.poisson(rate[rng.integers(2, size=n_docs)]))


def test_grids_and_the_best_of_a_table():
    assert (len(PENALTIES), PENALTIES[0], PENALTIES[-1]) == (20, 1.0, 1e-3)
    assert np.diff(np.log(PENALTIES)) == pytest.approx(-np.log(1000) / 19)
    assert LENGTH_SCALES == (1.0, 1.25, 1.5, 1.75, 2.0)
    table = np.array([[5.0, 5.0], [4.0, 4.0], [4.5, 3.5], [np.nan, np.nan]])
    found = FieldSelection((8.0, 4.0, 2.0, 1.0), (1.0, 2.0), table, np.array([0, 1, 2, -1]))
    assert (found.penalty, found.length_scale, found.best_perplexity) == (2.0, 2.0, 3.5)
    assert found.is_at_edge  # nothing is known of smaller ones
    table[3] = 6.0
    inner = FieldSelection((8.0, 4.0, 2.0, 1.0), (1.0, 2.0), table, np.array([0, 1, 2, 3]))
    assert not inner.is_at_edge
    equal = FieldSelection((2.0, 1.0), (1.0, 2.0), np.full((2, 2), 3.0), np.array([0, 1]))
    assert (equal.penalty, equal.length_scale) == (2.0, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_dependencies_are_found_where_there_are_any(seed):
    penalties = (10.0, 1.0, 0.3, 0.03, 0.0001)
    train, validation = documents_of_pairs(300, 1.2, seed), documents_of_pairs(200, 1.2, seed + 50)
    found = select_fields(train, validation, penalties, (1.5,), effort=FAST, seed=seed)
    assert found.n_interactions[0] == 0
    assert 0.001 < found.penalty < 10
    # With no interactions 200 documents cost this much more; it is 0 where there are none.
    assert np.log(found.perplexity[0, 0] / found.best_perplexity) > 0.02
    train, validation = (documents_of_pairs(n, 0.0, seed + n) for n in (300, 200))
    alone = select_fields(train, validation, penalties, (1.5,), effort=FAST)
    assert np.log(alone.perplexity[0, 0] / alone.best_perplexity) < 0.002
    assert alone.perplexity[-1, 0] > alone.best_perplexity  # all that is fitted there is noise


def shares_of(kind, train):
    if kind == "single":
        return None
    rng = np.random.default_rng(1)
    if kind == "mixture":
        return rng.integers(2, size=train.shape[0])
    first = rng.integers(train.data + 1)
    return np.stack([first, train.data - first], axis=1)


@pytest.mark.parametrize("kind", ["single", "mixture", "moves"])
def test_a_score_is_that_of_fields_fitted_with_the_pair(kind):
    train, validation = documents_of_pairs(120, 1.0, 0), documents_of_pairs(40, 1.0, 1)
    shares, parts = shares_of(kind, train), [train]
    settings = {"shares": shares, "effort": FAST, "seed": 3}
    found = select_fields(train, validation, (0.1, 0.5), (1.0, 2.0), **settings)
    assert found.penalties == (0.5, 0.1)
    if kind == "mixture":
        parts = [train[shares == k] for k in (0, 1)]
    elif kind == "moves":
        parts = parts_of_split(train, shares)
    for i, penalty in enumerate((0.5, 0.1)):
        for j, scale in enumerate((1.0, 2.0)):
            settings = replace(FAST, penalty=penalty, length_scale=scale)
            fitted = fit_fields(parts, 20, settings, seed=3)
            assert found.n_interactions[i] == sum(f.n_interactions for f in fitted.fields)
            args = (fitted.fields, fitted.log_partition, np.ones(len(parts)))
            if kind == "moves":
                scores = map_assignment(LPMRFTopics.of_fields(*args), validation).objective
            else:
                scores = single_topic_scores(LPMRFClusters.of_fields(*args), validation).max(axis=1)
            expected = np.exp(-scores.sum() / validation.sum())
            # The path starts elsewhere: regressions agree to their tolerance of 1e-6.
            assert found.perplexity[i, j] == pytest.approx(expected, rel=1e-4)
    assert len(set(found.perplexity.ravel())) == 4


@pytest.mark.slow
def test_equal_bits_whatever_is_known_and_however_many_threads():
    train, validation = documents_of_pairs(80, 1.0, 0), documents_of_pairs(30, 1.0, 1)
    grid = (train, validation, (0.5, 0.2, 0.1), (1.0, 2.0))
    seen = []
    whole = select_fields(*grid, effort=FAST, on_pair=lambda *args: seen.append(args))
    assert [each[:2] for each in seen] == [(i, j) for i in range(3) for j in range(2)]
    assert [each[2] for each in seen] == whole.perplexity.ravel().tolist()
    assert np.array_equal(select_fields(*grid, effort=FAST, n_jobs=3).perplexity, whole.perplexity)
    known = whole.perplexity.copy()
    known[1:] = np.nan
    known[2, 1] = whole.perplexity[2, 1]
    with mock.patch.object(field_selection, "partition_table", wraps=partition_table) as annealed:
        rest = select_fields(*grid, effort=FAST, known=known)
    assert annealed.call_count == 3
    assert np.array_equal(rest.perplexity, whole.perplexity)
    other = select_fields(*grid, effort=FAST, seed=1)
    assert not np.array_equal(other.perplexity, whole.perplexity)


def test_patience_leaves_the_smallest_penalties_out():
    train, validation = documents_of_pairs(60, 0.0, 0), documents_of_pairs(40, 0.0, 1)
    penalties = (5.0, 3.0, 0.2, 0.1, 0.05, 0.01)
    whole = select_fields(train, validation, penalties, (1.0,), effort=FAST)
    some = select_fields(train, validation, penalties, (1.0,), effort=FAST, patience=2)
    # No dependencies at the first two, equally good, and none to be learned: twice worse.
    assert (some.n_interactions >= 0).tolist() == [True] * 4 + [False] * 2
    assert np.isnan(some.perplexity[4:]).all()
    assert np.array_equal(some.perplexity[:4], whole.perplexity[:4])
    assert (some.penalty, some.best_perplexity) == (whole.penalty, whole.best_perplexity)


@pytest.mark.parametrize("assignments", ["mixture", "moves"])
def test_shares_of_multinomials(assignments):
    counts = two_parts(60, 0).toarray()
    counts[5] = 0  # a document without a token is of no cluster
    documents = sparse.csr_array(counts)
    shares = multinomial_shares(documents, 2, assignments, seed=1)
    halves = (counts[:, :4].sum(axis=1) > counts[:, 4:].sum(axis=1)).astype(int)
    if assignments == "mixture":
        agree = np.mean(shares == np.delete(halves, 5))
        assert max(agree, 1 - agree) > 0.95
    else:
        assert shares.shape == (documents.nnz, 2)
        assert (shares.sum(axis=1) == documents.data).all()
    found = select_fields(documents, two_parts(20, 1), (1.0,), (1.0,), shares=shares, effort=FAST)
    single = select_fields(documents, two_parts(20, 1), (1.0,), (1.0,), effort=FAST)
    assert found.best_perplexity < 0.9 * single.best_perplexity


def test_refusals():
    good = documents_of_pairs(20, 0.0, 0)
    cases = [
        ({"penalties": ()}, "penalties must be positive numbers, one at least"),
        ({"penalties": (0.1, 0.0)}, "penalties must be positive"),
        ({"length_scales": (1.0, np.nan)}, "length_scales must be positive"),
        ({"length_scales": (1.0, 1.0)}, "length_scales must differ"),
        ({"validation": np.zeros((3, 8))}, "validation must hold a token"),
        ({"validation": np.ones((3, 7))}, "same words, found 8 and 7"),
        ({"train": 0.5 * good}, "train must be whole numbers: found NaN, infinity or a fraction"),
        ({"train": -1 * good}, "train must not be negative, found -"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"known": np.ones((2, 2))}, r"known must be \(2, 1\), found \(2, 2\)"),
        ({"shares": np.zeros(19, dtype=int)}, "shares must be a cluster of each of the 20"),
        ({"shares": np.ones((good.nnz, 2), dtype=int)}, "sum to them"),
        ({"shares": np.ones(20)}, "shares must be whole numbers"),
        ({"shares": np.full(20, 1)}, "no token to topic 0"),
    ]
    for changed, complaint in cases:
        arguments = {"train": good, "validation": good, "penalties": (1.0, 0.1)}
        with pytest.raises(ValueError, match=complaint):
            select_fields(**(arguments | {"length_scales": (1.0,), "effort": FAST} | changed))
    with pytest.raises(ValueError, match='"mixture" or "moves", found \'gibbs\''):
        multinomial_shares(good, 2, "gibbs")
