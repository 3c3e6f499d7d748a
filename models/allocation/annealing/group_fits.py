"""Fits of labels to groups of tokens."""

import numpy as np

from models.arrays import Floats, Ints
from models.kernel import exact_kernel


@exact_kernel
def group_fits(group_of: Ints, counts: Ints, log_shares: Floats) -> Floats:
    """Return the sums of the logs of labels' shares over the tokens of groups (n_values, n_values).

    Tokens (n_tokens,) are in the order of the cells, which have `counts` (n_cells,) of them; of
    each cell, `log_shares` (n_cells, n_values) has the logs of the shares of labels.
    """
    n_values = log_shares.shape[1]
    fits, n_here = np.zeros((n_values, n_values)), np.zeros(n_values)
    stop = 0
    for cell in range(counts.shape[0]):
        first, stop = stop, stop + counts[cell]
        for token in range(first, stop):
            n_here[group_of[token]] += 1.0
        for token in range(first, stop):
            group = group_of[token]
            if n_here[group] > 0.0:
                for label in range(n_values):
                    fits[group, label] += n_here[group] * log_shares[cell, label]
                n_here[group] = 0.0
    return fits
