from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokens.block import BREAK, TokenBlock
from tests.corpora.tokens.blocks import block_of_runs

words = st.text(min_size=1, max_size=4)
documents = st.lists(st.lists(st.lists(words, min_size=1, max_size=4), max_size=4), max_size=5)


def small_block():
    return block_of_runs(
        [[["b", "a"], ["b"]], [], [["c"]]], ["en:1", "en:2", "en:3"], ["One", "Two\n", "Drei § ü"]
    )


def test_a_block_by_hand():
    block = small_block()
    assert block.words == ("a", "b", "c")
    assert block.word_of.tolist() == [1, 0, BREAK, 1, BREAK, 2, BREAK]
    assert block.doc_start.tolist() == [0, 5, 5, 7]
    assert block.doc_of.tolist() == [0, 0, 0, 0, 0, 2, 2]
    assert (block.n_docs, block.n_tokens) == (3, 4)


@settings(deadline=None)
@given(documents)
def test_runs_survive(documents):
    ids = [f"en:{d}" for d in range(len(documents))]
    block = block_of_runs(documents, ids, ids)
    assert [block.runs(d) for d in range(block.n_docs)] == documents


def test_parts_of_speech_and_chunks_are_not_known_unless_given():
    block = small_block()
    assert (block.pos_of.tolist(), block.pos_of.dtype) == ([0] * 7, np.uint8)
    assert (block.continues_chunk.tolist(), block.continues_chunk.dtype) == ([False] * 7, bool)


@pytest.mark.parametrize(
    ("word_of", "doc_start", "n_ids"),
    [
        ([0, -1, 1, -1], [0, 2], 1),  # tokens behind the last document
        ([0, -1, 1, -1], [0, 4], 2),
        ([0, -1, 2, -1], [0, 4], 1),  # a word that is not there
        ([0, -1, 1], [0, 3], 1),  # a run without its end
        ([0, 1, -1], [0, 1, 3], 2),  # a run over two documents
        *(([0, -1], [0, 3, 2], 2), ([-2, -1], [0, 2], 1)),
    ],
)
def test_contradictory_arrays_are_refused(word_of, doc_start, n_ids):
    ids = tuple("x" * n_ids)
    with pytest.raises(ValueError, match="contradict"):
        TokenBlock(("a", "b"), np.array(word_of, dtype=np.int32), np.array(doc_start), ids, ids)


@pytest.mark.parametrize(
    "change",
    [
        {"pos_of": np.array([9, 1], dtype=np.uint8)},  # too few
        {"pos_of": np.array([9, 0, 99, 0], dtype=np.uint8)},  # no such part of speech
        {"pos_of": np.array([9, 9, 9, 0], dtype=np.uint8)},  # a break has none
        {"continues_chunk": np.array([True, False, False, False])},  # nothing is before it
        {"continues_chunk": np.array([False, False, True, False])},  # it begins a run
        {"continues_chunk": np.array([False, True, False, False])},  # a break is in none
    ],
)
def test_contradictory_annotations_are_refused(change):
    block = block_of_runs([[["a"], ["b"]]], "x", "x")
    with pytest.raises(ValueError, match="contradict"):
        replace(block, **change)
