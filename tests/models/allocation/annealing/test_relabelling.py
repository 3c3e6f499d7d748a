import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from models.allocation.annealing.relabelling import RULES, Relabelling
from models.allocation.annealing.urn import count, log_probability, urn_of
from models.allocation.cell_counts import CellCounts
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

MODELS = {
    "nmf": (AllocationModel.nmf(3, 3, 3, 0.8), (("k",),)),
    "symmetric nmf": (AllocationModel.symmetric_nmf(3, 3), (("k",),)),
    "tucker": (AllocationModel.tucker((3, 3), (2, 3), 2.0), (("k1",), ("k2",))),
    "tied hidden Markov": (AllocationModel.hidden_markov(2, 3, 3, tied=True), (("h1", "h2"),)),
}
X = np.array([[3, 1, 0], [0, 2, 2], [1, 0, 4]])
WHERE = pytest.mark.parametrize("name", MODELS)


def laid_down(name, n_modes=2):
    """Return the plan, labels for modes at random, and joint values of groups of unequal sizes."""
    model, classes = MODELS[name]
    plan = plan_of(model, CellCounts.of(X, model))
    urn, rng = urn_of(plan), np.random.default_rng(3)
    labels = Relabelling.of(
        plan, urn, [rng.gamma(1.0, 1.0, len(urn.alpha)) for _ in range(n_modes)]
    )
    n_values = int(urn.n_values[0])
    while True:
        values = rng.choice(n_values, X.sum(), p=rng.dirichlet(np.ones(n_values))).astype(np.int32)
        digits = np.unravel_index(values, [model.cardinalities[n] for n in plan.unknown[0]])
        of = dict(zip(plan.unknown[0], digits, strict=True))
        sizes = [
            sum(np.bincount(of[n], minlength=model.cardinalities[n]) for n in names)
            for names in classes
        ]
        if all(len(set(each)) == len(each) for each in sizes):
            return plan, labels, values


def copies(plan, classes, values):
    """Return the joint values under all permutations of the labels."""
    sizes = [plan.model.cardinalities[name] for name in plan.unknown[0]]
    digits = np.array(np.unravel_index(values, sizes))
    orders = [itertools.permutations(range(plan.model.cardinalities[c[0]])) for c in classes]
    for permutations in itertools.product(*orders):
        renamed = digits.copy()
        for names, permutation in zip(classes, permutations, strict=True):
            for name in names:
                place = plan.unknown[0].index(name)
                renamed[place] = np.array(permutation)[digits[place]]
        yield np.ravel_multi_index(tuple(renamed), sizes).astype(np.int32)


@WHERE
def test_probabilities_of_all_modes_and_labels_have_the_sum_1(name):
    plan, labels, values = laid_down(name)
    classes, rng = MODELS[name][1], np.random.default_rng(0)
    n_copies = 2 * math.prod(math.factorial(plan.model.cardinalities[c[0]]) for c in classes)
    weights = [
        math.exp(labels.log_weight(each, mode, rng))
        for each in copies(plan, classes, values)
        for mode in range(2)
    ]
    assert len(weights) == n_copies
    assert sum(weights) / n_copies == pytest.approx(1.0, rel=1e-12)
    assert max(weights) / min(weights) > 1.2


@WHERE
def test_weights_by_each_of_the_rules_are_those_by_one_rule(name):
    _, labels, values = laid_down(name)
    found = labels.log_weights(values, 1, np.random.default_rng(0))
    one_by_one = [
        replace(labels, rules=rules).log_weight(values, 1, np.random.default_rng(0))
        for rules in RULES
    ]
    assert found == pytest.approx(one_by_one, rel=1e-12)
    fitted = labels.fitted([(1, values), (1, values)], np.random.default_rng(0))
    assert fitted.rules == RULES[found.argmax()]
    assert fitted.fits == pytest.approx(2 * found, rel=1e-12)


@WHERE
def test_what_is_drawn_has_the_weight_that_it_is_said_to_have(name):
    plan, labels, values = laid_down(name)
    rng = np.random.default_rng(1)
    every = {each.tobytes() for each in copies(plan, MODELS[name][1], values)}
    seen = set()
    for _ in range(60):
        mode, relabelled, log_weight = labels.draw(values, rng)
        assert relabelled.tobytes() in every
        assert labels.log_weight(relabelled, mode, rng) == pytest.approx(log_weight, rel=1e-12)
        seen.add((mode, relabelled.tobytes()))
    assert len(seen) > 3


def test_groups_of_equal_size_are_labelled_in_random_order():
    model = AllocationModel.nmf(2, 2, 2, 0.5)
    plan = plan_of(model, CellCounts.of(np.array([[2, 0], [0, 2]]), model))
    urn, rng = urn_of(plan), np.random.default_rng(2)
    labels = Relabelling.of(plan, urn, [rng.gamma(1.0, 1.0, len(urn.alpha))])
    values = np.array([0, 0, 1, 1], dtype=np.int32)
    both = [
        [math.exp(labels.log_weight(each, 0, rng)) for _ in range(4000)]
        for each in (values, 1 - values)
    ]
    assert np.mean(both[0]) + np.mean(both[1]) == pytest.approx(2.0, abs=0.03)


@WHERE
def test_which_labels_are_exchangeable(name):
    model, classes = MODELS[name]
    assert exchangeable_classes(model) == classes
    plan, _, values = laid_down(name)
    urn, found = urn_of(plan), []
    cell_of = np.repeat(np.arange(len(urn.pattern_of)), np.diff(urn.cell_start))
    for each in copies(plan, classes, values):
        counts = np.zeros(len(urn.alpha))
        for cell, value in zip(cell_of, each, strict=True):
            count(urn, counts, int(cell), int(value), 1.0)
        found.append(log_probability(urn, counts, 1.0))
    assert len(found) > 5
    assert found == pytest.approx([found[0]] * len(found), rel=1e-12)
