"""Training of Aldebakel et al. 2022: online VB until early stopping, and Gibbs sampling.

K, tau0 and priors are those of the paper's online VB; its Gibbs sampling has alpha = 0.01. kappa is
0.7: the paper's 0.05 is outside (0.5, 1], where training converges. Batches are of 1,000 documents,
or a twentieth of fewer than 20,000. Early stopping checks after a pass or more, in the paper after
5 seconds or more: so results do not depend on the clock. Work is counted in updates of the topics
of a word: a round of the E-step updates the distinct words of a document, a sweep all tokens.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from evaluation.scorer import Scorer
from models import EarlyStopping, GibbsLDA, LDATopics, OnlineLDA
from pipeline.cache.keys import EXPERIMENT
from pipeline.cache.results import ResultCache
from pipeline.errors import UsageError
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.trials import run_trials, trial_seed

M = TypeVar("M", bound=tuple[Any, ...])
N_TOPICS, N_RUNS = 20, 5
PRIORS: dict[str, Any] = {"alpha": 0.1, "eta": 0.01}
GIBBS = {
    **PRIORS,
    "learn_priors": "none",
    "sampler": "exact-dense",
    "start": "random",
    "topics_from": "samples",
}
BURN_IN, MAX_PASSES = 10, 100
MAX_HELD_OUT, MIN_DOCUMENTS = 1000, 20
MIN_COMPARED = 10_000  # Documents to decide the paper's claims, which are about 25,000 and more
SCORES = {"bound": "variational-bound", "log_p": "left-to-right-sequential"}
N_SAMPLES = 50  # Samples of left-to-right sampling: log p is within 0.0004 of that of 5,000
NEAR = math.log(1.1)  # Nats a word between perplexities that differ by a tenth, called near


class Part(NamedTuple):
    """Documents of a run: a tenth of all is held out, at most `MAX_HELD_OUT`."""

    train: sparse.csr_array
    held_out: sparse.csr_array
    seed: int
    n_jobs: int


def run_models(
    name: str,
    counts: sparse.csr_array,
    models: Sequence[M],
    train: Callable[..., Mapping[str, Any]],
    settings: ReproduceSettings,
    shown: Callable[..., str],
) -> dict[M, list[dict[str, Any]]]:
    """Return what `train` finds of each model in each run; it takes a `Part` and the model."""
    seed, n_docs, runs = settings.seed, counts.shape[0], range(settings.repeats or N_RUNS)
    orders = [np.random.default_rng([seed, run]).permutation(n_docs) for run in runs]
    splits = [np.split(order, [min(MAX_HELD_OUT, n_docs // 10)]) for order in orders]
    has_tokens = all(counts[part].sum() for split in splits for part in split)
    if n_docs < MIN_DOCUMENTS or not has_tokens:
        raise UsageError(f"--counts: {name} takes {MIN_DOCUMENTS} documents at least, with tokens")

    def compute(run: int, *model: Any) -> Mapping[str, Any]:
        held_out, rest = (counts[part] for part in splits[run])
        return train(Part(rest, held_out, trial_seed(seed, "run", run), settings.threads), *model)

    keys = [(run, *model) for run, model in product(runs, models)]
    group = ResultCache().group(EXPERIMENT + name, counts=counts, topics=settings.topics, seed=seed)
    found = run_trials(group, keys, compute, name, "models", shown)
    return {model: [found[key] for key in keys if key[1:] == model] for model in models}


def variational(part: Part, n_topics: int, cap: int) -> tuple[LDATopics, dict[str, float]]:
    """Return topics by online VB until early stopping, and what training took."""
    settings = {**PRIORS, "n_passes": MAX_PASSES, "random_state": part.seed, "n_jobs": part.n_jobs}
    trainer = OnlineLDA(n_topics, max_e_iterations=cap, **settings)
    OnlineLDA(2, n_passes=1).fit(part.train[:MIN_DOCUMENTS])  # compile
    n_docs, work = part.train.shape[0], list[float]()
    stopping = EarlyStopping(n_docs)
    updates, seen, seconds, started = 0.0, 0, 0.0, time.perf_counter()
    for step in trainer.iterate(part.train):
        seconds += time.perf_counter() - started
        updates += step.mean_iterations * (step.n_documents - seen) * part.train.nnz / n_docs / 1e6
        seen = step.n_documents
        if stopping.due(seen):
            work.append(updates)
            if stopping.record(seen, score(trainer.topics_, part, "bound")):
                break
        started = time.perf_counter()
    near = int((np.array(stopping.scores) >= stopping.scores[-1] - NEAR).argmax())
    return trainer.topics_, {"updates": updates, "near": work[near], "training_seconds": seconds}


def sampled(part: Part, n_topics: int, sweeps: int) -> tuple[LDATopics, dict[str, float]]:
    """Return topics by Gibbs sampling, and what training took."""
    settings = {**GIBBS, "random_state": part.seed}
    GibbsLDA(2, **settings, n_iter=2).fit(part.train[:MIN_DOCUMENTS])  # compile
    started = time.perf_counter()
    trainer = GibbsLDA(n_topics, **settings, burn_in=BURN_IN, n_iter=sweeps).fit(part.train)
    seconds, updates = time.perf_counter() - started, sweeps * float(part.train.sum()) / 1e6
    return trainer.topics_, {"updates": updates, "near": math.nan, "training_seconds": seconds}


def score(topics: LDATopics, part: Part, name: str) -> float:
    """Return one of `SCORES` of the held-out documents, in nats a word."""
    scorer = Scorer.of(topics, SCORES[name], n_samples=N_SAMPLES, random_state=0)
    return -scorer.score(scorer.checked(part.held_out), part.n_jobs).nats_per_word


def summary(names: Sequence[str], runs: Any, others: Any = None) -> dict[str, float]:
    """Return means over runs, or of differences to `others`; standard errors as NAME_error."""
    found: dict[str, float] = {}
    for name in names:
        values = np.array([run[name] for run in runs], dtype=float)
        values -= [run[name] for run in others] if others else 0.0
        error = values.std(ddof=1) / math.sqrt(len(values))
        found |= {name: float(values.mean()), f"{name}_error": float(error)}
    return found
