"""Parts of a text that are counted one after the other."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from evaluation.topics import cooccurrence
from evaluation.topics.cooccurrence import count_documents, count_windows, parts_of
from evaluation.topics.running_text import RunningText

TOPICS = np.arange(20).reshape(4, 5)


@pytest.mark.parametrize("size", [1, 3, 7, 40, None])
@pytest.mark.parametrize("part", [1, 4, 10, 100])
def test_every_window_is_in_one_part(size, part):
    lengths = np.array([3, 0, 25, 4, 4, 0, 31, 1])
    doc_start = np.concatenate(([0], np.cumsum(lengths)))
    starts, longest = [], 0
    with mock.patch.object(cooccurrence, "PART", part):
        for found in parts_of(doc_start, size):
            longest = max(longest, found.stop - found.first)
            ends = zip(found.doc_start[:-1], found.doc_start[1:], strict=True)
            docs = range(found.docs.start, found.docs.stop)
            for d, (begin, end) in zip(docs, ends, strict=True):
                n = end - begin
                first = found.first + begin
                n_windows = (max(n - size, 0) + 1 if size else 1) if n else 0
                starts += [(d, first + s) for s in range(n_windows)]
    expected = [
        (d, int(doc_start[d]) + s)
        for d, n in enumerate(lengths.tolist())
        for s in range((max(n - size, 0) + 1 if size else 1) if n else 0)
    ]
    assert starts == expected
    assert longest <= max(part, 2 * size if size else 31)


@pytest.mark.parametrize("size", [10, None])
def test_memory_does_not_grow_with_the_text(size):
    rng, peaks = np.random.default_rng(0), []
    with mock.patch.object(cooccurrence, "PART", 1 << 10):
        for n_docs in (40, 400):
            words = rng.integers(0, 20, 100 * n_docs).astype(np.int32)
            starts = 100 * np.arange(n_docs + 1)
            names = tuple(map(str, range(20)))
            if size is None:
                ones = np.ones(len(words), dtype=np.int32)
                counts = sparse.csr_array((ones, words, starts.astype(np.int32)))

                def count(counts=counts):
                    return count_documents(counts, TOPICS, np.zeros(counts.shape[0], dtype=int))

            else:
                text = RunningText(words, starts, names, np.zeros(n_docs, dtype=int))

                def count(text=text):
                    return count_windows(text, TOPICS, size)

            count()  # compiled
            tracemalloc.start()
            count()
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 10_000
