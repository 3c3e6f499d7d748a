"""No loop of a kernel both fills an array and sums up: its bits would depend on addresses."""

import ast
import itertools
from pathlib import Path

import numpy as np

from evaluation.gamma_poisson.topic_counts import fill_rates
from evaluation.monte_carlo.token_sweep import fill_probabilities
from models.kernel import kernel

ROOT = Path(__file__).parents[2]
SEQUENTIAL = {
    "_load_document": "whole numbers",
    "_log_put_in": "each step needs the counts of the one before",
    "_put_back": "each step needs the counts of the one before",
    "_weigh_document": "its steps are vectors already",
    "add_token": "whole numbers",
    "add_token_of_two": "a sum of two terms, not over the loop",
    "resample_multinomial": "each sum so far is stored",
    "exp_of_differences": "one array, which cannot overlap itself",
    "fill_stretch": "whole numbers",
    "gather_pieces": "whole numbers",
    "fill_series": "each product so far is used",
    "list_topics": "whole numbers",
    "log_sum_of_matrices": "each step needs the one before",
    "log_weights": "draws random numbers",
    "mean_logs": "calls logarithms",
    "mode_logs": "calls logarithms",
    "multinomial_mode": "whole numbers",
    "spread": "draws random numbers",
    "start_at_mean": "draws random numbers",
    "use_prior": "each sum so far is stored, each product so far is used",
}  # Kernels with such loops that the compiler cannot vectorise, or whose sums are exact


def kernels():
    for package in ("models", "evaluation"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef) and any(
                    ast.unparse(each) == "kernel" for each in node.decorator_list
                ):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def fills_and_sums(function):
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For | ast.While):
            continue
        inside = [node for each in loop.body for node in ast.walk(each)]
        if any(isinstance(node, ast.For | ast.While) for node in inside):
            continue
        targets = [t for node in inside if isinstance(node, ast.Assign) for t in node.targets]
        targets += [node.target for node in inside if isinstance(node, ast.AugAssign)]
        sums = any(
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(node.op, ast.Add | ast.Sub | ast.Mult)
            and ast.unparse(node.value) != "1"
            for node in inside
        )
        if sums and any(isinstance(target, ast.Subscript) for target in targets):
            return True
    return False


def test_no_kernel_fills_and_sums_in_one_loop():
    found = {node.name: where for where, node in kernels() if fills_and_sums(node)}
    assert {name: where for name, where in found.items() if name not in SEQUENTIAL} == {}
    assert set(SEQUENTIAL) - set(found) == set(), "no longer such a loop: take it off the list"


@kernel
def rates_of(word_topic, first, second, p):  # type: ignore[no-untyped-def]
    """Both kernels inlined, as they are where they are used."""
    total = 0.0
    for u in range(len(word_topic)):
        total += fill_rates(word_topic, u, first, p)
        total += np.log(fill_probabilities(word_topic, u, first, second, p))
    return total


def test_sums_do_not_depend_on_where_arrays_lie():
    n_topics, rng = 16, np.random.default_rng(0)
    values, word_topic = {name: rng.random(n_topics) for name in "fsp"}, rng.random((5, n_topics))
    room, found = np.zeros(4 * n_topics + 100), set()
    for order in itertools.permutations("fsp"):
        for gap in range(0, 40, 3):
            arrays = {}
            for place, name in enumerate(order):
                start = place * (n_topics + gap)
                arrays[name] = room[start : start + n_topics]
                arrays[name][:] = values[name]
            found.add(rates_of(word_topic, arrays["f"], arrays["s"], arrays["p"]))
    assert len(found) == 1
