"""Types of arrays, and of generators of random numbers, for annotations."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Rng = np.random.Generator
