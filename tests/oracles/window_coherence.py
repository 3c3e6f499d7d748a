"""Topic coherence by lists, sets and loops: slow and obvious, and nothing of ours in it."""

import math
from itertools import combinations


def windows_of(documents, size):
    """The words of every window; `size` None takes documents whole, and empty ones have none."""
    found = []
    for document in documents:
        if not document:
            continue
        if size is None or len(document) <= size:
            found.append(set(document))
        else:
            found += [set(document[i : i + size]) for i in range(len(document) - size + 1)]
    return found


def count(windows, *words):
    return sum(all(word in window for word in words) for window in windows)


def npmi(windows, a, b):
    n, n_a, n_b, n_ab = len(windows), count(windows, a), count(windows, b), count(windows, a, b)
    if n_ab == 0:
        return -1.0
    if n_ab == n:
        return 1.0
    return math.log(n_ab * n / (n_a * n_b)) / -math.log(n_ab / n)


def topic_coherence(windows, words, measure, smoothing=1.0):
    """Of one topic; words that are in no window are left out."""
    n, seen = len(windows), [word for word in words if count(windows, word)]
    pairs = list(combinations(seen, 2))
    if not pairs:
        return math.nan
    values = []
    if measure == "c_v":
        vectors = [[npmi(windows, a, b) for b in seen] for a in seen]
        total = [sum(column) for column in zip(*vectors, strict=True)]
        for vector in vectors:
            length = math.hypot(*vector) * math.hypot(*total)
            product = sum(x * y for x, y in zip(vector, total, strict=True))
            values.append(product / length if length else 0.0)
        return sum(values) / len(values)
    for a, b in pairs:  # a is the more probable
        n_a, n_b, n_ab = count(windows, a), count(windows, b), count(windows, a, b)
        if measure == "u_mass":
            values.append(math.log((n_ab + smoothing) / n_a))
        elif measure == "c_uci":
            values.append(math.log((n_ab + smoothing) * n / (n_a * n_b)))
        else:
            values.append(npmi(windows, a, b))
    return sum(values) / len(values)
