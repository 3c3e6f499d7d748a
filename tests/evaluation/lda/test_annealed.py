import math
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.lda import annealing
from evaluation.lda.annealed import annealed, annealed_bounds, temperatures_for
from evaluation.lda.simulate import simulated_documents
from models import GammaPoissonTopics, LDATopics, LPMRFTopics
from tests.evaluation.lda.test_annealing import document_of
from tests.oracles import lda_likelihood

RNG = np.random.default_rng(0)
ORDINARY = LDATopics(RNG.dirichlet(np.ones(4), 3), [0.3, 0.7, 0.2])
WITH_ZEROS = LDATopics([[0.5, 0.5, 0.0, 0.0], [0.0, 0.3, 0.7, 0.0], [0.2, 0, 0, 0.8]], [0.4] * 3)
CASES = {
    "ordinary": (ORDINARY, (2, 1, 1, 1)),
    "zeros": (WITH_ZEROS, (1, 2, 1, 2)),
    "one word": (ORDINARY, (0, 7, 0, 0)),
    "small alpha": (LDATopics(ORDINARY.topic_word, [1e-3] * 3), (1, 2, 1, 1)),
    "large alpha": (LDATopics(ORDINARY.topic_word, [1e3] * 3), (1, 2, 1, 1)),
    "all alphas": (LDATopics(ORDINARY.topic_word, [1e-3, 1.0, 1e3]), (1, 2, 1, 1)),
    "tiny alpha that is needed": (LDATopics(WITH_ZEROS.topic_word, [1.0, 1e-4, 1.0]), (1, 0, 2, 1)),
}


@cache
def exact(model, document):
    return lda_likelihood.log_probability_by_enumeration(document, model.topic_word, model.alpha)


def t_of_one(ratios):
    """How many standard errors the mean of ratios is from 1; few of them would show nothing."""
    error = ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert error < 0.05
    return 0.0 if error < 1e-9 > abs(ratios.mean() - 1) else (ratios.mean() - 1) / error


@pytest.mark.parametrize(("name", "n_samples"), [*((name, 1) for name in CASES), ("ordinary", 3)])
def test_weights_upwards_are_unbiased(name, n_samples):
    model, document = CASES[name]
    counts = DocumentBlock(sparse.csr_array(np.tile(document, (1500, 1))))
    found = annealed(model, counts, n_samples=n_samples, n_temperatures=30, seed=1)
    ratios = np.exp(found.log_likelihood - exact(model, document))
    assert abs(t_of_one(ratios)) < 4  # a false alarm once in 16,000
    assert t_of_one(ratios / np.exp(0.25)) < -4  # the control: a quarter of a nat too low


def mean_weight(model, document, shift, n_chains=2500):
    """exp(estimate - log p) of chains whose sweeps are `shift` temperatures too hot."""
    tokens, rng = lda_likelihood.tokens_of(document), np.random.default_rng(1)
    packed, temperatures = document_of(model, tokens), np.linspace(0, 1, 4)
    log_z0 = np.log(model.alpha @ model.topic_word[:, tokens] / model.alpha.sum()).sum()
    constant = log_z0 - np.log1p(np.arange(len(tokens)) / model.alpha.sum()).sum()
    result = np.empty(n_chains)
    for chain in range(n_chains):
        topic_of = np.full(len(tokens), -1, dtype=np.int32)
        tally, log_weight = annealing.tally_of(topic_of[:0], model.n_topics), 0.0
        for s in range(3):
            t = temperatures[s if s == 0 else s + shift]
            annealing._sweep(packed, t, False, topic_of, tally, rng)
            log_weight += annealing._log_ratio(
                model.alpha, tally, temperatures[s + 1], temperatures[s]
            )
        result[chain] = log_weight
    return np.exp(result + constant - exact(model, document))


def test_sweeps_and_topics_that_are_wrong_are_noticed():
    model, document = CASES["ordinary"]
    assert abs(t_of_one(mean_weight(model, document, 0))) < 4
    assert abs(t_of_one(mean_weight(model, document, 1))) > 6
    likeliest = (ORDINARY.word_topic * ORDINARY.alpha).argmax(axis=1)
    ratios = ratios_downwards(ORDINARY, 1, lambda words: likeliest[words], n_docs=4000)
    assert abs(t_of_one(ratios)) > 6


def test_the_standard_error_is_the_spread():
    model, document = CASES["ordinary"]
    counts = DocumentBlock(sparse.csr_array(np.tile(document, (800, 1))))
    found = annealed(model, counts, n_samples=40, n_temperatures=5)
    error = np.sqrt((found.standard_error**2).mean())
    assert error == pytest.approx(found.log_likelihood.std(), rel=0.1)  # 4 / sqrt(2 · 800)
    assert ((found.effective_sample_size > 1) & (found.effective_sample_size <= 40)).all()
    assert (found.n_samples == 40).all()


def ratios_downwards(model, n_samples, topics_of=None, n_docs=1500, length=5):
    """p times the mean of 1 / weight, of documents with exact topics, or those of `topics_of`."""
    rng = np.random.default_rng(2)
    counts, assignments = simulated_documents(model, np.full(n_docs, length), rng)
    if topics_of is not None:
        assignments = topics_of(np.repeat(counts.indices, counts.data))
    found = annealed_bounds(model, counts, assignments, n_samples=n_samples, n_temperatures=6)
    log_p = np.array([exact(model, tuple(row)) for row in counts.toarray().tolist()])
    return np.exp(log_p - found.upper)


@pytest.mark.parametrize(
    ("model", "n_samples"),
    [(ORDINARY, 1), (ORDINARY, 3), (WITH_ZEROS, 3), (CASES["large alpha"][0], 1)],
)
def test_weights_downwards_are_unbiased(model, n_samples):
    assert abs(t_of_one(ratios_downwards(model, n_samples))) < 4


def simulated(n_topics=3, n_docs=40, length=20, alpha=0.3, n_words=30):
    rng = np.random.default_rng(3)
    model = LDATopics(rng.dirichlet(np.full(n_words, 0.3), n_topics), np.full(n_topics, alpha))
    return model, *simulated_documents(model, np.full(n_docs, length), rng)


def test_the_truth_is_between_bounds_that_come_together():
    model, counts, assignments = simulated()
    found = annealed_bounds(model, counts, assignments, n_samples=4, n_temperatures=6)
    truth = np.array([lda_log_p(document, model) for document in counts.toarray()])
    below, above = truth - found.lower, found.upper - truth
    for gap in (below, above):
        assert gap.mean() > 2 * gap.std(ddof=1) / math.sqrt(len(gap))
        assert gap.mean() < 2
    # P(lower > log p + b) < exp(-b), and the same above.
    assert below.min() > -math.log(40 * 1000)
    assert above.min() > -math.log(40 * 1000)
    model, counts, assignments = simulated(n_topics=5, n_docs=100)

    settings = [{"n_samples": 1, "n_temperatures": n} for n in (5, 20, 80)]
    found = (annealed_bounds(model, counts, assignments, **each) for each in settings)
    few, some, many = ((bounds.upper - bounds.lower).mean() for bounds in found)
    assert few > 2 * some > 4 * many > 0


def lda_log_p(document, model):
    return lda_likelihood.log_probability_by_polynomial(document, model.topic_word, model.alpha)


def assert_meets(model, document, truth, **settings):
    found = annealed(model, DocumentBlock(sparse.csr_array([document])), n_samples=50, **settings)
    assert found.standard_error[0] < 0.25
    assert abs(found.total - truth) < 4 * found.standard_error[0]


def test_many_topics_that_are_copies_of_two():
    base = np.array([[0.7, 0.2, 0.1], [0.0, 0.4, 0.6]])
    merged = LDATopics(base, [0.6, 1.4])
    model = LDATopics(np.repeat(base, 1000, axis=0), np.repeat([0.6e-3, 1.4e-3], 1000))
    assert_meets(model, (20, 30, 10), lda_log_p((20, 30, 10), merged), n_temperatures=300, seed=4)


def test_one_word_300_times():
    model = LDATopics([[0.9, 0.1], [0.2, 0.8]], [0.1, 0.2])
    assert_meets(model, (300, 3), lda_log_p((300, 3), model), n_temperatures=1000, seed=5)


def test_one_topic_and_one_token_leave_nothing_to_chance():
    one_topic = LDATopics([[0.5, 0.3, 0.2]], [0.4])
    counts = sparse.csr_array([[40, 2, 7], [0, 1, 0]])
    found = annealed_bounds(one_topic, counts, np.zeros(50, dtype=int), n_temperatures=9)
    truth = counts @ np.log(one_topic.topic_word[0])
    for bound in (found.lower, found.upper):
        np.testing.assert_allclose(bound, truth, rtol=1e-12)
    for error in (found.lower_standard_error, found.upper_standard_error):
        np.testing.assert_allclose(error, 0, atol=1e-12)
    token = sparse.csr_array(np.eye(4, dtype=int))
    found = annealed_bounds(ORDINARY, token, np.zeros(4, dtype=int), n_temperatures=2)
    truth = np.log(ORDINARY.alpha / ORDINARY.alpha.sum() @ ORDINARY.topic_word)
    np.testing.assert_allclose(found.lower, truth, rtol=1e-12)
    np.testing.assert_allclose(found.upper, truth, rtol=1e-12)


def test_documents_without_tokens():
    counts = sparse.csr_array(np.array([[0, 0, 0, 0], [1, 0, 2, 0]]))
    found = annealed_bounds(ORDINARY, counts, np.array([0, 1, 1]), n_temperatures=5)
    assert found.lower[0] == found.upper[0] == found.upper_standard_error[0] == 0
    assert found.n_tokens.tolist() == [0, 3]
    chains = annealed(ORDINARY, DocumentBlock(counts), n_samples=16, n_temperatures=5)
    assert (chains.log_likelihood == found.lower).all()
    assert (chains.standard_error == found.lower_standard_error).all()


def test_the_same_bits_whatever_the_threads():
    model, counts, assignments = simulated(n_docs=11)

    def bounds(**settings):
        found = annealed_bounds(
            model, counts, assignments, n_samples=3, n_temperatures=9, **settings
        )
        return np.array([found.lower, found.upper, found.upper_standard_error])

    first = bounds(seed=1)
    for n_jobs in (1, 2, 4):
        assert (bounds(seed=1, n_jobs=n_jobs) == first).all()
    assert (bounds(seed=2) != first).all()


@pytest.mark.parametrize("n_tokens", [1, 150, 10_000])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1e6])
def test_temperatures(n_tokens, alpha):
    for n in (2, 3, 500):
        found = temperatures_for(n, n_tokens, np.full(10, alpha))
        assert (len(found), found[0], found[-1]) == (n, 0.0, 1.0)
        assert (np.diff(found) > 0).all()


RNG = np.random.default_rng(0)
MODEL = LDATopics(RNG.dirichlet(np.full(8, 0.4), 3), [0.3, 0.7, 0.2])
COUNTS = sparse.csr_array(RNG.poisson(0.8, size=(12, 8)))


def test_gamma_poisson_models_are_scored_by_their_tilted_topics():
    model = GammaPoissonTopics(3 * MODEL.topic_word, [0.4, 0.3, 0.8], [0.3, 0.6, 0.5])
    found = log_likelihood(model, COUNTS, "annealed-importance-sampling", random_state=1)
    exact = log_likelihood(model, COUNTS, "exact")
    assert found.convention == "bag-and-length"
    z = (found.log_likelihood - exact.log_likelihood) / np.maximum(found.standard_error, 1e-9)
    assert np.abs(z).max() < 4.5  # of twelve


def test_poisson_mrfs_without_edges_are_scored_alike():
    no_edges = (np.empty(0, dtype=int), np.empty((0, 2), dtype=int), np.empty(0))
    of_lengths = (np.full(3, np.inf), np.zeros((3, 2)))
    same = LPMRFTopics(MODEL.topic_word, *no_edges, *of_lengths, MODEL.alpha)
    method = "annealed-importance-sampling"
    one = log_likelihood(MODEL, COUNTS, method, random_state=0)
    other = log_likelihood(same, COUNTS, method, random_state=1)
    assert one.method == other.method
    error = np.hypot(one.monte_carlo_standard_error, other.monte_carlo_standard_error)
    assert abs(one.total - other.total) < 4 * error


def test_more_samples_bring_the_error_down():
    target = 0.02
    settings = {"target_standard_error": target, "random_state": 0}
    found = log_likelihood(MODEL, COUNTS[:4], "annealed-importance-sampling", **settings)
    assert (found.standard_error <= 1.5 * target).all()
    exact = log_likelihood(MODEL, COUNTS[:4], "exact").log_likelihood
    assert (np.abs(found.log_likelihood - exact) < 4.5 * found.standard_error + 1e-9).all()


def test_bad_settings():
    for settings, message in (
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"n_samples": 2.0}, "n_samples must be a whole number"),
        ({"n_temperatures": 1}, "n_temperatures must be at least 2"),
        ({"n_temperatures": True}, "n_temperatures must be a whole number"),
        ({"assignments": np.zeros(4, int)}, r"shape \(5,\)"),
        ({"assignments": np.zeros(5)}, "integers"),
        ({"assignments": np.full(5, 3)}, "topics from 0 to 2"),
        ({"assignments": np.full(5, -1)}, "topics from 0 to 2"),
        ({"assignments": np.array([0, 0, 1, 1, 1])}, "topic 1 of token 4 does not have its word 3"),
        ({"counts": sparse.csr_array([[1, 2, 3]])}, r"\(n_docs, 4\)"),
        ({"n_jobs": 0}, "n_jobs"),
    ):
        counts = settings.pop("counts", sparse.csr_array([[1, 2, 1, 1]]))
        given = {"assignments": np.array([0, 1, 1, 1, 2]), **settings}
        with pytest.raises((ValueError, TypeError), match=message):
            annealed_bounds(WITH_ZEROS, counts, **given)


@pytest.mark.parametrize("bad", [1, 0, 2.5, True])
def test_bad_temperatures(bad):
    with pytest.raises((ValueError, TypeError), match="n_temperatures"):
        annealed(MODEL, DocumentBlock(COUNTS), n_temperatures=bad)
