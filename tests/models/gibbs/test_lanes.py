"""Vectors of blocks of topics: compiled, they give what plain Python does."""

import os

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.gibbs.lanes import lane_of, weigh
from models.kernel import kernel
from models.lanes import LANES

N_TOPICS, N_PLACES = 40, 3 * LANES


@kernel
def compiled_lane_of(topics, start, k):
    return lane_of(topics, start, k)


@kernel
def compiled_weigh(counts, topics, start, without, phi, p, at):
    return weigh(counts, topics, start, without, phi, p, at)


starts = st.integers(0, N_PLACES - LANES)


@given(seed=st.integers(0, 1000), start=starts, k=st.integers(0, N_TOPICS))
def test_lane_is_that_of_the_first_place_with_the_topic(seed, start, k):
    topics = np.random.default_rng(seed).integers(0, N_TOPICS, N_PLACES).astype(np.uint16)
    listed = [*topics[start : start + LANES]]
    expected = listed.index(k) if k in listed else LANES
    assert compiled_lane_of(topics, start, k) == lane_of(topics, start, k) == expected


@pytest.mark.parametrize("k", [0, 32_767, 32_768, 65_534, 65_535])
def test_lane_of_topics_of_any_size(k):
    topics = np.full(N_PLACES, 1, dtype=np.uint16)
    topics[20] = k
    assert compiled_lane_of(topics, 5, np.int64(k)) == lane_of(topics, 5, k) == 15


@given(
    seed=st.integers(0, 1000), start=starts, without=st.integers(-3 * LANES, 3 * LANES), at=starts
)
def test_weights_and_their_sum_are_those_of_plain_python(seed, start, without, at):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 2 ** int(rng.integers(1, 24)), N_PLACES).astype(np.int32)
    topics = rng.integers(0, N_TOPICS, N_PLACES).astype(np.uint16)
    phi = rng.gamma(0.1, size=N_TOPICS).astype(np.float32)
    expected, found = (np.full(N_PLACES, -1.0, dtype=np.float32) for _ in range(2))
    total = weigh(counts, topics, start, without, phi, expected, at)
    compiled_total = compiled_weigh(counts, topics, start, without, phi, found, at)
    assert compiled_total == pytest.approx(total, rel=1e-6)  # in any order
    assert np.array_equal(found, expected)
    left = counts[start : start + LANES].astype(np.float64)
    if 0 <= without < LANES:
        left[without] = 0
    exact = left * phi[topics[start : start + LANES]]
    assert np.allclose(found[at : at + LANES], exact, rtol=1e-6)
    assert total == pytest.approx(exact.sum(), rel=1e-5)
    assert (np.delete(found, np.arange(at, at + LANES)) == -1).all()


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="types are of kernels")
def test_arrays_of_other_types_are_refused():
    topics, counts = np.zeros(2 * LANES, np.uint16), np.zeros(2 * LANES, np.int64)
    weights = np.zeros(2 * LANES, np.float32)
    with pytest.raises(numba.TypingError):
        compiled_lane_of(topics[::2], 0, 1)
    with pytest.raises(numba.TypingError):
        compiled_lane_of(counts, 0, 1)
    with pytest.raises(numba.TypingError):
        compiled_weigh(counts, topics, 0, 0, weights, weights, 0)
