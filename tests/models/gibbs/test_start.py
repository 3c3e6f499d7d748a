import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from models import GibbsLDA
from models.counts import frozen_words
from models.gibbs import start
from models.gibbs.tokens import tokens_of
from models.lda import gibbs_lda
from models.lda.online_lda import OnlineLDA
from models.variational.halved_weights import HalvedWeights, halved_weights
from models.variational.likely_topics import LikelyTopics, likely_topics
from tests.models.lda.counts import random_counts


def test_topics_that_were_learned_twice_are_merged_into_one():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.2), 4)
    twice = np.concatenate((60.0 * topics, 30.0 * topics[::-1]))
    found = start._merged(twice, 4)
    assert found.flags.c_contiguous
    assert_allclose(found, topics.T, rtol=1e-12, atol=1e-300)


def test_a_start_learns_the_surplus_and_has_topics_of_the_model_alone(monkeypatch):
    counts, learned = random_counts(), []
    init = OnlineLDA.resume

    def resume(self, X, state):
        learned.append((self.n_topics, float(np.sum(self.alpha))))
        return init(self, X, state)

    monkeypatch.setattr(OnlineLDA, "resume", resume)
    model = GibbsLDA(3, alpha=0.2, random_state=0).resume(counts, None)
    assert learned == [(6, np.sum(np.full(6, 0.2) * 0.5))]
    assert set(model.state_.topic_of.tolist()) == {0, 1, 2}
    monkeypatch.setattr(gibbs_lda, "FEW_TOPICS", 2)
    GibbsLDA(4, alpha=0.2, random_state=0).resume(counts, None)
    assert learned[1][0] == 6


def test_without_a_surplus_the_topics_are_those_of_the_pass():
    counts = random_counts()
    tokens, alpha = tokens_of(counts), np.full(3, 0.2)
    online = OnlineLDA(3, alpha=alpha, eta=0.1, n_passes=1, max_e_iterations=10, random_state=5)
    expected = start.topics_given(
        online.fit(counts).topics_.word_topic, counts, tokens, alpha, 5, None
    )
    found = start.online_start(counts, tokens, alpha, np.full(12, 0.1), None, 5, None)
    assert_array_equal(found, expected)


@pytest.fixture
def learned(monkeypatch):
    """Counts and frozen words of the online runs, which take at least 5 documents."""
    found, init = [], OnlineLDA.iterate

    def iterate(self, X, y=None, *, state=None):
        found.append((X, state.frozen))
        return init(self, X, y, state=state)

    monkeypatch.setattr(OnlineLDA, "iterate", iterate)
    monkeypatch.setattr(start, "LEAST_LEARNED", 5)
    monkeypatch.setattr(start, "LEARNED_ENTRIES", 21)
    return found


def test_first_topics_are_learned_from_some_of_many_documents(monkeypatch, learned):
    counts = random_counts()
    topic_of = GibbsLDA(3, random_state=0).resume(counts, None).state_.topic_of
    GibbsLDA(4, random_state=0).resume(counts, None)
    monkeypatch.setattr(start, "LEARNED_ENTRIES", 3 * counts.shape[0])
    GibbsLDA(3, random_state=0).resume(counts, None)
    monkeypatch.setattr(start, "MOST_LEARNED", 6)
    GibbsLDA(3, random_state=0).resume(counts, None)
    assert [each.shape[0] for each, _ in learned] == [7, 5, counts.shape[0], 6]
    assert len(topic_of) == counts.sum()  # all documents have topics


def test_documents_without_words_are_not_learned_from(learned):
    counts = random_counts()
    empty = sparse.csr_array((300, counts.shape[1]), dtype=counts.dtype)
    GibbsLDA(3, random_state=0).resume(sparse.vstack([empty, counts], "csr"), None)
    ((some, _),) = learned
    assert some.shape[0] == 7
    assert (some.sum(axis=1) > 0).all()


def test_frozen_words_are_those_of_all_documents(learned):
    counts = random_counts()
    model = GibbsLDA(3, word_budget=4, random_state=0).resume(counts, None)
    ((some, frozen),) = learned
    assert some.shape[0] == 7
    assert_array_equal(frozen, model.state_.frozen)
    assert not np.array_equal(frozen, frozen_words(some, 4))


@pytest.mark.parametrize(
    ("prior", "layout"),
    [
        (0.01, likely_topics),
        (1e31, likely_topics),  # of so large a prior CVB0 leaves all documents
        (0.01, halved_weights),
    ],
)
def test_topics_of_documents_are_those_of_their_words(prior, layout):
    """Words are about as likely in each of many topics, but for one of each document."""
    rng, n_topics = np.random.default_rng(0), 500
    word_topic = rng.dirichlet(np.full(40, 50.0), n_topics).T
    word_topic[3, 7] = word_topic[5, 8] = 0.9
    weights, alpha = layout(word_topic), np.full(n_topics, prior)
    counts = sparse.csr_array(np.eye(40, dtype=np.int32)[[3, 5]] * 9 + 1)
    lists = start._document_topics(counts, word_topic, weights, alpha, None)
    assert lists.start[0] == 0
    assert lists.start[-1] == len(lists.topic) == len(lists.share)
    topic_of = start.topics_given(
        word_topic,
        counts,
        tokens_of(counts),
        alpha,
        0,
        None,
        by_mean_field=layout is halved_weights,
    )
    for d, k in enumerate((7, 8)):
        of_document = slice(*lists.start[d : d + 2])
        assert set(topic_of[tokens_of(counts).doc_of == d]) <= set(lists.topic[of_document])
        assert k in lists.topic[of_document]
        if prior < 1.0:
            assert lists.topic[of_document][lists.share[of_document].argmax()] == k


@pytest.mark.parametrize(
    ("n_topics", "n_docs_each", "expected"),
    [(3, 20, LikelyTopics), (4, 15, HalvedWeights), (4, 14, LikelyTopics)],  # 60 documents
)
def test_many_topics_of_few_documents_are_drawn_by_the_mean_field(
    n_topics, n_docs_each, expected, monkeypatch
):
    found, document_topics = set(), start._document_topics

    def seen(counts, word_topic, layout, alpha, n_jobs):
        found.add(type(layout))
        return document_topics(counts, word_topic, layout, alpha, n_jobs)

    monkeypatch.setattr(start, "_document_topics", seen)
    monkeypatch.setattr(start, "MANY_TOPICS", 3)
    monkeypatch.setattr(start, "DOCUMENTS_EACH", n_docs_each)
    GibbsLDA(n_topics, random_state=0).resume(random_counts(), None)
    assert found == {expected}
