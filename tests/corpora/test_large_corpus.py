import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from corpora import Bigrams, Pruning, build_corpus_on_disk, learn_vocabulary, spilled_run
from corpora.tokens.block import BREAK, TokenBlock

REPOSITORY = Path(__file__).parents[2]
BLOCK = 2500
MAX_WORDS, MAX_PAIRS = 5000, 20_000
"""So few that 25,000 documents are more than enough to fill them."""
LITTLE = 2_000_000
"""Bytes: 25,000 documents' ids and titles take more than twice as much as Python's strings."""


def short_documents(n_docs):
    """Eight words each, of Zipf's distribution, so that new ones keep coming; none is kept."""
    for start in range(0, n_docs, BLOCK):
        ranks = np.minimum(np.random.default_rng(start).zipf(1.3, 9 * BLOCK), 10**9)
        ranks[8::9] = BREAK
        distinct, word_of = np.unique(ranks, return_inverse=True)
        ids = [f"en:{d}" for d in range(start, start + BLOCK)]
        yield TokenBlock(
            tuple(f"w{rank:09d}" for rank in distinct[1:].tolist()),
            (word_of - 1).astype(np.int32),
            np.arange(0, 9 * BLOCK + 1, 9),
            tuple(ids),
            tuple(f"Title of {doc_id}" for doc_id in ids),
        )


def growth_of_memory(directory, step):
    """Bytes at the peak for 100,000 documents more than for 25,000."""
    peaks = []
    for n_docs in (25_000, 100_000):
        tracemalloc.start()
        step(n_docs)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return float(peaks[1] - peaks[0])


def is_even(doc_id):
    return doc_id[-1] in "02468"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(spilled_run, "CHUNK", 64)


@pytest.mark.slow
def test_counting_takes_the_same_memory_for_any_number_of_documents(tmp_path):
    def count(n_docs):
        vocabulary = [f"w{rank:09d}" for rank in range(1, 1000)]
        return build_corpus_on_disk(tmp_path, short_documents(n_docs), vocabulary)

    assert growth_of_memory(tmp_path, count) < LITTLE
    # The measure would notice.
    hoard = []

    def hoarding(n_docs):
        for block in short_documents(n_docs):
            hoard.extend(block.doc_ids)

    assert growth_of_memory(tmp_path, hoarding) > 2 * LITTLE


@pytest.mark.slow
def test_a_vocabulary_is_learned_in_the_same_memory_for_any_number_of_documents(tmp_path):
    def learn(n_docs):
        pruning = Pruning(keep_n=1000)
        vocabulary = learn_vocabulary(
            short_documents(n_docs), is_even, pruning, most_words=MAX_WORDS, directory=tmp_path
        )
        assert len(vocabulary) > 500

    assert growth_of_memory(tmp_path, learn) < LITTLE


@pytest.mark.slow
def test_bigrams_are_learned_in_the_same_memory_for_any_number_of_documents(tmp_path):
    def learn(n_docs):
        rule = Bigrams({})
        assert rule.from_counts(
            (rule.count_pairs(block, is_even) for block in short_documents(n_docs)),
            *(n_docs // 4000, 0.01, "npmi"),
            max_words=MAX_WORDS,
            max_pairs=MAX_PAIRS,
            directory=tmp_path,
        ).scores

    assert growth_of_memory(tmp_path, learn) < LITTLE


@pytest.mark.slow
def test_millions_of_documents(tmp_path):
    # By then all that is to fill is full: half a million words, four million pairs.
    grown = {}
    for n_docs in (2_000_000, 6_000_000):
        folder = tmp_path / str(n_docs)
        folder.mkdir()
        command = [sys.executable, "-m", "benchmarks.large_corpus", "--one"]
        command += ["--documents", str(n_docs), "--folder", str(folder)]
        result = json.loads(subprocess.check_output(command, cwd=REPOSITORY))
        assert result["documents"] == n_docs
        grown[n_docs] = result["counts_memory"]
    assert max(grown.values()) < 500e6
    assert grown[6_000_000] - grown[2_000_000] < 60e6
