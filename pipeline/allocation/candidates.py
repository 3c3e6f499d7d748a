"""The models that `allocate` compares: each graph with each rank."""

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import numpy as np

from corpora.content_hash import content_hash, of_array
from evaluation.allocation.annealed_runs import check_annealing_memory
from evaluation.allocation.exact import MarginalCostError
from models.allocation.annealing.mode import MAX_KEPT
from models.allocation.annealing.posterior import PriorRangeError
from models.allocation.annealing.searches import check_search_memory
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan, plan_of
from models.allocation.joint_values import MAX_JOINT_VALUES
from models.allocation.model import AllocationModel
from models.allocation.particles.state import check_memory
from models.parallel import effective_n_jobs
from pipeline.allocation.count_table import CountTable
from pipeline.allocation.graphs import Graph, Prior
from pipeline.errors import UsageError
from pipeline.settings import AllocateSettings

MAX_RANKS = 1000
BY_PARTICLES = ("smc", "smc-adaptive", "sis")
BY_MODES = ("dual-em", "icm")
BYTES_A_TOKEN = 40  # Bytes that one particle run keeps for a token
logger = logging.getLogger(__name__)
LONG = 600.0  # Seconds from which a run is announced as long
A_STEP, A_CELL, A_PRODUCT = 1e-7, 5e-7, 1e-8
"""Seconds of one core for a particle's step, a cell in an epoch, and a product in either."""
STARTS = 2  # Modes that chains start from
A_MODE = 25  # Chains that search for, cross and weigh a mode
A_VISIT = 3e-7  # of a token by a sweep, with its share of other moves
EPOCHS_OF_A_START, EPOCHS_TO_THE_END = 120, 300  # Typical numbers of epochs for tables of documents


@dataclass(frozen=True, eq=False)
class Candidate:
    """One model."""

    graph: str
    rank: int | None  # Number of hidden values that is varied; None if nothing is varied
    sizes: Mapping[str, int]  # Number of values of each hidden index
    model: AllocationModel

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        return model_name(self.graph, self.rank)

    @property
    def hash(self) -> str:
        """Hash of the model's definition. Seeds depend on it, so it must not change."""
        model, prior = self.model, self.model.prior
        parts = {
            "parents": [[name, *of] for name, of in model.parents.items()],
            "cardinalities": list(model.cardinalities.values()),
            "visible": list(model.visible),
            "tied": [list(group) for group in model.tied],
            "a": model.a,
            "b": model.b,
            "prior": prior
            and content_hash([of_array(name, each.ravel()) for name, each in prior.items()]),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def seed_of(self, seed: int) -> int:
        """Seed of this model; it does not depend on the other models."""
        return int(hashlib.sha256(f"{seed} {self.hash}".encode()).hexdigest()[:15], 16)


def model_name(graph: str, rank: int | None) -> str:
    """Name of a model in sentences."""
    return graph if rank is None else f"{graph}, rank {rank}"


def parse_ranks(text: str) -> list[int]:
    """Return the numbers of a comma-separated list, ascending; FROM:TO is an inclusive range.

    Raises UsageError if the list is empty, or a number is not positive, not whole, or repeated.
    """
    ranks: list[int] = []
    for part in text.split(","):
        ends = [each.strip() for each in part.split(":")]
        if not all(each.isascii() and each.isdigit() for each in ends) or len(ends) > 2:
            raise UsageError(
                f"--ranks must be numbers and ranges, such as 1:5,10,20; found {part.strip()!r}"
            )
        first, last = int(ends[0]), int(ends[-1])
        if first < 1 or last < first:
            raise UsageError(f"--ranks must go up from 1 or more, found {part.strip()!r}")
        if last - first + len(ranks) >= MAX_RANKS:
            raise UsageError(f"--ranks names more than {MAX_RANKS:,} numbers")
        ranks += range(first, last + 1)
    twice = next((rank for rank in ranks if ranks.count(rank) > 1), None)
    if twice is not None:
        raise UsageError(f"--ranks names {twice} twice")
    return sorted(ranks)


def parse_sizes(text: str) -> dict[str, int]:
    """Parse a comma-separated list of NAME=NUMBER.

    Raises UsageError if an entry has another form, or a name is repeated.
    """
    sizes: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, number = (each.strip() for each in part.partition("="))
        if not name or not (number.isascii() and number.isdigit()) or int(number) < 1:
            raise UsageError(f"--sizes must be as k=3, 1 or more, found {part!r}")
        if name in sizes:
            raise UsageError(f"--sizes names {name!r} twice")
        sizes[name] = int(number)
    return sizes


def candidates_of(
    table: CountTable, graphs: Sequence[Graph], settings: AllocateSettings, prior: Prior
) -> list[Candidate]:
    """Return each graph with each rank, graphs in their order.

    Raises UsageError if a hidden index has no size, or a size is given for an unknown index.
    """
    ranks, sizes = parse_ranks(settings.ranks), parse_sizes(settings.sizes)
    vary = tuple(name.strip() for name in settings.vary.split(",") if name.strip())
    known = set(chain.from_iterable(graph.hidden(table.axes) for graph in graphs))
    for option, names in (("--sizes", sizes), ("--vary", vary)):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UsageError(
                f"{option}: nothing hidden is called {unknown[0]!r}, only "
                f"{', '.join(sorted(known)) or 'nothing is'}"
            )
    both = [name for name in vary if name in sizes]
    if both:
        raise UsageError(f"{both[0]!r} is in --vary and in --sizes: leave one out")
    found = []
    for graph in graphs:
        varied = _varied(graph, table, vary, sizes)
        for rank in ranks if varied else [None]:
            chosen = {
                name: sizes[name] if rank is None else sizes.get(name, rank)
                for name in graph.hidden(table.axes)
            }
            model = graph.model(table, chosen, prior)
            found.append(Candidate(graph.text, rank, chosen, model))
    return found


def check_candidates(
    candidates: Sequence[Candidate], table: CountTable, settings: AllocateSettings
) -> None:
    """Refuse models that do not fit in memory, before the first model is scored.

    Raises UsageError if particles, or the tables of factors, take more than `--max-memory`.
    """
    most = max_memory(settings)
    n_runs = min(effective_n_jobs(settings.threads), settings.repeats)
    is_sampled = settings.method in (*BY_PARTICLES, "annealed")
    n_kept = max(n_runs if is_sampled else 0, int(settings.factors in ("smc", "annealed")))
    n_bytes = table.counts.n_tokens * BYTES_A_TOKEN * n_kept
    if n_bytes > most:
        raise UsageError(
            f"{table.path} counts {table.counts.n_tokens:,} tokens, each of which is sampled: that "
            f"needs {n_bytes / 2**30:,.1f} GiB, and years; use vb for both --method and --factors, "
            "or draw some of the tokens"
        )
    for each in candidates:
        with refused_by_name(each):
            plan = plan_of(each.model, table.counts)
        _check_samples(each, plan, n_runs, len(candidates), settings)
        if settings.factors in BY_MODES:
            _check_joint_values(each, plan.unknown, f"--factors {' and '.join(BY_MODES)}")
        for setting in ("method", "factors"):
            if getattr(settings, setting) == "annealed":
                _check_joint_values(each, plan.unknown, f"--{setting} annealed")
        sizes = (np.prod(each.model.table_shape(name), dtype=float) for name in each.model.indices)
        needed = 16.0 * float(sum(sizes))  # tables and expected counts
        if settings.factors != "none" and needed > most:
            raise UsageError(
                f"{each.name}: its tables as factors take {needed / 2**30:,.1f} GiB, more than "
                f"--max-memory, {settings.max_memory:g}: a lower rank, or --factors none"
            )


def _check_samples(
    candidate: Candidate,
    plan: InferencePlan,
    n_runs: int,
    n_models: int,
    settings: AllocateSettings,
) -> None:
    """Raise UsageError if particles or chains take more than `--max-memory`."""
    most, n_threads = max_memory(settings), effective_n_jobs(settings.threads)
    with refused_by_name(candidate, " (--max-memory, --particles)"):
        if settings.method in BY_PARTICLES:
            check_memory(plan, settings.particles, n_runs, most, keep_history=settings.moves > 0)
        if settings.factors == "smc":
            check_memory(plan, settings.particles, 1, most, keep_history=True)
    with refused_by_name(candidate, " (--max-memory, --chains, --modes, --ranks, --threads)"):
        if settings.method == "annealed":
            n_used = min(n_threads, max(settings.repeats, settings.modes))
            known = MAX_KEPT if settings.modes and n_models > 1 else 0
            of_runs = settings.repeats, most, settings.modes + known, n_models
            check_annealing_memory(plan, settings.chains, n_used, *of_runs)
    with refused_by_name(candidate, " (--max-memory, --repeats, --threads)"):
        if settings.factors == "annealed":
            check_search_memory(plan, settings.repeats, n_threads, most)


@contextmanager
def refused_by_name(candidate: Candidate, hint: str = "") -> Iterator[None]:
    """Add the model's name to an error about memory or its prior: many models are tried."""
    try:
        yield
    except (MarginalCostError, PriorRangeError, TableMemoryError, MemoryError) as error:
        raise UsageError(f"{candidate.name}: {error}{hint}") from error


def n_particles(settings: AllocateSettings) -> int:
    """Particles of each run: `--chains` of annealed, else `--particles`."""
    return settings.chains if settings.method == "annealed" else settings.particles


def max_memory(settings: AllocateSettings) -> int:
    """`--max-memory` in bytes."""
    return int(settings.max_memory * 2**30)


def _check_joint_values(
    candidate: Candidate, unknown: Sequence[Sequence[str]], setting: str
) -> None:
    """Refuse a method that lists joint values of the hidden indices, if these are too many."""
    for names in unknown:
        sizes = [candidate.model.cardinalities[name] for name in names]
        if math.prod(sizes) > MAX_JOINT_VALUES:
            raise UsageError(
                f"{candidate.name}: {' × '.join(map(str, sizes))} joint values of "
                f"{', '.join(names)} are more than the {MAX_JOINT_VALUES:,} that {setting} "
                f"can go over: use vb, or {'smc' if setting.startswith('--m') else 'em'}"
            )


def _varied(
    graph: Graph, table: CountTable, vary: Sequence[str], sizes: Mapping[str, int]
) -> list[str]:
    """Hidden indices whose number of values is the rank."""
    unsaid = [name for name in graph.hidden(table.axes) if name not in sizes]
    if not vary and len(unsaid) < 2:
        return unsaid
    open_ones = [name for name in unsaid if name not in vary]
    if open_ones:
        raise UsageError(
            f"graph {graph.text!r} has hidden {', '.join(map(repr, unsaid))}, as {table.path} "
            f"counts over {', '.join(table.axes)}: how many values has {open_ones[0]!r}? Say "
            f"--sizes {open_ones[0]}=NUMBER, or --vary NAMES for those that have the rank"
        )
    return unsaid


def warn_of_long_work(
    candidates: Sequence[Candidate], table: CountTable, settings: AllocateSettings
) -> None:
    """Log the expected time, if it is more than ten minutes."""
    seconds = sum(expected_seconds(each, table, settings) for each in candidates)
    if settings.factors == "annealed" and candidates:
        visits = settings.sweeps * A_MODE * settings.repeats * table.counts.n_tokens
        n_factorised = len(candidates) if settings.all_factors else 1
        seconds += n_factorised * visits * A_VISIT / effective_n_jobs(settings.threads)
    if seconds > LONG:
        more = ", --sweeps" if settings.method == "annealed" else ", --moves"
        or_other = "" if settings.method == "vb" else f"{more}, or --method vb"
        logger.warning(
            "scoring %d models will take about %s; fewer --ranks or --repeats%s would be quicker; "
            "interrupted, the same command goes on after the last finished model",
            len(candidates),
            _about(seconds),
            or_other,
        )


def expected_seconds(candidate: Candidate, table: CountTable, settings: AllocateSettings) -> float:
    """Seconds for one score, within a factor of about three, or five where modes are too many to be
    listed or their pilots vary; 0 for exact ones.
    """
    n_threads = min(effective_n_jobs(settings.threads), settings.repeats)
    n_products = plan_of(candidate.model, table.counts).scratch_size
    if settings.method in BY_PARTICLES:
        steps = table.counts.n_tokens * (1.0 + settings.moves) * settings.particles
        return steps * settings.repeats * (A_STEP + A_PRODUCT * n_products) / n_threads
    if settings.method == "annealed":
        chains = float(settings.chains * settings.repeats)
        if settings.modes:
            chains = STARTS * chains + A_MODE * settings.modes
        visits = settings.sweeps * chains * table.counts.n_tokens
        return visits * (A_VISIT + A_PRODUCT * n_products) / n_threads
    if settings.method == "vb":
        epochs = EPOCHS_OF_A_START * settings.repeats + EPOCHS_TO_THE_END
        n_cells = len(table.counts.counts)
        return epochs * n_cells * (A_CELL + A_PRODUCT * n_products) / n_threads
    return 0.0


def _about(seconds: float) -> str:
    hours = seconds / 3600
    if hours >= 48:
        return f"{hours / 24:,.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{seconds / 60:.0f} minutes"
