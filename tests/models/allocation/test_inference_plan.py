import os
import subprocess
import sys
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import models
from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from tests.models.allocation.test_tables import graphs, joint_counts, random_tokens, urn_probability


class Interpreter:
    """Walks along a plan with the counts of some tokens, in plain Python."""

    def __init__(self, plan, tokens, cell_of_token):
        self.plan, self.arrays = plan, plan.arrays
        of_table = zip(plan.row_start, plan.dynamic, strict=False)
        self.counts = {
            int(start) + row: np.zeros(table.n_columns, dtype=int)
            for start, table in of_table
            for row in range(table.n_rows)
        }
        self.constants = [np.zeros(table.n_rows, dtype=int) for table in plan.constant]
        indices = plan.model.indices
        for token, c in zip(tokens, cell_of_token, strict=True):
            of = dict(zip(indices, token, strict=True))
            unknown = plan.unknown[self.arrays.pattern_of[c]]
            for f, (table, use) in enumerate(self._uses()):
                pairs = zip(table.inner_axes, table.strides, strict=True)
                steps = [stride * of[use[axis]] for axis, stride in pairs if use[axis] in unknown]
                column = self.arrays.offset_of[c, f] + sum(steps)
                self.counts[self.arrays.row_of[c, f]][column] += 1
            for table, count in zip(plan.constant, self.constants, strict=True):
                np.add.at(count, table.row_of[:, c], 1)

    def _uses(self):
        return [(table, use) for table in self.plan.dynamic for use in table.marginal.uses]

    def cliques(self, c):
        p = self.arrays.pattern_of[c]
        return range(self.arrays.clique_start[p], self.arrays.clique_start[p + 1])

    def factors(self, c, q):
        s = self.arrays
        n = s.n_separator[q] * s.n_rest[q]
        products, columns_of = np.ones(n), {}
        for entry in range(s.factor_start[q], s.factor_start[q + 1]):
            f = s.factor[entry]
            row, code = s.row_of[c, f], s.maps[s.map_at[entry] : s.map_at[entry] + n]
            assert s.is_straight[entry] == (code.tolist() == list(range(n)))
            columns = columns_of[f] = s.offset_of[c, f] + code
            assert (columns < s.n_columns[f]).all()
            alpha, seen = s.alpha[s.alpha_at[row] + s.alpha_step[row] * columns], np.zeros(n)
            for earlier in range(s.first_use[f], f):  # of the same token
                if s.row_of[c, earlier] == row:
                    seen += columns_of[earlier] == columns
            products *= (alpha + self.counts[row][columns] + seen) ** float(s.power[f])
        return products

    def parent_map(self, q, n):
        at = self.arrays.parent_map_at[q]
        return self.arrays.maps[at : at + n]

    def total(self, c):
        s, total = self.arrays, 1.0
        inbox = {q: [] for q in self.cliques(c)}
        for q in self.cliques(c):
            products = self.factors(c, q)
            for child, message in inbox[q]:
                products = products * message[self.parent_map(child, len(products))]
            message = products.reshape(s.n_separator[q], s.n_rest[q]).sum(axis=1)
            if s.parent[q] < 0:
                assert s.n_separator[q] == 1
                total *= message[0]
            else:
                assert s.parent[q] > q
                inbox[s.parent[q]].append((q, message))
        return total

    def choices(self, c):
        """Each way to choose combinations of the cliques, parents first, and its product."""
        s, cliques = self.arrays, list(self.cliques(c))
        found = [({}, 1.0)]
        for q in reversed(cliques):
            products, more = self.factors(c, q), []
            for chosen, weight in found:
                separator = 0
                if (above := s.parent[q]) >= 0:
                    n = s.n_separator[above] * s.n_rest[above]
                    separator = self.parent_map(q, n)[chosen[above]]
                first = separator * s.n_rest[q]
                places = range(first, first + s.n_rest[q])
                more += [({**chosen, q: int(at)}, weight * products[at]) for at in places]
            found = more
        return [([chosen[q] for q in cliques], weight) for chosen, weight in found]

    def constant(self, c):
        """What the tables that nothing unknown has part in contribute to one token more."""
        value = 1.0
        for table, count in zip(self.plan.constant, self.constants, strict=True):
            seen = {}
            for row in table.row_of[:, c]:
                alpha = table.alpha[row if len(table.alpha) > 1 else 0, 0]
                value *= (alpha + count[row] + seen.get(row, 0)) ** float(table.power)
                seen[row] = seen.get(row, 0) + 1
        return value


def data(model, n_tokens, seed, share_missing):
    """Tokens, their cells with some values missing, and which cell each token is of."""
    tokens = random_tokens(model, n_tokens, seed)
    seen = tokens[:, [model.indices.index(name) for name in model.visible]]
    cells = np.where(np.random.default_rng(seed).random(seen.shape) < share_missing, MISSING, seen)
    observed = CellCounts(cells, np.ones(n_tokens), model.shape)
    at = {tuple(cell): c for c, cell in enumerate(observed.cells.tolist())}
    return tokens, observed, [at[tuple(cell)] for cell in cells.tolist()]


def values_of_cell(model, cell):
    """All allocations that a cell may come from."""
    of = dict(zip(model.visible, cell, strict=True))
    known = [of.get(name, MISSING) for name in model.indices]
    pairs = zip(known, [model.cardinalities[name] for name in model.indices], strict=True)
    return list(product(*(range(n) if value == MISSING else [value] for value, n in pairs)))


def check(model, n_tokens, seed, share_missing):
    tokens, observed, cell_of_token = data(model, n_tokens, seed, share_missing)
    plan = plan_of(model, observed)
    run, S = Interpreter(plan, tokens.tolist(), cell_of_token), joint_counts(model, tokens)
    for c, cell in enumerate(observed.cells.tolist()):
        values = values_of_cell(model, cell)
        expected = {value: urn_probability(model, S, value) for value in values}
        constant = run.constant(c)
        assert run.total(c) * constant == pytest.approx(sum(expected.values()), rel=1e-10)
        # a choice in each clique is a value of each index, once, with the product for its weight
        pattern = int(run.arrays.pattern_of[c])
        unknown = plan.unknown[pattern]
        chosen, weights = zip(*run.choices(c), strict=True)
        decoded = plan.unknown_values(pattern, np.array(chosen))
        at = [model.indices.index(name) for name in unknown]
        found = dict(zip(map(tuple, decoded.tolist()), weights, strict=True))
        assert len(found) == len(chosen) == prod(model.cardinalities[name] for name in unknown)
        for value in values:
            weight = found[tuple(value[n] for n in at)]
            assert weight * constant == pytest.approx(expected[value], rel=1e-10)
    check_layout(plan)
    return plan


def check_layout(plan):
    """Products and messages of a pattern have places of their own in the scratch."""
    s = plan.arrays
    assert plan.n_factors == sum(len(table.marginal.uses) for table in plan.dynamic)
    assert plan.n_state == sum(table.n_rows * table.n_columns for table in plan.dynamic)
    for start, end in zip(s.clique_start[:-1], s.clique_start[1:], strict=True):
        used = np.zeros(plan.scratch_size, dtype=int)
        for q in range(start, end):
            used[s.product_at[q] : s.product_at[q] + s.n_separator[q] * s.n_rest[q]] += 1
            used[s.message_at[q] : s.message_at[q] + s.n_separator[q]] += 1
        assert used.max(initial=0) <= 1
        # each factor is in one clique of the pattern
        factors = s.factor[s.factor_start[start] : s.factor_start[end]]
        assert sorted(factors.tolist()) == list(range(plan.n_factors))


DATA = (st.integers(1, 8), st.integers(0, 2**32), st.sampled_from([0.0, 0.3]))


@settings(max_examples=25, deadline=None)
@given(graphs(), *DATA)
def test_plans_of_random_graphs_sum_over_all_that_is_unknown(model, n_tokens, seed, missing):
    check(model, n_tokens, seed, missing)


@settings(max_examples=20, deadline=None)
@given(graphs(ties=True, priors=True), *DATA)
def test_plans_of_tied_tables_count_their_uses(model, n_tokens, seed, missing):
    check(model, n_tokens, seed, missing)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize(
    "model",
    [
        AllocationModel.nmf(3, 4, 3, a=0.5),
        AllocationModel.lda(3, 4, 2, [0.2, 0.3], 0.1),
        AllocationModel.cp((2, 3, 2, 2), 3),
        AllocationModel.tucker((2, 3, 2), (2, 2, 3)),
        AllocationModel.pachinko(4, 3, (2, 3, 2)),
        AllocationModel.mixed_membership(3, 2),
        AllocationModel.hidden_markov(4, 2, 2),
        AllocationModel.hidden_markov(3, 2, 2, tied=True),
        AllocationModel.symmetric_nmf(3, 3),
        AllocationModel.sum_conditioned(2, 3, 2, 3),
        AllocationModel.complete((2, 3)),
    ],
    ids=lambda model: " ".join(model.indices) if isinstance(model, AllocationModel) else None,
)
def test_plans_of_standard_graphs(model, missing):
    check(model, 10, 4, missing)


def test_cliques_of_rings_and_chains():
    ring = {"a": (), "b": ("a",), "c": ("a",), "d": ("b",), "e": ("c",), "x": ("d", "e")}
    # Five hidden indices make a ring, which must be cut into triangles.
    plan = check(AllocationModel(ring, dict.fromkeys(ring, 2), ("x",)), 6, 0, 0.0)
    assert (len(plan.cliques), {len(clique) for clique in plan.cliques}) == (3, {3})
    model = AllocationModel.hidden_markov(60, 10, 3)
    plan = plan_of(model, CellCounts(np.zeros((1, 60)), [1], model.shape))
    assert all(len(clique) == 2 for clique in plan.cliques)
    assert (len(plan.cliques), sorted(plan.arrays.parent.tolist()).count(-1)) == (59, 1)
    model = AllocationModel.hidden_markov(9, 10, 3, tied=True)
    observed = CellCounts(np.zeros((1, 9)), [1], model.shape)
    with pytest.raises(TableMemoryError, match=r"h1, h2.* 1e\+09 combinations of values"):
        plan_of(model, observed)
    model = AllocationModel.nmf(3, 4, 2)
    plan = plan_of(model, CellCounts.of(np.zeros((3, 4)), model))
    assert (plan.n_state, plan.constant_log_probability()) == (0, 0.0)
    lda = AllocationModel.lda(3, 4, 2, 0.1, 0.2)
    assert plan_of(lda, CellCounts.of(np.zeros((3, 4)), lda)).constant_log_probability() == 0.0


def test_the_interpreter_notices_a_wrong_program():
    model = AllocationModel.cp((2, 3, 2), 3)
    tokens, observed, cell_of_token = data(model, 8, 1, 0.0)
    plan = plan_of(model, observed)
    run = Interpreter(plan, tokens.tolist(), cell_of_token)
    value = run.total(0)
    plan.arrays.power[:] = 1
    assert run.total(0) != pytest.approx(value, rel=1e-3)


DESCRIBE = """
import hashlib
import numpy as np
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel as Model
from models.allocation.inference_plan import plan_of

digest = hashlib.sha256()
ring = {"a": (), "b": ("a",), "c": ("a",), "d": ("b",), "e": ("c",), "x": ("d", "e")}
for model in (
    Model(ring, dict.fromkeys(ring, 2), ("x",)),
    Model.tucker((2, 3, 2), (2, 2, 3)),
    Model.mixed_membership(3, 2),
    Model.hidden_markov(5, 2, 2),
    Model.hidden_markov(3, 2, 2, tied=True),
):
    rng = np.random.default_rng(0)
    cells = rng.integers(-1, model.shape, size=(20, len(model.shape)))
    plan = plan_of(model, CellCounts(cells, np.ones(20), model.shape))
    digest.update(repr((plan.unknown, plan.cliques, plan.scratch_size)).encode())
    for array in (*plan.arrays, plan.row_start):
        digest.update(array.tobytes())
print(digest.hexdigest())
"""
BARE = """
import sys, types
models = types.ModuleType("models")
models.__path__ = [path]
sys.modules["models"] = models
"""  # The package without what it imports at its top, which takes longer than the test


def test_plans_are_the_same_in_each_process(capsys):
    exec(DESCRIBE, {})
    here = capsys.readouterr().out
    assert len(here.strip()) == 64
    # names hash otherwise there than here
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-c", f"path = {models.__path__[0]!r}{BARE}{DESCRIBE}"]
    variables = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.check_output(command, env=variables, text=True) == here
