"""Gamma-Poisson factor analysis as a family of topic models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from models.family import Family, TrainerSpec, ValidationInterval
from models.gamma_poisson.beta_gamma_state import BetaGammaPFAState
from models.gamma_poisson.factor_state import GaPState, KLNMFState
from models.gamma_poisson.topics import GammaPoissonTopics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from models.family import Trainer

INTERVAL = ValidationInterval(documents=100_000, passes=4)


def learns_shape_unless_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of `BetaGammaPFA` that follow from whether the shape is given."""
    return {"learn_shape": "shape" not in given}


def _beta_gamma_pfa() -> Callable[..., Trainer]:
    from models.gamma_poisson.beta_gamma_pfa import BetaGammaPFA  # noqa: PLC0415 - see `TrainerSpec`

    return BetaGammaPFA


def _gap() -> Callable[..., Trainer]:
    from models.gamma_poisson.gap import GaP  # noqa: PLC0415 - see `TrainerSpec`

    return GaP


def _kl_nmf() -> Callable[..., Trainer]:
    from models.gamma_poisson.kl_nmf import KLNMF  # noqa: PLC0415 - see `TrainerSpec`

    return KLNMF


BETA_GAMMA_PFA = TrainerSpec(
    name="beta-gamma-pfa",
    title="Gamma-Poisson factor analysis, Gibbs sampling",
    model="gamma-poisson",
    import_estimator=_beta_gamma_pfa,
    state=BetaGammaPFAState,
    settings=("eta", "shape", "sampler", "start", "burn_in"),
    decides=("eta",),
    interval=INTERVAL,
    chosen_by={"trainer": "beta-gamma-pfa"},
    implied=learns_shape_unless_given,
    empties_topics=True,
)
GAP = TrainerSpec(
    name="gap",
    title="Gamma-Poisson factor analysis (GaP), maximum likelihood",
    model="gamma-poisson",
    import_estimator=_gap,
    state=GaPState,
    settings=("shape",),
    interval=INTERVAL,
    chosen_by={"trainer": "gap"},
    empties_topics=True,
)
KL_NMF = TrainerSpec(
    name="kl-nmf",
    title="Non-negative matrix factorisation, Kullback-Leibler divergence",
    model="gamma-poisson",
    import_estimator=_kl_nmf,
    state=KLNMFState,
    settings=(),
    interval=INTERVAL,
    chosen_by={"trainer": "kl-nmf"},
    empties_topics=True,
)
FAMILY = Family(
    name="gamma-poisson",
    topics={"gamma-poisson": GammaPoissonTopics},
    trainers=(BETA_GAMMA_PFA, GAP, KL_NMF),
)
