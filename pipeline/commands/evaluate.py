"""`evaluate`: how probable documents that training never saw are under a run's model."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import ArticleStore, Corpus, article_of, part_of, split
from evaluation import log_likelihood
from models.parallel import effective_n_jobs
from pipeline.commands.topics import finished_model
from pipeline.documents import count_with
from pipeline.errors import UsageError
from pipeline.runs import find_run

if TYPE_CHECKING:
    from pipeline.settings import EvaluateSettings, TrainSettings

logger = logging.getLogger(__name__)


def evaluate(settings: EvaluateSettings, run_name: str) -> dict[str, Any]:
    """Held-out likelihood on the run's test part, or on the articles of another store."""
    if settings.samples is not None and settings.samples < 1:
        raise UsageError(f"--samples must be at least 1, found {settings.samples}")
    if settings.seed < 0:
        raise UsageError(f"--seed must not be negative, found {settings.seed}")
    run = find_run(settings.runs, run_name)
    model = finished_model(run)
    trained = run.settings()
    n_threads = effective_n_jobs(settings.threads)
    if settings.articles:
        store = ArticleStore(settings.articles)
        corpus = count_with(run, trained, store, model.vocabulary, n_threads)
        source = settings.articles
        corpus, n_left_out = held_out_of(corpus, Corpus.load(run.corpus_path), trained)
    else:
        n_left_out = 0
        corpus = split(Corpus.load(run.corpus_path), trained.validation, trained.test).test
        source = f"the test part of run {run.path.name}"
    logger.info("scoring %s documents", f"{corpus.n_docs:,}")
    estimate = log_likelihood(
        model.topics,
        corpus.counts,
        settings.method,
        n_samples=settings.samples,
        random_state=settings.seed,
        n_jobs=n_threads,
    )
    # Sections of an article are not independent: the article is the unit of the standard error.
    by_article = estimate.by_group([article_of(document) for document in corpus.doc_ids])
    if not by_article.n_documents:
        raise UsageError(
            f"{source} has no document that training did not see and that holds a word of the "
            "model's vocabulary: give other --articles, or train with a larger --test share"
        )
    n_unknown = int(corpus.n_unknown.sum())
    return {
        "run": run.path.name,
        "scored": source,
        "left_out": n_left_out,
        "method": estimate.method,
        "convention": estimate.convention,
        "direction": estimate.direction,
        "articles": by_article.n_documents,
        "documents": estimate.n_documents,
        "tokens": corpus.n_tokens,
        "tokens_scored": estimate.total_tokens,
        "unknown_share": n_unknown / max(1, n_unknown + corpus.n_tokens),
        "log_likelihood": estimate.total,
        "nats_per_word": estimate.nats_per_word,
        "nats_per_word_standard_error": _or_none(by_article.nats_per_word_standard_error),
        "bits_per_word": estimate.bits_per_word,
        "perplexity": estimate.perplexity,
        "perplexity_standard_error": _or_none(by_article.perplexity_standard_error),
    }


def held_out_of(corpus: Corpus, own: Corpus, trained: TrainSettings) -> tuple[Corpus, int]:
    """The documents of other articles than the run learned from, and how many were left out.

    What the run learned from, or stopped by, is no held-out document, whichever store it is in.
    """
    used = {
        article_of(document)
        for document in own.doc_ids
        if part_of(document, trained.validation, trained.test) != "test"
    }
    held_out = np.array([article_of(document) not in used for document in corpus.doc_ids], bool)
    return corpus.rows(held_out), int((~held_out).sum())


def print_evaluation(result: dict[str, Any]) -> None:
    """A few lines for people."""
    error = result["perplexity_standard_error"]
    spread = "" if error is None else f" ± {error:.1f} (standard error over articles)"
    documents = (
        f"{result['articles']:,} articles"
        if result["articles"] == result["documents"]
        else f"{result['documents']:,} sections of {result['articles']:,} articles"
    )
    if result["left_out"]:
        print(f"left out: {result['left_out']:,} documents that the run was trained with")
    print(
        f"{result['method']} ({result['direction']}) on {documents}, {result['scored']}\n"
        f"held-out perplexity {result['perplexity']:.1f}{spread}\n"
        f"{result['nats_per_word']:.4f} nats a word, {result['bits_per_word']:.4f} bits a word\n"
        f"{result['tokens_scored']:,} of {result['tokens']:,} tokens scored; besides these, "
        f"{result['unknown_share']:.1%} of all tokens are words unknown to the model"
    )


def _or_none(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
