"""Scores of a selection: a row for each K, and the recommended K."""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from corpora import ArticleStore, Bigrams, Corpus, Split, article_of, part_of
from evaluation import (
    Coherence,
    LikelihoodEstimate,
    RunningText,
    coherence,
    diversity,
    exclusivity,
    paired_difference,
)
from evaluation.scorer import Scorer
from evaluation.topics.reference.index import ReferenceIndex
from models import Topics, load_model
from pipeline.cluster.cluster import Cluster
from pipeline.runs.chain_stability import HEADER as STABILITY
from pipeline.runs.run_directory import RunDirectory
from pipeline.scoring.score import or_none
from pipeline.settings import TrainSettings
from pipeline.text.documents import tokens_of
from pipeline.text.settings import text_settings

logger = logging.getLogger(__name__)

Reference = Corpus | RunningText | ReferenceIndex
"""Documents in which coherence is counted."""
COHERENCE_MEASURES = ("c_v", "c_npmi", "u_mass")


@dataclass(frozen=True, eq=False)
class RunScore:
    """Scores of one run."""

    run: str
    n_topics: int
    seed: int
    estimate: LikelihoodEstimate
    """Likelihood of held-out articles, summed over the documents of each."""
    coherences: dict[str, Coherence]
    diversity: float
    exclusivity: float  # Mean exclusivity over topics
    seconds: float  # Seconds of training
    stability: dict[str, Any] | None  # Entry of the model's header, of a run with chains


def scored_part(settings: TrainSettings, parts: Split) -> tuple[str, Corpus]:
    """Return the part to choose K by, and its name: one that early stopping did not use.

    Early stopping biases the scores of the validation part, for some K more than for others.
    Without it the test part stays untouched for the model that is chosen.
    """
    if settings.early_stopping == "none" and parts.validation.n_tokens:
        return "validation", parts.validation
    return "test", parts.test


def running_text(
    run: RunDirectory,
    settings: TrainSettings,
    corpus: Corpus,
    n_processes: int,
    cluster: Cluster | None = None,
) -> RunningText | None:
    """Training part of the run's articles as running text; None if they are gone, or of counts."""
    if settings.counts:
        return None
    store = ArticleStore(settings.articles)
    known = set(run.provenance()["articles"]["shards"])
    there = store.entries if store.exists else ()
    entries = tuple(entry for entry in there if entry.sha256 in known)
    if len(entries) != len(known):
        logger.warning(
            "%s no longer holds the articles of the runs: coherence counts whole documents, not "
            "sliding windows",
            settings.articles,
        )
        return None
    bigrams = Bigrams.load(run.verified(run.bigrams_path))
    tokens = tokens_of(
        *(store, text_settings(settings), n_processes, entries),
        cluster=cluster,
        runs=run.path.parent,
    )
    return RunningText.from_blocks(
        (bigrams.join(block) for block in tokens),
        corpus.vocabulary,
        lambda document: part_of(document, settings.validation, settings.test) == "train",
    )


def estimates_here(
    models: Sequence[Path], counts: sparse.csr_array, n_threads: int
) -> Iterator[tuple[int, LikelihoodEstimate]]:
    """Yield (number of the model, its score of held-out counts (D, V)), in order."""
    # The order of very long sums depends on the threads of BLAS; workers have one.
    with threadpool_limits(1):
        for number, path in enumerate(models):
            yield number, estimate_of(load_model(path).topics, counts, n_threads)


def estimate_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> LikelihoodEstimate:
    """Held-out likelihood of counts (D, V); the random halves are the same for all models."""
    scorer = Scorer.of(topics, random_state=0)
    return scorer.score(scorer.checked(counts), n_threads)


def score_run(
    run: RunDirectory,
    settings: TrainSettings,
    estimate: LikelihoodEstimate,
    held_out: Corpus,
    reference: Reference,
    n_words: int,
) -> RunScore:
    """Score a run whose held-out likelihood is `estimate`."""
    assert settings.seed is not None
    model = load_model(run.model_path)
    topics = model.topics
    return RunScore(
        run=str(run.path),
        n_topics=settings.topics,
        seed=settings.seed,
        estimate=estimate.by_group([article_of(document) for document in held_out.doc_ids]),
        coherences={
            measure: coherence(
                topics, reference, measure, n_words=n_words, vocabulary=model.vocabulary
            )
            for measure in COHERENCE_MEASURES
        },
        diversity=diversity(topics),
        exclusivity=float(exclusivity(topics, n_words).mean()),
        seconds=float(run.provenance()["seconds"]["training"]),
        stability=model.header.get(STABILITY),
    )


def rows_of(scores: Sequence[RunScore]) -> list[dict[str, Any]]:
    """Return a row for each K, ascending: means over seeds, and the difference to the best K.

    Nats a word use the mean log-likelihood over seeds. The standard error of a difference has two
    parts: over documents, paired, and over seeds, if there are several. Missing numbers are None,
    as JSON has no NaN.
    """
    by_topics = {k: [s for s in scores if s.n_topics == k] for k in {s.n_topics for s in scores}}
    means = {k: _mean_estimate([s.estimate for s in some]) for k, some in by_topics.items()}
    best = min(sorted(means), key=lambda k: means[k].nats_per_word)
    spreads = {k: _seed_error(some) for k, some in by_topics.items()}
    rows = []
    for k, some in sorted(by_topics.items()):
        mean, difference = means[k], paired_difference(means[k], means[best])
        over_seeds = 0.0 if k == best else math.hypot(spreads[k] or 0.0, spreads[best] or 0.0)
        rows.append(
            {
                "topics": k,
                "seeds": [s.seed for s in some],
                "runs": [s.run for s in some],
                "perplexity": mean.perplexity,
                "perplexity_standard_error": or_none(mean.perplexity_standard_error),
                "nats_per_word": mean.nats_per_word,
                "nats_per_word_standard_error": or_none(mean.nats_per_word_standard_error),
                "seed_standard_error": spreads[k],
                "difference_to_best": difference.nats_per_word,
                "difference_standard_error": or_none(
                    math.hypot(difference.standard_error, over_seeds)
                ),
                **{measure: _coherence_entry(some, measure) for measure in COHERENCE_MEASURES},
                "diversity": float(np.mean([s.diversity for s in some])),
                "exclusivity": float(np.mean([s.exclusivity for s in some])),
                **_stability_entry(some),
                "seconds": float(np.mean([s.seconds for s in some])),
            }
        )
    return rows


def recommend(rows: Sequence[dict[str, Any]]) -> tuple[int, str]:
    """Return the smallest K within a standard error of the best, and a sentence with the reason."""
    best = min(rows, key=lambda row: float(row["nats_per_word"]))
    chosen = next(
        row
        for row in rows
        if row is best or row["difference_to_best"] <= (row["difference_standard_error"] or 0.0)
    )
    k = int(chosen["topics"])
    if len(rows) == 1:
        return k, f"{k} topics: the only number tried"
    if chosen is best:
        sentence = f"{k} topics: the best, and no smaller number is within a standard error of it"
    else:
        sentence = (
            f"{k} topics: the smallest number within a standard error of the best, "
            f"{best['topics']} ({chosen['difference_to_best']:.4f} ± "
            f"{chosen['difference_standard_error']:.4f} nats a word)"
        )
    if best is rows[-1]:
        sentence += "; the best is the largest number tried: try larger ones too"
    elif best is rows[0]:
        sentence += "; the best is the smallest number tried: try smaller ones too"
    return k, sentence


def _stability_entry(scores: Sequence[RunScore]) -> dict[str, Any]:
    """Share of topics found again in other chains, mean over seeds; nothing without chains.

    Its standard error is over all chains.
    """
    found = [score.stability for score in scores if score.stability is not None]
    if not found:
        return {}
    errors = [each["share_standard_error"] for each in found]
    return {
        "stability": float(np.mean([each["share"] for each in found])),
        "stability_standard_error": float(np.sqrt(np.sum(np.square(errors))) / len(found)),
    }


def _mean_estimate(estimates: Sequence[LikelihoodEstimate]) -> LikelihoodEstimate:
    """Mean log-likelihood of the runs, document by document."""
    errors = [each.standard_error for each in estimates]
    return replace(
        estimates[0],
        log_likelihood=np.mean([each.log_likelihood for each in estimates], axis=0),
        standard_error=np.sqrt(np.sum(np.square(errors), axis=0)) / len(estimates),
    )


def _seed_error(scores: Sequence[RunScore]) -> float | None:
    """Standard error over seeds of the mean nats a word; None for one seed."""
    if len(scores) < 2:
        return None
    values = [score.estimate.nats_per_word for score in scores]
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _coherence_entry(scores: Sequence[RunScore], measure: str) -> dict[str, Any]:
    """Mean over seeds; the standard errors, over topics and over documents, are those of one run.

    Runs with other seeds find nearly the same topics, so they do not reduce them, and all count the
    same documents.
    """
    found = [score.coherences[measure] for score in scores]
    errors = [each.standard_error for each in found]
    over_documents = [each.by_document.standard_error for each in found]
    reasons = (each.by_document.mean.why_none for each in found)
    return {
        "mean": or_none(float(np.mean([each.mean for each in found]))),
        "standard_error": or_none(float(np.sqrt(np.mean(np.square(errors))))),
        "standard_error_over_documents": or_none(
            float(np.sqrt(np.mean(np.square(over_documents))))
        ),
        "why_no_standard_error_over_documents": next(filter(None, reasons), None),
        "window": found[0].window,
        "window_size": found[0].window_size,
    }
