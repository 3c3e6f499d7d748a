"""Recipes: small uses of models and estimators, each of which compiles all kernels of one of them.

They come from the registries of families, so that the kernels of a new family are compiled too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.tokens.fast.convolution import TILE, ConvolutionalTagger, Layer
from evaluation import (
    certify,
    certify_marginal,
    log_likelihood,
    log_likelihood_difference,
    log_marginal,
    topic_distances,
)
from evaluation.allocation.log_marginal import MARGINAL_METHODS
from evaluation.family import Scoring
from evaluation.methods import SCORINGS, scoring_of
from models.allocation.annealing.crossing import Crossing
from models.allocation.annealing.mode import FEW, settled_mode
from models.allocation.annealing.posterior import Posterior
from models.allocation.annealing.searches import best_allocation
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.mean_field.coordinate_ascent import MEAN_FIELD_METHODS
from models.allocation.model import AllocationModel
from models.families import FAMILIES
from models.family import Trainer, TrainerSpec
from models.gamma_poisson.topics import GammaPoissonTopics
from models.lda.topics import LDATopics
from models.topics import TopicWords
from pipeline.training.validation import validation_of

N_TOPICS, N_DOCUMENTS, N_WORDS = 3, 40, 10
UNIFORM = np.full((N_TOPICS, N_WORDS), 1 / N_WORDS)
UNTRAINED: dict[type[TopicWords], Callable[[], TopicWords]] = {
    LDATopics: lambda: LDATopics(UNIFORM, np.ones(N_TOPICS)),
    GammaPoissonTopics: lambda: GammaPoissonTopics(UNIFORM, np.full(N_TOPICS, 9.0), UNIFORM[:, 0]),
}
"""Topics whose scoring can be compiled before any training is."""


@dataclass(frozen=True)
class Recipe:
    """A small computation, and its name for people."""

    name: str
    run: Callable[[], object]


def all_recipes() -> list[Recipe]:
    """Return the recipes of every trainer in each of its ways, and of every estimator.

    Those of the first families come first, as most users need them; the last one needs spaCy.
    """
    recipes = [Recipe("tags of words", tag)]
    for family in FAMILIES:
        recipes += [
            Recipe(f"training, {spec.name}{_text(way)}", partial(train_by, spec, way))
            for spec in family.trainers
            for way in ({}, *spec.ways)
        ]
        for scoring in SCORINGS:
            if scoring.topics in family.topics.values():
                recipes += scoring_recipes(scoring)
    recipes.append(Recipe("difference of two models", differ))
    recipes += [
        Recipe(f"marginal likelihood, {method}", partial(score_table, method))
        for method in MARGINAL_METHODS
    ]
    recipes += [
        Recipe(f"factors, {method}", partial(factorise, method)) for method in MEAN_FIELD_METHODS
    ]
    recipes.append(Recipe("certificate of tables", certify_tables))
    return [*recipes, Recipe("products of rows", multiply)]


def scoring_recipes(scoring: Scoring) -> list[Recipe]:
    """Return the recipes of all estimators of topics of a kind, those of reports first."""
    kind, first = scoring.topics, (scoring.default, *scoring.shown)
    names = dict.fromkeys((*first, *(method.name for method in scoring.methods)))
    recipes = [Recipe(f"{name}, {kind.__name__}", partial(score, kind, name)) for name in names]
    recipes.append(Recipe(f"description, {kind.__name__}", partial(describe, kind)))
    if scoring.simulate is not None:
        recipes.append(Recipe(f"certificate, {kind.__name__}", partial(certify_method, kind)))
    return recipes


def train_by(spec: TrainerSpec, way: Mapping[str, Any]) -> TopicWords:
    """Train by one of the ways of a trainer."""
    return train(spec.estimator(N_TOPICS, **parameters_of(spec, way), random_state=0))


def parameters_of(spec: TrainerSpec, way: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a quick training by one of the ways of a trainer."""
    chosen = {name: each for name, each in spec.chosen_by.items() if name in spec.settings}
    return {**spec.quick, **chosen, **way}


def train(estimator: Trainer, n_docs: int = N_DOCUMENTS) -> TopicWords:
    """Train on a few documents, and use the topics as the command `train` does."""
    counts = documents(n_docs)
    for _ in estimator.iterate(counts):
        pass
    estimator.finish()
    topics = estimator.topics_
    validation_of(topics, counts[:5], 1)
    topics.proportions(counts)  # for the prevalence
    return topics


def score(kind: Any, method: str) -> None:
    """Score a few documents by one method."""
    log_likelihood(topics_of(kind), documents()[:3], method, n_samples=2, random_state=0)


def certify_method(kind: Any) -> None:
    """Certify the first method that can be."""
    topics = topics_of(kind)
    unbiased = [each.name for each in scoring_of(topics).methods if each.is_unbiased]
    certify(topics, documents()[:5], unbiased[0], n_samples=2, random_state=0)


def describe(kind: Any) -> None:
    """Compute what is said about topics besides likelihoods."""
    topics, counts = topics_of(kind), documents()
    topic_distances(topics.topic_word)
    topics.proportions(counts)
    if isinstance(topics, LDATopics):
        topics.transform(counts, inference="cvb0")


def score_table(method: str) -> None:
    """Score a small table by one method."""
    model = AllocationModel.nmf(3, 3, 2)
    for n_moves in (0, 1):
        log_marginal(
            model, np.eye(3), method, n_particles=4, n_repeats=2, n_moves=n_moves, random_state=0
        )
    if method == "annealed":
        counts = CellCounts.of(np.eye(3), model)
        best_allocation(model, counts, n_modes=1, n_sweeps=2, seed=0)
        posterior = Posterior.of(plan_of(model, counts))
        mode = settled_mode(posterior, np.zeros(3, dtype=np.int32), 2, FEW, 0, 0)
        Crossing(posterior, 2, FEW, 0, 1).evolved([mode, mode], 1, 1, range(1))


def factorise(method: str) -> None:
    """Find the factors of a small table."""
    from models import AllocationFactors  # noqa: PLC0415 - imports scikit-learn

    AllocationFactors(AllocationModel.nmf(3, 3, 2), method, random_state=0).fit(np.eye(3))


def certify_tables() -> None:
    """Bracket the probability of a small table that is drawn."""
    few = {"n_particles": 4, "n_repeats": 2, "n_sweeps": 2, "n_modes": 1}
    certify_marginal(AllocationModel.nmf(3, 3, 2), 9, random_state=0, **few)


def differ() -> None:
    """Compare two models by annealing between them."""
    topics = topics_of(LDATopics)
    few = {"n_samples": 2, "n_temperatures": 3}
    log_likelihood_difference(topics, topics, documents()[:3], random_state=0, **few)


def tag() -> None:
    """Tag a long and a short text by a small network."""
    width, n_tags = 8, 3

    def ones(*shape: int) -> NDArray[np.float32]:
        return np.ones(shape, dtype=np.float32)

    layer = Layer.of(ones(width, 2, 3 * width), ones(width, 2), ones(width), ones(width))
    tagger = ConvolutionalTagger([layer], ones(n_tags, width), ones(n_tags))
    rows = np.zeros(2 * TILE + 5, dtype=np.int32)
    starts = np.array([0, 2 * TILE, len(rows)])
    tagger.tag(rows, starts, ones(1, width))


def multiply() -> None:
    """Multiply matrices as spaCy's models are made to."""
    from corpora.tokens.fast.row_product import RowProductOps  # noqa: PLC0415 - imports spaCy

    RowProductOps().gemm(np.ones((2, 3), dtype=np.float32), np.ones((3, 2), dtype=np.float32))


@cache
def topics_of(kind: type[TopicWords]) -> TopicWords:
    """Return topics of a kind; where the kind needs it, by the first trainer that learns such."""
    if kind in UNTRAINED:
        return UNTRAINED[kind]()
    for family in FAMILIES:
        if kind in family.topics.values():
            for spec in family.trainers:
                topics = train_by(spec, {})
                if isinstance(topics, kind):
                    return topics
    raise TypeError(f"no trainer learns topics of the kind {kind.__name__}")


def documents(n_docs: int = N_DOCUMENTS) -> sparse.csr_array:
    """Return counts (D, V) of which each document has a token, and none of more than a few."""
    counts = np.random.default_rng(0).poisson(0.8, size=(n_docs, N_WORDS)).astype(np.int32)
    counts[:, 0] += counts.sum(axis=1) == 0
    return sparse.csr_array(counts)


def _text(way: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in way.items())
