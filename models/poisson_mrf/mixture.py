"""Mixtures of fixed-length Poisson MRFs (Inouye et al. 2015, Sec. 2.1)."""

import math

from scipy import sparse

from models.poisson_mrf.field_estimator import LPMRFTrainer, kmeans_labels
from models.poisson_mrf.field_state import PoissonMRFState
from models.poisson_mrf.topics import LPMRFClusters

STAGES = ("mixture", "fields")


class LPMRFMixture(LPMRFTrainer):
    """Clusters of documents, each with a field of its own, by hard EM.

        p(x | L) = Σ_k π_k exp(θ^k·x + ω_k(L) x·Φ^k x - Σ_s log x_s! - A^k_L)

    k-means, then a mixture of multinomials, then one of fields. In each round fields are fitted to
    clusters by l1 Poisson regressions of every word on all others (`fit_nodes`), their partition
    functions are estimated by chains (`partition_table`), and documents go to the cluster that
    makes them most probable. One cluster is the single distribution.

    Parameters
    ----------
    n_topics : int
        K, clusters.
    penalty : float
        λ of the regressions. Infinite: Φ = 0, a mixture of multinomials.
    length_scale : float
        c: interactions of documents c times as long as the mean count half (ω). Infinite: ω = 1.
    smoothing : float
        β, added to each count that is regressed on others.
    partition : {"smc", "envelope"}
        Estimator of the partition functions of all lengths; see `partition_table`. With "smc"
        interactions on which documents would condense are damped
        (`models.poisson_mrf.condensation`). With "envelope", as published, they are not, and
        documents like those of the training may have almost no probability.
    n_samples, n_temperatures : int, optional
        Chains for partition functions, and temperatures of the "envelope"; see `partition_table`.
    n_iter : int, optional
        Maximal number of rounds in a stage, by default 100.
    tolerance : float
        A stage ends with a round that raises the objective by no more than this share of it.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. If None a seed is drawn; see `seed_`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.
    """

    _kind = LPMRFClusters

    def _first_state(self, counts: sparse.csr_array, seed: int) -> PoissonMRFState:
        labels = kmeans_labels(counts, self.n_topics, seed)
        state = PoissonMRFState(labels, "mixture", seed)
        if self.n_topics == 1 and not math.isinf(self.penalty):
            state.stage = "fields"
        return state

    def _stages(self) -> tuple[str, ...]:
        return STAGES
