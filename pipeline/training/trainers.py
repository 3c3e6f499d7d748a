"""Trainer for the settings of a run, and settings that it decides."""

from dataclasses import replace

from models.families import trainer_for
from models.family import Trainer, TrainerSpec
from pipeline.settings import TrainSettings

FORMER_DEFAULTS = {"eta": ("0.1",), "start": ("online",)}
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


def decided_as_begun(begun: TrainSettings, settings: TrainSettings) -> TrainSettings:
    """Return settings for a run that was begun.

    An `eta` or `start` of "auto" becomes the default at the time when the run was begun.
    """
    former = {
        name: getattr(begun, name)
        for name, defaults in FORMER_DEFAULTS.items()
        if getattr(settings, name) == "auto" and getattr(begun, name) in defaults
    }
    return decided_eta(replace(settings, **former))
