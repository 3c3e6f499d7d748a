import math

import numpy as np
import pytest
from scipy.stats import chisquare

from evaluation.allocation.simulate import draw
from models.allocation.annealing.label_moves import exchange_labels, labels_of
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.urn import log_probability
from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.inference_plan import plan_of
from models.allocation.joint_values import all_values
from models.allocation.model import AllocationModel

RHO = 0.7
MODELS = {
    "nmf": AllocationModel.nmf(3, 4, 4, a=2.0),
    "symmetric nmf": AllocationModel.symmetric_nmf(4, 3, a=2.0),
    "tucker": AllocationModel.tucker((3, 4), (3, 2), a=2.0),
    "hidden Markov": AllocationModel.hidden_markov(3, 3, 4, a=2.0),
    "hidden Markov, tied": AllocationModel.hidden_markov(3, 3, 4, a=2.0, tied=True),
    "pachinko": AllocationModel.pachinko(2, 3, (2, 3), 0.7, 0.5),
    "latent Dirichlet allocation": AllocationModel.lda(3, 4, 3, 0.7, 0.5),
}


def drawn(model, n_tokens, seed):
    """Return the posterior of a table, joint values, and the urn with pseudo-counts of a path."""
    rng = np.random.default_rng(seed)
    observed, _ = draw(model, n_tokens, rng)
    posterior = Posterior.of(plan_of(model, observed))
    pattern = np.repeat(posterior.plan.arrays.pattern_of, observed.counts)
    values = rng.integers(0, posterior.urn.n_values[pattern]).astype(np.int32)
    mean = posterior.chain_at(values).counts[0]
    return posterior, values, posterior.urn._replace(alpha=posterior.urn.alpha + (1 - RHO) * mean)


def columns_of(posterior, values):
    plan, counts = posterior.plan, posterior.plan.observed.counts
    every = all_values(plan, np.repeat(np.arange(len(counts)), counts), values)
    return dict(zip(plan.model.indices, every.T, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_renamed_and_nothing_else(name):
    model, has_changed = MODELS[name], False
    posterior, values, urn = drawn(model, 30, 1)
    assert exchangeable_classes(model)
    labels, rng = labels_of(posterior.plan), np.random.default_rng(2)
    counts, new = posterior.chain_at(values).counts[0], values.copy()
    before = columns_of(posterior, values)
    for _ in range(20):
        exchange_labels(urn, labels, counts, new, RHO, rng)
        np.testing.assert_array_equal(counts, posterior.chain_at(new).counts[0])
        after = columns_of(posterior, new)
        has_changed |= not np.array_equal(new, values)
        for names in exchangeable_classes(model):
            old_labels, new_labels = (
                np.concatenate([each[index] for index in names]) for each in (before, after)
            )
            n_pairs = len(np.unique(np.stack([old_labels, new_labels]), axis=1).T)
            assert n_pairs == len(np.unique(old_labels)) == len(np.unique(new_labels))
        fixed = set(model.indices).difference(*exchangeable_classes(model))
        assert all((before[index] == after[index]).all() for index in fixed)
    assert has_changed


@pytest.mark.parametrize("name", ["nmf", "tucker", "hidden Markov, tied"])
def test_each_order_of_labels_is_as_frequent_as_it_is_probable(name):
    model = MODELS[name]
    posterior, values, urn = drawn(model, 6, 3)
    labels, rng = labels_of(posterior.plan), np.random.default_rng(4)
    counts, seen = posterior.chain_at(values).counts[0], {}
    for _ in range(3000):
        exchange_labels(urn, labels, counts, values, RHO, rng)
        level = round(log_probability(urn, counts, RHO), 9)
        seen.setdefault(values.tobytes(), [level, 0])[1] += 1
    levels, times = np.array(list(seen.values())).T
    n_orders, columns = 1, columns_of(posterior, values)
    for names in exchangeable_classes(model):
        used = np.unique(np.concatenate([columns[each] for each in names]))
        n_orders *= math.perm(model.cardinalities[names[0]], len(used))
    assert len(seen) == n_orders
    chances = np.exp(levels - levels.max())
    expected = chances / chances.sum() * times.sum()
    is_common = expected > 10
    assert is_common.sum() > 3
    observed = times[is_common]
    expected = expected[is_common] * observed.sum() / expected[is_common].sum()
    assert chisquare(observed, expected).pvalue > 0.01


def test_labels_that_the_prior_tells_apart_stay():
    nmf = AllocationModel.nmf(3, 3, 2)
    prior = {"k": [1.0, 2.0], "i": np.ones((2, 3)), "j": np.ones((2, 3))}
    model = AllocationModel(nmf.parents, nmf.cardinalities, nmf.visible, prior=prior)
    observed = CellCounts(np.array([[0, MISSING], [1, 2]]), np.array([3, 2]), (3, 3))
    labels = labels_of(plan_of(model, observed))
    assert labels.size.size == labels.entry.size == 0
