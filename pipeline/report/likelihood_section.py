"""How probable the documents of a run's test part are, by several estimators."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corpora import split
from corpora.row_blocks import tokens_of_documents
from evaluation import ZeroProbabilityError
from evaluation.completion import DEFAULT_SPLITS
from evaluation.log_likelihood import METHODS
from models import (
    GammaPoissonTopics,
    LDATopics,
    PoissonMRFMixture,
    PoissonMRFTopicModel,
)
from pipeline.held_out import HeldOut
from pipeline.learning import evenly_spaced
from pipeline.report.estimator_words import (
    NOT_TO_QUOTE,
    PREFERRED,
    choice_among,
    meaning_of,
    scored_by,
)
from pipeline.report.intervals import half_width
from pipeline.report.score_cache import ScoreCache
from pipeline.report.sections import LikelihoodRow, LikelihoodSection
from pipeline.scoring import Named, or_none, scored_words
from pipeline.settings import EvaluateSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import Corpus
    from models import SavedModel
    from pipeline.report.score_cache import Scored
    from pipeline.runs import RunDirectory
    from pipeline.settings import TrainSettings

logger = logging.getLogger(__name__)

SHOWN_METHODS: dict[type, tuple[str, ...]] = {
    LDATopics: (
        *("left-to-right-sequential", "mean-field-is-2", "variational-bound"),
        *("completion", "harmonic-mean"),
    ),
    GammaPoissonTopics: (
        *("left-to-right-sequential", "mean-field-is-2", "direct-sampling"),
        *("variational-bound", "completion"),
    ),
    PoissonMRFTopicModel: ("annealed-importance-sampling", "best-split"),
    PoissonMRFMixture: ("exact", "best-split"),
}
"""Of each kind of model the estimators that cost little and between them show what differs."""
SMOOTHING = 1e-6
"""Share of each topic that is spread over all words where else a document would be impossible."""
NEGLIGIBLE = 0.2
"""A Monte Carlo error of less than this share of the error over articles is: together with it they
come to 2 % more than the latter alone."""


def likelihood_section(
    run: RunDirectory,
    model: SavedModel,
    corpus: Corpus,
    settings: TrainSettings,
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
    run
        Whose scores are kept for the next time.
    model, corpus, settings
        Of the run.
    methods
        Estimators; `SHOWN_METHODS` of the family by default.
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
    chosen = _chosen(model, methods)
    test = split(corpus, settings.validation, settings.test).test
    documents = HeldOut(f"the test part of run {run.path.name}", _some(test, most_documents), 0)
    if not documents.corpus.n_docs:
        logger.info("run %s: %s", run.path.name, _why_not(test))
        return None
    named, cache = Named(run.path.name, run, model), ScoreCache(run)
    words = scored_words([named], documents)
    asked = EvaluateSettings(samples=n_samples, seed=seed)
    scored = []
    for method in chosen:
        asked = replace(asked, method=method)
        try:
            found = cache.score(asked, named, documents, words, n_threads)
        except ZeroProbabilityError:
            asked = replace(asked, smoothing=SMOOTHING)
            found = cache.score(asked, named, documents, words, n_threads)
        scored.append(found)
    is_mrf = isinstance(model.topics, (PoissonMRFMixture, PoissonMRFTopicModel))
    articles = documents.article_of
    rows = tuple(_row(each, articles, n_samples, is_poisson_mrf=is_mrf) for each in scored)
    n_articles = len(set(articles))
    n_tokens, n_unknown = documents.corpus.n_tokens, int(documents.corpus.n_unknown.sum())
    return LikelihoodSection(
        rows=rows,
        articles=n_articles,
        documents=documents.corpus.n_docs,
        of_documents=test.n_docs,
        tokens=n_tokens,
        unknown_share=n_unknown / (n_tokens + n_unknown),
        reading=_reading(rows, n_articles, is_poisson_mrf=is_mrf, smoothing=asked.smoothing),
    )


def _chosen(model: SavedModel, methods: Sequence[str] | None) -> Sequence[str]:
    kind = type(model.topics)
    if methods is None:
        return SHOWN_METHODS[kind]
    foreign = [method for method in methods if method not in METHODS[kind]]
    if foreign or not methods:
        raise ValueError(
            f"methods must be some of {', '.join(sorted(METHODS[kind]))} for {kind.__name__}, "
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
    scored: Scored, articles: Sequence[str], asked: int | None, *, is_poisson_mrf: bool
) -> LikelihoodRow:
    """What one estimator says, of `asked` samples a document or as many as it takes by itself."""
    estimate = scored.estimate
    # Sections of an article are not independent: the article is the unit of the standard error.
    by_article = estimate.by_group(articles)
    drawn = estimate.n_samples[estimate.n_tokens > 0]
    n_samples = float(drawn.mean()) if drawn.any() else None
    if estimate.method == "completion":  # which counts its divisions, not samples
        n_samples = float(asked or DEFAULT_SPLITS)
    return LikelihoodRow(
        method=estimate.method,
        direction=estimate.direction,
        scored=scored_by(estimate.method),
        perplexity=estimate.perplexity,
        perplexity_standard_error=or_none(by_article.perplexity_standard_error),
        nats_per_word=estimate.nats_per_word,
        nats_per_word_standard_error=or_none(by_article.nats_per_word_standard_error),
        monte_carlo_standard_error=or_none(
            estimate.monte_carlo_standard_error / estimate.total_tokens
        ),
        unsure_documents=int(estimate.is_unsure.sum()),
        seconds=scored.seconds,
        meaning=meaning_of(estimate.method, is_poisson_mrf=is_poisson_mrf, n_samples=n_samples),
        n_samples=n_samples,
    )


def _reading(
    rows: Sequence[LikelihoodRow], n_articles: int, *, is_poisson_mrf: bool, smoothing: float
) -> str:
    """What the best of these figures means, and how sure it is."""
    row = min(rows, key=lambda each: PREFERRED.index(each.method))
    if row.method in NOT_TO_QUOTE:
        return f"None of these figures is a perplexity to quote: {row.method} is shown alone."
    sentences = [
        choice_among(row.method, row.direction, shown(row.perplexity)) + _interval(row, n_articles)
    ]
    sureness = _sureness(row, n_articles)
    sentences.append(sureness)
    if row.method == "completion":
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
    if is_poisson_mrf:
        sentences.append("The model's partition functions are estimates, whose error is not in it.")
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
