import itertools
import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.special import gammaln

from models.gibbs import tokens as gibbs_tokens
from models.gibbs.dense import Priors, count_doc_topics, padded, resample_dense
from models.gibbs.sparse import resample_sparse
from models.gibbs.start import DocumentTopics, draw_topics, random_start
from models.gibbs.state import SAMPLERS, GibbsLDAState
from models.gibbs.sweep import GibbsSweeps
from models.gibbs.tokens import count_word_topics, tokens_of
from models.gibbs.topic_lists import empty_lists, list_doc_topics, sort_lists, topics_of_words
from models.lanes import LANES
from tests.oracles.simulated import block_topics, simulated_documents

TINY = [
    # counts, alpha, eta
    ([[2, 1, 0], [0, 1, 2]], [0.4, 0.9], [0.3, 0.7, 0.2]),
    pytest.param([[1, 1, 1], [0, 0, 2]], [0.3, 1.1, 0.2], [0.5, 0.5, 0.5], marks=pytest.mark.slow),
    pytest.param([[3, 0], [1, 2], [0, 1]], [0.2, 0.3], [0.1, 2.0], marks=pytest.mark.slow),
]


KERNELS = {"dense": resample_dense, "sparse": resample_sparse}


def counts_of(rows):
    return sparse.csr_array(np.array(rows, dtype=np.int32))


def priors_of(alpha, eta, weight=None):
    weight = np.ones(len(alpha)) if weight is None else np.array(weight)
    wide = np.zeros(padded(len(alpha), LANES), dtype=np.float32)
    wide[: len(alpha)] = alpha
    weight, counted = weight.astype(np.float32), np.ones(len(eta), dtype=np.int32)
    return Priors(wide, np.array(eta, dtype=np.float32), float(np.sum(eta)), weight, counted)


def doc_counts(kind, tokens, topic_of, n_docs, n_topics):
    n_tokens = len(tokens.doc_of)
    if kind == "dense":
        n_dk = np.zeros((n_docs, padded(n_topics, LANES)), dtype=np.int32)
        count_doc_topics(tokens, 0, n_tokens, topic_of, n_dk)
        return n_dk
    listed = empty_lists(np.bincount(tokens.doc_of, minlength=n_docs), n_topics)
    list_doc_topics(tokens, 0, n_tokens, topic_of, listed)
    return listed


def word_counts(kind, tokens, topic_of, frozen, n_topics):
    """Counts of words as a kernel takes them, and those of topics."""
    n_wk = np.zeros((len(frozen), n_topics), dtype=np.int32)
    count_word_topics(tokens, 0, len(tokens.word_of_run), topic_of, frozen, n_wk)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    if kind == "sparse":
        return topics_of_words(tokens, topic_of, frozen, n_wk[:0], n_topics), n_k
    return n_wk, n_k


def log_joint(doc_of, word_of, topic_of, alpha, eta):
    """log p(w, z | alpha, eta) up to a constant (Griffiths & Steyvers 2004, eq. 2 and 3)."""
    n_dk = np.zeros((max(doc_of) + 1, len(alpha)), dtype=int)
    n_kw = np.zeros((len(alpha), len(eta)), dtype=int)
    for d, w, k in zip(doc_of, word_of, topic_of, strict=True):
        n_dk[d, k] += 1
        n_kw[k, w] += 1
    total = 0.0
    for counts, prior in ((n_dk, alpha), (n_kw, eta)):
        for row in counts:
            total += sum(math.lgamma(n + a) for n, a in zip(row, prior, strict=True))
            total -= math.lgamma(row.sum() + sum(prior))
    return total


def assignment_posterior(doc_of, word_of, alpha, eta):
    """p(z | w) of all K^N assignments, the first token's topic the most significant digit."""
    every = itertools.product(range(len(alpha)), repeat=len(doc_of))
    log = np.array([log_joint(doc_of, word_of, topic_of, alpha, eta) for topic_of in every])
    p = np.exp(log - log.max())
    return p / p.sum()


@numba.njit
def visits_of_a_chain(resample, tokens, topic_of, of_words, n_k, of_docs, priors, uniforms):
    """How often each assignment was seen after a sweep; `uniforms` is (n_sweeps, n_tokens)."""
    n_topics = n_k.shape[0]
    visits = np.zeros(n_topics ** topic_of.shape[0], dtype=np.int64)
    for sweep in range(uniforms.shape[0]):
        for cell in range(tokens.cell_start.shape[0] - 1):
            first, last = tokens.cell_start[cell], tokens.cell_start[cell + 1]
            if first == last:
                continue
            start, stop = tokens.run_start[first], tokens.run_start[last]
            numbers = uniforms[sweep, start:stop]
            resample(tokens, first, last, topic_of, of_words, n_k, of_docs, priors, numbers)
        code = 0
        for t in range(topic_of.shape[0]):
            code = code * n_topics + topic_of[t]
        visits[code] += 1
    return visits


def visited_share(kind, counts, alpha, eta, n_sweeps, seed, resample=None):
    tokens, n_topics = tokens_of(counts), len(alpha)
    rng = np.random.default_rng(seed)
    topic_of = random_start(len(tokens.doc_of), n_topics, rng)
    none = np.zeros(counts.shape[1], dtype=bool)
    of_words, n_k = word_counts(kind, tokens, topic_of, none, n_topics)
    of_docs = doc_counts(kind, tokens, topic_of, counts.shape[0], n_topics)
    uniforms = rng.random((n_sweeps, len(tokens.doc_of)), dtype=np.float32)
    tallies, priors = (topic_of, of_words, n_k, of_docs), priors_of(alpha, eta)
    visits = visits_of_a_chain(resample or KERNELS[kind], tokens, *tallies, priors, uniforms)
    return tokens, visits / n_sweeps


def total_variation(p, q):
    return 0.5 * np.abs(p - q).sum()


@pytest.mark.parametrize("kind", [pytest.param("dense", marks=pytest.mark.slow), "sparse"])
@pytest.mark.parametrize(("rows", "alpha", "eta"), TINY)
def test_exact_samplers_have_the_enumerated_distribution(kind, rows, alpha, eta):
    tokens, share = visited_share(kind, counts_of(rows), alpha, eta, 500_000, seed=3)
    truth = assignment_posterior(tokens.doc_of, tokens.word_of, alpha, eta)
    assert total_variation(share, truth) < 0.01


@numba.njit
def resample_plainly(tokens, first, last, topic_of, n_wk, n_k, n_dk, priors, uniforms, left_out):
    """The obvious sampler; `left_out` of a token's own count is taken out: 1 is right, 0 wrong."""
    n_topics = n_k.shape[0]
    for run in range(first, last):
        w = tokens.word_of_run[run]
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            d, old = tokens.doc_of[t], int(topic_of[t])
            cumulative = np.zeros(n_topics)
            for k in range(n_topics):
                own = left_out if k == old else 0
                of_doc = n_dk[d, k] - own + priors.alpha[k]
                of_word = n_wk[w, k] - own + priors.eta[w]
                cumulative[k] = of_doc * of_word / (n_k[k] - own + priors.eta_sum)
                if k > 0:
                    cumulative[k] += cumulative[k - 1]
            x, new = uniforms[t - tokens.run_start[first]] * cumulative[-1], 0
            while x >= cumulative[new]:
                new += 1
            topic_of[t] = new
            for k in range(n_topics):
                change = (k == new) - (k == old)
                n_dk[d, k] += change
                n_wk[w, k] += change
                n_k[k] += change


@numba.njit
def resample_rightly(tokens, first, last, topic_of, n_wk, n_k, n_dk, priors, uniforms):
    resample_plainly(tokens, first, last, topic_of, n_wk, n_k, n_dk, priors, uniforms, 1)


@numba.njit
def resample_wrongly(tokens, first, last, topic_of, n_wk, n_k, n_dk, priors, uniforms):
    resample_plainly(tokens, first, last, topic_of, n_wk, n_k, n_dk, priors, uniforms, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "alpha", "eta"), TINY)
def test_the_same_test_passes_a_plain_sampler_and_fails_a_wrong_one(rows, alpha, eta):
    counts = counts_of(rows)
    for resample, is_right in ((resample_rightly, True), (resample_wrongly, False)):
        tokens, share = visited_share("dense", counts, alpha, eta, 1_000_000, 3, resample)
        truth = assignment_posterior(tokens.doc_of, tokens.word_of, alpha, eta)
        assert (total_variation(share, truth) < 0.01) == is_right


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_enumeration_notices_another_prior(kind):
    rows, alpha, eta = TINY[0]
    tokens, share = visited_share(kind, counts_of(rows), alpha, eta, 1_000_000, seed=1)
    other = assignment_posterior(tokens.doc_of, tokens.word_of, np.array(alpha) * 1.1, eta)
    assert total_variation(share, other) > 0.01


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_topics", [1, 3, 17, 70])
def test_kernels_do_what_their_python_does(kind, n_topics):
    rng = np.random.default_rng(n_topics)
    tokens = tokens_of(sparse.csr_array(rng.poisson(0.9, size=(7, 9)).astype(np.int32)))
    alpha, eta = rng.uniform(0.1, 1, n_topics), rng.uniform(0.1, 1, 9)
    started = random_start(len(tokens.doc_of), n_topics, rng)
    uniforms = rng.random(len(started), dtype=np.float32)
    kernel, results = KERNELS[kind], []
    for function in (kernel, getattr(kernel, "py_func", kernel)):
        topic_of = started.copy()
        of_words, n_k = word_counts(kind, tokens, topic_of, np.zeros(9, dtype=bool), n_topics)
        of_docs = doc_counts(kind, tokens, topic_of, 7, n_topics)
        priors, runs = priors_of(alpha, eta), (0, len(tokens.word_of_run))
        function(tokens, *runs, topic_of, of_words, n_k, of_docs, priors, uniforms)
        results.append((topic_of, n_k))
    for compiled, plain in zip(*results, strict=True):
        assert_array_equal(compiled, plain)
    assert n_topics == 1 or (results[0][0] != started).any()


def copied(tally):
    """An array, or a named tuple of arrays."""
    return tally.copy() if isinstance(tally, np.ndarray) else tally._make(map(np.copy, tally))


GRID = (np.arange(4000, dtype=np.float32) + 0.5) / 4000
"""Uniform numbers that divide [0, 1) evenly: what they draw shows a whole distribution."""


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("n_others", [0, 5, 60])
@pytest.mark.parametrize("n_topics", [17, 65, 130, 300])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_token_has_its_conditional_distribution(kind, n_topics, n_others, frozen):
    """Of a word that occurs once in its cell; with more topics than a block of lanes, or of sums,
    holds."""
    rng = np.random.default_rng(n_topics)
    counts = rng.poisson(6.0, size=(4, 30)).astype(np.int32)
    counts[:, 0] = 1, 0, 0, n_others
    tokens = tokens_of(sparse.csr_array(counts))
    run = np.flatnonzero(tokens.word_of_run == 0)[0]
    assert tokens.run_start[run + 1] - tokens.run_start[run] == 1
    token = tokens.run_start[run]
    alpha, eta = rng.uniform(0.02, 2, n_topics), rng.uniform(0.1, 1, 30)
    started, fixed = random_start(len(tokens.doc_of), n_topics, rng), np.zeros(30, dtype=bool)
    fixed[0] = frozen
    weight = rng.uniform(0.1, 2, n_topics)
    priors = priors_of(alpha, eta, weight)
    priors.counted[0] = not frozen
    drawn = np.zeros(n_topics)
    tallies = (
        *word_counts(kind, tokens, started, fixed, n_topics),
        doc_counts(kind, tokens, started, 4, n_topics),
    )
    for i in range(len(GRID)):
        topic_of, of_words, n_k, of_docs = started.copy(), *map(copied, tallies)
        arguments = (topic_of, of_words, n_k, of_docs, priors)
        KERNELS[kind](tokens, run, run + 1, *arguments, GRID[i : i + 1])
        drawn[topic_of[token]] += 1
    others = np.ones(len(started), dtype=bool)
    others[token] = False
    n_k = np.bincount(started[(others & ~fixed[tokens.word_of])], minlength=n_topics)
    n_dk = np.bincount(started[others & (tokens.doc_of == 0)], minlength=n_topics)
    counted = others & ~fixed[tokens.word_of]
    n_wk = np.bincount(started[counted & (tokens.word_of == 0)], minlength=n_topics)
    p = weight * (n_dk + alpha) * (n_wk + eta[0]) / (n_k + eta.sum())
    assert np.abs(drawn - len(GRID) * p / p.sum()).max() < 3.1  # a topic may have three intervals


def all_topics(doc_topic):
    """Lists of all topics of each document."""
    n_docs, n_topics = doc_topic.shape
    topic = np.tile(np.arange(n_topics, dtype=np.uint16), n_docs)
    return DocumentTopics(np.arange(n_docs + 1) * n_topics, topic, doc_topic.ravel())


@pytest.mark.parametrize("n_topics", [3, 17, 300])
def test_first_topics_are_drawn_from_the_product(n_topics):
    rng, tokens = np.random.default_rng(n_topics), tokens_of(counts_of([[len(GRID)]]))
    doc_topic, word_topic = (
        rng.dirichlet(np.full(n_topics, 0.3), 1).astype(np.float32) for _ in range(2)
    )
    topic_of = np.empty(len(GRID), dtype=np.uint16)
    lists = all_topics(doc_topic)
    draw_topics(tokens, 0, len(tokens.word_of_run), 0, lists, word_topic, GRID, topic_of)
    drawn, p = np.bincount(topic_of, minlength=n_topics), (doc_topic * word_topic)[0].astype(float)
    assert np.abs(drawn - len(GRID) * p / p.sum()).max() < 1.1


def test_drawn_topics_have_their_probabilities():
    tokens = tokens_of(counts_of([[60_000, 0], [0, 60_000]]))
    doc_topic = np.array([[1, 2, 3], [3, 3, 4]], dtype=np.float32)
    word_topic = np.array([[3, 2, 1], [0, 1, 1]], dtype=np.float32)
    uniforms = np.random.default_rng(0).random(120_000, dtype=np.float32)
    topic_of = np.empty(120_000, dtype=np.uint16)
    lists = all_topics(doc_topic)
    draw_topics(tokens, 0, len(tokens.word_of_run), 0, lists, word_topic, uniforms, topic_of)
    for d in range(2):
        p = doc_topic[d] * word_topic[d]
        share = np.bincount(topic_of[tokens.doc_of == d], minlength=3) / 60_000
        assert np.abs(share - p / p.sum()).max() < 5 * np.sqrt(0.25 / 60_000)


@settings(deadline=None, max_examples=50)
@given(
    counts=hnp.arrays(
        np.int32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 4)
    ),
    tokens_a_cell=st.integers(1, 40),
)
def test_the_grid_holds_every_token_once_and_cells_of_a_phase_share_nothing(counts, tokens_a_cell):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs_tokens, "TOKENS_A_CELL", tokens_a_cell)
        tokens = tokens_of(sparse.csr_array(counts))
    found = np.zeros_like(counts)
    np.add.at(found, (tokens.doc_of, tokens.word_of), 1)
    assert_array_equal(found, counts)
    n_blocks = tokens.n_blocks
    assert tokens.cell_start[-1] == len(tokens.word_of_run)
    for phase in range(n_blocks):
        docs, words = [], []
        for block in range(n_blocks):
            first, last = tokens.runs(block, (block + phase) % n_blocks)
            words += list(set(tokens.word_of_run[first:last].tolist()))
            within = tokens.doc_of[tokens.run_start[first] : tokens.run_start[last]]
            docs += list(set(within.tolist()))
        assert len(docs) == len(set(docs))
        assert len(words) == len(set(words))


def started_state(counts, n_topics, alpha=0.1, eta=0.1, seed=0):
    tokens = tokens_of(counts)
    state = GibbsLDAState(
        topic_of=random_start(len(tokens.doc_of), n_topics, np.random.default_rng(seed)),
        n_wk_before=np.zeros((0, n_topics), dtype=np.int32),
        topic_word_sum=np.zeros((0, n_topics), dtype=np.float32),
        n_samples=0,
        alpha=np.full(n_topics, alpha),
        eta=np.full(counts.shape[1], eta),
        frozen=np.zeros(counts.shape[1], dtype=bool),
        n_sweeps=0,
        n_documents=0,
        n_batches=0,
        seed=seed,
    )
    return tokens, state


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("n_topics", [2, 16, 90])
def test_counts_are_those_of_the_assignment_after_every_sweep(sampler, n_topics, monkeypatch):
    monkeypatch.setattr(gibbs_tokens, "TOKENS_A_CELL", 20)
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.7, size=(40, 30)).astype(np.int32))
    tokens, state = started_state(counts, n_topics)
    assert tokens.n_blocks > 2
    sweeps = GibbsSweeps(tokens, state, 40, sampler, 2)
    for _ in range(5):
        sweeps.sweep()
        n_wk, n_dk = np.zeros_like(sweeps.n_wk), np.zeros((40, n_topics), dtype=np.int32)
        np.add.at(n_wk, (tokens.word_of, state.topic_of), 1)
        np.add.at(n_dk, (tokens.doc_of, state.topic_of), 1)
        assert_array_equal(sweeps.n_wk, n_wk)
        assert_array_equal(sweeps.n_k, n_wk.sum(axis=0))
        above = sweeps.doc_topic_exceedances()
        for k in range(n_topics):
            expected = [np.count_nonzero(n_dk[:, k] > i) for i in range(n_dk[:, k].max())]
            assert_array_equal(above.above[above.start[k] : above.start[k + 1]], expected)
        if sampler.endswith("dense"):
            assert_array_equal(sweeps._n_dk[:, :n_topics], n_dk)
            assert not sweeps._n_dk[:, n_topics:].any()
        else:
            listed, of_docs = np.zeros_like(n_dk), sweeps._doc_topics
            for d in range(40):
                places = slice(of_docs.start[d], of_docs.start[d] + of_docs.n_distinct[d])
                assert (of_docs.n_tokens[places] > 0).all()
                np.add.at(listed[d], of_docs.topic[places], of_docs.n_tokens[places])
            assert_array_equal(listed, n_dk)


def test_sorting_puts_frequent_topics_first_whatever_the_order_before():
    tokens = tokens_of(counts_of([[9, 9, 9, 9]]))
    topic_of, results = np.random.default_rng(0).integers(0, 6, 36).astype(np.uint16), []
    for order in (topic_of, topic_of[::-1]):
        listed = empty_lists(np.array([36]), 65_535)
        list_doc_topics(tokens, 0, 36, np.ascontiguousarray(order), listed)
        sort_lists(listed, 0, 1)
        results.append(listed)
    n = results[0].n_distinct[0]
    assert (np.diff(results[0].n_tokens[:n]) <= 0).all()
    assert_array_equal(results[0].topic[:n], results[1].topic[:n])
    assert_array_equal(results[0].n_tokens[:n], np.bincount(topic_of)[results[0].topic[:n]])


def log_joint_of(tokens, state, alpha):
    """As `log_joint`, by counts, up to a constant."""
    n_dk = np.zeros((tokens.doc_of.max() + 1, len(alpha)))
    n_wk = np.zeros((len(state.eta), len(alpha)))
    np.add.at(n_dk, (tokens.doc_of, state.topic_of), 1)
    np.add.at(n_wk, (tokens.word_of, state.topic_of), 1)
    of_words = gammaln(n_wk + state.eta[:, None]).sum()
    of_words -= gammaln(n_wk.sum(axis=0) + state.eta.sum()).sum()
    return gammaln(n_dk + alpha).sum() + of_words


def mean_log_joint(counts, sampler, alpha, sampled_alpha):
    """Mean over 300 sweeps of a sampler with `sampled_alpha`, and its standard error by batches."""
    tokens, state = started_state(counts, 5, alpha=sampled_alpha, seed=1)
    sweeps, values = GibbsSweeps(tokens, state, counts.shape[0], sampler, 1), []
    for _ in range(400):
        sweeps.sweep()
        values.append(log_joint_of(tokens, state, np.full(5, alpha)))
    batches = np.reshape(values[100:], (10, 30)).mean(axis=1)
    return batches.mean(), batches.std(ddof=1) / np.sqrt(10)


@pytest.mark.slow
def test_parallel_samplers_come_to_the_same_joint_probability(monkeypatch):
    """They are approximations; a sampler of three times the alpha is told apart."""
    monkeypatch.setattr(gibbs_tokens, "TOKENS_A_CELL", 200)
    counts, _ = simulated_documents(block_topics(5, 8), 0.2, 120, 60, np.random.default_rng(0))
    exact, error = mean_log_joint(counts, "exact-dense", 0.1, 0.1)
    for sampler, sampled_alpha in (*((each, 0.1) for each in SAMPLERS), ("exact-sparse", 0.3)):
        mean, its_error = mean_log_joint(counts, sampler, 0.1, sampled_alpha)
        assert (abs(mean - exact) < 4 * np.hypot(error, its_error)) == (sampled_alpha == 0.1)
