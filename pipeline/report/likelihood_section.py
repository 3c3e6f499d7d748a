"""Likelihood of a run's test documents by several estimators."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corpora.row_blocks import tokens_of_documents
from evaluation import ZeroProbabilityError
from evaluation.methods import scoring_of
from pipeline.report.likelihood_reading import SMOOTHING, meaning_of, reading_of
from pipeline.report.sections import LikelihoodRow, LikelihoodSection
from pipeline.scoring.score import LoadedModel, or_none, score, scored_words
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut
from pipeline.training.validation import evenly_spaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import Corpus
    from evaluation.family import Method
    from models import SavedModel
    from pipeline.cache.partial_scores import Scored
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)


def likelihood_section(
    run: LoadedRun,
    *,
    methods: Sequence[str] | None = None,
    max_documents: int = 200,
    n_samples: int | None = None,
    n_threads: int,
    seed: int = 0,
) -> LikelihoodSection | None:
    """Score the test part, which neither training nor early stopping has used.

    None if there is nothing to score; the log says why.

    Parameters
    ----------
    methods
        Estimators; by default those that the family shows.
    max_documents
        Largest number of documents, evenly spaced in the test part.
    n_samples
        Monte Carlo samples per document; each method has a default.
    n_threads, seed
        The seed fixes the result for any number of threads.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    if max_documents < 1:
        raise ValueError(f"max_documents must be at least 1, found {max_documents}")
    model, test = run.model, run.parts.test
    chosen = _chosen(model, methods)
    documents = HeldOut(f"the test part of run {run.name}", _some(test, max_documents), 0)
    if not documents.corpus.n_docs:
        reason = "no document of the test part has a word of the vocabulary"
        if not test.n_docs:
            reason = "no test part, so no likelihood of unseen documents: train with --test 0.1"
        logger.info("run %s: %s", run.name, reason)
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
        reading=reading_of(rows, scoring, n_articles, smoothing=asked.smoothing),
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
    """Return at most this number of documents with a token, evenly spaced."""
    with_tokens = np.flatnonzero(tokens_of_documents(test.counts))
    return test.rows(with_tokens[evenly_spaced(len(with_tokens), most)])


def _row(
    scored: Scored, method: Method, articles: Sequence[str], asked: int | None
) -> LikelihoodRow:
    """Return the row of one estimator, with `asked` samples per document or its own number."""
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
        low_ess_documents=int(estimate.has_low_ess.sum()),
        seconds=scored.seconds,
        meaning=meaning_of(method, n_samples=n_samples),
        n_samples=n_samples,
    )
