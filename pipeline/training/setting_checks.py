"""Checks of the settings of `train`, before anything slow begins."""

import math
from dataclasses import fields, replace

from corpora import Pruning, find_model
from corpora.articles.remote import is_url
from models import seed_from
from models.families import trainers
from models.family import TrainerSpec
from pipeline.cluster.connection import check_address
from pipeline.errors import UsageError
from pipeline.setting_sources import check_least
from pipeline.settings import TrainSettings
from pipeline.text.counting import bigrams_of
from pipeline.text.settings import text_settings
from pipeline.training.trainers import FORMER_DEFAULTS, estimator_of, spec_of


def check_settings(settings: TrainSettings) -> None:
    """Raise UsageError for impossible settings; the message names the setting and what to do."""
    check_least(settings, topics=1, max_passes=1, chains=1)
    _check_model(settings)
    try:
        estimator_of(settings, 1).check_settings()
        Pruning(settings.no_below, settings.no_above, settings.keep_n)
        bigrams_of(lambda _: (), bool, settings)
        seed_from(settings.seed)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    if not (settings.validation >= 0 and settings.test >= 0):
        raise UsageError("--validation and --test are shares and must not be negative")
    if settings.validation + settings.test >= 1:
        raise UsageError("--validation and --test leave nothing to train on: lower one of them")
    _check_following(settings)
    check_least(settings, stopping_patience=1, follow_after=1)
    if not 0 <= settings.stopping_tolerance < 1:
        raise UsageError(
            f"--stopping-tolerance must be from 0 to below 1, found {settings.stopping_tolerance}"
        )
    if settings.cluster:
        check_address(settings.cluster)
    decided = settings.documents != "auto"
    text_settings(settings if decided else replace(settings, documents="article"))
    is_sample = not (settings.articles or settings.input or settings.counts)
    if settings.spacy_model or is_sample:  # otherwise the articles' language decides
        find_model(settings.spacy_model)


def _check_model(settings: TrainSettings) -> None:
    for each in fields(settings):
        models, value = each.metadata["of"], getattr(settings, each.name)
        harmless = (each.default, *FORMER_DEFAULTS.get(each.name, ()))
        if models and settings.model not in models and value not in harmless:
            raise UsageError(
                f"--{each.name.replace('_', '-')} is for --model {' or '.join(models)}, not "
                f"{settings.model}: leave it out, or take --model {models[0]}"
            )
    spec = spec_of(settings)
    _check_trainer(settings, spec)
    for name in ("penalty", "length_scale"):
        if not 0 < getattr(settings, name) < math.inf:
            raise UsageError(
                f"--{name.replace('_', '-')} must be positive and finite, found "
                f"{getattr(settings, name)}"
            )
    for name in ("alpha", "eta"):
        if "learn_priors" in spec.settings and getattr(settings, name) == "learned":
            raise UsageError(
                f"--{name} learned is for --model online: with {settings.model}, --{name} is a "
                "number to start from, and --learn-priors says what is learned"
            )
    if "burn_in" in spec.settings and settings.burn_in >= settings.max_passes >= 1:
        raise UsageError(
            f"--burn-in must be less than the {settings.max_passes} of --max-passes, which leaves "
            f"topics to average, found {settings.burn_in}"
        )


def _check_trainer(settings: TrainSettings, spec: TrainerSpec) -> None:
    others = {name for each in trainers() if each.model == spec.model for name in each.settings}
    foreign = others.difference(spec.settings, spec.chosen_by)
    for each in fields(settings):
        harmless = (each.default, *FORMER_DEFAULTS.get(each.name, ()))
        if each.name in foreign and getattr(settings, each.name) not in harmless:
            chosen = {**spec.chosen_by, **{name: getattr(settings, name) for name in spec.above}}
            choice = " ".join(f"--{name} {value}" for name, value in chosen.items())
            raise UsageError(
                f"--{each.name.replace('_', '-')} has no meaning for {choice}: leave it out"
            )


def _check_following(settings: TrainSettings) -> None:
    if settings.follow and not settings.articles:
        raise UsageError("--follow needs the store that is being filled: --articles DIR")
    if settings.follow and is_url(settings.articles):
        raise UsageError("--follow watches a directory that is being filled, not an address")
    if settings.follow and settings.staleness:
        raise UsageError("--staleness has no meaning for --follow: leave it out")
    if settings.follow and settings.cluster:
        raise UsageError("--follow learns on this machine: leave --cluster out")
