"""The families of topic models by name, and what of each is kept on disk."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from models.gamma_poisson.topics import GammaPoissonTopics
from models.lda.topics import LDATopics
from models.poisson_mrf.topics import PoissonMRFMixture, PoissonMRFTopicModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Topics = LDATopics | GammaPoissonTopics | PoissonMRFMixture | PoissonMRFTopicModel

FAMILIES: dict[
    str,
    type[LDATopics]
    | type[GammaPoissonTopics]
    | type[PoissonMRFMixture]
    | type[PoissonMRFTopicModel],
] = {
    "lda": LDATopics,
    "gamma-poisson": GammaPoissonTopics,
    "poisson-mrf-mixture": PoissonMRFMixture,
    "poisson-mrf": PoissonMRFTopicModel,
}


def family_of(topics: Topics) -> str:
    """The name of the family that a model belongs to."""
    return next(name for name, kind in FAMILIES.items() if isinstance(topics, kind))


def arrays_of(topics: Topics, prefix: str = "") -> dict[str, NDArray[Any]]:
    """What a model is made of, by the names of its fields after `prefix`."""
    return {prefix + each.name: getattr(topics, each.name) for each in fields(topics)}


def topics_of_arrays(family: str, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Topics:
    """The model that `arrays_of` took apart, to the bit; other arrays are passed over.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If there is no such family, or the arrays are no model of it.
    """
    if family not in FAMILIES:
        raise ValueError(f"models of family {family!r} are not known, only {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    return kind(*(arrays[prefix + each.name] for each in fields(kind)))
