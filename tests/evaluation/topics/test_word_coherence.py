"""Coherence with an error over documents, and diversity with one over topics."""

import numpy as np
import pytest
from scipy import sparse

from corpora import Corpus
from evaluation import coherence, diversity
from evaluation.figure import groups_of, mean_over_seeds
from evaluation.topics.word_coherence import word_coherence
from evaluation.topics.word_diversity import word_diversity
from models import LDATopics

WORDS = tuple("abcdefghij")


def some_corpus(n_docs=40, seed=0):
    counts = np.random.default_rng(seed).poisson(0.7, (n_docs, len(WORDS)))
    return Corpus(sparse.csr_array(counts.astype(np.int32)), WORDS, tuple(map(str, range(n_docs))))


@pytest.mark.parametrize("measure", ["c_npmi", "u_mass", "c_uci", "c_v"])
def test_replicates_are_the_coherence_in_the_other_documents(measure):
    corpus, topics = some_corpus(), [list("abcd"), list("fghi")]
    group_of = groups_of(corpus.doc_ids, 5)
    found = word_coherence(topics, corpus, group_of, measure, 4)
    figure, per_topic = found.jackknifed, found.per_topic
    whole = coherence(topics, corpus, measure, n_words=4)
    assert per_topic == pytest.approx(whole.per_topic)
    assert figure.value == pytest.approx(whole.mean)
    for b in range(5):
        rest = corpus.rows(group_of != b)
        expected = coherence(topics, rest, measure, n_words=4).mean
        assert figure.replicates[b] == pytest.approx(expected)


def test_an_error_over_documents_needs_the_trust_that_coherence_asks_for():
    for n_docs in (10, 40):
        corpus, topics = some_corpus(n_docs), [list("abcd"), list("fghi")]
        found = word_coherence(topics, corpus, np.arange(n_docs), n_words=4)
        expected = coherence(topics, corpus, n_words=4).by_document.mean
        assert found.figure.why == expected.why_none
        assert np.isnan(found.figure.error) == bool(expected.why_none) == (n_docs == 10)
        assert found.figure.value == found.jackknifed.value
        assert np.isfinite(found.jackknifed.error)
    assert mean_over_seeds([found.figure] * 2).why == ""
    few = word_coherence(topics, some_corpus(10), np.arange(10), n_words=4).figure
    mean = mean_over_seeds([found.figure, few])
    assert (mean.why, np.isnan(mean.standard_error)) == (few.why, True)


def test_unknown_words_and_short_topics_are_left_out():
    corpus = some_corpus()
    group_of = groups_of(corpus.doc_ids)
    expected = coherence([["a", "b"]], corpus, n_words=2).mean
    found = word_coherence([["a", "nobody", "b"], ["c"], []], corpus, group_of)
    assert found.figure.value == pytest.approx(expected)
    assert np.isnan(found.per_topic[1:]).all()
    nothing = word_coherence([["nobody", "knows"]], corpus, group_of)
    assert "two words" in nothing.figure.why
    with pytest.raises(ValueError, match="n_words"):
        word_coherence([["a", "b"]], corpus, group_of, n_words=1)


def test_pairs_that_no_document_has_are_counted():
    counts = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0]], dtype=np.int32))
    corpus = Corpus(counts, tuple("abcd"), ("x", "y"))
    found = word_coherence(["abcd"], corpus, np.array([0, 1]))
    assert found.unseen_pairs == pytest.approx(1 / 3)  # a and c; d occurs nowhere


def test_diversity_is_that_of_weights():
    topics = LDATopics.from_weights(np.random.default_rng(1).random((4, 10)), 0.1)
    lists = [[WORDS[w] for w in row] for row in topics.top_words(5)]
    figure = word_diversity(lists, 5)
    assert figure.value == pytest.approx(diversity(topics, 5))
    assert figure.reason == "topics are too few: 4, it needs 10"
    assert not word_diversity([[], []]).is_known


def jackknifed(lists):
    """Return the variance of diversity by the jackknife."""
    others = [lists[:k] + lists[k + 1 :] for k in range(len(lists))]
    without = [len({w for words in some for w in words}) / sum(map(len, some)) for some in others]
    return (len(lists) - 1) * np.var(without)


@pytest.mark.parametrize("n_topics", [12, 31])
def test_intervals_of_diversity_cover_the_truth(n_topics):
    rng = np.random.default_rng(0)
    weights = 1 / (10 + np.arange(300))
    found, variances = [], []
    for _ in range(300):
        lists = [
            rng.choice(300, 10 + k % 2, replace=False, p=weights / weights.sum()).astype(str)
            for k in range(n_topics)
        ]
        variances.append(jackknifed([each.tolist() for each in lists]))
        found.append(word_diversity([each.tolist() for each in lists]))
    values, errors = np.array([(each.value, each.error) for each in found]).T
    true = values.std(ddof=1)  # known to a 25th
    assert np.sqrt(np.mean(variances)) > 1.2 * true
    assert 0.9 <= np.sqrt(np.mean(errors**2)) / true <= 1.2
    low, high = np.array([each.interval() for each in found]).T
    is_right = (low <= values.mean()) & (values.mean() <= high)
    assert 0.925 <= is_right.mean() <= 0.985


def test_diversity_has_the_same_error_at_each_call():
    lists = [[str((3 * k + j) % 40) for j in range(7)] for k in range(15)]
    assert word_diversity(lists).error == word_diversity(lists).error


def test_a_difference_without_variance_is_no_certainty():
    alphabet = [f"{k}a {k}b".split() for k in range(12)]
    same, other = (word_diversity(lists, 2) for lists in ([["a", "b"]] * 12, alphabet))
    assert (same.value, other.value) == (1 / 12, 1.0)
    assert np.isnan(same.minus(other).p_value)
    assert same.minus(same).p_value == 1.0
