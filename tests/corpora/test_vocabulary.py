"""Pruning, against a loop over the words, and the message when nothing is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import EmptyVocabularyError
from corpora.vocabulary import Pruning, prune


@settings(deadline=None)
@given(
    frequency=st.dictionaries(st.text(max_size=3), st.integers(1, 20), max_size=30),
    no_below=st.integers(1, 6),
    no_above=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    keep_n=st.none() | st.integers(1, 10),
)
def test_pruning_is_what_a_loop_says(
    frequency: dict[str, int], no_below: int, no_above: float, keep_n: int | None
) -> None:
    kept = [w for w in frequency if no_below <= frequency[w] and frequency[w] / 20 <= no_above]
    kept.sort(key=lambda w: (-frequency[w], w))
    expected = sorted(kept[:keep_n])
    words, counts = list(frequency), np.array(list(frequency.values()), dtype=np.int64)
    pruning = Pruning(no_below, no_above, keep_n)
    if expected:
        assert [words[w] for w in prune(words, counts, 20, pruning)] == expected
    else:
        with pytest.raises(EmptyVocabularyError):
            prune(words, counts, 20, pruning)


def test_a_share_is_not_lost_to_rounding() -> None:
    assert 0.29 * 100 < 29
    assert prune(["a"], np.array([29]), 100, Pruning(no_above=0.29)).tolist() == [0]


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        (
            [1, 2, 1],
            (
                "no word is left of 3: 3 occur in fewer than no_below = 5 documents, "
                "0 in more than no_above = 0.5 of the 20 documents; lower no_below"
            ),
        ),
        ([20, 19, 1], "1 occur in fewer .* 2 in more than .* documents; raise no_above"),
        ([20, 1], "lower no_below or raise no_above"),
        ([], "training documents have no words"),
    ],
)
def test_an_empty_vocabulary_says_which_threshold_to_change(
    frequency: list[int], message: str
) -> None:
    words = [f"word{w}" for w in range(len(frequency))]
    with pytest.raises(EmptyVocabularyError, match=message):
        prune(words, np.array(frequency, dtype=np.int64), 20, Pruning())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"no_below": 0}, "no_below"),
        ({"no_above": 0.0}, "no_above"),
        ({"no_above": 10}, "share of the documents"),
        ({"no_above": float("nan")}, "no_above"),
        ({"keep_n": 0}, "keep_n"),
    ],
)
def test_thresholds_out_of_range_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pruning(**setting)
