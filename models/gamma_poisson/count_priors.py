"""Gibbs steps for r and p of negative binomials, given counts (Zhou, Hannah, Dunson & Carin 2012).

A topic's count in a document is n_dk ~ NB(r_k, p_k) once its score is integrated out. With
p_k ~ Beta(c ε, c (1 - ε)), which in the limit of many topics is a beta process, and
r_k ~ Gamma(shape g, rate h):

    p_k | − ~ Beta(c ε + Σ_d n_dk, c (1 - ε) + D r_k)
    L_dk | − ~ Σ_{i < n_dk} Bernoulli(r_k / (r_k + i)), the tables of a Chinese restaurant
    r_k | − ~ Gamma(g + Σ_d L_dk, rate h - D log(1 - p_k))

(the last two: Zhou & Carin 2015, eqs. 11 to 14). Σ_d L_dk needs only how many documents have more
than i tokens of topic k, as these are so many draws of one probability.
"""

from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints
from models.gibbs.minka import Exceedances


class CountPriors(NamedTuple):
    """Parameters of the priors of r and p."""

    concentration: float  # c
    base_mass: float  # ε, the mean of p
    shape_prior: tuple[float, float] = (1.0, 1.0)  # g and h


MIN_SHAPE = 1e-8


def sample_probability(
    n_k: Ints, n_docs: int, shape: Floats, priors: CountPriors, rng: np.random.Generator
) -> Floats:
    """Probabilities p (K,) given counts of topics `n_k` (K,) in `n_docs` documents, and r (K,)."""
    c, mass = priors.concentration, priors.base_mass
    # By two Gammas: a Beta variate with a small first parameter would be 0, not small.
    of_counts = np.log(rng.standard_gamma(c * mass + n_k + 1.0))
    of_counts += np.log1p(-rng.random(len(n_k))) / (c * mass + n_k)  # Gamma(a + 1) U^(1/a)
    of_documents = np.log(rng.standard_gamma(c * (1.0 - mass) + n_docs * shape))
    probability: Floats = 1.0 / (1.0 + np.exp(np.minimum(of_documents - of_counts, 700.0)))
    return probability


def sample_shape(
    above: Exceedances,
    n_docs: int,
    shape: Floats,
    probability: Floats,
    priors: CountPriors,
    rng: np.random.Generator,
) -> Floats:
    """Shapes r (K,) given the last r and p, and how many documents have more than i tokens of k."""
    lengths = np.diff(above.start)
    i = np.arange(len(above.above)) - np.repeat(above.start[:-1], lengths)
    r = np.repeat(shape, lengths)
    tables = rng.binomial(above.above.astype(np.int64), r / (r + i))
    topic = np.repeat(np.arange(len(lengths)), lengths)
    n_tables = np.bincount(topic, tables, len(lengths))
    g, h = priors.shape_prior
    rate = h - n_docs * np.log1p(-np.minimum(probability, 1.0 - 1e-12))
    return np.maximum(rng.standard_gamma(g + n_tables) / rate, MIN_SHAPE)
