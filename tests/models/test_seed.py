import numpy as np
import pytest

from models import seed_from


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), np.uint8(255), 2**32, 2**63 - 1])
def test_a_number_is_itself(seed):
    assert seed_from(seed) == int(seed)
    assert type(seed_from(seed)) is int
    np.random.default_rng([seed_from(seed), 1])


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_gives_the_next_seed(make):
    one, same = make(5), make(5)
    first, second = seed_from(one), seed_from(one)
    assert first != second
    assert [first, second] == [seed_from(same), seed_from(same)]
    assert 0 <= first < 2**32


def test_none_draws_a_fresh_one_without_the_global_state():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    drawn = {seed_from(None) for _ in range(20)}
    assert len(drawn) == 20
    assert all(0 <= seed < 2**32 for seed in drawn)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


@pytest.mark.parametrize("bad", [-1, np.int64(-5), 1.0, "7", True, np.True_, [1], object()])
def test_anything_else_is_refused(bad):
    with pytest.raises(ValueError, match=r"seed|random_state"):
        seed_from(bad)
