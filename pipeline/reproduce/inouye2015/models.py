"""Models of Inouye et al. 2015, Fig. 3, and LDA: fitted, and scored on test documents.

There are two measures. The published one is of counts of words, with each document in its best
cluster, or its tokens assigned to topics as well as possible; as the probability of the assignment
is left out, it is no likelihood. The other is the likelihood of tokens in order, summed over
clusters, or over topics by annealed importance sampling; LDA is the model whose Φ is 0.

Partition functions of the published measure are the published envelope: the smallest multiple of
ω(L) L² that is at no length below an annealed estimate. The maximum over 50 noisy estimates is too
high, the more so the fewer temperatures they have. It can also be far too low: if two words depend
strongly on each other, the document of these two alone is the likeliest by far, and chains that
start at multinomial draws hardly ever reach it. Where `missing_at_least` is above 0, the published
measure is not of a distribution that sums to 1. Likelihoods are therefore of fields with damped
interactions (`models.poisson_mrf.condensation`), and partition functions by sequential Monte Carlo.
"""

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
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
from pipeline.reproduce.counts import Counts

Model = LPMRFClusters | LPMRFTopics

MULTINOMIAL, FIELDS, FEW = "multinomial", "fields", "few"
# Titles of multinomials, of Poisson MRFs, and of these annealed at few temperatures
BASES = {MULTINOMIAL: "Multinomial", FIELDS: "LPMRF", FEW: "LPMRF, few temperatures"}
# Ends of the titles of the published kinds, and of topic models by Gibbs sampling
KINDS = {"single": "", "mixture": " mixture", "topics": " topic model"}
KINDS["gibbs"] = " topic model, Gibbs sampling"
SMOOTHING = 1e-4
SUMMED = "summed/"  # Prefix of the names of the arrays of a likelihood
MAX_ROUNDS = 100


class Variant(NamedTuple):
    """One model: kind, base and number of topics."""

    kind: str
    base: str
    n_topics: int

    @property
    def chosen_for(self) -> tuple[str, int]:
        """Kind and number of topics for which λ and c are selected."""
        return ("topics" if self.kind == "gibbs" else self.kind), self.n_topics

    @property
    def title(self) -> str:
        """Name in tables."""
        is_lda = (self.kind, self.base) == ("gibbs", MULTINOMIAL)
        return "LDA, Gibbs sampling" if is_lda else BASES[self.base] + KINDS[self.kind]


@dataclass(frozen=True)
class Budget:
    """Samples, temperatures and sweeps for a model; the defaults are the paper's where it has them.

    Temperatures are of annealing at each length: for the published measure; for the likelihood and
    all scores of models by Gibbs sampling; while a model is fitted; and few. Gibbs sampling has
    `n_rounds` with interactions, `n_sweeps` in each, after `lda_sweeps` without; LDA itself has as
    many sweeps in all.
    """

    n_samples: int = 100
    n_temperatures: int = 100
    likelihood_temperatures: int = 100
    round_temperatures: int = 100
    few_temperatures: int = 4
    n_repeats: int = 5  # Runs of annealing at few temperatures
    selection_samples: int = 100
    selection_temperatures: int = 100
    n_rounds: int = 3
    n_sweeps: int = 20
    lda_sweeps: int = 1600
    n_chains: int = 20
    chain_temperatures: int = 200  # Annealing of the likelihood of a document


@dataclass(frozen=True)
class Scorer:
    """Fits and scores models. A model has λ and c `chosen`; an infinite λ is of multinomials."""

    budget: Budget
    seed: int
    n_jobs: int | None = None

    def score(
        self, variant: Variant, train: Counts, test: Counts, chosen: tuple[float, float]
    ) -> dict[str, Any]:
        """Return the scores of a model. They are the published perplexities (R,) of test and
        training documents, by runs of annealing; nonzeros of Φ in all topics, where each pair of
        words counts twice; seconds of fitting; missing nats, see `missing_at_least`; and, except
        for few temperatures, the arrays of the likelihood of the test documents.
        """
        started = time.perf_counter()
        model = self.fitted(variant, train, chosen)
        seconds = time.perf_counter() - started
        budget, with_table = self.budget, partial(self.with_table, model, chosen[1])
        summed: dict[str, Any] = {}
        if variant.base == FEW:
            few = partial(with_table, "envelope", budget.few_temperatures)
            models = [few(repeat) for repeat in range(budget.n_repeats)]
        else:
            whole = with_table("smc", budget.likelihood_temperatures)
            is_gibbs = variant.kind == "gibbs"
            models = [whole if is_gibbs else with_table("envelope", budget.n_temperatures)]
            summed = self.likelihood(whole, test).to_arrays(SUMMED)

        def measured(documents: Counts) -> list[float]:
            block = DocumentBlock(documents)
            return [map_assignment(each, block, n_jobs=self.n_jobs).perplexity for each in models]

        found = {"test": measured(test), "train": measured(train), "seconds": seconds}
        missing = missing_at_least(models[0], chosen[1])
        return {**summed, **found, "nonzeros": 2 * len(model.edge_weight), "missing": missing}

    def fitted(self, variant: Variant, train: Counts, chosen: tuple[float, float]) -> Model:
        """Return the model as published; by Gibbs sampling with partition functions by SMC."""
        (kind, _, n_topics), is_gibbs, budget = variant, variant.kind == "gibbs", self.budget
        common: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        of_fields: dict[str, Any] = {"penalty": chosen[0], "length_scale": chosen[1], **common}
        of_fields |= {"smoothing": SMOOTHING, "partition": "smc" if is_gibbs else "envelope"}
        of_fields |= {"n_samples": budget.n_samples, "n_temperatures": budget.round_temperatures}
        of_fields["n_iter"] = budget.n_rounds if is_gibbs else MAX_ROUNDS
        model: GibbsLDA | LPMRFMixture | LPMRFTopicModel
        if is_gibbs and math.isinf(chosen[0]):
            common |= {"eta": 0.1, "learn_priors": "both", "start": "random"}
            common["topics_from"] = "samples"  # as the first stage of the models of fields
            n_sweeps = budget.lda_sweeps + budget.n_rounds * budget.n_sweeps
            model = GibbsLDA(n_topics, n_iter=n_sweeps, burn_in=budget.lda_sweeps, **common)
        elif is_gibbs:
            of_fields |= {"n_sweeps": budget.n_sweeps, "lda_sweeps": budget.lda_sweeps}
            model = LPMRFTopicModel(n_topics, assignments="gibbs", **of_fields)
        elif kind == "topics":
            model = LPMRFTopicModel(n_topics, assignments="moves", **of_fields)
        else:
            model = LPMRFMixture(n_topics, **of_fields)
        found: Any = model.fit(train).topics_
        return found if isinstance(found, Model) else without_interactions(found)

    def with_table(
        self, model: Model, length_scale: float, kind: str, n_temperatures: int, repeat: int = 0
    ) -> Model:
        """Return the model with new partition functions. With "smc", condensing interactions are
        damped first, as in training by Gibbs sampling. Seeds are used as in training: its settings
        give its own table.
        """
        longest = model.log_partition.shape[1] - 1
        fields = list(model.fields)
        if kind == "smc":
            fields = [damp_condensing_interactions(each, longest) for each in fields]
        table = np.zeros_like(model.log_partition)
        effort: dict[str, Any] = {"n_samples": self.budget.n_samples, "n_jobs": self.n_jobs}
        for k, each in enumerate(fields):
            seed = int(np.random.SeedSequence([self.seed + repeat, k]).generate_state(1)[0])
            effort |= {"seed": seed, "mean_length": each.half_length / length_scale}
            table[k] = partition_table(each, longest, kind, n_temperatures=n_temperatures, **effort)
        return type(model).of_fields(fields, table, model.prior)

    def likelihood(self, model: Model, documents: Counts) -> LikelihoodEstimate:
        """Return the likelihood of tokens in order, summed over clusters, annealed over topics."""
        block, budget = DocumentBlock(documents), self.budget
        if isinstance(model, LPMRFClusters):
            return mixture_exact(model, block)
        effort = {"n_samples": budget.n_chains, "n_temperatures": budget.chain_temperatures}
        return annealed(model, block, **effort, seed=self.seed, n_jobs=self.n_jobs)


def missing_at_least(model: Model, length_scale: float) -> float:
    """Return a lower bound of the nats by which a log-partition function is too low, 0 at least.

    It is of the mean length of documents, in the worst topic. The sum over documents is no less
    than the term of one, which has two words, s and t, each equally often:
    A + log L! >= θ·x + ω(L) x·Φx + log(L! / ∏ x!).
    """
    missing = 0.0
    for k, each in enumerate(model.fields):
        pairs = sparse.triu(each.interactions).tocoo()
        if not pairs.nnz:
            continue
        mean_length = max(2, round(each.half_length / length_scale))
        length = min(mean_length, model.log_partition.shape[1] - 1)
        n, rest = length // 2, length - length // 2
        log_orders = gammaln(length + 1.0) - gammaln(n + 1.0) - gammaln(rest + 1.0)
        terms = n * each.node[pairs.row] + rest * each.node[pairs.col]
        terms += 2.0 * float(each.weight(length)) * pairs.data * n * rest
        bound = float(terms.max() + log_orders)
        missing = max(missing, bound - float(model.log_partition[k, length]))
    return missing
