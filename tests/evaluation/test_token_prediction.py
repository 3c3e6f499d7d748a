import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from evaluation import LikelihoodEstimate, ZeroProbabilityError, log_likelihood, prediction
from evaluation.methods import scoring_of
from evaluation.token_prediction import LIKELIHOODS, TASKS, Part, by_likelihood, parts_of, plug_in
from models import GammaPoissonTopics, LDATopics


def lda(n_topics=3, n_words=6, seed=0, alpha=0.5):
    rng = np.random.default_rng(seed)
    return LDATopics(rng.dirichlet(np.full(n_words, 0.4), n_topics), np.full(n_topics, alpha))


def gamma_poisson(n_topics=3, n_words=6, seed=0):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(n_words, 0.4), n_topics) * rng.gamma(3, 1, (n_topics, 1))
    shape = rng.uniform(0.2, 1.5, n_topics)
    return GammaPoissonTopics(topic_word, shape, rng.uniform(0.3, 0.9, n_topics))


SLOW_TASK = pytest.param("word-prediction", marks=pytest.mark.slow)
MODELS = pytest.mark.parametrize("topics", [lda(), gamma_poisson()], ids=["lda", "gamma-poisson"])


def simulated(topics, n_docs, rng, length=12):
    if isinstance(topics, LDATopics):
        theta = rng.dirichlet(topics.alpha, n_docs) @ topics.topic_word
        return np.array([rng.multinomial(length, each) for each in theta])
    scores = rng.gamma(topics.shape, 1 / topics.rate, (n_docs, topics.n_topics))
    return rng.poisson(scores @ topics.topic_word)


def plugged_in(topics, part, task):
    scores = scoring_of(topics).scores_given(topics, part.seen, part.hidden, task, None)
    return plug_in(topics, scores, part, None)


@MODELS
@pytest.mark.parametrize("hidden", [[1, 4], [0, 1, 2, 3, 4, 5]])
def test_an_exact_prediction_sums_to_one(topics, hidden):
    """Over all that two tokens, of the words that can be hidden, can be in order."""
    mask, seen = np.isin(np.arange(6), hidden), np.array([2, 0, 1, 3, 0, 1])
    if not mask.all():
        seen[mask] = 0
    sequences = list(itertools.product(hidden, repeat=2))
    scored = np.array([np.bincount(each, minlength=6) for each in sequences])
    part = Part(sparse.csr_array(np.tile(seen, (len(scored), 1))), sparse.csr_array(scored), mask)
    weighted = scoring_of(topics).as_lda(topics).topics
    exact, variance = by_likelihood(weighted, part, "exact", None, [0], None)
    assert np.exp(exact).sum() == pytest.approx(1.0, abs=1e-12)
    assert not variance.any()
    task = "completion" if mask.all() else "word-prediction"
    assert np.exp(plugged_in(topics, part, task)).sum() == pytest.approx(1.0, abs=1e-9)


@MODELS
@pytest.mark.parametrize("task", TASKS)
def test_parts_add_up_to_the_documents(topics, task):
    counts = sparse.csr_array(simulated(topics, 20, np.random.default_rng(1)))
    parts = list(parts_of(counts, task, 3))
    for part in parts:
        assert_array_equal((part.seen + part.scored).toarray(), counts.toarray())
        assert not part.scored.toarray()[:, ~part.hidden].any()
    if task == "word-prediction":
        assert_array_equal(sum(part.scored for part in parts).toarray(), counts.toarray())
        assert not any(part.seen.toarray()[:, part.hidden].any() for part in parts)


@MODELS
@pytest.mark.parametrize("task", TASKS)
def test_under_one_topic_nothing_is_plugged_in(topics, task):
    if isinstance(topics, LDATopics):
        one = LDATopics(topics.topic_word[:1], topics.alpha[:1])
    else:
        one = GammaPoissonTopics(topics.topic_word[:1], topics.shape[:1], topics.probability[:1])
    counts = simulated(topics, 10, np.random.default_rng(2))
    counts[0] = 0
    both = ("plug-in", "exact")
    plugged, exact = (prediction(one, counts, task, each, random_state=0) for each in both)
    assert_allclose(plugged.log_likelihood, exact.log_likelihood, atol=1e-10)
    assert exact.log_likelihood[0] == 0.0


@MODELS
@pytest.mark.parametrize("task", ["completion", SLOW_TASK])
def test_what_a_model_says_exactly_is_the_best_it_can_say(topics, task):
    """Of documents of its own: by 4 standard errors at least, as a proper score tells."""
    counts = simulated(topics, 1300, np.random.default_rng(3))
    both = ("exact", "plug-in")
    exact, plugged = (prediction(topics, counts, task, each, random_state=0) for each in both)
    gain = exact.log_likelihood - plugged.log_likelihood
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
    assert (exact.direction, plugged.direction) == ("exact", "plug-in")
    assert exact.convention == "sequence"


@pytest.mark.slow
@MODELS
@pytest.mark.parametrize("task", TASKS)
def test_sampled_predictions_are_near_the_exact_ones(topics, task):
    counts = simulated(topics, 100, np.random.default_rng(4))
    settings = {"n_samples": 300, "random_state": 0}
    exact = prediction(topics, counts, task, "exact", **settings)
    sampled = prediction(topics, counts, task, "left-to-right-sequential", **settings)
    off = sampled.log_likelihood - exact.log_likelihood
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(len(off)) + 1e-3
    if task == "word-prediction":  # its standard error is all that is sampled
        sampled_at_all = sampled.standard_error > 0
        z = off[sampled_at_all] / sampled.standard_error[sampled_at_all]
        assert 0.6 < z.std() < 1.4
    again = prediction(topics, counts, task, "left-to-right-sequential", n_jobs=2, **settings)
    assert_array_equal(again.log_likelihood, sampled.log_likelihood)


@MODELS
def test_plug_in_completion_is_the_method_of_that_name(topics):
    counts = simulated(topics, 30, np.random.default_rng(5))
    found = prediction(topics, counts, "completion", random_state=7)
    expected = log_likelihood(topics, counts, "completion", random_state=7)
    assert_allclose(found.log_likelihood, expected.log_likelihood, atol=1e-9)
    assert_allclose(found.standard_error, expected.standard_error, atol=1e-9)
    assert_array_equal(found.n_tokens, expected.n_tokens)


def test_hidden_words_say_nothing_of_scores():
    """With nothing seen, scores are those of the prior given that visible words did not come."""
    topics, hidden = gamma_poisson(), np.array([True, False, True, False, False, True])
    scored = np.array([[2, 0, 1, 0, 0, 0]])
    part = Part(sparse.csr_array(np.zeros((1, 6), dtype=int)), sparse.csr_array(scored), hidden)
    scores = topics.shape / (topics.rate + topics.topic_word[:, ~hidden].sum(axis=1))
    share = scores @ topics.topic_word[:, hidden] / (scores @ topics.topic_word)[hidden].sum()
    found = plugged_in(topics, part, "word-prediction")
    assert found[0] == pytest.approx(2 * np.log(share[0]) + np.log(share[1]), abs=1e-9)


def test_the_variance_is_that_of_both_terms(monkeypatch):
    def unsure(topics, documents, **settings):
        n_docs, n_tokens = documents.n_documents, documents.n_tokens
        method = ("fake", "sequence", "unbiased")
        return LikelihoodEstimate(np.zeros(n_docs), np.full(n_docs, 3.0), n_tokens, *method)

    monkeypatch.setitem(LIKELIHOODS, "exact", unsure)
    part = next(parts_of(sparse.csr_array(np.ones((2, 6), dtype=int)), "completion", 0))
    _, variance = by_likelihood(lda(), part, "exact", None, [0], None)
    assert_allclose(variance, 18.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_words", [1, 2, 4])
@pytest.mark.parametrize("method", ["plug-in", "exact"])
def test_vocabularies_with_fewer_words_than_parts(n_words, method):
    topic_word = np.random.default_rng(0).dirichlet(np.ones(n_words), 2)
    gamma_poisson = GammaPoissonTopics(topic_word, [0.5, 1.0], [0.3, 0.8])
    for topics in (LDATopics(topic_word, [0.5, 1.0]), gamma_poisson):
        counts = np.array([[5] * n_words, [0] * n_words, [1] + [0] * (n_words - 1)])
        found = prediction(topics, counts, "word-prediction", method, random_state=0)
        assert np.isfinite(found.log_likelihood).all()
        if n_words == 1:
            assert_allclose(found.log_likelihood, 0.0, atol=1e-12)


def test_what_cannot_be_predicted():
    counts = np.ones((2, 6), dtype=int)
    with pytest.raises(ValueError, match="task must be one of"):
        prediction(lda(), counts, "guess")
    with pytest.raises(ValueError, match="method must be one of"):
        prediction(lda(), counts, method="harmonic-mean")
    with pytest.raises(ValueError, match="counts has 5 words, the model 6"):
        prediction(lda(), counts[:, :5])
    topic_word = gamma_poisson().topic_word.copy()
    topic_word[:, 2] = 0
    impossible = GammaPoissonTopics(topic_word, np.ones(3), np.full(3, 0.5))
    with pytest.raises(ZeroProbabilityError, match="word 2 of document 0"):
        prediction(impossible, counts)
