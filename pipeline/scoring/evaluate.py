"""`evaluate`: held-out likelihood of models, and which model is best."""

import logging
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.files import atomic_write_text
from corpora.formats import NUMBERS
from evaluation import LikelihoodEstimate, certify, compare
from evaluation.lda.annealed import BOUND_TEMPERATURES
from evaluation.methods import caveats_of, named_methods, scoring_of
from models import ModelFormatError, SavedModel
from models.families import family_of
from models.parallel import effective_n_jobs
from pipeline.cache.partial_scores import PartialScores
from pipeline.cluster.connection import cluster_of
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.model_files import read_model
from pipeline.scoring.score import (
    LoadedModel,
    default_method,
    log_warnings,
    n_tokens_of,
    or_none,
    score_all,
    scored_words,
    vocabulary_mass,
)
from pipeline.setting_sources import check_least, check_seed
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut, held_out

logger = logging.getLogger(__name__)

COLUMNS = (
    *("id", "tokens", "log_likelihood", "standard_error", "effective_sample_size", "n_samples"),
    "model",
)
"""Columns of --per-document."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the same documents by several models."""

    settings: EvaluateSettings  # With the method that was decided
    models: Sequence[LoadedModel]
    documents: HeldOut
    words: tuple[str, ...]  # Words that every model knows: those that are scored
    estimates: dict[str, LikelihoodEstimate]  # By name of the model, for each document

    @property
    def by_article(self) -> dict[str, LikelihoodEstimate]:
        """Estimates for each article, the unit of standard errors.

        Sections of an article are not independent.
        """
        articles = self.documents.article_of
        return {name: estimate.by_group(articles) for name, estimate in self.estimates.items()}


def evaluate(settings: EvaluateSettings, names: Sequence[str]) -> dict[str, Any]:
    """Score held-out documents by each model, and compare the models.

    Documents are the articles of a store, counts in a file, or the test part of the first run. Only
    words that every model knows are scored.
    """
    with _scored(settings, names) as scores:
        return _result(scores)


def scores_of(settings: EvaluateSettings, names: Sequence[str]) -> Scores:
    """Return the scores of held-out documents by each model; see `evaluate`.

    Raises UsageError if no document has a word to score.
    """
    with _scored(settings, names) as scores:
        return scores


@contextmanager
def _scored(settings: EvaluateSettings, names: Sequence[str]) -> Iterator[Scores]:
    """Scores, which go into the cache at the end, unless a UsageError makes them useless."""
    check_settings(settings, names)
    models = [loaded_model(settings, name) for name in names]
    if settings.method is None:
        settings = replace(settings, method=default_method(models))
        _check_method(settings)
    check_families(settings, models)
    runs = [each.run for each in models if each.run is not None]
    n_threads = effective_n_jobs(settings.threads)
    with ExitStack() as until_the_end:
        with cluster_of(settings.cluster) as cluster:
            runs_first = sorted(models, key=lambda each: each.run is None)
            words = tuple(dict.fromkeys(w for each in runs_first for w in each.model.vocabulary))
            documents = held_out(settings, runs, words, n_threads, cluster)
            models = with_words(models, documents)
            words = scored_words(models, documents)
            logger.info("scoring %s documents", f"{documents.corpus.n_docs:,}")
            known = PartialScores(settings, [each.model for each in models], documents, words)
            if known.n_known:
                logger.info("%s of the scores are there from before", f"{known.n_known:,}")
            until_the_end.enter_context(known.saved())
            estimates = score_all(settings, models, documents, words, n_threads, cluster, known)
            log_warnings(estimates)
        if not estimates[models[0].name].n_documents:
            raise UsageError(
                f"{documents.source} has no document that training did not see and that holds a "
                "word of the model's vocabulary: give other documents, --documents INPUT, or train "
                "with a larger --test share"
            )
        yield Scores(settings, models, documents, words, estimates)


def _result(scores: Scores) -> dict[str, Any]:
    settings, models, documents = scores.settings, scores.models, scores.documents
    words, estimates, by_article = scores.words, scores.estimates, scores.by_article
    first, first_by_article = estimates[models[0].name], by_article[models[0].name]
    if settings.per_document:
        _write_documents(settings.per_document, documents, estimates)
    articles = documents.article_of
    has_sections = len(set(articles)) < len(articles)
    result: dict[str, Any] = {
        "scored": documents.source,
        "left_out": documents.n_left_out,
        "method": first.method,
        "convention": first.convention,
        "direction": first.direction,
        "unit": "article" if has_sections or not documents.are_counts else "document",
        "articles": first_by_article.n_documents,
        "documents": first.n_documents,
        "empty_documents": documents.corpus.n_docs - first.n_documents,
        "tokens": n_tokens_of(documents.corpus, words),
        "tokens_scored": first.total_tokens,
        "caveats": caveats_of(each.model.topics for each in models),
    }
    rows = [
        _row(each, documents, words, estimates[each.name], by_article[each.name]) for each in models
    ]
    if settings.certify:
        n_threads = effective_n_jobs(settings.threads)
        for row, each in zip(rows, models, strict=True):
            row["certificate"] = _certificate(settings, each, first.n_tokens, n_threads)
    if len(rows) == 1:
        return {**rows[0], **result}
    return {**result, "models": rows, **_differences(by_article)}


def check_settings(settings: EvaluateSettings, names: Sequence[str]) -> None:
    """Raise UsageError if a setting has no meaning, or a model is named twice."""
    for option in ("labels", "reference") if not settings.measures else ():
        if getattr(settings, option):
            raise UsageError(f"--{option} is for --measures: add it, or leave --{option} out")
    check_least(settings, samples=1, temperatures=2)
    check_seed(settings.seed)
    if settings.target_se is not None and not 0 < settings.target_se < math.inf:
        raise UsageError(f"--target-se must be a positive number, found {settings.target_se}")
    if not 0 <= settings.smoothing < 1:
        raise UsageError(f"--smoothing must be from 0 to below 1, found {settings.smoothing}")
    if not 0 < settings.max_memory < 2**30:
        raise UsageError(f"--max-memory must be a number of GiB, found {settings.max_memory}")
    if settings.method is not None:
        _check_method(settings)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice")
    target = Path(settings.per_document)
    if settings.per_document and (target.is_dir() or not target.parent.is_dir()):
        raise UsageError(
            f"--per-document: {target} is a directory, or is to be in none that exists"
        )


def check_families(settings: EvaluateSettings, models: Sequence[LoadedModel]) -> None:
    """Refuse a method, a convention or smoothing that a model's family does not have."""
    for each in models:
        family, scoring = family_of(each.model.topics), scoring_of(each.model.topics)
        assert settings.method is not None
        if settings.method not in scoring.names:
            why = scoring.why_not(settings.method)
            raise UsageError(
                f"--method {settings.method} is no estimator for {each.name}, of family {family}: "
                f"use one of {', '.join(scoring.names)}" + (f"; {why}" if why else "")
            )
        if settings.convention == "bag-and-length" and scoring.log_length is None:
            raise UsageError(
                f"--convention bag-and-length: {each.name} is of family {family}, which does not "
                "say how long documents are; give sequence or bag"
            )
        if settings.smoothing and "smoothing" in scoring.refuses:
            raise UsageError(
                f"--smoothing: {each.name} is of family {family}, {scoring.refuses['smoothing']}: "
                "leave it out"
            )
        if settings.certify and scoring.simulate is None:
            why = scoring.refuses.get("certify", "no documents can be simulated from it")
            raise UsageError(f"--certify: {each.name} is of family {family}; {why}: leave it out")


def _check_method(settings: EvaluateSettings) -> None:
    assert settings.method is not None
    named = named_methods(settings.method)
    instead = "give another --method, such as left-to-right-sequential"
    if any(each.is_conditional for each in named):
        if settings.certify:
            raise UsageError(
                f"--certify is of log-probabilities of whole documents, and {settings.method} "
                f"scores half of each: {instead}"
            )
        if settings.convention != "sequence":
            raise UsageError(
                f"--convention {settings.convention} is of whole documents, and {settings.method} "
                f"scores half of each: {instead}"
            )
    is_biased = any(each.is_sampled and not each.is_unbiased for each in named)
    if settings.target_se is not None and is_biased:
        raise UsageError(
            f"--target-se: more samples do not bring {settings.method} to the truth; {instead}"
        )


def loaded_model(settings: EvaluateSettings, name: str) -> LoadedModel:
    """Return the model of a run, or of a file, by its name."""
    try:
        run = LoadedRun.find(settings.runs, name)
    except UsageError:
        if not Path(name).exists() and not re.search(rf"[.,{re.escape(os.sep)}]", name):
            raise
        vocabulary = settings.vocabulary if settings.vocabulary != NUMBERS else ""
        return LoadedModel(name, None, read_model(name, vocabulary or None))
    return LoadedModel(name, run, run.model)


def with_words(models: Sequence[LoadedModel], documents: HeldOut) -> list[LoadedModel]:
    """Return models, each with words: one without takes the documents', in their order."""
    run = next((each for each in models if each.run is not None), None)
    words, source = documents.corpus.vocabulary, documents.source
    if run is not None and not documents.are_counts:
        words, source = run.model.vocabulary, f"run {run.name}"
    result = []
    for each in models:
        if not each.model.vocabulary:
            topics = each.model.topics
            if topics.n_words != len(words):
                raise ModelFormatError(
                    f"{each.name} does not name its {topics.n_words:,} words, and {source} has "
                    f"{len(words):,}: give --vocabulary FILE, a word a line in the model's order"
                )
            logger.warning(
                "%s does not name its words: taken for those of %s, in their order",
                *(each.name, source),
            )
            each = LoadedModel(each.name, each.run, SavedModel(topics, words))  # noqa: PLW2901
        result.append(each)
    return result


def _certificate(
    settings: EvaluateSettings, named: LoadedModel, n_tokens: NDArray[np.int64], n_threads: int
) -> dict[str, Any]:
    if (n_tokens > 0).sum() < 2:
        raise UsageError("--certify needs two documents with a token, found fewer")
    assert settings.method is not None
    logger.info("certifying %s on simulated documents", named.name)
    certificate = certify(
        named.model.topics.smoothed(settings.smoothing),
        n_tokens,
        settings.method,
        n_samples=settings.samples,
        target_standard_error=settings.target_se,
        max_memory=int(settings.max_memory * 2**30),
        n_temperatures=settings.temperatures or BOUND_TEMPERATURES,
        random_state=settings.seed,
        n_jobs=n_threads,
    )
    return asdict(certificate)


def _row(
    named: LoadedModel,
    documents: HeldOut,
    words: tuple[str, ...],
    estimate: LikelihoodEstimate,
    by_article: LikelihoodEstimate,
) -> dict[str, Any]:
    corpus, topics = documents.corpus, named.model.topics
    n_all = corpus.n_tokens + int(corpus.n_unknown.sum())
    n_unknown = n_all - n_tokens_of(corpus, named.model.vocabulary)
    sampling = estimate.monte_carlo_standard_error / max(1, estimate.total_tokens)
    sizes = estimate.effective_sample_size[estimate.n_tokens > 0]
    known_sizes = sizes[~np.isnan(sizes)]
    return {
        "model": named.name,
        "family": family_of(topics),
        "run": None if named.run is None else named.run.name,
        "topics": topics.n_topics,
        "words": topics.n_words,
        "unknown_share": n_unknown / max(1, n_all),
        "probability_of_scored_words": vocabulary_mass(named.model, words, estimate.convention),
        "log_likelihood": estimate.total,
        "nats_per_word": estimate.nats_per_word,
        "nats_per_word_standard_error": or_none(by_article.nats_per_word_standard_error),
        "nats_per_word_monte_carlo_standard_error": or_none(sampling),
        "bits_per_word": estimate.bits_per_word,
        "perplexity": estimate.perplexity,
        "perplexity_standard_error": or_none(by_article.perplexity_standard_error),
        "unsure_documents": int(estimate.has_low_ess.sum()),
        "mean_effective_sample_size": float(known_sizes.mean()) if len(known_sizes) else None,
    }


def _differences(by_article: dict[str, LikelihoodEstimate]) -> dict[str, Any]:
    """Best model, and the difference of every other model from it."""
    comparison = compare(by_article)
    names = ("nats_per_word", "standard_error", "z", "probability", "p_value", "perplexity_ratio")
    return {
        "best": comparison.best,
        "differences": [
            {"model": model, **{name: or_none(getattr(each, name)) for name in names}}
            for model, each in comparison.against_best.items()
        ],
    }


def _write_documents(
    path: str, documents: HeldOut, estimates: dict[str, LikelihoodEstimate]
) -> None:
    columns = {
        name: (
            *(estimate.n_tokens, estimate.log_likelihood, estimate.standard_error),
            *(estimate.effective_sample_size, estimate.n_samples),
        )
        for name, estimate in estimates.items()
    }
    write_documents(path, COLUMNS, documents, columns)


def write_documents(
    path: str,
    head: Sequence[str],
    documents: HeldOut,
    columns: Mapping[str, Sequence[NDArray[Any]]],
) -> None:
    """Write a tab-separated line for each document and name: id, columns (D,), and the name."""
    lines = ["\t".join(head)]
    for name, of_name in columns.items():
        for document, *values in zip(
            documents.corpus.doc_ids, *(column.tolist() for column in of_name), strict=True
        ):
            fields = (document, *map(repr, values), name)
            lines.append("\t".join(re.sub(r"[\t\r\n]", " ", field) for field in fields))
    atomic_write_text(path, "".join(f"{line}\n" for line in lines))
