import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact
from evaluation.lda.left_to_right_sequential import (
    LARGEST_GROUP,
    RUN_NUMBERS,
    arrange,
    left_to_right_sequential,
    resample_multinomial,
    run_particles,
    run_with_pilots,
    variance_by_root,
)
from evaluation.lda.particles import new_particles
from models import LDATopics
from models.kernel import read_only
from tests.oracles import lda_likelihood

METHOD = "left-to-right-sequential"


def model_of(seed, n_topics=3, n_words=6, alpha_scale=1.0, sparse_topics=False):
    rng = np.random.default_rng(seed)
    weight = rng.gamma(0.3, 1.0, (n_topics, n_words)) + 1e-6
    if sparse_topics:
        weight *= rng.random(weight.shape) < 0.6
        weight[rng.integers(n_topics, size=n_words), np.arange(n_words)] += 0.1
        weight[np.arange(n_topics), np.arange(n_topics)] += 0.1
    return LDATopics.from_weights(weight, (rng.gamma(1, 1, n_topics) + 0.1) * alpha_scale)


CASES = {
    "short": (model_of(0), [2, 1, 0, 3, 1, 0]),
    "zeros in topics": (model_of(1, sparse_topics=True), [2, 3, 1, 2, 0, 4]),
    "tiny alpha": (model_of(2, alpha_scale=1e-3), [3, 2, 2, 0, 1, 2]),
    "large alpha": (model_of(3, alpha_scale=1e3), [3, 2, 2, 0, 1, 2]),
    "one word many times": (model_of(4), [0, 0, 2 * LARGEST_GROUP + 5, 0, 0, 0]),
    "many times among others": (model_of(5), [7, 0, LARGEST_GROUP + 1, 3, 1, 0]),
    "longer": (model_of(6), [10, 4, 9, 3, 12, 6]),
    "two topics": (model_of(7, n_topics=2), [1, 5, 2, 8, 3, 1]),
}


def ratios(model, document, n_particles, n_seeds, seed=0):
    """p̂ / p of independent runs."""
    counts = sparse.csr_array(np.tile(document, (n_seeds, 1)))
    found = left_to_right_sequential(model, DocumentBlock(counts), n_samples=n_particles, seed=seed)
    return np.exp(found.log_likelihood - exact(model, DocumentBlock(counts[:1])).log_likelihood[0])


def score_of(ratio):
    """How many standard errors the mean is from 1."""
    return (ratio.mean() - 1) / (ratio.std(ddof=1) / np.sqrt(len(ratio)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_particles", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_unbiased_with_few_particles(name, n_particles):
    model, document = CASES[name]
    assert abs(score_of(ratios(model, document, n_particles, 2000))) < 4


@pytest.mark.slow
def test_unbiased_would_notice_sweeps_that_depend_on_the_particles():
    """What a pilot run does, as many samplers do: it decides by its own weights when to sweep."""
    model, document = CASES["tiny alpha"]
    counts = np.array(document)
    words = np.flatnonzero(counts).astype(np.int32)
    groups, lookahead, log_scale = arrange(model.word_topic, words, counts[words], model.alpha)
    truth = exact(model, DocumentBlock(sparse.csr_array([document]))).log_likelihood[0]
    rng = np.random.default_rng(0)

    def score(is_pilot):
        sweeps = np.ones(len(groups.size), dtype=bool)
        sweeps[-1] = False
        runs = [
            run_particles(groups, lookahead[0], model.alpha, 10, sweeps, is_pilot, rng).log_mean
            for _ in range(8000)
        ]
        return score_of(np.exp(np.array(runs) + log_scale - truth))

    assert score(True) > 6
    assert abs(score(False)) < 4


def test_unbiased_would_notice_a_prior_that_is_off_by_a_tenth():
    model, document = CASES["short"]
    other = LDATopics(model.topic_word, model.alpha * 1.1)
    counts = sparse.csr_array(np.tile(document, (3000, 1)))
    found = left_to_right_sequential(other, DocumentBlock(counts), n_samples=10)
    ratio = np.exp(found.log_likelihood - exact(model, DocumentBlock(counts[:1])).log_likelihood[0])
    assert abs(score_of(ratio)) > 8


def test_the_exact_values_here_are_those_of_the_enumeration():
    for model, document in CASES.values():
        if sum(document) < 12:
            found = exact(model, DocumentBlock(sparse.csr_array([document]))).log_likelihood[0]
            expected = lda_likelihood.log_probability_by_enumeration(
                document, model.topic_word, model.alpha
            )
            assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    "name",
    [
        "short",
        pytest.param("longer", marks=pytest.mark.slow),
        "zeros in topics",
        pytest.param("two topics", marks=pytest.mark.slow),
    ],
)
def test_the_variance_it_states_is_its_variance(name):
    """Lee & Whiteley's estimate is unbiased for the variance of p̂, also after drawing anew."""
    model, document = CASES[name]
    counts = sparse.csr_array(np.tile(document, (4000, 1)))
    found = left_to_right_sequential(model, DocumentBlock(counts), n_samples=30)
    ratio = np.exp(found.log_likelihood - exact(model, DocumentBlock(counts[:1])).log_likelihood[0])
    stated, true = ratio**2 * found.standard_error**2, ratio.var(ddof=1)
    # Of a sample variance the standard error is about √((m4 - m2²) / n).
    error = np.sqrt(((ratio - ratio.mean()) ** 4).mean() - true**2) / np.sqrt(len(ratio))
    error = np.hypot(error, stated.std() / np.sqrt(len(stated)))
    # It never says less than the weights at the times of drawing anew do, so a little more.
    assert -4 * error < stated.mean() - true < 4 * error + 0.15 * true


def errors_of(n_pairs, rng, n_words, concentration):
    """Error and standard error of each of `n_pairs` of a model and a document of 14 tokens."""
    for _ in range(n_pairs):
        model = LDATopics(rng.dirichlet(np.full(n_words, concentration), 4), np.full(4, 0.1))
        mixed = rng.dirichlet(np.full(4, 0.1)) @ model.topic_word
        document = DocumentBlock(sparse.csr_array([rng.multinomial(14, mixed)]))
        seed = int(rng.integers(2**31))
        found = left_to_right_sequential(model, document, n_samples=200, seed=seed)
        truth = exact(model, document).log_likelihood[0]
        yield found.log_likelihood[0] - truth, found.standard_error[0]


def test_two_standard_errors_hold_the_truth_as_often_as_they_should():
    error, stated = np.array([*errors_of(600, np.random.default_rng(0), 40, 0.5)]).T
    inside = np.abs(error) < 2 * stated
    assert 0.92 < np.mean(inside) < 0.985  # 600 of them: two standard errors of 0.95 are 0.018


@pytest.mark.parametrize(
    ("n_groups", "copies", "alpha", "length"),
    [
        (1, 20, 0.1, 150),
        pytest.param(1, 50, 0.01, 400, marks=pytest.mark.slow),
        pytest.param(5, 10, 0.1, 150, marks=pytest.mark.slow),
        (5, 10, 0.01, 150),
        (4, 2, 0.1, 60),
    ],
)
def test_copies_of_a_topic_are_one_topic(n_groups, copies, alpha, length):
    """The merged model, with alpha added up, is the same: an oracle for any number of topics.

    The mean field knows the average of the copies or one of them; look-ahead counts by it are off
    by many nats.
    """
    rng = np.random.default_rng(3)
    base = rng.dirichlet(np.full(200, 0.1), n_groups)
    merged = LDATopics(base, np.full(n_groups, alpha * copies))
    split = LDATopics(np.repeat(base, copies, axis=0), np.full(n_groups * copies, alpha))
    counts = sparse.csr_array(rng.multinomial(length, rng.dirichlet(merged.alpha, 10) @ base))
    found = left_to_right_sequential(split, DocumentBlock(counts), n_samples=200, seed=1)
    truth = left_to_right_sequential(merged, DocumentBlock(counts), n_samples=2000, seed=2)
    z = (found.log_likelihood - truth.log_likelihood) / np.hypot(
        np.hypot(found.standard_error, truth.standard_error), 1e-9
    )
    assert np.abs(z).max() < 4.5
    assert np.abs(z.mean()) < 4 / np.sqrt(10)


@pytest.mark.slow
def test_lookahead_counts_are_left_out_where_they_harm():
    rng = np.random.default_rng(0)
    base, words = rng.dirichlet(np.full(60, 0.1), 2), np.arange(60, dtype=np.int32)

    def shares(topic_word, alpha):
        n = np.random.default_rng(1).multinomial(150, [0.5, 0.5] @ base) + 1
        arrangement = arrange(read_only(topic_word.T), words, n, read_only(alpha))
        assert (arrangement.lookahead_counts[:2, 0].sum(axis=1) > 5).all()
        assert (arrangement.lookahead_counts[2] == 0).all()
        rngs = map(np.random.default_rng, range(9))
        taken = [run_with_pilots(arrangement, alpha, 200, rng)[0] for rng in rngs]
        return np.bincount(taken, minlength=3) / len(taken)

    assert shares(np.repeat(base, 20, axis=0), np.full(40, 0.05))[0] == 0.0
    assert shares(base, np.full(2, 0.5))[2] < 0.5


@pytest.mark.parametrize(
    ("n_topics", "alpha", "n"),
    [(1000, 1e-3, 5000), (200, 1e-4, 5000), (200, 1e-6, 2000), (64, 1 / 64, 300)],
)
def test_a_word_that_all_topics_have_thousands_of_times(n_topics, alpha, n):
    """Products of thousands of factors: nothing must underflow. p is that of one topic."""
    model = LDATopics(np.tile([0.3, 0.7], (n_topics, 1)), np.full(n_topics, alpha))
    found = left_to_right_sequential(model, DocumentBlock(sparse.csr_array([[n, 0]])), n_samples=50)
    assert found.log_likelihood[0] == pytest.approx(n * np.log(0.3), abs=1e-6)


@pytest.mark.parametrize("alpha", [1e8, 1e12])
def test_a_huge_alpha_leaves_the_mean_of_the_topics(alpha):
    model = model_of(2)
    topics = LDATopics(model.topic_word, np.full(3, alpha))
    document = np.array([40, 30, 0, 20, 33, 8])
    found = left_to_right_sequential(topics, DocumentBlock(sparse.csr_array([document])))
    expected = document @ np.log(model.topic_word.mean(axis=0))
    assert found.log_likelihood[0] == pytest.approx(expected, abs=2e-5 if alpha == 1e8 else 1e-7)


def test_roots_of_what_is_drawn_anew_give_the_variance():
    n = 6
    for seed in range(20):
        rng, particles = np.random.default_rng(seed), new_particles(n, 3, 1)
        for r in range(n):
            particles.topic_of[r, 0] = particles.topic[r, 0] = r % 3
            particles.tally[r, 0], particles.place[r, r % 3], particles.n_listed[r] = 1.0, 0, 1
        root, weight = np.array([0, 1, 2, 3, 4, 5]), np.array([0.0, 3.0, 0.0, 2.0, 1.0, 0.0])
        resample_multinomial(weight, particles, root, rng)
        assert (weight == 1.0).all()
        assert set(root) <= {1, 3, 4}
        assert (particles.topic_of[:, 0] == root % 3).all()
        assert (particles.topic[:, 0] == root % 3).all()
        assert (particles.place.argmax(axis=1) == root % 3).all()
    weight, root = np.random.default_rng(0).gamma(1.0, 1.0, 8), np.array([0, 0, 2, 2, 2, 5, 6, 7])
    share = weight / weight.mean() / 8
    pairs = sum(share[i] * share[j] for i in range(8) for j in range(8) if root[i] != root[j])
    for n_resampled in (0, 3):
        expected = 1 - (8 / 7) ** (n_resampled + 1) * pairs
        found = variance_by_root(weight / weight.mean(), root, n_resampled)
        assert found == pytest.approx(expected, rel=1e-12)


def test_one_topic_and_one_token_are_exact():
    model, document = model_of(0, n_topics=1), sparse.csr_array([[3, 0, 50, 1, 2, 0]])
    found = left_to_right_sequential(model, DocumentBlock(document))
    assert_allclose(found.log_likelihood, document @ np.log(model.topic_word[0]), rtol=1e-12)
    assert_allclose(found.standard_error, 0.0, atol=1e-7)
    model = model_of(1)
    tokens = DocumentBlock(sparse.csr_array(np.eye(6, dtype=np.int64)))
    found = left_to_right_sequential(model, tokens)
    expected = np.log(model.alpha / model.alpha.sum() @ model.topic_word)
    assert_allclose(found.log_likelihood, expected, rtol=1e-12)
    assert_allclose(found.standard_error, 0.0, atol=1e-7)
    model, document = CASES["longer"]
    counts = sparse.csr_array([document])
    found = left_to_right_sequential(model, DocumentBlock(counts), n_samples=1)
    assert np.isfinite(found.log_likelihood).all()
    assert np.isnan(found.standard_error).all()


@pytest.mark.slow
def test_more_particles_are_surer():
    model, document = CASES["longer"]
    few, many = (ratios(model, document, n, 300).std() for n in (20, 320))
    assert few / many == pytest.approx(4.0, rel=0.3)


def test_what_it_reports_of_many_particles_and_topics():
    rng, weight = np.random.default_rng(0), np.zeros((2000, 300))
    weight[:3, :6] = rng.gamma(0.3, 1.0, (3, 6)) + 1e-6
    weight[3:, 6:] = rng.random((1997, 294))
    weight[:3, 6:] = 0.1
    model, document = LDATopics.from_weights(weight, 0.05), np.zeros(300, dtype=int)
    document[:4] = [2, 1, 3, 2]
    counts, n = sparse.csr_array([document]), 2 * RUN_NUMBERS // 2000
    found = left_to_right_sequential(model, DocumentBlock(counts), n_samples=n)
    truth = exact(model, DocumentBlock(counts)).log_likelihood[0]
    assert abs(found.log_likelihood[0] - truth) < 4 * found.standard_error[0]
    assert found.standard_error[0] < 0.05
    assert found.n_samples[0] == n
    counts = sparse.csr_array([[2, 1, 0, 3, 1, 0], [0, 0, 0, 0, 0, 0]])
    found = left_to_right_sequential(model_of(0), DocumentBlock(counts), n_samples=50)
    assert (found.direction, found.convention, found.method) == ("unbiased", "sequence", METHOD)
    assert found.n_samples.tolist() == [50, 0]
    assert 1 <= found.effective_sample_size[0] <= 50
    assert np.isnan(found.effective_sample_size[1])
    assert log_likelihood(model_of(0), counts, METHOD, random_state=0).n_samples[0] == 100


def test_a_long_document():
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.full(3000, 0.05), 2), [0.5, 0.5])
    counts = sparse.csr_array([rng.multinomial(3000, [0.3, 0.7] @ model.topic_word)])
    found = left_to_right_sequential(model, DocumentBlock(counts), n_samples=300)
    truth = exact(model, DocumentBlock(counts)).log_likelihood[0]
    assert abs(found.log_likelihood[0] - truth) < 4 * found.standard_error[0]


def test_lookahead_counts_go_as_words_come():
    model = model_of(3, n_topics=4)
    words, n = np.arange(6, dtype=np.int32), np.array([40, 3, 1, 70, 5, 2])
    groups, lookahead, log_scale = arrange(model.word_topic, words, n, model.alpha)
    assert groups.size.sum() == n.sum()
    assert groups.size.max() <= LARGEST_GROUP
    assert (np.diff(lookahead, axis=1) <= 0).all()
    assert (lookahead[:, -1] == 0).all()
    assert (lookahead[2] == 0).all()
    assert (lookahead[:2, 0].sum(axis=1) > 0).all()
    assert (lookahead[:, 0].sum(axis=1) <= n.sum()).all()
    assert log_scale == pytest.approx(n @ np.log(model.topic_word.max(axis=0)))
    assert (groups.weight.max(axis=1) == 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.2, 0.5, 1.0, 3.0])
def test_table_1_of_buntine_2009(gamma):
    """1,000 pairs: no bias that shows, and the standard errors cover the truth."""
    errors, stated = np.array([*errors_of(1000, np.random.default_rng(1), 1000, gamma)]).T
    assert abs(np.mean(errors) / (np.std(errors, ddof=1) / np.sqrt(1000))) < 2.58
    assert 0.93 <= np.mean(np.abs(errors) < 2 * stated) <= 0.97


INTERRUPTED = """
import signal, threading, time
import numpy as np
from scipy import sparse
from evaluation import log_likelihood
from models import LDATopics

class Interrupted(KeyboardInterrupt):
    pass

def interrupt(*_):
    raise Interrupted

signal.signal(signal.SIGTERM, interrupt)
model = LDATopics(np.random.default_rng(0).dirichlet(np.ones(30), 8), np.full(8, 0.3))
counts = sparse.csr_array(np.full((1, 30), 3))
main = threading.main_thread().ident
for _ in range(3):
    log_likelihood(model, counts, "left-to-right-sequential", n_samples=10, random_state=0)
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGTERM)).start()
    try:
        log_likelihood(model, counts, "left-to-right-sequential", n_samples=10_000, random_state=0)
        time.sleep(1)
    except (Interrupted, SystemError):
        print("caught", flush=True)
"""


def test_interrupted_in_its_kernel_on_the_main_thread():
    """What a kernel returns is made into an object while the interrupt is pending."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["caught"] * 3), done.stderr
