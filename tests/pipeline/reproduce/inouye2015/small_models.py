"""Documents, split and budget of tests, and models scored by them."""

import math

import numpy as np
from scipy import sparse

from evaluation.estimate import LikelihoodEstimate
from pipeline.reproduce.counts import Named
from pipeline.reproduce.inouye2015.models import (
    FIELDS,
    MULTINOMIAL,
    SUMMED,
    Budget,
    Scorer,
    Variant,
)
from pipeline.reproduce.inouye2015.perplexity import split_of
from tests.shared_data import shared_file

SMALL = Budget(
    n_samples=20,
    n_temperatures=10,
    round_temperatures=5,
    likelihood_temperatures=10,
    n_repeats=3,
    selection_samples=10,
    selection_temperatures=5,
    n_rounds=2,
    n_sweeps=2,
    lda_sweeps=10,
    n_chains=10,
    chain_temperatures=10,
)
CHOSEN = (0.1, 1.5)
SINGLE, MIXTURE = Variant("single", FIELDS, 1), Variant("mixture", FIELDS, 2)


def documents(n_docs=60, seed=0):
    """Documents of two halves of 10 words, whose first two come together; lengths vary."""
    rng = np.random.default_rng(seed)
    rate = np.repeat([[1.0], [0.1]], 5, axis=1).ravel() * np.ones((n_docs, 10))
    rate[rng.random(n_docs) < 0.5] = rate[0, ::-1]
    rate[:, :2] *= np.exp(rng.standard_normal((n_docs, 1)))
    return sparse.csr_array(rng.poisson(1.5 * rate))


def classic3():
    return sparse.csr_array(sparse.load_npz(shared_file("classic3/bow_3890x1000.npz")))


def split_counts(counts):
    return split_of(Named("x", counts))


def scored(variant, split, seed=2, n_jobs=None, budget=SMALL):
    chosen = (math.inf, 1.5) if variant.base == MULTINOMIAL else CHOSEN
    found = Scorer(budget, seed, n_jobs).score(variant, split.train, split.test, chosen)
    return {name: np.asarray(value) for name, value in found.items()}


def summed_of(found):
    return LikelihoodEstimate.from_arrays(found, SUMMED)
