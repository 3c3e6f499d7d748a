import itertools

import numpy as np
import pytest

from models.allocation.annealing.population import Path, new_population, start
from models.allocation.annealing.sweep import moves_of, sweep
from models.allocation.annealing.urn import count, log_probability, urn_of
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

X = np.array([[3, 1], [0, 2]])
MODELS = {
    "nmf": AllocationModel.nmf(2, 2, 3, 0.8),
    "symmetric nmf": AllocationModel.symmetric_nmf(2, 3),
    "tucker": AllocationModel.tucker((2, 2), (2, 2), 2.0),
}


def path_from(urn, mean):
    return Path(np.array([0.0, 1.0]), np.full(len(urn.alpha), mean), urn.alpha)


def exact_probabilities(urn, rho):
    """Probability of the counts of each allocation, by listing all values of all tokens."""
    cell_of = np.repeat(np.arange(len(urn.pattern_of)), np.diff(urn.cell_start))
    found = {}
    n_values = [int(urn.n_values[urn.pattern_of[cell]]) for cell in cell_of]
    for values in itertools.product(*map(range, n_values)):
        counts = np.zeros(len(urn.alpha))
        for cell, h in zip(cell_of, values, strict=True):
            count(urn, counts, int(cell), h, 1.0)
        key = counts.tobytes()
        found[key] = found.get(key, 0.0) + np.exp(log_probability(urn, counts, rho))
    total = sum(found.values())
    return {key: value / total for key, value in found.items()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("rho", "is_reverse"), [(1.0, False), (0.2, True)])
def test_sweeps_leave_the_posterior_as_it_is(name, rho, is_reverse):
    plan = plan_of(MODELS[name], CellCounts.of(X, MODELS[name]))
    urn = urn_of(plan)
    moves = moves_of(plan, urn)
    expected = exact_probabilities(urn, rho)
    rng = np.random.default_rng(1)
    population = new_population(urn, moves, 1)
    start(population, path_from(urn, 0.0), rng)
    particle = population.counts[0], population.values[0]
    n_batches, n_sweeps = 40, 120
    likeliest = sorted(expected, key=expected.get)[-10:]
    seen = np.zeros((n_batches, len(likeliest)))
    for batch in range(n_batches):
        for turn in range(n_sweeps):
            sweep(urn, moves, population.scratch, *particle, rho, turn, is_reverse, rng)
            key = population.counts[0].tobytes()
            if key in likeliest:
                seen[batch, likeliest.index(key)] += 1 / n_sweeps
    error = seen.std(axis=0, ddof=1) / np.sqrt(n_batches)
    t = (seen.mean(axis=0) - [expected[key] for key in likeliest]) / error
    assert (np.abs(t) < 4).all()
    assert np.mean(t**2) < 2.5
    # a wrong posterior would be seen
    wrong = exact_probabilities(urn, 0.6 if rho == 1.0 else 0.35)
    t = (seen.mean(axis=0) - [wrong[key] for key in likeliest]) / error
    assert np.mean(t**2) > 2.5


def test_counts_are_those_of_the_values():
    plan = plan_of(MODELS["nmf"], CellCounts.of(X, MODELS["nmf"]))
    urn = urn_of(plan)
    moves = moves_of(plan, urn)
    rng = np.random.default_rng(0)
    population = new_population(urn, moves, 1)
    start(population, path_from(urn, 0.0), rng)
    particle = population.counts[0], population.values[0]
    cell_of = np.repeat(np.arange(len(urn.pattern_of)), np.diff(urn.cell_start))
    for turn in range(50):
        sweep(urn, moves, population.scratch, *particle, 0.5, turn, turn % 2 == 1, rng)
        counts = np.zeros(len(urn.alpha))
        for cell, h in zip(cell_of, population.values[0], strict=True):
            count(urn, counts, int(cell), int(h), 1.0)
        assert np.array_equal(counts, population.counts[0])
