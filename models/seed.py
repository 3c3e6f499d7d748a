"""Seeds: the setting `random_state` as a number that can be recorded."""

import secrets
from typing import Any

import numpy as np


def seed_from(random_state: Any) -> int:
    """Return the seed of `random_state`: itself, one drawn from a generator, or a fresh one.
    Raises ValueError if it is negative, or neither a number nor a generator.
    """
    if random_state is None:
        return secrets.randbits(32)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"the seed must be from 0 to 2**63 - 1, found {random_state}")
        return int(random_state)
    raise ValueError(f"random_state must be a number or a numpy generator, found {random_state!r}")
