"""CVB0 against its formula, written plainly, and against exact posterior means."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import gammaln

from models.lanes import LANES
from models.lda.topics import LDATopics
from models.variational.cvb0 import infer_by_cvb0
from models.variational.likely_topics import N_LIKELY, likely_topics


def infer(counts, weight, alpha, *, cap=2000, tolerance=1e-9, n_jobs=None):
    """Proportions (D, K) by CVB0, all of them inferred."""
    rows = sparse.csr_array(np.atleast_2d(counts))
    proportions, is_inferred = infer_by_cvb0(
        rows,
        weight,
        likely_topics(weight),
        alpha,
        np.full(rows.shape[0], cap),
        tolerance,
        n_jobs=n_jobs,
    )
    assert is_inferred.all()
    return proportions


def weights(rng, n_words, n_topics):
    """Weights (V, K), a few of them zero."""
    return rng.multinomial(64, np.full(n_topics, 1 / n_topics), size=n_words) / 64.0


def plainly(counts, weight, alpha, n_passes=3000):
    """Proportions (K,) by updates of one word after the other, from even responsibilities."""
    n_words, n_topics = weight.shape
    held = counts[:, None] * np.full((n_words, n_topics), 1.0 / n_topics)
    for _ in range(n_passes):
        for w in np.flatnonzero(counts):
            others = held.sum(axis=0) - held[w] * min(1.0, 1.0 / counts[w])
            joint = (alpha + others) * weight[w]
            held[w] = counts[w] * joint / joint.sum()
    return (alpha + held.sum(axis=0)) / (alpha.sum() + counts.sum())


@pytest.mark.parametrize("counts_are_whole", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_its_fixed_point_is_that_of_the_formula(seed, counts_are_whole):
    """With alpha of 1 and more there is one fixed point from any start."""
    rng = np.random.default_rng(seed)
    weight, alpha = weights(rng, 12, 5), rng.uniform(1.0, 3.0, size=5)
    counts = rng.poisson(2.0, size=12) + 0.0
    if not counts_are_whole:
        counts *= 0.37
    assert_allclose(infer(counts, weight, alpha)[0], plainly(counts, weight, alpha), rtol=1e-5)


def in_fours(counts, weight, alpha, n_passes):
    """Proportions (K,) after a few passes, by the steps that the module describes."""
    share = weight / weight.sum(axis=1, keepdims=True)
    words = np.flatnonzero(counts)
    start = (counts @ share) ** 3
    total = counts.sum() * start / start.sum()
    for _ in range(2):
        joint = (alpha + total) * weight
        expected = counts[:, None] * joint / joint.sum(axis=1, keepdims=True)
        total = expected.sum(axis=0)
    for _ in range(n_passes - 1):
        for some in np.split(words, range(4, len(words), 4)):
            total = expected.sum(axis=0)
            for w in some:
                joint = (alpha + total - expected[w] / counts[w]) * weight[w]
                expected[w] = counts[w] * joint / joint.sum()
    return (alpha + expected.sum(axis=0)) / (alpha.sum() + counts.sum())


@pytest.mark.parametrize("n_passes", [1, 2, 3])
def test_a_pass_updates_four_words_at_once(n_passes):
    rng = np.random.default_rng(6)
    weight, alpha = weights(rng, 23, 5), rng.uniform(0.1, 1.0, size=5)
    counts = rng.poisson(2.0, size=23)
    found = infer(counts, weight, alpha, cap=n_passes, tolerance=0.0)[0]
    assert_allclose(found, in_fours(counts, weight, alpha, n_passes), rtol=1e-5)


def test_a_document_is_done_when_a_pass_changes_few_of_its_tokens():
    rng = np.random.default_rng(7)
    weight, alpha = weights(rng, 12, 5), rng.uniform(1.0, 3.0, size=5)
    counts = 50.0 * rng.poisson(3.0, size=12)
    passes = [infer(counts, weight, alpha, cap=n, tolerance=0.0) for n in range(1, 12)]
    moved = [np.abs(b - a).sum() for a, b in pairwise(passes)]
    moved = np.array(moved) * (counts.sum() + alpha.sum()) / counts.sum()
    for n in (2, 4):  # before which more is moved
        tolerance = (moved[n - 2] + moved[n - 1]) / 2.0
        assert (infer(counts, weight, alpha, tolerance=tolerance) == passes[n]).all()
    assert (infer(counts, weight, alpha, tolerance=np.inf) == passes[1]).all()


@pytest.mark.parametrize("alpha", [[1e-8, 1e-8], [1e-8, 1e-7], [0.01, 0.01], [0.5, 3.0]])
def test_of_one_token_it_is_exact(alpha):
    topics = LDATopics([[0.6, 0.4], [0.1, 0.9]], alpha)
    expected = topics.alpha * topics.topic_word[:, 0]
    expected = (topics.alpha + expected / expected.sum()) / (topics.alpha.sum() + 1.0)
    found = topics.transform([[1, 0]], inference="cvb0")[0]
    assert_allclose(found, expected, rtol=1e-6)


def exact_mean(counts, topic_word, alpha):
    """Posterior mean of the proportions, summed over all topics of all tokens."""
    words = np.repeat(np.arange(len(counts)), counts)
    logs, means = [], []
    for topics in product(range(len(alpha)), repeat=len(words)):
        n = np.bincount(topics, minlength=len(alpha))
        logs.append((gammaln(alpha + n)).sum() + np.log(topic_word[list(topics), words]).sum())
        means.append((alpha + n) / (alpha + n).sum())
    share = np.exp(np.array(logs) - max(logs))
    return share @ np.array(means) / share.sum()


def test_proportions_are_near_exact_posterior_means_and_nearer_than_those_of_a_mean_field():
    rng, errors = np.random.default_rng(1), {"variational": 0.0, "cvb0": 0.0}
    for _ in range(20):
        topic_word = rng.dirichlet(np.full(6, 0.5), size=3) * 0.999 + 0.001 / 6
        topics = LDATopics(topic_word, rng.uniform(0.3, 1.0, size=3))
        counts = rng.multinomial(6, topic_word[rng.integers(3)])
        exact = exact_mean(counts, topics.topic_word, topics.alpha)
        for name in errors:
            until = {"max_iterations": 2000, "tolerance": 1e-9}
            found = topics.transform(counts[None], inference=name, **until)[0]
            errors[name] += np.abs(found - exact).sum() / 20
    assert errors["cvb0"] < 0.05
    assert errors["cvb0"] < errors["variational"]


def many_topics(n_topics=400, n_words=600):
    """Topics of few words each."""
    rng = np.random.default_rng(2)
    return LDATopics(rng.dirichlet(np.full(n_words, 0.02), size=n_topics), np.full(n_topics, 0.01))


def documents(topics, n_documents=40, n_tokens=200):
    """Counts of documents drawn from the model, and the tokens (D, K) of each topic."""
    rng = np.random.default_rng(3)
    of_topics = rng.multinomial(n_tokens, rng.dirichlet(topics.alpha, size=n_documents))
    return rng.multinomial(of_topics, topics.topic_word).sum(axis=1), of_topics


def test_of_many_topics_those_of_documents_are_found_as_by_all_topics():
    """Begun and iterated with a few topics it errs hardly more than the formula with all."""
    topics = many_topics()
    counts, of_topics = documents(topics, n_documents=8)
    found = topics.transform(counts, inference="cvb0", max_iterations=15, tolerance=0.0)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    with_all = np.array([plainly(each, topics.word_topic, topics.alpha, 15) for each in counts])
    expected = (of_topics + topics.alpha) / (200 + topics.alpha.sum())
    error, least = (np.abs(each - expected).sum(axis=1).mean() for each in (found, with_all))
    assert error < 1.2 * least


def test_neither_threads_nor_other_documents_change_a_bit():
    topics = many_topics()
    counts, _ = documents(topics)
    found = topics.transform(counts, inference="cvb0", n_jobs=1)
    assert (topics.transform(counts, inference="cvb0", n_jobs=2) == found).all()
    assert (topics.transform(counts[7:9], inference="cvb0") == found[7:9]).all()


def test_likely_topics_are_the_first_in_order():
    weight = np.random.default_rng(4).gamma(0.1, size=(30, 60))
    weight[3] = 0.0
    weight[4, 2:] = 0.0
    likely = likely_topics(weight)
    whole = weight.sum(axis=1, keepdims=True)
    order = np.argsort(-weight, axis=1, kind="stable")[:, :N_LIKELY]
    share = np.take_along_axis(weight / np.where(whole > 0, whole, 1.0), order, axis=1)
    assert_allclose(likely.share, share, rtol=1e-6)
    assert (likely.topic[share > 0] == order[share > 0]).all()
    rest = np.where(whole[:, 0] > 0, 1.0 - share.sum(axis=1), 0.0) / (60 - N_LIKELY)
    assert_allclose(likely.rest, rest, rtol=1e-5, atol=1e-9)
    few = likely_topics(weight[:, :3])
    assert few.topic.shape == (30, LANES)
    assert (few.topic[:, 3:] == 3).all()
    assert not few.share[:, 3:].any()
    assert not few.rest.any()


def test_more_topics_than_lists_can_name_are_inferred_by_the_mean_field(monkeypatch):
    monkeypatch.setattr("models.lda.topics.MAX_TOPICS", 2)
    topics = LDATopics.from_weights(np.eye(3) + 0.1, 0.1)
    counts = np.array([[3, 1, 0], [0, 0, 2]])
    assert (topics.transform(counts, inference="cvb0") == topics.transform(counts)).all()


def test_words_that_no_topic_which_stays_has_have_their_own_shares():
    n_topics = 400
    weight, alpha = np.zeros((4, n_topics)), np.full(n_topics, 0.1)
    weight[0, 5] = 1.0
    weight[1, 10:40] = 1.0 / 30  # as likely of 30 topics, of which none becomes large
    weight[2] = 1.0 / n_topics  # of all
    found = infer([200, 1, 0, 0], weight, alpha)[0] * (alpha.sum() + 201)
    assert_allclose(found[5], 200.1, rtol=1e-6)
    assert_allclose(found[10:40], 0.1 + 1.0 / 30, rtol=1e-6)
    assert_allclose(found[40:], 0.1, rtol=1e-6)
    found = infer([200, 0, 1, 0], weight, alpha)[0] * (alpha.sum() + 201)
    assert_allclose(found[5], 201.1, rtol=1e-6)  # the only topic that stays has that word
    assert (infer([200, 1, 0, 9], weight, alpha) == infer([200, 1, 0, 0], weight, alpha)).all()


def test_zeros_that_are_stored_change_nothing():
    topics = many_topics()
    counts, _ = documents(topics, 3)
    stored = sparse.csr_array(counts + 1)
    stored.data -= 1
    assert stored.nnz == counts.size
    found = topics.transform(stored, inference="cvb0")
    assert (found == topics.transform(counts, inference="cvb0")).all()
    assert stored.nnz == counts.size


def test_documents_that_few_topics_cannot_explain_are_left_to_the_mean_field():
    """Here each word has fifty topics, as likely as each other."""
    rng, n_topics = np.random.default_rng(8), 500
    topic_word = rng.permuted(np.tile(np.arange(n_topics) < 50, (n_topics, 1)), axis=1) + 1e-9
    topics = LDATopics(topic_word / topic_word.sum(axis=1, keepdims=True), np.full(n_topics, 0.1))
    counts = rng.multinomial(100, topics.topic_word[:5].mean(axis=0), size=3)
    found = topics.transform(counts, inference="cvb0")
    assert (found == topics.transform(counts)).all()


def perplexities(topic_word, alpha, n_tokens, n_own=2, n_documents=12):
    """Of other tokens of documents with a few topics each, by both inferences."""
    rng, n_topics = np.random.default_rng(11), len(topic_word)
    topics = LDATopics(topic_word / topic_word.sum(axis=1, keepdims=True), np.full(n_topics, alpha))
    proportions = np.zeros((n_documents, n_topics))
    for row in proportions:
        row[rng.choice(n_topics, n_own, replace=False)] = rng.dirichlet(np.ones(n_own))
    p = proportions @ topics.topic_word
    seen, others = (np.array([rng.multinomial(n_tokens, row) for row in p]) for _ in range(2))
    for name in ("variational", "cvb0"):
        found = topics.transform(seen, inference=name) @ topics.topic_word
        yield float(np.exp(-(others * np.log(found)).sum() / others.sum()))


@pytest.mark.parametrize(
    ("n_topics", "eta", "n_tokens"), [(300, 0.2, 500), (500, 0.05, 2000), (500, 0.05, 20_000)]
)
def test_topics_that_share_their_words_are_found(n_topics, eta, n_tokens):
    """Words have far more topics than their lists."""
    rng = np.random.default_rng(12)
    topic_word = rng.dirichlet(np.full(1000, eta), size=n_topics) + 1e-12
    by_mean_field, found = perplexities(topic_word, 0.05, n_tokens, n_own=3)
    assert found < 1.02 * by_mean_field


@pytest.mark.parametrize("n_tokens", [200, 2000])
def test_topics_that_are_as_likely_as_each_other_are_found_whatever_their_order(n_tokens):
    topic_word = (np.random.default_rng(13).random((300, 1000)) < 0.2) + 1e-7
    by_mean_field, found = perplexities(topic_word, 0.05, n_tokens)
    assert found < 1.02 * by_mean_field


def test_priors_beyond_float32_are_left_to_the_mean_field():
    topics = LDATopics([[0.5, 0.5], [0.2, 0.8]], [1e40, 1e40])
    assert_allclose(topics.transform([[3, 1]], inference="cvb0"), 0.5)


def test_topics_of_a_large_prior_stay():
    """A word that all topics have as often goes to one that the prior prefers too."""
    n_topics = 300
    weight = np.full((2, n_topics), [[1.0], [0.0]])
    weight[1, 0] = 1.0
    alpha = np.full(n_topics, 0.01)
    alpha[-1] = 50.0
    counts = np.array([60.0, 60.0])
    found, expected = infer(counts, weight, alpha)[0], plainly(counts, weight, alpha, 300)
    assert found[-1] > 1.1 * 50.0 / alpha.sum() / (1.0 + 120.0 / alpha.sum())
    assert_allclose(found[[0, -1]], expected[[0, -1]], atol=0.02)


def test_short_and_empty_documents_and_very_long_ones():
    topics = many_topics()
    counts = np.zeros((4, topics.n_words))
    counts[1, 3], counts[2, 3] = 1, 0.01
    counts[3] = np.round(topics.topic_word[0] * 1e15)
    found = topics.transform(counts, inference="cvb0")
    assert_allclose(found[0], topics.alpha / topics.alpha.sum())
    own = topics.alpha * topics.topic_word[:, 3]
    assert found[1].argmax() == found[2].argmax() == own.argmax()
    assert found[3, 0] > 0.99
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_proportions_of_a_long_document_are_found():
    rng = np.random.default_rng(9)
    topics = LDATopics(rng.dirichlet(np.full(500, 0.1), size=50), np.full(50, 0.1))
    proportions = rng.dirichlet(np.full(50, 0.2))
    counts = rng.multinomial(20_000, proportions @ topics.topic_word)
    found = topics.transform(counts[None], inference="cvb0")[0]
    assert np.abs(found - proportions).sum() < 0.1


def test_a_long_document_keeps_more_topics():
    topics = many_topics()
    rng = np.random.default_rng(5)
    counts = rng.multinomial(20000, topics.topic_word.mean(axis=0))
    found = topics.transform(counts[None], inference="cvb0", max_iterations=50)[0]
    assert (found > 0.1 / topics.n_topics).sum() > 300


def test_bad_arguments():
    topics = many_topics(3, 5)
    with pytest.raises(ValueError, match="inference must be one of variational, cvb0: 'vb'"):
        topics.transform(np.eye(5), inference="vb")
    with pytest.raises(ValueError, match="5"):
        topics.transform(np.eye(4), inference="cvb0")
