"""States of training: carried through a file of arrays, and compared."""

import numpy as np
from numpy.testing import assert_array_equal


def carried(state):
    arrays = {name: np.asarray(value) for name, value in vars(state).items()}
    return type(state)(**{n: v.item() if v.ndim == 0 else v.copy() for n, v in arrays.items()})


def assert_same_state(one, other):
    for name, value in vars(one).items():
        assert_array_equal(value, getattr(other, name), err_msg=name)
