"""How probable the documents of a run's test part are, by several estimators."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corpora.row_blocks import tokens_of_documents
from evaluation import ZeroProbabilityError
from evaluation.methods import scoring_of
from pipeline.report.estimator_words import choice_among, meaning_of
from pipeline.report.intervals import half_width
from pipeline.report.sections import LikelihoodRow, LikelihoodSection
from pipeline.scoring.score import LoadedModel, or_none, score, scored_words
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut
from pipeline.training.validation import evenly_spaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import Corpus
    from evaluation.family import Method, Scoring
    from models import SavedModel
    from pipeline.cache.partial_scores import Scored
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

SMOOTHING = 1e-6
"""Share of each topic that is spread over all words where else a document would be impossible."""
NEGLIGIBLE = 0.2
"""A Monte Carlo error of less than this share of the error over articles is: together with it they
come to 2 % more than the latter alone."""


def likelihood_section(
    run: LoadedRun,
    *,
    methods: Sequence[str] | None = None,
    most_documents: int = 200,
    n_samples: int | None = None,
    n_threads: int,
    seed: int = 0,
) -> LikelihoodSection | None:
    """Score the test part, which neither topics nor early stopping have seen.

    Parameters
    ----------
    methods
        Estimators; by default those that the family shows.
    most_documents
        Of more than these, evenly spaced ones are scored.
    n_samples
        Monte Carlo samples a document; each method has a default.
    n_threads, seed
        The seed fixes the result, whatever the number of threads.

    Returns
    -------
    LikelihoodSection or None
        None if there is nothing to score; the log says why.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    if most_documents < 1:
        raise ValueError(f"most_documents must be at least 1, found {most_documents}")
    model, test = run.model, run.parts.test
    chosen = _chosen(model, methods)
    documents = HeldOut(f"the test part of run {run.name}", _some(test, most_documents), 0)
    if not documents.corpus.n_docs:
        logger.info("run %s: %s", run.name, _why_not(test))
        return None
    named = LoadedModel(run.name, run, model)
    words = scored_words([named], documents)
    asked = EvaluateSettings(samples=n_samples, seed=seed)
    scored = []
    for method in chosen:
        asked = replace(asked, method=method)
        try:
            found = score(asked, named, documents, words, n_threads)
        except ZeroProbabilityError:
            asked = replace(asked, smoothing=SMOOTHING)
            found = score(asked, named, documents, words, n_threads)
        scored.append(found)
    scoring = scoring_of(model.topics)
    articles = documents.article_of
    rows = tuple(
        _row(each, scoring.method(method), articles, n_samples)
        for method, each in zip(chosen, scored, strict=True)
    )
    n_articles = len(set(articles))
    n_tokens, n_unknown = documents.corpus.n_tokens, int(documents.corpus.n_unknown.sum())
    return LikelihoodSection(
        rows=rows,
        articles=n_articles,
        documents=documents.corpus.n_docs,
        of_documents=test.n_docs,
        tokens=n_tokens,
        unknown_share=n_unknown / (n_tokens + n_unknown),
        reading=_reading(rows, scoring, n_articles, smoothing=asked.smoothing),
    )


def _chosen(model: SavedModel, methods: Sequence[str] | None) -> Sequence[str]:
    scoring = scoring_of(model.topics)
    if methods is None:
        return scoring.shown
    foreign = [method for method in methods if method not in scoring.names]
    if foreign or not methods:
        raise ValueError(
            f"methods must be some of {', '.join(scoring.names)} for {scoring.topics.__name__}, "
            f"found {', '.join(foreign) or 'none'}"
        )
    return methods


def _some(test: Corpus, most: int) -> Corpus:
    """All documents that have a token, or evenly spaced ones of them."""
    with_tokens = np.flatnonzero(tokens_of_documents(test.counts))
    return test.rows(with_tokens[evenly_spaced(len(with_tokens), most)])


def _why_not(test: Corpus) -> str:
    if not test.n_docs:
        return "no test part, so that nothing is said of unseen documents: train with --test 0.1"
    return "no document of the test part has a word of the vocabulary"


def _row(
    scored: Scored, method: Method, articles: Sequence[str], asked: int | None
) -> LikelihoodRow:
    """What one estimator says, of `asked` samples a document or as many as it takes by itself."""
    estimate = scored.estimate
    # Sections of an article are not independent: the article is the unit of the standard error.
    by_article = estimate.by_group(articles)
    drawn = estimate.n_samples[estimate.n_tokens > 0]
    n_samples = float(drawn.mean()) if drawn.any() else None
    if method.default_samples is not None:
        n_samples = float(asked or method.default_samples)
    return LikelihoodRow(
        method=estimate.method,
        direction=estimate.direction,
        scored=method.scored,
        perplexity=estimate.perplexity,
        perplexity_standard_error=or_none(by_article.perplexity_standard_error),
        nats_per_word=estimate.nats_per_word,
        nats_per_word_standard_error=or_none(by_article.nats_per_word_standard_error),
        monte_carlo_standard_error=or_none(
            estimate.monte_carlo_standard_error / estimate.total_tokens
        ),
        unsure_documents=int(estimate.is_unsure.sum()),
        seconds=scored.seconds,
        meaning=meaning_of(method, n_samples=n_samples),
        n_samples=n_samples,
    )


def _reading(
    rows: Sequence[LikelihoodRow], scoring: Scoring, n_articles: int, *, smoothing: float
) -> str:
    """What the best of these figures means, and how sure it is."""
    order = [each.name for each in scoring.methods]
    row = min(rows, key=lambda each: order.index(each.method))
    method = scoring.method(row.method)
    if not method.is_quotable:
        return f"None of these figures is a perplexity to quote: {row.method} is shown alone."
    sentences = [
        choice_among(method, row.direction, shown(row.perplexity)) + _interval(row, n_articles)
    ]
    sureness = _sureness(row, n_articles)
    sentences.append(sureness)
    if method.is_conditional:
        sentences.append(
            "That is not the perplexity of whole articles, of which the model sees nothing before."
        )
    if row.unsure_documents:
        is_one = row.unsure_documents == 1
        which = f"{row.unsure_documents:,} {'document that is' if is_one else 'documents that are'}"
        why = (
            f"hard to sample: {'its' if is_one else 'their'} probability is more likely too low "
            "than too high, so that the perplexity errs, if at all, upwards."
        )
        sentences.append(
            f"That holds apart from {which} {why}"
            if sureness
            else f"There {'is' if is_one else 'are'} {which} {why}"
        )
    sentences.append(scoring.caveat)
    if smoothing:
        sentences.append(
            f"A share of {smoothing:g} of each topic was spread over all words, as some words of "
            "these documents have no topic."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _interval(row: LikelihoodRow, n_articles: int) -> str:
    """The end of the first sentence."""
    error = row.nats_per_word_standard_error
    half = None if error is None else half_width(error, n_articles)
    if half is None:
        return f" ({row.method}; one article gives no interval)."
    low, high = (_exp(row.nats_per_word + sign * half) for sign in (-1, 1))
    return f" ({row.method}; 95 % interval {shown(low)} to {shown(high)})."


def _sureness(row: LikelihoodRow, n_articles: int) -> str:
    """How much of the error is of the articles, and how much of sampling."""
    over_articles, sampling = row.nats_per_word_standard_error, row.monte_carlo_standard_error
    if over_articles is None or n_articles < 2:
        return ""
    spread = f"other articles would move it by about {over_articles:.2g} nats a word"
    if sampling is None:
        return f"The interval is of the choice of articles: {spread}."
    if sampling == 0:
        return f"The interval is of the choice of articles: {spread}. Nothing is sampled."
    if sampling < NEGLIGIBLE * over_articles:
        return (
            f"The interval is of the choice of articles: {spread}, beside which the Monte Carlo "
            f"error, {sampling:.1g}, is negligible."
        )
    return (
        f"The interval is of the choice of articles and of sampling: {spread}, and the Monte Carlo "
        f"error of {sampling:.2g} has a part in that; more samples would make it narrower."
    )


def shown(perplexity: float) -> str:
    """A perplexity for people."""
    if not perplexity < 1e7:
        return f"{perplexity:.1e}"
    return f"{perplexity:,.0f}" if perplexity >= 100 else f"{perplexity:,.1f}"


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
