"""Running text from token blocks."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation import RunningText
from tests.corpora.tokens.blocks import block_of_runs

BLOCKS = (
    block_of_runs([[["sea", "fish"], ["sea"]], [], [["boat"]]], "abc", "abc"),
    block_of_runs([[["fish"], ["whale", "boat"]]], "d", "d"),
)
VOCABULARY = ("boat", "fish", "sea")


def test_runs_are_joined_and_unknown_words_keep_their_place() -> None:
    text = RunningText.from_blocks(BLOCKS, VOCABULARY)
    assert text.word_of.tolist() == [2, 1, 2, 0, 1, -1, 0]
    assert text.doc_start.tolist() == [0, 3, 3, 4, 7]
    assert text.n_docs == 4


def test_documents_that_are_not_wanted_are_left_out() -> None:
    text = RunningText.from_blocks(BLOCKS, VOCABULARY, lambda doc_id: doc_id in "bd")
    assert text.word_of.tolist() == [1, -1, 0]
    assert text.doc_start.tolist() == [0, 0, 3]


def test_no_blocks_at_all() -> None:
    text = RunningText.from_blocks([], VOCABULARY)
    assert (text.n_docs, len(text.word_of)) == (0, 0)


@pytest.mark.parametrize(
    ("word_of", "doc_start"),
    [([0, 3], [0, 2]), ([-2], [0, 1]), ([0], [0, 2]), ([0], [1, 1]), ([0, 0], [0, 2, 1, 2])],
)
def test_contradictions(word_of: list[int], doc_start: list[int]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        RunningText(np.array(word_of, np.int32), np.array(doc_start, np.int64), VOCABULARY)
