"""Registry of the estimators of all families' likelihoods."""

from collections.abc import Iterable
from typing import Any

from evaluation.family import Method, Scoring
from evaluation.gamma_poisson.scoring import SCORINGS as GAMMA_POISSON
from evaluation.lda.scoring import SCORINGS as LDA
from evaluation.poisson_mrf.scoring import SCORINGS as POISSON_MRF

SCORINGS: tuple[Scoring, ...] = (*LDA, *GAMMA_POISSON, *POISSON_MRF)

SHARED_METHODS = ("annealed-importance-sampling", "completion", "exact", "best-split")
"""Methods to compare families with different defaults: the first that all families have."""


def scoring_of(model: Any) -> Scoring:
    """Return the scoring of topics, or of those of a fitted estimator; TypeError if unknown."""
    topics = getattr(model, "topics_", model)
    for each in SCORINGS:
        if isinstance(topics, each.topics):
            return each
    advice = ""
    for each in SCORINGS:
        for kind, text in each.advice.items():
            advice = f", {text}" if isinstance(topics, kind) else advice
    raise TypeError(f"no likelihood estimator for a {type(model).__name__}{advice}")


def fitted_topics(model: Any) -> Any:
    """Return topics, or those of a fitted estimator; sklearn's NotFittedError if it is not."""
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415 - takes half a second

        check_is_fitted(model)
    return getattr(model, "topics_", model)


def caveats_of(models: Iterable[Any]) -> list[str]:
    """Return sentences, each once, on errors that no figure of these models shows."""
    caveats = dict.fromkeys(scoring_of(each).caveat for each in models)
    return [caveat for caveat in caveats if caveat]


def method_names() -> tuple[str, ...]:
    """Return the names of the methods of all families, each once."""
    return tuple(dict.fromkeys(each.name for scoring in SCORINGS for each in scoring.methods))


def named_methods(name: str) -> list[Method]:
    """Return the methods of that name of all families."""
    return [each for scoring in SCORINGS for each in scoring.methods if each.name == name]


def default_method(scorings: Iterable[Scoring]) -> str | None:
    """Return the default method for models that must be scored by the same one.

    If the defaults of their families differ, it is the first of `SHARED_METHODS` that every family
    has; None if there is none.
    """
    scorings = tuple(scorings)
    defaults = {each.default for each in scorings}
    if len(defaults) == 1:
        return defaults.pop()
    return next(
        (name for name in SHARED_METHODS if all(name in each.names for each in scorings)), None
    )
