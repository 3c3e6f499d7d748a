"""Likelihood of a run's test documents by several estimators."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from evaluation import ZeroProbabilityError
from evaluation.family import Method
from evaluation.methods import scoring_of
from pipeline.cache.partial_scores import Scored
from pipeline.report.likelihood_reading import SMOOTHING, meaning_of, reading_of
from pipeline.report.sections import LikelihoodRow, LikelihoodSection
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.score import LoadedModel, or_none, score, scored_rows, scored_words
from pipeline.settings import EvaluateSettings, ReportSettings
from pipeline.text.held_out import HeldOut

logger = logging.getLogger(__name__)


def likelihood_section(
    run: LoadedRun, settings: ReportSettings, n_threads: int, methods: Sequence[str] = ()
) -> LikelihoodSection | None:
    """Score the test part, which neither training nor early stopping has used, by each method.

    By default the methods are those that the family shows. None if there is nothing to score; the
    log says why.
    """
    model, test = run.model, run.parts.test
    scoring = scoring_of(model.topics)
    some = test.rows(scored_rows(test, model.vocabulary, settings.scored))
    documents = HeldOut(f"the test part of run {run.name}", some, 0)
    if not documents.corpus.n_docs:
        reason = "no document of the test part has a word of the vocabulary"
        if not test.n_docs:
            reason = "no test part, so no likelihood of unseen documents: train with --test 0.1"
        logger.info("run %s: %s", run.name, reason)
        return None
    named = LoadedModel(run.name, run, model)
    words = scored_words([named], documents)
    asked = EvaluateSettings(samples=settings.samples, seed=settings.seed)
    articles, rows = documents.article_of, []
    for method in methods or scoring.shown:
        asked = replace(asked, method=method)
        try:
            found = score(asked, named, documents, words, n_threads)
        except ZeroProbabilityError:
            asked = replace(asked, smoothing=SMOOTHING)
            found = score(asked, named, documents, words, n_threads)
        rows.append(_row(found, scoring.method(method), articles, settings.samples))
    n_articles = len(set(articles))
    n_tokens, n_unknown = documents.corpus.n_tokens, int(documents.corpus.n_unknown.sum())
    return LikelihoodSection(
        rows=tuple(rows),
        articles=n_articles,
        documents=documents.corpus.n_docs,
        of_documents=test.n_docs,
        tokens=n_tokens,
        unknown_share=n_unknown / (n_tokens + n_unknown),
        reading=reading_of(rows, scoring, n_articles, smoothing=asked.smoothing),
    )


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
