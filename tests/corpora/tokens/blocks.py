"""Token blocks from plain lists, and bigrams learned from them in one call."""

import numpy as np

from corpora.tokens.bigrams import Bigrams
from corpora.tokens.block import BREAK, TokenBlock


def block_of_runs(documents, doc_ids, titles=()):
    """The block of `documents`, each a sequence of runs, each a sequence of words."""
    runs = [[list(run) for run in document if run] for document in documents]
    words = sorted({word for document in runs for run in document for word in run})
    index = {word: w for w, word in enumerate(words)}
    numbers = [[w for run in doc for w in (*map(index.__getitem__, run), BREAK)] for doc in runs]
    ids = tuple(doc_ids)
    return TokenBlock(
        tuple(words),
        np.array([w for document in numbers for w in document], dtype=np.int32),
        np.cumsum([0, *map(len, numbers)], dtype=np.int64),
        ids,
        tuple(titles) or ids,
    )


def learn_bigrams(blocks, keep=lambda _: True, *settings, rule=None, **limits):
    """Bigrams of the documents that `keep` approves."""
    rule = rule or Bigrams({})
    counts = (rule.count_pairs(block, keep) for block in blocks)
    return rule.from_counts(counts, *settings, **limits)
