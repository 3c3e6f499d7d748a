import numpy as np
import pytest
from numpy.testing import assert_allclose

from models import OnlineLDA
from models.lda.bound import document_bound, topic_bound
from models.variational.inference import infer_doc_topic
from tests.models.lda.counts import elog_of, fitted_lambda, random_counts, state_of
from tests.oracles import online_vb
from tests.oracles.simulated import block_topics, simulated_documents

CONVERGED = {"max_e_iterations": 3000, "e_tolerance": 1e-9, "learning_decay": 0.0}
CONVERGED["total_documents"] = 60  # of one batch, as the law has it


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("settings", [{"alpha": 1.0, "eta": 0.1}, {"alpha": 1.5, "eta": 0.5}])
def test_batch_bound_never_falls(seed, settings):
    """ρ = 1 and one batch a pass. With alpha >= 1 a document's fixed point is the only one."""
    topic_word = np.random.default_rng(seed).dirichlet(np.full(30, 0.1), 3)
    counts, _ = simulated_documents(topic_word, 0.3, 60, 25, np.random.default_rng(seed))
    model = OnlineLDA(3, batch_size=60, n_passes=25, random_state=seed, **CONVERGED, **settings)
    scores = [model.variational_bound(counts) for _ in model.iterate(counts)]
    assert np.diff(scores).min() > -1e-9 * abs(scores[0])
    assert scores[-1] > scores[0] + 10


@pytest.mark.usefixtures("even_start")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.02, 0.1, 2.0])
def test_neither_half_of_a_batch_step_lowers_the_bound(seed, alpha):
    """For any alpha: the M-step with γ as it is, and then the E-step from that γ."""
    topic_word = np.random.default_rng(seed).dirichlet(np.full(30, 0.1), 3)
    counts, _ = simulated_documents(topic_word, 0.3, 60, 25, np.random.default_rng(seed))
    settings = {"batch_size": 60, "n_passes": 12, "random_state": seed, **CONVERGED}
    model = OnlineLDA(3, alpha=alpha, eta=0.1, **settings)
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
            new_weight, dense = np.exp(elog_of(after)), counts.toarray()
            pairs = zip(dense[:8], gamma, strict=False)
            moved = [online_vb.infer_document(n, new_weight, prior, g, 2, 0.0) for n, g in pairs]
            of_few = (counts[:8], new_weight.T.copy(), prior)
            gain = document_bound(*of_few, np.array(moved)) - document_bound(*of_few, gamma[:8])
            assert gain.min() > -1e-9
        before = after


@pytest.mark.slow
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
    assert np.isfinite(model.variational_bound(counts))


SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]


@pytest.mark.parametrize("seed", [0, *SLOW])
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
    assert alpha.variational_bound(counts) > plain.variational_bound(counts) + 50
    assert eta.variational_bound(counts) > plain.variational_bound(counts) + 50
    assert len(set(eta.state_.eta)) == 1
    assert eta.state_.eta[0] > 1 / 40


def test_given_priors_stay():
    model = fitted_lambda(random_counts(), alpha=[0.1, 0.2, 0.3], eta=np.linspace(0.1, 1, 12))
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
    assert np.isfinite(model.variational_bound(counts))
