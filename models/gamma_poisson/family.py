"""Gamma-Poisson factor analysis as a family of topic models."""

from importlib import import_module

from models.family import Family, TrainerSpec, ValidationInterval
from models.gamma_poisson.beta_gamma_state import BetaGammaPFAState
from models.gamma_poisson.factor_state import GaPState, KLNMFState
from models.gamma_poisson.topics import GammaPoissonTopics
from models.gibbs.state import SAMPLERS

INTERVAL = ValidationInterval(documents=100_000, passes=4)
QUICK = {"n_iter": 5, "tolerance": 0.0}


BETA_GAMMA_PFA = TrainerSpec(
    name="beta-gamma-pfa",
    title="Gamma-Poisson factor analysis, Gibbs sampling",
    model="gamma-poisson",
    import_estimator=lambda: import_module("models.gamma_poisson.beta_gamma_pfa").BetaGammaPFA,
    state=BetaGammaPFAState,
    settings=("eta", "shape", "sampler", "start", "burn_in"),
    decides=("eta",),
    eta=0.1,
    interval=INTERVAL,
    chosen_by={"trainer": "beta-gamma-pfa"},
    implied=lambda given: {"learn_shape": "shape" not in given},
    empties_topics=True,
    quick={"n_iter": 5, "burn_in": 1},
    ways=(*({"sampler": each} for each in SAMPLERS), {"learn_shape": False, "start": "random"}),
)
GAP = TrainerSpec(
    name="gap",
    title="Gamma-Poisson factor analysis (GaP), maximum likelihood",
    model="gamma-poisson",
    import_estimator=lambda: import_module("models.gamma_poisson.gap").GaP,
    state=GaPState,
    settings=("shape",),
    interval=INTERVAL,
    chosen_by={"trainer": "gap"},
    empties_topics=True,
    quick=QUICK,
    ways=({"rate": "common"}, {"rate": "topic", "relaxation": 1.0}),
)
KL_NMF = TrainerSpec(
    name="kl-nmf",
    title="Non-negative matrix factorisation, Kullback-Leibler divergence",
    model="gamma-poisson",
    import_estimator=lambda: import_module("models.gamma_poisson.kl_nmf").KLNMF,
    state=KLNMFState,
    settings=(),
    interval=INTERVAL,
    chosen_by={"trainer": "kl-nmf"},
    empties_topics=True,
    quick=QUICK,
    ways=({"doc_updates": 2, "relaxation": 1.0},),
)
FAMILY = Family(
    name="gamma-poisson",
    topics={"gamma-poisson": GammaPoissonTopics},
    trainers=(BETA_GAMMA_PFA, GAP, KL_NMF),
)
