"""Sections of a report as figures take them, made up, of any number of topics."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from pipeline.report.sections import (
    AlignedTopics,
    Alignment,
    CheckRow,
    CloudWord,
    ComparisonRow,
    ComparisonSection,
    LikelihoodRow,
    LikelihoodSection,
    TopicRow,
    TopicsSection,
    TrainingSection,
)

HOSTILE = (
    "$x_1$",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "العربية",
    "\u202eevil\u202c",
    "nul\x00bell\x07",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
    "quo\"te's",
    "a&amp;b",
    "$\\frac{1}{0$",
    "line\u2028break",
    "half\ud800",
)
SYLLABLES = ("ta", "ri", "mon", "den", "lo", "ve", "sur", "ka", "pi", "ne", "gra", "ol")


def words_of(n: int, rng: np.random.Generator, *, hostile: bool = False) -> tuple[str, ...]:
    """`n` words, the first of which are hostile if asked for."""
    made = list(HOSTILE) if hostile else []
    while len(made) < n:
        made.append("".join(rng.choice(SYLLABLES, size=int(rng.integers(1, 5)))))
    return tuple(made[:n])


def topics_section(n_topics: int, seed: int = 0, *, hostile: bool = False) -> TopicsSection:
    """Topics of 30 words, with clouds."""
    rng = np.random.default_rng(seed)
    words = words_of(max(120, 8 * n_topics), rng, hostile=hostile)
    prevalence = np.sort(rng.gamma(1.0, size=n_topics))[::-1]
    prevalence /= prevalence.sum()
    numbers = rng.permutation(n_topics)
    places = rng.normal(size=(n_topics, 2)) * [1.0, 0.6]
    places = (places - places.min(axis=0)) / max(float(np.ptp(places, axis=0).max()), 1e-9)
    topics, clouds = [], []
    for k in range(n_topics):
        of = rng.choice(len(words), size=30, replace=False)
        if hostile and k == 0:
            of[: len(HOSTILE)] = range(len(HOSTILE))
        p = np.sort(rng.gamma(0.6, size=30))[::-1] * 0.02 + 1e-5
        names = [words[w] for w in of]
        topics.append(
            TopicRow(
                int(numbers[k]),
                float(prevalence[k]),
                ", ".join(names[:3]),
                (float(places[k, 0]), float(places[k, 1])),
                tuple(int(w) for w in of),
                tuple(float(each) for each in p),
                (),
            )
        )
        clouds.append(cloud_of(names, p, rng))
    share = rng.gamma(1.0, size=len(words))
    return TopicsSection(
        tuple(topics),
        words,
        tuple(float(each) for each in share / share.sum()),
        (),
        (),
        0,
        0.31,
        tuple(clouds),
    )


def cloud_of(
    words: list[str], probability: np.ndarray, rng: np.random.Generator
) -> tuple[CloudWord, ...]:
    """Words in rows, as they fit, a letter 0.6 of the font's height; the last stands upright."""
    cloud = []
    x = y = 0.0
    for word, p in zip(words, probability, strict=True):
        size = max(8.0, 40 * math.sqrt(p / probability[0]))
        width = 0.6 * size * len(word)
        if width > 380:
            size, width = size * 380 / width, 380
        if x + width > 392:
            x, y = 0.0, y + size + 2
        if y + size > 215:
            break
        cloud.append(CloudWord(word, x + width / 2 + 4, y + size / 2 + 2, size, width, False))
        x += width + 6
    cloud.append(CloudWord("upright", 392, 200, 12, 0.6 * 12 * 7, is_upright=True))
    return tuple(cloud)


def training_section(
    n_checks: int, *, bound: bool = False, factor: float = 1.3, seed: int = 0
) -> TrainingSection:
    """Perplexities that fall from 1,500 times `factor` to 1,500, and rise a little in the end."""
    rng = np.random.default_rng(seed)
    checks = []
    for n in range(n_checks):
        fallen = math.exp(-5 * n / max(n_checks - 1, 1))
        perplexity = 1500 * factor**fallen * (1 + 0.002 * rng.normal()) + 0.5 * max(n - 8, 0)
        documents = 2252 * (n + 1)
        checks.append(
            CheckRow(
                documents,
                4.0 * (n + 1),
                0.51 + 0.03 * n,
                perplexity,
                0.03 * perplexity,
                1.12 * perplexity if bound else None,
            )
        )
    best = min(range(n_checks), key=lambda n: checks[n].perplexity)
    return TrainingSection(tuple(checks), best, "completion of half of each document", "It ended.")


def likelihood_section() -> LikelihoodSection:
    """Six estimators, one of which scores something else."""
    rows = []
    for method, direction, nats, monte_carlo in (
        ("left-to-right-sequential", "unbiased", 7.402, 0.004),
        ("left-to-right-particle", "unbiased", 7.41, 0.011),
        ("variational-bound", "lower bound", 7.512, None),
        ("harmonic-mean", "upward biased", 7.05, 0.02),
        ("mean-field-is-1", "biased", 7.43, 0.03),
        ("completion", "plug-in", 7.39, None),
    ):
        rows.append(
            LikelihoodRow(
                method,
                direction,  # type: ignore[arg-type]
                "second half of each document, given the first"
                if method == "completion"
                else "whole documents",
                math.exp(nats),
                0.03 * math.exp(nats),
                nats,
                0.03,
                monte_carlo,
                0,
                1.0,
                "A sentence.",
            )
        )
    return LikelihoodSection(tuple(rows), 18, 62, 62, 9698, 0.08, "Plain sentences.")


def comparison_section() -> ComparisonSection:
    """Four runs, the best first."""
    rows = [ComparisonRow("gibbs-12", 1502.1, 44.0, 7.3147, 0.002, None, None, None, None)]
    for name, above, half in (
        ("online-12", 0.021, 0.015),
        ("a-run-with-a-name-that-is-longer-than-anyone-would-like-it", 0.055, 0.03),
        ("$gamma_poisson$", 0.19, 0.05),
    ):
        nats = 7.3147 + above
        rows.append(
            ComparisonRow(
                *(name, math.exp(nats), 45.0, nats, 0.002),
                *(above, above - half, above + half, 0.99),
            )
        )
    aligned = alignment_of(12, 0), alignment_of(30, 1, "online-12")
    reading = "Plain sentences."
    return ComparisonSection(
        "left-to-right-sequential", "unbiased", 18, 62, 9698, tuple(rows), reading, aligned
    )


def alignment_of(n_pairs: int, seed: int, second: str = "$gamma_poisson$") -> Alignment:
    """Pairs, the closest first, then one without a partner."""
    rng = np.random.default_rng(seed)
    distances = np.sort(rng.uniform(0.15, 0.95, size=n_pairs))
    words = words_of(60, rng, hostile=True)
    others = rng.permutation(n_pairs)
    pairs = [
        AlignedTopics(n, int(others[n]), float(distances[n]), words[n : n + 5])
        for n in range(n_pairs)
    ]
    assert all(a.distance <= b.distance for a, b in pairwise(pairs))  # type: ignore[operator]
    pairs.append(AlignedTopics(n_pairs, None, None, ()))
    return Alignment("gibbs-12", second, tuple(pairs), float(distances.mean()))
