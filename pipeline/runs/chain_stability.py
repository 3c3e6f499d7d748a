"""Stability of a run's topics over its chains, as the header of its model has it."""

from dataclasses import dataclass

from models import SavedModel

HEADER = "stability"


@dataclass(frozen=True)
class FoundAgain:
    """Chains of a run in which a topic is found again."""

    found: int  # Chains in which the topic's partner has at least the cosine of the threshold
    chains: int
    cosine: float  # Mean best cosine over chains
    standard_error: float  # Its standard error over chains


def found_again(model: SavedModel) -> list[FoundAgain] | None:
    """Return the figures of each topic (K,), in the order of the model; None without chains."""
    entry = model.header.get(HEADER)
    if entry is None:
        return None
    columns = (entry["found"], entry["cosine"], entry["standard_error"])
    return [
        FoundAgain(found, entry["chains"], cosine, error)
        for found, cosine, error in zip(*columns, strict=True)
    ]
