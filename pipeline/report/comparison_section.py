"""Comparison of several runs on the same documents, and alignment of their topics."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corpora.errors import CorpusFormatError
from evaluation import (
    Comparison,
    ExactCostError,
    LikelihoodEstimate,
    PairedDifference,
    PartitionCostError,
    ZeroProbabilityError,
    align_topics,
    compare,
)
from evaluation.methods import scoring_of
from pipeline.errors import UsageError
from pipeline.report.comparison_reading import (
    COSTLY,
    ROUNDING,
    reading_of,
    reading_of_restricted,
    reservations,
)
from pipeline.report.likelihood_reading import SMOOTHING, half_width, probability_positive
from pipeline.report.sections import AlignedTopics, Alignment, ComparisonRow, ComparisonSection
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.score import (
    LoadedModel,
    default_method,
    n_tokens_of,
    or_none,
    restricted,
    score,
    scored_rows,
    scored_words,
    vocabulary_mass,
)
from pipeline.settings import EvaluateSettings, ReportSettings
from pipeline.text.held_out import HeldOut, held_out

SHARED_WORDS = 20  # Number of the most probable words of each of two topics that are compared
UNBIASED_METHOD = "left-to-right-sequential"


class _NotComparedError(Exception):
    """Reason, for readers, why models are not compared."""


def comparison_section(
    runs: Sequence[LoadedRun], settings: ReportSettings, n_threads: int, method: str | None = None
) -> ComparisonSection:
    """Compare runs of any families on documents that none of them has learned from.

    The documents are the test part of the first run without documents that another run used in
    training or early stopping; only words that every run knows are scored. Intervals and
    probabilities are of paired differences over articles, by Student's t; `evaluate` uses the
    normal distribution. They ignore that the best run was chosen on the same documents.

    Probability of unscored words counts against a model. If that differs much, the models are
    compared again, each restricted to the scored words (`pipeline.scoring.score.restricted`), and a
    model is called the best only if it is best both ways.

    If runs cannot be compared, there are no rows, and the reading says why. Topics are always
    aligned. The method is by default `left-to-right-sequential` if all families have it, else the
    default of `evaluate`: that of the families, or one that they share.
    """
    models = [
        LoadedModel(name, each, each.model)
        for name, each in zip(names_of_runs(runs), runs, strict=True)
    ]
    found = (_alignment(models[0], each, n_threads) for each in models[1:])
    alignments = tuple(each for each in found if each is not None)
    asked = EvaluateSettings(method=method, samples=settings.samples, seed=settings.seed)
    try:
        documents, words = _documents(runs, models, settings.scored, n_threads)
        if not method:
            has_it = all(UNBIASED_METHOD in scoring_of(each.model.topics).names for each in models)
            method = UNBIASED_METHOD if has_it else default_method(models)
        asked = replace(asked, method=method)
        estimates, is_smoothed = _estimates(asked, models, documents, words, n_threads)
    except (_NotComparedError, UsageError, ExactCostError, PartitionCostError) as error:
        reading = f"The likelihoods of these runs are not compared: {error}."
        method = asked.method or "none"
        return ComparisonSection(method, "exact", 0, 0, 0, (), reading, alignments)
    articles = documents.article_of
    n_articles = len(set(articles))
    comparison = compare(_by_article(estimates, articles))
    shares = {each.name: vocabulary_mass(each.model, words) for each in models}
    is_alike = max(shares.values()) - min(shares.values()) <= COSTLY
    conditional = None
    left = [restricted(each, words) for each in models]
    if not is_alike and all(each is not None for each in left):
        some = [each for each in left if each is not None]
        again, _ = _estimates(asked, some, documents, words, n_threads)
        conditional = compare(_by_article(again, articles))
    rows = _rows(comparison, estimates, n_articles, shares, conditional)
    lows = [row.conditional_low for row in rows[1:]]
    is_comparable = is_alike or all(low is not None and low > ROUNDING for low in lows)
    first = estimates[models[0].name]
    chosen = scoring_of(models[0].model.topics).method(first.method)
    return ComparisonSection(
        method=first.method,
        direction=first.direction,
        articles=n_articles,
        documents=first.n_documents,
        tokens=n_tokens_of(documents.corpus, words),
        rows=rows,
        reading=" ".join(
            [
                *reading_of(rows, first, chosen, n_articles, is_comparable=is_comparable),
                *reading_of_restricted(rows, models, chosen, is_alike=is_alike),
                *reservations(models, is_smoothed=is_smoothed),
            ]
        ),
        alignments=alignments,
        is_comparable=is_comparable,
    )


def names_of_runs(runs: Sequence[LoadedRun]) -> list[str]:
    """Return the names of the runs; their paths if two names are equal."""
    names = [each.name for each in runs]
    return names if len(set(names)) == len(names) else [str(each.directory.path) for each in runs]


def _documents(
    runs: Sequence[LoadedRun], models: Sequence[LoadedModel], most: int, n_threads: int
) -> tuple[HeldOut, tuple[str, ...]]:
    """Return the documents with scored tokens, and the scored words."""
    if not most:
        raise _NotComparedError("that was not asked for")
    documents = held_out(EvaluateSettings(), runs, (), n_threads)
    try:
        words = scored_words(models, documents)
    except CorpusFormatError as error:
        raise _NotComparedError(str(error)) from error
    rows = scored_rows(documents.corpus, words, most)
    if not len(rows):
        raise _NotComparedError(
            f"{documents.source} has no document that is new to the other runs and has a word that "
            "every run knows"
        )
    return replace(documents, corpus=documents.corpus.rows(rows)), words


def _estimates(
    asked: EvaluateSettings,
    models: Sequence[LoadedModel],
    documents: HeldOut,
    words: tuple[str, ...],
    n_threads: int,
) -> tuple[dict[str, LikelihoodEstimate], bool]:
    """Return the estimates, and whether models were smoothed: all, if one gives probability 0.

    Families that refuse smoothing stay as they are: they give no word probability 0.
    """

    def estimate(settings: EvaluateSettings, named: LoadedModel) -> LikelihoodEstimate:
        return score(settings, named, documents, words, n_threads).estimate

    try:
        return {each.name: estimate(asked, each) for each in models}, False
    except ZeroProbabilityError:
        smoothed = replace(asked, smoothing=SMOOTHING)
        return {
            each.name: estimate(
                asked if "smoothing" in scoring_of(each.model.topics).refuses else smoothed, each
            )
            for each in models
        }, True


def _by_article(
    estimates: dict[str, LikelihoodEstimate], articles: Sequence[str]
) -> dict[str, LikelihoodEstimate]:
    return {name: estimate.by_group(articles) for name, estimate in estimates.items()}


def _interval(pair: PairedDifference, n_articles: int) -> dict[str, Any]:
    """Return a difference and its 95 % interval, whose limits are None if it is not known."""
    difference, half = pair.nats_per_word, half_width(pair.standard_error, n_articles)
    low, high = (None, None) if half is None else (difference - half, difference + half)
    return {"difference": difference, "low": low, "high": high}


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
        known: dict[str, Any] = dict.fromkeys(("difference", "low", "high"))
        known["probability_worse"] = None
        if pair is not None:
            known = _interval(pair, n_articles)
            known["probability_worse"] = probability_positive(
                pair.nats_per_word, pair.standard_error, n_articles
            )
            if conditional is not None:
                again = _interval(conditional.between(name, comparison.best), n_articles)
                known |= {f"conditional_{each}": value for each, value in again.items()}
        rows.append(
            ComparisonRow(
                model=name,
                perplexity=estimate.perplexity,
                perplexity_standard_error=or_none(by_article.perplexity_standard_error),
                nats_per_word=estimate.nats_per_word,
                monte_carlo_standard_error=or_none(sampling),
                scored_share=shares[name],
                **known,
            )
        )
    # The best first, also among equal ones.
    return tuple(sorted(rows, key=lambda row: (row.nats_per_word, row.difference is not None)))


def _alignment(first: LoadedModel, second: LoadedModel, n_threads: int) -> Alignment | None:
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
    pairs += [AlignedTopics(None, k, None, ()) for k in found.only_second]
    return Alignment(first.name, second.name, tuple(pairs), found.mean_distance)
