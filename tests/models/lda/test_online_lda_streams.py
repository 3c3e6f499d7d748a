import copy
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from models import OnlineLDA, OnlineLDAState
from tests.models.lda.counts import perplexity_of, random_counts, simulated_corpus


def streamed(model, counts, size):
    for first in range(0, counts.shape[0], size):
        model.partial_fit(counts[first : first + size])
    return model


def test_a_stream_in_pieces_is_the_stream_at_once():
    counts, settings = random_counts(), {"batch_size": 20, "total_documents": 60, "random_state": 0}
    at_once = OnlineLDA(3, **settings).partial_fit(counts)
    pieces = streamed(OnlineLDA(3, **settings), counts, 20)
    assert (pieces.topic_word_dirichlet_ == at_once.topic_word_dirichlet_).all()
    assert (pieces.state_.n_documents, pieces.state_.n_batches) == (60, 3)


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [((20, 20, 20), (1, 1, 1)), ((60,), (1, 1, 1)), ((7, 28, 25), (0.35, 0.7, 0.7, 0.65, 0.6))],
)
def test_a_step_is_of_so_many_documents_however_they_come(sizes, shares):
    """A part f of a batch keeps (1 - ρ)^f of what was learned, and t grows by f."""
    counts, kept, time = random_counts(), 1.0, 0.0
    model = OnlineLDA(3, batch_size=20, random_state=0)
    for last, size in zip(np.cumsum(sizes), sizes, strict=True):
        model.partial_fit(counts[last - size : last])
    for share in shares:
        kept *= (1.0 - (11.0 + time) ** -0.7) ** share
        time += share
    assert (model.state_.n_batches, model.state_.time) == (len(shares), pytest.approx(3.0))
    assert model.state_.scale == pytest.approx(kept)


def test_documents_of_the_first_batch_are_inferred_by_the_topics_at_the_start():
    counts, begin, excesses = random_counts(), OnlineLDA._begin, []
    at_start = OnlineLDA(3, random_state=4).resume(counts, None).state_.excess

    def noted(self, batch, number, submit_e_step, by):
        excesses.append(by.excess.copy())
        return begin(self, batch, number, submit_e_step, by)

    with mock.patch.object(OnlineLDA, "_begin", noted):
        model = OnlineLDA(3, batch_size=20, random_state=4)
        for first in range(0, 60, 8):
            if first == 16:
                model = copy.deepcopy(model).set_params(random_state=None)
                model._first = None  # as after the state alone was kept
            model.partial_fit(counts[first : first + 8])
    assert [(each == at_start).all() for each in excesses] == [True] * 3 + [False] * 5


def test_a_stream_that_has_begun_never_goes_back_to_the_start():
    counts = random_counts()
    model = OnlineLDA(3, batch_size=10, random_state=0).partial_fit(counts[:30])
    other = copy.deepcopy(model)
    other._topics_at_start = lambda: pytest.fail("the start again")
    other.set_params(batch_size=1000).partial_fit(counts[30:])
    old = dict(vars(copy.deepcopy(model.state_)))
    for name in ("n_stream_documents", "n_stream_tokens", "is_started", "time"):
        del old[name]  # as an earlier version saved it
    again = OnlineLDA(3, random_state=0).resume(counts, OnlineLDAState(**old))
    again._topics_at_start = lambda: pytest.fail("the start again")
    again.partial_fit(counts[30:])
    assert again.state_.n_stream_documents == 60
    assert again.state_.n_stream_tokens == pytest.approx(60 * (counts[30:].sum() / 30))


def test_starts_of_streams():
    model, wider = OnlineLDA(3, random_state=0), random_counts(n_words=20)
    streamed(model, random_counts()[:20], 10)
    streamed(model.resume(wider, None), wider[:20], 10)
    fresh = streamed(OnlineLDA(3, random_state=0).resume(wider, None), wider[:20], 10)
    assert (model.topic_word_dirichlet_ == fresh.topic_word_dirichlet_).all()
    counts = random_counts()
    model = OnlineLDA(3, n_passes=3, random_state=0).fit(counts).partial_fit(counts[:10])
    assert model.state_.n_stream_documents == 70
    assert model.state_.n_stream_tokens == counts.sum() + counts[:10].sum()


def test_batches_of_a_stream_grow_with_it():
    counts = sparse.vstack([random_counts()] * 200, format="csr")  # 12,000 documents
    model = OnlineLDA(3, n_jobs=1, random_state=0)
    model.partial_fit(counts[:10])
    assert (model.state_.n_batches, model.state_.time) == (1, pytest.approx(10 / 50))
    model.partial_fit(counts[10:110])
    assert (model.state_.n_batches, model.state_.time) == (3, pytest.approx(110 / 50))
    model.partial_fit(counts)
    n_batches = model.state_.n_batches
    model.partial_fit(counts[:300])
    assert model.state_.n_batches == n_batches + 1  # a batch is 302 documents by now
    assert OnlineLDA(200, random_state=0).partial_fit(counts[:399]).state_.n_batches == 1
    assert OnlineLDA(200, random_state=0).partial_fit(counts[:401]).state_.n_batches == 2


def test_documents_stand_for_those_seen_or_for_twenty_tokens_a_topic_and_word_or_what_is_said():
    """With a step size of 1 what is learned of is the last batch alone, times D/S."""
    counts = random_counts(n_docs=20)  # of 12 words
    step = {"batch_size": 10, "learning_decay": 0.0, "eta": 0.01, "random_state": 0}
    tokens, wanted = counts.sum(), 20 * 3 * 12

    def learned_of(model):
        return model.state_.excess.sum() * model.state_.scale

    seen = OnlineLDA(3, **step).partial_fit(counts[:10]).partial_fit(counts[10:])
    last = counts[10:].sum()
    assert learned_of(seen) == pytest.approx(last / 10 * 20 * wanted / tokens, rel=1e-9)
    many = sparse.vstack([counts] * 9, format="csr")
    more = OnlineLDA(3, **step).partial_fit(many)
    assert learned_of(more) == pytest.approx(last / 10 * 180, rel=1e-9)
    told = OnlineLDA(3, **step, total_documents=1000).partial_fit(counts[:10])
    assert learned_of(told) == pytest.approx(counts[:10].sum() * 100, rel=1e-9)
    at_once = {**step, "batch_size": 20}
    assert learned_of(OnlineLDA(3, **at_once).fit(counts)) == pytest.approx(wanted, rel=1e-9)
    of_these = OnlineLDA(3, **at_once, total_documents=20).fit(counts)
    assert learned_of(of_these) == pytest.approx(tokens, rel=1e-9)
    assert learned_of(OnlineLDA(3, **step).partial_fit(0 * counts)) == 0.0


@pytest.mark.parametrize("size", [25, 250, 2000])
def test_a_stream_of_unknown_length_learns_as_well_as_fit(size):
    train, test = simulated_corpus()
    ratios = []
    for seed in range(6):
        fit = OnlineLDA(10, n_passes=1, random_state=seed).fit(train)
        stream = streamed(OnlineLDA(10, random_state=seed), train, size)
        ratios.append(perplexity_of(stream, test) / perplexity_of(fit, test))
    assert np.mean(ratios) < 1.03


def test_passes_after_a_stream_are_resumed_to_the_same_bits():
    counts = random_counts(n_docs=33)
    settings = {"n_topics": 3, "batch_size": 10, "random_state": 5}
    stream = OnlineLDA(**settings).partial_fit(counts)
    assert (stream.state_.n_batches, stream.state_.n_streamed) == (4, 4)
    whole = OnlineLDA(**settings, n_passes=2)
    states, steps = [], []
    for step in whole.iterate(counts, state=copy.deepcopy(stream.state_)):
        states.append(copy.deepcopy(whole.state_))
        steps.append(step)
    assert [step.n_batches for step in steps] == list(range(5, 13))
    assert [step.n_documents for step in steps][3::4] == [66, 99]
    assert_allclose([step.n_passes for step in steps][3::4], [1, 2])
    of_steps = [(11.0 + 3.3 + t) ** -0.7 for t in range(8)]  # the stream was of 3.3 batches
    assert_allclose([step.step_size for step in steps], of_steps)
    for done, state in enumerate([stream.state_, *states]):
        resumed = OnlineLDA(**settings, n_passes=2)
        assert list(resumed.iterate(counts, state=copy.deepcopy(state))) == steps[done:]
        assert (resumed.topic_word_dirichlet_ == whole.topic_word_dirichlet_).all()


def test_each_pass_after_a_stream_visits_every_document_once():
    counts = random_counts(n_docs=33)
    settings = {"batch_size": 7, "n_passes": 2, "total_documents": 33, "random_state": 0}
    model = OnlineLDA(3, **settings).partial_fit(counts[:20])
    visited, begin, end = [], OnlineLDA._begin, OnlineLDA._end

    def noted(self, batch, *rest):
        visited.append(batch.toarray())
        return begin(self, batch, *rest)

    def checked(self, begun, total_documents, *share):
        assert total_documents == 33
        return end(self, begun, total_documents, *share)

    with mock.patch.multiple(OnlineLDA, _begin=noted, _end=checked):
        list(model.iterate(counts, state=model.state_))
    rows = np.concatenate(visited)
    assert len(rows) == 66
    for seen in (rows[:33], rows[33:]):
        assert sorted(map(tuple, seen)) == sorted(map(tuple, counts.toarray()))


def test_a_stream_may_start_from_where_fit_on_some_documents_would():
    counts = random_counts(n_docs=40)
    settings = {"word_budget": 6, "batch_size": 40, "n_passes": 1, "random_state": 3}
    fitted = OnlineLDA(3, **settings, total_documents=40).fit(counts)
    stream = OnlineLDA(3, **settings, total_documents=40).resume(counts, None)
    assert (stream.state_.n_batches, stream.state_.n_documents) == (0, 0)
    assert (stream.partial_fit(counts).state_.frozen == fitted.state_.frozen).all()
    assert stream.topic_word_dirichlet_ == pytest.approx(fitted.topic_word_dirichlet_, rel=1e-12)


def test_vocabulary_topics_and_states_must_be_those_of_the_stream():
    model = OnlineLDA(3, random_state=0).partial_fit(random_counts())
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(random_counts(n_words=13))
    for n_topics in (2, 5):
        changed = copy.deepcopy(model).set_params(n_topics=n_topics)
        with pytest.raises(ValueError, match="n_topics"):
            changed.partial_fit(random_counts())
    state = OnlineLDA(3, random_state=0).fit(random_counts()).state_
    for n_topics, counts in ((4, random_counts()), (3, random_counts(n_words=9))):
        with pytest.raises(ValueError, match="the state is of 3 topics over 12 words"):
            next(OnlineLDA(n_topics, random_state=0).iterate(counts, state=state))
