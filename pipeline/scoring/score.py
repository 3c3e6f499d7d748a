"""Models of any family scored on the same tokens, by the same method."""

import logging
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np

from corpora import Corpus, CorpusFormatError
from corpora.row_blocks import row_blocks
from evaluation import LikelihoodEstimate, ZeroProbabilityError, methods
from evaluation.arrays import Bools, Ints
from evaluation.estimate import Convention
from evaluation.methods import scoring_of
from evaluation.partial_estimate import PartialEstimate
from evaluation.scorer import Scorer
from models import SavedModel, Topics
from pipeline.cache.partial_scores import PartialScores, Scored
from pipeline.cluster.cluster import Cluster
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.blocks import (
    DOCUMENTS_A_THREAD,
    PerplexitySoFar,
    WordBlocks,
    scored_here,
    scored_on,
    to_score,
)
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut
from pipeline.training.validation import evenly_spaced

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """Model to score."""

    name: str  # Name as the user gave it
    run: LoadedRun | None
    model: SavedModel


def default_method(models: Sequence[LoadedModel]) -> str:
    """Return the default method for these models, one for all.

    See `evaluation.methods.default_method`.

    Raises UsageError if no method suits all models.
    """
    method = methods.default_method(scoring_of(each.model.topics) for each in models)
    if method is not None:
        return method
    raise UsageError(
        "no --method that is chosen by itself is one of all models: "
        + "; ".join(
            f"{each.name} has {', '.join(scoring_of(each.model.topics).names)}" for each in models
        )
    )


def scored_words(models: Sequence[LoadedModel], documents: HeldOut) -> tuple[str, ...]:
    """Return the words that every model knows, in the order of the first.

    Raises CorpusFormatError if the documents contain none of these words.
    """
    words = common_words([each.model.vocabulary for each in models])
    if not set(words) & set(documents.corpus.vocabulary):
        whose = "the model" if len(models) == 1 else "all models"
        raise CorpusFormatError(
            f"{documents.source} has no word in common with {whose}: "
            f"{_some(documents.corpus.vocabulary)} there, "
            + "; ".join(f"{_some(each.model.vocabulary)} in {each.name}" for each in models)
        )
    return words


def scored_rows(corpus: Corpus, words: Sequence[str], most: int) -> Ints:
    """Return at most `most` evenly spaced documents among those that have one of `words`."""
    is_scored = np.isin(np.array(corpus.vocabulary), np.array(words))
    rows = np.flatnonzero(corpus.counts @ is_scored.astype(np.int64))
    return rows[evenly_spaced(len(rows), most)]


def common_words(vocabularies: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the words of all vocabularies, in the order of the first."""
    others = [set(words) for words in vocabularies[1:]]
    return tuple(word for word in vocabularies[0] if all(word in known for known in others))


def topics_of(model: SavedModel, words: Sequence[str], convention: str = "sequence") -> Topics:
    """Return the model with `words` as its first columns, and its other words after them.

    By the convention "bag-and-length" the other words are left out, which integrates over their
    Poisson counts. By the other conventions they stay: tokens could have been one of them.
    """
    if tuple(words) == model.vocabulary:
        return model.topics
    first = set(words)
    place_of = {word: w for w, word in enumerate(model.vocabulary)}
    rest = [w for w, word in enumerate(model.vocabulary) if word not in first]
    if convention == "bag-and-length":
        rest = []
    order = np.array([*(place_of[word] for word in words), *rest])
    return model.topics.with_words(order)


def n_tokens_of(corpus: Corpus, words: Iterable[str]) -> int:
    """Count the tokens of the documents that are one of `words`."""
    known = set(words)
    is_known = np.array([word in known for word in corpus.vocabulary], dtype=bool)
    blocks = (block for _, block in row_blocks(corpus.counts))
    return sum(int(each.data[is_known[each.indices]].sum(dtype=np.int64)) for each in blocks)


def score(
    settings: EvaluateSettings,
    named: LoadedModel,
    documents: HeldOut,
    words: tuple[str, ...],
    n_threads: int,
) -> Scored:
    """Score documents by one model, unless the cache holds the scores; see `score_all`."""
    known = PartialScores(settings, [named.model], documents, words)
    if not known.is_complete:
        with known.saved():
            score_all(settings, [named], documents, words, n_threads, known=known)
    return known.scored(0)


def score_all(
    settings: EvaluateSettings,
    models: Sequence[LoadedModel],
    documents: HeldOut,
    words: tuple[str, ...],
    n_threads: int,
    cluster: Cluster | None = None,
    known: PartialScores | None = None,
) -> dict[str, LikelihoodEstimate]:
    """Score the tokens of `words` of all documents by `settings.method`, under each model.

    Columns of `words` come first for every model, so that random halves of documents are the same.
    Documents are scored in blocks, by threads or by the workers of a cluster, with the same bits.
    Documents with scores in `known` are not scored again; new scores are added to `known`.

    Raises ZeroProbabilityError if a document is impossible under a model, and the settings have no
    smoothing; ExactCostError if the exact likelihood of a document would take too much memory or
    time.
    """
    at_least = 0 if cluster is not None else DOCUMENTS_A_THREAD * n_threads
    blocks = WordBlocks(documents.corpus, words, at_least)
    scorers = [_scorer(settings, each, words) for each in models]
    if not settings.smoothing:
        is_used = blocks.used()
        for each, scorer in zip(models, scorers, strict=True):
            check_possible(each.name, scorer.topics, is_used, words)
    for scorer in scorers:
        for block in blocks if scorer.has_cost else ():
            scorer.check_cost(block, 1 if cluster is not None else n_threads)
    n_docs = documents.corpus.n_docs
    partial = known.scores if known else [PartialEstimate(n_docs) for _ in models]
    so_far = PerplexitySoFar([each.name for each in models])
    for number, scores in enumerate(partial):
        if scores.names:
            so_far.add(number, scores.known())
    items = to_score(blocks, partial)
    if cluster is None:
        results = scored_here(scorers, items, n_threads)
    else:
        results = scored_on(cluster, scorers, items)
    n_known = sum(int(each.is_known.sum()) for each in partial)
    with (
        Progress("scoring", n_docs * len(models), "documents", n_known) as progress,
        closing(cast("Generator[tuple[int, int, LikelihoodEstimate]]", results)) as arriving,
    ):
        for number, first_document, part in arriving:
            if known:
                known.add(number, first_document, part)
            else:
                partial[number].add(first_document, part)
            so_far.add(number, part)
            progress.update(len(part.n_tokens), str(so_far))
    return {each.name: scores.estimate() for scores, each in zip(partial, models, strict=True)}


def _scorer(settings: EvaluateSettings, named: LoadedModel, words: tuple[str, ...]) -> Scorer:
    assert settings.method is not None
    return Scorer.of(
        topics_of(named.model, words, settings.convention),
        settings.method,
        n_samples=settings.samples,
        target_standard_error=settings.target_se,
        smoothing=settings.smoothing,
        convention=cast("Convention", settings.convention),
        max_memory=int(settings.max_memory * 2**30),
        random_state=settings.seed,
    )


def check_possible(name: str, topics: Topics, is_used: Bools, words: tuple[str, ...]) -> None:
    """Refuse words of probability 0, by name.

    Raises ZeroProbabilityError if a word of the documents, `is_used` (words,), has no topic.
    """
    impossible = np.flatnonzero(is_used & ~(topics.topic_word[:, : len(words)] > 0).any(axis=0))
    if len(impossible):
        raise ZeroProbabilityError(
            f"{name}: no topic has {_some([words[w] for w in impossible])}, of "
            f"{len(impossible):,} such words in the documents, so that log p would be -infinity: "
            "score with --smoothing, such as --smoothing 1e-6"
        )


def vocabulary_mass(
    model: SavedModel, words: Sequence[str], convention: Convention = "sequence"
) -> float:
    """Return the probability that a model gives to `words` together."""
    if convention == "bag-and-length":  # other words are integrated out
        return 1.0
    is_scored = np.isin(np.array(model.vocabulary), np.array(words))
    return min(1.0, float(model.topics.word_share[is_scored].sum()))


def vocabulary_cost(share: float) -> float:
    """Return the cost of words that are not scored: -log(share), in nats a word.

    A model gives scored words the probability `share`, so log p of a document contains log(share)
    for each token: exactly if the share is the same in all topics, else about.
    """
    return max(0.0, -math.log(share)) if share > 0 else math.inf  # a share may be rounded up


def restricted(named: LoadedModel, words: Sequence[str]) -> LoadedModel | None:
    """Return the model given that documents have no other words than `words`.

    Other words then cost nothing, so models with different vocabularies compare. None if the family
    has no such models (see `restricted` of `Scoring`), or if no topic has one of `words`.
    """
    model, known = named.model, set(words)
    if set(model.vocabulary) == known:
        return named
    restrict = scoring_of(model.topics).restricted
    if restrict is None:
        return None
    place_of = {word: w for w, word in enumerate(model.vocabulary)}
    left = restrict(model.topics, np.array([place_of[word] for word in words]))
    if left is None:
        return None
    return LoadedModel(named.name, named.run, SavedModel(left, tuple(words)))


def log_warnings(estimates: Mapping[str, LikelihoodEstimate]) -> None:
    """Log warnings about the scores of models; the name is left out for a single model."""
    for name, estimate in estimates.items():
        for warning in estimate.warnings:
            logger.warning("%s%s", f"{name}: " if len(estimates) > 1 else "", warning)


def or_none(value: float) -> float | None:
    """Return the value, or None if JSON has none for it: NaN or infinity."""
    return value if math.isfinite(value) else None


def _some(words: Sequence[str]) -> str:
    """The first few, for a message."""
    return ", ".join(map(repr, words[:3])) + (", …" if len(words) > 3 else "")
