import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from models.poisson_mrf.condensation import (
    MARGIN,
    condensed_floor,
    critical_lengths,
    damp_condensing_interactions,
)
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from tests.oracles.poisson_mrf import bags, log_partition


def field(pairs, node, half_length=np.inf):
    phi = np.zeros((len(node), len(node)))
    for s, t, value in pairs:
        phi[s, t] = phi[t, s] = value
    return Field(np.array(node, float), phi, half_length).normalised()


def log_share(mrf, length):
    """log p of the likeliest document of two words or more that hold no token of word 0."""
    truth = log_partition(mrf.node, mrf.interactions.toarray(), length, mrf.half_length)
    rare = [x for x in bags(mrf.n_words, length) if x[0] == 0]
    return float(mrf.log_weight(np.array(rare)).max()) - truth


def of_weights(weights, node, half_length):
    pairs = [(s, t) for s in range(4) for t in range(s)]
    return field([(*p, w) for p, w in zip(pairs, weights, strict=True)], node, half_length)


weights = st.lists(st.floats(-0.5, 2.5), min_size=6, max_size=6)
nodes = st.lists(st.floats(-6.0, 1.0), min_size=4, max_size=4)


@settings(max_examples=40, deadline=None)
@given(weights, nodes, st.sampled_from([np.inf, 5.0]), st.integers(2, 9))
def test_the_floor_is_below_the_partition_function(weights, node, half_length, length):
    mrf = of_weights(weights, node, half_length)
    truth = log_partition(mrf.node, mrf.interactions.toarray(), length, half_length)
    assert condensed_floor(mrf, np.array([length]))[0] <= truth + gammaln(length + 1) + 1e-9


@pytest.mark.parametrize(
    "pairs", [[(1, 2, 1.5)], [(1, 2, 0.9), (2, 3, 0.9), (1, 3, 0.9)]], ids=["pair", "clique"]
)
def test_a_field_that_condenses_is_held(pairs):
    mrf = field([*pairs, (0, 1, 0.05)], [6.0, 0.0, 0.0, 0.0], half_length=30.0)
    assert log_share(mrf, 14) > -2.0  # a single document, though word 0 is 400 times as frequent
    weaker = damp_condensing_interactions(mrf, 16)
    assert all(log_share(weaker, length) < -MARGIN + 1.0 for length in (8, 12, 14))
    phi, before = weaker.interactions, mrf.interactions
    assert all(0 < phi[s, t] < before[s, t] for s, t, _ in pairs)
    assert phi[0, 1] == before[0, 1]
    assert condensed_floor(weaker, np.arange(2, 17)).max() <= MARGIN  # against about 0


def test_fields_that_stay_as_they_are():
    mrf = field([(0, 1, 0.1), (1, 2, -0.8), (2, 3, 0.2)], [0.0, -0.5, -1.0, -1.0], 8.0)
    weaker = damp_condensing_interactions(mrf, 40)
    assert (weaker.interactions != mrf.interactions).nnz == 0
    assert (weaker.node == mrf.node).all()
    assert weaker.half_length == mrf.half_length
    mrf = field([(1, 2, 3.0), (1, 3, 3.0), (2, 3, -0.2)], [5.0, 0.0, 0.0, 0.0], 10.0)
    weaker = damp_condensing_interactions(mrf, 30)
    assert weaker.interactions[1, 2] < 3.0
    assert weaker.interactions[2, 3] == pytest.approx(-0.2, abs=0)
    mrf = field([], [0.0, 1.0])
    assert damp_condensing_interactions(mrf, 20).interactions.nnz == 0
    assert condensed_floor(mrf, np.array([5]))[0] == -np.inf
    assert critical_lengths(10.0, 100) == [5, 7, 10, 14, 20]
    assert (critical_lengths(10.0, 8), critical_lengths(np.inf, 30)) == ([5, 7, 8], [30])
    assert critical_lengths(1.0, 30) == [2]


@pytest.mark.parametrize("longest", [0, 1, 2, 3])
def test_short_documents(longest):
    assert damp_condensing_interactions(field([(0, 1, 1.0)], [0.0, 0.0]), longest).n_words == 2
