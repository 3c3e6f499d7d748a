"""Help for tests of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.reproduce.experiment import Found

if TYPE_CHECKING:
    from typing import Any

    from pipeline.reproduce.experiment import Experiment


def places(experiment: Experiment, given: Any) -> dict[str, list[str]]:
    """Return the places where each claim fails, by its sentence, given the result or the arrays."""
    findings = experiment.findings(Found(given, given))
    return {each.text: list(each.fails_at) for each in findings}


def failing(experiment: Experiment, given: Any) -> dict[str, list[str]]:
    """Return the places of claims that fail somewhere."""
    return {claim: at for claim, at in places(experiment, given).items() if at}
