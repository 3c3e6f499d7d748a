from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokens.block import BREAK
from corpora.tokens.block_pairs import count_pairs
from corpora.tokens.pair_counts import PairCounts, _KeyCounts
from tests.corpora.tokens.blocks import block_of_runs

word = st.sampled_from(["a", "b", "c", "d", "é", "\U0001f600", "b\0"])
documents = st.lists(st.lists(st.lists(word, min_size=1, max_size=6), max_size=3), max_size=8)


def counted(documents, min_count, max_words, max_pairs):
    pairs = PairCounts(max_words, max_pairs)
    for i in range(0, len(documents), 2):
        ids = [str(d) for d in range(i, min(i + 2, len(documents)))]
        block = block_of_runs(documents[i : i + 2], ids, ids)
        is_word = block.word_of != BREAK
        pairs.add(count_pairs(block, is_word, np.flatnonzero(is_word[:-1] & is_word[1:])))
    totals, found = pairs.totals(min_count), {}
    for each in totals:
        numbers = np.unique(np.concatenate([each.a, each.b]))
        words = dict(zip(numbers.tolist(), totals.words(numbers), strict=True))
        for a, b, *n in zip(*(array.tolist() for array in each), strict=True):
            found[words[a], words[b]] = tuple(n)
    pairs.close()
    return totals.n_tokens, totals.n_entries, found


@settings(deadline=None, max_examples=60)
@given(
    documents=documents,
    min_count=st.integers(1, 3),
    max_words=st.integers(0, 8),
    max_pairs=st.integers(0, 12),
)
def test_counts_are_what_loops_say(documents, min_count, max_words, max_pairs):
    runs = [run for document in documents for run in document]
    words = Counter(word for run in runs for word in run)
    pairs = Counter(pair for run in runs for pair in pairwise(run))
    frequent = {(a, b): (words[a], words[b], n) for (a, b), n in pairs.items() if n >= min_count}
    n_tokens, n_entries, found = counted(documents, min_count, max_words, max_pairs)
    assert (n_tokens, n_entries) == (words.total(), len(words) + len(pairs))
    assert found == frequent
    assert list(found) == sorted(found)


def test_many_words_in_several_runs_of_several_chunks(tmp_path):
    rng = np.random.default_rng(0)
    documents = [[[f"w{w}" for w in run]] for run in rng.zipf(1.3, (60, 1500)).tolist()]
    in_memory = counted(documents, 2, 10**6, 10**6)
    assert len(in_memory[2]) > 1000
    assert counted(documents, 2, 10_000, 20_000) == in_memory


def test_keys_gather_and_are_sorted_in():
    rng = np.random.default_rng(0)
    batches = [rng.integers(0, 4000, 3000) for _ in range(8)]
    # As narrow as those of a block are, whose sum is not.
    times = [rng.integers(1, 256, 3000).astype(np.uint8) for _ in range(8)]
    keys = _KeyCounts(10_000)
    for batch, n in zip(batches, times, strict=True):
        keys.add(batch, n)
    assert 0 < keys.n <= 4000
    repeated = [np.repeat(batch, n) for batch, n in zip(batches, times, strict=True)]
    expected = np.unique(np.concatenate(repeated), return_counts=True)
    for _ in range(2):
        found, counts = keys.total()
        np.testing.assert_array_equal(found, expected[0])
        np.testing.assert_array_equal(counts, expected[1])
    keys.clear()
    assert [array.tolist() for array in keys.total()] == [[], []]
