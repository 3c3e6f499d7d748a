"""Figure 3 of Capdevila et al. 2018: convergence of estimators on held-out documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.claims import corpus_claim, last_rows
from pipeline.reproduce.capdevila2018.convergence import (
    Convergence,
    ConvergenceSettings,
    convergence,
    held_out,
    train,
)
from pipeline.reproduce.capdevila2018.documents import TooFewDocumentsError
from pipeline.reproduce.capdevila2018.runs import cached_scores, cached_topics, runs_of
from pipeline.reproduce.claims import decided
from pipeline.reproduce.counts import corpora_of
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, panels, plain
from pipeline.reproduce.tables import Column, Headline, Table, grouped, indexed, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.counts import Named
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "l2r-convergence"
QUICK: dict[str, Any] = {"n_topics": 20, "n_documents": 30}


def protocol(settings: ReproduceSettings) -> ConvergenceSettings:
    """Return the protocol of a scale."""
    given = {"n_topics": settings.topics, "n_documents": settings.scored}
    asked = {name: value for name, value in given.items() if value is not None}
    scale: dict[str, Any] = QUICK if settings.scale == "quick" else {}
    return ConvergenceSettings(**(scale | asked), seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Run the estimators on every corpus."""
    wanted = protocol(settings)
    found = [_converged(each, wanted, cache, settings.threads) for each in corpora_of(settings)]
    return Found(as_json(found), found)


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
    """Return a row for each corpus, estimator and number of samples."""
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
            "standard_error": plain(errors[estimator][s]),
            "above_reference": float(totals[estimator][s] - found.reference) / found.split.n_tokens,
            "seconds": float(found.seconds[estimator][s]),
        }
        for estimator, sizes in found.settings.sizes.items()
        for s, size in enumerate(sizes)
    ]


def tables(result: Any) -> list[Table]:
    """Return a table for each corpus."""
    about = indexed(result["corpora"], "corpus")
    columns = (
        Column("estimator", "estimator"),
        Column("samples", "samples", ","),
        Column("log-likelihood, nats", "log_likelihood", ".2f", "standard_error"),
        Column("above, nats a word", "above_reference", "+.4f"),
        Column("seconds", "seconds", ".2f"),
    )
    return [
        Table(
            f"{name}: {about[name]['scored']:,} held-out documents, "
            f"{about[name]['tokens']:,} tokens",
            columns,
            rows,
            f"{result['topics']} topics, learned from {about[name]['documents']:,} documents over "
            f"{about[name]['words']:,} words; ± of sampling, as the estimator says itself. Above: "
            f"more than {REFINED} with most samples.",
            headings=2,
        )
        for name, rows in grouped(result["rows"], "corpus").items()
    ]


def headline(result: Any) -> Headline:
    """Return where each estimator is with most samples, of the first corpus."""
    corpus = result["corpora"][0]["corpus"]
    last = last_rows(result)[corpus]
    return Headline(
        f"nats a word above {REFINED}, with most samples, {corpus}",
        ", ".join(
            f"{name} {text(last[name]['above_reference'], '+.3f')}" for name in ("DS", "L2R", "HM")
        ),
        "only drawn: DS from below, HM above, L2R between",
    )


def _is_above(first: str, second: str) -> Callable[[Any], bool]:
    return lambda last: bool(last[first]["log_likelihood"] > last[second]["log_likelihood"])


CLAIMS = (
    corpus_claim(
        "l2r-above-ds",
        "L2R is above DS with most samples",
        _is_above("L2R", "DS"),
        "Direct sampling is too low on long documents.",
    ),
    corpus_claim(
        "hm-above-l2r",
        "HM is above L2R with most samples",
        _is_above("HM", "L2R"),
        "The harmonic mean is too high.",
    ),
    corpus_claim(
        "l2r-nearer-than-ds",
        f"L2R is nearer than DS to {REFINED} with most samples",
        lambda last: abs(last["L2R"]["above_reference"]) < abs(last["DS"]["above_reference"]),
        "L2R converges with fewer samples than direct sampling.",
    ),
)


def _draw(against: str, title: str) -> Callable[[Any, Any, Any], None]:
    def draw(figure: Any, _: Any, found: list[Convergence]) -> None:
        drawn = panels(figure, len(found)).flat
        drawn[0].set_ylabel("log-likelihood, nats")
        for axes, each in zip(drawn, found, strict=False):
            for name, total in each.total.items():
                x = each.settings.sizes[name] if against == "samples" else each.seconds[name]
                axes.semilogx(x, total, label=name)
            axes.set_title(each.name)
            axes.set_xlabel(title)
        drawn[0].legend()

    return draw


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 3",
    shows="How fast estimators converge on whole documents, where nothing exact is known.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: decided(CLAIMS, found.result),
    figures=(
        Figure("", "Figure 3: log-likelihood against samples", _draw("samples", "samples")),
        Figure("-seconds", "The same against seconds", _draw("seconds", "seconds")),
    ),
    data=lambda result: data_note("six corpora", *(each["corpus"] for each in result["corpora"])),
)
