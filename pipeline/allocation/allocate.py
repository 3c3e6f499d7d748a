"""`allocate`: how probable a table of counts is under allocation models, and its factors.

DIR/allocation.json, .csv        what came out, for machines and for spreadsheets
DIR/allocation.svg, particles.svg, factors.svg, and the same as .png
DIR/factors.npz                  of the best model (`pipeline.allocation.factors`)
DIR/factors/GRAPH-RANK.npz       of all, if asked for
DIR/model.npz                    the same as topics, if the graph is LDA's

Scores and factors of single models are cached as they are finished, so that an interrupted command
goes on with the next one.
"""

import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from corpora import writer_lock
from corpora.content_hash import content_hash, of_array
from corpora.files import atomic_write_text, remove_partial_files
from corpora.formats.vocabulary_file import stem_of
from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate, TimedMarginal, timed
from evaluation.allocation.pooled import pool_marginals, share_allocations
from models.allocation.cell_counts import MISSING, CellCounts
from pipeline.allocation.candidates import (
    BY_PARTICLES,
    Candidate,
    candidates_of,
    check_candidates,
    max_memory,
    n_particles,
    refused_by_name,
    warn_of_long_work,
)
from pipeline.allocation.count_table import CountTable
from pipeline.allocation.factors import Factors, cached_factors, save_topics, write_factors
from pipeline.allocation.figures import figures_of
from pipeline.allocation.graphs import KINDS, Prior, parse_graphs, prepared
from pipeline.allocation.read_table import read_table
from pipeline.allocation.scores import name_of, recommend, rows_of, warnings_of
from pipeline.allocation.table import as_csv, strongest
from pipeline.cache.results import ResultCache
from pipeline.errors import UsageError
from pipeline.figures.write import write_figures
from pipeline.progress import Progress
from pipeline.setting_sources import check_least, check_seed
from pipeline.settings import AllocateSettings

logger = logging.getLogger(__name__)

MAX_POOLED = 50  # Ranks, one after the other, of which each is estimated from the runs of all
DEPENDS_ON = ("method", "particles", "moves", "order", "repeats", "seed")
ANNEALED_DEPENDS_ON = ("method", "modes", "chains", "sweeps", "repeats", "seed")


def allocate(settings: AllocateSettings, file: str) -> dict[str, Any]:
    """Score every model, say which to take, and factorise the table under it.

    Raises UsageError if a setting makes no sense, a graph does not fit the table, or a model not
    into memory; CorpusFormatError if the file is not what its name says, or holds what is no count.
    """
    _check(settings)
    _warn_of_unused(settings)
    axes = tuple(name.strip() for name in settings.axes.split(",") if name.strip())
    table = read_table(file, settings.layout, axes)
    default = "nmf" if len(table.axes) == 2 else "cp"
    graphs = parse_graphs(settings.graph or default)
    _check_prior(settings, [graph.text for graph in graphs])
    table = prepared(table, graphs, chosen=bool(axes))
    prior = Prior(settings.a, settings.b, settings.alpha, settings.eta)
    candidates = candidates_of(table, graphs, settings, prior)
    check_candidates(candidates, table, settings)
    directory = Path(settings.output or Path("allocate") / stem_of(file))
    directory.mkdir(parents=True, exist_ok=True)
    with writer_lock(directory):
        remove_partial_files(directory)
        scores = _pooled(candidates, _scores(candidates, table, settings))
        best = int(np.argmax([score.estimate.log_marginal for score in scores]))
        factors, files = _factorised(candidates, best, table, settings, directory)
        result = _result(candidates, scores, best, factors, table, settings)
        what = "lower bound of log p" if settings.method == "vb" else "log marginal likelihood"
        drawn = write_figures(figures_of(result["rows"], scores, best, factors, what), directory)
        files = ["allocation.json", "allocation.csv", *files, *(path.name for path in drawn)]
        result |= {"path": str(directory), "files": files}
        atomic_write_text(directory / "allocation.csv", as_csv(result["rows"]))
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(directory / "allocation.json", text)
    return result


def _scores(
    candidates: Sequence[Candidate], table: CountTable, settings: AllocateSettings
) -> list[TimedMarginal]:
    """The score of every model, from the cache or computed and put there at once."""
    parts = _depends_on(settings)
    group = ResultCache().group("allocation", data=table.hash, settings=parts)
    before = _before(candidates, settings.method)

    def cached(n: int, scores: Sequence[TimedMarginal | None]) -> TimedMarginal | None:
        name = _name(candidates[n], _last_modes(scores, before[n]))
        return group.get(name, TimedMarginal.from_arrays)

    warn_of_long_work([candidates[n] for n in _new(before, cached)], table, settings)
    scores: list[TimedMarginal] = []
    is_warm = False
    with Progress("allocate", len(candidates), "models") as progress:
        for n, each in enumerate(candidates):
            progress.update(0, each.name)
            score = cached(n, scores)
            if score is None:
                if not is_warm:
                    _warm_up(each, table, settings)
                    is_warm = True
                known = _last_modes(scores, before[n])
                score = timed(partial(_score, each, table.counts, settings, known))
                group.put(_name(each, known), score.to_arrays())
            scores.append(score)
            progress.update(1)
    return scores


def _new(
    before: Sequence[Sequence[int]],
    cached: Callable[[int, Sequence[TimedMarginal | None]], TimedMarginal | None],
) -> list[int]:
    """Return the places of models that have no score yet, or may know the modes of such a one."""
    new: list[int] = []
    scores: list[TimedMarginal | None] = []
    for n, places in enumerate(before):
        is_open = any(place in new for place in places)
        scores.append(None if is_open else cached(n, scores))
        if scores[n] is None:
            new.append(n)
    return new


def _name(candidate: Candidate, known: CellCounts | None) -> str:
    """Return the name of a score in the cache; that of searches that know modes tells these."""
    if known is None:
        return candidate.hash
    arrays = {"cells": known.cells, "counts": known.counts}
    return f"{candidate.hash} {content_hash(of_array(*each) for each in arrays.items())}"


def _last_modes(scores: Sequence[TimedMarginal | None], places: Sequence[int]) -> CellCounts | None:
    """Return the modes of the last of the scores at these places that has any."""
    found = [scores[place] for place in reversed(places)]
    modes = [each.estimate.modes for each in found if each is not None]
    return next((each for each in modes if each is not None), None)


def _before(candidates: Sequence[Candidate], method: str) -> list[list[int]]:
    """Return the places of the models before each whose modes its searches may know: annealed ones
    of the same graph, that share allocations with it.
    """
    found: list[list[int]] = [[] for _ in candidates]
    last: dict[str, int] = {}  # of each graph
    for n, each in enumerate(candidates):
        before = last.get(each.graph) if method == "annealed" else None
        if before is not None and share_allocations([candidates[before].model, each.model]):
            found[n] = [*found[before], before]
        last[each.graph] = n
    return found


def _pooled(
    candidates: Sequence[Candidate], scores: Sequence[TimedMarginal]
) -> list[TimedMarginal]:
    """Return scores, those of annealed models of the same graph each from the runs of all."""
    scores = list(scores)
    for graph in dict.fromkeys(each.graph for each in candidates):
        pool = [
            m
            for m, each in enumerate(candidates)
            if each.graph == graph and scores[m].estimate.allocations is not None
        ]
        for first in range(0, len(pool), MAX_POOLED):
            here = pool[first : first + MAX_POOLED]
            models = [candidates[m].model for m in here]
            if len(here) > 1 and share_allocations(models):
                estimates = pool_marginals(models, [scores[m].estimate for m in here])
                for m, estimate in zip(here, estimates, strict=True):
                    scores[m] = scores[m]._replace(estimate=estimate)
    return scores


def _depends_on(settings: AllocateSettings) -> dict[str, Any]:
    names = ANNEALED_DEPENDS_ON if settings.method == "annealed" else DEPENDS_ON
    return {name: getattr(settings, name) for name in names}


def _score(
    candidate: Candidate, counts: CellCounts, settings: AllocateSettings, modes: CellCounts | None
) -> MarginalEstimate:
    with refused_by_name(candidate), _warned_of_at_the_end():
        return log_marginal(
            candidate.model,
            counts,
            settings.method,
            n_particles=n_particles(settings),
            n_repeats=settings.repeats,
            n_sweeps=settings.sweeps,
            n_modes=settings.modes,
            known_modes=modes,
            n_moves=settings.moves,
            order=settings.order,
            max_memory=max_memory(settings),
            random_state=candidate.seed_of(settings.seed),
            n_jobs=settings.threads,
        )


@contextmanager
def _warned_of_at_the_end() -> Iterator[None]:
    """Silence warnings of unreliable estimates: `warnings_of` reports them all, cached ones too."""

    def is_not_a_warning(record: logging.LogRecord) -> bool:
        return record.levelno < logging.WARNING

    of_library = logging.getLogger(log_marginal.__module__)
    of_library.addFilter(is_not_a_warning)
    try:
        yield
    finally:
        of_library.removeFilter(is_not_a_warning)


def _warm_up(candidate: Candidate, table: CountTable, settings: AllocateSettings) -> None:
    """Compile the method's kernels, so that no model's time includes it."""
    if settings.method == "exact":
        return
    token = CellCounts(table.counts.cells[:1], np.ones(1, dtype=np.int64), table.counts.shape)
    log_marginal(
        candidate.model,
        token,
        settings.method,
        n_particles=2,
        n_repeats=1,
        n_sweeps=2,
        n_modes=min(settings.modes, 1),
        n_moves=min(settings.moves, 1),
        random_state=0,
    )


def _result(
    candidates: Sequence[Candidate],
    scores: Sequence[TimedMarginal],
    best: int,
    factors: Factors | None,
    table: CountTable,
    settings: AllocateSettings,
) -> dict[str, Any]:
    rows = rows_of(candidates, scores)
    partly = (table.counts.cells == MISSING).any(axis=1)
    bound = None
    if factors is not None and settings.factors == "vb" and settings.method != "vb":
        bound = float(factors.header["objective"])
    return {
        "file": table.path,
        "layout": table.layout,
        "axes": [
            {"name": name, "values": size}
            for name, size in zip(table.axes, table.counts.shape, strict=True)
        ],
        "tokens": table.counts.n_tokens,
        "cells": len(table.counts.counts),
        "partly_observed": int(table.counts.counts[partly].sum()),
        "data_hash": table.hash,
        "direction": scores[best].estimate.direction,
        **_depends_on(settings),
        "rows": rows,
        "best": {name: rows[best][name] for name in ("graph", "rank", "sizes")},
        "recommendation": recommend(rows, best, settings.method),
        "warnings": warnings_of(rows, n_particles(settings), best, bound, settings.method),
        "factors": factors
        and {
            "model": name_of(rows[best]),
            "method": settings.factors,
            "objective": factors.header["objective"],
            "strongest": strongest(factors, settings.top),
        },
    }


def _factorised(
    candidates: Sequence[Candidate],
    best: int,
    table: CountTable,
    settings: AllocateSettings,
    directory: Path,
) -> tuple[Factors | None, list[str]]:
    """Factors of the best model, and the names of the files that were written."""
    if settings.factors == "none":
        return None, []
    files = ["factors.npz"]
    if settings.all_factors:
        (directory / "factors").mkdir(exist_ok=True)
        remove_partial_files(directory / "factors")
        with Progress("factors", len(candidates), "models") as progress:
            for each in candidates:
                name = f"factors/{_file_name(each, candidates)}.npz"
                write_factors(directory / name, cached_factors(each, table, settings))
                files.append(name)
                progress.update(1)
    factors = cached_factors(candidates[best], table, settings)
    write_factors(directory / "factors.npz", factors)
    if save_topics(directory / "model.npz", candidates[best], table, factors):
        files.append("model.npz")
    else:
        (directory / "model.npz").unlink(missing_ok=True)  # of another graph before
    return factors, files


def _file_name(candidate: Candidate, candidates: Sequence[Candidate]) -> str:
    """Unique file name: the graph's name, or its number if it is given by arrows."""
    graphs = list(dict.fromkeys(each.graph for each in candidates))
    is_plain = candidate.graph in KINDS
    graph = candidate.graph if is_plain else f"graph{graphs.index(candidate.graph) + 1}"
    return graph if candidate.rank is None else f"{graph}-{candidate.rank}"


def _check(settings: AllocateSettings) -> None:
    check_seed(settings.seed)
    check_least(settings, particles=2, moves=0, modes=0, chains=1, sweeps=1, repeats=1, top=1)
    for name in ("a", "b", "alpha", "eta", "max_memory"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < math.inf:
            raise UsageError(
                f"--{name.replace('_', '-')} must be positive and finite, found {value}"
            )
    if settings.all_factors and settings.factors == "none":
        raise UsageError("--all-factors and --factors none do not go together: leave one out")


def _check_prior(settings: AllocateSettings, graphs: Sequence[str]) -> None:
    """Refuse settings of a graph that is not scored."""
    for name in ("alpha", "eta"):
        if _is_set(settings, name) and "lda" not in graphs:
            raise UsageError(f"--{name} is for --graph lda; other graphs have --a: leave it out")


def _warn_of_unused(settings: AllocateSettings) -> None:
    """Name settings, given or from a file or the environment, that nothing asked for takes."""
    by_particles = "--method smc, smc-adaptive or sis"
    method, both = {settings.method}, {settings.method, settings.factors}
    for name, methods, owners in (
        ("order", method, by_particles),
        ("particles", both, f"{by_particles}, or --factors smc"),
        ("moves", both, f"{by_particles}, or --factors smc"),
        ("chains", method, "--method annealed"),
        ("modes", method, "--method annealed"),
        ("sweeps", both, "--method or --factors annealed"),
    ):
        takers = {"annealed"} if owners.endswith("annealed") else set(BY_PARTICLES)
        if _is_set(settings, name) and takers.isdisjoint(methods):
            logger.warning("--%s has no effect here: it is for %s", name, owners)


def _is_set(settings: AllocateSettings, name: str) -> bool:
    """Whether a setting is other than its default."""
    default = type(settings).__dataclass_fields__[name].default
    return bool(getattr(settings, name) != default)
