"""Sentences of a page on held-out likelihoods, and 95 % intervals over articles.

Intervals use Student's t with one degree of freedom fewer than there are articles, as a run may
have few test articles: with 20, t is 2.09 standard errors; the normal distribution, which
`evaluate` uses for probabilities, has 1.96.
"""

import math
from collections.abc import Sequence

from scipy.special import stdtr, stdtrit

from evaluation.estimate import Direction
from evaluation.family import Method, Scoring
from pipeline.report.sections import LikelihoodRow

SMOOTHING = 1e-6
"""Share of each topic that is spread over all words if a document is impossible otherwise."""
NEGLIGIBLE = 0.2
"""Largest ratio of the Monte Carlo error to the error over articles that is called negligible: it
adds 2 % to the latter."""


# --- intervals ------------------------------------------------------------------------------------


def half_width(standard_error: float, n_articles: int) -> float | None:
    """Return half the width of a 95 % interval; None without a standard error."""
    if n_articles < 2 or not math.isfinite(standard_error):
        return None
    return float(stdtrit(n_articles - 1, 0.975)) * standard_error


def probability_positive(value: float, standard_error: float, n_articles: int) -> float | None:
    """Return the probability, under a flat prior, that the true mean is above 0 given `value`.

    None without a standard error.
    """
    if n_articles < 2 or not math.isfinite(standard_error):
        return None
    if standard_error == 0:
        return 0.5 if value == 0 else float(value > 0)
    return float(stdtr(n_articles - 1, value / standard_error))


# --- one estimator --------------------------------------------------------------------------------


def meaning_of(method: Method, *, n_samples: float | None = None) -> str:
    """Return a few sentences: the estimated quantity and on which side of the true value it lies.

    `n_samples` is the mean number of samples per document, if any were drawn.
    """
    sentences = [method.meaning]
    if n_samples is not None:
        digits = 0 if n_samples >= 100 or n_samples == int(n_samples) else 1
        ending = "" if n_samples == 1 else "s"
        sentences.append(f"{n_samples:,.{digits}f} {method.sample}{ending} per document.")
    if method.caveat:
        sentences.append(method.caveat)
    return " ".join(sentences)


def choice_among(method: Method, direction: Direction, perplexity: str) -> str:
    """Explain a perplexity as a choice among equally likely words; no full stop at the end."""
    if method.is_conditional:
        return (
            "Given half of an article that is new to it, the model gives each word of the other "
            f"half on average the probability 1/{perplexity}, as if it had to choose among "
            f"{perplexity} equally likely words"
        )
    if direction == "lower bound":
        return (
            "On average the model gives each word of an unseen article at least the probability "
            f"1/{perplexity}, as if it had to choose among no more than {perplexity} equally "
            "likely words"
        )
    hedge = "" if direction in ("exact", "unbiased") else ", by a biased estimate,"
    return (
        f"On average the model gives each word of an unseen article{hedge} the probability "
        f"1/{perplexity}, as if it had to choose among {perplexity} equally likely words"
    )


# --- a section ------------------------------------------------------------------------------------


def reading_of(
    rows: Sequence[LikelihoodRow], scoring: Scoring, n_articles: int, *, smoothing: float
) -> str:
    """Return sentences on the meaning and the precision of the best of the estimates."""
    order = [each.name for each in scoring.methods]
    row = min(rows, key=lambda each: order.index(each.method))
    method = scoring.method(row.method)
    if not method.is_quotable:
        return f"None of these numbers is a perplexity to quote: {row.method} is shown alone."
    precision = _precision(row, n_articles)
    sentences = [
        choice_among(method, row.direction, shown(row.perplexity)) + _interval(row, n_articles),
        precision,
    ]
    if method.is_conditional:
        sentences.append(
            "That is not the perplexity of whole articles, of which the model sees no part before."
        )
    n = row.low_ess_documents
    if n:
        which = "1 document that is" if n == 1 else f"{n:,} documents that are"
        why = (
            f"hard to sample: {'its' if n == 1 else 'their'} probability is more likely too low "
            "than too high, so the perplexity is more likely too high than too low."
        )
        begin = "That holds apart from" if precision else f"There {'is' if n == 1 else 'are'}"
        sentences.append(f"{begin} {which} {why}")
    sentences.append(scoring.caveat)
    if smoothing:
        sentences.append(smoothed(smoothing))
    return " ".join(sentence for sentence in sentences if sentence)


def smoothed(share: float, where: str = "") -> str:
    """Return the sentence on smoothing; `where` ends it."""
    return (
        f"A share of {share:g} of each topic was spread over all words, because some words of "
        f"these documents have probability 0 in every topic{where}."
    )


def _interval(row: LikelihoodRow, n_articles: int) -> str:
    """Return the end of the first sentence."""
    error = row.nats_per_word_standard_error
    half = None if error is None else half_width(error, n_articles)
    if half is None:
        return f" ({row.method}; one article gives no interval)."
    nats = row.nats_per_word - half, row.nats_per_word + half
    low, high = (math.exp(x) if x < 700 else math.inf for x in nats)
    return f" ({row.method}; 95 % interval {shown(low)} to {shown(high)})."


def _precision(row: LikelihoodRow, n_articles: int) -> str:
    over_articles, sampling = row.nats_per_word_standard_error, row.monte_carlo_standard_error
    if over_articles is None or n_articles < 2:
        return ""
    covers = "The interval covers the choice of articles"
    spread = f"other articles would change it by about {over_articles:.2g} nats a word"
    if not sampling:
        nothing = "" if sampling is None else " Nothing is sampled."
        return f"{covers}: {spread}.{nothing}"
    if sampling < NEGLIGIBLE * over_articles:
        return f"{covers}: {spread}; the Monte Carlo error, {sampling:.1g}, is negligible."
    return (
        f"{covers} and sampling: {spread}, which includes the Monte Carlo error of {sampling:.2g}; "
        "more samples would make it narrower."
    )


def shown(perplexity: float) -> str:
    """Format a perplexity for readers."""
    if not perplexity < 1e7:
        return f"{perplexity:.1e}"
    return f"{perplexity:,.0f}" if perplexity >= 100 else f"{perplexity:,.1f}"
