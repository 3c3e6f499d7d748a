"""Trainer for the settings of a run, and settings that it decides."""

from dataclasses import replace

from models.families import trainer_for
from models.family import Trainer, TrainerSpec
from pipeline.settings import TrainSettings

FORMER_DEFAULTS = {"eta": ("0.1",)}
"""Defaults of earlier versions, which old runs of all models recorded."""


def spec_of(settings: TrainSettings) -> TrainerSpec:
    """Return the trainer of these settings."""
    return trainer_for(vars(settings))


def estimator_of(settings: TrainSettings, n_threads: int) -> Trainer:
    """Return the estimator of these settings."""
    return spec_of(settings).build(vars(settings), n_threads)


def decided_eta(settings: TrainSettings) -> TrainSettings:
    """Replace an `eta` of "auto" by the trainer's number."""
    eta = spec_of(settings).eta
    if settings.eta != "auto" or eta is None:
        return settings
    return replace(settings, eta=str(eta))


def eta_as_begun(begun: TrainSettings, settings: TrainSettings) -> str:
    """Return the eta of settings for a run that was begun.

    An "auto" becomes the default at the time when the run was begun.
    """
    if settings.eta != "auto":
        return settings.eta
    default = decided_eta(settings).eta
    return begun.eta if begun.eta in FORMER_DEFAULTS["eta"] else default
