"""Documents scored in blocks, so that memory does not grow with their number, and in any order."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from corpora import Corpus
from corpora.array_file import release
from evaluation import LikelihoodEstimate
from evaluation.document_blocks import DocumentBlock, block_bounds
from evaluation.partial_estimate import PartialEstimate
from evaluation.scorer import Scorer
from models.kernel import working_clock
from pipeline.cluster.cluster import Cluster

DOCUMENTS_A_THREAD = 64
"""Documents in a block for each thread: the last ones of a block do not use all threads."""
MIN_DOCUMENTS = 4  # Documents for each thread in a part of a block, at least
BLOCK_SECONDS = 5.0  # Target seconds for a part of a block
MAX_GROWTH = 4.0  # Largest ratio of the documents of a part to those of the part before
MAX_SHOWN = 3  # Models whose perplexity is shown while documents are scored


class WordBlocks:
    """Blocks of a corpus, which may be mapped, with the counts of `words` as columns.

    A block has at least `at_least` documents, if they are not too long for that.
    """

    def __init__(self, corpus: Corpus, words: Sequence[str], at_least: int = 0) -> None:
        self._counts, self._n_words = corpus.counts, len(words)
        column_of = {word: j for j, word in enumerate(words)}
        self._column = np.array(
            [column_of.get(word, -1) for word in corpus.vocabulary], dtype=np.int64
        )
        self.bounds = block_bounds(corpus.counts, at_least)

    def __len__(self) -> int:
        return len(self.bounds)

    def __iter__(self) -> Iterator[DocumentBlock]:
        """Counts (D, words) of each block, int64, sorted and without zeros."""
        n_tokens_before = 0
        for first, last in self.bounds:
            counts = self._of_words(first, last)
            yield DocumentBlock(counts, first, n_tokens_before)
            n_tokens_before += int(counts.data.sum())

    def used(self) -> NDArray[np.bool_]:
        """Mask (words,) of words that some document has."""
        is_used = np.zeros(self._n_words, dtype=bool)
        for first, last in self.bounds:
            start, stop = self._counts.indptr[[first, last]]
            columns = self._column[self._counts.indices[start:stop]]
            is_used[columns[columns >= 0]] = True
            release(self._counts.data, self._counts.indices)
        return is_used

    def _of_words(self, first: int, last: int) -> sparse.csr_array:
        start = np.asarray(self._counts.indptr[first : last + 1])
        entries = slice(start[0], start[-1])
        columns = self._column[self._counts.indices[entries]]
        kept = columns >= 0
        n_kept = np.concatenate(([0], np.cumsum(kept)))[start - start[0]]
        arrays = (
            self._counts.data[entries][kept].astype(np.int64),
            columns[kept].astype(np.int32),
            n_kept.astype(np.int32),
        )
        release(self._counts.data, self._counts.indices)
        found = sparse.csr_array(arrays, shape=(last - first, self._n_words))
        found.sort_indices()
        return found


def to_score(
    blocks: Iterable[DocumentBlock], known: Sequence[PartialEstimate]
) -> Iterator[tuple[int, DocumentBlock]]:
    """Yield (number of the model, block) for documents without a score, block by block."""
    for block in blocks:
        first, last = block.first_document, block.first_document + block.n_documents
        for number, scores in enumerate(known):
            for bounds in scores.missing(first, last):
                yield number, block.between(*bounds)


def scored_here(
    scorers: Sequence[Scorer], items: Iterable[tuple[int, DocumentBlock]], n_threads: int
) -> Iterator[tuple[int, int, LikelihoodEstimate]]:
    """Yield (number, first document, estimate): each block scored by the scorer of its number.

    Blocks are scored in parts of about `BLOCK_SECONDS`, so that an interrupt loses little.
    """
    most = [MIN_DOCUMENTS * n_threads for _ in scorers]
    # The order of very long sums depends on the threads of BLAS; workers have one.
    with threadpool_limits(1):
        for number, block in items:
            for part in _parts(block, most, number):
                started = working_clock()
                estimate = scorers[number].score(part, n_threads)
                seconds = working_clock() - started
                yield number, part.first_document, estimate
                faster = BLOCK_SECONDS / seconds if seconds > 0 else MAX_GROWTH
                wanted = int(part.n_documents * min(faster, MAX_GROWTH))
                most[number] = max(MIN_DOCUMENTS * n_threads, wanted)


def _parts(block: DocumentBlock, most: Sequence[int], number: int) -> Iterator[DocumentBlock]:
    """Yield the block in parts of most[number] documents, read again for each part."""
    first, last = block.first_document, block.first_document + block.n_documents
    while True:
        stop = min(first + most[number], last)
        yield block.between(first, stop)
        first = stop
        if first >= last:
            return


class PerplexitySoFar:
    """Perplexities of models on the documents scored by now."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._total, self._n_tokens = np.zeros(len(names)), np.zeros(len(names))

    def add(self, number: int, part: LikelihoodEstimate) -> None:
        """Add scores of documents by the model of that number."""
        self._total[number] += part.total
        self._n_tokens[number] += part.total_tokens

    def __str__(self) -> str:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            perplexity = np.exp(-self._total / self._n_tokens)
        known = [
            (f"{name} " if len(self._names) > 1 else "") + f"{each:,.1f}"
            for name, each in zip(self._names, perplexity, strict=True)
            if math.isfinite(each)
        ]
        return f"perplexity {', '.join(known[:MAX_SHOWN])}" if known else ""


def score_item(item: tuple[int, DocumentBlock], *scorers: Scorer) -> LikelihoodEstimate:
    """Score a block by the scorer of that number, on one thread of a worker."""
    number, block = item
    return scorers[number].score(block, 1)


def scored_on(
    cluster: Cluster, scorers: Sequence[Scorer], items: Iterable[tuple[int, DocumentBlock]]
) -> Iterator[tuple[int, int, LikelihoodEstimate]]:
    """Yield the same bits as `pipeline.scoring.blocks.scored_here`, in order of completion.

    Blocks are made as they are needed. Leaving the generator cancels running tasks.

    Raises ClusterLostError if the scheduler is lost.
    """
    in_flight: dict[int, tuple[int, int]] = {}

    def noted() -> Iterator[tuple[int, DocumentBlock]]:
        for i, (number, block) in enumerate(items):
            in_flight[i] = number, block.first_document
            yield number, block

    for i, found in cluster.map(score_item, noted(), *(cluster.share(each) for each in scorers)):
        yield *in_flight.pop(i), found
