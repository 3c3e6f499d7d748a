from __future__ import annotations

import copy
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models import OnlineLDA
from tests.models.lda.counts import random_counts

# --- streams --------------------------------------------------------------------------------------


def test_a_stream_in_pieces_is_the_stream_at_once():
    counts = random_counts()
    settings = {"batch_size": 20, "total_documents": 60, "random_state": 0}
    at_once = OnlineLDA(3, **settings).partial_fit(counts)
    pieces = OnlineLDA(3, **settings)
    for start in range(0, 60, 20):
        pieces.partial_fit(counts[start : start + 20])
    assert (pieces.topic_word_dirichlet_ == at_once.topic_word_dirichlet_).all()
    assert pieces.state_.n_documents == 60
    assert pieces.state_.n_batches == 3


def test_a_stream_stands_for_what_has_been_seen_or_for_what_it_is_told():
    counts = random_counts(n_docs=20)
    step = {"batch_size": 10, "learning_decay": 0.0, "eta": 0.01, "random_state": 0}
    tokens = counts.sum()
    seen = OnlineLDA(3, **step).partial_fit(counts[:10]).partial_fit(counts[10:])
    assert seen.state_.excess.sum() == pytest.approx(counts[10:].sum() * 2, rel=1e-9)
    told = OnlineLDA(3, **step, total_documents=1000).partial_fit(counts[:10])
    assert told.state_.excess.sum() == pytest.approx(counts[:10].sum() * 100, rel=1e-9)
    all_of_them = OnlineLDA(3, **{**step, "batch_size": 20}).fit(counts)
    assert all_of_them.state_.excess.sum() == pytest.approx(tokens, rel=1e-9)


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
    assert_allclose([step.step_size for step in steps], [(11.0 + t) ** -0.7 for t in range(4, 12)])
    for done, state in enumerate([stream.state_, *states]):
        resumed = OnlineLDA(**settings, n_passes=2)
        assert list(resumed.iterate(counts, state=copy.deepcopy(state))) == steps[done:]
        assert (resumed.topic_word_dirichlet_ == whole.topic_word_dirichlet_).all()


def test_each_pass_after_a_stream_visits_every_document_once():
    counts = random_counts(n_docs=33)
    model = OnlineLDA(3, batch_size=7, n_passes=2, random_state=0).partial_fit(counts[:20])
    visited, begin, end = [], OnlineLDA._begin, OnlineLDA._end

    def noted(self, batch, *rest):
        visited.append(batch.toarray())
        return begin(self, batch, *rest)

    def checked(self, begun, total_documents):
        assert total_documents == 33
        return end(self, begun, total_documents)

    with (
        mock.patch.object(OnlineLDA, "_begin", noted),
        mock.patch.object(OnlineLDA, "_end", checked),
    ):
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


def test_a_stream_must_keep_its_vocabulary_and_topics():
    model = OnlineLDA(3, random_state=0).partial_fit(random_counts())
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(random_counts(n_words=13))
    for n_topics in (2, 5):
        changed = copy.deepcopy(model).set_params(n_topics=n_topics)
        with pytest.raises(ValueError, match="n_topics"):
            changed.partial_fit(random_counts())


def test_a_state_of_other_shape_is_refused():
    state = OnlineLDA(3, random_state=0).fit(random_counts()).state_
    for n_topics, counts in ((4, random_counts()), (3, random_counts(n_words=9))):
        with pytest.raises(ValueError, match="the state is of 3 topics over 12 words"):
            next(OnlineLDA(n_topics, random_state=0).iterate(counts, state=state))
