"""`evaluate A B --method annealing-between`: differences of models, estimated directly."""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from evaluation.difference import METHOD, LikelihoodDifference, log_likelihood_difference
from evaluation.methods import caveats_of, scoring_of
from models import SavedModel, Topics
from models.families import family_of
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.scoring.blocks import WordBlocks
from pipeline.scoring.evaluate import check_settings, loaded_model, with_words, write_documents
from pipeline.scoring.score import (
    LoadedModel,
    check_possible,
    n_tokens_of,
    or_none,
    scored_words,
    topics_of,
)
from pipeline.scoring.table import counted
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut, held_out

logger = logging.getLogger(__name__)

COLUMNS = (
    *("id", "tokens", "difference", "standard_error", "lower", "upper", "effective_sample_size"),
    "model",
)
"""Columns of --per-document."""


def evaluate_differences(settings: EvaluateSettings, names: Sequence[str]) -> dict[str, Any]:
    """Estimate log p of held-out documents under the first model, less that under each other one.

    Documents and words are chosen as by `evaluate`. Raises UsageError for a single model, for one
    whose family has no such path, and for settings that differences do not have.
    """
    check_settings(settings, names)
    models = [loaded_model(settings, name) for name in names]
    _check(settings, models)
    n_threads = effective_n_jobs(settings.threads)
    runs = [each.run for each in models if each.run is not None]
    words = tuple(dict.fromkeys(w for each in models for w in each.model.vocabulary))
    documents = held_out(settings, runs, words, n_threads)
    models = with_words(models, documents)
    words = scored_words(models, documents)
    blocks = WordBlocks(documents.corpus, words)
    counts = sparse.vstack([block.counts for block in blocks], format="csr")
    if not counts.nnz:
        raise UsageError(
            f"{documents.source} has no document that training did not see and that holds a word "
            "of every model: give other documents, --documents INPUT"
        )
    if not settings.smoothing:
        for each in models:
            topics = topics_of(each.model, words)
            check_possible(each.name, topics, blocks.used(), words)
    first, found = models[0], {}
    for other in models[1:]:
        logger.info("annealing between %s and %s", first.name, other.name)
        topics, other_topics = _over_same_words(settings, first.model, other.model, words)
        found[other.name] = log_likelihood_difference(
            topics,
            other_topics,
            _widened(counts, topics.n_words),
            n_samples=settings.samples,
            n_temperatures=settings.temperatures,
            random_state=settings.seed,
            n_jobs=n_threads,
        )
    if settings.per_document:
        _write_documents(settings.per_document, documents, found)
    return _result(models, documents, words, found)


def _check(settings: EvaluateSettings, models: Sequence[LoadedModel]) -> None:
    if len(models) < 2:
        raise UsageError(f"--method {METHOD} is of two models or more: name another one")
    refused = {
        "--certify": settings.certify,
        "--target-se": settings.target_se is not None,
        "--cluster": bool(settings.cluster),
        "--convention bag-and-length": settings.convention == "bag-and-length",
    }
    for option, is_given in refused.items():
        if is_given:
            raise UsageError(f"{option} is not for --method {METHOD}: leave it out")
    for each in models:
        if scoring_of(each.model.topics).as_lda is None:
            raise UsageError(
                f"--method {METHOD}: {each.name} is of family {family_of(each.model.topics)}, and "
                "no path leads to or from it: give another --method, such as "
                "annealed-importance-sampling"
            )


def _over_same_words(
    settings: EvaluateSettings, first: SavedModel, second: SavedModel, words: tuple[str, ...]
) -> tuple[Topics, Topics]:
    """Return topics of both: `words`, then other words of the first alone, then of the second."""
    topics = [topics_of(each, words).smoothed(settings.smoothing) for each in (first, second)]
    n_own = [each.n_words - len(words) for each in topics]
    padding = ((0, n_own[1]), (n_own[0], 0))
    result = []
    for each, (before, after) in zip(topics, padding, strict=True):
        common, own = np.split(each.topic_word, [len(words)], axis=1)
        result.append(
            replace(each, topic_word=np.hstack([common, np.pad(own, ((0, 0), (before, after)))]))
        )
    return result[0], result[1]


def _widened(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    arrays = (counts.data, counts.indices, counts.indptr)
    return sparse.csr_array(arrays, shape=(counts.shape[0], n_words))


def _result(
    models: Sequence[LoadedModel],
    documents: HeldOut,
    words: tuple[str, ...],
    found: dict[str, LikelihoodDifference],
) -> dict[str, Any]:
    articles = documents.article_of
    has_sections = len(set(articles)) < len(articles)
    one = next(iter(found.values()))
    return {
        "scored": documents.source,
        "left_out": documents.n_left_out,
        "method": METHOD,
        "convention": "sequence",
        "unit": "article" if has_sections or not documents.are_counts else "document",
        "articles": int((one.by_group(articles).n_tokens > 0).sum()),
        "documents": int((one.n_tokens > 0).sum()),
        "empty_documents": int((one.n_tokens == 0).sum()),
        "tokens": n_tokens_of(documents.corpus, words),
        "caveats": caveats_of(each.model.topics for each in models),
        "model": models[0].name,
        "differences": [_row(name, each, articles) for name, each in found.items()],
    }


def _row(name: str, found: LikelihoodDifference, articles: Sequence[str]) -> dict[str, Any]:
    n_tokens = int(found.n_tokens.sum())
    sizes = found.effective_sample_size[found.n_tokens > 0]
    return {
        "model": name,
        "log_likelihood": found.total,
        "log_likelihood_monte_carlo_standard_error": or_none(found.total_standard_error),
        "lower": float(found.lower.sum()),
        "upper": float(found.upper.sum()),
        "gap": found.gap,
        "gap_standard_error": or_none(found.gap_standard_error),
        "nats_per_word": found.nats_per_word,
        "nats_per_word_standard_error": or_none(
            found.by_group(articles).nats_per_word_standard_error
        ),
        "nats_per_word_monte_carlo_standard_error": or_none(found.total_standard_error / n_tokens),
        "why": "; ".join(found.warnings) or None,
        "perplexity_ratio": or_none(math.exp(min(700.0, -found.nats_per_word))),
        "n_pairs": found.n_pairs,
        "samples": found.n_samples,
        "temperatures": found.n_temperatures,
        "unsure_documents": int(found.has_low_ess.sum()),
        "mean_effective_sample_size": float(sizes.mean()),
    }


def _write_documents(path: str, documents: HeldOut, found: dict[str, LikelihoodDifference]) -> None:
    columns = {
        name: (
            *(each.n_tokens, each.difference, each.standard_error),
            *(each.lower, each.upper, each.effective_sample_size),
        )
        for name, each in found.items()
    }
    write_documents(path, COLUMNS, documents, columns)


def print_differences(result: dict[str, Any]) -> None:
    """Print a line or two for each difference."""
    if result["left_out"]:
        print(f"left out: {counted(result['left_out'])} that a run was trained with")
    if result["empty_documents"]:
        print(f"left out: {counted(result['empty_documents'])} without a token to score")
    print(
        f"{METHOD} on {counted(result['articles'], result['unit'])}, {result['scored']}: "
        f"{result['tokens']:,} tokens of words that every model knows"
    )
    for caveat in result["caveats"]:
        print(caveat)
    for row in result["differences"]:
        error = row["nats_per_word_standard_error"]
        spread = "" if error is None else f" ± {error:.5f} (over {result['unit']}s)"
        sampling = row["log_likelihood_monte_carlo_standard_error"]
        sampled = "" if sampling is None else f" ± {sampling:.2f} (sampling)"
        print(
            f"log p under {result['model']} less log p under {row['model']}:\n"
            f"  {row['nats_per_word']:+.5f}{spread} nats a word, perplexity × "
            f"{row['perplexity_ratio']:.4f}\n"
            f"  {row['log_likelihood']:+.2f}{sampled} nats, between {row['lower']:+.2f} from "
            f"{row['model']} and {row['upper']:+.2f} from {result['model']}"
        )
        if row["why"]:
            print(f"  no standard error: {row['why']}")
