"""Trainers by the settings of training, and the settings that they decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from models.families import trainer_for

if TYPE_CHECKING:
    from models.family import Trainer, TrainerSpec
    from pipeline.settings import TrainSettings

FORMER_DEFAULTS = {"eta": ("0.1",)}
"""Defaults of earlier versions, which runs of all models recorded."""


def spec_of(settings: TrainSettings) -> TrainerSpec:
    """The trainer that the settings ask for."""
    return trainer_for(vars(settings))


def estimator_of(settings: TrainSettings, n_threads: int) -> Trainer:
    """The estimator that the settings ask for."""
    return spec_of(settings).build(vars(settings), n_threads)


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
