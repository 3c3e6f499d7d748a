import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact as lda_exact
from evaluation.poisson_mrf.annealed import annealed
from evaluation.poisson_mrf.exact_likelihood import exact
from models import LDATopics
from models.poisson_mrf import assignment_kernel as kernels
from tests.evaluation.poisson_mrf.test_exact_likelihood import without_edges
from tests.models.poisson_mrf.test_assignment_kernel import document_of, model_of, state_of
from tests.oracles import poisson_mrf_topics as oracle

SIGNS = {"mixed": (-1.0, 1.0), "positive": (0.2, 1.0), "negative": (-1.0, -0.2)}
CASES = {
    name: oracle.random_model(np.random.default_rng(0), scale=0.5, low=low, high=high)
    for name, (low, high) in SIGNS.items()
}
CASES["without table"] = {**CASES["mixed"], "table": np.zeros((3, 9))}
CASES["without weights"] = {**CASES["positive"], "half_length": np.full(3, np.inf)}
CASES["without edges"] = {**CASES["mixed"], "phi": np.zeros((3, 5, 5))}
CASES["small alpha"] = {**CASES["mixed"], "alpha": np.array([1e-3, 1e-2, 1e-3])}
CASES["large alpha"] = {**CASES["negative"], "alpha": np.full(3, 1e3)}
DOCUMENT = (2, 1, 0, 1, 1)
TOKENS = [0, 0, 1, 3, 4]


@cache
def truth_of(name):
    return oracle.log_probability_by_enumeration(TOKENS, CASES[name])


def standard_error_of(ratios):
    return ratios.std(ddof=1) / math.sqrt(len(ratios))


def t_of_one(ratios):
    return (ratios.mean() - 1) / standard_error_of(ratios)


def ratios_of(plain, truth, **settings):
    """p over what it is by `truth`, as it is found in 2,000 independent runs."""
    counts = sparse.csr_array(np.tile(DOCUMENT, (2000, 1)))
    found = annealed(model_of(plain), DocumentBlock(counts), n_temperatures=12, seed=1, **settings)
    return np.exp(found.log_likelihood - truth)


QUICK = {"mixed"}


def case(name, n_samples):
    return pytest.param(name, n_samples, marks=[] if name in QUICK else pytest.mark.slow)


# Each is beyond 4 standard errors once in 16,000 times, any of the nine once in 1,800. Standard
# errors that are large would let anything pass.
@pytest.mark.parametrize(
    ("name", "n_samples"), [*(case(name, 1) for name in CASES), case("mixed", 3)]
)
def test_unbiased(name, n_samples):
    ratios = ratios_of(CASES[name], truth_of(name), n_samples=n_samples)
    assert standard_error_of(ratios) < 0.05
    assert abs(t_of_one(ratios)) < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"phi": CASES["mixed"]["phi"] / 2},
        pytest.param({"table": np.zeros((3, 9))}, marks=pytest.mark.slow),
        pytest.param({"half_length": np.full(3, np.inf)}, marks=pytest.mark.slow),
    ],
)
def test_another_model_would_be_noticed(wrong):
    assert abs(t_of_one(ratios_of({**CASES["mixed"], **wrong}, truth_of("mixed"), n_samples=1))) > 6


def ratios_by_hand(shift, first):
    """exp(estimate - log p) of chains whose sweeps are `shift` temperatures too hot, and whose
    weights begin with the ratio of the temperature `first`.
    """
    plain, rng = CASES["positive"], np.random.default_rng(1)
    model, temperatures = model_of(plain), np.linspace(0, 1, 5)
    document, alpha_sum = document_of(model, TOKENS), plain["alpha"].sum()
    constant = np.log(plain["alpha"] @ plain["topic_word"][:, TOKENS]).sum()
    constant -= np.log(alpha_sum + np.arange(len(TOKENS))).sum()
    log_weight = np.zeros(2500)
    for chain in range(len(log_weight)):
        state = state_of(document, [-1] * len(TOKENS))
        for s in range(4):
            kernels.sweep(document, state, temperatures[s if s == 0 else s + shift], rng)
            if s >= first:
                t = temperatures[s : s + 2]
                log_weight[chain] += kernels.log_ratio(document, state, t[0], t[1])
    return np.exp(log_weight + constant - truth_of("positive"))


@pytest.mark.slow
def test_chains_by_hand_and_what_would_be_wrong_with_them():
    right = ratios_by_hand(0, 0)
    assert standard_error_of(right) < 0.05
    assert abs(t_of_one(right)) < 4
    assert abs(t_of_one(ratios_by_hand(1, 0))) > 6  # swept at the next temperature
    assert abs(t_of_one(ratios_by_hand(0, 1))) > 6  # without the first ratio


@pytest.mark.slow
def test_the_standard_error_is_the_spread():
    counts = sparse.csr_array(np.tile(DOCUMENT, (800, 1)))
    found = annealed(
        model_of(CASES["mixed"]), DocumentBlock(counts), n_samples=40, n_temperatures=5
    )
    spread = found.log_likelihood.std()
    # The spread of 800 is known to 1 / √1600 of it.
    assert np.sqrt((found.standard_error**2).mean()) == pytest.approx(spread, rel=0.1)


@pytest.mark.slow
def test_without_edges_it_is_lda():
    rng = np.random.default_rng(2)
    topic_word = rng.dirichlet(np.full(30, 0.3), 3) + 1e-12
    topic_word /= topic_word.sum(axis=1, keepdims=True)
    lda = LDATopics(topic_word, [0.1, 0.3, 0.2])
    counts = sparse.csr_array(rng.multinomial(40, lda.topic_word.mean(axis=0), 30))
    model = without_edges(lda.topic_word, lda.alpha)
    found = annealed(model, DocumentBlock(counts), n_samples=60, n_temperatures=60, seed=3)
    truth = lda_exact(lda, DocumentBlock(counts))
    assert found.monte_carlo_standard_error < 1  # of a sum of 30
    assert abs(found.total - truth.total) < 4 * found.monte_carlo_standard_error
    assert np.median(found.effective_sample_size) > 10


def test_longer_documents_of_two_topics():
    sizes = {"n_topics": 2, "n_words": 12, "longest": 30}
    plain = oracle.random_model(np.random.default_rng(4), scale=0.3, density=0.1, **sizes)
    model = model_of(plain)
    counts = sparse.csr_array(np.random.default_rng(5).multinomial(20, np.full(12, 1 / 12), 20))
    truth = exact(model, DocumentBlock(counts))
    found = annealed(model, DocumentBlock(counts), n_samples=60, n_temperatures=60, seed=6)
    assert found.monte_carlo_standard_error < 1
    assert abs(found.total - truth.total) < 4 * found.monte_carlo_standard_error


def test_one_topic_and_one_token_leave_nothing_to_chance():
    one = model_of(oracle.random_model(np.random.default_rng(7), n_topics=1, longest=40))
    counts = sparse.csr_array([[10, 2, 7, 0, 1], [0, 1, 0, 0, 0]])
    found = annealed(one, DocumentBlock(counts), n_temperatures=9)
    truth = exact(one, DocumentBlock(counts)).log_likelihood
    assert_allclose(found.log_likelihood, truth, rtol=1e-12)
    assert_allclose(found.standard_error, 0, atol=1e-12)
    plain = {**CASES["mixed"], "table": np.zeros((3, 2))}  # Ã_1 = 0
    tokens = DocumentBlock(sparse.csr_array(np.eye(5, dtype=int)))
    token = annealed(model_of(plain), tokens, n_temperatures=2)
    mean = plain["alpha"] @ plain["topic_word"] / plain["alpha"].sum()
    assert_allclose(token.log_likelihood, np.log(mean), rtol=1e-12)


def test_what_is_told_of_documents():
    counts = sparse.csr_array(np.array([[0, 0, 0, 0, 0], [1, 0, 2, 0, 20]]))  # beyond the table
    found = annealed(model_of(CASES["mixed"]), DocumentBlock(counts), n_samples=7)
    assert (found.method, found.direction) == ("annealed-importance-sampling", "unbiased")
    assert found.convention == "sequence"
    assert found.log_likelihood[0] == found.standard_error[0] == 0
    assert found.log_likelihood[1] < 0 < found.standard_error[1]
    assert np.isnan(found.effective_sample_size[0])
    assert 1 <= found.effective_sample_size[1] <= 7
    assert found.n_samples.tolist() == [0, 7]
    nothing = annealed(model_of(CASES["mixed"]), DocumentBlock(sparse.csr_array((0, 5), dtype=int)))
    assert nothing.n_tokens.shape == (0,)


@pytest.mark.parametrize(("value", "error"), [(1, ValueError), (2.0, TypeError), (True, TypeError)])
def test_bad_temperatures(value, error):
    documents = DocumentBlock(sparse.csr_array([DOCUMENT]))
    with pytest.raises(error, match="n_temperatures"):
        annealed(model_of(CASES["mixed"]), documents, n_temperatures=value)
