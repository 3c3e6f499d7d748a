"""Models and selections of the perplexity experiments, cached as they are done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from pipeline.progress import Progress
from pipeline.reproduce.inouye2015.models import Score, score
from pipeline.reproduce.inouye2015.perplexity import selection

if TYPE_CHECKING:
    from evaluation.poisson_mrf.field_selection import FieldSelection
    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.inouye2015.models import Cell
    from pipeline.reproduce.inouye2015.perplexity import HeldOut, PerplexitySettings


def runs_of(cache: ResultCache, settings: PerplexitySettings, split: HeldOut) -> ResultGroup:
    """The cached results of these documents, with this effort and this seed."""
    return cache.group(
        "experiment-lpmrf-perplexity", effort=settings.effort, seed=settings.seed, split=split
    )


def cached_selection(
    group: ResultGroup,
    kind: str,
    n_topics: int,
    split: HeldOut,
    settings: PerplexitySettings,
    *,
    n_jobs: int | None,
) -> FieldSelection:
    """The validation perplexities of a kind of model; pairs in the cache are not tried again.

    The regressions are made again, so that the others begin where they would have.
    """
    shape = len(settings.penalties), len(settings.length_scales)
    grid = json.dumps([settings.penalties, settings.length_scales])
    name = f"selection of {kind}, {n_topics} topics, on {grid}"
    known = group.get(name, lambda arrays: arrays["perplexity"])
    table = np.full(shape, np.nan) if known is None else known
    stage = f"{kind}, K = {n_topics}: selecting"
    with Progress(stage, shape[0] * shape[1], "pairs") as progress:

        def keep(i: int, j: int, perplexity: float) -> None:
            if np.isnan(table[i, j]):
                table[i, j] = perplexity
                group.put(name, {"perplexity": table})
            progress.update(1)

        return selection(
            kind, n_topics, split, settings, known=table.copy(), n_jobs=n_jobs, on_pair=keep
        )


def cached_score(
    group: ResultGroup,
    cell: Cell,
    split: HeldOut,
    settings: PerplexitySettings,
    chosen: tuple[float, float],
    *,
    n_jobs: int | None,
) -> Score:
    """The scores of a model with λ and c as chosen; fitted and scored if they are not cached."""

    def compute() -> Score:
        with Progress(cell.name, None, "rounds") as progress:
            return score(
                cell,
                split.train,
                split.test,
                chosen,
                settings.effort,
                settings.seed,
                n_jobs=n_jobs,
                on_round=lambda: progress.update(1),
            )

    name = f"{cell.name}-{chosen[0]!r}-{chosen[1]!r}"
    return group.cached(name, compute, Score.to_arrays, Score.from_arrays)
