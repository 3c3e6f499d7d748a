"""The families of topic models that there are, and what is kept on disk of a model of each."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from models.gamma_poisson.family import FAMILY as GAMMA_POISSON
from models.lda.family import FAMILY as LDA
from models.poisson_mrf.family import FAMILY as POISSON_MRF
from models.topics import TopicWords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from models.family import Family, TrainerSpec

Topics = TopicWords

FAMILIES: tuple[Family, ...] = (LDA, GAMMA_POISSON, POISSON_MRF)


def trainers() -> list[TrainerSpec]:
    """Every trainer of every family."""
    return [trainer for family in FAMILIES for trainer in family.trainers]


def model_names() -> tuple[str, ...]:
    """Values of the setting `model`, each once."""
    return tuple(dict.fromkeys(trainer.model for trainer in trainers()))


def trainer_for(settings: Mapping[str, Any]) -> TrainerSpec:
    """The trainer that settings of training, by name, ask for.

    Raises
    ------
    ValueError
        If there is none.
    """
    for trainer in trainers():
        if trainer.is_asked_for(settings):
            return trainer
    raise ValueError(f"model must be one of {', '.join(model_names())}, found {settings['model']}")


def topics_kinds() -> dict[str, type[TopicWords]]:
    """Classes of topics by the name that saved models have for each."""
    return {name: kind for family in FAMILIES for name, kind in family.topics.items()}


def family_of(topics: TopicWords) -> str:
    """The name that saved models have for the class of these topics.

    Raises
    ------
    TypeError
        If no family has such topics.
    """
    for name, kind in topics_kinds().items():
        if isinstance(topics, kind):
            return name
    raise TypeError(f"{type(topics).__name__} is no class of topics of any family")


def arrays_of(topics: TopicWords, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays that a model is made of, by the names of its fields after `prefix`."""
    return {prefix + each.name: getattr(topics, each.name) for each in fields(topics)}


def topics_of_arrays(
    family: str, arrays: Mapping[str, NDArray[Any]], prefix: str = ""
) -> TopicWords:
    """The model that `arrays_of` took apart, to the bit; other arrays are passed over.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If there is no such family, or the arrays are no model of it.
    """
    kinds = topics_kinds()
    if family not in kinds:
        raise ValueError(f"models of family {family!r} are not known, only {', '.join(kinds)}")
    kind = kinds[family]
    return kind(*(arrays[prefix + each.name] for each in fields(kind)))
