"""Annealed importance sampling as an estimator of LDA likelihoods, and of Gamma-Poisson ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.annealed_bounds import annealed_bounds
from evaluation.lda.annealed_likelihood import annealed
from models import GammaPoissonTopics, LDATopics, LPMRFTopics

RNG = np.random.default_rng(0)
MODEL = LDATopics(RNG.dirichlet(np.full(8, 0.4), 3), [0.3, 0.7, 0.2])
COUNTS = sparse.csr_array(RNG.poisson(0.8, size=(12, 8)))


def t_of_one(ratios):
    """How many standard errors the mean of ratios is from 1."""
    error = ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert error < 0.05
    return (ratios.mean() - 1) / error


def ratios(model, document, n_docs=1500, **settings):
    """Estimates of the probability of one document, with other seeds each, over the exact one."""
    counts = sparse.csr_array(np.tile(document, (n_docs, 1)))
    found = annealed(model, DocumentBlock(counts), **settings)
    exact = log_likelihood(model, counts[:1], "exact").log_likelihood[0]
    return np.exp(found.log_likelihood - exact)


@pytest.mark.parametrize(("n_samples", "n_temperatures"), [(1, 20), (3, 12), (2, 40)])
def test_it_is_unbiased(n_samples, n_temperatures):
    document = [3, 0, 1, 0, 2, 1, 0, 1]
    found = ratios(MODEL, document, n_samples=n_samples, n_temperatures=n_temperatures, seed=3)
    assert abs(t_of_one(found)) < 4  # a false alarm once in 16,000
    assert t_of_one(found / np.exp(0.1)) < -6  # the control: a tenth of a nat too low


@pytest.mark.slow
def test_the_standard_error_is_the_spread():
    counts = sparse.csr_array(np.tile([3, 0, 1, 0, 2, 1, 0, 1], (800, 1)))
    found = annealed(MODEL, DocumentBlock(counts), n_samples=40, n_temperatures=20)
    error = np.sqrt((found.standard_error**2).mean())
    assert error == pytest.approx(found.log_likelihood.std(), rel=0.1)  # 4 / sqrt(2 · 800)
    assert ((found.effective_sample_size > 1) & (found.effective_sample_size <= 40)).all()
    assert (found.n_samples == 40).all()


def test_these_are_the_chains_of_the_bounds():
    found = annealed(MODEL, DocumentBlock(COUNTS), n_samples=3, n_temperatures=9, seed=4)
    bounds = annealed_bounds(MODEL, COUNTS, n_samples=3, n_temperatures=9, seed=4)
    assert (found.log_likelihood == bounds.lower).all()
    assert (found.standard_error == bounds.lower_standard_error).all()
    assert (found.method, found.direction) == ("annealed-importance-sampling", "unbiased")


def test_gamma_poisson_models_are_scored_by_their_tilted_topics():
    model = GammaPoissonTopics(3 * MODEL.topic_word, [0.4, 0.3, 0.8], [0.3, 0.6, 0.5])
    found = log_likelihood(model, COUNTS, "annealed-importance-sampling", random_state=1)
    exact = log_likelihood(model, COUNTS, "exact")
    assert found.convention == "bag-and-length"
    z = (found.log_likelihood - exact.log_likelihood) / np.maximum(found.standard_error, 1e-9)
    assert np.abs(z).max() < 4.5  # of twelve


def test_poisson_mrfs_without_edges_are_scored_alike():
    """By other kernels with other draws, and as many chains and temperatures."""
    same = LPMRFTopics(
        MODEL.topic_word,
        np.empty(0, dtype=int),
        np.empty((0, 2), dtype=int),
        np.empty(0),
        np.full(3, np.inf),
        np.zeros((3, 2)),
        MODEL.alpha,
    )
    one, other = (
        log_likelihood(model, COUNTS, "annealed-importance-sampling", random_state=seed)
        for seed, model in enumerate((MODEL, same))
    )
    assert one.method == other.method
    error = np.hypot(one.monte_carlo_standard_error, other.monte_carlo_standard_error)
    assert abs(one.total - other.total) < 4 * error


def test_more_samples_bring_the_error_down():
    target = 0.02
    found = log_likelihood(
        MODEL,
        COUNTS[:4],
        "annealed-importance-sampling",
        target_standard_error=target,
        random_state=0,
    )
    assert (found.standard_error <= 1.5 * target).all()
    exact = log_likelihood(MODEL, COUNTS[:4], "exact").log_likelihood
    assert (np.abs(found.log_likelihood - exact) < 4.5 * found.standard_error + 1e-9).all()


@pytest.mark.parametrize("bad", [1, 0, 2.5, True])
def test_temperatures(bad):
    with pytest.raises((ValueError, TypeError), match="n_temperatures"):
        annealed(MODEL, DocumentBlock(COUNTS), n_temperatures=bad)
