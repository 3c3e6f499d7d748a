"""From the pairs of all blocks to those that are scored high enough to be joined."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from corpora.errors import UnsuitableModelError
from corpora.tokens.collocation_scores import SCORINGS, classic_scores, npmi_scores
from corpora.tokens.pair_counts import MOST_PAIRS, PairCounts
from corpora.word_counts import MOST_WORDS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from corpora.tokens.block_pairs import BlockPairs


def frequent_pairs(
    counted: Iterable[BlockPairs],
    min_count: int,
    threshold: float,
    scoring: str,
    *,
    has_patterns: bool,
    most_words: int = MOST_WORDS,
    most_pairs: int = MOST_PAIRS,
    directory: str | os.PathLike[str] | None = None,
) -> dict[tuple[str, str], float]:
    """The pairs to join, in alphabetical order, with their scores; see `Bigrams.learn`.

    Parameters
    ----------
    has_patterns
        Whether pairs were counted by their parts of speech.

    Raises
    ------
    ValueError
        If a setting is out of range.
    UnsuitableModelError
        If there are patterns, and no word has a part of speech.
    """
    _check(min_count, threshold, scoring)
    has_words, has_parts_of_speech = False, False
    with closing(PairCounts(most_words, most_pairs, directory)) as pairs:
        for each in counted:
            pairs.add(each)
            has_words = has_words or bool(each.words)
            has_parts_of_speech = has_parts_of_speech or each.has_parts_of_speech
        if has_patterns and has_words and not has_parts_of_speech:
            raise UnsuitableModelError(
                "bigrams are to have certain parts of speech, and the tokens have none: choose "
                "a spaCy model with a tagger, or leave the patterns out"
            )
        return _scores_above(threshold, pairs, min_count, scoring)


def _check(min_count: int, threshold: float, scoring: str) -> None:
    if scoring not in SCORINGS:
        raise ValueError(f'scoring must be "classic" or "npmi", not {scoring!r}')
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, not {min_count}")
    if scoring == "classic" and not threshold > 0:
        raise ValueError(f"the threshold of classic scores must be positive, not {threshold}")
    if scoring == "npmi" and not -1 <= threshold <= 1:
        raise ValueError(f"the threshold of npmi scores must be from -1 to 1, not {threshold}")


def _scores_above(
    threshold: float, pairs: PairCounts, min_count: int, scoring: str
) -> dict[tuple[str, str], float]:
    """The pairs with such scores, in alphabetical order."""
    totals = pairs.totals(min_count)
    firsts, seconds, scores = [], [], []
    for a, b, n_a, n_b, n_ab in totals:
        if scoring == "classic":
            score = classic_scores(n_a, n_b, n_ab, totals.n_entries, min_count)
        else:
            score = npmi_scores(n_a, n_b, n_ab, totals.n_tokens)
        above = score > threshold
        firsts += a[above].tolist()
        seconds += b[above].tolist()
        scores += score[above].tolist()
    numbers = np.unique(np.array(firsts + seconds, dtype=np.int64))
    word_of = dict(zip(numbers.tolist(), totals.words(numbers), strict=True))
    return {
        (word_of[a], word_of[b]): score for a, b, score in zip(firsts, seconds, scores, strict=True)
    }
