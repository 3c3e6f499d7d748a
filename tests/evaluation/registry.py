"""The registry of estimators, as tests go through it and add to it.

The family that only tests know is among them: tests that use it ask for `fifth_family`.
"""

from dataclasses import replace

from evaluation import methods
from evaluation.family import Method
from tests.small_models import SCORINGS

KINDS = tuple(scoring.topics for scoring in SCORINGS)
KINDS_AND_METHODS = [(scoring.topics, name) for scoring in SCORINGS for name in scoring.names]


def scoring_for(kind):
    return next(each for each in SCORINGS if each.topics is kind)


def method_of(kind, name):
    return scoring_for(kind).method(name)


def names_of(kind):
    return scoring_for(kind).names


def identify(value):
    return value if isinstance(value, str) else value.__name__


def add_method(monkeypatch, kind, name, function):
    """Let a kind of topics have one more method."""
    changed = tuple(
        replace(each, methods=(*each.methods, Method(name, function, "An oracle.")))
        if each.topics is kind
        else each
        for each in methods.SCORINGS
    )
    monkeypatch.setattr(methods, "SCORINGS", changed)
