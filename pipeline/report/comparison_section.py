"""Several runs on the same documents, and the topics of the first beside those of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import CorpusFormatError
from evaluation import (
    ExactCostError,
    LikelihoodEstimate,
    PartitionCostError,
    ZeroProbabilityError,
    align_topics,
    compare,
)
from evaluation.log_likelihood import METHODS
from models import PoissonMRFMixture, PoissonMRFTopicModel
from pipeline.common_words import counts_of, n_tokens_of
from pipeline.errors import UsageError
from pipeline.held_out import held_out
from pipeline.learning import evenly_spaced
from pipeline.report.estimator_words import NOT_TO_QUOTE
from pipeline.report.intervals import half_width, probability_positive
from pipeline.report.likelihood_section import SMOOTHING
from pipeline.report.score_cache import ScoreCache
from pipeline.report.sections import AlignedTopics, Alignment, ComparisonRow, ComparisonSection
from pipeline.scoring import (
    Named,
    default_method,
    nats_of_words,
    or_none,
    probability_of_words,
    restricted,
    scored_words,
)
from pipeline.settings import EvaluateSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation import Comparison, PairedDifference
    from pipeline.held_out import HeldOut
    from pipeline.report.run_report import OpenRun

SHARED_WORDS = 20
"""Most probable words of two topics among which shared ones are looked for."""
UNBIASED_METHOD = "left-to-right-sequential"
COSTLY = 0.01
"""Share of a model's probability that goes to words which others do not know, to be told of; and
of two models the difference in it from which on they do not compare as they stand."""

ROUNDING = 1e-6
"""Nats a word that two equal models may seem to differ by."""


class _NotComparedError(Exception):
    """Why models are not compared, for people."""


def comparison_section(
    runs: Sequence[OpenRun],
    *,
    method: str | None = None,
    most_documents: int = 200,
    n_samples: int | None = None,
    n_threads: int,
    seed: int = 0,
) -> ComparisonSection:
    """Runs of any families compared on documents that none of them has learned from.

    These are the test part of the first run, without what the others learned from or were stopped
    by; of them the words that every run knows. Intervals are those of paired differences over
    articles, by Student's t with one degree of freedom fewer than there are articles, and so is the
    probability of being worse; `evaluate` prints it by the normal distribution, which is the same
    for many articles. That the best was chosen on these documents is not in them.

    What a model gives to words that are not scored counts against it. Where that differs much, the
    models are compared once more, each restricted to the scored words, see
    `pipeline.scoring.restricted`, and none is called the best that is not so both ways.

    Where runs cannot be compared there are no rows, and the reading says why. Topics are aligned
    all the same.

    Parameters
    ----------
    runs
        Two or more. Scores are kept with the first.
    method
        By default `left-to-right-sequential` where all families have it, else what `evaluate`
        takes: the families' default, or one that they share.
    most_documents
        Of more than these, evenly spaced ones are scored; 0: none, only topics are aligned.
    n_samples
        Monte Carlo samples a document; each method has a default.
    n_threads, seed
        The seed fixes the result, whatever the number of threads.

    Raises
    ------
    ValueError
        If there are fewer than two runs, or an argument is out of its range.
    """
    if len(runs) < 2:
        raise ValueError(f"runs must be two or more to compare, found {len(runs)}")
    if most_documents < 0:
        raise ValueError(f"most_documents must be at least 0, found {most_documents}")
    models = [
        Named(name, each.run, each.model)
        for name, each in zip(names_of_runs(runs), runs, strict=True)
    ]
    for each in models:
        methods = METHODS[type(each.model.topics)]
        if method is not None and method not in methods:
            raise ValueError(
                f"method must be one of {', '.join(sorted(methods))} for {each.name}, found "
                f"{method!r}"
            )
    alignments = tuple(_alignment(models[0], each, n_threads) for each in models[1:])
    asked = EvaluateSettings(method=method, samples=n_samples, seed=seed)
    try:
        documents, words = _documents(runs, models, most_documents, n_threads)
        asked = replace(asked, method=method or _default_method(models))
        estimates, is_smoothed = _estimates(asked, models, documents, words, n_threads)
    except (_NotComparedError, UsageError, ExactCostError, PartitionCostError) as error:
        return ComparisonSection(
            method=asked.method or "none",
            direction="exact",
            articles=0,
            documents=0,
            tokens=0,
            rows=(),
            reading=f"The likelihoods of these runs are not compared: {error}.",
            alignments=tuple(each for each in alignments if each is not None),
        )
    articles = documents.article_of
    n_articles = len(set(articles))
    comparison = compare(_by_article(estimates, articles))
    shares = {each.name: probability_of_words(each.model, words) for each in models}
    is_alike = max(shares.values()) - min(shares.values()) <= COSTLY
    conditional = None
    left = [restricted(each, words) for each in models]
    if not is_alike and all(each is not None for each in left):
        some = [each for each in left if each is not None]
        again, _ = _estimates(asked, some, documents, words, n_threads)
        conditional = compare(_by_article(again, articles))
    rows = _rows(comparison, estimates, n_articles, shares, conditional)
    is_comparable = is_alike or _is_ahead(rows)
    first = estimates[models[0].name]
    return ComparisonSection(
        method=first.method,
        direction=first.direction,
        articles=n_articles,
        documents=first.n_documents,
        tokens=n_tokens_of(documents.corpus, words),
        rows=rows,
        reading=" ".join(
            [
                *_reading(rows, first, n_articles, is_comparable=is_comparable),
                *_reading_of_restricted(rows, first, is_alike=is_alike),
                *_reservations(models, is_smoothed=is_smoothed),
            ]
        ),
        alignments=tuple(each for each in alignments if each is not None),
        is_comparable=is_comparable,
    )


def _default_method(models: Sequence[Named]) -> str:
    """The unbiased estimator where all families have it, as a page may take a while; else what
    `evaluate` takes.
    """
    has_it = all(UNBIASED_METHOD in METHODS[type(each.model.topics)] for each in models)
    return UNBIASED_METHOD if has_it else default_method(models)


def names_of_runs(runs: Sequence[OpenRun]) -> list[str]:
    """What runs are called; by their paths if two have the same name."""
    names = [each.name for each in runs]
    return names if len(set(names)) == len(names) else [str(each.run.path) for each in runs]


def _documents(
    runs: Sequence[OpenRun], models: Sequence[Named], most: int, n_threads: int
) -> tuple[HeldOut, tuple[str, ...]]:
    """Documents to compare on, each with a token that counts, and the words that do."""
    if not most:
        raise _NotComparedError("that was not asked for")
    documents = held_out(EvaluateSettings(), [each.run for each in runs], (), n_threads)
    try:
        words = scored_words(models, documents)
    except CorpusFormatError as error:
        raise _NotComparedError(str(error)) from error
    counts = counts_of(documents.corpus, words, len(words))
    with_tokens = np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel())
    if not len(with_tokens):
        raise _NotComparedError(
            f"{documents.source} has no document that the others have not learned from and that "
            "holds a word which every run knows"
        )
    chosen = documents.corpus.rows(with_tokens[evenly_spaced(len(with_tokens), most)])
    return replace(documents, corpus=chosen), words


def _estimates(
    asked: EvaluateSettings,
    models: Sequence[Named],
    documents: HeldOut,
    words: tuple[str, ...],
    n_threads: int,
) -> tuple[dict[str, LikelihoodEstimate], bool]:
    """Of every model; all are smoothed if documents are impossible under one, and whether they are.

    Poisson MRFs are not: no word is impossible in them.
    """
    assert models[0].run is not None
    cache = ScoreCache(models[0].run)

    def score(settings: EvaluateSettings, named: Named) -> LikelihoodEstimate:
        return cache.score(settings, named, documents, words, n_threads).estimate

    try:
        return {each.name: score(asked, each) for each in models}, False
    except ZeroProbabilityError:
        smoothed = replace(asked, smoothing=SMOOTHING)
        return {
            each.name: score(asked if _is_mrf(each) else smoothed, each) for each in models
        }, True


def _is_mrf(named: Named) -> bool:
    return isinstance(named.model.topics, (PoissonMRFMixture, PoissonMRFTopicModel))


def _by_article(
    estimates: dict[str, LikelihoodEstimate], articles: Sequence[str]
) -> dict[str, LikelihoodEstimate]:
    return {name: estimate.by_group(articles) for name, estimate in estimates.items()}


def _limits(pair: PairedDifference, n_articles: int) -> tuple[float | None, float | None]:
    """A 95 % interval of a difference; None twice if it is not known."""
    half = half_width(pair.standard_error, n_articles)
    return (None, None) if half is None else (pair.nats_per_word - half, pair.nats_per_word + half)


def _rows(
    comparison: Comparison,
    estimates: dict[str, LikelihoodEstimate],
    n_articles: int,
    shares: dict[str, float],
    conditional: Comparison | None,
) -> tuple[ComparisonRow, ...]:
    rows = []
    for name, by_article in comparison.estimates.items():
        estimate = estimates[name]
        sampling = estimate.monte_carlo_standard_error / estimate.total_tokens
        pair = comparison.against_best.get(name)
        difference = low = high = probability = None
        if pair is not None:
            difference = pair.nats_per_word
            low, high = _limits(pair, n_articles)
            probability = probability_positive(difference, pair.standard_error, n_articles)
        restricted_difference = restricted_low = restricted_high = None
        if pair is not None and conditional is not None:
            restricted_pair = conditional.between(name, comparison.best)
            restricted_difference = restricted_pair.nats_per_word
            restricted_low, restricted_high = _limits(restricted_pair, n_articles)
        rows.append(
            ComparisonRow(
                model=name,
                perplexity=estimate.perplexity,
                perplexity_standard_error=or_none(by_article.perplexity_standard_error),
                nats_per_word=estimate.nats_per_word,
                monte_carlo_standard_error=or_none(sampling),
                difference=difference,
                low=low,
                high=high,
                probability_worse=probability,
                scored_share=shares[name],
                conditional_difference=restricted_difference,
                conditional_low=restricted_low,
                conditional_high=restricted_high,
            )
        )
    # The best first, also among equal ones.
    return tuple(sorted(rows, key=lambda row: (row.nats_per_word, row.difference is not None)))


def _is_ahead(rows: Sequence[ComparisonRow]) -> bool:
    """Whether the first is better than all others of models restricted to the scored words too."""
    lows = [row.conditional_low for row in rows[1:]]
    return all(low is not None and low > ROUNDING for low in lows)


def _reading(
    rows: Sequence[ComparisonRow],
    estimate: LikelihoodEstimate,
    n_articles: int,
    *,
    is_comparable: bool,
) -> list[str]:
    """Sentences: which is best, by how much, and how sure that is."""
    if estimate.method in NOT_TO_QUOTE:
        return [f"Figures by {estimate.method} do not say which of these models is better."]
    sentences = _order(rows, n_articles) if is_comparable else _no_order(rows, n_articles)
    if estimate.method == "completion":
        sentences.append(
            "What is compared is how well half of each document is predicted from the other half."
        )
    elif estimate.direction == "lower bound":
        sentences.append(
            "What is compared are bounds, of which one may be nearer to the truth than another."
        )
    elif estimate.direction not in ("exact", "unbiased"):
        sentences.append(
            "The estimates are biased by unknown amounts, which need not be the same for all runs."
        )
    return sentences


def _articles(n_articles: int) -> str:
    return "one article" if n_articles == 1 else f"the same {n_articles:,} articles"


def _most_probable(rows: Sequence[ComparisonRow]) -> str:
    return "higher" if len(rows) == 2 else "highest"


def _order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Sentences on models that compare as they stand."""
    best, others = rows[0], rows[1:]
    number = "two" if len(rows) == 2 else f"{len(rows):,}"
    order = f"the {_most_probable(rows)} probability"
    sentences = [f"Of the {number} runs, {best.model} gives {_articles(n_articles)} {order}."]
    clear = [row for row in others if row.low is not None and row.low > 0]
    unclear = [row for row in others if row not in clear]
    if clear:
        nearest = clear[0]
        assert nearest.difference is not None
        sentences.append(
            f"Each word is on average {_ratio(nearest.difference)} times as probable as under "
            f"{nearest.model} ({_interval(nearest)})"
            + (f"; it is further ahead of {_listed(clear[1:])}." if clear[1:] else ".")
        )
    if unclear:
        is_one = len(unclear) == 1 and unclear[0].low is not None
        why = "the 95 % intervals of the differences include 0"
        if n_articles == 1:
            why = "one article cannot tell"
        elif is_one:
            why = f"the difference is {_interval(unclear[0])}, which includes 0"
        sentences.append(f"That it is better than {_listed(unclear)} may be chance: {why}.")
    return sentences


def _no_order(rows: Sequence[ComparisonRow], n_articles: int) -> list[str]:
    """Sentences on models of which vocabularies decide which comes first."""
    best = rows[0]
    by = f", by {_interval(rows[1])}" if len(rows) == 2 else ""
    why = "none is clearly the best both as it is and by the scored words alone"
    order = f"the {_most_probable(rows)} probability"
    return [
        f"These runs are not comparable as they stand: their vocabularies differ, and {why}.",
        f"As it is, {best.model} gives {_articles(n_articles)} {order}{by}.",
    ]


def _reading_of_restricted(
    rows: Sequence[ComparisonRow], estimate: LikelihoodEstimate, *, is_alike: bool
) -> list[str]:
    """Sentences if words that not all runs know cost some of them much: how much, and what is left
    of the differences without that cost.
    """
    costly = [
        f"{100 * (1 - row.scored_share):.0f} % of that of {row.model}, worth "
        f"{nats_of_words(row.scored_share):.2f} nats a word"
        for row in rows
        if 1 - row.scored_share >= COSTLY
    ]
    if not costly:
        return []
    cost = "Other words get some of the models' probability, which counts against them"
    sentences = [
        "Only words that every run knows are scored.",
        f"{cost}: {'; '.join(costly)}.",
    ]
    if is_alike or estimate.method in NOT_TO_QUOTE:
        return sentences
    if rows[1].conditional_difference is None:
        sentences.append("How they compare without that cost is not known for Poisson MRFs.")
        return sentences
    found = "; ".join(_side(row, rows[0].model) for row in rows[1:])
    sentences.append(f"Each restricted to the scored words, {found}.")
    return sentences


def _side(row: ComparisonRow, best: str) -> str:
    """How a model stands to the first where both are restricted."""
    difference, low, high = row.conditional_difference, row.conditional_low, row.conditional_high
    assert difference is not None
    sign = -1.0 if difference < 0 else 1.0
    where = "ahead of" if difference < 0 else "behind"
    text = f"{row.model} is {where} {best} by {sign * difference:.4f} nats a word"
    if low is None or high is None:
        return f"{text} (one article gives no interval)"
    low, high = sorted((sign * low, sign * high))
    chance = ", which includes 0" if low <= ROUNDING and high >= -ROUNDING else ""
    low, high = (0.0 if abs(x) < ROUNDING else x for x in (low, high))  # no -0.0000
    return f"{text} (95 % interval {low:.4f} to {high:.4f}{chance})"


def _reservations(models: Sequence[Named], *, is_smoothed: bool) -> list[str]:
    sentences = []
    if is_smoothed:
        sentences.append(
            f"A share of {SMOOTHING:g} of each topic was spread over all words, as some words of "
            "these documents have no topic in one of the runs."
        )
    if any(_is_mrf(each) for each in models):
        sentences.append(
            "Partition functions of Poisson MRFs are estimates, whose error is in no figure here."
        )
    return sentences


def _interval(row: ComparisonRow) -> str:
    if row.low is None or row.high is None:
        return f"{row.difference:.4f} nats a word"
    return f"{row.difference:.4f} nats a word, 95 % interval {row.low:.4f} to {row.high:.4f}"


def _ratio(difference: float) -> str:
    ratio = float(np.exp(min(difference, 700.0)))
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.1e}"


def _listed(rows: Sequence[ComparisonRow]) -> str:
    names = [row.model for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _alignment(first: Named, second: Named, n_threads: int) -> Alignment | None:
    """Topics matched one to one; None if the two have no word in common."""
    vocabularies = first.model.vocabulary, second.model.vocabulary
    if not set(vocabularies[0]) & set(vocabularies[1]):
        return None
    found = align_topics(
        *(first.model.topics, vocabularies[0], second.model.topics, vocabularies[1]),
        n_top=SHARED_WORDS,
        n_jobs=n_threads,
    )
    pairs = [
        AlignedTopics(pair.first, pair.second, pair.distance, pair.shared_words)
        for pair in found.pairs
    ]
    pairs += [AlignedTopics(k, None, None, ()) for k in found.only_first]
    # The other way round it is the first model that has none, which is None on the page as well.
    pairs += [AlignedTopics(None, k, None, ()) for k in found.only_second]
    return Alignment(first.name, second.name, tuple(pairs), found.mean_distance)
