"""Streams whose later documents have words that the first have not, and streams with a window."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from models import GibbsLDA, OnlineLDA
from models.lda import gibbs_lda
from tests.models.lda.counts import perplexity_of, random_counts
from tests.models.states import assert_same_state
from tests.oracles.simulated import block_topics, simulated_documents

TRAINERS = {
    "online": (OnlineLDA, {"batch_size": 20, "total_documents": 200}),
    "online-mean": (OnlineLDA, {"batch_size": 20, "expectation": "mean"}),
    "gibbs": (GibbsLDA, {"n_iter": 7, "sampler": "exact-sparse"}),
    "gibbs-anchors": (GibbsLDA, {"n_iter": 7, "start": "anchors"}),
    "gibbs-random": (GibbsLDA, {"n_iter": 7, "start": "random"}),
}
EVERY = pytest.mark.parametrize("name", TRAINERS)
EMPTY = 1e-300  # A prior that has no weight: Σ eta is the same with it


def trainer(name, **settings):
    kind, own = TRAINERS[name]
    common = {"growing_vocabulary": True, "random_state": 3}
    return kind(3, **{**common, **own, **settings})


def calls(n_words=(8, 8, 10, 10, 15), n_docs=40):
    """Counts of calls, each with so many words."""
    return [random_counts(i, n_docs=n_docs, n_words=n) for i, n in enumerate(n_words)]


def padded(counts, n_words=15):
    """The same counts with empty columns at the end."""
    return sparse.csr_array((counts.data, counts.indices, counts.indptr), (40, n_words))


@EVERY
def test_new_words_are_columns_at_the_end(name):
    model = trainer(name)
    for counts in calls():
        model.partial_fit(counts)
        n_words = counts.shape[1]
        assert model.n_features_in_ == n_words
        topics = model.topics_.topic_word
        assert topics.shape == (3, n_words)
        assert_allclose(topics.sum(axis=1), 1.0, rtol=1e-6)
        assert model.transform(counts).shape == (40, 3)
        assert np.isfinite(model.score(counts))
    assert (model.state_.eta == model.state_.eta[0]).all()
    assert len(model.state_.frozen) == 15


@EVERY
def test_without_new_words_the_option_changes_no_bit(name):
    one, other = trainer(name), trainer(name, growing_vocabulary=False)
    for counts in calls((9,) * 4):
        one.partial_fit(counts)
        other.partial_fit(counts)
    assert_same_state(one.state_, other.state_)


def test_online_words_that_come_later_are_words_that_were_there_without_weight():
    """The twin has all columns from the first call on, with λ = eta = 0, and with λ = eta from the
    call on that has tokens of them."""
    model, batches = trainer("online"), calls()
    twin = trainer("online", growing_vocabulary=False).resume(padded(batches[0]), None)
    twin.state_.eta[8:] = EMPTY
    twin.state_.excess[8:] = 0.0
    twin.state_.excess_sum = twin.state_.excess[:8].sum(axis=0)
    for counts in batches:
        model.partial_fit(counts)
        n_words = counts.shape[1]
        twin.state_.eta[:n_words] = model.eta
        twin.partial_fit(padded(counts))
        found, expected = vars(model.state_), vars(twin.state_)
        assert_array_equal(found["excess"], expected["excess"][:n_words])
        assert_array_equal(found["excess_sum"], expected["excess_sum"])
        assert not expected["excess"][n_words:].any()
    assert_same_state(model.state_, twin.state_)
    assert (model.state_.excess[8:] > 0).all()


@pytest.mark.parametrize("sampler", ["exact-dense", "exact-sparse", "parallel-dense"])
@pytest.mark.parametrize("many", [10, 1000])
def test_gibbs_words_that_come_later_are_words_that_were_there_without_weight(
    sampler, many, monkeypatch
):
    monkeypatch.setattr(gibbs_lda, "MAX_REMEMBERED", many)
    model = trainer("gibbs-random", sampler=sampler)
    twin = trainer("gibbs-random", sampler=sampler, growing_vocabulary=False)
    eta = np.where(np.arange(15) < 8, model.eta, EMPTY)
    for counts in calls():
        model.partial_fit(counts)
        n_words = counts.shape[1]
        if hasattr(twin, "state_"):
            twin.state_.eta[:n_words] = model.eta
            twin.partial_fit(padded(counts))
        else:
            twin.set_params(eta=eta).partial_fit(padded(counts))
        assert_array_equal(model.state_.topic_of, twin.state_.topic_of)
        assert_array_equal(model.state_.alpha, twin.state_.alpha)
        assert_array_equal(model._sweeps.n_wk, twin._sweeps.n_wk[:n_words])
        assert not twin._sweeps.n_wk[n_words:].any()
    assert model._sweeps.n_wk[10:].any()


def test_a_stream_that_has_not_begun_takes_all_words_as_if_they_had_been_there():
    first, second = random_counts(n_words=8), random_counts(1, n_words=12)
    grown = trainer("online").resume(first, None).partial_fit(second)
    whole = trainer("online").resume(padded(first[:40], 12), None).partial_fit(second)
    assert_same_state(grown.state_, whole.state_)
    begun = trainer("online", batch_size=100).partial_fit(first[:30])
    start = begun._start_of_words(12, 3)
    begun._append_words(4)
    begun.n_features_in_ = 12
    assert_array_equal(begun._topics_at_start().topic_word_dirichlet.T[8:], start[8:])
    lam = begun.topic_word_dirichlet_[:, 8:]
    step = 1 - begun.state_.scale  # λ of an unseen word goes from its start to eta
    assert_allclose(lam, (1 - step) * start[8:].T + step * begun.eta)
    begun.partial_fit(second)
    again = trainer("online", batch_size=100).partial_fit(first[:30])
    again._first = None
    assert_same_state(again.partial_fit(second).state_, begun.state_)


def test_a_new_word_is_at_its_prior_in_earlier_samples():
    """One sample of 8 words, and then a call of a document without tokens: the average is what the
    sample would have been with the new words."""
    counts = random_counts(n_words=8)
    model = trainer("gibbs-random", n_iter=1).partial_fit(counts)
    before = model.topics_.topic_word
    n_k = model._sweeps.n_k
    model.partial_fit(np.zeros((1, 12), int))
    with_prior = (before * (n_k + 8 * model.eta)[:, None], np.full((3, 4), model.eta))
    expected = np.hstack(with_prior) / (n_k + 12 * model.eta)[:, None]
    # The new sample, of weight 1 - (60/61)^4, has a few other assignments.
    assert_allclose(model.topics_.topic_word[:, 8:], expected[:, 8:], rtol=0.02)
    assert_allclose(model.topics_.topic_word.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("name", ["online", "gibbs"])
def test_new_words_go_to_their_topics(name):
    """Half of each topic's words come with the second half of the documents."""
    rng, truth = np.random.default_rng(0), block_topics(3, 8)
    order = np.argsort(np.arange(24) % 8 >= 4, kind="stable")  # the early words first
    early = np.where(np.arange(24) < 12, truth[:, order], 0.0)
    settings = {"total_documents": None} if name == "online" else {"n_iter": 20}
    model = trainer(name, **settings)
    first, _ = simulated_documents(2 * early, 0.1, 200, 40, rng)
    second, _ = simulated_documents(truth[:, order], 0.1, 200, 40, rng)
    model.partial_fit(first[:, :12])
    for start in range(0, 200, 50):
        model.partial_fit(second[start : start + 50])
    topics = model.topics_.topic_word
    of_early = (truth[:, order][:, :12] @ topics[:, :12].T).argmax(axis=1)
    of_late = (truth[:, order][:, 12:] @ topics[:, 12:].T).argmax(axis=1)
    assert sorted(of_early) == [0, 1, 2]
    assert_array_equal(of_early, of_late)
    late = topics[of_late, 12:] * truth[:, order][:, 12:].astype(bool)
    assert (late.sum(axis=1) > 0.8 * topics[of_late, 12:].sum(axis=1)).all()


@EVERY
def test_a_growing_stream_goes_on_after_it_was_pickled(name):
    whole, batches = trainer(name), calls()
    for counts in batches:
        whole.partial_fit(counts)
    for n_before in (1, 2, 3):
        model = trainer(name)
        for counts in batches[:n_before]:
            model.partial_fit(counts)
        model = pickle.loads(pickle.dumps(model))
        for counts in batches[n_before:]:
            model.partial_fit(counts)
        assert_same_state(model.state_, whole.state_)


@EVERY
def test_what_a_growing_stream_refuses(name):
    model = trainer(name).partial_fit(calls()[0])
    with pytest.raises(ValueError, match="X has 7 features"):
        model.partial_fit(random_counts(n_words=7))
    for call in (model.transform, model.score):
        with pytest.raises(ValueError, match="X has 10 features"):
            call(random_counts(n_words=10))
    before = copy.deepcopy(model.state_)
    for bad in (-random_counts(n_words=10), np.full((2, 10), np.nan), np.full((2, 10), "a")):
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|could not convert"):
            model.partial_fit(bad)
    assert model.n_features_in_ == 8
    assert_same_state(model.state_, before)
    model.set_params(growing_vocabulary=False)
    with pytest.raises(ValueError, match="X has 10 features"):
        model.partial_fit(random_counts(n_words=10))
    for value, error in (("yes", TypeError), (1, TypeError)):
        with pytest.raises(error, match="growing_vocabulary must be True or False"):
            trainer(name, growing_vocabulary=value).fit(random_counts())
    with pytest.raises(ValueError, match="eta must be one number if growing_vocabulary"):
        trainer(name, eta=np.full(12, 0.1)).partial_fit(random_counts())


@pytest.mark.parametrize("name", ["online", "gibbs"])
def test_named_columns_keep_their_names_and_order(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(random_counts(n_words=6).toarray(), columns=list("abcdef"))
    model = trainer(name).partial_fit(frame[["a", "b", "c", "d"]])
    for columns in (["b", "a", "c", "d", "e"], ["a", "b", "c", "e", "d"]):
        with pytest.raises(ValueError, match="the first 4 must have the names of earlier calls"):
            model.partial_fit(frame[columns])
    with pytest.raises(ValueError, match="the first 4 must have the names of earlier calls"):
        model.partial_fit(frame.to_numpy())
    assert (model.n_features_in_, *model.feature_names_in_) == (4, "a", "b", "c", "d")
    model.partial_fit(frame)
    assert list(model.feature_names_in_) == list("abcdef")


def test_a_window_forgets_documents_to_the_token():
    batches = [random_counts(i, n_docs=10) for i in range(8)]
    for word_budget in (None, 8):
        model = GibbsLDA(3, n_iter=7, window=25, word_budget=word_budget, random_state=0)
        for done, batch in enumerate(batches, 1):
            model.partial_fit(batch)
            last = sparse.vstack(batches[:done], "csr")[max(0, 10 * done - 25) :]
            of_words = np.where(model.state_.frozen, 0, last.sum(axis=0))
            assert_array_equal(model._sweeps.n_wk.sum(axis=1), of_words)
            remembered = model._remembered()
            assert remembered.n_docs == last.shape[0]
            assert (remembered.counts(np.arange(last.shape[0]), 12) != last).nnz == 0
            n_wk = remembered.word_topics(np.arange(last.shape[0]), model.state_.frozen, 3)
            assert_array_equal(n_wk, model._sweeps.n_wk)
        model.partial_fit(random_counts(9, n_docs=40))  # more than the window
        assert model._remembered().n_docs == 40
        model.partial_fit(batches[0])
        assert model._remembered().n_docs == 25


def test_a_window_is_the_least_step_size_and_the_most_documents():
    counts = random_counts(n_docs=60)
    model = OnlineLDA(3, batch_size=10, eta=0.01, window=15, total_documents=None, random_state=0)
    kept, time = 1.0, 0
    model.partial_fit(counts)
    for time in range(6):
        kept *= 1.0 - max((11.0 + time) ** -0.7, 1.0 - np.exp(-10 / 15))
    assert model.state_.scale == pytest.approx(kept)
    many = sparse.vstack([counts] * 20, format="csr")
    model = OnlineLDA(3, batch_size=600, learning_decay=0.0, eta=0.01, random_state=0)
    for window, expected in ((900, 900), (None, 1200), (10**6, 1200)):
        windowed = copy.deepcopy(model).set_params(window=window).partial_fit(many)
        learned = windowed.state_.excess.sum() * windowed.state_.scale
        assert learned == pytest.approx(many[600:].sum() / 600 * expected, rel=1e-9)


def test_a_window_follows_a_drift():
    """Half-way all topics change to others."""
    rng, words = np.random.default_rng(1), np.random.default_rng(2).permutation(30)
    topics = block_topics(5, 6)
    before, _ = simulated_documents(topics, 0.1, 500, 30, rng)
    after, _ = simulated_documents(topics[:, words], 0.1, 400, 30, rng)
    stream, found = sparse.vstack([before, after[:300]], "csr"), {}
    for window in (None, 100):
        model = GibbsLDA(5, window=window, n_iter=10, random_state=0)
        for first in range(0, 800, 100):
            model.partial_fit(stream[first : first + 100])
        found[window] = perplexity_of(model, after[300:])
    assert found[100] < 0.8 * found[None]


@pytest.mark.parametrize("kind", [OnlineLDA, GibbsLDA])
def test_a_bad_window_is_named(kind):
    for bad, error in ((0, ValueError), (1.5, TypeError), ("all", TypeError)):
        with pytest.raises(error, match="window"):
            kind(3, window=bad).fit(random_counts())


def test_states_of_a_growing_stream_are_those_of_its_data():
    model = trainer("online").partial_fit(calls()[0])
    state = replace(model.state_)
    with pytest.raises(ValueError, match="the state is of 3 topics over 8 words"):
        trainer("online").resume(random_counts(n_words=12), state)
