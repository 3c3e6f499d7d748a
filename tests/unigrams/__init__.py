"""A family of topic models that the tests bring along: mixtures of unigrams, learned by EM."""

from evaluation import methods
from models import families
from tests.unigrams.model import FAMILY
from tests.unigrams.scoring import SCORINGS


def register(monkeypatch=None):
    """Add the family to both registries, for good if there is no monkeypatch."""
    known, scored = (*families.FAMILIES, FAMILY), (*methods.SCORINGS, *SCORINGS)
    if monkeypatch is None:
        families.FAMILIES, methods.SCORINGS = known, scored
    else:
        monkeypatch.setattr(families, "FAMILIES", known)
        monkeypatch.setattr(methods, "SCORINGS", scored)
