"""Left to right with particles that know what is to come: unbiased, and sparse in topics.

log p(j) = Σ_u log p(word u | words before it), each term a mean over particles that hold topics of
the words before (Buntine 2009, eqs. 5 to 7). The paper's samplers resample all topics before each
word, which is quadratic in the length of a document, and their chains lag behind what they should
be distributed as. Here the mean is weighted, so that nothing has to catch up:

- A particle carries the product of its terms as its weight. When the weights have become too
  unequal, particles are drawn anew by weight, and now and then each resamples its topics once
  (Gilks & Berzuini 2001; Del Moral, Doucet & Jasra 2006). The mean of the weights is unbiased for
  p(j) with any number of particles. That holds whenever particles are drawn anew, but topics must
  be resampled at words that do not depend on these particles: it is done where a few others, sent
  ahead, had to be drawn anew.
- Tokens of one word are one step, summed over their topics exactly (see `particles`).
- Words come in an order of our choice, as p(j) does not depend on it: those first that leave the
  least doubt of their topic.
- While words are still to come, the prior of the topics is α plus a share of the counts that the
  mean field expects of them. These phantom tokens are taken out one by one as the words come in,
  each with the factor by which that changes the weight; at the end there are none. Any such
  sequence of distributions gives the same mean; a good one gives less variance. A bad one gives
  far more: where topics are alike, a mean field knows one of the many ways in which they could
  share the words, or the average of all, which is none. So the few that are sent ahead go with the
  phantoms of one mean field, of another, and with none, and what is best there is done. They are
  then thrown away: nothing of the estimate depends on what they found.
- The variance of the mean is estimated from the particles of one run, by those that descend from
  different ones at the start (Lee & Whiteley 2018, eq. 10); drawing anew is multinomial for that.
  It is not taken to be less than what the weights say at the times of drawing anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.lda.mean_field import N_CYCLES, independent_start, mean_field
from evaluation.lda.particles import (
    Groups,
    Particles,
    copy_particle,
    new_groups,
    new_particles,
    use_prior,
    visit_groups,
)
from evaluation.monte_carlo.by_document import Score, sample_documents
from models.kernel import kernel

if TYPE_CHECKING:
    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models.topics import WeightedTopics

Floats = NDArray[np.float64]
Ints64 = NDArray[np.int64]

DEFAULT_PARTICLES = 100
RESAMPLE_BELOW = 0.5
"""Particles are drawn anew when their effective number falls below this share of them."""
PHANTOM_SHARE = 0.06
"""Share of the expected counts of words to come that is added to the prior."""
SCOUTS = (10, 40)
"""An eighth as many particles, but from 10 to 40, are sent ahead with each kind of phantoms."""
PHANTOM_STEP = 0.05
"""Smallest look-ahead pseudo-count of a topic that is removed at a time."""
LARGEST_GROUP = 32
"""Tokens of one word that are one step: it takes time by the square of them."""
RUN_NUMBERS = 2**24
"""Numbers that the particles of one run may take; more particles are several runs."""


class Arrangement(NamedTuple):
    """A document laid out for its particles."""

    groups: Groups
    phantoms: Floats
    """(3, U + 1, K), phantom tokens of each topic before group u comes in, none at the end: of the
    mean field from an independent start, of that from a greedy one, and none at all."""
    log_scale: float
    """Log of what the groups' weights were divided by."""


class Run(NamedTuple):
    """Result of a run of particles."""

    log_mean: float
    relative_variance: float
    """Relative variance of exp(log_mean); NaN for one particle."""


def left_to_right_sequential(
    topics: WeightedTopics,
    documents: DocumentBlock,
    *,
    n_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """Left-to-right with `n_samples` particles, 100 by default; unbiased for p with any number."""
    n_particles = n_samples or DEFAULT_PARTICLES

    def sampler(words: NDArray[np.int32], n: Ints64, rng: np.random.Generator) -> Score:
        log_p, found = score_document(topics.word_topic, words, n, topics.alpha, n_particles, rng)
        variance = float(np.maximum(found, 0.0))  # rounding may leave less than 0
        size = n_particles / (1.0 + n_particles * variance)
        return Score(log_p, math.sqrt(variance), size)

    return sample_documents(
        documents,
        sampler,
        method="left-to-right-sequential",
        direction="unbiased",
        n_samples=n_particles,
        seed=seed,
        n_jobs=n_jobs,
    )


@kernel
def score_document(
    word_topic: Floats,
    words: NDArray[np.int32],
    n: Ints64,
    alpha: Floats,
    n_particles: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Log p of one document of the different `words` (U,), `n` (U,) times each; and the variance.

    It is relative, and NaN for one particle. Runs are independent of each other, so that the mean
    of theirs is unbiased too. No named tuple comes to Python: making one, numba crashes if an
    interrupt is raised there.
    """
    arrangement = arrange(word_topic, words, n, alpha)
    _, log_mean, variance = sent(arrangement, alpha, n_particles, rng)
    largest = log_mean.max()
    if largest == -math.inf:
        return largest, math.nan
    total, weighted = 0.0, 0.0
    for i in range(len(log_mean)):
        share = math.exp(log_mean[i] - largest)
        total += share
        weighted += share * share * variance[i]
    return largest + math.log(total) + arrangement.log_scale, weighted / (total * total)


@kernel
def sent(
    arrangement: Arrangement, alpha: Floats, n_particles: int, rng: np.random.Generator
) -> tuple[int, Floats, Floats]:
    """Send a few particles ahead with each kind of phantoms, and all with the kind that is best.

    Returns which kind it is and, of the runs that all particles are parted into, the logarithms of
    the mean weights, each times the run's share of the particles, and their relative variances.
    """
    groups, phantoms = arrangement.groups, arrangement.phantoms
    n_topics, n_kinds, length = len(alpha), len(phantoms), int(groups.start[len(groups.size)])
    a_particle = n_topics + 2 * min(n_topics, length) + length
    n_runs = max(1, min(n_particles // 2, -(-n_particles * a_particle // RUN_NUMBERS)))
    n_scouts = min(max(SCOUTS[0], n_particles // 8), SCOUTS[1])
    sweeps = np.zeros((n_kinds, len(groups.size)), dtype=np.bool_)
    log_mean, variance = np.empty(n_runs), np.empty(n_runs)
    best, best_run = 0, Run(-math.inf, math.nan)
    for i in range(n_kinds + n_runs):  # in one loop, as what it calls takes long to compile
        is_scout, part = i < n_kinds, i - n_kinds
        kind = i if is_scout else best
        size = n_particles * (part + 1) // n_runs - n_particles * part // n_runs
        if is_scout:
            size = n_scouts
        run = run_particles(groups, phantoms[kind], alpha, size, sweeps[kind], is_scout, rng)
        if not is_scout:
            log_mean[part] = run.log_mean + math.log(size / n_particles)
            variance[part] = run.relative_variance
        elif i == 0 or is_better(run, best_run):
            best, best_run = i, run
    return best, log_mean, variance


@kernel
def is_better(run: Run, other: Run) -> bool:
    """Whether one run of a few particles is clearly better than another.

    An estimate that varies too much is nearly always too low, and then its stated variance is as
    well. So the higher one is better if the difference is clear, else one of half the variance.
    """
    difference = run.log_mean - other.log_mean
    if not abs(difference) <= 2.0 * math.sqrt(run.relative_variance + other.relative_variance):
        return difference > 0.0
    return run.relative_variance < 0.5 * other.relative_variance


@kernel
def arrange(word_topic: Floats, words: NDArray[np.int32], n: Ints64, alpha: Floats) -> Arrangement:
    """Groups in the order of doubt, and the phantom tokens that there may be before each."""
    n_topics = len(alpha)
    rows, doubt, log_scale = np.empty((len(words), n_topics)), np.empty(len(words)), 0.0
    # h_c is at most (Σα + L)^c: with it below 1e250 nothing overflows.
    largest_group = max(1, min(LARGEST_GROUP, int(250 / math.log10(alpha.sum() + n.sum() + 9.0))))
    n_groups = 0
    for u in range(len(words)):
        row, p, largest = rows[u], word_topic[words[u]], 0.0
        for k in range(n_topics):
            largest = max(largest, p[k])
        log_scale += n[u] * math.log(largest)
        n_groups += -(-n[u] // largest_group)
        for k in range(n_topics):
            row[k] = p[k] / largest
        doubt[u] = entropy_of_topic(row, alpha)
    order = np.argsort(doubt, kind="mergesort")
    size, of_group = np.empty(n_groups, dtype=np.int64), np.empty(n_groups, dtype=np.int64)
    weight, group = np.empty((n_groups, n_topics)), 0
    for u in order:
        left = n[u]
        while left > 0:
            size[group], of_group[group] = min(left, largest_group), u
            for k in range(n_topics):
                weight[group, k] = rows[u, k]
            left -= size[group]
            group += 1
    phantoms = np.zeros((3, n_groups + 1, n_topics))
    for i in range(2):
        q = greedy_start(rows, n, alpha, order) if i else independent_start(rows, alpha)
        expected = mean_field(rows, n, alpha, q, False, N_CYCLES)
        to_come = np.zeros(n_topics)
        for group in range(n_groups - 1, -1, -1):
            for k in range(n_topics):
                to_come[k] += PHANTOM_SHARE * size[group] * expected[of_group[group], k]
                held = phantoms[i, group + 1, k]
                phantoms[i, group, k] = to_come[k] if to_come[k] - held > PHANTOM_STEP else held
    return Arrangement(new_groups(size, weight), phantoms, log_scale)


@kernel
def entropy_of_topic(weight: Floats, alpha: Floats) -> float:
    """Entropy of a word's topic, with probabilities ∝ weight alpha, both (K,), some of them 0."""
    total, weighted = 0.0, 0.0
    for k in range(len(alpha)):
        share = weight[k] * alpha[k]
        if share > 0.0:
            total += share
            weighted += share * math.log(share)
    return math.log(total) - weighted / total


@kernel
def greedy_start(word_topic: Floats, n: Ints64, alpha: Floats, order: Ints64) -> Floats:
    """Topics (U, K) of words taken in `order`, each given the likeliest topics of those before.

    From the start that mean fields usually have, q ∝ φ alpha, topics that are alike would share all
    their words, as updates keep such shares: which no posterior does if alpha is small.
    """
    q, mean = np.empty_like(word_topic), alpha.copy()
    for u in order:
        best, total = 0, 0.0
        for k in range(len(alpha)):
            q[u, k] = word_topic[u, k] * mean[k]
        for k in range(len(alpha)):
            total += q[u, k]
        for k in range(len(alpha)):
            if q[u, k] > q[u, best]:
                best = k
        for k in range(len(alpha)):
            q[u, k] /= total
        mean[best] += n[u]
    return q


@kernel
def run_particles(
    groups: Groups,
    phantoms: Floats,
    alpha: Floats,
    n_particles: int,
    sweeps: NDArray[np.bool_],
    is_scout: bool,
    rng: np.random.Generator,
) -> Run:
    """The mean weight of particles that have seen all groups, with `phantoms` (U + 1, K).

    After which groups topics are resampled is given by `sweeps` (U,); or, by scouts, it is decided
    here and put into it. The mean is unbiased if it is given.
    """
    n_groups, n_topics = groups.weight.shape
    particles = new_particles(n_particles, n_topics, int(groups.start[n_groups]))
    weight = np.ones(n_particles)  # their mean is kept at 1, and its logarithm in log_mean
    root = np.arange(n_particles)  # the particle at the start that each descends from
    prior = alpha + phantoms[0]
    log_mean, variance, n_resampled = 0.0, 0.0, 0
    for u in range(n_groups):
        n_before = groups.start[u]
        log_mean += take_phantoms_out(
            phantoms[u], phantoms[u + 1], alpha, prior, particles, n_before, weight
        )
        use_prior(groups, u, prior)
        prior_sum = prior.sum()
        for i in range(groups.size[u]):
            log_mean += math.log((i + 1) / (prior_sum + n_before + i))
        visit_groups(groups, u, u + 1, particles, prior, False, weight, rng)
        mean, squares = normalise(weight)
        if mean == 0.0:
            return Run(-math.inf, math.nan)
        log_mean += math.log(mean)
        last = u == n_groups - 1
        is_unequal = not last and n_particles < RESAMPLE_BELOW * squares
        if is_scout:
            sweeps[u] = is_unequal
        if last or is_unequal or sweeps[u]:
            variance += (squares / n_particles - 1.0) / n_particles
        if is_unequal or sweeps[u]:
            draw_anew(weight, particles, root, rng)
            n_resampled += 1
        if sweeps[u]:
            for v in range(u + 1):
                use_prior(groups, v, prior)
            visit_groups(groups, 0, u + 1, particles, prior, True, weight, rng)
    if n_particles == 1:
        return Run(log_mean, math.nan)
    return Run(log_mean, max(variance, variance_by_root(weight, root, n_resampled)))


@kernel
def normalise(weight: Floats) -> tuple[float, float]:
    """Divide `weight` (N,) by its mean, in place; that mean, and the sum of the new squares."""
    mean, squares = weight.mean(), 0.0
    for r in range(len(weight)):
        weight[r] /= mean
    for r in range(len(weight)):
        squares += weight[r] * weight[r]
    return mean, squares


@kernel
def take_phantoms_out(
    before: Floats,
    after: Floats,
    alpha: Floats,
    prior: Floats,
    particles: Particles,
    n_tokens: int,
    weight: Floats,
) -> float:
    """Lower the prior from α + before to α + after, each (K,), in place.

    When a_k becomes a_k - δ, the Dirichlet-multinomial of counts C is multiplied by a factor that
    all particles share, whose logarithm is returned, and by ∏_{i<C_k} (a_k - δ + i) / (a_k + i),
    by which `weight` (N,) is multiplied in place; with all of them may go a common factor, which is
    in the logarithm.
    """
    sum_before = prior.sum()
    gain, ratio = np.zeros(len(weight)), np.empty(n_tokens + 1)
    for k in range(len(alpha)):
        if before[k] == after[k]:
            continue
        was, prior[k] = prior[k], alpha[k] + after[k]
        n_filled, ratio[0] = 0, 0.0
        for r in range(len(weight)):
            at = particles.place[r, k]
            if at >= 0:
                n = int(particles.tally[r, at])
                while n_filled < n:
                    ratio[n_filled + 1] = ratio[n_filled] + math.log(
                        (prior[k] + n_filled) / (was + n_filled)
                    )
                    n_filled += 1
                gain[r] += ratio[n]
    largest = gain.max()
    for r in range(len(weight)):
        weight[r] *= math.exp(gain[r] - largest)
    return float(largest + log_rising_ratio(sum_before, prior.sum(), n_tokens))


@kernel
def log_rising_ratio(above: float, below: float, n: int) -> float:
    """Sum over i < n of log (above + i) / (below + i), without the cancellation of two lgamma."""
    total, product = 0.0, 1.0
    for i in range(n):
        product *= (above + i) / (below + i)
        if product > 1e100:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def draw_anew(weight: Floats, particles: Particles, root: Ints64, rng: np.random.Generator) -> None:
    """Multinomial resampling by weights whose mean is 1; all change in place, weights become 1.

    The sorted uniforms are running sums of exponentials, divided by the last of them. A particle
    that is drawn stays where it is; its further copies take the places of those that are not.
    """
    n = len(weight)
    level = np.empty(n + 1)
    total = 0.0
    for i in range(n + 1):
        total -= math.log(1.0 - rng.random())
        level[i] = total
    n_copies = np.zeros(n, dtype=np.int64)
    r, passed = 0, weight[0]
    for i in range(n):
        while passed < level[i] / total * n and r < n - 1:
            r += 1
            passed += weight[r]
        n_copies[r] += 1
    free = 0
    for r in range(n):
        for _ in range(n_copies[r] - 1):
            while n_copies[free] > 0:
                free += 1
            copy_particle(particles, r, free)
            root[free] = root[r]
            free += 1
    for r in range(n):
        weight[r] = 1.0


@kernel
def variance_by_root(weight: Floats, root: Ints64, n_resampled: int) -> float:
    """Relative variance of the mean of the final weights (Lee & Whiteley 2018, eq. 10 with φ = 1).

    1 - (N / (N - 1))^(n + 1) Σ_{roots differ} W_i W_j, for n times of drawing anew.
    """
    n = len(weight)
    of_root = np.zeros(n)
    for r in range(n):
        of_root[root[r]] += weight[r] / n
    return float(1.0 - (n / (n - 1.0)) ** (n_resampled + 1) * (1.0 - (of_root * of_root).sum()))
