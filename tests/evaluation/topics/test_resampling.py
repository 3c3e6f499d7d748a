import math

import numpy as np
import pytest
from scipy import stats

from corpora import Corpus
from evaluation import Coherence, RunningText, coherence
from evaluation.figure import MAX_BIAS
from evaluation.topics.coherence import WINDOW_SIZES
from evaluation.topics.resampling import MIN_BLOCKS, ResampledValue
from tests.oracles.window_coherence import topic_coherence, windows_of

WORDS = tuple("abcdefghij")
THEMES = np.array([[8, 7, 6, 1, 1, 1, 1, 1, 4, 4], [1, 1, 1, 8, 6, 5, 1, 2, 3, 6]]) / 34
TOPICS = [list("abc"), list("def"), list("adi")]
LENGTH = 60


def drawn(n_docs, rng):
    """Documents whose tokens are of a theme for a while; a document prefers some of the words."""
    turns = rng.random((n_docs, LENGTH)) < 0.1
    theme = (np.cumsum(turns, axis=1) + rng.integers(0, 2, (n_docs, 1))) % 2
    tastes = rng.gamma(1.0, size=(n_docs, 1, len(WORDS))) * THEMES
    ends = np.cumsum(tastes / tastes.sum(axis=2, keepdims=True), axis=2)
    u = rng.random((n_docs, LENGTH, 1))
    mine = np.take_along_axis(ends, theme[:, :, None], axis=1)
    word_of = np.minimum((u > mine).sum(axis=2), len(WORDS) - 1)
    return text_of(word_of.astype(np.int32))


def text_of(word_of):
    n_docs, length = word_of.shape
    return RunningText(word_of.ravel(), np.arange(n_docs + 1) * length, WORDS)


def test_the_jackknife_against_its_definition():
    rng = np.random.default_rng(0)
    documents = [[str(w) for w in rng.choice(WORDS, 15)] for _ in range(40)]
    numbers = np.array([[WORDS.index(w) for w in each] for each in documents], dtype=np.int32)
    for measure, size in WINDOW_SIZES.items():
        found = coherence(TOPICS, text_of(numbers), measure)
        n_windows = len(windows_of(documents, size))
        without = []  # fewer documents than blocks: each is one
        for d in range(40):
            rest = windows_of(documents[:d] + documents[d + 1 :], size)
            smoothing = len(rest) / n_windows
            without.append([topic_coherence(rest, topic, measure, smoothing) for topic in TOPICS])
        without = np.array(without)
        mean = without.mean(axis=0)
        errors = np.sqrt(39 / 40 * ((without - mean) ** 2).sum(axis=0))
        np.testing.assert_allclose([e.raw_error for e in found.by_document.topics], errors)
        biases = 39 * (mean - found.per_topic)
        np.testing.assert_allclose([e.bias for e in found.by_document.topics], biases, atol=1e-9)
        of_means = without.mean(axis=1)
        expected = math.sqrt(39 / 40 * ((of_means - of_means.mean()) ** 2).sum())
        assert found.by_document.mean.raw_error == pytest.approx(expected)


def test_sections_of_an_article_are_left_out_together():
    rng = np.random.default_rng(0)
    counts = np.repeat(rng.poisson(1.0, (30, 3)), 4, axis=0)  # four equal sections each
    sections = [f"en:{a}#{s}" for a in range(30) for s in range(4)]
    of_articles = Corpus(counts, tuple("abc"), sections)
    of_sections = Corpus(counts, tuple("abc"), [str(i) for i in range(120)])
    articles, alone = (
        coherence(["abc"], c, "u_mass").by_document for c in (of_articles, of_sections)
    )
    assert articles.topics[0].n_blocks == 30
    # As the sections are equal, there are only 30 independent documents: twice the error.
    ratio = articles.topics[0].raw_error / alone.topics[0].raw_error
    assert 1.6 < ratio < 2.4


def test_no_standard_error_where_words_are_seldom_together():
    often = ResampledValue(0.01, 0.001, 0, 45, 100)
    assert (often.why_none, often.standard_error) == ("", 0.01)
    assert often.margin == pytest.approx(0.01 * 1.984, rel=1e-3)
    for value, reason in (
        (ResampledValue(0.01, 0.001, 1, 45, 100), "1 of 45 pairs of words are together in fewer"),
        (ResampledValue(0.01, 0.006, 0, 45, 100), "few windows bias it by about 0.006"),
        (ResampledValue(math.nan, math.nan, 0, 45, 1), "1 block of documents, those of an article"),
        (ResampledValue(0.01, 0.001, 45, 45, 4), "4 blocks of documents, those of an article in"),
        (ResampledValue(math.nan, math.nan, 0, 45, 5), "there are too few documents"),
        (ResampledValue(0.01, 0.001, 0, 0, 100), "no pair of words occurs"),
    ):
        assert reason in value.why_none
        assert math.isnan(value.standard_error)
        assert math.isnan(value.margin)
    assert not ResampledValue(0.01, 0.001, 4, 4500, 100).why_none


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_bias_lowers_coverage_by_little(sign):
    at_most = ResampledValue(0.01, sign * MAX_BIAS * 0.01, 0, 45, 100)
    beyond = ResampledValue(0.01, sign * 1.001 * MAX_BIAS * 0.01, 0, 45, 100)
    assert (at_most.why_none, beyond.why_none[:22]) == ("", "few windows bias it by")

    def coverage(bias):  # of value ± margin, value normal with this bias in standard errors
        margin = at_most.quantile
        return stats.norm.cdf(margin - bias) - stats.norm.cdf(-margin - bias)

    assert coverage(0.0) - coverage(MAX_BIAS) == pytest.approx(0.013, abs=0.001)


@pytest.mark.parametrize("n_together", [MIN_BLOCKS - 1, MIN_BLOCKS])
def test_rare_pairs_are_counted_by_articles(n_together):
    together = [["a", "b"]] * n_together
    documents = [*together, *[["a", "c"], ["b", "c"]] * 20]
    counts = np.array([[each.count(w) for w in "abc"] for each in documents])
    found = coherence(
        [["a", "b"]], Corpus(counts, tuple("abc"), [str(d) for d in range(len(counts))])
    )
    assert found.by_document.topics[0].n_rare == (n_together < MIN_BLOCKS)


@pytest.mark.parametrize("n_docs", [0, 1, 2])
def test_few_documents(n_docs):
    found = coherence([["a", "b"]], text_of(np.array([[0, 1]] * n_docs, np.int32).reshape(-1, 2)))
    assert isinstance(found, Coherence)
    assert math.isnan(found.by_document.standard_error)
    assert found.by_document.topics[0].why_none
    assert found.by_document.mean.n_blocks == n_docs


@pytest.mark.slow
def test_intervals_cover_what_the_generator_gives():
    """The truth is counted in 300 times as many documents as a sample has."""
    rng = np.random.default_rng(0)
    n_docs, n_samples = 1000, 300
    samples = [drawn(n_docs, rng) for _ in range(n_samples)]
    everything = text_of(np.concatenate([each.word_of for each in samples]).reshape(-1, LENGTH))
    for measure in WINDOW_SIZES:
        # u_mass and c_uci add 1 to counts of a sample, so more to those of all.
        truth = coherence(TOPICS, everything, measure, smoothing=float(n_samples))
        covers, mean_covers, half_covers = [], [], []
        for sample in samples:
            found = coherence(TOPICS, sample, measure)
            margins = [each.margin for each in found.by_document.topics]
            assert np.isfinite(margins).all()
            covers.append(np.abs(found.per_topic - truth.per_topic) <= margins)
            half_covers.append(np.abs(found.per_topic - truth.per_topic) <= np.array(margins) / 2)
            margin = found.by_document.mean.quantile * found.by_document.mean.raw_error
            mean_covers.append(abs(found.mean - truth.mean) <= margin)
        tolerance = 3 * math.sqrt(0.95 * 0.05 / n_samples)
        assert abs(np.mean(covers) - 0.95) < tolerance  # mean over topics of the same samples
        assert abs(np.mean(mean_covers) - 0.95) < tolerance
        assert np.mean(half_covers) < 0.8  # a wrong error is noticed
