import numpy as np
import pytest

from evaluation import RunningText
from tests.corpora.tokens.blocks import block_of_runs

BLOCKS = (
    block_of_runs([[["sea", "fish"], ["sea"]], [], [["boat"]]], "abc", "abc"),
    block_of_runs([[["fish"], ["whale", "boat"]]], "d", "d"),
)
VOCABULARY = ("boat", "fish", "sea")


def test_runs_documents_and_no_blocks():
    text = RunningText.from_blocks(BLOCKS, VOCABULARY)
    assert text.word_of.tolist() == [2, 1, 2, 0, 1, -1, 0]
    assert (text.doc_start.tolist(), text.n_docs) == ([0, 3, 3, 4, 7], 4)
    text = RunningText.from_blocks(BLOCKS, VOCABULARY, lambda doc_id: doc_id in "bd")
    assert (text.word_of.tolist(), text.doc_start.tolist()) == ([1, -1, 0], [0, 0, 3])
    text = RunningText.from_blocks([], VOCABULARY)
    assert (text.n_docs, len(text.word_of)) == (0, 0)
    for word_of, doc_start in (
        ([0, 3], [0, 2]),
        ([-2], [0, 1]),
        ([0], [0, 2]),
        ([0], [1, 1]),
        ([0, 0], [0, 2, 1, 2]),
    ):
        with pytest.raises(ValueError, match="contradict"):
            RunningText(np.array(word_of, np.int32), np.array(doc_start, np.int64), VOCABULARY)
