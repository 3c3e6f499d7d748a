"""Help for tests of experiments."""

from __future__ import annotations

from pipeline.reproduce.experiment import Found


def places(experiment, given):
    """Return the places where each claim fails, by its sentence, given the result or the arrays."""
    findings = experiment.findings(Found(given, given))
    return {each.text: list(each.fails_at) for each in findings}


def failing(experiment, given):
    """Return the places of claims that fail somewhere."""
    return {claim: at for claim, at in places(experiment, given).items() if at}
