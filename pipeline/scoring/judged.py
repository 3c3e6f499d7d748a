"""Rows of the table of `evaluate --measures`: models, or several of other seeds as one row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.runs.any_model import AnyModel, any_model
from pipeline.settings import EvaluateSettings


@dataclass(frozen=True, eq=False)
class Judged:
    """A row: a model, or models of other seeds."""

    name: str  # As the user gave it
    members: tuple[AnyModel, ...]

    @property
    def words(self) -> Iterator[str]:
        """All words that the models name, with repetitions."""
        for each in self.members:
            yield from each.described.vocabulary
            for some in each.described.words:
                yield from some


def judged_rows(settings: EvaluateSettings, names: Sequence[str]) -> tuple[Judged, ...]:
    """Return the rows; a name may be several, MODEL+MODEL+…, if there is no file of that name.

    Raises what `any_model` raises; UsageError if a row names a model twice.
    """
    vocabulary = settings.vocabulary or None
    known: dict[str, AnyModel] = {}
    rows = []
    for name in names:
        parts = [name]
        if "+" in name and not Path(name).exists():
            parts = [each for each in name.split("+") if each]
        if len(set(parts)) < len(parts) or not parts:
            raise UsageError(f"{name}: expected different models, with + between them")
        for each in parts:
            if each not in known:
                known[each] = any_model(settings.runs, each, vocabulary)
        rows.append(Judged(name, tuple(known[each] for each in parts)))
    return tuple(rows)
