"""Capdevila et al. 2018, Figures 1 and 2: estimates of short documents beside the exact values.

Documents are cut to the 100 words that are most frequent, and βΓ-PFA of 5 topics is trained on all.
The paper's measure, of D documents whose exact probabilities are p_d and estimated ones p̂_d, is

    KL = Σ_d P_d log2(P_d / P̂_d),   P_d = p_d / Σ_c p_c,   P̂_d = p̂_d / Σ_c p̂_c

It hardly depends on improbable documents, and not at all on a factor common to all estimates. The
tables therefore also have the mean of p̂_d / p_d - 1, which is 0 for an unbiased estimator, and
mean and root mean square of log p̂_d - log p_d.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from evaluation.arrays import Floats
from evaluation.scorer import log_likelihood
from models import GammaPoissonTopics
from pipeline.errors import UsageError
from pipeline.figures.style import MUTED, series_style
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018 import runs
from pipeline.reproduce.capdevila2018.runs import ESTIMATORS, Budget, Run, last_rows
from pipeline.reproduce.claims import MAX_T
from pipeline.reproduce.counts import Counts, Named, corpora_of, draw_rows, most_frequent_words
from pipeline.reproduce.experiment import Experiment, Figure, Found, number, numbers, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Row, Table, grouped, text
from pipeline.reproduce.trials import group_of, scaled

NAME = "l2r-kl"
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
FULL = Budget(5, dict.fromkeys(ESTIMATORS, SIZES), n_repeats=10)
QUICK: dict[str, Any] = {
    "sizes": dict.fromkeys(ESTIMATORS, SIZES[:7]),
    "n_repeats": 3,
    "n_documents": 100,
    "max_tokens": 60,
}
EXACT_BLOCK = 20  # Documents whose exact likelihood is computed between two reports of progress
PUBLISHED = ("DS", "HM", "L2R", "L2R exact")  # Estimators of the paper


class Selected(NamedTuple):
    """Documents of one corpus, all (N, V) to train with, and (D, V) to score. As in the paper,
    documents of at most one different word are left out.
    """

    counts: Counts
    documents: Counts
    n_few_words: int
    n_too_long: int  # Documents of more than `max_tokens` tokens


def _run(settings: ReproduceSettings) -> Found:
    asked = {"n_topics": settings.topics, "n_documents": settings.scored}
    budget = scaled(FULL, settings, QUICK, **asked, max_tokens=settings.max_tokens)
    corpora, rows = [], []
    for corpus in corpora_of(settings):
        group = group_of(NAME, budget, runs.LEVELS, counts=corpus.counts)
        chosen = selected(corpus, budget)
        common = budget, settings.threads, corpus.name
        topics = runs.cached_topics(group, chosen.counts, *common)
        with Progress(f"{corpus.name}: exact", chosen.documents.shape[0], "documents") as progress:
            exact = truth(topics, chosen.documents, settings.threads, progress.update)
        scores = runs.cached_scores(group, topics, chosen.documents, *common)
        corpora.append(about(corpus.name, chosen, exact))
        rows += rows_of(corpus.name, budget, exact, scores)
    sizes = {"topics": budget.n_topics, "words": budget.n_words, "max_tokens": budget.max_tokens}
    sizes["repeats"] = budget.n_repeats
    return Found({"name": NAME, **sizes, "corpora": corpora, "rows": rows})


def selected(corpus: Named, budget: Budget) -> Selected:
    """Cut the vocabulary and draw the documents to score. Raises UsageError if there are fewer than
    two to draw from.
    """
    cut = most_frequent_words(corpus.counts, budget.n_words)
    has_words = np.diff(cut.indptr) > 1
    is_short = np.asarray(cut.sum(axis=1)).ravel() <= budget.max_tokens
    usable = np.flatnonzero(has_words & is_short)
    if len(usable) < 2:
        raise UsageError(
            f"{corpus.name}: {len(usable)} documents have more than one of the {cut.shape[1]} most "
            f"frequent words and at most {budget.max_tokens} tokens: at least 2 are needed; a "
            "higher --max-tokens may do"
        )
    rows = draw_rows(usable, budget.n_documents, budget.seed)
    return Selected(cut, cut[rows], int((~has_words).sum()), int((has_words & ~is_short).sum()))


def truth(
    topics: GammaPoissonTopics,
    documents: Counts,
    n_jobs: int | None = None,
    on_documents: Callable[[int], object] = lambda _: None,
) -> Floats:
    """Return (D,), exact log p of counts and length, and report the documents of each part. Raises
    ExactCostError if documents are too long for so many topics.
    """
    parts = []
    for first in range(0, documents.shape[0], EXACT_BLOCK):
        block = documents[first : first + EXACT_BLOCK]
        parts.append(log_likelihood(topics, block, "exact", n_jobs=n_jobs).log_likelihood)
        on_documents(block.shape[0])
    return np.concatenate(parts)


def about(corpus: str, chosen: Selected, exact: Floats) -> dict[str, Any]:
    """Return the name of a corpus and numbers of its documents. So many effective documents of
    equal probability have the entropy of P.
    """
    log_p = exact - logsumexp(exact)
    left_out = {"few_words": chosen.n_few_words, "length": chosen.n_too_long}
    known: dict[str, Any] = {f"left_out_for_{why}": n_docs for why, n_docs in left_out.items()}
    known |= {"corpus": corpus, "documents": chosen.counts.shape[0], "scored": len(exact)}
    return known | {
        "mean_tokens": float(chosen.documents.sum() / len(exact)),
        "effective_documents": float(np.exp(-(np.exp(log_p) * log_p).sum())),
        "log_likelihood": float(exact.sum()),
    }


def rows_of(corpus: str, budget: Budget, exact: Floats, scores: Mapping[Run, Row]) -> list[Row]:
    """Return a row for each estimator and number of samples."""
    rows = []
    for estimator, sizes in budget.sizes.items():
        for size in sizes:
            of = [scores[Run(estimator, size, repeat)] for repeat in range(budget.n_repeats)]
            row = {"corpus": corpus, "estimator": estimator, "samples": size}
            row |= measures(exact, np.array([each["log_likelihood"] for each in of]))
            rows.append(plain(row | {"seconds": numbers(of, "seconds").mean()}))
    return rows


def measures(exact: Floats, estimate: Floats) -> dict[str, float]:
    """Return measures of R estimates of all documents (R, D), with standard errors.

    KL is in bits, its standard error over repeats. `ratio_error` is the mean of p̂ / p - 1, and
    `log_error` that of log p̂ - log p in nats a document, below 0 by about half the variance of log
    p̂ if p̂ is unbiased; their standard errors are over documents. With heavy tails, all documents
    may have missed the tail: mean and standard error are too small then.
    """
    error, log_p = estimate - exact, exact - logsumexp(exact)
    log_q = estimate - logsumexp(estimate, axis=-1, keepdims=True)
    kl = _mean((np.exp(log_p) * (log_p - log_q)).sum(axis=-1) / np.log(2.0))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = _mean(np.expm1(error).mean(axis=0))
        t = ratio[0] / ratio[1]
    log_error = _mean(error.mean(axis=0))
    found = {"kl": kl[0], "kl_standard_error": kl[1], "t": t}
    found |= {"ratio_error": ratio[0], "ratio_standard_error": ratio[1]}
    found |= {"log_error": log_error[0], "log_standard_error": log_error[1]}
    return found | {"root_mean_square_log_error": np.sqrt((error**2).mean())}


def _mean(values: Floats) -> tuple[Any, Any]:
    """Return the mean and its standard error, NaN of a single value."""
    if len(values) == 1:
        return values[0], np.float64(np.nan)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def _tables(result: Any) -> list[Table]:
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
    found = []
    for of, rows in runs.by_corpus(result):
        size = f"{of['scored']:,} documents, {of['mean_tokens']:.1f} tokens on average"
        note = (
            f"{result['topics']} topics over the {result['words']} most frequent words; means "
            f"± standard errors of {result['repeats']} repeats. KL: between exact and estimated "
            "probabilities of documents, normalised, which are worth "
            f"{of['effective_documents']:.1f} documents. Seconds: of one run over all documents. "
            f"Exact log-likelihood {of['log_likelihood']:.3f} nats. Left out: "
            f"{of['left_out_for_few_words']:,} documents of at most one different word, "
            f"{of['left_out_for_length']:,} of more than {result['max_tokens']} tokens."
        )
        found.append(Table(f"{of['corpus']}: {size}", columns, rows, note, headings=2))
    return found


def _headline(result: Any) -> Headline:
    corpus, last = next(iter(last_rows(result).items()))
    return Headline(
        f"KL in bits with {last['DS']['samples']:,} samples, {corpus}",
        ", ".join(f"{name} {text(last[name]['kl'], '.1e')}" for name in ("L2R exact", "L2R", "DS")),
        "L2R exact lowest on 6 of 6 corpora, L2R next on 4",
    )


LOWEST: dict[str, tuple[str, Collection[str], str]] = {
    "exact": ("L2R exact", PUBLISHED, "the paper's estimators"),
    "refined": (REFINED, ESTIMATORS, "all"),
}


def _lowest(of: str, title: str, measure: str, paper: str = "") -> tuple[Any, ...]:
    """Return the claim that ours is lowest of all, or that L2R exact is of the paper's."""
    wanted, among, all_of_them = LOWEST[of]

    def holds(last: Any) -> bool:
        return min(among, key=lambda name: number(last[name][measure], math.inf)) == wanted

    name = f"{of}-lowest-{title.split(maxsplit=1)[0].lower()}"
    return name, f"lowest {title} of {all_of_them}: {wanted}", holds, paper


def _t(row: Any, of: str) -> float:
    """Return t of a mean, 0 without a standard error, NaN without a mean."""
    error = row[f"{of}_standard_error"]
    return number(row[f"{of}_error"]) / error if error else 0.0


def _unbiased(key: str, name: str) -> tuple[Any, ...]:
    sentence = f"p / exact of {name} is 1: |t| < {MAX_T}"
    return f"{key}-unbiased", sentence, lambda last: abs(_t(last[name], "ratio")) < MAX_T, ""


KL, RMS = ("KL", "kl"), ("rms log error", "root_mean_square_log_error")
EXACT_IS_NEAREST = (
    "L2R with exact conditionals is nearest to the exact probabilities on six of six corpora."
)
CLAIMS = (
    _lowest("exact", *KL, EXACT_IS_NEAREST),
    _lowest("exact", *RMS),
    (
        "l2r-below-ds",
        "KL of L2R below that of DS",
        lambda last: number(last["L2R"]["kl"], math.inf) < number(last["DS"]["kl"], math.inf),
        "L2R with sampled conditionals is second on four of six corpora.",
    ),
    _lowest("refined", *KL),
    _lowest("refined", *RMS),
    (
        "hm-too-high",
        f"HM too high: mean log error, t > {MAX_T}",
        lambda last: _t(last["HM"], "log") > MAX_T,
        "The harmonic mean overestimates.",
    ),
    _unbiased("refined", REFINED),
    _unbiased("ds", "DS"),
)


def _draw(y: str, label: str, figure: Any, result: Any, _: Any) -> None:
    error = f"{y}_standard_error"
    for axes, about, of_corpus in runs.draw_corpora(figure, result, label):
        for estimator, rows in grouped(of_corpus, "estimator").items():
            bars = numbers(rows, error) if error in rows[0] else None
            axes.errorbar(numbers(rows, "samples"), numbers(rows, y), yerr=bars, label=estimator)
        title = f"{about['corpus']}\n{about['mean_tokens']:.1f} tokens a document"
        axes.set(xscale="log", yscale="log", title=title, xlabel="samples")


def _draw_by_length(figure: Any, result: Any, _: Any) -> None:
    axes, last = figure.subplots(), last_rows(result)
    lengths = [each["mean_tokens"] for each in result["corpora"]]
    direct = numbers(list(last.values()), "DS", "kl")
    axes.axhline(1.0, color=MUTED, linewidth=0.8)
    for n, name in enumerate(("L2R", "L2R exact", REFINED)):
        ratio = numbers(list(last.values()), name, "kl") / direct
        axes.plot(lengths, ratio, linestyle="", label=name, **series_style(n))
    highest = axes.get_ylim()[1]
    for corpus, length in zip(last, lengths, strict=True):
        axes.text(length, highest, corpus, rotation=90, va="top", ha="right", color=MUTED)
    label = f"KL over that of DS, {max(row['samples'] for row in result['rows']):,} samples"
    axes.set(yscale="log", xlabel="tokens a document scored, on average", ylabel=label)
    axes.legend()


EXPERIMENT = Experiment(
    NAME,
    "Figures 1 and 2",
    "How far estimated probabilities of documents are from exact ones under Gamma-Poisson "
    "models, as a KL divergence.",
    *(_run, _tables, _headline, lambda result: runs.findings(result, CLAIMS)),
    (
        Figure("", "Figure 2: KL divergence against samples", partial(_draw, "kl", "KL, bits")),
        Figure(
            "-error",
            "Root mean square log error against samples",
            partial(_draw, RMS[1], "root mean square log error, nats a document"),
        ),
        Figure(
            "-length",
            "Figure 1: KL divergence over that of DS, against the length of documents",
            _draw_by_length,
            lambda result: len(result["corpora"]) > 1,
        ),
    ),
    data=runs.note_of_corpora,
)
