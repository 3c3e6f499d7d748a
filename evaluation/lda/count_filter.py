"""Filter over topic counts: exact log p(j_l | j_<l) of a document's tokens, given the topics.

A document's probability depends on its topic assignments only through how often each topic was
assigned (Buntine 2009, eq. 1), so the K^L assignments need not be enumerated: let f_l(C) be the
joint probability of the first l tokens and topic counts C, ΣC = l. Then f_0(0) = 1 and, by eq. 7,

    f_{l+1}(C) = Σ_k f_l(C - e_k) φ_k,j_l (C_k - 1 + α_k) / (l + Σα)

and p(j_0..j_l) = Σ_C f_{l+1}(C). All terms are positive, so nothing cancels. Dividing f by its sum
after each token keeps it in range; the sums are the p(j_l | j_<l).

The last topic's count follows from l, so f_l is one array over {c_1..c_{K-1} : Σc <= L}. A block
has all counts of one prefix (c_1..c_{K-3}), in lexicographic order, with a row for each sum s of
the two other counts, (0, s) to (s, 0), from 0 to L - Σ prefix, so that blocks line up. A token
changes the array in place, from the last block and row to the first, as f(C) depends on the earlier
f(C - e_k). That takes binom(L+K-1, K-1) numbers, and K binom(L+K, K) multiplications and additions.
"""

import numpy as np

from evaluation.arrays import Floats, Ints
from models.kernel import kernel

SMALLEST = 1e-290  # smaller numbers become 0, as arithmetic on subnormal numbers is slow


@kernel
def filter_counts(
    word_of: Ints,
    word_topic: Floats,
    alpha: Floats,
    alpha_sum: float,
    in_logs: bool,
    log_conditional: Floats,
) -> None:
    """Fill `log_conditional` with log p(j_l | j_<l) under the topics `word_topic`.

    `word_of` and `log_conditional` are (L,); `word_topic` is (U, K), K >= 2, with rows whose
    maximum is about 1, or their logarithms if `in_logs`. Then f is in logarithms too: far slower,
    but nothing underflows. `alpha` (K,) is without topics that have none of the words, `alpha_sum`
    is with them.
    """
    n_tokens, n_topics = len(word_of), len(alpha)
    size = simplex_sizes(n_topics, n_tokens + 1)
    f = np.full(size[n_topics - 1, n_tokens], -np.inf if in_logs else 0.0)
    f[0] = 0.0 if in_logs else 1.0
    log_scale = 0.0
    # Factors of f for each topic, by c = C_k of the sum: φ (c - 1 + α_k), and by l + 1 - c.
    rising, falling = np.empty((2, n_topics, n_tokens + 1))
    for seen in range(n_tokens):
        log_scale -= np.log(seen + alpha_sum)
        for k in range(n_topics):
            weights = rising[k, : seen + 2]
            if in_logs:
                weight = word_topic[word_of[seen], k] + log_scale
                for c in range(1, seen + 2):
                    weights[c] = weight + np.log(c - 1 + alpha[k])
                weights[0] = -np.inf
            else:
                weight = word_topic[word_of[seen], k] * np.exp(log_scale)
                for c in range(1, seen + 2):
                    weights[c] = weight * (c - 1 + alpha[k])
                weights[0] = 0.0
            for c in range(seen + 2):
                falling[k, c] = weights[seen + 1 - c]
        log_conditional[seen] = add_token(
            f, n_tokens, rising[:, : seen + 2], falling[:, : seen + 2], size, in_logs
        )
        log_scale = -log_conditional[seen]


@kernel
def simplex_sizes(n_topics: int, n: int) -> Ints:
    """Return (K, n) of binom(r + d, d) at [d, r]: the ways for d counts to add up to at most r."""
    size = np.ones((n_topics, n), dtype=np.int64)
    for d in range(1, n_topics):
        for r in range(1, n):
            size[d, r] = size[d, r - 1] + size[d - 1, r]
    return size


@kernel
def add_token(
    f: Floats, n_tokens: int, rising: Floats, falling: Floats, size: Ints, in_logs: bool
) -> float:
    """Turn f_l into f_{l+1}, in place; return the logarithm of its sum.

    `rising` (K, l + 2) holds each topic's factors of f_l(C - e_k) by its count c in f_{l+1};
    `falling` (K, l + 2) the same by l + 1 - c.
    """
    n_topics, n_counts = rising.shape
    if n_topics == 2:
        return add_token_of_two(f, rising[0], falling[1], in_logs)
    n_prefix = n_topics - 3
    prefix = np.zeros(n_prefix, dtype=np.int64)
    left = np.full(n_prefix + 1, n_tokens)  # of L, before each place of the prefix
    neighbour, neighbour_weight = np.empty(n_prefix, dtype=np.int64), np.empty(n_prefix)
    total = -np.inf if in_logs else 0.0
    if n_prefix:
        prefix[0] = n_counts - 1
    changed = 0  # the first place of the prefix that has
    while changed >= 0:
        for k in range(changed, n_prefix):
            left[k + 1] = left[k] - prefix[k]
        start = 0
        for k in range(n_prefix):
            start += size[n_topics - 1 - k, left[k]] - size[n_topics - 1 - k, left[k + 1]]
        # Starts of the blocks of prefix - e_k: in between are their own and later blocks.
        n_neighbours = 0
        gap = size[2, left[n_prefix]] + left[n_prefix] + 2
        for k in range(n_prefix - 1, -1, -1):
            if prefix[k]:
                neighbour[n_neighbours] = start - gap
                neighbour_weight[n_neighbours] = rising[k, prefix[k]]
                n_neighbours += 1
            gap += size[n_topics - 1 - k, left[k]]
        n_rows = n_counts - (n_tokens - left[n_prefix])
        weights = rising[n_prefix], falling[n_prefix + 1], falling[n_prefix + 2, -n_rows:]
        neighbours = neighbour[:n_neighbours], neighbour_weight[:n_neighbours]
        if in_logs:
            total = add_logs(total, update_block_in_logs(f, start, n_rows, weights, neighbours))
        else:
            total += update_block(f, start, n_rows, weights, neighbours)
        changed = to_prefix_before(prefix, n_counts - 1)
    return total if in_logs else float(np.log(total))


@kernel
def to_prefix_before(prefix: Ints, most: int) -> int:
    """Replace `prefix` by its lexicographic predecessor among those with a sum of at most `most`.

    Returns the first changed place, -1 if there is no predecessor.
    """
    k = len(prefix) - 1
    while k >= 0 and prefix[k] == 0:
        k -= 1
    if k >= 0:
        prefix[k] -= 1
        if k + 1 < len(prefix):  # the rest; places after it are 0 already
            for i in range(k + 1):
                most -= prefix[i]
            prefix[k + 1] = most
    return k


@kernel
def update_block(
    f: Floats,
    start: int,
    n_rows: int,
    weights: tuple[Floats, Floats, Floats],
    neighbours: tuple[Ints, Floats],
) -> float:
    """Turn the first rows of the block of f at `start` into those of f_{l+1}; return their sum.

    `weights` are the factors of the three topics outside the prefix: of the first by c, of the
    second by l + 1 - c, and of the last by row. `neighbours` are the starts of the other blocks
    that are added, and their weights.
    """
    first, second, last = weights
    most = len(first) - 1
    for s in range(n_rows - 1, 0, -1):
        at = start + s * (s + 1) // 2
        row, above = f[at : at + s + 1], f[at - s : at]
        mirrored, weight = second[most - s :], last[s]
        row[s] = row[s] * weight + above[s - 1] * first[s]
        for c in range(1, s):
            row[c] = row[c] * weight + above[c - 1] * first[c] + above[c] * mirrored[c]
        row[0] = row[0] * weight + above[0] * mirrored[0]
    f[start] *= last[0]
    block = f[start : start + n_rows * (n_rows + 1) // 2]
    for m in range(len(neighbours[0])):
        other, weight = f[neighbours[0][m] :], neighbours[1][m]
        for i in range(len(block)):
            block[i] += weight * other[i]
    total = 0.0
    for i in range(len(block)):
        block[i] = block[i] if block[i] >= SMALLEST else 0.0
    for i in range(len(block)):
        total += block[i]
    return total


@kernel
def update_block_in_logs(
    f: Floats,
    start: int,
    n_rows: int,
    weights: tuple[Floats, Floats, Floats],
    neighbours: tuple[Ints, Floats],
) -> float:
    """Do the same in logarithms: f, all weights and the returned sum are logarithms."""
    first, second, last = weights
    most = len(first) - 1
    total = -np.inf
    for s in range(n_rows - 1, -1, -1):
        row = s * (s + 1) // 2
        for c in range(s + 1):
            value = f[start + row + c] + last[s]
            if c > 0:
                value = add_logs(value, f[start + row - s + c - 1] + first[c])
            if c < s:
                value = add_logs(value, f[start + row - s + c] + second[most - s + c])
            for m in range(len(neighbours[0])):
                value = add_logs(value, f[neighbours[0][m] + row + c] + neighbours[1][m])
            f[start + row + c] = value
            total = add_logs(total, value)
    return total


@kernel
def add_token_of_two(f: Floats, first: Floats, second: Floats, in_logs: bool) -> float:
    """Do `add_token` for two topics, with f by the count of the first."""
    if in_logs:
        log_total = -np.inf
        for c in range(len(first) - 1, -1, -1):
            value = f[c] + second[c]
            if c > 0:
                value = add_logs(value, f[c - 1] + first[c])
            f[c] = value
            log_total = add_logs(log_total, value)
        return log_total
    total = 0.0
    for c in range(len(first) - 1, -1, -1):
        value = f[c] * second[c]
        if c > 0:
            value += f[c - 1] * first[c]
        f[c] = value if value >= SMALLEST else 0.0
    for c in range(len(first)):
        total += f[c]
    return float(np.log(total))


@kernel
def add_logs(a: float, b: float) -> float:
    """Return log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))
