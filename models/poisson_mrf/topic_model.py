"""Topic models of fixed-length Poisson MRFs (Inouye et al. 2015, Sec. 3), and by sampling."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Floats, Ints
from models.family import Schedule
from models.gibbs.minka import asymmetric_prior, exceedances
from models.gibbs.tokens import tokens_of
from models.lda.gibbs_lda import GibbsLDA
from models.lda.topics import LDATopics
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.assignment_kernel import documents_of, field_arrays, sweep_documents
from models.poisson_mrf.field_estimator import LPMRFTrainer, kmeans_labels
from models.poisson_mrf.field_state import PoissonMRFState
from models.poisson_mrf.topic_matrices import map_assignment, tokens_of_topic
from models.poisson_mrf.topics import LPMRFTopics

STAGES = {"moves": ("mixture", "multinomial", "fields"), "gibbs": ("lda", "fields")}
PRIOR_ITERATIONS = 20  # Steps of alpha in each round
FIRST_ALPHA, FIRST_ETA = 0.1, 0.1
GIBBS_ROUNDS = 3
"""Default rounds with interactions: more gave held-out documents of Classic3 no gain."""
DOCUMENT_BLOCK = 64  # Documents of a task, with a stream of random numbers


@dataclass(kw_only=True, eq=False, repr=False)
class LPMRFTopicModel(LPMRFTrainer):
    """Tokens of documents shared out among topics, each with a field of its own.

        π ~ Dirichlet(alpha),  m ~ Multinomial(π, L),  z^k ~ LPMRF(θ^k, Φ^k; m_k),  x = Σ_k z^k

    In each round fields are fitted to the topics' shares, as `LPMRFMixture` does to clusters, and
    tokens are shared out again. With "moves", as published, most probably, after a mixture and a
    topic model of multinomials, without the prior. With "gibbs", by sampling from their posterior,
    after LDA by collapsed Gibbs sampling; the paper leaves this open. Alpha is learned, as the most
    likely given how tokens are shared out (Minka 2000).

    Parameters
    ----------
    assignments : {"gibbs", "moves"}
    n_iter : int, optional
        Maximal number of rounds in a stage; with "gibbs", with interactions. By default 100, and 3.
    n_sweeps, lda_sweeps : int
        Gibbs sweeps in a round, and of LDA before.
    tolerance : float
        With "moves", a stage ends with a round that raises the objective by no more than this
        share.
    n_topics, penalty, length_scale, smoothing, partition, n_samples, n_temperatures, random_state,
    n_jobs
        As of `LPMRFMixture`. With an infinite penalty and "gibbs" this is LDA.
    """

    assignments: str = "gibbs"
    n_sweeps: int = 20
    lda_sweeps: int = 200
    _kind = LPMRFTopics

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        super().check_settings()
        self._check_integers({"n_sweeps": 1, "lda_sweeps": 1}, ())
        if self.assignments not in tuple(STAGES):
            raise ValueError(
                f"assignments must be one of {tuple(STAGES)}, found {self.assignments!r}"
            )

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, if nothing ends it early."""
        if self.assignments != "gibbs":
            return super().schedule
        n_before = math.ceil(self.lda_sweeps / self.n_sweeps)
        return Schedule(
            self._max_rounds + n_before,
            "round",
            n_before=n_before,
            before=f"{self.lda_sweeps:,} pass{'' if self.lda_sweeps == 1 else 'es'} of LDA",
            after="with dependencies",
        )

    @property
    def _max_rounds(self) -> int:
        is_sampled = self.n_iter is None and self.assignments == "gibbs"
        return GIBBS_ROUNDS if is_sampled else super()._max_rounds

    def _first_state(self, counts: sparse.csr_array, seed: int) -> PoissonMRFState:
        if self.assignments == "moves":
            return PoissonMRFState(kmeans_labels(counts, self.n_topics, seed), "mixture", seed)
        first = self._lda(seed).resume(counts, None).state_
        return PoissonMRFState(
            first.topic_of, "lda", seed, prior=first.alpha, eta=float(first.eta[0])
        )

    def _lda(self, seed: int, start: str = "online", **settings: Any) -> GibbsLDA:
        settings |= {"eta": FIRST_ETA, "learn_priors": "both", "n_jobs": self.n_jobs}
        return GibbsLDA(self.n_topics, start=start, random_state=seed, **settings)

    def _stages(self) -> tuple[str, ...]:
        return STAGES[self.assignments]

    def _round(self, counts: sparse.csr_array) -> None:
        state = self.state_
        if state.stage == "mixture":
            super()._round(counts)
            if state.stage == "multinomial":
                split = np.zeros((counts.nnz, self.n_topics), dtype=np.int32)
                label = np.repeat(state.assignment, np.diff(counts.indptr))
                split[np.arange(counts.nnz), label] = counts.data
                state.assignment = split
        elif self.assignments == "moves":
            self._move_round(counts)
        elif state.stage == "lda":
            self._lda_round(counts)
        else:
            self._gibbs_round(counts)

    def _move_round(self, counts: sparse.csr_array) -> None:
        """Fields of the split, then a split that no move makes more probable."""
        state, before = self.state_, replace(self.state_)
        interacting = state.stage == "fields"
        split = state.assignment
        if not interacting and state.stage_rounds == 0:
            split = map_assignment(state.model(self._kind), counts, split, n_jobs=self.n_jobs).split
        parts = parts_of_split(counts, split)
        model = self._model_of(parts, counts, interacting=interacting)
        found = map_assignment(model, counts, split, n_jobs=self.n_jobs)
        objective = float(found.objective.sum())
        is_same = np.array_equal(found.split, split)
        self._end_round(before, model, objective, found.split, is_same=is_same)

    def _lda_round(self, counts: sparse.csr_array) -> None:
        """Sweeps of LDA; after the last, fields without interactions."""
        state = self.state_
        n_before = state.stage_rounds * self.n_sweeps
        n_after = min(n_before + self.n_sweeps, self.lda_sweeps)
        lda = self._lda(state.seed, n_iter=n_after, burn_in=n_after - 1, start="random")
        first = lda.resume(counts, None).state_
        first = replace(
            first,
            topic_of=state.assignment.copy(),
            alpha=state.prior.copy(),
            eta=np.full_like(first.eta, state.eta),
            n_sweeps=n_before,
        )
        for _ in lda.iterate(counts, state=first):
            pass
        last = lda.state_
        state.assignment, state.eta = last.topic_of.copy(), float(last.eta[0])
        state.stage_rounds += 1
        state.keep_model(without_interactions(lda.topics_))
        if n_after == self.lda_sweeps:
            tokens = tokens_of(counts)
            order = np.lexsort((tokens.word_of, tokens.doc_of))
            state.assignment = state.assignment[order].astype(np.int32)
            self._next_stage()

    def _gibbs_round(self, counts: sparse.csr_array) -> None:
        """Fields of the sample, then sweeps that draw another."""
        state = self.state_
        parts = parts_of_tokens(counts, state.assignment, self.n_topics)
        model = self._model_of(parts, counts, interacting=True)
        state.keep_model(model)
        topic_of = state.assignment.copy()
        documents = documents_of(counts)
        fields = field_arrays(model, int(counts.sum(axis=1).max()))

        def work(start: int, stop: int) -> None:
            rng = np.random.default_rng([state.seed, state.n_rounds, start])
            sweep_documents(documents, topic_of, fields, self.n_sweeps, rng, start, stop)

        for_blocks(work, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(self.n_jobs))
        state.assignment = topic_of
        state.stage_rounds += 1
        if state.stage_rounds >= self._max_rounds:
            self._next_stage()

    def _model_of(
        self, parts: Sequence[sparse.csr_array], counts: sparse.csr_array, *, interacting: bool
    ) -> LPMRFTopics:
        longest = int(counts.sum(axis=1).max())
        fitted = self._fit_fields(parts, longest, interacting=interacting)
        lengths = np.stack([np.asarray(part.sum(axis=1)).ravel() for part in parts], axis=1)
        first = self.state_.prior  # of LDA, or of the round before
        if self.assignments == "moves":
            first = np.full(self.n_topics, FIRST_ALPHA)
        alpha = alpha_of(lengths, first)
        return LPMRFTopics.of_fields(fitted.fields, fitted.log_partition, alpha)


def alpha_of(lengths: Ints, alpha: Floats) -> Floats:
    """The prior (K,) that makes tokens of topics (D, K) more probable, some steps from `alpha`."""
    n_topics = lengths.shape[1]
    of_topics = exceedances(np.arange(n_topics, dtype=np.uint16), lengths, n_topics)
    return asymmetric_prior(of_topics, lengths.sum(axis=1), alpha, PRIOR_ITERATIONS)


def without_interactions(topics: LDATopics) -> LPMRFTopics:
    """The same model as one of fields."""
    n_topics = topics.n_topics
    return LPMRFTopics(
        topics.topic_word,
        np.empty(0, dtype=np.int64),
        np.empty((0, 2), dtype=np.int64),
        np.empty(0),
        np.full(n_topics, np.inf),
        np.zeros((n_topics, 2)),
        topics.alpha,
    )


def parts_of_split(counts: sparse.csr_array, split: NDArray[Any]) -> list[sparse.csr_array]:
    """The counts (D, V) of each topic; `split` (nnz, K) shares out those of all."""
    return [tokens_of_topic(counts, share) for share in split.T]


def parts_of_tokens(
    counts: sparse.csr_array, topic_of: NDArray[Any], n_topics: int
) -> list[sparse.csr_array]:
    """The same from the topic of each token (n_tokens,), in the order of the counts."""
    entry_of = np.repeat(np.arange(counts.nnz), counts.data)
    split = np.zeros((counts.nnz, n_topics), dtype=np.int32)
    np.add.at(split, (entry_of, topic_of), 1)
    return parts_of_split(counts, split)
