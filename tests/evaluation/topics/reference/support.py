"""Texts as token blocks, and indexes of them."""

import numpy as np

from corpora.tokens.running_words import RunningWordsOfBlock
from evaluation import RunningText
from evaluation.topics.reference.build import build_index
from evaluation.topics.reference.index import ReferenceIndex
from tests.corpora.tokens.blocks import block_of_runs

WORDS = tuple("abcdef")


def block_of(documents, doc_ids=None):
    names = doc_ids or [str(d) for d in range(len(documents))]
    return block_of_runs([[document] for document in documents], names, names)


def text_of(documents, doc_ids=None, words=WORDS):
    return RunningText.from_blocks([block_of(documents, doc_ids)], words)


def built(path, documents, doc_ids=None, words=WORDS, n_blocks=1, about=None, **limits):
    """The index of documents, which are given in blocks."""
    names = doc_ids or [str(d) for d in range(len(documents))]
    parts = np.array_split(np.arange(len(documents)), n_blocks)
    numbered = RunningWordsOfBlock(words)
    given = (
        numbered(block_of([documents[d] for d in part], [names[d] for d in part])) for part in parts
    )
    build_index(path, given, words, about, **limits)
    return ReferenceIndex.open(path, checked=True)
