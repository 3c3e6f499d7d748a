"""What training on a corpus and on a stream share: the estimator, and looks at validation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.row_blocks import taken_rows
from evaluation import log_likelihood
from models import (
    KLNMF,
    BetaGammaPFA,
    EarlyStopping,
    GaP,
    GibbsLDA,
    GibbsLDAState,
    LPMRFMixture,
    LPMRFTopicModel,
    OnlineLDA,
    PoissonMRFMixture,
    PoissonMRFState,
    PoissonMRFTopicModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    from evaluation import LikelihoodEstimate
    from models import Topics
    from pipeline.checkpoint import Checkpoint
    from pipeline.runs import RunDirectory
    from pipeline.settings import TrainSettings

Trainer = OnlineLDA | GibbsLDA | BetaGammaPFA | GaP | KLNMF | LPMRFTopicModel | LPMRFMixture

FORMER_DEFAULTS = {"eta": ("0.1",)}
"""Defaults of earlier versions, which runs of all models recorded."""
LOOK_EVERY_DOCUMENTS = {
    "online": 25_000,
    "gibbs": 100_000,
    "gamma-poisson": 100_000,
    "poisson-mrf": 1,
}
"""Least distance of two looks. They took 10 % of the time of learning online with 25 topics, and 4,
5 and 14 % of that of Gibbs sampling with 25, 100 and 1,000 (25,000 articles; less in long runs, as
looks become rarer). A round of Poisson MRFs takes longer than a look: each is looked at."""
LOOK_EVERY_PASSES = {"online": 1, "gibbs": 4, "gamma-poisson": 4, "poisson-mrf": 1}
"""The same for a corpus that is small."""
LOOK_EVERY_SECONDS = 5.0
LOOK_AT_DOCUMENTS = 1000
"""Most validation documents that are scored at a look, so that its cost does not grow with the
corpus."""
BOUND_AT_ONE_IN, BOUND_AT_LEAST = 8, 40
"""The variational bound takes up to 2.5 times as long as completion, and is looked at on a part of
these: it adds 0.2 to 0.45 of completion's time to a look (8 to 100 topics)."""


def estimator_of(settings: TrainSettings, n_threads: int) -> Trainer:
    """The estimator that the settings ask for."""
    if settings.model == "gamma-poisson":
        return GAMMA_POISSON_TRAINERS[settings.trainer](settings, n_threads)
    if settings.model == "poisson-mrf":
        return poisson_mrf_of(settings, n_threads)
    return (gibbs_lda_of if settings.model == "gibbs" else online_lda_of)(settings, n_threads)


def decided_eta(settings: TrainSettings) -> TrainSettings:
    """Settings in which eta is a number, if it was left to a trainer that has it."""
    trainer = estimator_of(settings, 1)
    if settings.eta != "auto" or not hasattr(trainer, "eta"):
        return settings
    return replace(settings, eta=str(trainer.eta))


def eta_as_begun(begun: TrainSettings, settings: TrainSettings) -> str:
    """The eta of settings that leave it open, beside those that a run was begun with.

    It is the default, or what the default was when the run was begun.
    """
    if settings.eta != "auto":
        return settings.eta
    default = decided_eta(settings).eta
    return begun.eta if begun.eta in FORMER_DEFAULTS["eta"] else default


def online_lda_of(settings: TrainSettings, n_threads: int) -> OnlineLDA:
    """`--model online`."""
    return OnlineLDA(
        settings.topics,
        alpha=_number_or_name(settings.alpha),
        **_eta_of(settings),
        batch_size=settings.batch_size,
        max_e_iterations=settings.max_e_iterations,
        e_tolerance=settings.e_tolerance,
        learning_decay=settings.learning_decay,
        learning_offset=settings.learning_offset,
        n_passes=settings.max_passes,
        word_budget=settings.word_budget,
        staleness=settings.staleness,
        random_state=settings.seed,
        n_jobs=n_threads,
    )


def gibbs_lda_of(settings: TrainSettings, n_threads: int) -> GibbsLDA:
    """`--model gibbs`."""
    return GibbsLDA(
        settings.topics,
        alpha=_number_or_name(settings.alpha),
        **_eta_of(settings),
        learn_priors=settings.learn_priors,
        n_iter=settings.max_passes,
        sampler=settings.sampler,
        start=settings.start,
        burn_in=settings.burn_in,
        word_budget=settings.word_budget,
        random_state=settings.seed,
        n_jobs=n_threads,
    )


def beta_gamma_pfa_of(settings: TrainSettings, n_threads: int) -> BetaGammaPFA:
    """`--model gamma-poisson`."""
    return BetaGammaPFA(
        settings.topics,
        **_eta_of(settings),
        shape=1.0 if settings.shape is None else settings.shape,
        learn_shape=settings.shape is None,
        n_iter=settings.max_passes,
        sampler=settings.sampler,
        start=settings.start,
        burn_in=settings.burn_in,
        random_state=settings.seed,
        n_jobs=n_threads,
    )


def gap_of(settings: TrainSettings, n_threads: int) -> GaP:
    """`--model gamma-poisson --trainer gap`."""
    estimator = GaP(
        settings.topics, n_iter=settings.max_passes, random_state=settings.seed, n_jobs=n_threads
    )
    if settings.shape is not None:
        estimator.set_params(shape=settings.shape)
    return estimator


def kl_nmf_of(settings: TrainSettings, n_threads: int) -> KLNMF:
    """`--model gamma-poisson --trainer kl-nmf`."""
    return KLNMF(
        settings.topics, n_iter=settings.max_passes, random_state=settings.seed, n_jobs=n_threads
    )


def poisson_mrf_of(settings: TrainSettings, n_threads: int) -> LPMRFTopicModel | LPMRFMixture:
    """`--model poisson-mrf`."""
    common: dict[str, Any] = {
        "penalty": settings.penalty,
        "length_scale": settings.length_scale,
        "n_iter": settings.max_passes,
        "random_state": settings.seed,
        "n_jobs": n_threads,
    }
    if settings.assignments == "mixture":
        return LPMRFMixture(settings.topics, **common)
    return LPMRFTopicModel(settings.topics, assignments=settings.assignments, **common)


GAMMA_POISSON_TRAINERS: dict[str, Callable[[TrainSettings, int], BetaGammaPFA | GaP | KLNMF]] = {
    "beta-gamma-pfa": beta_gamma_pfa_of,
    "gap": gap_of,
    "kl-nmf": kl_nmf_of,
}


class Looks:
    """Looks at validation documents: when they are due, what they showed, which liked best.

    Parameters
    ----------
    run
        Where they are written down.
    checkpoint
        Where they and the best topics are kept for training to go on with.
    settings
        Of the run; they say whether positions are documents or seconds, or not to look at all.
    documents, seconds
        Least distance of two looks.
    n_threads
        To look with.
    of_stream
        Whether these are a stream's looks. Its validation documents become more, so that its scores
        do not compare with each other, nor with those of the passes that follow: they neither end
        training nor are its topics kept as the best.
    """

    def __init__(
        self,
        run: RunDirectory,
        checkpoint: Checkpoint,
        settings: TrainSettings,
        documents: float,
        seconds: float,
        n_threads: int,
        *,
        of_stream: bool,
    ) -> None:
        self._run, self._checkpoint, self._n_threads = run, checkpoint, n_threads
        self._of_stream = of_stream
        self._wanted = settings.early_stopping != "none"
        self._by_time = settings.early_stopping == "time"
        is_rounds = settings.model == "poisson-mrf"
        self._stopping = EarlyStopping(
            seconds if self._by_time else documents,
            growth=1.0 if is_rounds else EarlyStopping.growth,
            tolerance=settings.stopping_tolerance,
            patience=settings.stopping_patience,
        )
        self._last = 0  # documents at the last look
        for line in checkpoint.metrics:
            if ("passes" not in line) == of_stream:
                self._record(line)

    def look_if_due(
        self,
        estimator: Trainer,
        counts: sparse.csr_array,
        n_documents: int,
        *,
        is_end: bool = False,
        **more: float,
    ) -> bool:
        """Score validation documents if it is time to; returns whether to stop.

        Topics of Gibbs sampling are not looked at before their first sample, as those of a single
        assignment go up and down; Poisson MRFs not before they have had a round with dependencies.

        Parameters
        ----------
        estimator
            As trained so far.
        counts
            Of validation documents (D, V).
        n_documents
            That training has seen.
        is_end
            Whether training has come to its end: then it is time, unless these topics were just
            looked at.
        more
            What goes into the line of the metrics too.
        """
        if not (self._wanted and counts.nnz and _is_past_burn_in(estimator.state_)):
            return False
        seconds = self._checkpoint.seconds
        is_due = self._stopping.due(seconds if self._by_time else n_documents)
        if not (self._last < n_documents if is_end else is_due):
            return False
        metrics, topics = self._checkpoint.metrics, estimator.topics_
        line = validation_of(topics, counts, self._n_threads)
        line |= {"documents": n_documents, **more, "seconds": seconds}
        before = metrics[-1] if metrics else {"documents": 0, "seconds": 0.0}
        elapsed = seconds - before["seconds"]
        line["documents_per_second"] = (
            (n_documents - before["documents"]) / elapsed if elapsed else None
        )
        metrics.append(line)
        if not self._of_stream:
            self._keep_if_best(topics)
        self._run.write_metrics(metrics)
        return self._record(line) and not self._of_stream

    def _record(self, line: dict[str, Any]) -> bool:
        self._last = line["documents"]
        position = line["seconds" if self._by_time else "documents"]
        return self._stopping.record(position, line["log_likelihood"])

    def _keep_if_best(self, topics: Topics) -> None:
        """Keep the topics of the last look if there were none better, and say in its line."""
        checkpoint, metrics = self._checkpoint, self._checkpoint.metrics
        best, score = checkpoint.best_look, metrics[-1]["log_likelihood"]
        if best is None or score > metrics[best]["log_likelihood"]:
            checkpoint.best, checkpoint.best_look = topics, len(metrics) - 1
        assert checkpoint.best_look is not None
        metrics[-1]["best_perplexity"] = metrics[checkpoint.best_look]["perplexity"]


def look_every(model: str, n_docs: int) -> int:
    """Least distance of two looks, in documents, in training on so many."""
    return min(LOOK_EVERY_PASSES[model] * n_docs, LOOK_EVERY_DOCUMENTS[model])


def to_look_at(counts: sparse.csr_array) -> sparse.csr_array:
    """Validation documents (D, V) that are scored at a look: all, or evenly spaced ones."""
    if counts.shape[0] <= LOOK_AT_DOCUMENTS:
        return counts
    return taken_rows(counts, evenly_spaced(counts.shape[0], LOOK_AT_DOCUMENTS))


def evenly_spaced(number: int, most: int) -> NDArray[np.int64]:
    """Indices below `number`: all of them, or `most` that are as far apart as can be."""
    return np.arange(number) if number <= most else np.arange(most) * number // most


def most_passes(settings: TrainSettings) -> int:
    """Passes over the corpus that training takes if nothing ends it before."""
    if settings.model != "poisson-mrf":
        return settings.max_passes
    estimator = poisson_mrf_of(settings, 1)
    if isinstance(estimator, LPMRFMixture):
        return 2 * settings.max_passes
    if estimator.assignments == "moves":
        return 3 * settings.max_passes
    return settings.max_passes + math.ceil(estimator.lda_sweeps / estimator.n_sweeps)


def validation_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """What a look at validation documents says, by what suits the family."""
    if isinstance(topics, (PoissonMRFMixture, PoissonMRFTopicModel)):
        return likelihood_of(topics, counts, n_threads)
    return completion_of(topics, counts, n_threads) | bound_of(topics, counts, n_threads)


def likelihood_of(
    topics: PoissonMRFMixture | PoissonMRFTopicModel, counts: sparse.csr_array, n_threads: int
) -> dict[str, Any]:
    """Likelihood of validation documents: exact, or by a chain for each, always the same numbers.

    With one chain that of a document is a little low, about as much at each look.
    """
    estimate = log_likelihood(topics, counts, n_samples=1, random_state=0, n_jobs=n_threads)
    return _line_of(estimate)


def completion_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """Completion of validation documents; always the same halves, so that looks compare."""
    estimate = log_likelihood(
        topics, counts, "completion", n_samples=1, random_state=0, n_jobs=n_threads
    )
    return _line_of(estimate)


def bound_of(topics: Topics, counts: sparse.csr_array, n_threads: int) -> dict[str, Any]:
    """exp(−variational bound / tokens) of some validation documents, whole ones.

    Their perplexity is below that. It does not compare with completion's, which is of half of each
    document, given the other half.
    """
    number = counts.shape[0]
    rows = evenly_spaced(number, max(BOUND_AT_LEAST, number // BOUND_AT_ONE_IN))
    estimate = log_likelihood(
        topics, counts[rows], "variational-bound", convention="sequence", n_jobs=n_threads
    )
    is_known = estimate.total_tokens > 0 and math.isfinite(estimate.perplexity)
    return {
        "bound_perplexity": estimate.perplexity if is_known else None,
        "bound_tokens": estimate.total_tokens,
    }


def _line_of(estimate: LikelihoodEstimate) -> dict[str, Any]:
    error = estimate.perplexity_standard_error
    return {
        "log_likelihood": estimate.total,
        "perplexity": estimate.perplexity,
        # None for a single document: JSON has no NaN.
        "perplexity_standard_error": None if math.isnan(error) else error,
        "tokens": estimate.total_tokens,
    }


def _is_past_burn_in(state: object) -> bool:
    if isinstance(state, PoissonMRFState):
        return state.stage == "done" or (state.stage == "fields" and state.stage_rounds > 0)
    return not isinstance(state, GibbsLDAState) or state.n_samples > 0


def _eta_of(settings: TrainSettings) -> dict[str, Any]:
    """`eta`, or nothing where the trainer's default is wanted."""
    return {} if settings.eta == "auto" else {"eta": _number_or_name(settings.eta)}


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
