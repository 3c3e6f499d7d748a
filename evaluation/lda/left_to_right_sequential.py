"""Left-to-right SMC with look-ahead pseudo-counts: unbiased, sparse in topics.

log p(j) = Σ_u log p(word u | words before it), each term a mean over particles with topics of the
words before (Buntine 2009, eqs. 5 to 7). The paper's samplers resample all topics before each word,
in time quadratic in the length of a document, and stay biased. Here the mean is weighted instead:

- A particle's weight is the product of its terms. When the effective sample size is low, particles
  are resampled by weight, and at some words each particle is rejuvenated by a Gibbs sweep (Gilks &
  Berzuini 2001; Del Moral, Doucet & Jasra 2006). The mean of the weights is unbiased for p(j) with
  any number of particles. Resampling may depend on the particles, but the words of sweeps must not:
  they are those at which a pilot run of a few other particles resampled.
- Tokens of one word are one step, summed over their topics exactly (see `particles`).
- p(j) does not depend on the order of the words: words whose topic has the least entropy come
  first.
- Before the last word, the prior of the topics is α plus look-ahead counts, a share of the counts
  that a mean field expects of the words to come. They are removed step by step as words come in,
  each with the factor by which that changes the weight. Any such sequence of distributions gives
  the same mean, a good one with less variance, a bad one with far more: where topics are alike, a
  mean field is one of the many ways in which they could share the words, or the average of all. So
  pilot runs, which are then discarded, try the look-ahead counts of two mean fields and none.
- The variance of the mean is estimated from the particles of one run, by their ancestors at the
  start (Lee & Whiteley 2018, eq. 10), for which resampling is multinomial. A lower limit is the
  variance of the weights at the times of resampling.
"""

import math
from typing import NamedTuple

import numpy as np

from evaluation.arrays import Bools, Floats, Ints, Ints32, Rng
from evaluation.lda.mean_field import N_CYCLES, independent_start, mean_field
from evaluation.lda.particles import (
    Groups,
    Particles,
    copy_particle,
    groups_of,
    new_particles,
    use_prior,
    visit_groups,
)
from evaluation.monte_carlo.by_document import Score, sampled
from models.kernel import kernel
from models.order import stable_order
from models.topics import WeightedTopics

RESAMPLE_BELOW = 0.5
"""Particles are resampled when the effective sample size is below this share of them."""
LOOKAHEAD_SHARE = 0.06  # share of the expected counts of words to come
N_PILOT_PARTICLES = (10, 40)
"""Range of the particles of a pilot run, which has an eighth as many as the run proper."""
LOOKAHEAD_STEP = 0.05
"""Minimal decrease of a topic's look-ahead counts in a step; a smaller one is postponed."""
LARGEST_GROUP = 32  # maximal number of tokens of a word in a step, whose time grows with its square
RUN_NUMBERS = 2**24
"""Maximal size of the particles of one run, in numbers; more particles are several runs."""


class Arrangement(NamedTuple):
    """A document laid out for its particles."""

    groups: Groups
    lookahead_counts: Floats
    """(3, U + 1, K), look-ahead counts of each topic before group u: of the mean field from an
    independent start, of that from a greedy start, and zeros. After the last group all are 0."""
    log_scale: float  # logarithm of the divisor of the groups' weights


class Run(NamedTuple):
    """Result of a run: the log-mean, and the relative variance of the mean (NaN for 1 particle)."""

    log_mean: float
    relative_variance: float


@sampled("left-to-right-sequential", "unbiased", 100)
def left_to_right_sequential(
    topics: WeightedTopics, words: Ints32, n: Ints, n_samples: int, rng: Rng
) -> Score:
    """Left-to-right with `n_samples` particles, 100 by default; unbiased for p with any number."""
    log_p, found = score_document(topics.word_topic, words, n, topics.alpha, n_samples, rng)
    variance = float(np.maximum(found, 0.0))  # rounding may leave less than 0
    return Score(log_p, math.sqrt(variance), n_samples / (1.0 + n_samples * variance))


def score_document(
    word_topic: Floats, words: Ints32, n: Ints, alpha: Floats, n_particles: int, rng: Rng
) -> tuple[float, float]:
    """Return log p of a document with `n` (U,) tokens of `words` (U,), and p's relative variance.

    The variance is NaN for one particle. Runs are independent, so that their mean is unbiased too.
    """
    arrangement = arrange(word_topic, words, n, alpha)
    _, log_mean, variance = run_with_pilots(arrangement, alpha, n_particles, rng)
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
def run_with_pilots(
    arrangement: Arrangement, alpha: Floats, n_particles: int, rng: Rng
) -> tuple[int, Floats, Floats]:
    """Make a pilot run with each kind of look-ahead counts, and the run proper with the best.

    Returns the best kind and, for each of the runs that the particles are split into, the logarithm
    of the mean weight times the run's share of the particles, and its relative variance.
    """
    groups, lookahead = arrangement.groups, arrangement.lookahead_counts
    n_topics, n_kinds, length = len(alpha), len(lookahead), int(groups.start[len(groups.size)])
    a_particle = n_topics + 2 * min(n_topics, length) + length
    n_runs = max(1, min(n_particles // 2, -(-n_particles * a_particle // RUN_NUMBERS)))
    n_pilot = min(max(N_PILOT_PARTICLES[0], n_particles // 8), N_PILOT_PARTICLES[1])
    sweeps = np.zeros((n_kinds, len(groups.size)), dtype=np.bool_)
    log_mean, variance = np.empty(n_runs), np.empty(n_runs)
    best, best_run = 0, Run(-math.inf, math.nan)
    for i in range(n_kinds + n_runs):  # in one loop, as run_particles takes long to compile
        is_pilot, part = i < n_kinds, i - n_kinds
        kind = i if is_pilot else best
        size = n_particles * (part + 1) // n_runs - n_particles * part // n_runs
        if is_pilot:
            size = n_pilot
        run = run_particles(groups, lookahead[kind], alpha, size, sweeps[kind], is_pilot, rng)
        if not is_pilot:
            log_mean[part] = run.log_mean + math.log(size / n_particles)
            variance[part] = run.relative_variance
        elif i == 0 or is_better(run, best_run):
            best, best_run = i, run
    return best, log_mean, variance


@kernel
def is_better(run: Run, other: Run) -> bool:
    """Whether one pilot run is clearly better than another.

    An estimate of too high variance is nearly always too low, and so is its estimated variance. So
    the higher one is better if the difference is significant, else one of half the variance.
    """
    difference = run.log_mean - other.log_mean
    if not abs(difference) <= 2.0 * math.sqrt(run.relative_variance + other.relative_variance):
        return difference > 0.0
    return run.relative_variance < 0.5 * other.relative_variance


def arrange(word_topic: Floats, words: Ints32, n: Ints, alpha: Floats) -> Arrangement:
    """Order the groups by the entropy of their topic, and compute the look-ahead counts.

    The kernels return no named tuples, as numba crashes on an interrupt while it makes one.
    """
    rows, order, size, of_group, weight, log_scale = order_groups(word_topic, words, n, alpha)
    lookahead = np.zeros((3, len(size) + 1, len(alpha)))
    for i in range(2):
        q = greedy_start(rows, n, alpha, order) if i else independent_start(rows, alpha)
        fill_lookahead(lookahead[i], rows, n, alpha, q, size, of_group)
    return Arrangement(groups_of(size, weight), lookahead, log_scale)


@kernel
def order_groups(
    word_topic: Floats, words: Ints32, n: Ints, alpha: Floats
) -> tuple[Floats, Ints, Ints, Ints, Floats, float]:
    """Split the words into groups of tokens, in the order of their topics' entropies.

    Returns the words' rows of `word_topic` (U, K), each divided by its largest number; the order of
    the words (U,); each group's size, its word, and its row; and log Π of the divisors.
    """
    n_topics = len(alpha)
    rows, topic_entropy, log_scale = np.empty((len(words), n_topics)), np.empty(len(words)), 0.0
    # h_c is at most (Σα + L)^c: below 1e250 nothing overflows.
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
        topic_entropy[u] = entropy_of_topic(row, alpha)
    order = stable_order(topic_entropy)
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
    return rows, order, size, of_group, weight, log_scale


@kernel
def fill_lookahead(
    lookahead: Floats, rows: Floats, n: Ints, alpha: Floats, q: Floats, size: Ints, of_group: Ints
) -> None:
    """Fill look-ahead counts (U + 1, K), the last are 0; `q` (U, K) starts the mean field."""
    n_topics = len(alpha)
    expected = mean_field(rows, n, alpha, q, False, N_CYCLES)
    to_come = np.zeros(n_topics)
    for group in range(len(size) - 1, -1, -1):
        for k in range(n_topics):
            to_come[k] += LOOKAHEAD_SHARE * size[group] * expected[of_group[group], k]
            held = lookahead[group + 1, k]
            lookahead[group, k] = to_come[k] if to_come[k] - held > LOOKAHEAD_STEP else held


@kernel
def entropy_of_topic(weight: Floats, alpha: Floats) -> float:
    """Return the entropy of a word's topic, with probabilities ∝ weight alpha, both (K,)."""
    total, weighted = 0.0, 0.0
    for k in range(len(alpha)):
        share = weight[k] * alpha[k]
        if share > 0.0:
            total += share
            weighted += share * math.log(share)
    return math.log(total) - weighted / total


@kernel
def greedy_start(word_topic: Floats, n: Ints, alpha: Floats, order: Ints) -> Floats:
    """Return topics (U, K) of words in `order`, each given the likeliest topics of those before.

    From q ∝ φ alpha, the usual start, similar topics would share all their words, because updates
    keep such shares; no posterior does so if alpha is small.
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
def run_particles(  # noqa: C901
    groups: Groups,
    lookahead_counts: Floats,
    alpha: Floats,
    n_particles: int,
    sweeps: Bools,
    is_pilot: bool,
    rng: Rng,
) -> Run:
    """Return the mean weight of particles after all groups, with `lookahead_counts` (U + 1, K).

    `sweeps` (U,) says after which groups topics are swept; a pilot run decides that itself and
    fills it. The mean is unbiased if `sweeps` is given.
    """
    n_groups, n_topics = groups.weight.shape
    particles = new_particles(n_particles, n_topics, int(groups.start[n_groups]))
    weight = np.ones(n_particles)  # their mean is kept at 1, and its logarithm in log_mean
    root = np.arange(n_particles)  # ancestor of each particle at the start
    prior = alpha + lookahead_counts[0]
    log_mean, variance, n_resampled = 0.0, 0.0, 0
    # Tokens of a group, then maybe a sweep: in one loop, as `visit_groups` is inlined where called.
    for step in range(2 * n_groups):
        u, again = step // 2, step % 2 == 1
        if again and not sweeps[u]:
            continue
        first, n_before = 0 if again else u, groups.start[u]
        if not again:
            before, after = lookahead_counts[u], lookahead_counts[u + 1]
            log_mean += remove_lookahead(before, after, alpha, prior, particles, n_before, weight)
        for v in range(first, u + 1):
            use_prior(groups, v, prior)
        visit_groups(groups, first, u + 1, particles, prior, again, weight, rng)
        if again:
            continue
        prior_sum = prior.sum()
        for i in range(groups.size[u]):
            log_mean += math.log((i + 1) / (prior_sum + n_before + i))
        mean, squares = normalise(weight)
        if mean == 0.0:
            return Run(-math.inf, math.nan)
        log_mean += math.log(mean)
        last = u == n_groups - 1
        is_unequal = not last and n_particles < RESAMPLE_BELOW * squares
        if is_pilot:
            sweeps[u] = is_unequal
        if last or is_unequal or sweeps[u]:
            variance += (squares / n_particles - 1.0) / n_particles
        if is_unequal or sweeps[u]:
            resample_multinomial(weight, particles, root, rng)
            n_resampled += 1
    if n_particles == 1:
        return Run(log_mean, math.nan)
    return Run(log_mean, max(variance, variance_by_root(weight, root, n_resampled)))


@kernel
def normalise(weight: Floats) -> tuple[float, float]:
    """Divide `weight` (N,) by its mean, in place; return the mean and the sum of new squares."""
    mean, squares = weight.mean(), 0.0
    for r in range(len(weight)):
        weight[r] /= mean
    for r in range(len(weight)):
        squares += weight[r] * weight[r]
    return mean, squares


@kernel
def remove_lookahead(
    before: Floats,
    after: Floats,
    alpha: Floats,
    prior: Floats,
    particles: Particles,
    n_tokens: int,
    weight: Floats,
) -> float:
    """Lower the prior from α + before to α + after, each (K,), in place.

    When a_k becomes a_k - δ, the Dirichlet-multinomial of counts C is multiplied by a factor common
    to all particles, and by ∏_{i<C_k} (a_k - δ + i) / (a_k + i), by which `weight` (N,) is
    multiplied in place up to another common factor. Returns the logarithm of the common factors.
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
    """Return Σ_{i<n} log (above + i) / (below + i), without the cancellation of two lgamma."""
    total, product = 0.0, 1.0
    for i in range(n):
        product *= (above + i) / (below + i)
        if product > 1e100:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def resample_multinomial(weight: Floats, particles: Particles, root: Ints, rng: Rng) -> None:
    """Resample particles by weights of mean 1, multinomially and in place; weights become 1.

    The sorted uniforms are cumulative sums of exponentials, divided by the last. A drawn particle
    keeps its place; its further copies take the places of particles that were not drawn.
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
def variance_by_root(weight: Floats, root: Ints, n_resampled: int) -> float:
    """Relative variance of the mean of the final weights (Lee & Whiteley 2018, eq. 10 with φ = 1).

    1 - (N / (N - 1))^(n + 1) Σ_{roots differ} W_i W_j, after n resampling steps.
    """
    n = len(weight)
    of_root = np.zeros(n)
    for r in range(n):
        of_root[root[r]] += weight[r] / n
    return float(1.0 - (n / (n - 1.0)) ** (n_resampled + 1) * (1.0 - (of_root * of_root).sum()))
