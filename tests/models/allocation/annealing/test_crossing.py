import numpy as np
import pytest

from models.allocation.annealing.crossing import Crossing
from models.allocation.annealing.mode import FEW, mode_with
from models.allocation.annealing.path import even_path, mode_path, slowed
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.urn import count_some
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel

FOUR_BLOCKS = np.kron(np.eye(4, dtype=int), np.full((3, 3), 8))


def crossing_of(model, X, n_threads=1, n_steps=100):
    posterior = Posterior.of(plan_of(model, CellCounts.of(X, model)))
    return Crossing(posterior, n_steps, FEW, 0, n_threads)


def values_of(X, block_values):
    """Return the joint values of tokens: the block of rows of each says which."""
    cells = np.argwhere(X)
    return np.repeat(np.array(block_values)[cells[:, 0] // 3], X[X > 0]).astype(np.int32)


def blocks_of(X, values):
    """Return the hidden values of each block's tokens, as sets."""
    block = np.repeat(np.argwhere(X)[:, 0] // 3, X[X > 0])
    return [set(values[block == n].tolist()) for n in range(4)]


@pytest.fixture
def crossing():
    return crossing_of(AllocationModel.nmf(12, 12, 4, 0.001), FOUR_BLOCKS)


def has_each_block_alone(mean):
    """Return whether each hidden value has one block in the rows' table, which is the second."""
    held = mean[4:52].reshape(4, 3, 4).sum(axis=1) > 0
    return bool((held.sum(axis=0) == 1).all() and (held.sum(axis=1) == 1).all())


def test_a_child_has_what_its_parents_found_apart(crossing):
    """One parent tells the first two blocks apart, the other one the last two."""
    posterior, parents = crossing.posterior, []
    for n, each in enumerate([(0, 1, 2, 2), (3, 3, 1, 0)]):
        end = values_of(FOUR_BLOCKS, each)
        parents.append(mode_with(posterior, end, posterior.chain_at(end).counts[0], 20, 0, n))
    line = crossing.evolved(parents, 4, 4, range(3))
    levels = [mode.log_marginal for mode in line]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] > max(mode.log_marginal for mode in parents) + 10

    def has_all_blocks(first, second, seed):
        return has_each_block_alone(crossing._crossed(first, second, np.random.default_rng(seed)))

    first, second = parents
    assert any(has_all_blocks(first, second, seed) for seed in range(100))
    assert not any(has_all_blocks(first, first, seed) for seed in range(100))


@pytest.mark.parametrize(("n_held", "n_emptied"), [(6, {1, 2, 3}), (3, {1, 2}), (1, {1})])
def test_a_child_of_one_mode_begins_without_some_of_its_clusters(n_held, n_emptied):
    crossing = crossing_of(AllocationModel.nmf(12, 12, 8, 0.001), FOUR_BLOCKS)
    end = (np.arange(FOUR_BLOCKS.sum()) % n_held).astype(np.int32)
    whole = crossing.posterior.chain_at(end).counts[0]
    mode, found = mode_with(crossing.posterior, end, whole, 20, 0, 0), set()
    for seed in range(100):
        mean = crossing._emptied(mode, np.random.default_rng(seed))
        is_kept = mean[:8] > 0  # tokens of each hidden value, the first table
        assert np.array_equal(mean[:8], whole[:8] * is_kept)
        assert mean.sum() == pytest.approx(3 * mean[:8].sum())
        found.add(n_held - int(is_kept.sum()))
    assert found == n_emptied


def test_any_hidden_index_of_several_values_is_crossed():
    model = AllocationModel.tucker((12, 12), (1, 3), 0.5)
    crossing = crossing_of(model, FOUR_BLOCKS)
    drawn = {crossing._some_hidden(np.random.default_rng(seed)) for seed in range(20)}
    several = {(name, 3) for name in model.hidden if model.cardinalities[name] == 3}
    assert drawn == several
    assert len(several) == 1


def test_a_child_of_one_mode_parts_what_the_mode_has_together(crossing):
    end = values_of(FOUR_BLOCKS, (0, 0, 1, 2))
    mode = mode_with(crossing.posterior, end, crossing.posterior.chain_at(end).counts[0], 20, 0, 0)
    parted = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        child = crossing._annealed(crossing._emptied(mode, rng), rng)
        parted.append(sorted(blocks_of(FOUR_BLOCKS, child), key=min) == [{0}, {1}, {2}, {3}])
    assert any(parted)


def test_there_are_half_as_many_children_of_one_mode(crossing, monkeypatch):
    modes, of_one = [], []
    for n, each in enumerate([(0, 1, 2, 2), (3, 3, 1, 0)]):
        end = values_of(FOUR_BLOCKS, each)
        mean = crossing.posterior.chain_at(end).counts[0]
        modes.append(mode_with(crossing.posterior, end, mean, 20, 0, n))
    emptied = Crossing._emptied
    monkeypatch.setattr(Crossing, "_emptied", lambda *a: of_one.append(1) or emptied(*a))
    assert len(crossing._children(modes, 5, 0)) == 8
    assert len(of_one) == 3


def test_a_parent_is_the_more_probable_of_two_modes(crossing, monkeypatch):
    parents = []

    def crossed(_, first, second, rng):
        parents.append((first, second))
        return np.zeros(len(crossing.posterior.urn.alpha))

    monkeypatch.setattr(Crossing, "_crossed", crossed)
    monkeypatch.setattr(Crossing, "_annealed", lambda *_: np.zeros(0, dtype=np.int32))
    monkeypatch.setattr(Crossing, "_coarse", lambda *_: None)
    monkeypatch.setattr(Crossing, "_emptied", lambda *_: None)
    crossing._children(list(range(5)), 400, 0)
    assert all(first != second for first, second in parents)
    # Of two of five, the n-th is the better one in 4 - n of ten pairs.
    drawn = np.bincount(np.ravel(parents), minlength=5)
    assert drawn / 800 == pytest.approx([0.4, 0.3, 0.2, 0.1, 0.0], abs=0.05)
    parents.clear()
    crossing._children(list(range(3)), 60, 0)
    assert {tuple(sorted(each)) for each in parents} == {(0, 1), (0, 2), (1, 2)}


def test_a_mode_alone_has_no_children(crossing):
    end = values_of(FOUR_BLOCKS, (0, 1, 2, 3))
    lines = crossing.lines([end] * 4)
    line = crossing.together(lines, 4)
    assert [len(each) for each in [*lines, line]] == [1, 1, 1]
    assert crossing.evolved(line, 4, 2, range(3)) == line


def test_threads_change_no_bit():
    rng = np.random.default_rng(2)
    model, X = AllocationModel.nmf(6, 7, 3, 0.1), rng.poisson(3.0, (6, 7))
    ends = [rng.integers(0, 3, X.sum()).astype(np.int32) for _ in range(4)]
    one, three = (crossing_of(model, X, n, n_steps=40) for n in (1, 3))
    lines = [crossing.lines(ends) for crossing in (one, three)]
    lines[0].append(one.together(lines[0], 4))
    lines[1].append(three.together(lines[1], 4))
    for line, other in zip(*lines, strict=True):
        assert [mode.log_marginal for mode in line] == [mode.log_marginal for mode in other]


def test_counts_of_some_tokens_are_those_of_all_less_the_others(crossing):
    posterior, end = crossing.posterior, values_of(FOUR_BLOCKS, (0, 1, 2, 3))
    is_chosen = np.random.default_rng(0).random(len(end)) < 0.5
    some, others = np.zeros((2, len(posterior.urn.alpha)))
    count_some(posterior.urn, some, end, is_chosen)
    count_some(posterior.urn, others, end, ~is_chosen)
    assert some.sum() > 0 < others.sum()
    assert np.array_equal(some + others, posterior.chain_at(end).counts[0])


def test_a_path_from_no_counts_is_a_single_step(crossing):
    urn = crossing.posterior.urn
    assert even_path(urn, np.zeros(len(urn.alpha)), 50).reinforcement.tolist() == [0.0, 1.0]
    path = even_path(urn, np.full(len(urn.alpha), 5.0), 50)
    assert path.reinforcement[0] == 0.0
    assert path.reinforcement[-1] == 1.0
    assert (np.diff(path.reinforcement) > 0).all()
    assert 45 <= len(path.reinforcement) <= 53


def test_a_slower_path_passes_the_same_reinforcements(crossing):
    posterior = crossing.posterior
    mean = posterior.chain_at(values_of(FOUR_BLOCKS, (0, 1, 2, 3))).counts[0]
    rng = np.random.default_rng(0)
    path = mode_path(posterior.urn, posterior.moves, mean, 40, rng).path
    slower = slowed(path, 8)
    assert slower.reinforcement[1:-1:8] == pytest.approx(path.reinforcement[1:-1], rel=1e-12)
    assert list(slower.reinforcement[[0, -1]]) == [0.0, 1.0]
    assert (np.diff(slower.reinforcement) > 0).all()
    log_odds = np.log(slower.reinforcement[1:25]) - np.log1p(-slower.reinforcement[1:25])
    assert np.diff(log_odds[:9]) == pytest.approx(np.full(8, np.diff(log_odds[:9]).mean()))
    at_once = even_path(posterior.urn, 0 * mean, 40)
    assert list(slowed(at_once, 8).reinforcement) == [0.0, 1.0]


def test_where_the_prior_has_zeros_paths_are_the_same(crossing):
    urn = crossing.posterior.urn
    mean = np.tile([0.0, 5.0], len(urn.alpha) // 2)
    with_zeros = urn._replace(alpha=np.where(mean > 0, urn.alpha, 0.0))
    path = even_path(with_zeros, mean, 50)
    assert np.array_equal(path.reinforcement, even_path(urn, mean, 50).reinforcement)
    assert len(path.reinforcement) > 40
