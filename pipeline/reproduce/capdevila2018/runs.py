"""Both experiments of Capdevila et al. 2018: budget, topics, runs of estimators, claims.

Each run of an estimator over all documents depends on the model, the documents and the seed alone,
so that runs are cached one by one.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from evaluation.document_blocks import DocumentBlock
from evaluation.methods import scoring_of
from models import BetaGammaPFA, GammaPoissonTopics
from models.families import arrays_of, topics_of_arrays
from pipeline.cache.results import ResultGroup
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import Counts
from pipeline.reproduce.experiment import data_note, panels
from pipeline.reproduce.tables import grouped
from pipeline.reproduce.trials import run_trials

# Methods of `evaluation.log_likelihood`. L2R exact is L2R with the conditionals of eq. 17 in place
# of eq. 21. The last is not in the paper: LDA's left to right with tilted topics.
ESTIMATORS = {
    "DS": "direct-sampling",
    "HM": "harmonic-mean",
    "L2R": "left-to-right",
    "L2R exact": "left-to-right-exact",
    REFINED: "left-to-right-sequential",
}
LEVELS = ("sizes", "n_repeats")  # Fields of the budget that only say which runs there are
TRAINING = 0  # Stream of random numbers that topics are trained by


class Run(NamedTuple):
    """One run of one estimator."""

    estimator: str
    n_samples: int
    repeat: int = 0


@dataclass(frozen=True)
class Budget:
    """Cost of an experiment; the defaults are the paper's, but for `max_tokens`. An exact
    likelihood takes time ~ tokens^n_topics. The paper's limit is 1e9 terms of eq. 7, which is about
    13 different words.
    """

    n_topics: int
    sizes: Mapping[str, tuple[int, ...]]  # Numbers of samples of each estimator
    n_repeats: int = 1
    n_documents: int = 1000  # Documents to score at most
    n_words: int = 100  # Most frequent words that short documents are cut to
    max_tokens: int = 100  # Longest of the short documents
    n_sweeps: int = 1000
    burn_in: int = 500
    seed: int = 0

    @property
    def runs(self) -> list[Run]:
        """All runs, those of fewer samples first: all estimators begin before the longest runs."""
        sizes = [(name, size) for name, sizes in self.sizes.items() for size in sizes]
        runs = [Run(*each, repeat) for each in sizes for repeat in range(self.n_repeats)]
        return sorted(runs, key=lambda run: (run.n_samples, run.repeat))


def trainer_of(budget: Budget, n_jobs: int | None = None) -> BetaGammaPFA:
    """Return βΓ-PFA as in the paper (Sec. 6.1): φ ~ Dirichlet(0.1), r = 1, Gibbs sampling."""
    seed = int(np.random.default_rng([budget.seed, TRAINING]).integers(2**32))
    of_paper: dict[str, Any] = {"eta": 0.1, "shape": 1.0, "learn_shape": False}
    sweeps: dict[str, Any] = {"n_iter": budget.n_sweeps, "burn_in": budget.burn_in}
    return BetaGammaPFA(budget.n_topics, **of_paper, **sweeps, random_state=seed, n_jobs=n_jobs)


def score(
    topics: GammaPoissonTopics, documents: Counts, run: Run, seed: int, n_jobs: int | None = None
) -> dict[str, Any]:
    """Return log-likelihoods (D,) of counts and length in nats, standard errors, and seconds. Other
    runs, and the same one with another seed, have independent random numbers.
    """
    place = list(ESTIMATORS).index(run.estimator)
    rng = np.random.default_rng([seed, place, run.n_samples, run.repeat])
    # Without the warnings of `log_likelihood`: bad estimators are part of the experiment.
    estimator = scoring_of(topics).method(ESTIMATORS[run.estimator]).score
    block, own_seed = DocumentBlock(documents), int(rng.integers(2**32))
    started = time.perf_counter()
    found = estimator(topics, block, n_samples=run.n_samples, seed=own_seed, n_jobs=n_jobs)
    seconds = {"seconds": time.perf_counter() - started}
    return seconds | {name: getattr(found, name) for name in ("log_likelihood", "standard_error")}


def cached_topics(
    group: ResultGroup, counts: Counts, budget: Budget, n_jobs: int, corpus: str
) -> GammaPoissonTopics:
    """Return the topics of a corpus, trained if they are not cached."""
    restored: Any = partial(topics_of_arrays, "gamma-poisson")
    with Progress(f"{corpus}: training", budget.n_sweeps, "sweeps") as progress:

        def train() -> GammaPoissonTopics:
            trainer = trainer_of(budget, n_jobs)
            for _ in trainer.iterate(counts):
                progress.update(1)
            return trainer.topics_

        found: GammaPoissonTopics = group.cached("topics", train, arrays_of, restored)
        return found


def cached_scores(
    group: ResultGroup,
    topics: GammaPoissonTopics,
    documents: Counts,
    budget: Budget,
    n_jobs: int,
    corpus: str,
) -> dict[Run, dict[str, Any]]:
    """Return the scores of all runs, computed if they are not cached. Progress is in samples that
    read each document once. L2R reads the words before each word again.
    """
    mean_words = max(1.0, documents.nnz / documents.shape[0])

    @cache
    def warm_up(estimator: str) -> None:
        """Compile kernels, so that no run's seconds are those of the compiler."""
        score(topics, documents[:1], Run(estimator, 2), 0)

    def compute(*key: Any) -> dict[str, Any]:
        warm_up(key[0])
        return score(topics, documents, Run(*key), budget.seed, n_jobs)

    def steps(estimator: str, n_samples: int, _: int) -> float:
        return n_samples * (mean_words if estimator.startswith("L2R") else 1.0)

    shown = "{}, {:,} samples".format
    return run_trials(group, budget.runs, compute, corpus, "steps", shown, steps)


def by_corpus(result: Any) -> list[tuple[Any, list[Any]]]:
    """Return what is known about each corpus, and its rows."""
    rows = grouped(result["rows"], "corpus")
    return [(about, rows[about["corpus"]]) for about in result["corpora"]]


def note_of_corpora(result: Any) -> str:
    """Return the note on other data than the paper's."""
    return data_note("six corpora", *(about["corpus"] for about in result["corpora"]))


def draw_corpora(figure: Any, result: Any, label: str) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Yield axes, what is known about the corpus, and its rows; the first axes get the legend."""
    drawn = panels(figure, len(result["corpora"])).flat
    drawn[0].set_ylabel(label)
    for axes, (about, rows) in zip(drawn, by_corpus(result), strict=False):
        yield axes, about, rows
    drawn[0].legend()


def last_rows(result: Any) -> dict[str, dict[str, Any]]:
    """Return the row of most samples of each estimator, by corpus."""
    found: dict[str, dict[str, Any]] = {}
    for (corpus, name), rows in grouped(result["rows"], "corpus", "estimator").items():
        found.setdefault(corpus, {})[name] = max(rows, key=lambda row: int(row["samples"]))
    return found


def findings(result: Any, claims: Iterable[tuple[Any, ...]]) -> Findings:
    """Decide claims (name, sentence, function of the last rows of a corpus, of the paper)."""
    last = last_rows(result)
    for name, sentence, holds, paper in claims:
        yield Finding(name, sentence, [at for at, rows in last.items() if not holds(rows)], paper)
