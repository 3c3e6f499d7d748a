import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from models.order import select_smallest, stable_order

VALUES = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, np.inf]), max_size=40)


@given(VALUES)
def test_equal_values_keep_their_order(values):
    values = np.array(values)
    assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))


@given(VALUES.filter(bool), st.data())
def test_the_value_after_some_others(values, data):
    n_below = data.draw(st.integers(0, len(values) - 1))
    assert select_smallest(np.array(values), n_below) == np.sort(values)[n_below]
