"""A block of documents gets what its documents get among all, to the bit, by every estimator."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from evaluation import ExactCostError, log_likelihood
from evaluation.completion import completion
from evaluation.convention import log_change
from evaluation.document_blocks import (
    MAX_DOCUMENTS,
    MAX_ENTRIES,
    MIN_DOCUMENTS,
    DocumentBlock,
    block_bounds,
)
from evaluation.gamma_poisson.length import log_length_probability
from evaluation.partial_estimate import PartialEstimate
from evaluation.scorer import Scorer
from models import FixedLengthPoissonMRF, GammaPoissonTopics, LDATopics, LPMRFClusters, LPMRFTopics
from tests.evaluation.registry import KINDS_AND_METHODS, identify, method_of, names_of
from tests.small_models import documents, model_of

pytestmark = pytest.mark.usefixtures("fifth_family")
EVERY_METHOD = pytest.mark.parametrize(("kind", "method"), KINDS_AND_METHODS, ids=identify)
UNBIASED = [each for each in KINDS_AND_METHODS if method_of(*each).is_unbiased]
SAMPLED = [each for each in KINDS_AND_METHODS if method_of(*each).is_sampled]
FIELDS = ("log_likelihood", "standard_error", "n_tokens", "effective_sample_size", "n_samples")
N_SAMPLES = 9
"""NumPy adds up eight numbers or more of one document in another order than of several."""


def blocks_of(counts, size):
    n_before = 0
    for first in range(0, counts.shape[0], size):
        block = DocumentBlock(counts[first : first + size], first, n_before)
        yield block
        n_before += int(block.counts.sum())


def joined(parts):
    """The estimate of all documents, of those of consecutive blocks; the last comes first."""
    first = np.cumsum([0] + [len(part.n_tokens) for part in parts])
    partial = PartialEstimate(first[-1])
    for start, part in list(zip(first, parts, strict=False))[::-1]:
        partial.add(start, part)
    return partial.estimate()


def assert_same(found, expected):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert (found.method, found.convention) == (expected.method, expected.convention)


def assert_blocks_are_the_whole(model, counts, method, sizes, **settings):
    scorer = Scorer.of(model, method, random_state=7, **settings)
    whole = scorer.score(DocumentBlock(counts))
    for size in sizes:
        parts = [scorer.score(block) for block in blocks_of(counts, size)]
        assert len(parts) == -(-counts.shape[0] // size)
        assert_same(joined(parts), whole)


@EVERY_METHOD
def test_joined_blocks_are_the_whole(kind, method):
    model, counts = model_of(kind, 3, 5), documents(11, 5)
    assert_blocks_are_the_whole(model, counts, method, (1, 4), n_samples=N_SAMPLES)


@pytest.mark.slow
@EVERY_METHOD
def test_joined_blocks_are_the_whole_of_more_topics(kind, method):
    n_words = 4 if method == "exact" and kind is not LPMRFClusters else 14
    model, counts = model_of(kind, 10, n_words), documents(40, n_words)
    assert_blocks_are_the_whole(model, counts, method, (1, 2, 7, 39), n_samples=11)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "method"), UNBIASED)
def test_joined_blocks_are_the_whole_with_a_target(kind, method):
    model, counts = model_of(kind, 3, 6), documents(13, 6)
    assert_blocks_are_the_whole(model, counts, method, (1, 5), target_standard_error=0.3)


@pytest.mark.parametrize("convention", ["sequence", "bag"])
def test_joined_blocks_are_the_whole_in_another_convention(convention):
    model, counts = model_of(GammaPoissonTopics, 3, 5), documents(11, 5)
    method = "variational-bound"
    fresh = Scorer.of(model_of(GammaPoissonTopics, 3, 5), method, convention=convention)
    whole = fresh.score(DocumentBlock(counts))
    scorer = Scorer.of(model, method, convention=convention)
    parts = [scorer.score(block) for block in list(blocks_of(counts, 1))[::-1]]
    assert_same(joined(parts[::-1]), whole)


@pytest.mark.parametrize("n_topics", [1, 9])
def test_long_tables_of_lengths_begin_as_short_ones(n_topics):
    lengths = np.arange(3, 400)
    counts = sparse.csr_array(lengths[:, None])
    ascending, at_once = (model_of(GammaPoissonTopics, n_topics, 1) for _ in range(2))
    to = ("bag", "bag-and-length", log_length_probability)
    found = [log_change(ascending, counts[[d]], *to) for d in range(len(lengths))]
    expected = log_change(at_once, counts, *to)
    assert (np.concatenate(found) == expected).all()


@pytest.mark.parametrize(("kind", "method"), SAMPLED)
def test_a_block_that_does_not_know_its_place_would_be_noticed(kind, method):
    model, counts = model_of(kind, 3, 5), documents(11, 5)
    scorer = Scorer.of(model, method, random_state=7, n_samples=N_SAMPLES)
    whole, part = scorer.score(DocumentBlock(counts)), scorer.score(DocumentBlock(counts[4:]))
    assert (part.log_likelihood != whole.log_likelihood[4:]).any()


@pytest.mark.parametrize("seed", [0, 1])
def test_small_fields_whose_sums_come_in_any_order(seed):
    """SciPy multiplies entry by entry in another order where all rows happen to be sorted."""
    n_topics, n_words = 60, 4
    rng = np.random.default_rng(seed)
    phi = np.triu(rng.normal(scale=30.0, size=(n_topics, n_words, n_words)), 1)
    phi *= rng.random(phi.shape) < 0.8
    fields = [FixedLengthPoissonMRF(np.zeros(n_words), each + each.T, 5.0) for each in phi]
    model = LPMRFClusters.of_fields(fields, np.zeros((n_topics, 9)), np.ones(n_topics))
    is_there = rng.random((12, n_words)) < 0.8
    counts = sparse.csr_array(is_there * rng.integers(1, 4, is_there.shape))
    whole = model.log_joint(counts)
    for size in (1, 2, 5):
        parts = [model.log_joint(block.counts) for block in blocks_of(counts, size)]
        assert (np.concatenate(parts) == whole).all()


def test_what_a_document_gets_by_a_target_depends_on_it_alone():
    model, counts = model_of(LDATopics, 3, 30), documents(9, 30, mean=2.0)
    settings = {"target_standard_error": 0.05, "random_state": 3, "n_samples": 20}
    scorer = Scorer.of(model, "mean-field-is-1", **settings)
    whole = scorer.score(DocumentBlock(counts))
    assert len(np.unique(whole.n_samples[whole.n_tokens > 0])) > 1
    for d in np.flatnonzero(whole.n_tokens)[:3]:
        alone = scorer.score(DocumentBlock(counts).emptied_but(np.array([d])))
        for name in FIELDS:
            assert getattr(alone, name)[d] == getattr(whole, name)[d]
            if name == "n_samples":
                assert (getattr(alone, name) > 0).sum() == 1


@pytest.mark.parametrize("n_docs", [1, 7, 8, 9, 100, 3000, 64_000, 100_000])
@pytest.mark.parametrize("at_least", [1, 300])
def test_bounds_cover_all_documents_once(n_docs, at_least):
    bounds = block_bounds(sparse.csr_array(np.ones((n_docs, 1), dtype=np.int32)), at_least)
    assert [first for first, _ in bounds] == [0, *(last for _, last in bounds[:-1])]
    assert bounds[-1][1] == n_docs
    sizes = [last - first for first, last in bounds]
    smallest = max(at_least, min(MAX_DOCUMENTS, max(MIN_DOCUMENTS, n_docs // 64)))
    assert all(smallest <= size <= smallest + 1 for size in sizes[:-1])


def test_bounds_of_long_and_of_no_documents():
    start = np.concatenate(([0], np.cumsum([5, MAX_ENTRIES // 2] + [MAX_ENTRIES + 1] * 2 + [3])))
    nothing = np.broadcast_to(np.int8(1), start[-1:])
    counts = sparse.csr_array((nothing, np.zeros(start[-1], dtype=np.int32), start), shape=(5, 1))
    assert block_bounds(counts) == [(0, 2), (2, 3), (3, 4), (4, 5)]
    counts = sparse.csr_array((0, 5), dtype=np.int64)
    assert block_bounds(counts) == [(0, 0)]
    found = Scorer.of(model_of(LDATopics, 3, 5), "completion").score(DocumentBlock(counts))
    assert joined([found]).n_documents == 0


def test_it_is_what_log_likelihood_gives():
    model, counts = model_of(LDATopics, 3, 5), documents(11, 5)
    expected = log_likelihood(model, counts, "completion", n_samples=N_SAMPLES, random_state=7)
    scorer = Scorer.of(model, "completion", n_samples=N_SAMPLES, random_state=7)
    assert_same(joined([scorer.score(block) for block in blocks_of(counts, 3)]), expected)


def test_blocks_in_pickles_and_emptied():
    block = DocumentBlock(documents(11, 5), 40, 123)
    again = pickle.loads(pickle.dumps(block))
    assert (again.first_document, again.n_tokens_before) == (40, 123)
    assert (again.counts.toarray() == block.counts.toarray()).all()
    whole = DocumentBlock(documents(11, 5))
    assert whole.first_document == whole.n_tokens_before == 0
    assert whole.n_documents == 11
    assert (whole.n_tokens == documents(11, 5).toarray().sum(axis=1)).all()
    counts, rows = documents(11, 5), np.array([2, 3, 9])
    found = DocumentBlock(counts, 40, 123).emptied_but(rows)
    expected = np.zeros(counts.shape, dtype=int)
    expected[rows] = counts.toarray()[rows]
    assert (found.counts.toarray() == expected).all()
    assert (found.first_document, found.n_tokens_before) == (40, 123)


@pytest.mark.parametrize("bounds", [(40, 51), (40, 43), (43, 50), (44, 44), (51, 51)])
def test_a_part_of_a_block(bounds):
    counts = documents(11, 5)
    found = DocumentBlock(counts, 40, 123).between(*bounds)
    rows = slice(bounds[0] - 40, bounds[1] - 40)
    assert (found.counts.toarray() == counts.toarray()[rows]).all()
    assert found.first_document == bounds[0]
    assert found.n_tokens_before == 123 + counts.toarray()[: rows.start].sum()
    assert found.counts.has_canonical_format


def test_completion_of_one_document_is_that_among_several():
    model, counts = model_of(LDATopics, 3, 5), documents(11, 5, mean=4.0)[1:2]
    twice = sparse.csr_array(sparse.vstack([counts, counts]))
    blocks = (DocumentBlock(counts), DocumentBlock(twice))
    one, two = (completion(model, block, n_samples=20, seed=3) for block in blocks)
    assert one.log_likelihood[0] == two.log_likelihood[0]
    assert one.standard_error[0] == two.standard_error[0]


@pytest.mark.parametrize("kind", [LDATopics, GammaPoissonTopics, LPMRFTopics])
def test_what_exact_would_refuse_is_refused_at_once_by_its_number(kind):
    model, counts = model_of(kind, 9, 5), documents(11, 5).toarray()
    counts[6] = 300
    block = DocumentBlock(sparse.csr_array(counts), 1000, 5)
    scorer = Scorer.of(model, "exact", max_memory=2**20)
    with pytest.raises(ExactCostError, match="document 1006 has 1500 tokens") as refused:
        scorer.check_cost(block)
    with pytest.raises(ExactCostError) as the_same:
        scorer.score(block)
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value) == str(the_same.value)
    assert (again.document, again.n_tokens, again.n_topics) == (1006, 1500, 9)
    if "completion" in names_of(kind):
        Scorer.of(model, "completion", max_memory=1).check_cost(block)
    Scorer.of(model_of(LPMRFClusters, 9, 5), "exact", max_memory=1).check_cost(block)
