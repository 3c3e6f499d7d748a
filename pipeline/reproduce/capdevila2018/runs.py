"""Trained topics and runs of estimators of Capdevila et al. 2018, cached as they are done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from models.families import arrays_of, topics_of_arrays
from pipeline.progress import Progress
from pipeline.reproduce.capdevila2018.scores import ESTIMATORS, Score, score, steps, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy import sparse

    from models import GammaPoissonTopics
    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.capdevila2018.convergence import ConvergenceSettings
    from pipeline.reproduce.capdevila2018.kl import KLSettings
    from pipeline.reproduce.capdevila2018.scores import Cell


def runs_of(
    cache: ResultCache,
    experiment: str,
    settings: KLSettings | ConvergenceSettings,
    counts: sparse.csr_array,
) -> ResultGroup:
    """The cached results of a corpus, whatever the sizes and repeats that are asked for."""
    left_out = ("sizes", "n_repeats")
    table = {name: value for name, value in asdict(settings).items() if name not in left_out}
    return cache.group(f"experiment-{experiment}", settings=table, counts=counts)


def cached_topics(
    group: ResultGroup, train: Callable[[], GammaPoissonTopics]
) -> GammaPoissonTopics:
    """The topics in the cache; trained, and put there, if there are none."""
    return group.cached(
        "topics",
        train,
        arrays_of,
        lambda arrays: cast("GammaPoissonTopics", topics_of_arrays("gamma-poisson", arrays)),
    )


def cached_scores(
    group: ResultGroup,
    topics: GammaPoissonTopics,
    documents: sparse.csr_array,
    cells: Sequence[Cell],
    seed: int,
    *,
    n_jobs: int | None,
    stage: str,
) -> dict[Cell, Score]:
    """The scores of all cells: those in the cache, and the rest computed and put there.

    Progress is shown under the name `stage`.
    """
    scores: dict[Cell, Score] = {}
    is_warm: set[str] = set()
    with Progress(stage, sum(steps(cell, documents) for cell in cells), "steps") as progress:
        for cell in cells:
            progress.update(0, f"{cell.estimator}, {cell.n_samples:,} samples")
            name = f"{ESTIMATORS[cell.estimator]}-{cell.n_samples}-{cell.repeat}"
            found = group.get(name, Score.from_arrays)
            if found is None:
                if cell.estimator not in is_warm:
                    warm_up(topics, documents, (cell.estimator,))
                    is_warm.add(cell.estimator)
                found = score(topics, documents, cell, seed, n_jobs)
                group.put(name, found.to_arrays())
            scores[cell] = found
            progress.update(steps(cell, documents))
    return scores
