"""Topic models: what is learned and how it is fitted; one folder a family."""

import warnings
from typing import Any

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.model import AllocationModel
from models.allocation.particles.posterior_sample import PosteriorSample, posterior_sample
from models.allocation.reachable import UnreachableCellError
from models.early_stopping import EarlyStopping
from models.families import Topics
from models.gamma_poisson.beta_gamma_pfa import BetaGammaPFA
from models.gamma_poisson.beta_gamma_state import BetaGammaPFAState
from models.gamma_poisson.factor_state import GaPState, KLNMFState
from models.gamma_poisson.gap import GaP
from models.gamma_poisson.kl_nmf import KLNMF
from models.gamma_poisson.topics import GammaPoissonTopics
from models.gibbs.state import GibbsLDAState, GibbsLDAStep
from models.lda.gibbs_lda import GibbsLDA
from models.lda.online_lda import OnlineLDA
from models.lda.online_lda_state import OnlineLDAState, OnlineLDAStep
from models.lda.topics import LDATopics
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.field_state import PoissonMRFState
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.node_regressions import NodeRegressions, fit_nodes, fit_path
from models.poisson_mrf.topic_matrices import TopicMatrices, map_assignment
from models.poisson_mrf.topic_model import LPMRFTopicModel
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from models.saved import ModelFormatError, SavedModel, load_model, save_model
from models.seed import seed_from

__all__ = [
    "KLNMF",
    "AllocationFactors",
    "AllocationModel",
    "BetaGammaPFA",
    "BetaGammaPFAState",
    "CellCounts",
    "EarlyStopping",
    "FixedLengthPoissonMRF",
    "GaP",
    "GaPState",
    "GammaPoissonTopics",
    "GibbsLDA",
    "GibbsLDAState",
    "GibbsLDAStep",
    "KLNMFState",
    "LDATopics",
    "LPMRFClusters",
    "LPMRFMixture",
    "LPMRFTopicModel",
    "LPMRFTopics",
    "ModelFormatError",
    "NodeRegressions",
    "OnlineLDA",
    "OnlineLDAState",
    "OnlineLDAStep",
    "PoissonMRFState",
    "PosteriorSample",
    "SavedModel",
    "TableMemoryError",
    "TopicMatrices",
    "Topics",
    "UnreachableCellError",
    "fit_nodes",
    "fit_path",
    "load_model",
    "map_assignment",
    "posterior_sample",
    "save_model",
    "seed_from",
]

_FORMER_NAMES: dict[str, Any] = {
    "PoissonMRFMixture": LPMRFClusters,
    "PoissonMRFTopicModel": LPMRFTopics,
    "best_split": map_assignment,
}


def __getattr__(name: str) -> Any:
    """Return an object by its former public name, with a warning."""
    if name not in _FORMER_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _FORMER_NAMES[name]
    warnings.warn(f"models.{name} is now {found.__name__}", DeprecationWarning, stacklevel=2)
    return found
