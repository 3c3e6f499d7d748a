from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.word_counts import WordCounts

batches = st.lists(
    st.dictionaries(st.text(st.sampled_from("ab\0é\ud800"), max_size=3), st.integers(0, 3)),
    max_size=8,
)


@settings(deadline=None)
@given(batches=batches, max_words=st.integers(0, 12))
def test_spilling_changes_nothing(batches, max_words):
    counts, expected = WordCounts(max_words), Counter()
    for batch in batches:
        counts.add(tuple(batch), np.array(list(batch.values()), dtype=np.int64))
        expected.update(batch)
    found = [
        (word, n)
        for chunk in counts.chunks()
        for word, n in zip(chunk.keys.tolist(), chunk.counts.tolist(), strict=True)
    ]
    counts.close()
    assert found == sorted((+expected).items())


def test_more_words_than_a_chunk_in_several_runs(tmp_path):
    rng, counts = np.random.default_rng(0), WordCounts(20_000, tmp_path)
    expected = Counter()
    for _ in range(12):
        words = [f"w{w}" for w in np.unique(rng.integers(0, 60_000, 8000))]
        counts.add(words, np.ones(len(words), dtype=np.int64))
        expected.update(words)
    assert [key for chunk in counts.chunks() for key in chunk.keys.tolist()] == sorted(expected)
    assert sum(int(chunk.counts.sum()) for chunk in counts.chunks()) == expected.total()
    counts.close()
    assert not list(tmp_path.iterdir())
