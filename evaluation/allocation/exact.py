"""The exact marginal likelihood of a count tensor: a recursion over tokens that forgets."""

import networkx as nx
import numpy as np

from evaluation.allocation.frontier import Frontier, MarginalCostError
from evaluation.allocation.marginal_estimate import MarginalEstimate
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.model import AllocationModel
from models.allocation.sequence import log_orders, log_total_probability
from models.allocation.tables import Table
from models.checks import check_whole

__all__ = ["MAX_MEMORY", "MarginalCostError", "exact"]

MAX_MEMORY = 2 * 2**30


def exact(
    model: AllocationModel, observed: CellCounts, *, max_memory: int = MAX_MEMORY
) -> MarginalEstimate:
    """Return the log-probability of the counts, summed over all hidden or missing values.

    Raises MarginalCostError, a ValueError, before states are made that need more than `max_memory`
    bytes; ValueError or TypeError if that is no positive whole number.
    """
    check_whole("max_memory", max_memory, 1)
    plan = plan_of(model, observed)
    total = log_total_probability(model, observed.n_tokens) + log_orders(observed)
    total += plan.constant_log_probability()
    for tables in _parts(plan):
        if all(table.n_columns == 1 for table in tables):  # hidden values that have no choice
            total += sum(table.log_rising(plan.counts_of(table)) for table in tables)
        else:
            total += Frontier(plan, tables, max_memory).log_probability()
    repeats = np.array([total])
    return MarginalEstimate(total, 0.0, "exact", "exact", observed.n_tokens, repeats)


def _parts(plan: InferencePlan) -> list[list[Table]]:
    """Return the tables that depend on hidden values, in groups that share no unknown index.

    Given the tokens' visible indices the parts are independent: their probabilities multiply.
    """
    graph: nx.Graph[int | str] = nx.Graph()
    for t, table in enumerate(plan.dynamic):
        graph.add_node(t)
        graph.add_edges_from((t, name) for name in table.inner_names & plan.unknown_names)
    parts = [
        sorted(n for n in part if isinstance(n, int)) for part in nx.connected_components(graph)
    ]
    return [[plan.dynamic[t] for t in part] for part in sorted(parts)]
