import math

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp

from evaluation.poisson_mrf import exact_partition
from evaluation.poisson_mrf.exact_partition import PartitionCostError, exact_log_partition
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from tests.oracles import poisson_mrf as oracle


def random_mrf(rng, n_words, density, *, scale=1.0, half_length=np.inf):
    """θ far from normalised; each pair of words depends on each other by chance."""
    upper = np.triu(rng.normal(scale=scale, size=(n_words, n_words)), 1)
    upper *= rng.random((n_words, n_words)) < density
    return FixedLengthPoissonMRF(3 + rng.normal(size=n_words), upper + upper.T, half_length)


def of_graph(graph, rng, scale=0.1, half_length=20.0):
    n_words = len(graph)
    phi = np.zeros((n_words, n_words))
    for s, t in nx.convert_node_labels_to_integers(graph).edges:
        phi[s, t] = phi[t, s] = rng.normal(scale=scale)
    return FixedLengthPoissonMRF(rng.normal(size=n_words), phi, half_length)


def by_oracle(mrf, length):
    return oracle.log_partition(mrf.node, mrf.interactions.toarray(), length, mrf.half_length)


def by_listing(mrf, length):
    """Every x in turn, in arrays: for what is too much for the oracle."""
    return logsumexp(mrf.log_weight(np.array(list(oracle.bags(mrf.n_words, length)))))


def test_against_enumeration_of_many_small_models():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n_words, length = int(rng.integers(1, 6)), int(rng.integers(0, 8))
        half_length = rng.choice([np.inf, 2.5, 10.0])
        mrf = random_mrf(rng, n_words, rng.random(), half_length=half_length)
        expected = by_oracle(mrf, length)
        assert_allclose(exact_log_partition(mrf, length), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("probability", [0.5, 0.03])
@pytest.mark.parametrize("phi", [0.02, -0.3, 1.5])
@pytest.mark.parametrize("length", [1, 2, 17, 500])
def test_two_words_are_the_multiplicative_binomial(probability, phi, length):
    """x·Φx = 2 φ x (L - x): Altham's θ is exp 2φ."""
    mrf = FixedLengthPoissonMRF(np.log([probability, 1 - probability]), [[0, phi], [phi, 0]])
    expected = oracle.altham_log_constant(length, probability, 2 * phi) - math.lgamma(length + 1)
    assert exact_log_partition(mrf, length) == pytest.approx(expected, rel=1e-12, abs=1e-11)


def test_two_words_and_very_many_tokens_cost_little():
    mrf = FixedLengthPoissonMRF([0.2, -0.4], [[0, 3.0], [3.0, 0]], half_length=50.0)
    length = 100_000
    phi = 3.0 * mrf.weight(length)
    expected = oracle.altham_log_constant(length, float(mrf.word_probability[0]), 2 * phi)
    expected += length * logsumexp(mrf.node) - gammaln(length + 1)
    assert exact_log_partition(mrf, length) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("length", [0, 1, 2, 60, 100_000])
def test_without_interactions_it_is_the_multinomials(length):
    mrf = random_mrf(np.random.default_rng(1), 200, 0.0)
    expected = length * logsumexp(mrf.node) - gammaln(length + 1)
    assert exact_log_partition(mrf, length) == pytest.approx(expected, rel=1e-12, abs=1e-12)


GRAPHS = {
    "chain": nx.path_graph(7),
    "star": nx.star_graph(6),
    "caterpillar": nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4), (2, 5), (2, 6)]),
    "cycle": nx.cycle_graph(7),
    "wheel": nx.wheel_graph(7),
    "cycle with chords": nx.circulant_graph(7, [1, 3]),
    "forest": nx.disjoint_union_all([nx.path_graph(2), nx.path_graph(3), nx.empty_graph(2)]),
    "ladder": nx.ladder_graph(4),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_summing_words_out_is_listing_all_counts(name, monkeypatch):
    rng = np.random.default_rng(2)
    mrf = of_graph(GRAPHS[name], rng, scale=0.5)
    expected = by_listing(mrf, 9)
    monkeypatch.setattr(exact_partition, "WORDS_A_TERM", 1e-9)  # listing looks too expensive
    listed = exact_partition.log_sums_by_listing

    def never(node, *rest):
        assert len(node) == 2, "listed"
        return listed(node, *rest)

    monkeypatch.setattr(exact_partition, "log_sums_by_listing", never)
    assert exact_log_partition(mrf, 9) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(exact_partition, "log_sums_by_listing", listed)
    monkeypatch.setattr(exact_partition, "LARGEST_TABLE", 0)
    monkeypatch.setattr(exact_partition, "WORDS_A_TERM", 32)
    assert exact_log_partition(mrf, 9) == pytest.approx(expected, rel=1e-12)


def star_log_partition(mrf, length):
    """Given the hub's count y, the leaves are a multinomial: Σ_y e^{θy} (Σ e^{θ_s + 2φ_s y})^n."""
    leaves, weight = mrf.node[1:], float(mrf.weight(length))
    phi, logs = mrf.interactions.toarray()[0, 1:], []
    for y in range(length + 1):
        n, field = length - y, logsumexp(leaves + 2 * weight * phi * y)
        logs.append(mrf.node[0] * y - gammaln(y + 1) + n * field - gammaln(n + 1))
    return logsumexp(logs)


def test_stars_and_chains_of_thirty_words():
    rng = np.random.default_rng(3)
    for length in (1, 7, 50):
        mrf = of_graph(nx.star_graph(29), rng, scale=0.3, half_length=np.inf)
        expected = star_log_partition(mrf, length)
        assert exact_log_partition(mrf, length) == pytest.approx(expected, rel=1e-12)
    rng = np.random.default_rng(4)
    mrf = of_graph(nx.path_graph(30), rng, scale=0.1, half_length=30.0)
    expected = transfer_log_partition(mrf, 50)
    assert exact_log_partition(mrf, 50) == pytest.approx(expected, rel=1e-12)


def transfer_log_partition(mrf, length):
    """A chain, as a product of matrices over (count of the word, tokens so far), in numbers."""
    weight, phi = float(mrf.weight(length)), mrf.interactions.toarray()
    state = None
    for s in range(mrf.n_words):
        new = np.zeros((length + 1, length + 1))
        for x in range(length + 1):
            own = math.exp(mrf.node[s] * x - math.lgamma(x + 1))
            if state is None:
                new[x, x] = own
                continue
            factor = np.exp(2 * weight * phi[s - 1, s] * x * np.arange(length + 1))
            new[x, x:] = own * (factor @ state)[: length + 1 - x]
        state = new
    return math.log(state[:, length].sum())


def test_trees_and_words_that_are_one():
    rng = np.random.default_rng(5)
    mrf, order = of_graph(nx.random_labeled_tree(30, seed=5), rng, scale=0.1), rng.permutation(30)
    phi = mrf.interactions.toarray()[np.ix_(order, order)]
    other = FixedLengthPoissonMRF(mrf.node[order], phi, mrf.half_length)
    found = exact_log_partition(mrf, 50)
    assert exact_log_partition(other, 50) == pytest.approx(found, rel=1e-13)
    without = FixedLengthPoissonMRF(mrf.node, np.zeros((30, 30)))
    assert exact_log_partition(without, 50) != pytest.approx(found, abs=0.01)
    phi = [[0, 0.4, 0.4], [0.4, 0, 0], [0.4, 0, 0]]
    mrf = FixedLengthPoissonMRF([0.3, -0.2, 0.7], phi, half_length=6.0)
    both = FixedLengthPoissonMRF([0.3, np.logaddexp(-0.2, 0.7)], [[0, 0.4], [0.4, 0]], 6.0)
    for length in (2, 9, 40):
        expected = exact_log_partition(both, length)
        assert exact_log_partition(mrf, length) == pytest.approx(expected, rel=1e-12)


def test_many_components():
    """Pairs and words alone, 60 words: by the coefficient of z^L in the product of polynomials."""
    rng = np.random.default_rng(6)
    graph = nx.disjoint_union_all([nx.path_graph(2)] * 20 + [nx.empty_graph(20)])
    mrf = of_graph(graph, rng, scale=0.5)
    length, phi, weight = 12, mrf.interactions.toarray(), float(mrf.weight(12))
    series = np.array([1.0])
    for s in range(0, 40, 2):
        pair = [
            math.fsum(
                math.exp(
                    mrf.node[s] * x + mrf.node[s + 1] * (n - x)
                    + 2 * weight * phi[s, s + 1] * x * (n - x)
                ) / math.factorial(x) / math.factorial(n - x)
                for x in range(n + 1)
            )
            for n in range(length + 1)
        ]  # fmt: skip
        series = np.convolve(series, pair)[: length + 1]
    for s in range(40, 60):
        alone = [math.exp(mrf.node[s] * n) / math.factorial(n) for n in range(length + 1)]
        series = np.convolve(series, alone)[: length + 1]
    assert exact_log_partition(mrf, length) == pytest.approx(math.log(series[length]), rel=1e-12)


def test_constants_in_theta_and_strong_interactions():
    mrf = random_mrf(np.random.default_rng(7), 5, 0.6)
    shifted = FixedLengthPoissonMRF(mrf.node + 800.0, mrf.interactions)
    found = exact_log_partition(shifted, 6) - exact_log_partition(mrf, 6)
    assert found == pytest.approx(6 * 800.0, rel=1e-13)
    for phi in (30.0, -30.0):
        mrf = FixedLengthPoissonMRF([0.0, 1.0, -1.0], phi * (1 - np.eye(3)))
        expected = by_oracle(mrf, 12)
        assert exact_log_partition(mrf, 12) == pytest.approx(expected, rel=1e-12)


def test_what_is_too_much_is_refused_by_the_states_it_needs():
    rng = np.random.default_rng(8)
    mrf = random_mrf(rng, 1000, 0.1)
    with pytest.raises(PartitionCostError, match='use method "ais"') as caught:
        exact_log_partition(mrf, 100)
    assert caught.value.length == 100
    assert caught.value.n_states > caught.value.max_states == exact_partition.MAX_STATES
    huge = random_mrf(rng, 40, 1.0)
    with pytest.raises(PartitionCostError, match="more than 1e308 states"):
        exact_log_partition(FixedLengthPoissonMRF(mrf.node, mrf.interactions), 10_000_000)
    with pytest.raises(PartitionCostError):
        exact_log_partition(huge, 50)
    rng = np.random.default_rng(9)
    for graph in (nx.path_graph(12), nx.complete_graph(4), nx.cycle_graph(8), GRAPHS["ladder"]):
        mrf = of_graph(graph, rng)
        with pytest.raises(PartitionCostError) as caught:
            exact_log_partition(mrf, 12, max_states=10)
        needed = int(caught.value.n_states)
        exact_log_partition(mrf, 12, max_states=needed)
        with pytest.raises(PartitionCostError):
            exact_log_partition(mrf, 12, max_states=needed - 1)
    rng = np.random.default_rng(11)
    for n_alone, n_joins in ((0, 1), (3, 2)):
        parts = [nx.path_graph(2), nx.path_graph(2), nx.empty_graph(n_alone)]
        mrf = of_graph(nx.disjoint_union_all(parts), rng)
        with pytest.raises(PartitionCostError) as caught:
            exact_log_partition(mrf, 10, max_states=1)
        assert caught.value.n_states == (2 + n_joins) * 66


def test_two_tokens_of_a_thousand_words_that_all_depend_on_each_other():
    """Σ_st e^{θ_s + θ_t} exp(2 Φ_st) / 2."""
    mrf = random_mrf(np.random.default_rng(10), 1000, 0.5)
    logs = mrf.node[:, None] + mrf.node + 2 * mrf.interactions.toarray()
    expected = logsumexp(logs) - math.log(2)
    assert exact_log_partition(mrf, 2) == pytest.approx(expected, rel=1e-12)
