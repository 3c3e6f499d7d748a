"""What is said of each estimator of held-out likelihood, for people who have not met it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.estimate import Direction

PREFERRED = (
    *("exact", "left-to-right-sequential", "annealed-importance-sampling"),
    *("left-to-right-exact", "left-to-right", "mean-field-is-2", "mean-field-is-1"),
    *("direct-sampling", "left-to-right-particle", "variational-bound", "completion"),
    *("harmonic-mean", "best-split"),
)
"""Whose figure is read out: the first of these that there is."""
NOT_TO_QUOTE = {"best-split", "harmonic-mean"}
"""No perplexity is read out of these."""

MEANINGS = {
    "annealed-importance-sampling": (
        "Unbiased for the probability of a document, by Markov chains that are led up to the model "
        "step by step. With few chains or steps it errs towards a perplexity that is too high."
    ),
    "best-split": (
        "Not a perplexity, as it is no probability: each document at its one best division among "
        "topics, as published with Poisson MRFs. It may lie on either side of the truth, and is "
        "here for comparison with the literature."
    ),
    "completion": (
        "Not the perplexity of whole documents: the model has seen half of each when it predicts "
        "the other half, so the figure is usually lower, and neither a bound nor unbiased. It is "
        "quick and treats models alike, which makes it good for comparing them."
    ),
    "direct-sampling": (
        "Unbiased for the probability of a document, but by guessing its topics blindly: for all "
        "but short documents nearly every guess is wrong, and the perplexity comes out too high."
    ),
    "exact": "The sum over all possible topics of all words: there is no error of estimation.",
    "harmonic-mean": (
        "A warning, not a perplexity: published often, and far too low, because the samples that "
        "would raise it hardly ever turn up. Do not quote it."
    ),
    "left-to-right": (
        "Biased by an unknown amount, which shrinks with more samples: words are predicted one "
        "after another from those before (Capdevila et al. 2018)."
    ),
    "left-to-right-exact": (
        "Biased by an unknown amount, which shrinks with more samples: words are predicted one "
        "after another from those before, each without an error (Capdevila et al. 2018)."
    ),
    "left-to-right-particle": (
        "Biased, most often towards a perplexity that is too high, and more particles do not mend "
        "it. It is what MALLET prints."
    ),
    "left-to-right-sequential": (
        "The figure to quote: unbiased for the probability of a document. Words are predicted one "
        "after another from those before. Where samples are few for a document, it errs towards a "
        "perplexity that is too high."
    ),
    "mean-field-is-1": (
        "Unbiased for the probability of a document, but rare samples carry much of it: most often "
        "the perplexity is somewhat too high, by more than the Monte Carlo error shows."
    ),
    "mean-field-is-2": (
        "Unbiased for the probability of a document, but rare samples carry much of it: most often "
        "the perplexity is somewhat too high, by more than the Monte Carlo error shows."
    ),
    "variational-bound": (
        "An upper bound: the true perplexity of these documents is below this, by an unknown "
        "amount. Nothing is sampled."
    ),
}
"""What a figure is, and on which side of it the truth lies."""
OF_POISSON_MRFS = (
    "Given estimates of the model's partition functions, whose error is not in the figure."
)
EXACT_MRF = "The model's own probability, with no sampling."


def scored_by(method: str) -> str:
    """Which part of documents a method scores."""
    if method == "completion":
        return "second half of each document, given the first"
    return (
        "whole documents, each at its best split" if method == "best-split" else "whole documents"
    )


def meaning_of(method: str, *, is_poisson_mrf: bool, n_samples: float | None = None) -> str:
    """What a figure is, and on which side of it the truth lies; a few sentences.

    `n_samples` are those of a document, in the mean, if any were drawn.
    """
    is_exact_mrf = is_poisson_mrf and method == "exact"
    sentences = [EXACT_MRF if is_exact_mrf else MEANINGS[method]]
    if n_samples is not None:
        # Completion draws no topics: it divides each document anew.
        noun = "division" if method == "completion" else "sample"
        ending = "" if n_samples == 1 else "s"
        sentences.append(f"{_figure(n_samples)} {noun}{ending} a document.")
    if is_poisson_mrf and method != "best-split":
        sentences.append(OF_POISSON_MRFS)
    return " ".join(sentences)


def _figure(number: float) -> str:
    """Whole numbers without decimals."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.1f}"


def choice_among(method: str, direction: Direction, perplexity: str) -> str:
    """A perplexity as a choice among equally likely words, hedged as its direction asks for.

    The sentence is left open for an interval.
    """
    if method == "completion":
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
