"""The models of Inouye et al. 2015, Fig. 3, and LDA: fitted, and scored on test documents.

There are two measures. The published one is of counts of words, with each document in its best
cluster or its tokens shared out at their best, and nothing taken from the probability of sharing
them out so: no likelihood, but what there is to compare with. The other is the likelihood, summed
over clusters or over topics of tokens, of tokens in order; topic models are all scored by annealed
importance sampling of the same temperatures, LDA as the one whose Φ is 0.

Partition functions of the published measure are the published envelope: the smallest multiple of
ω(L) L² that is at no length below an annealed estimate. The maximum over 50 noisy estimates is too
high, the more so the fewer temperatures they have.

It can be far too low, too. Words that are strongly tied make a document of these two alone, each so
often, the likeliest by far; chains that begin at multinomial draws hardly ever come there, and what
is estimated then is the partition function of the documents that they do see. `Score.missing` says
by how much it is too low for certain: where that is above 0, the published measure is not of a
distribution that sums to 1. Likelihoods are therefore of fields that are held from condensing so
(`models.poisson_mrf.condensation`), with partition functions of their own by chains that grow.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.poisson_mrf.annealed import annealed
from evaluation.poisson_mrf.exact_likelihood import mixture_exact
from evaluation.poisson_mrf.map_assignment import map_assignment
from models import GibbsLDA
from models.poisson_mrf.condensation import damp_condensing_interactions
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.partition_table import partition_table
from models.poisson_mrf.topic_model import LPMRFTopicModel, without_interactions
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Floats = NDArray[np.float64]
Model = LPMRFClusters | LPMRFTopics

MULTINOMIAL, FIELDS, FEW = "multinomial", "fields", "few"
"""What models are made of: multinomials, Poisson MRFs, and these annealed at few temperatures."""
BETA = 1e-4
SUMMED = "summed/"
"""Begins the names of the arrays of a likelihood."""
MOST_ROUNDS = 100


class Cell(NamedTuple):
    """One model."""

    kind: str
    """"single", "mixture", "topics" as published, or "gibbs": topics by Gibbs sampling."""
    base: str
    n_topics: int

    @property
    def name(self) -> str:
        """Of a file that it is kept in."""
        return f"{self.kind}-{self.base}-{self.n_topics}"

    @property
    def chosen_for(self) -> tuple[str, int]:
        """The kind and number of topics whose λ and c it has."""
        return ("topics" if self.kind == "gibbs" else self.kind), self.n_topics


@dataclass(frozen=True)
class Effort:
    """How much is spent on a model; the defaults are the paper's, as far as it tells.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    n_samples: int = 100
    n_temperatures: int = 100
    """Of the annealing at each length, for the published measure."""
    likelihood_temperatures: int = 100
    """The same for the likelihood, and for all scores of models by Gibbs sampling."""
    round_temperatures: int = 100
    """The same while a model is fitted, which only decides how documents are shared out."""
    few_temperatures: int = 4
    n_repeats: int = 5
    """Runs of the annealing at few temperatures."""
    selection_samples: int = 100
    selection_temperatures: int = 100
    """Of the annealing for each λ and c."""
    n_rounds: int = 3
    n_sweeps: int = 20
    lda_sweeps: int = 1600
    """By Gibbs sampling: rounds with interactions, sweeps in each of them, sweeps without before.
    LDA itself has as many sweeps in all, 2,000 as published."""
    n_chains: int = 20
    chain_temperatures: int = 200
    """Of the likelihood of a document, where it is annealed."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = 2 if name.endswith("temperatures") or name == "n_chains" else 1
            if value < least:
                raise ValueError(f"{name} must be at least {least}, found {value}")


@dataclass(frozen=True, eq=False)
class Score:
    """What is known of a model."""

    test: Floats
    """(R,), published perplexity of the test documents, by each run of the annealing."""
    train: Floats
    """(R,), and of the training documents, their tokens shared out without regard to training."""
    n_nonzeros: int
    """Of Φ, in all topics; each pair of words counts twice."""
    penalty: float
    """λ, infinite of multinomials."""
    length_scale: float
    """c"""
    seconds: float
    """Of fitting."""
    summed: LikelihoodEstimate | None
    """Log-likelihood of the test documents, tokens in order; None if it was not asked for."""
    missing: float = 0.0
    """Nats that a topic's log-partition function of the published measure lacks at least, at the
    mean length of its documents; 0 if nothing is known to be missing."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Every field as an array by its name, for `from_arrays`."""
        found = {
            each.name: np.asarray(getattr(self, each.name))
            for each in fields(self)
            if each.name != "summed"
        }
        return found | ({} if self.summed is None else self.summed.to_arrays(SUMMED))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make again what `to_arrays` took apart.

        Raises
        ------
        KeyError
            If an array is missing.
        ValueError
            If the likelihood is none.
        """
        values: dict[str, Any] = {"summed": None}
        for each in fields(cls):
            if each.name != "summed":
                array = arrays[each.name]
                values[each.name] = array.item() if array.ndim == 0 else array
        if any(name.startswith(SUMMED) for name in arrays):
            values["summed"] = LikelihoodEstimate.from_arrays(arrays, SUMMED)
        return cls(**values)


def score(
    cell: Cell,
    train: sparse.csr_array,
    test: sparse.csr_array,
    chosen: tuple[float, float],
    effort: Effort,
    seed: int,
    *,
    n_jobs: int | None = None,
    on_round: Callable[[], object] | None = None,
) -> Score:
    """Fit a model with λ and c `chosen`, of which multinomials ignore λ, and score it."""
    penalty, scale = (math.inf, chosen[1]) if cell.base == MULTINOMIAL else chosen
    started = time.perf_counter()
    model = fitted(cell, train, (penalty, scale), effort, seed, n_jobs=n_jobs, on_round=on_round)
    seconds = time.perf_counter() - started

    def tabled(kind: str, n_temperatures: int, repeat: int = 0) -> Model:
        annealing = effort.n_samples, n_temperatures
        return with_table(model, kind, annealing, scale, seed + repeat, n_jobs)

    summed = None
    if cell.base == FEW:
        models = [tabled("envelope", effort.few_temperatures, r) for r in range(effort.n_repeats)]
    else:
        whole = tabled("smc", effort.likelihood_temperatures)
        is_published = cell.kind != "gibbs"
        models = [tabled("envelope", effort.n_temperatures) if is_published else whole]
        summed = likelihood(whole, test, effort, seed, n_jobs)
    return Score(
        np.array(
            [map_assignment(each, DocumentBlock(test), n_jobs=n_jobs).perplexity for each in models]
        ),
        np.array(
            [
                map_assignment(each, DocumentBlock(train), n_jobs=n_jobs).perplexity
                for each in models
            ]
        ),
        2 * len(model.edge_weight),
        penalty,
        scale,
        seconds,
        summed,
        missing_at_least(models[0], scale),
    )


def fitted(
    cell: Cell,
    train: sparse.csr_array,
    chosen: tuple[float, float],
    effort: Effort,
    seed: int,
    *,
    n_jobs: int | None = None,
    on_round: Callable[[], object] | None = None,
) -> Model:
    """The model of a cell, as published; by Gibbs sampling with partition functions that grow.

    An infinite λ makes it one of multinomials.
    """
    common: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    of_fields: dict[str, Any] = common | {
        "penalty": chosen[0],
        "length_scale": chosen[1],
        "smoothing": BETA,
        "partition": "smc" if cell.kind == "gibbs" else "envelope",
        "n_samples": effort.n_samples,
        "n_temperatures": effort.round_temperatures,
    }
    model: GibbsLDA | LPMRFMixture | LPMRFTopicModel
    if cell.kind == "gibbs" and math.isinf(chosen[0]):
        n_sweeps = effort.lda_sweeps + effort.n_rounds * effort.n_sweeps
        model = GibbsLDA(
            cell.n_topics,
            eta=0.1,
            n_iter=n_sweeps,
            burn_in=effort.lda_sweeps,
            learn_priors="both",
            start="random",
            **common,
        )
    elif cell.kind == "gibbs":
        model = LPMRFTopicModel(
            cell.n_topics,
            assignments="gibbs",
            n_iter=effort.n_rounds,
            n_sweeps=effort.n_sweeps,
            lda_sweeps=effort.lda_sweeps,
            **of_fields,
        )
    elif cell.kind == "topics":
        model = LPMRFTopicModel(cell.n_topics, assignments="moves", n_iter=MOST_ROUNDS, **of_fields)
    else:
        model = LPMRFMixture(cell.n_topics, n_iter=MOST_ROUNDS, **of_fields)
    for _ in model.iterate(train):
        if on_round is not None:
            on_round()
    found: Any = model.topics_
    return found if isinstance(found, Model) else without_interactions(found)


def with_table(
    model: Model,
    kind: str,
    annealing: tuple[int, int],
    length_scale: float,
    seed: int,
    n_jobs: int | None = None,
) -> Model:
    """The model with partition functions annealed anew, by so many samples and temperatures.

    With "smc", interactions on which documents condense are damped first, as in training by Gibbs
    sampling. Seeds are used as in training, so that its own table comes out again under its
    settings.
    """
    longest = model.log_partition.shape[1] - 1
    fields = [
        damp_condensing_interactions(each, longest) if kind == "smc" else each
        for each in model.fields
    ]
    table = np.zeros_like(model.log_partition)
    for k, each in enumerate(fields):
        table[k] = partition_table(
            each,
            longest,
            kind,
            mean_length=each.half_length / length_scale,
            n_samples=annealing[0],
            n_temperatures=annealing[1],
            seed=int(np.random.SeedSequence([seed, k]).generate_state(1)[0]),
            n_jobs=n_jobs,
        )
    return type(model).of_fields(fields, table, model.prior)


def missing_at_least(model: Model, length_scale: float) -> float:
    """Nats by which the model's table is too low for certain in some topic, at its mean length.

    The sum over documents is no less than the term of one, of half s and half t for the best pair:
    A + log L! >= θ·x + ω(L) x·Φx + log(L! / ∏ x!).
    """
    missing = 0.0
    for k, each in enumerate(model.fields):
        pairs = sparse.triu(each.interactions).tocoo()
        if not pairs.nnz:
            continue
        length = min(
            max(2, round(each.half_length / length_scale)), model.log_partition.shape[1] - 1
        )
        n, rest = length // 2, length - length // 2
        log_orders = gammaln(length + 1.0) - gammaln(n + 1.0) - gammaln(rest + 1.0)
        terms = n * each.node[pairs.row] + rest * each.node[pairs.col]
        terms += 2.0 * float(each.weight(length)) * pairs.data * n * rest
        bound = float(terms.max() + log_orders)
        missing = max(missing, bound - float(model.log_partition[k, length]))
    return missing


def likelihood(
    model: Model, documents: sparse.csr_array, effort: Effort, seed: int, n_jobs: int | None = None
) -> LikelihoodEstimate:
    """Of tokens in order, summed over clusters, or over topics of tokens by annealing."""
    if isinstance(model, LPMRFClusters):
        return mixture_exact(model, DocumentBlock(documents))
    return annealed(
        model,
        DocumentBlock(documents),
        n_samples=effort.n_chains,
        n_temperatures=effort.chain_temperatures,
        seed=seed,
        n_jobs=n_jobs,
    )
