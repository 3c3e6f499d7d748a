from __future__ import annotations

import copy
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import psi
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from corpora import Corpus
from models import OnlineLDA, OnlineLDAState
from models.lda.bound import document_bound, topic_bound
from models.lda.online_lda import _number_words
from models.lda.variational import infer_doc_topic, noisy_start, starting_dirichlet
from tests.oracles import online_vb
from tests.oracles.simulated import block_topics, simulated_documents


def random_counts(seed=0, n_docs=60, n_words=12, rate=0.8):
    counts = np.random.default_rng(seed).poisson(rate, size=(n_docs, n_words)).astype(np.int32)
    return sparse.csr_array(counts)


def fitted_lambda(counts, **settings):
    return OnlineLDA(**{"n_topics": 3, "random_state": 0, **settings}).fit(counts)


def elog_of(topic_word_dirichlet):
    return psi(topic_word_dirichlet) - psi(topic_word_dirichlet.sum(axis=1, keepdims=True))


# --- against the naive oracle ---------------------------------------------------------------------


@pytest.fixture
def even_start(monkeypatch):
    """Documents start without noise, as the oracles' do."""
    monkeypatch.setattr(
        "models.lda.online_lda.noisy_start",
        lambda counts, alpha, _: starting_dirichlet(counts, alpha),
    )


def state_of(topic_word_dirichlet, alpha, eta, frozen=()):
    excess = topic_word_dirichlet.T - eta[:, None]
    return OnlineLDAState(
        excess=np.ascontiguousarray(excess),
        scale=1.0,
        excess_sum=excess.sum(axis=0),
        alpha=alpha.copy(),
        eta=eta.copy(),
        frozen=np.isin(np.arange(len(eta)), list(frozen)),
        n_batches=0,
        n_documents=0,
        seed=0,
    )


def against_the_oracle(offset, decay, *, n_steps, frozen=(), rate=0.25, eta=0.01, seed=0):
    """Largest relative error of λ and of its sums over words, over steps of a stream."""
    rng = np.random.default_rng(seed)
    n_topics, n_words, total_documents, size = 3, 11, 500, 4
    alpha, eta = np.array([0.1, 0.3, 0.05]), np.full(n_words, eta) * rng.uniform(0.5, 2, n_words)
    dense = rng.gamma(100.0, 0.01, size=(n_topics, n_words))
    model = OnlineLDA(
        n_topics,
        batch_size=size,
        learning_offset=offset,
        learning_decay=decay,
        max_e_iterations=6,
        total_documents=total_documents,
        random_state=0,
    )
    model.state_ = state_of(dense, alpha, eta, frozen)
    worst, least_scale = 0.0, 1.0
    for step in range(n_steps):
        batch = rng.poisson(rate, size=(size, n_words))
        batch[:, step % n_words] = 0  # most words are absent from most batches
        model.partial_fit(batch)
        dense, _ = online_vb.online_step(
            batch,
            dense,
            alpha,
            eta,
            step_size=(offset + 1 + step) ** -decay,
            total_documents=total_documents,
            frozen=frozen,
            max_iterations=6,
            tolerance=1e-3,
        )
        lazy = model.topic_word_dirichlet_
        sums = model.state_.eta.sum() + model.state_.scale * model.state_.excess_sum
        worst = max(worst, np.abs(lazy / dense - 1).max(), np.abs(sums / dense.sum(1) - 1).max())
        least_scale = min(least_scale, model.state_.scale)
        assert (lazy[:, list(frozen)] == eta[list(frozen)]).all()
    return worst, least_scale


@pytest.mark.usefixtures("even_start")
@pytest.mark.parametrize(
    ("offset", "decay"),
    [(10.0, 0.7), (0.0, 0.7), (10.0, 0.05), (0.0, 0.05), (0.0, 0.0), (0.0, 1.0), (10.0, 0.0)],
)
def test_lazy_lambda_is_the_dense_one(offset, decay):
    worst, _ = against_the_oracle(offset, decay, n_steps=40)
    assert worst < 1e-8


@pytest.mark.usefixtures("even_start")
def test_scale_is_renormalised_before_it_underflows():
    """With κ = 0.05 the scale falls by 0.1 to 0.2 a step: 1e-50 comes soon, 1e-308 would follow."""
    worst, least_scale = against_the_oracle(0.0, 0.05, n_steps=400)
    assert 1e-50 <= least_scale < 1e-45
    assert worst < 1e-8


@pytest.mark.usefixtures("even_start")
@pytest.mark.parametrize("frozen", [[0, 5], list(range(11))])
def test_frozen_words_are_the_dense_ones(frozen):
    worst, _ = against_the_oracle(1.0, 0.6, n_steps=40, frozen=frozen)
    assert worst < 1e-8


@pytest.mark.usefixtures("even_start")
@pytest.mark.parametrize("eta", [20.0, 1.0])
def test_prior_above_the_starting_point(eta):
    """Then λ - eta is negative at first."""
    worst, _ = against_the_oracle(5.0, 0.6, n_steps=20, eta=eta)
    assert worst < 1e-8


@pytest.mark.parametrize("density", [0.0, 0.05, 1.0])
def test_words_of_a_batch_are_numbered_as_by_unique(density):
    counts = sparse.csr_array(np.random.default_rng(0).random((9, 50)) < density)
    words, word_of = _number_words(counts)
    expected, expected_of = np.unique(counts.indices, return_inverse=True)
    assert words.tolist() == expected.tolist()
    assert word_of.tolist() == expected_of.tolist()


# --- the words that λ hardly knows ----------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.01, 1e-3, 1e-4, 1e-6, 1e-12])
@pytest.mark.parametrize("first_step_is_all", [True, False])
def test_words_that_come_late_are_learned(eta, first_step_is_all):
    """After ρ = 1 all other words have λ = eta, whose exp E[log φ] is below what floats hold."""
    counts = np.zeros((40, 10), dtype=int)
    counts[:20, :5], counts[20:, 5:] = 3, 3
    model = OnlineLDA(
        2,
        eta=eta,
        batch_size=20,
        learning_offset=0.0 if first_step_is_all else 1.0,
        random_state=0,
    )
    model.partial_fit(counts[:20])
    model.partial_fit(counts[20:])
    gained = model.topic_word_dirichlet_[:, 5:].sum()
    # ρ_1 · 40 documents · 15 tokens; what else there was has decayed
    assert gained >= (0.99 if first_step_is_all else 0.5) * model.state_.n_documents * 15 * 2**-0.7
    assert np.isfinite(model.score(counts))


@pytest.mark.parametrize("eta", ["symmetric", 1e-3, 1e-5])
@pytest.mark.parametrize("word_budget", [0, 5, None])
def test_small_priors_leave_everything_finite(eta, word_budget):
    counts = random_counts(n_words=900, rate=0.05)
    model = fitted_lambda(counts, eta=eta, word_budget=word_budget, learning_offset=0.0)
    assert np.isfinite(model.topic_word_dirichlet_).all()
    assert np.isfinite(model.score(counts))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


def test_score_is_the_naive_bound():
    counts = random_counts(n_docs=8)
    model = fitted_lambda(counts, max_e_iterations=500, e_tolerance=1e-10, word_budget=9)
    state, elog = model.state_, elog_of(model.topic_word_dirichlet_)
    expected = sum(online_vb.negative_divergence(state.eta, r) for r in model.topic_word_dirichlet_)
    for document in counts.toarray():
        start = state.alpha + document.sum() / 3
        gamma = online_vb.infer_document(document, np.exp(elog), state.alpha, start, 500, 1e-10)
        expected += online_vb.document_bound(document, elog, state.alpha, gamma)
    assert model.score(counts) == pytest.approx(expected, rel=1e-9)


# --- frozen words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("word_budget", [0, 1, 4, 11])
def test_frozen_are_the_most_frequent_and_keep_lambda(word_budget):
    counts = random_counts().toarray()
    counts[:, 7] += 9
    counts[:, 2] += 5
    model = OnlineLDA(3, eta=0.02, word_budget=word_budget, batch_size=10, random_state=0)
    by_frequency = np.argsort(-counts.sum(axis=0), kind="stable")
    frozen = by_frequency[: 12 - word_budget]
    for _ in model.iterate(counts):
        assert (model.topic_word_dirichlet_[:, frozen] == 0.02).all()
        assert (model.topic_word_dirichlet_[:, by_frequency[12 - word_budget :]] > 0.02).all()
    assert set(np.flatnonzero(model.state_.frozen)) == set(frozen)
    assert_allclose(model.state_.excess_sum, model.state_.excess.sum(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("word_budget", [12, 13, 10**9])
def test_a_budget_for_all_words_changes_no_bit(word_budget):
    counts = random_counts()
    free = fitted_lambda(counts).topic_word_dirichlet_
    assert (fitted_lambda(counts, word_budget=word_budget).topic_word_dirichlet_ == free).all()


def test_ties_of_frequency_fall_by_the_vocabulary():
    model = OnlineLDA(2, word_budget=2, random_state=0).fit(np.ones((5, 5), dtype=int))
    assert model.state_.frozen.tolist() == [True, True, True, False, False]


# --- repeatability --------------------------------------------------------------------------------

VARIANTS = pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": "learned", "eta": "learned"},
        {"word_budget": 6, "learning_decay": 0.05},
        {"alpha": "asymmetric", "learning_offset": 0.0},
    ],
    ids=["plain", "learned", "frozen", "asymmetric"],
)


@VARIANTS
def test_resumed_after_any_batch_it_ends_with_the_same_bits(settings):
    counts = random_counts(n_docs=33)
    settings = {"n_topics": 3, "batch_size": 10, "n_passes": 3, "random_state": 5, **settings}
    whole = OnlineLDA(**settings)
    states, steps = [], []
    for step in whole.iterate(counts):
        states.append(copy.deepcopy(whole.state_))
        steps.append(step)
    assert len(states) == 12
    for done, state in enumerate(states, start=1):
        resumed = OnlineLDA(**settings)
        assert list(resumed.iterate(counts, state=state)) == steps[done:]
        assert (resumed.topic_word_dirichlet_ == whole.topic_word_dirichlet_).all()
        assert (resumed.topics_.alpha == whole.topics_.alpha).all()
        assert (resumed.state_.eta == whole.state_.eta).all()
        assert resumed.score(counts) == whole.score(counts)


@VARIANTS
def test_threads_change_no_bit(settings):
    counts = random_counts(n_docs=150, n_words=1300, rate=0.1)
    one, two, four = (
        fitted_lambda(counts, n_jobs=n_jobs, n_passes=2, batch_size=100, **settings)
        for n_jobs in (1, 2, 4)
    )
    for other in (two, four):
        assert (other.topic_word_dirichlet_ == one.topic_word_dirichlet_).all()
        assert (other.transform(counts) == one.transform(counts)).all()
        assert other.score(counts) == one.score(counts)


def test_taking_over_a_state_is_enough_to_be_fitted():
    counts = random_counts()
    model = fitted_lambda(counts)
    taken = OnlineLDA(3, random_state=0).resume(counts, copy.deepcopy(model.state_))
    assert (taken.topic_word_dirichlet_ == model.topic_word_dirichlet_).all()
    assert (taken.transform(counts) == model.transform(counts)).all()
    assert taken.score(counts) == model.score(counts)


def test_fit_is_iterate_to_the_end():
    counts = random_counts()
    stepped = OnlineLDA(3, batch_size=25, n_passes=2, random_state=0)
    steps = list(stepped.iterate(counts))
    fitted = fitted_lambda(counts, batch_size=25, n_passes=2)
    assert (fitted.topic_word_dirichlet_ == stepped.topic_word_dirichlet_).all()
    assert [s.n_batches for s in steps] == [1, 2, 3, 4, 5, 6]
    assert [s.n_documents for s in steps] == [20, 40, 60, 80, 100, 120]
    assert_allclose([s.n_passes for s in steps], [1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2])
    assert_allclose([s.step_size for s in steps], [(11.0 + t) ** -0.7 for t in range(6)])
    assert all(1 <= s.mean_iterations <= 20 for s in steps)


@pytest.mark.parametrize("n_docs", [61, 101, 99])
def test_batches_of_a_pass_are_of_equal_size(n_docs):
    counts = np.ones((n_docs, 5), dtype=int)
    model = OnlineLDA(3, batch_size=20, n_passes=2, random_state=0)
    seen = [0, *(step.n_documents for step in model.iterate(counts))]
    sizes = np.diff(seen)
    assert sizes.max() <= 20
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == 2 * n_docs


def test_fit_starts_afresh():
    counts = random_counts()
    model = OnlineLDA(3, random_state=0).fit(random_counts(9))
    assert (
        model.fit(counts).topic_word_dirichlet_ == fitted_lambda(counts).topic_word_dirichlet_
    ).all()


def test_seeds():
    counts = random_counts()
    model = OnlineLDA(3).fit(counts)
    again = OnlineLDA(3, random_state=model.seed_).fit(counts)
    assert (again.topic_word_dirichlet_ == model.topic_word_dirichlet_).all()
    other = OnlineLDA(3, random_state=model.seed_ + 1).fit(counts)
    assert (other.topic_word_dirichlet_ != model.topic_word_dirichlet_).any()
    for make in (np.random.default_rng, np.random.RandomState):
        first, second = (fitted_lambda(counts, random_state=make(3)) for _ in range(2))
        assert (first.topic_word_dirichlet_ == second.topic_word_dirichlet_).all()


def test_every_pass_has_an_order_of_its_own():
    counts = random_counts(n_docs=40)
    seen = []
    model = OnlineLDA(2, batch_size=20, n_passes=3, random_state=0)
    update = model._update
    model._update = lambda batch, total: (seen.append(batch.toarray()), update(batch, total))[1]
    model.fit(counts)
    rows = sorted(map(tuple, counts.toarray()))
    for n in range(3):
        assert sorted(map(tuple, np.vstack(seen[2 * n : 2 * n + 2]))) == rows
    assert any((seen[0] != batch).any() for batch in (seen[2], seen[4]))


@pytest.mark.usefixtures("even_start")
def test_in_one_batch_the_order_of_documents_does_not_matter():
    counts = random_counts()
    order = np.random.default_rng(1).permutation(60)
    settings = {"batch_size": 60, "n_passes": 5}
    a = fitted_lambda(counts, **settings).topic_word_dirichlet_
    b = fitted_lambda(counts[order], **settings).topic_word_dirichlet_
    assert_allclose(a, b, rtol=1e-9)


def test_a_batch_size_above_the_corpus_is_one_batch():
    counts = random_counts()
    whole = fitted_lambda(counts, batch_size=60).topic_word_dirichlet_
    assert (fitted_lambda(counts, batch_size=10**6).topic_word_dirichlet_ == whole).all()


@pytest.mark.parametrize(("n_docs", "least", "most"), [(1, 1, 1), (30, 1, 1), (2000, 10, 40)])
def test_batches_of_the_default_size(n_docs, least, most):
    counts = sparse.csr_array(np.ones((n_docs, 2), dtype=int))
    assert least <= len(list(OnlineLDA(2, n_passes=1).iterate(counts))) <= most


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
    visited, update = [], OnlineLDA._update

    def noted(self, batch, total_documents):
        visited.append(batch.toarray())
        assert total_documents == 33
        return update(self, batch, total_documents)

    with mock.patch.object(OnlineLDA, "_update", noted):
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


# --- the law of batch variational Bayes -----------------------------------------------------------

CONVERGED = {"max_e_iterations": 3000, "e_tolerance": 1e-9, "learning_decay": 0.0}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("settings", [{"alpha": 1.0, "eta": 0.1}, {"alpha": 1.5, "eta": 0.5}])
def test_batch_bound_never_falls(seed, settings):
    """ρ = 1 and one batch a pass. With alpha >= 1 a document's fixed point is the only one."""
    topic_word = np.random.default_rng(seed).dirichlet(np.full(30, 0.1), 3)
    counts, _ = simulated_documents(topic_word, 0.3, 60, 25, np.random.default_rng(seed))
    model = OnlineLDA(3, batch_size=60, n_passes=25, random_state=seed, **CONVERGED, **settings)
    scores = [model.score(counts) for _ in model.iterate(counts)]
    assert np.diff(scores).min() > -1e-9 * abs(scores[0])
    assert scores[-1] > scores[0] + 10


@pytest.mark.usefixtures("even_start")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.02, 0.1, 2.0])
def test_neither_half_of_a_batch_step_lowers_the_bound(seed, alpha):
    """For any alpha: the M-step with γ as it is, and then the E-step from that γ."""
    topic_word = np.random.default_rng(seed).dirichlet(np.full(30, 0.1), 3)
    counts, _ = simulated_documents(topic_word, 0.3, 60, 25, np.random.default_rng(seed))
    model = OnlineLDA(
        3, alpha=alpha, eta=0.1, batch_size=60, n_passes=12, random_state=seed, **CONVERGED
    )
    prior, eta = np.full(3, alpha), np.full(30, 0.1)

    def bound(dirichlet, gamma):
        weight = np.exp(elog_of(dirichlet)).T.copy()
        return document_bound(counts, weight, prior, gamma).sum() + topic_bound(dirichlet, eta)

    before = None
    for _ in model.iterate(counts):
        after = model.topic_word_dirichlet_.copy()
        if before is not None:
            weight = np.exp(elog_of(before)).T.copy()
            cap = {"max_iterations": 3000, "tolerance": 1e-9}
            gamma = infer_doc_topic(counts, weight, prior, **cap)
            assert bound(after, gamma) >= bound(before, gamma) * (1 + 1e-10)
            new_weight = np.exp(elog_of(after))
            dense = counts.toarray()
            moved = np.array(
                [
                    online_vb.infer_document(dense[d], new_weight, prior, gamma[d], 2, 0.0)
                    for d in range(8)
                ]
            )
            few, elog = counts[:8], new_weight.T.copy()
            gain = document_bound(few, elog, prior, moved) - document_bound(
                few, elog, prior, gamma[:8]
            )
            assert gain.min() > -1e-9
        before = after


# --- learned priors -------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0.25, 5.0])
@pytest.mark.parametrize("truth", [[0.02] * 4, [0.1] * 4, [2.0] * 4, [0.05, 0.1, 0.3, 0.8]])
def test_learned_alpha_finds_the_one_that_documents_were_drawn_with(start, truth):
    """With topics that start from the truth, so that nothing but alpha is to be found.

    From 5, and from 0.25 if the truth is 0.02, a Newton step goes below zero.
    """
    for seed in range(2):
        rng = np.random.default_rng(seed)
        counts, _ = simulated_documents(block_topics(4, 5), truth, 500, 100, rng)
        model = OnlineLDA(4, alpha="learned", batch_size=500, max_e_iterations=50)
        model.set_params(learning_decay=0.0)
        dirichlet = 1e5 * block_topics(4, 5) + 0.01
        model.state_ = state_of(dirichlet, np.full(4, start), np.full(20, 0.01))
        for _ in range(40):
            model.partial_fit(counts)
        # The standard error of one entry from 500 proportions is some 6 to 10 %.
        assert_allclose(model.state_.alpha, truth, rtol=0.35)


def test_learned_alpha_stays_positive_where_documents_are_of_one_topic_each():
    counts = np.kron(np.eye(3, dtype=int), np.full((20, 3), 30))
    model = OnlineLDA(3, alpha="learned", learning_decay=0.0, n_passes=80, random_state=0)
    for _ in model.iterate(counts):
        assert (model.state_.alpha > 0).all()
        assert np.isfinite(model.topic_word_dirichlet_).all()
    assert np.isfinite(model.score(counts))


@pytest.mark.parametrize("seed", range(3))
def test_learned_alpha_from_scratch(seed):
    rng = np.random.default_rng(seed)
    counts, _ = simulated_documents(block_topics(4, 5), 0.1, 700, 60, rng)
    model = OnlineLDA(4, alpha="learned", batch_size=100, n_passes=12, random_state=seed)
    assert_allclose(model.fit(counts).state_.alpha, 0.1, rtol=0.3)


@pytest.mark.parametrize("seed", range(3))
def test_learned_priors_raise_the_bound(seed):
    topic_word = np.random.default_rng(seed).dirichlet(np.full(40, 0.4), 4)
    counts, _ = simulated_documents(topic_word, 0.05, 300, 40, np.random.default_rng(seed))
    settings = {"n_topics": 4, "batch_size": 50, "n_passes": 8, "random_state": seed}
    plain = OnlineLDA(**settings, alpha="symmetric", eta="symmetric").fit(counts)
    alpha = OnlineLDA(**settings, alpha="learned", eta="symmetric").fit(counts)
    eta = OnlineLDA(**settings, alpha="symmetric", eta="learned").fit(counts)
    assert alpha.score(counts) > plain.score(counts) + 50
    assert eta.score(counts) > plain.score(counts) + 50
    assert len(set(eta.state_.eta)) == 1
    assert eta.state_.eta[0] > 1 / 40


def test_given_priors_stay():
    counts = random_counts()
    model = fitted_lambda(counts, alpha=[0.1, 0.2, 0.3], eta=np.linspace(0.1, 1, 12))
    assert model.topics_.alpha.tolist() == [0.1, 0.2, 0.3]
    assert (model.state_.eta == np.linspace(0.1, 1, 12)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(6, 1), (1, 6), (1, 1)])
@pytest.mark.parametrize("n_topics", [1, 3])
def test_learning_where_there_is_nothing_to_learn(shape, n_topics):
    counts = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    model = OnlineLDA(n_topics, alpha="learned", eta="learned", random_state=0).fit(counts)
    assert np.isfinite(model.topic_word_dirichlet_).all()
    assert (model.topic_word_dirichlet_ > 0).all()
    assert np.isfinite(model.score(counts))


# --- recovery -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_block_topics_are_found(seed):
    """Three topics of three words each, as scikit-learn tests its own; the best of six starts."""
    counts = np.kron(np.eye(3, dtype=int), np.full((20, 3), 4))
    settings = {"batch_size": 15, "n_passes": 20, "learning_offset": 1.0}
    starts = (OnlineLDA(3, random_state=6 * seed + i, **settings).fit(counts) for i in range(6))
    model = max(starts, key=lambda model: model.score(counts))
    found = {tuple(sorted(row)) for row in model.topics_.top_words(3).tolist()}
    assert found == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}
    assert (model.transform(counts).max(axis=1) > 0.9).all()


# --- transform ------------------------------------------------------------------------------------


def test_transform():
    counts = random_counts()
    model = fitted_lambda(counts)
    proportions = model.transform(counts)
    assert proportions.shape == (60, 3)
    assert_allclose(proportions.sum(axis=1), 1.0, rtol=1e-14)
    assert (proportions == model.transform(counts.toarray())).all()
    assert (proportions[7:9] == model.transform(counts[7:9])).all()
    empty = model.transform(np.zeros((2, 12), dtype=int))
    assert_allclose(empty, 1 / 3)
    assert list(model.get_feature_names_out()) == ["onlinelda0", "onlinelda1", "onlinelda2"]


@pytest.mark.parametrize("call", ["transform", "score"])
def test_not_fitted(call):
    with pytest.raises(NotFittedError):
        getattr(OnlineLDA(), call)(random_counts())
    with pytest.raises(NotFittedError):
        _ = OnlineLDA().topics_
    with pytest.raises(NotFittedError):
        _ = OnlineLDA().topic_word_dirichlet_


# --- odd data -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "counts",
    [
        [[1]],
        [[0]],
        [[3, 0, 1]],
        np.zeros((4, 3), dtype=int),
        [[0, 0, 0], [1, 0, 2], [0, 0, 0]],
        [[0.5, 1.25], [3.75, 0.0]],
        [[10**12, 1], [1, 10**15]],
        np.array([[1, 0], [0, 1]], dtype=bool),
        np.array([[200, 3]], dtype=np.uint8),
    ],
    ids=["1x1", "zero", "one-doc", "empty", "gaps", "float", "huge", "bool", "uint8"],
)
@pytest.mark.parametrize("n_topics", [1, 2, 7])
def test_odd_data_gives_a_model(counts, n_topics):
    counts = np.asarray(counts)
    model = OnlineLDA(n_topics, n_passes=3, random_state=0).fit(counts)
    assert np.isfinite(model.topic_word_dirichlet_).all()
    assert (model.topic_word_dirichlet_ > 0).all()
    assert np.isfinite(model.score(counts))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


def test_one_topic_is_the_word_frequencies():
    counts = random_counts()
    model = OnlineLDA(1, eta=0.5, batch_size=60, learning_decay=0.0, n_passes=1, random_state=0)
    model.fit(counts)
    assert_allclose(model.topic_word_dirichlet_[0], 0.5 + counts.sum(axis=0), rtol=1e-12)


def test_words_never_seen_return_to_the_prior():
    counts = random_counts().toarray()
    counts[:, [3, 8]] = 0
    model = fitted_lambda(counts, learning_offset=0.0, eta=0.07)
    assert (model.topic_word_dirichlet_[:, [3, 8]] == 0.07).all()


@pytest.mark.parametrize("dtype", [np.float16, object, np.float32, np.longdouble])
def test_fractions_are_kept_whatever_the_type(dtype):
    counts = np.array([[0.5, 2.5, 0.0], [1.5, 0.0, 0.25]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    found = fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_unsigned_counts_do_not_wrap(dtype):
    counts = np.array([[3_000_000_000, 1], [1, 5]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_, expected)


def non_canonical():
    """Unsorted, with a duplicate and an explicit zero; and what it stands for."""
    data, indices = np.array([1, 2, 3, 4, 0, 5]), np.array([3, 0, 2, 2, 1, 0])
    counts = sparse.csr_array((data, indices, np.array([0, 2, 5, 6])), shape=(3, 4))
    return counts, np.array([[2, 0, 0, 1], [0, 0, 7, 0], [5, 0, 0, 0]])


@pytest.mark.parametrize("read_only", [False, True])
def test_the_callers_matrix_is_left_alone(read_only):
    counts, dense = non_canonical()
    arrays = (counts.data, counts.indices, counts.indptr)
    kept = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=not read_only)
    model = fitted_lambda(counts)
    model.partial_fit(counts).transform(counts)
    model.score(counts)
    for array, before in zip((counts.data, counts.indices, counts.indptr), kept, strict=True):
        assert array.tolist() == before.tolist()
    expected = fitted_lambda(sparse.csr_array(dense)).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts).topic_word_dirichlet_, expected, rtol=1e-12)


@pytest.mark.parametrize("container", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_any_sparse_format(container):
    counts = random_counts()
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert (fitted_lambda(container(counts)).topic_word_dirichlet_ == expected).all()


# --- bad arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in ("n_topics", "batch_size", "max_e_iterations", "n_passes", "total_documents")
        for value in (0, -1, 2.0, "3", True, np.nan)
    ]
    + [("n_topics", None), ("n_passes", None), ("max_e_iterations", None)]
    + [("word_budget", value) for value in (-1, 1.5, "all", False)]
    + [
        (name, value)
        for name in ("e_tolerance", "learning_decay", "learning_offset")
        for value in (-0.1, np.nan, np.inf, "0.5", None, [0.5], True)
    ]
    + [
        (name, value)
        for name in ("alpha", "eta")
        for value in (0.0, -1.0, np.nan, np.inf, "auto", None, {}, [0.1], [0.1] * 99, [[1.0]])
    ]
    + [("alpha", [0.1, -0.1, 0.1]), ("eta", [np.nan] * 12)]
    + [("n_jobs", value) for value in (0, 1.5, "2", True)]
    + [("random_state", value) for value in ("0", 1.5, [1], True)],
)
def test_a_bad_setting_is_named(name, value):
    model = OnlineLDA(**{"n_topics": 3, "random_state": 0, name: value})
    for call in (model.fit, model.partial_fit):
        with pytest.raises((ValueError, TypeError), match=name):
            call(random_counts())


def test_a_negative_seed():
    with pytest.raises(ValueError, match="seed"):
        OnlineLDA(3, random_state=-1).fit(random_counts())


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_bad_counts_are_refused_everywhere(bad, as_sparse):
    counts = random_counts().toarray().astype(float)
    counts[3, 4] = bad
    counts = sparse.csr_array(counts) if as_sparse else counts
    model = fitted_lambda(random_counts())
    for call in (clone(model).fit, model.partial_fit, model.transform, model.score):
        with pytest.raises(ValueError, match=r"Negative|NaN|inf"):
            call(counts)


@pytest.mark.parametrize(
    "counts", [np.zeros((0, 3)), np.zeros((3, 0)), [1, 2], [["a", "b"]], None, np.zeros((2, 2, 2))]
)
def test_what_is_no_matrix_of_counts(counts):
    with pytest.raises((ValueError, TypeError), match=r".{5}"):
        OnlineLDA(2, random_state=0).fit(counts)


@parametrize_with_checks(
    [
        OnlineLDA(3, n_passes=2, random_state=0),
        OnlineLDA(2, n_passes=1, batch_size=7, alpha="learned", eta="learned", word_budget=1),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_noise_of_the_start_is_new_in_each_batch_and_even_on_average():
    counts = sparse.csr_array(np.array([[3, 0, 5], [0, 0, 0]]))
    alpha = np.array([0.1, 0.4])
    starts = [noisy_start(counts, alpha, np.random.default_rng(n)) for n in range(4000)]
    assert min(start.min() for start in starts) > 0
    # A Gamma(2, 1/2) draw has variance 1/2: 5 standard errors of the mean of 4,000.
    ratio = np.mean(starts, axis=0) / starting_dirichlet(counts, alpha)
    assert_allclose(ratio, 1.0, atol=5 * np.sqrt(0.5 / 4000))

    seen = []
    model = OnlineLDA(2, alpha=alpha, n_passes=3, random_state=0)
    kept = model._e_step
    model._e_step = lambda batch, start: seen.append(start.copy()) or kept(batch, start)
    model.fit(counts)
    assert len(seen) == 3
    assert not np.isclose(seen[0], seen[1]).any()
    assert not np.isclose(seen[1], seen[2]).any()


def test_a_mapped_corpus_stays_on_disk(tmp_path):
    """To fit on counts that are mapped takes a fraction of the memory that they would."""
    rng = np.random.default_rng(0)
    words = np.argsort(rng.random((10_000, 200)), axis=1)[:, :50]
    start = np.arange(0, 500_001, 50)
    ones = np.ones(500_000, dtype=np.int32)
    counts = sparse.csr_array((ones, np.sort(words, axis=1).ravel(), start), shape=(10_000, 200))
    counts.indices = counts.indices.astype(np.int32)
    names = tuple(f"d{d}" for d in range(10_000))
    Corpus(counts, tuple(f"w{w}" for w in range(200)), names).save(tmp_path / "corpus")
    mapped = Corpus.load(tmp_path / "corpus", mmap=True).counts
    settings = {"n_topics": 4, "n_passes": 1, "batch_size": 200, "random_state": 0}
    expected = OnlineLDA(**settings).fit(counts).topics_
    tracemalloc.start()
    found = OnlineLDA(**settings).fit(mapped).topics_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (mapped.data.nbytes + mapped.indices.nbytes) / 2
    assert_allclose(found.topic_word, expected.topic_word, rtol=0)
