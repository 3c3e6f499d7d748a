"""Figures 1 and 2 of Capdevila et al. 2018: run at a scale, as tables and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.errors import UsageError
from pipeline.figures.style import MUTED, series_style
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.documents import TooFewDocumentsError
from pipeline.reproduce.capdevila2018.kl import (
    KLComparison,
    KLSettings,
    comparison,
    selected,
    train,
    truth,
)
from pipeline.reproduce.capdevila2018.runs import cached_scores, cached_topics, runs_of
from pipeline.reproduce.counts import corpora_of
from pipeline.reproduce.panels import finite, panels

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.counts import Named
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "l2r-kl"
QUICK_SIZES = (10, 20, 50, 100, 200, 500, 1000)
LARGEST_T = 2.58
"""|t| is above it once in a hundred times where there is no bias."""
PUBLISHED = ("DS", "HM", "L2R", "L2R exact")
"""The estimators of the paper."""


def protocol(settings: ReproduceSettings) -> KLSettings:
    """What the scale stands for.

    Raises
    ------
    UsageError
        If a setting is too small to make sense.
    """
    given = {"n_topics": settings.topics, "n_documents": settings.scored}
    asked = {name: value for name, value in given.items() if value is not None}
    quick: dict[str, Any] = {}
    if settings.scale == "quick":
        quick = {"n_documents": 100, "max_tokens": 60, "sizes": QUICK_SIZES, "n_repeats": 3}
    if settings.max_tokens is not None:
        asked["max_tokens"] = settings.max_tokens
    return KLSettings(**(quick | asked), seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> list[KLComparison]:
    """All corpora in turn; what is in the cache is taken from it."""
    wanted = protocol(settings)
    return [_compared(each, wanted, cache, settings.threads) for each in corpora_of(settings)]


def _compared(corpus: Named, wanted: KLSettings, cache: ResultCache, threads: int) -> KLComparison:
    group = runs_of(cache, NAME, wanted, corpus.counts)
    try:
        chosen = selected(corpus.counts, wanted)
    except TooFewDocumentsError as error:
        raise UsageError(f"{corpus.name}: {error}; a higher --max-tokens may do") from error
    with Progress(f"{corpus.name}: training", wanted.n_sweeps, "sweeps") as progress:
        topics = cached_topics(
            group, lambda: train(chosen, wanted, threads, lambda: progress.update(1))
        )
    with Progress(f"{corpus.name}: exact", len(chosen.rows), "documents") as progress:
        exact = truth(topics, chosen, threads, progress.update)
    scores = cached_scores(
        group,
        topics,
        chosen.documents,
        wanted.cells,
        wanted.seed,
        n_jobs=threads,
        stage=corpus.name,
    )
    return comparison(corpus.name, wanted, chosen, exact, scores)


def as_json(found: list[KLComparison]) -> dict[str, Any]:
    """A row for each corpus, estimator and number of samples, and what the paper concludes."""
    settings = found[0].settings
    return {
        "name": NAME,
        "topics": settings.n_topics,
        "words": settings.n_words,
        "max_tokens": settings.max_tokens,
        "repeats": settings.n_repeats,
        "corpora": [
            {
                "corpus": each.name,
                "documents": each.selected.counts.shape[0],
                "scored": len(each.exact),
                "left_out_for_few_words": each.selected.n_few_words,
                "left_out_for_length": each.selected.n_too_long,
                "mean_tokens": each.selected.mean_length,
                "effective_documents": each.effective_documents,
                "log_likelihood": float(each.exact.sum()),
            }
            for each in found
        ],
        "rows": [row for each in found for row in _rows(each)],
        "findings": _findings(found),
    }


def _rows(found: KLComparison) -> list[dict[str, Any]]:
    kl, kl_error = found.kl_mean, found.kl_standard_error
    ratio, ratio_error = found.ratio_error
    log_error, log_error_error = found.mean_log_error
    mean_square = found.root_mean_square_log_error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ratio / ratio_error
    return [
        {
            "corpus": found.name,
            "estimator": estimator,
            "samples": size,
            "kl": finite(kl[m, s]),
            "kl_standard_error": finite(kl_error[m, s]),
            "ratio_error": finite(ratio[m, s]),
            "ratio_standard_error": finite(ratio_error[m, s]),
            "t": finite(t[m, s]),
            "log_error": finite(log_error[m, s]),
            "log_standard_error": finite(log_error_error[m, s]),
            "root_mean_square_log_error": finite(mean_square[m, s]),
            "seconds": float(found.seconds[m, s].mean()),
        }
        for m, estimator in enumerate(found.estimators)
        for s, size in enumerate(found.settings.sizes)
    ]


def _findings(found: list[KLComparison]) -> list[dict[str, Any]]:
    """What should hold of each corpus with most samples, and where it does not."""

    def last(each: KLComparison, values: Any) -> dict[str, float]:
        return dict(zip(each.estimators, values[:, -1].tolist(), strict=True))

    def kl(each: KLComparison) -> dict[str, float]:
        return last(each, each.kl_mean)

    def square(each: KLComparison) -> dict[str, float]:
        return last(each, each.root_mean_square_log_error)

    def t_of(each: KLComparison, parts: tuple[Any, Any], name: str) -> float:
        mean, error = (last(each, part)[name] for part in parts)
        return float(mean / error) if error else 0.0

    claims: dict[str, Callable[[KLComparison], bool]] = {
        "lowest KL of the paper's estimators: L2R exact": lambda each: (
            min(PUBLISHED, key=lambda name: kl(each)[name]) == "L2R exact"
        ),
        "lowest rms log error of the paper's estimators: L2R exact": lambda each: (
            min(PUBLISHED, key=lambda name: square(each)[name]) == "L2R exact"
        ),
        "KL of L2R below that of DS": lambda each: kl(each)["L2R"] < kl(each)["DS"],
        f"lowest KL of all: {REFINED}": lambda each: (
            min(each.estimators, key=lambda name: kl(each)[name]) == REFINED
        ),
        f"lowest rms log error of all: {REFINED}": lambda each: (
            min(each.estimators, key=lambda name: square(each)[name]) == REFINED
        ),
        f"HM too high: mean log error, t > {LARGEST_T}": lambda each: (
            t_of(each, each.mean_log_error, "HM") > LARGEST_T
        ),
        f"p / exact of {REFINED} is 1: |t| < {LARGEST_T}": lambda each: (
            abs(t_of(each, each.ratio_error, REFINED)) < LARGEST_T
        ),
        f"p / exact of DS is 1: |t| < {LARGEST_T}": lambda each: (
            abs(t_of(each, each.ratio_error, "DS")) < LARGEST_T
        ),
    }
    return [
        {"claim": claim, "fails_at": [each.name for each in found if not holds(each)]}
        for claim, holds in claims.items()
    ]


def print_result(result: dict[str, Any]) -> None:
    """A table for each corpus, then what should hold."""
    print(
        "KL in bits between exact and estimated probabilities of documents, normalised; "
        f"{result['topics']} topics over the {result['words']} most frequent words; "
        f"mean ± standard error of {result['repeats']} repeats\n"
        "p / exact - 1: mean over documents ± standard error; log error: nats a document, the "
        "same, and its root mean square; seconds: of one run over all documents"
    )
    for corpus in result["corpora"]:
        print(
            f"\n{corpus['corpus']}: {corpus['scored']:,} of {corpus['documents']:,} documents, "
            f"{corpus['mean_tokens']:.1f} tokens on average; left out: "
            f"{corpus['left_out_for_few_words']:,} of at most one different word, "
            f"{corpus['left_out_for_length']:,} of more than {result['max_tokens']} tokens\n"
            f"exact log-likelihood {corpus['log_likelihood']:.3f} nats; the normalised "
            f"probabilities are worth {corpus['effective_documents']:.1f} documents"
        )
        print(
            f"{'estimator':11s}{'samples':>8s}{'KL':>22s}{'p / exact - 1':>22s}{'t':>8s}"
            f"{'log error':>22s}{'rms':>10s}{'seconds':>9s}"
        )
        for row in result["rows"]:
            if row["corpus"] == corpus["corpus"]:
                print(_line(row))
    print()
    for each in result["findings"]:
        failed = ", ".join(each["fails_at"])
        print(f"{each['claim']}: {f'not with {failed}' if failed else 'yes'}")


def _line(row: dict[str, Any]) -> str:
    def text(value: float | None, form: str = ".2e") -> str:
        return "-" if value is None else f"{value:{form}}"

    def pair(name: str, error: str) -> str:
        return f"{text(row[name])} ± {text(row[error], '.1e')}"

    return (
        f"{row['estimator']:11s}{row['samples']:8d}{pair('kl', 'kl_standard_error'):>22s}"
        f"{pair('ratio_error', 'ratio_standard_error'):>22s}{text(row['t'], '.2f'):>8s}"
        f"{pair('log_error', 'log_standard_error'):>22s}"
        f"{text(row['root_mean_square_log_error']):>10s}{row['seconds']:9.2f}"
    )


def pictures(found: list[KLComparison]) -> dict[str, Callable[[Any], None]]:
    """Figure 2, the same of log errors, and of several corpora Figure 1."""
    drawn = {
        NAME: lambda figure: _panels(
            figure,
            found,
            lambda each: each.kl_mean,
            lambda each: each.kl_standard_error,
            "KL, bits",
        ),
        f"{NAME}-error": lambda figure: _panels(
            figure,
            found,
            lambda each: each.root_mean_square_log_error,
            None,
            "root mean square log error, nats a document",
        ),
    }
    if len(found) > 1:
        drawn[f"{NAME}-length"] = lambda figure: _by_length(figure, found)
    return drawn


def _panels(
    figure: Any,
    found: list[KLComparison],
    values: Callable[[KLComparison], Any],
    errors: Callable[[KLComparison], Any] | None,
    title: str,
) -> None:
    drawn = panels(figure, len(found), title)
    for axes, each in zip(drawn, found, strict=True):
        for m, estimator in enumerate(each.estimators):
            bars = None if errors is None else errors(each)[m]
            axes.errorbar(each.settings.sizes, values(each)[m], yerr=bars, label=estimator)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(f"{each.name}\n{each.selected.mean_length:.1f} tokens a document")
        axes.set_xlabel("samples")
    drawn[0].legend()


def _by_length(figure: Any, found: list[KLComparison]) -> None:
    axes = figure.subplots()
    lengths = [each.selected.mean_length for each in found]
    of = {name: m for m, name in enumerate(found[0].estimators)}
    axes.axhline(1.0, color=MUTED, linewidth=0.8)
    for n, name in enumerate(("L2R", "L2R exact", REFINED)):
        ratio = [each.kl_mean[of[name], -1] / each.kl_mean[of["DS"], -1] for each in found]
        axes.plot(lengths, ratio, linestyle="", label=name, **series_style(n))
    highest = axes.get_ylim()[1]
    for each, length in zip(found, lengths, strict=True):
        axes.text(length, highest, each.name, rotation=90, va="top", ha="right", color=MUTED)
    axes.set_yscale("log")
    axes.set_xlabel("tokens a document scored, on average")
    axes.set_ylabel(f"KL over that of DS, {found[0].settings.sizes[-1]:,} samples")
    axes.legend()
