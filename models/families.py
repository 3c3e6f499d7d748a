"""Registry of the families of topic models, and the arrays in which a model is saved."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from numpy.typing import NDArray

from models.family import Family, TrainerSpec
from models.gamma_poisson.family import FAMILY as GAMMA_POISSON
from models.lda.family import FAMILY as LDA
from models.poisson_mrf.family import FAMILY as POISSON_MRF
from models.topics import TopicWords

Topics = TopicWords
FAMILIES: tuple[Family, ...] = (LDA, GAMMA_POISSON, POISSON_MRF)


def trainers() -> list[TrainerSpec]:
    """Return the trainers of all families."""
    return [trainer for family in FAMILIES for trainer in family.trainers]


def model_names() -> tuple[str, ...]:
    """Return the values of the setting `model`, each once."""
    return tuple(dict.fromkeys(trainer.model for trainer in trainers()))


def trainer_for(settings: Mapping[str, Any]) -> TrainerSpec:
    """Return the trainer that settings of training select by name, or raise ValueError."""
    for trainer in trainers():
        if trainer.is_asked_for(settings):
            return trainer
    raise ValueError(f"model must be one of {', '.join(model_names())}, found {settings['model']}")


def topics_kinds() -> dict[str, type[TopicWords]]:
    """Return the classes of topics by their names in saved models."""
    return {name: kind for family in FAMILIES for name, kind in family.topics.items()}


def family_of(topics: TopicWords) -> str:
    """Return the name of these topics' class in saved models. Raises TypeError if there is none."""
    for name, kind in topics_kinds().items():
        if isinstance(topics, kind):
            return name
    raise TypeError(f"{type(topics).__name__} is no class of topics of any family")


def arrays_of(topics: TopicWords, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a model, by the names of its fields after `prefix`."""
    return {prefix + each.name: getattr(topics, each.name) for each in fields(topics)}


def topics_of_arrays(
    family: str, arrays: Mapping[str, NDArray[Any]], prefix: str = ""
) -> TopicWords:
    """Return the model with the arrays of `arrays_of`, to the bit; other arrays are skipped.
    Raises KeyError if an array is missing; ValueError if there is no such family, or the arrays are
    no model of it.
    """
    kinds = topics_kinds()
    if family not in kinds:
        raise ValueError(f"models of family {family!r} are not known, only {', '.join(kinds)}")
    kind = kinds[family]
    return kind(*(arrays[prefix + each.name] for each in fields(kind)))
