import itertools
import math

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import chisquare

from evaluation.completion import completion
from evaluation.document_blocks import DocumentBlock
from models import LDATopics
from models.completion import DEFAULT_SPLITS, split_tokens
from tests.oracles import lda_likelihood


def model_of(seed, n_topics=3, n_words=6):
    rng = np.random.default_rng(seed)
    return LDATopics(rng.dirichlet(np.ones(n_words), n_topics), rng.gamma(1, 1, n_topics) + 0.1)


@settings(deadline=None)
@given(
    hnp.arrays(int, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 6)),
    st.integers(0, 10),
)
def test_the_halves_add_up(dense, seed):
    counts = sparse.csr_array(dense)
    seen, scored = split_tokens(counts, np.random.default_rng(seed))
    assert (seen.toarray() + scored.toarray() == dense).all()
    assert (seen.toarray() >= 0).all()
    assert (scored.toarray() >= 0).all()
    assert (np.asarray(seen.sum(axis=1)).ravel() == dense.sum(axis=1) // 2).all()
    assert (counts.toarray() == dense).all()
    assert seen.data.all()
    assert scored.data.all()


def split_counts(split, document, n_splits, seed):
    """How often each possible first half comes, and its expected number."""
    repeated = sparse.csr_array(np.tile(document, (n_splits, 1)))
    seen, half = split(repeated, np.random.default_rng(seed)).toarray(), sum(document) // 2
    ways = {
        choice: math.prod(math.comb(n, k) for n, k in zip(document, choice, strict=True))
        for choice in itertools.product(*(range(n + 1) for n in document))
        if sum(choice) == half
    }
    found = dict.fromkeys(ways, 0)
    for row in map(tuple, seen.tolist()):
        found[row] += 1
    expected = np.array(list(ways.values())) * n_splits / math.comb(sum(document), half)
    return np.array(list(found.values())), expected


def p_value(split, document, seed, n_splits=4000):
    return chisquare(*split_counts(split, document, n_splits, seed)).pvalue


@pytest.mark.parametrize("document", [(2, 1, 3), (5, 4), (1, 1, 1, 1, 1)])
def test_every_choice_of_tokens_is_equally_likely(document):
    values = [p_value(lambda c, rng: split_tokens(c, rng)[0], document, s) for s in range(8)]
    assert min(values) > 1e-4
    assert max(values) > 0.05


def split_by_words(counts, rng):
    """The negative control: whole words are taken in random order until half is reached."""
    seen = np.zeros(counts.shape, dtype=int)
    for d, document in enumerate(counts.toarray()):
        left = document.sum() // 2
        for w in rng.permutation(len(document)):
            seen[d, w] = min(left, document[w])
            left -= seen[d, w]
    return sparse.csr_array(seen)


def test_documents_are_split_independently_as_a_test_would_notice():
    assert max(p_value(split_by_words, (2, 1, 3), seed) for seed in range(3)) < 1e-6
    counts = sparse.csr_array(np.tile([1, 1], (2000, 1)))
    seen = split_tokens(counts, np.random.default_rng(0))[0].toarray()[:, 0]
    assert chisquare(np.bincount(2 * seen[::2] + seen[1::2], minlength=4)).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_naive_completion(seed):
    model = model_of(seed)
    counts, n_splits = sparse.csr_array(np.random.default_rng(seed).poisson(1.2, size=(7, 6))), 3
    expected = np.empty((n_splits, 7))
    for split in range(n_splits):
        seen, scored = split_tokens(counts, np.random.default_rng([seed, split]))
        for d, (first, second) in enumerate(zip(seen.toarray(), scored.toarray(), strict=True)):
            expected[split, d] = lda_likelihood.log_probability_of_completion(
                first, second, model.topic_word, model.alpha
            )
    found = completion(model, DocumentBlock(counts), n_samples=n_splits, seed=seed)
    assert_allclose(found.log_likelihood, expected.mean(axis=0), rtol=1e-3, atol=1e-9)
    error = expected.std(axis=0, ddof=1) / math.sqrt(n_splits)
    assert_allclose(found.standard_error, error, rtol=0.02, atol=1e-3)
    n_tokens = np.asarray(counts.sum(axis=1)).ravel()
    assert (found.n_tokens == n_tokens - n_tokens // 2).all()
    assert (found.convention, found.direction) == ("sequence", "plug-in")


def test_one_topic_one_word_and_one_token():
    found = completion(LDATopics([[1.0]], [1.0]), DocumentBlock(sparse.csr_array([[9], [1], [0]])))
    assert (found.log_likelihood.tolist(), found.n_tokens.tolist()) == ([0.0, 0.0, 0.0], [5, 1, 0])
    model, counts = model_of(0, n_topics=1), sparse.csr_array([[4, 2, 0, 6, 0, 0]])
    found = completion(model, DocumentBlock(counts), n_samples=2000)
    expected = (counts @ np.log(model.topic_word[0]))[0] / 2
    assert abs(found.log_likelihood[0] - expected) < 4 * found.standard_error[0]
    model, counts = model_of(1), sparse.csr_array(np.eye(6, dtype=int))
    expected = np.log(model.alpha / model.alpha.sum() @ model.topic_word)
    found = completion(model, DocumentBlock(counts))
    assert_allclose(found.log_likelihood, expected, rtol=1e-12)
    assert_allclose(found.standard_error, 0.0, atol=1e-12)


def test_number_of_splits():
    model, counts = model_of(0), sparse.csr_array(np.full((3, 6), 2))
    assert np.isnan(completion(model, DocumentBlock(counts), n_samples=1).standard_error).all()
    default = completion(model, DocumentBlock(counts), seed=3)
    given = completion(model, DocumentBlock(counts), n_samples=DEFAULT_SPLITS, seed=3)
    assert (default.log_likelihood == given.log_likelihood).all()
    few, many = (
        completion(model, DocumentBlock(counts), n_samples=n).standard_error for n in (50, 800)
    )
    assert_allclose(few / many, 4.0, rtol=0.4)


def test_the_right_topics_predict_better():
    rng, model = np.random.default_rng(0), model_of(3, n_topics=4, n_words=30)
    proportions = rng.dirichlet(np.full(4, 0.1), size=200)
    counts = sparse.csr_array(rng.multinomial(60, proportions @ model.topic_word))
    right = completion(LDATopics(model.topic_word, np.full(4, 0.1)), DocumentBlock(counts))
    mixed = completion(LDATopics(model.topic_word.mean(axis=0), [1.0]), DocumentBlock(counts))
    assert right.perplexity < mixed.perplexity
