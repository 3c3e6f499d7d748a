"""Figures 1 and 2 of Capdevila et al. 2018: KL divergence of estimated probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.errors import UsageError
from pipeline.figures.style import MUTED, series_style
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.claims import corpus_claim, last_rows
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
from pipeline.reproduce.claims import decided
from pipeline.reproduce.counts import corpora_of
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, panels, plain
from pipeline.reproduce.tables import Column, Headline, Table, grouped, indexed, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.counts import Named
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "l2r-kl"
QUICK_SIZES = (10, 20, 50, 100, 200, 500, 1000)
LARGEST_T = 2.58
"""|t| exceeds it once in a hundred times without bias."""
PUBLISHED = ("DS", "HM", "L2R", "L2R exact")
"""Estimators of the paper."""


def protocol(settings: ReproduceSettings) -> KLSettings:
    """Return the protocol of a scale; raises UsageError if a setting is too small."""
    given = {
        "n_topics": settings.topics,
        "n_documents": settings.scored,
        "max_tokens": settings.max_tokens,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    quick: dict[str, Any] = {}
    if settings.scale == "quick":
        quick = {"n_documents": 100, "max_tokens": 60, "sizes": QUICK_SIZES, "n_repeats": 3}
    return KLSettings(**(quick | asked), seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Compare the estimators on every corpus."""
    wanted = protocol(settings)
    found = [_compared(each, wanted, cache, settings.threads) for each in corpora_of(settings)]
    return Found(as_json(found), found)


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
    """Return a row for each corpus, estimator and number of samples."""
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
    }


def _rows(found: KLComparison) -> list[dict[str, Any]]:
    ratio, ratio_error = found.ratio_error
    log_error, log_standard_error = found.mean_log_error
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "kl": found.kl_mean,
            "kl_standard_error": found.kl_standard_error,
            "ratio_error": ratio,
            "ratio_standard_error": ratio_error,
            "t": ratio / ratio_error,
            "log_error": log_error,
            "log_standard_error": log_standard_error,
            "root_mean_square_log_error": found.root_mean_square_log_error,
        }
    return [
        {"corpus": found.name, "estimator": estimator, "samples": size}
        | {name: plain(values[m, s]) for name, values in columns.items()}
        | {"seconds": float(found.seconds[m, s].mean())}
        for m, estimator in enumerate(found.estimators)
        for s, size in enumerate(found.settings.sizes)
    ]


def tables(result: Any) -> list[Table]:
    """Return a table for each corpus."""
    about = indexed(result["corpora"], "corpus")
    columns = (
        Column("estimator", "estimator"),
        Column("samples", "samples", ","),
        Column("KL, bits", "kl", ".1e", "kl_standard_error"),
        Column("p / exact − 1", "ratio_error", ".1e", "ratio_standard_error"),
        Column("t", "t", ".2f"),
        Column("log error, nats", "log_error", ".1e", "log_standard_error"),
        Column("rms", "root_mean_square_log_error", ".1e"),
        Column("seconds", "seconds", ".2f"),
    )
    return [
        Table(
            f"{name}: {about[name]['scored']:,} documents, {about[name]['mean_tokens']:.1f} tokens "
            "on average",
            columns,
            rows,
            f"{result['topics']} topics over the {result['words']} most frequent words; means "
            f"± standard errors of {result['repeats']} repeats. KL: between exact and estimated "
            "probabilities of documents, normalised, which are worth "
            f"{about[name]['effective_documents']:.1f} documents. Seconds: of one run over all "
            f"documents. Exact log-likelihood {about[name]['log_likelihood']:.3f} nats. Left out: "
            f"{about[name]['left_out_for_few_words']:,} documents of at most one different word, "
            f"{about[name]['left_out_for_length']:,} of more than {result['max_tokens']} tokens.",
            headings=2,
        )
        for name, rows in grouped(result["rows"], "corpus").items()
    ]


def headline(result: Any) -> Headline:
    """Return the KL with most samples, of the first corpus."""
    corpus = result["corpora"][0]["corpus"]
    last = last_rows(result)[corpus]
    most = last["DS"]["samples"]
    return Headline(
        f"KL in bits with {most:,} samples, {corpus}",
        ", ".join(f"{name} {text(last[name]['kl'], '.1e')}" for name in ("L2R exact", "L2R", "DS")),
        "L2R exact lowest on 6 of 6 corpora, L2R next on 4",
    )


def _lowest(key: str, among: tuple[str, ...] | None, wanted: str) -> Callable[[Any], bool]:
    def holds(last: dict[str, Any]) -> bool:
        value = {name: last[name][key] for name in among or last}
        return min(value, key=lambda name: np.inf if value[name] is None else value[name]) == wanted

    return holds


def _is_unbiased(name: str) -> Callable[[Any], bool]:
    def holds(last: dict[str, Any]) -> bool:
        mean, error = last[name]["ratio_error"], last[name]["ratio_standard_error"]
        return not error or (mean is not None and abs(mean / error) < LARGEST_T)

    return holds


def _is_too_high(last: dict[str, Any]) -> bool:
    mean, error = last["HM"]["log_error"], last["HM"]["log_standard_error"]
    return bool(error) and mean is not None and mean / error > LARGEST_T


def _is_below(last: dict[str, Any]) -> bool:
    l2r, ds = last["L2R"]["kl"], last["DS"]["kl"]
    return l2r is not None and (ds is None or l2r < ds)


CLAIMS = (
    corpus_claim(
        "exact-lowest-kl",
        "lowest KL of the paper's estimators: L2R exact",
        _lowest("kl", PUBLISHED, "L2R exact"),
        "L2R with exact conditionals is nearest to the exact probabilities on six of six corpora.",
    ),
    corpus_claim(
        "exact-lowest-rms",
        "lowest rms log error of the paper's estimators: L2R exact",
        _lowest("root_mean_square_log_error", PUBLISHED, "L2R exact"),
    ),
    corpus_claim(
        "l2r-below-ds",
        "KL of L2R below that of DS",
        _is_below,
        "L2R with sampled conditionals is second on four of six corpora.",
    ),
    corpus_claim("refined-lowest-kl", f"lowest KL of all: {REFINED}", _lowest("kl", None, REFINED)),
    corpus_claim(
        "refined-lowest-rms",
        f"lowest rms log error of all: {REFINED}",
        _lowest("root_mean_square_log_error", None, REFINED),
    ),
    corpus_claim(
        "hm-too-high",
        f"HM too high: mean log error, t > {LARGEST_T}",
        _is_too_high,
        "The harmonic mean overestimates.",
    ),
    corpus_claim(
        "refined-unbiased",
        f"p / exact of {REFINED} is 1: |t| < {LARGEST_T}",
        _is_unbiased(REFINED),
    ),
    corpus_claim("ds-unbiased", f"p / exact of DS is 1: |t| < {LARGEST_T}", _is_unbiased("DS")),
)


def _draw_kl(figure: Any, _: Any, found: list[KLComparison]) -> None:
    _draw(figure, found, lambda each: (each.kl_mean, each.kl_standard_error), "KL, bits")


def _draw_errors(figure: Any, _: Any, found: list[KLComparison]) -> None:
    title = "root mean square log error, nats a document"
    _draw(figure, found, lambda each: (each.root_mean_square_log_error, None), title)


def _draw(
    figure: Any,
    found: list[KLComparison],
    values_of: Callable[[KLComparison], tuple[Any, Any]],
    title: str,
) -> None:
    drawn = panels(figure, len(found)).flat
    drawn[0].set_ylabel(title)
    for axes, each in zip(drawn, found, strict=False):
        values, errors = values_of(each)
        for m, estimator in enumerate(each.estimators):
            bars = None if errors is None else errors[m]
            axes.errorbar(each.settings.sizes, values[m], yerr=bars, label=estimator)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(f"{each.name}\n{each.selected.mean_length:.1f} tokens a document")
        axes.set_xlabel("samples")
    drawn[0].legend()


def _draw_by_length(figure: Any, _: Any, found: list[KLComparison]) -> None:
    axes = figure.subplots()
    lengths = [each.selected.mean_length for each in found]
    place = {name: m for m, name in enumerate(found[0].estimators)}
    axes.axhline(1.0, color=MUTED, linewidth=0.8)
    for n, name in enumerate(("L2R", "L2R exact", REFINED)):
        ratio = [each.kl_mean[place[name], -1] / each.kl_mean[place["DS"], -1] for each in found]
        axes.plot(lengths, ratio, linestyle="", label=name, **series_style(n))
    highest = axes.get_ylim()[1]
    for each, length in zip(found, lengths, strict=True):
        axes.text(length, highest, each.name, rotation=90, va="top", ha="right", color=MUTED)
    axes.set_yscale("log")
    axes.set_xlabel("tokens a document scored, on average")
    axes.set_ylabel(f"KL over that of DS, {found[0].settings.sizes[-1]:,} samples")
    axes.legend()


EXPERIMENT = Experiment(
    name=NAME,
    where="Figures 1 and 2",
    shows="How far estimated probabilities of documents are from exact ones under Gamma-Poisson "
    "models, as a KL divergence.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: decided(CLAIMS, found.result),
    figures=(
        Figure("", "Figure 2: KL divergence against samples", _draw_kl),
        Figure("-error", "Root mean square log error against samples", _draw_errors),
        Figure(
            "-length",
            "Figure 1: KL divergence over that of DS, against the length of documents",
            _draw_by_length,
            lambda result: len(result["corpora"]) > 1,
        ),
    ),
    data=lambda result: data_note("six corpora", *(each["corpus"] for each in result["corpora"])),
)
