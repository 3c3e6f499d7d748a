"""Tokens in the order of Gibbs sampling: a grid of document blocks and word ranges.

Documents are cut into P blocks and words into P ranges of about equal numbers of tokens. Cell
(b, r) holds the tokens of block b whose words are in range r, by word and then by document, so that
a word's counts stay in the CPU cache while its tokens are resampled. The cells (b, (b + p) mod P)
of one p share neither documents nor words: they can be resampled in parallel (Yan, Xu & Qi 2009).
P depends on the corpus alone, never on the number of threads.
"""

from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.array_file import release
from corpora.row_blocks import tokens_of_documents, tokens_of_words
from models.arrays import Bools, Ints, Ints32
from models.kernel import kernel

TOKENS_A_CELL = 20_000
MAX_BLOCKS = 32


class Tokens(NamedTuple):
    """Tokens of a corpus, by cell, word and document; a run is the tokens of a word in a cell."""

    doc_of: Ints32  # (n_tokens,)
    word_of_run: Ints32  # (n_runs,)
    run_start: Ints  # (n_runs + 1,), the tokens of run i are `run_start[i]:run_start[i+1]`
    cell_start: Ints
    """(P·P + 1,), the runs of cell (b, r) are `cell_start[b·P + r]` to the next one."""
    block_start: Ints  # (P + 1,), the documents of block b are `block_start[b]:block_start[b+1]`

    @property
    def n_blocks(self) -> int:
        """P."""
        return len(self.block_start) - 1

    def runs(self, block: int, word_range: int) -> tuple[int, int]:
        """Return the first run of a cell, and the run after its last."""
        cell = block * self.n_blocks + word_range
        return int(self.cell_start[cell]), int(self.cell_start[cell + 1])

    @property
    def word_of(self) -> Ints32:
        """(n_tokens,), computed at each call."""
        return np.repeat(self.word_of_run, np.diff(self.run_start))


def tokens_of(counts: sparse.csr_array) -> Tokens:
    """Return the tokens of whole-number counts (D, V); of mapped ones a block is in memory."""
    of_documents, of_words = tokens_of_documents(counts), tokens_of_words(counts)
    n_tokens = int(of_documents.sum())
    n_blocks = _n_blocks(n_tokens)
    block_start = _cuts(of_documents, n_blocks)
    word_start = _cuts(of_words, n_blocks)
    doc_of = np.empty(n_tokens, dtype=np.int32)
    words, lengths, cell_start, done = [], [], [0], 0
    for first, last in pairwise(block_start):
        by_word = counts[first:last].tocsc()
        release(counts.data, counts.indices)
        by_word.sort_indices()
        data = by_word.data.astype(np.int64)
        n_here = int(data.sum())
        doc_of[done : done + n_here] = np.repeat(by_word.indices + np.int32(first), data)
        done += n_here
        # Tokens before each word's first entry: the differences are the tokens of each word.
        before = np.concatenate(([0], np.cumsum(data)))[by_word.indptr]
        length = np.diff(before)
        present = np.flatnonzero(length)
        words.append(present.astype(np.int32))
        lengths.append(length[present])
        cell_start.extend(cell_start[-1] + np.searchsorted(present, word_start[1:]))
    run_start = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64)
    return Tokens(
        doc_of=doc_of,
        word_of_run=np.concatenate(words),
        run_start=run_start,
        cell_start=np.array(cell_start, dtype=np.int64),
        block_start=block_start,
    )


def _n_blocks(n_tokens: int) -> int:
    """Return P: a power of two, so that cells divide evenly among the usual numbers of threads."""
    wanted = min(MAX_BLOCKS, max(2, isqrt(n_tokens // TOKENS_A_CELL)))
    return 1 << (wanted.bit_length() - 1)


def _cuts(n_tokens: Ints, n_parts: int) -> Ints:
    """Return positions (n_parts + 1,) that cut items into parts of about equally many tokens."""
    total = np.cumsum(n_tokens)
    all_tokens = int(total[-1]) if len(total) else 0
    inner = np.searchsorted(total, np.arange(1, n_parts) * all_tokens / n_parts)
    return np.concatenate(([0], inner, [len(n_tokens)])).astype(np.int64)


@kernel
def count_word_topics(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    topic_of: NDArray[np.uint16],
    frozen: Bools,
    n_wk: Ints32,
) -> None:
    """Count the tokens of some runs, except frozen words, in `n_wk` (V, K), in place."""
    for run in range(first_run, last_run):
        if frozen[tokens.word_of_run[run]]:
            continue
        row = n_wk[tokens.word_of_run[run]]
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            row[topic_of[t]] += 1
