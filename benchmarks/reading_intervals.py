"""Coverage of the intervals of reading tests, for readers and topics with known probabilities.

    python -m benchmarks.reading_intervals [--repeats 2000]

A reader finds the intruder of a topic with the probability 1 / (1 + exp(-(µ + a_r + b_t))), where
a_r and b_t are normal. Each repetition draws readers, topics and answers, and states the intervals
of 95 % of a topic's share, of a model's share, of its rating and log odds, and of the difference of
two models read by the same readers. The table gives the share of intervals that hold the true
value: the smallest, mean and largest over nine choices of µ and of the spread of readers.
"""

import argparse
import itertools
from typing import Any

import numpy as np

from evaluation.topics.reading import intervals
from evaluation.topics.reading.crossed_mean import correlation, crossed_mean

MEANS = (0.0, 1.0, 2.5)
READERS = (0.3, 0.6, 1.0)  # Standard deviation of a_r
TOPICS = 1.2  # Standard deviation of b_t
COMMON = 0.7  # Correlation of a reader's effects on two models
DESIGNS = (
    (5, 10, 1),
    (5, 20, 1),
    (5, 50, 1),
    (10, 20, 1),
    (10, 50, 1),
    (20, 50, 1),
    (8, 60, 3),
    (12, 60, 3),
)
"""Readers, topics, sheets; on several sheets a quarter of a sheet's questions is on all."""
KINDS = ("topic", "model", "rating", "log odds", "difference")


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def mean_over(spread: float, value: Any) -> float:
    """Return the mean of `value` of a normal variable by Gauss-Hermite quadrature."""
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    return float((weight * value(spread * x)).sum() / weight.sum())


def design(n_readers: int, n_topics: int, n_sheets: int) -> tuple[Any, Any]:
    """Return reader and topic of each answer."""
    shared = n_topics // (3 * n_sheets + 1) if n_sheets > 1 else n_topics
    pairs = [
        (r, t)
        for r in range(n_readers)
        for t in range(n_topics)
        if t < shared or (t - shared) % n_sheets == r % n_sheets
    ]
    reader, topic = np.array(pairs).T
    return reader, topic


def coverage(
    n_readers: int, n_topics: int, n_sheets: int, mean: float, spread: float, n: int
) -> Any:
    """Return the share of `n` repetitions whose intervals hold the true value, by kind."""
    rng = np.random.default_rng([n_readers, n_topics, n_sheets, int(10 * mean), int(10 * spread)])
    reader, topic = design(n_readers, n_topics, n_sheets)
    both = np.hypot(spread, TOPICS)
    share = mean_over(both, lambda x: logistic(mean + x))
    true = {
        "model": share,
        "difference": share - mean_over(both, lambda x: logistic(mean - 0.5 + x)),
        # Two thresholds, one logit to each side.
        "rating": 1 + sum(mean_over(both, lambda x, c=c: logistic(mean + x + c)) for c in (1, -1)),
        "log odds": -3.5 * (1 - share),
    }
    held: dict[str, list[float]] = {kind: [] for kind in KINDS}

    def note(kind: str, found: intervals.Estimate, value: float) -> None:
        if not found.caution:
            held[kind].append(float(found.low <= value <= found.high))

    for _ in range(n):
        common = rng.normal(size=n_readers)
        effects = [
            spread * (np.sqrt(COMMON) * common + np.sqrt(1 - COMMON) * rng.normal(size=n_readers))
            for _ in range(2)
        ]
        topics = TOPICS * rng.normal(size=(2, n_topics))
        logits = [mean - 0.5 * m + effects[m][reader] + topics[m][topic] for m in range(2)]
        answers = [(rng.random(len(reader)) < logistic(each)).astype(float) for each in logits]
        means = [crossed_mean(each, reader, topic) for each in answers]
        shares = [intervals.mean_of_model(each, "") for each in means]
        note("model", shares[0], true["model"])
        common_part = correlation(
            (answers[0], reader, topic), (answers[1], reader, topic), n_readers
        )
        note(
            "difference",
            intervals.difference(*shares, np.clip(common_part, -1, 1)),
            true["difference"],
        )
        uniform = rng.random(len(reader))
        rating = 1.0 + sum(uniform < logistic(logits[0] + c) for c in (1, -1))
        found = intervals.mean_of_model(crossed_mean(rating, reader, topic), "", 1.0, 3.0)
        note("rating", found, true["rating"])
        log_odds = -rng.uniform(1, 6, size=(n_topics, 3))  # of the wrong options
        lost = (1 - answers[0]) * log_odds[topic, rng.integers(3, size=len(topic))]
        found = intervals.mean_of_model(
            crossed_mean(lost, reader, topic), "", float(log_odds.min()), 0.0
        )
        note("log odds", found, true["log odds"])
        right = answers[0][topic == 0]
        true_share = mean_over(spread, lambda x, t=topics[0][0]: logistic(mean + t + x))
        note("topic", intervals.share_of_topic(int(right.sum()), len(right)), true_share)
    return {kind: (np.mean(each), len(each) / n) for kind, each in held.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2000, metavar="N")
    n = parser.parse_args().repeats
    print("| readers | topics | sheets | " + " | ".join(KINDS) + " |")
    print("|---" * (3 + len(KINDS)) + "|")
    for each in DESIGNS:
        cells = [
            coverage(*each, mean, spread, n) for mean, spread in itertools.product(MEANS, READERS)
        ]
        shown = []
        for kind in KINDS:
            held = [100 * cell[kind][0] for cell in cells]
            shown.append(f"{min(held):.1f} {np.mean(held):.1f} {max(held):.1f}")
        print("| " + " | ".join([*map(str, each), *shown]) + " |", flush=True)


if __name__ == "__main__":
    main()
