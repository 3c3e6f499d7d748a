"""Topic intrusion: the three top topics of a document and one that is not in it.

Chang et al. 2009, "Reading tea leaves: how humans interpret topic models", Sec. 3.2.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Floats
from evaluation.topics.reading.question import TOPIC_INTRUSION, Item, Question
from models.checks import check_whole

N_TOPICS: Final = 3
N_WORDS: Final = 8  # Words by which a topic is shown
MIN_SHARE: Final = 0.05
"""Share of the last shown topic in a document: less could be called an intruder too."""
SMALLEST: Final = 1e-6
"""Smaller shares count as this in log odds, which would be infinite at 0."""


def topic_intrusion(
    shares: ArrayLike,
    topics: Sequence[str],
    texts: Sequence[str],
    *,
    titles: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    model: str = "",
    min_share: float = MIN_SHARE,
    random_state: int | np.random.Generator = 0,
) -> list[Item]:
    """Return a question for each document: which of four topics is not in it.

    Three topics are those with the largest shares of the document. The intruder is drawn from the
    others whose share is at most the median. A document gets no question if the third share is
    below `min_share`. `shares` are (D, K), `topics` (K,) their shown words, `texts` (D,) excerpts,
    `titles`, `sources` and `ids` (D,). Raises ValueError if lengths disagree, a share is no share,
    or there are fewer than four topics.
    """
    theta = _checked(shares, topics, texts, {"titles": titles, "sources": sources, "ids": ids})
    check_whole("number of topics", theta.shape[1], N_TOPICS + 1)
    rng = np.random.default_rng(random_state)
    items = []
    for d, row in enumerate(theta):
        order = np.argsort(-row, kind="stable")
        top, others = order[:N_TOPICS], order[N_TOPICS:]
        others = others[row[others] <= np.median(row)]
        shown = {topics[k] for k in top}
        others = np.array([k for k in others.tolist() if topics[k] not in shown], dtype=np.intp)
        if row[top[-1]] < min_share or not len(others) or len(shown) < N_TOPICS:
            continue
        intruder = int(rng.choice(others))
        options = rng.permutation([*top.tolist(), intruder]).tolist()
        log_share = np.log(np.maximum(row, SMALLEST))
        items.append(
            Item(
                Question(
                    TOPIC_INTRUSION,
                    tuple(topics[k] for k in options),
                    texts[d],
                    "" if titles is None else titles[d],
                    "" if sources is None else sources[d],
                ),
                model,
                str(d) if ids is None else ids[d],
                options.index(intruder),
                tuple(float(log_share[intruder] - log_share[k]) for k in options),
            )
        )
    return items


def _checked(
    shares: ArrayLike,
    topics: Sequence[str],
    texts: Sequence[str],
    named: Mapping[str, Sequence[str] | None],
) -> Floats:
    theta = np.asarray(shares, dtype=np.float64)
    if theta.ndim != 2 or theta.shape != (len(texts), len(topics)):
        raise ValueError(
            f"shares must be ({len(texts)}, {len(topics)}), a row for each text and a column for "
            f"each topic, found shape {theta.shape}"
        )
    for name, given in named.items():
        if given is not None and len(given) != len(theta):
            raise ValueError(f"{name} must be {len(theta)}, as texts are, found {len(given)}")
    if not np.isfinite(theta).all() or (theta < 0).any():
        raise ValueError("shares must be finite and not negative")
    return theta
