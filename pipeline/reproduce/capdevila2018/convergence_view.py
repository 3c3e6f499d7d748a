"""Figure 3 of Capdevila et al. 2018: run at a scale, as a table and as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.convergence import (
    Convergence,
    ConvergenceSettings,
    convergence,
    held_out,
    train,
)
from pipeline.reproduce.capdevila2018.documents import TooFewDocumentsError
from pipeline.reproduce.capdevila2018.runs import cached_scores, cached_topics, runs_of
from pipeline.reproduce.counts import corpora_of
from pipeline.reproduce.panels import finite, panels

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.counts import Named
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "l2r-convergence"
QUICK: dict[str, Any] = {"n_topics": 20, "n_documents": 30}


def protocol(settings: ReproduceSettings) -> ConvergenceSettings:
    """What the scale stands for."""
    given = {"n_topics": settings.topics, "n_documents": settings.scored}
    asked = {name: value for name, value in given.items() if value is not None}
    scale: dict[str, Any] = QUICK if settings.scale == "quick" else {}
    return ConvergenceSettings(**(scale | asked), seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> list[Convergence]:
    """All corpora in turn; what is in the cache is taken from it."""
    wanted = protocol(settings)
    return [_converged(each, wanted, cache, settings.threads) for each in corpora_of(settings)]


def _converged(
    corpus: Named, wanted: ConvergenceSettings, cache: ResultCache, threads: int
) -> Convergence:
    group = runs_of(cache, NAME, wanted, corpus.counts)
    try:
        split = held_out(corpus.counts, wanted)
    except TooFewDocumentsError as error:
        raise UsageError(f"{corpus.name}: {error}") from error
    with Progress(f"{corpus.name}: training", wanted.n_sweeps, "sweeps") as progress:
        topics = cached_topics(
            group, lambda: train(split, wanted, threads, lambda: progress.update(1))
        )
    scores = cached_scores(
        group,
        topics,
        split.documents,
        wanted.cells,
        wanted.seed,
        n_jobs=threads,
        stage=corpus.name,
    )
    return convergence(corpus.name, wanted, split, scores)


def as_json(found: list[Convergence]) -> dict[str, Any]:
    """A row for each corpus, estimator and number of samples."""
    return {
        "name": NAME,
        "topics": found[0].settings.n_topics,
        "corpora": [
            {
                "corpus": each.name,
                "documents": each.split.training.shape[0],
                "words": each.split.training.shape[1],
                "scored": each.split.documents.shape[0],
                "tokens": each.split.n_tokens,
            }
            for each in found
        ],
        "rows": [row for each in found for row in _rows(each)],
    }


def _rows(found: Convergence) -> list[dict[str, Any]]:
    totals, errors = found.total, found.total_standard_error
    return [
        {
            "corpus": found.name,
            "estimator": estimator,
            "samples": size,
            "log_likelihood": float(totals[estimator][s]),
            "standard_error": finite(errors[estimator][s]),
            "above_reference": float(totals[estimator][s] - found.reference) / found.split.n_tokens,
            "seconds": float(found.seconds[estimator][s]),
        }
        for estimator, sizes in found.settings.sizes.items()
        for s, size in enumerate(sizes)
    ]


def print_result(result: dict[str, Any]) -> None:
    """A table for each corpus."""
    print(
        f"log-likelihood of held-out documents under {result['topics']} topics, in nats\n"
        "standard error: of sampling, as the estimator says itself; above: nats a word more than "
        f"{REFINED} with most samples"
    )
    for corpus in result["corpora"]:
        print(
            f"\n{corpus['corpus']}: {corpus['scored']:,} documents, {corpus['tokens']:,} tokens; "
            f"learned from {corpus['documents']:,} over {corpus['words']:,} words"
        )
        print(
            f"{'estimator':11s}{'samples':>8s}{'log-likelihood':>18s}{'standard error':>16s}"
            f"{'above':>10s}{'seconds':>9s}"
        )
        for row in result["rows"]:
            if row["corpus"] != corpus["corpus"]:
                continue
            error = row["standard_error"]
            print(
                f"{row['estimator']:11s}{row['samples']:8d}{row['log_likelihood']:18.2f}"
                f"{'-' if error is None else f'{error:.2f}':>16s}{row['above_reference']:10.4f}"
                f"{row['seconds']:9.2f}"
            )


def pictures(found: list[Convergence]) -> dict[str, Callable[[Any], None]]:
    """Figure 3, a panel for each corpus: against samples, as in the paper, and against seconds."""
    return {
        NAME: lambda figure: _panels(
            figure, found, lambda each, name: each.settings.sizes[name], "samples"
        ),
        f"{NAME}-seconds": lambda figure: _panels(
            figure, found, lambda each, name: each.seconds[name], "seconds"
        ),
    }


def _panels(
    figure: Any, found: list[Convergence], x: Callable[[Convergence, str], Any], title: str
) -> None:
    drawn = panels(figure, len(found), "log-likelihood, nats")
    for axes, each in zip(drawn, found, strict=True):
        for name, total in each.total.items():
            axes.semilogx(x(each, name), total, label=name)
        axes.set_title(each.name)
        axes.set_xlabel(title)
    drawn[0].legend()
