"""Buntine 2009, Sec. 4.2: estimators choose the number of topics that documents were drawn with.

The paper draws its documents from models of news that are not available. Here the known model is
drawn, too, of the same size: topics ~ Dirichlet(0.1 V · base), where base is Zipf's law over the V
words, so that topics share their frequent words in part and have words of their own, as topics of
text without stop words do; θ ~ Dirichlet(1 / K), so that most documents are of a few topics;
lengths of 151 tokens on average.

LDA is then learned from the first I documents for each number of topics, and each estimator scores
the same held-out documents. Learning is collapsed Gibbs sampling with fixed symmetric priors, the
alpha of the truth for each topic whatever their number, and eta = 0.1 a word. With learned priors a
superfluous topic is all but switched off and costs next to nothing; fixed ones are what the paper's
"vanilla LDA" has. Each model goes on from the best of some random starts, by the variational bound
on documents that it is learned from: a single start often has two true topics in one and another in
two, and loses more by that than by a wrong number of topics.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.comparison import paired_difference
from evaluation.completion import completion
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.simulate import simulated_documents
from evaluation.lda.variational_bound import variational_bound
from models import GibbsLDA
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_lengths, draw_topics, zipf_word_prior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from models import LDATopics

Floats = NDArray[np.float64]

MEAN_LENGTH = 151
LENGTH_SHAPE = 3.0
"""Of the negative binomial of lengths: their standard deviation is about 87."""
ETA = 0.1
BLOCK = 500
"""Documents drawn with one generator: more of them begin with the same."""
BOUND_DOCUMENTS = 1000
"""Training documents that the starts are compared on."""
COMPLETION, TRAINING = "completion", "training"
SECONDS = "seconds of "
"""Begins the names of the arrays of seconds."""


class Dataset(NamedTuple):
    """A model to draw documents from, and the numbers of topics to try on them."""

    n_topics: int
    n_words: int
    candidates: tuple[int, ...]


DATASETS = {
    "s10s": Dataset(10, 5000, (5, 8, 9, 10, 11, 12, 20, 40)),
    "s10": Dataset(10, 28_251, (5, 8, 9, 10, 11, 12, 20, 40)),
    "s40": Dataset(40, 28_251, (20, 32, 35, 38, 40, 45, 50, 60)),
}


@dataclass(frozen=True)
class SelectionSettings:
    """The protocol; sizes and samples are the paper's by default.

    Raises
    ------
    ValueError
        If a number is too small to make sense, or the true number of topics is not to be tried.
    """

    dataset: Dataset = DATASETS["s10s"]
    training_sizes: tuple[int, ...] = (1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000)
    n_held_out: int = 10_000
    left_to_right_samples: int = 100
    mean_field_samples: int = 200
    n_starts: int = 8
    start_sweeps: int = 50
    """After which the starts are compared."""
    n_sweeps: int = 200
    """Of the best start, in all."""
    seed: int = 0

    def __post_init__(self) -> None:
        lowest = {
            "n_held_out": 2,
            "left_to_right_samples": 1,
            "mean_field_samples": 1,
            "n_starts": 1,
            "start_sweeps": 1,
            "n_sweeps": self.start_sweeps,
        }
        for name, least in lowest.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")
        if not self.training_sizes or min(self.training_sizes) < 1:
            raise ValueError(f"training_sizes must be positive, found {self.training_sizes}")
        if self.dataset.n_topics not in self.dataset.candidates:
            raise ValueError("the true number of topics must be among the candidates")

    @property
    def n_samples(self) -> dict[str, int | None]:
        """The estimators compared, and what each spends on a document."""
        left_to_right = self.left_to_right_samples
        return {
            "MFI 1st": self.mean_field_samples,
            "LR": left_to_right,
            REFINED: left_to_right,
            COMPLETION: None,
        }


@dataclass(frozen=True, eq=False)
class Problem:
    """What everything is drawn from, and what everything is scored on."""

    settings: SelectionSettings
    truth: LDATopics
    held_out: sparse.csr_array
    """(n_held_out, V)"""

    def training_documents(self, n_docs: int) -> sparse.csr_array:
        """The first (I, V) of those that can be learned from."""
        return _documents(self.truth, n_docs, (self.settings.seed, 1))


@dataclass(frozen=True, eq=False)
class Cell:
    """One model, scored."""

    n_train: int
    """I, documents that it was learned from; 0 for the model that they were drawn from."""
    n_topics: int
    estimates: dict[str, LikelihoodEstimate]
    """By estimator, of all held-out documents."""
    seconds: dict[str, float]
    """By estimator, and of training."""
    bounds: Floats
    """(S,), nats a word of training documents, by the variational bound, of each start."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Every field as arrays, for `from_arrays`; estimates and seconds by estimator."""
        found: dict[str, NDArray[Any]] = {
            "n_train": np.asarray(self.n_train),
            "n_topics": np.asarray(self.n_topics),
            "bounds": self.bounds,
        }
        found |= {f"{SECONDS}{name}": np.asarray(each) for name, each in self.seconds.items()}
        for name, estimate in self.estimates.items():
            found |= estimate.to_arrays(f"{name}/")
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make again what `to_arrays` took apart.

        Raises
        ------
        KeyError
            If an array is missing.
        ValueError
            If the arrays of an estimator are no estimate.
        """
        seconds = {
            name.removeprefix(SECONDS): each.item()
            for name, each in arrays.items()
            if name.startswith(SECONDS)
        }
        estimates = {
            name: LikelihoodEstimate.from_arrays(arrays, f"{name}/")
            for name in seconds
            if name != TRAINING
        }
        n_train, n_topics = arrays["n_train"].item(), arrays["n_topics"].item()
        return cls(n_train, n_topics, estimates, seconds, arrays["bounds"])


def problem(settings: SelectionSettings) -> Problem:
    """Draw the model and the held-out documents."""
    n_topics, n_words, _ = settings.dataset
    rng = np.random.default_rng([settings.seed, 0])
    truth = draw_topics(n_topics, zipf_word_prior(n_words, 0.1 * n_words), 1.0 / n_topics, rng)
    return Problem(settings, truth, _documents(truth, settings.n_held_out, (settings.seed, 2)))


def cell(drawn: Problem, n_train: int, n_topics: int, n_jobs: int | None = None) -> Cell:
    """Learn `n_topics` topics from `n_train` documents and score them; 0 is the true model.

    It depends on the settings and the two numbers alone, not on other cells.
    """
    settings, seconds = drawn.settings, {}
    topics, bounds = drawn.truth, np.empty(0)
    started = time.perf_counter()
    if n_train:
        topics, bounds = _learn(drawn, n_train, n_topics, n_jobs)
    seconds[TRAINING] = time.perf_counter() - started
    estimates = {}
    for name, n_samples in settings.n_samples.items():
        estimator = completion if name == COMPLETION else ESTIMATORS[name]
        started = time.perf_counter()
        estimates[name] = estimator(
            topics,
            DocumentBlock(drawn.held_out),
            n_samples=n_samples,
            seed=settings.seed,
            n_jobs=n_jobs,
        )
        seconds[name] = time.perf_counter() - started
    return Cell(n_train, n_topics, estimates, seconds, bounds)


def planned(settings: SelectionSettings) -> list[tuple[int, int]]:
    """(I, K) of all cells: that of the true model, then by training size and number of topics."""
    of_models = [(i, k) for i in settings.training_sizes for k in settings.dataset.candidates]
    return [(0, settings.dataset.n_topics), *of_models]


@dataclass(frozen=True, eq=False)
class Selection:
    """What estimators say of I training sizes and K numbers of topics; M estimators."""

    settings: SelectionSettings
    estimators: tuple[str, ...]
    perplexity: Floats
    """(M, I, K)"""
    true_perplexity: Floats
    """(M,), of the model that the documents were drawn from."""
    loss: Floats
    """(M, I, K), nats a word more than with the true number of topics."""
    loss_standard_error: Floats
    """(M, I, K), over held-out documents, paired."""

    @property
    def chosen(self) -> NDArray[np.int64]:
        """(M, I), the number of topics of the lowest perplexity."""
        candidates = np.array(self.settings.dataset.candidates)
        best: NDArray[np.int64] = candidates[self.perplexity.argmin(axis=2)]
        return best


def selection(settings: SelectionSettings, cells: Sequence[Cell]) -> Selection:
    """The arrays of all `cells`, which must be those that are `planned`.

    Raises
    ------
    ValueError
        If they are others.
    """
    found = {(each.n_train, each.n_topics): each.estimates for each in cells}
    wanted = planned(settings)
    if len(cells) != len(wanted) or set(found) != set(wanted):
        raise ValueError("the cells are not those of the settings")
    names, candidates = tuple(settings.n_samples), settings.dataset.candidates
    shape = (len(names), len(settings.training_sizes), len(candidates))
    perplexity, loss, error = np.empty(shape), np.empty(shape), np.empty(shape)
    for m, name in enumerate(names):
        for i, n_train in enumerate(settings.training_sizes):
            with_true_number = found[n_train, settings.dataset.n_topics][name]
            for k, n_topics in enumerate(candidates):
                estimate = found[n_train, n_topics][name]
                difference = paired_difference(estimate, with_true_number)
                perplexity[m, i, k] = estimate.perplexity
                loss[m, i, k] = difference.nats_per_word
                error[m, i, k] = difference.standard_error
    truth = found[wanted[0]]
    true_perplexity = np.array([truth[name].perplexity for name in names])
    return Selection(settings, names, perplexity, true_perplexity, loss, error)


def _learn(
    drawn: Problem, n_train: int, n_topics: int, n_jobs: int | None
) -> tuple[LDATopics, Floats]:
    """The topics of the best start, and the bounds of all."""
    settings, counts = drawn.settings, drawn.training_documents(n_train)
    best, bounds = None, np.empty(settings.n_starts)
    for start in range(settings.n_starts):
        rng = np.random.default_rng([settings.seed, 3, n_train, n_topics, start])
        model = GibbsLDA(
            n_topics,
            alpha=float(drawn.truth.alpha[0]),
            eta=ETA,
            learn_priors="none",
            n_iter=settings.start_sweeps,
            start="random",
            random_state=rng,
            n_jobs=n_jobs,
        ).fit(counts)
        bound = variational_bound(
            model.topics_, DocumentBlock(counts[:BOUND_DOCUMENTS]), n_jobs=n_jobs
        )
        bounds[start] = bound.nats_per_word
        if best is None or bounds[start] < bounds[:start].min():
            best = model
    assert best is not None
    best.n_iter = settings.n_sweeps
    for _ in best.iterate(counts, state=best.state_):
        pass
    return best.topics_, bounds


def _documents(truth: LDATopics, n_docs: int, stream: tuple[int, int]) -> sparse.csr_array:
    blocks = []
    for first in range(0, n_docs, BLOCK):
        rng = np.random.default_rng([*stream, first])
        lengths = draw_lengths(BLOCK, MEAN_LENGTH, LENGTH_SHAPE, rng)
        blocks.append(simulated_documents(truth, lengths, rng)[0])
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))[:n_docs]
