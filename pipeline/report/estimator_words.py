"""What is said of each estimator of held-out likelihood, for people who have not met it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.estimate import Direction
    from evaluation.family import Method


def meaning_of(method: Method, *, n_samples: float | None = None) -> str:
    """What a figure is, and on which side of it the truth lies; a few sentences.

    `n_samples` are those of a document, in the mean, if any were drawn.
    """
    sentences = [method.meaning]
    if n_samples is not None:
        ending = "" if n_samples == 1 else "s"
        sentences.append(f"{_figure(n_samples)} {method.sample}{ending} a document.")
    if method.caveat:
        sentences.append(method.caveat)
    return " ".join(sentences)


def _figure(number: float) -> str:
    """Whole numbers without decimals."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.1f}"


def choice_among(method: Method, direction: Direction, perplexity: str) -> str:
    """A perplexity as a choice among equally likely words, hedged as its direction asks for.

    The sentence is left open for an interval.
    """
    if method.is_conditional:
        return (
            "Once it has seen half of an article that is new to it, the model gives each word of "
            f"the other half on average the probability 1/{perplexity}, as if it had to choose "
            f"among {perplexity} equally likely words"
        )
    if direction == "lower bound":
        return (
            "On average the model gives each word of an unseen article at least the probability "
            f"1/{perplexity}, as if it had to choose among no more than {perplexity} equally "
            "likely words"
        )
    hedge = "" if direction in ("exact", "unbiased") else ", by an estimate that is biased,"
    return (
        f"On average the model gives each word of an unseen article{hedge} the probability "
        f"1/{perplexity}, as if it had to choose among {perplexity} equally likely words"
    )
