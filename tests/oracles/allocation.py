"""The probability of counts under an allocation model, slow and plain.

Of the model only what it was made of is used: parents, cardinalities, visible, a, b, prior, tied.
Equations are those of Cemgil et al. 2019.
"""

import itertools
import math

import numpy as np

from tests.oracles.gamma_poisson_likelihood import partitions_of


def log_probability_by_tokens(model, cells, counts):
    """Log p(X) as the sum over what is unknown of each token, taken in one after the other.

    `cells` (n_cells, n_visible), -1 where an index is unknown. The urn: the counts of all tokens so
    far are one table over all indices, and what a family needs are sums of it.
    """
    names = list(model.parents)
    tokens = [tuple(cell) for cell, n in zip(cells, counts, strict=True) for _ in range(int(n))]
    joint = np.zeros([model.cardinalities[name] for name in names])

    def rest_of(l):  # noqa: E741
        if l == len(tokens):
            return 1.0
        total = []
        for full in completions(model, tokens[l]):
            chance = chance_of_token(model, joint, full)
            if chance:
                joint[full] += 1
                total.append(chance * rest_of(l + 1))
                joint[full] -= 1
        return math.fsum(total)

    probability = rest_of(0)
    if not probability:
        return -math.inf
    return math.log(probability) + log_orders(cells, counts) + log_total(model, sum(counts))


def log_probability_by_tensors(model, X):
    """Log p(X) as the sum of π(S) (eq. 3.11) over all S with these counts; nothing is tied."""
    assert not model.tied
    names, X = list(model.parents), np.asarray(X)
    cells = [tuple(cell) for cell in np.argwhere(X)]
    places = [list(completions(model, cell)) for cell in cells]
    ways = [list(partitions_of(int(X[c]), len(p))) for c, p in zip(cells, places, strict=True)]
    logs = []
    for split in itertools.product(*ways):
        S = np.zeros([model.cardinalities[name] for name in names], dtype=int)
        for where, numbers in zip(places, split, strict=True):
            for full, number in zip(where, numbers, strict=True):
                S[full] += number
        logs.append(log_probability_of_tensor(model, S))
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logs))


def log_probability_of_tensor(model, S):
    """Eq. 3.11: log π(S) of all counts, over all indices in the order of `parents`."""
    T, names = int(S.sum()), list(model.parents)
    total = log_total(model, T) + math.lgamma(T + 1)
    for name, parents in model.parents.items():
        family = (*parents, name)
        marginal = np.einsum(S, range(len(names)), [names.index(each) for each in family])
        alpha = pseudo_counts(model, name)
        total += log_b(alpha + marginal) - log_b(alpha)
    return total - sum(math.lgamma(s + 1) for s in S.ravel())


def log_b(z):
    """Eq. 3.12: the last axis is the index, the others its parents."""
    rows = z.reshape(-1, z.shape[-1])
    return sum(sum(map(math.lgamma, row)) - math.lgamma(sum(row)) for row in rows)


def log_total(model, T):
    """Eq. 3.15: Pr(S₊ = T); b is a / T unless it is given."""
    a = model.a
    b = model.b if model.b is not None else a / max(T, 1)
    log_size = math.lgamma(a + T) - math.lgamma(a) - math.lgamma(T + 1)
    return log_size + a * math.log(b) - (a + T) * math.log(b + 1)


def log_orders(cells, counts):
    """Orders of the tokens with the same counts; which tokens lack which index stays as it is."""
    total, tokens = 0.0, {}
    for cell, n in zip(cells, counts, strict=True):
        pattern = tuple(value == -1 for value in cell)
        tokens[pattern] = tokens.get(pattern, 0) + int(n)
        total -= math.lgamma(int(n) + 1)
    return total + sum(math.lgamma(n + 1) for n in tokens.values())


def completions(model, cell):
    """All values of all indices, in the order of `parents`, that a token of this cell can have."""
    seen = dict(zip(model.visible, cell, strict=True))
    ranges = [
        range(model.cardinalities[name]) if seen.get(name, -1) == -1 else [int(seen[name])]
        for name in model.parents
    ]
    return itertools.product(*ranges)


def chance_of_token(model, joint, full):
    """Eq. 4.1: the probability of all values of the next token, given the counts `joint` so far.

    A table that several indices share is drawn from by each in turn and reinforced at once.
    """
    names = list(model.parents)
    chance, drawn = 1.0, {}
    for name, parents in model.parents.items():
        group, table = group_of(model, name), np.array(pseudo_counts(model, name))
        for each in group:
            axes = [names.index(one) for one in (*model.parents[each], each)]
            table += np.einsum(joint, range(len(names)), axes)
        for value in drawn.setdefault(group, []):
            table[value] += 1
        value = tuple(full[names.index(one)] for one in (*parents, name))
        row = table[value[:-1]]
        if not row[value[-1]]:
            return 0.0
        chance *= row[value[-1]] / row.sum()
        drawn[group].append(value)
    return chance


def group_of(model, name):
    """The indices that share a table with this one, itself included."""
    return next((tuple(group) for group in model.tied if name in group), (name,))


def pseudo_counts(model, name):
    """Eq. 3.3: Dirichlet parameters; flat ones sum to `a` for each index that uses the table."""
    group = group_of(model, name)
    if model.prior is not None:
        return np.asarray(model.prior[group[0]], dtype=float)
    shape = [model.cardinalities[one] for one in (*model.parents[name], name)]
    return np.full(shape, len(group) * model.a / math.prod(shape))
