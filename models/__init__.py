"""Topic models: what is learned and how it is fitted; one folder a family."""

from models.early_stopping import EarlyStopping
from models.families import Topics
from models.gamma_poisson.beta_gamma_pfa import BetaGammaPFA
from models.gamma_poisson.beta_gamma_state import BetaGammaPFAState
from models.gamma_poisson.factor_state import GaPState, KLNMFState
from models.gamma_poisson.gap import GaP
from models.gamma_poisson.kl_nmf import KLNMF
from models.gamma_poisson.topics import GammaPoissonTopics
from models.lda.gibbs_lda import GibbsLDA
from models.lda.gibbs_state import GibbsLDAState, GibbsLDAStep
from models.lda.online_lda import OnlineLDA
from models.lda.online_lda_state import OnlineLDAState, OnlineLDAStep
from models.lda.topics import LDATopics
from models.saved import ModelFormatError, SavedModel, load_model, save_model
from models.seed import seed_from

__all__ = [
    "KLNMF",
    "BetaGammaPFA",
    "BetaGammaPFAState",
    "EarlyStopping",
    "GaP",
    "GaPState",
    "GammaPoissonTopics",
    "GibbsLDA",
    "GibbsLDAState",
    "GibbsLDAStep",
    "KLNMFState",
    "LDATopics",
    "ModelFormatError",
    "OnlineLDA",
    "OnlineLDAState",
    "OnlineLDAStep",
    "SavedModel",
    "Topics",
    "load_model",
    "save_model",
    "seed_from",
]
