import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from models import OnlineLDA
from models.lda import e_step
from models.lda.e_step import _numbered
from models.variational.inference import noisy_start, starting_dirichlet
from tests.models.lda.counts import elog_of, fitted_lambda, random_counts, state_of
from tests.oracles import online_vb


def against_the_oracle(
    offset, decay, *, n_steps, frozen=(), rate=0.25, eta=0.01, seed=0, expectation="log"
):
    """Largest relative error of λ and of its sums over words, over steps of a stream."""
    rng = np.random.default_rng(seed)
    n_topics, n_words, total_documents, size = 3, 11, 500, 4
    alpha, eta = np.array([0.1, 0.3, 0.05]), np.full(n_words, eta) * rng.uniform(0.5, 2, n_words)
    dense = rng.gamma(100.0, 0.01, size=(n_topics, n_words))
    steps = {"batch_size": size, "learning_offset": offset, "learning_decay": decay}
    common = {"total_documents": total_documents, "expectation": expectation}
    model = OnlineLDA(n_topics, max_e_iterations=6, random_state=0, **steps, **common)
    model.state_ = state_of(dense, alpha, eta, frozen)
    worst, least_scale = 0.0, 1.0
    for step in range(n_steps):
        batch = rng.poisson(rate, size=(size, n_words))
        batch[:, step % n_words] = 0  # most words are absent from most batches
        model.partial_fit(batch)
        settings = {"step_size": (offset + 1 + step) ** -decay, "max_iterations": 6, **common}
        settings |= {"tolerance": 1e-3, "frozen": frozen}
        dense, _ = online_vb.online_step(batch, dense, alpha, eta, **settings)
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
    assert against_the_oracle(offset, decay, n_steps=40)[0] < 1e-8


@pytest.mark.usefixtures("even_start")
def test_the_mean_of_topics_may_be_in_the_e_step():
    for eta in (1e-4, 0.5):
        settings = {"expectation": "mean", "eta": eta, "frozen": [0, 5]}
        assert against_the_oracle(1.0, 0.6, n_steps=40, **settings)[0] < 1e-8
    for bad in ("median", None, 1):
        with pytest.raises(ValueError, match='expectation must be "log" or "mean"'):
            fitted_lambda(random_counts(), expectation=bad)


@pytest.mark.usefixtures("even_start")
def test_scale_is_renormalised_before_it_underflows():
    """With κ = 0.05 the scale falls by 0.1 to 0.2 a step: 1e-50 comes soon, 1e-308 would follow."""
    worst, least_scale = against_the_oracle(0.0, 0.05, n_steps=400)
    assert 1e-50 <= least_scale < 1e-45
    assert worst < 1e-8


@pytest.mark.usefixtures("even_start")
def test_frozen_words_and_priors_above_the_starting_point():
    for frozen in ([0, 5], list(range(11))):
        assert against_the_oracle(1.0, 0.6, n_steps=40, frozen=frozen)[0] < 1e-8
    for eta in (20.0, 1.0):
        assert against_the_oracle(5.0, 0.6, n_steps=20, eta=eta)[0] < 1e-8


@pytest.mark.parametrize("density", [0.0, 0.05, 1.0])
def test_words_of_a_batch_are_numbered_as_by_unique(density):
    counts = sparse.csr_array(np.random.default_rng(0).random((9, 50)) < density)
    expected, expected_of = np.unique(counts.indices, return_inverse=True)
    words, place, word_of = _numbered(counts, np.arange(0, 50, dtype=np.int32))
    assert words.tolist() == place.tolist() == expected.tolist()
    assert word_of.tolist() == expected_of.tolist()


@pytest.mark.parametrize("eta", [0.01, 1e-3, 1e-4, 1e-6, 1e-12])
@pytest.mark.parametrize("first_step_is_all", [True, False])
def test_words_that_come_late_are_learned(eta, first_step_is_all):
    """After ρ = 1 all other words have λ = eta, whose exp E[log φ] is below what floats hold."""
    counts = np.zeros((40, 10), dtype=int)
    counts[:20, :5], counts[20:, 5:] = 3, 3
    offset = 0.0 if first_step_is_all else 1.0
    model = OnlineLDA(2, eta=eta, batch_size=20, learning_offset=offset, random_state=0)
    model.partial_fit(counts[:20]).partial_fit(counts[20:])
    gained = model.topic_word_dirichlet_[:, 5:].sum()
    # ρ_1 · 40 documents · 15 tokens; what else there was has decayed
    assert gained >= (0.99 if first_step_is_all else 0.5) * model.state_.n_documents * 15 * 2**-0.7
    assert np.isfinite(model.variational_bound(counts))


@pytest.mark.parametrize("eta", ["symmetric", 1e-3, 1e-5])
@pytest.mark.parametrize("word_budget", [0, 5, None])
def test_small_priors_leave_everything_finite(eta, word_budget):
    counts = random_counts(n_words=900, rate=0.05)
    model = fitted_lambda(counts, eta=eta, word_budget=word_budget, learning_offset=0.0)
    assert np.isfinite(model.topic_word_dirichlet_).all()
    assert np.isfinite(model.variational_bound(counts))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


def test_the_bound_is_the_naive_one():
    counts = random_counts(n_docs=8)
    model = fitted_lambda(counts, max_e_iterations=500, e_tolerance=1e-10, word_budget=9)
    state, elog = model.state_, elog_of(model.topic_word_dirichlet_)
    expected = sum(online_vb.negative_divergence(state.eta, r) for r in model.topic_word_dirichlet_)
    for document in counts.toarray():
        start = state.alpha + document.sum() / 3
        gamma = online_vb.infer_document(document, np.exp(elog), state.alpha, start, 500, 1e-10)
        expected += online_vb.document_bound(document, elog, state.alpha, gamma)
    assert model.variational_bound(counts) == pytest.approx(expected, rel=1e-9)


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


def test_a_batch_size_above_the_corpus_is_one_batch():
    counts = random_counts()
    whole = fitted_lambda(counts, batch_size=60).topic_word_dirichlet_
    assert (fitted_lambda(counts, batch_size=10**6).topic_word_dirichlet_ == whole).all()


def test_fit_is_iterate_to_the_end():
    counts, stepped = random_counts(), OnlineLDA(3, batch_size=25, n_passes=2, random_state=0)
    steps, fitted = list(stepped.iterate(counts)), fitted_lambda(counts, batch_size=25, n_passes=2)
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
    sizes = np.diff([0, *(step.n_documents for step in model.iterate(counts))])
    assert sizes.max() <= 20
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == 2 * n_docs


def test_every_pass_has_an_order_of_its_own():
    counts, seen = random_counts(n_docs=40), []
    model = OnlineLDA(2, batch_size=20, n_passes=3, random_state=0)
    begin = model._begin
    model._begin = lambda batch, *rest: (seen.append(batch.toarray()), begin(batch, *rest))[1]
    model.fit(counts)
    rows = sorted(map(tuple, counts.toarray()))
    for n in range(3):
        assert sorted(map(tuple, np.vstack(seen[2 * n : 2 * n + 2]))) == rows
    assert any((seen[0] != batch).any() for batch in (seen[2], seen[4]))


@pytest.mark.usefixtures("even_start")
def test_in_one_batch_the_order_of_documents_does_not_matter():
    counts, order = random_counts(), np.random.default_rng(1).permutation(60)
    settings = {"batch_size": 60, "n_passes": 5}
    a = fitted_lambda(counts, **settings).topic_word_dirichlet_
    assert_allclose(a, fitted_lambda(counts[order], **settings).topic_word_dirichlet_, rtol=1e-9)


@pytest.mark.parametrize(("n_docs", "least", "most"), [(1, 1, 1), (30, 1, 1), (2000, 10, 40)])
def test_batches_of_the_default_size(n_docs, least, most):
    counts = sparse.csr_array(np.ones((n_docs, 2), dtype=int))
    assert least <= len(list(OnlineLDA(2, n_passes=1).iterate(counts))) <= most


@pytest.mark.parametrize("seed", range(5))
def test_block_topics_are_found(seed):
    counts = np.kron(np.eye(3, dtype=int), np.full((20, 3), 4))
    settings = {"batch_size": 15, "n_passes": 20, "learning_offset": 1.0}
    starts = (OnlineLDA(3, random_state=6 * seed + i, **settings).fit(counts) for i in range(6))
    model = max(starts, key=lambda model: model.variational_bound(counts))
    found = {tuple(sorted(row)) for row in model.topics_.top_words(3).tolist()}
    assert found == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}
    assert (model.transform(counts).max(axis=1) > 0.9).all()


def test_noise_of_the_start_is_new_in_each_batch_and_even_on_average(monkeypatch):
    counts, alpha = sparse.csr_array(np.array([[3, 0, 5], [0, 0, 0]])), np.array([0.1, 0.4])
    starts = [noisy_start(counts, alpha, np.random.default_rng(n)) for n in range(4000)]
    assert min(start.min() for start in starts) > 0
    # A Gamma(2, 1/2) draw has variance 1/2: 5 standard errors of the mean of 4,000.
    ratio = np.mean(starts, axis=0) / starting_dirichlet(counts, alpha)
    assert_allclose(ratio, 1.0, atol=5 * np.sqrt(0.5 / 4000))

    seen, model = [], OnlineLDA(2, alpha=alpha, n_passes=3, random_state=0)
    noted = lambda *given: seen.append(noisy_start(*given)) or seen[-1]  # noqa: E731
    monkeypatch.setattr(e_step, "noisy_start", noted)
    model.fit(counts)
    assert len(seen) == 3
    assert not np.isclose(seen[0], seen[1]).any()
    assert not np.isclose(seen[1], seen[2]).any()
