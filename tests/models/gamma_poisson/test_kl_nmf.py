import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.special import xlogy
from sklearn.decomposition import NMF

from models.gamma_poisson import factor_estimator, factor_updates
from models.gamma_poisson.gamma_fit import MIN_MEAN, MIN_SCORE
from models.gamma_poisson.kl_nmf import KLNMF
from models.gamma_poisson.topics import GammaPoissonTopics
from tests.models.gamma_poisson.factorisations import block_counts, match, random_counts
from tests.models.states import assert_same_state, carried

WAYS = {"relaxation": st.sampled_from([1.0, 1.8, 1.99]), "doc_updates": st.integers(1, 3)}


def fitted(counts, **settings):
    return KLNMF(**{"n_topics": 3, "n_iter": 8, "random_state": 0, **settings}).fit(counts)


def start_of(counts, n_topics, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((counts.shape[0], n_topics), (n_topics, counts.shape[1]))
    return tuple(rng.gamma(2.0, size=shape) for shape in shapes)


def sklearn_fits(counts, start, iterations):
    """Error, scores and topics after so many iterations each time."""
    found, settings = [], {"solver": "mu", "beta_loss": "kullback-leibler", "init": "custom"}
    for n in iterations:
        model = NMF(start[1].shape[0], tol=0.0, max_iter=n, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = model.fit_transform(counts, W=start[0].copy(), H=start[1].copy())
        found.append((model.reconstruction_err_, scores, model.components_))
    return found


@pytest.mark.parametrize("n_topics", [1, 4])
@pytest.mark.parametrize("fraction", [1.0, 0.7])
def test_plain_updates_are_scikit_learns(n_topics, fraction):
    counts = sparse.csr_array(fraction * random_counts().toarray())
    start = start_of(counts, n_topics)
    expected = sklearn_fits(counts, start, range(1, 13))
    model = KLNMF(n_topics, n_iter=12, tolerance=0.0, relaxation=1.0, init=start)
    for step in model.iterate(counts):
        error, scores, components = expected[step.n_sweeps - 1]
        assert_allclose(step.objective, error**2 / 2, rtol=1e-10)
        assert_allclose(model.reconstruction_err_, error, rtol=1e-10)
        assert_allclose(model.state_.doc_topic, scores, rtol=1e-9)
        assert_allclose(model.components_, components, rtol=1e-9)
    assert model.n_iter_ == 12 or n_topics == 1  # which is there after a sweep


def test_relaxed_updates_come_farther_than_scikit_learns():
    counts, _, _ = block_counts(0)
    start = start_of(counts, 5)
    target = sklearn_fits(counts, start, [40])[0][0] ** 2 / 2
    relaxed = KLNMF(5, n_iter=40, tolerance=0.0, init=start)
    assert next(step.n_sweeps for step in relaxed.iterate(counts) if step.objective <= target) <= 30


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 5), st.fixed_dictionaries(WAYS))
def test_the_divergence_never_rises(seed, n_topics, ways):
    counts = random_counts(seed, rate=0.5)
    model = KLNMF(n_topics, n_iter=40, random_state=seed, **ways)
    objectives = [step.objective for step in model.iterate(counts)]
    assert (np.diff(objectives) <= 0).all()
    mixed, y = model.state_.doc_topic @ model.components_, counts.toarray()
    expected = stats.poisson.logpmf(y, y).sum() - stats.poisson.logpmf(y, mixed).sum()
    assert_allclose(objectives[-1], expected, rtol=1e-9)


def test_a_sweep_that_went_too_far_is_made_again(monkeypatch):
    """With exponents up to 8, which no setting allows, some do, and the divergence still falls."""
    monkeypatch.setattr(KLNMF, "check_settings", lambda _: None)
    model = KLNMF(4, n_iter=60, tolerance=0.0, relaxation=8.0, random_state=0)
    steps = list(model.iterate(random_counts()))
    assert (np.diff([step.objective for step in steps]) <= 0).all()
    relaxation = np.array([1.0, *(step.relaxation for step in steps)])
    tried, following = relaxation[:-1], relaxation[1:]
    failed = following < tried
    assert failed.any()
    assert_allclose(following[failed] - 1.0, (tried[failed] - 1.0) / 2.0)
    assert_allclose(following[~failed], np.minimum(8.0, 1.2 * tried[~failed]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_sweep_that_led_to_no_number_is_made_again(bad, monkeypatch):
    """So that training is that of plain updates if every relaxed one does."""
    plain, update = fitted(random_counts(), relaxation=1.0), KLNMF._update

    def no_number_if_relaxed(self, data, state, relaxation):
        update(self, data, state, relaxation)
        if relaxation > 1.0:
            state.doc_topic[3] = bad

    monkeypatch.setattr(KLNMF, "_update", no_number_if_relaxed)
    model = fitted(random_counts())
    assert_array_equal(model.components_, plain.components_)
    assert model.state_.objective == plain.state_.objective


def test_training_ends_when_sweeps_gain_little():
    model = fitted(random_counts(), n_iter=500, tolerance=1e-3)
    assert 2 < model.n_iter_ < 100
    assert model.state_.gain <= 1e-3 * model.state_.objective
    assert fitted(random_counts(), n_iter=500, tolerance=1e-5).n_iter_ > model.n_iter_
    assert list(model.iterate(random_counts(), state=carried(model.state_))) == []


@pytest.mark.parametrize("seed", range(3))
def test_planted_topics_are_found_again(seed):
    counts, truth, tokens = block_counts(seed)
    model = fitted(counts, n_iter=400, tolerance=1e-9, random_state=seed)
    topics = model.topics_
    assert isinstance(topics, GammaPoissonTopics)
    matched = match(topics.topic_word, truth)
    # Without a prior, factors explain some of the noise, too, so that they fit at least as well as
    # what was planted. A share of 0.2 in about 4,000 tokens has a standard error of 0.006.
    assert_allclose(topics.topic_word, truth[matched], atol=0.006)
    y, planted = counts.toarray(), tokens @ truth
    at_planted = (xlogy(y, y) - xlogy(y, planted) - y + planted).sum()
    assert model.state_.objective <= at_planted * (1 + 1e-6)  # sweeps that gain 1e-9 are the end
    found = model.state_.doc_topic * model.state_.word_topic.sum(axis=0)
    assert np.abs(found - tokens[:, matched]).mean() < 0.5


def test_topics_have_the_prior_that_fits_their_scores():
    counts, _, _ = block_counts(0)
    model = fitted(counts, n_iter=100, relaxation=1.0)  # plain updates of φ keep the total
    topics = model.topics_
    assert_allclose(topics.topic_word.sum(axis=1), 1.0)
    scores = model.state_.doc_topic * model.state_.word_topic.sum(axis=0)
    assert_allclose(scores.sum(), counts.sum())
    for k in range(3):
        shape, _, scale = stats.gamma.fit(np.maximum(scores[:, k], MIN_SCORE), floc=0.0)
        assert_allclose(topics.shape[k], shape, rtol=1e-5)
        assert_allclose(topics.rate[k], 1.0 / scale, rtol=1e-5)


def test_what_has_no_tokens():
    counts = random_counts().toarray()
    counts[[0, 7]] = 0
    model = fitted(sparse.csr_array(counts))
    topics = model.topics_
    assert_array_equal(model.state_.doc_topic[[0, 7]], 0.0)
    mean = topics.shape / (topics.rate + 1.0)  # what is left of the prior, as no word was seen
    assert_allclose(model.transform(counts)[[0, 7]], [mean, mean], rtol=1e-6)
    counts = random_counts().toarray()
    counts[:, [3, 11]] = 0
    model = fitted(sparse.csr_array(counts))
    assert_array_equal(model.components_[:, [3, 11]], 0.0)
    assert (model.components_.sum(axis=0)[[0, 4]] > 0).all()
    model = fitted(np.zeros((5, 4), dtype=np.int32))
    assert model.state_.objective == 0.0
    assert_allclose(model.topics_.topic_word.sum(axis=1), 1.0)
    assert np.isfinite(model.transform(np.eye(2, 4))).all()


def test_topics_of_which_nothing_is_left():
    scores, topics = start_of(random_counts(), 3)
    scores[:, 1] = 0.0
    model = KLNMF(3, n_iter=3, init=(scores, topics)).fit(random_counts())
    assert_array_equal(model.components_[1], 0.0)
    found = model.topics_
    assert_allclose(found.topic_word[1], 1 / 12)
    assert_allclose(found.shape[1] / found.rate[1], MIN_MEAN)
    topics[1] = 0.0
    other = KLNMF(3, n_iter=3, init=(start_of(random_counts(), 3)[0], topics)).fit(random_counts())
    assert_array_equal(other.state_.doc_topic[:, 1], 0.0)
    assert np.isfinite(other.topics_.topic_word).all()
    scores, topics = start_of(random_counts(), 53)
    scores[:, 3:] = 0.0
    model = KLNMF(53, n_iter=30, init=(scores, topics)).fit(random_counts())
    used = KLNMF(3, n_iter=30, init=(scores[:, :3], topics[:3])).fit(random_counts())
    length, alone = ((t.shape / t.rate).sum() for t in (model.topics_, used.topics_))
    assert_allclose(length, alone + 50 * MIN_MEAN, rtol=1e-9)
    assert_allclose(alone, random_counts().sum() / 60, rtol=0.02)  # faint scores are raised


@pytest.mark.parametrize(
    ("name", "value"),
    [("tolerance", np.inf), ("relaxation", 0.9), ("relaxation", 2.0)]
    + [("init", value) for value in ("nndsvd", None, 1, (1, 2, 3))]
    + [("init", (np.ones((60, 2)), np.ones((3, 12)))), ("init", (np.ones((60, 3)), np.ones(12)))]
    + [("init", (np.full((60, 3), bad), np.ones((3, 12)))) for bad in (-1.0, np.nan, np.inf)],
)
def test_a_bad_setting_is_named(name, value):
    model = KLNMF(**{"n_topics": 3, "random_state": 0, name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(random_counts())


@pytest.mark.parametrize("numbers", [factor_estimator.NUMBERS_A_CHUNK, 30, 1])
@pytest.mark.parametrize("product", [0.0, 1e-110])
def test_a_start_that_expects_nothing_of_a_count_is_refused(numbers, product, monkeypatch):
    """Updates would divide by 0: what is 0 stays 0."""
    monkeypatch.setattr(factor_estimator, "NUMBERS_A_CHUNK", numbers)
    counts = random_counts().toarray()
    counts[41] = 0
    counts[41, 7] = 2
    scores, topics = start_of(counts, 3)
    scores[41] = product
    with pytest.raises(ValueError, match=r"init .* document 41 and word 7, whose count is 2.* add"):
        fitted(counts, init=(scores, topics))
    counts[41, 7] = 0
    fitted(counts, init=(scores, topics))  # nothing is there to be expected
    stored = sparse.csr_array((np.zeros(1), ([41], [7])), shape=counts.shape)
    factor_estimator._check_start(factor_updates.Rows.of(stored), scores, topics.T)
    counts[41, 7] = 2
    scores[41] = 1.0
    topics[:, 7] = 0.0
    with pytest.raises(ValueError, match=r"init .* document \d+ and word 7"):
        fitted(counts, init=(scores, topics))


@pytest.mark.parametrize("size", [1e300, 1e154])
def test_a_start_that_overflows_is_refused(size):
    model = KLNMF(3, init=(np.full((60, 3), size), np.full((3, 12), size)))
    with pytest.raises(ValueError, match=r"objective must stay finite, .* init"):
        model.fit(random_counts())
    assert not hasattr(model, "state_")
    with pytest.raises(ValueError, match=r"objective must stay finite, .* counts in X"):
        fitted(np.full((4, 5), 1e308))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("relaxation", [1.0, 1.9])
def test_a_sweep_that_overflows_has_not_converged(bad, relaxation, monkeypatch):
    model = KLNMF(3, relaxation=relaxation, random_state=0)
    steps = model.iterate(random_counts())
    next(steps)
    state = carried(model.state_)

    def overflowing(self, data, state, relaxation):
        del self, data, relaxation
        state.word_topic[2] = bad

    monkeypatch.setattr(KLNMF, "_update", overflowing)
    with pytest.raises(ValueError, match="objective must stay finite"):
        next(steps)
    assert_same_state(model.state_, state)
    state.objective = bad
    with pytest.raises(ValueError, match="objective must stay finite"):
        model.resume(random_counts(), state)


def test_a_state_of_other_data_is_refused():
    state = fitted(random_counts()).state_
    with pytest.raises(ValueError, match="the state is of"):
        next(KLNMF(3).iterate(random_counts(n_docs=59), state=state))
