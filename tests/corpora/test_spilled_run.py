from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import spilled_run
from corpora.spilled_run import Chunk, SpilledRun, SpillFile, merge, objects, ranks

words = st.text(st.sampled_from("aé\0\ud800\U0001f600"), max_size=4)
numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9)
runs_of_words = st.lists(st.dictionaries(words, st.integers(1, 9), max_size=12), max_size=5)
runs_of_numbers = st.lists(st.dictionaries(numbers, st.integers(1, 9), max_size=12), max_size=5)


def run_of(spill, counts, *, of_strings):
    keys, run = sorted(counts), SpilledRun(spill, of_strings=of_strings)
    run.append(
        objects(keys) if of_strings else np.array(keys, dtype=np.int64),
        np.array([counts[key] for key in keys], dtype=np.int64),
    )
    return run


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [1, 3, 8192])
@pytest.mark.parametrize("of_strings", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_merging_adds_up(of_strings, chunk, data):
    runs = data.draw(runs_of_words if of_strings else runs_of_numbers)
    with pytest.MonkeyPatch.context() as patch, SpillFile() as spill:
        patch.setattr(spilled_run, "CHUNK", chunk)
        stored = [run_of(spill, run, of_strings=of_strings) for run in runs]
        assert [len(run) for run in stored] == [len(run) for run in runs]
        merged, again = list(merge(stored)), list(merge(stored))
    expected = Counter()
    for run in runs:
        expected.update(run)
    keys = [key for part in merged for key in part.keys.tolist()]
    assert keys == sorted(expected)
    counts = [n for part in merged for n in part.counts.tolist()]
    assert dict(zip(keys, counts, strict=True)) == expected
    for r, run in enumerate(runs):
        places = [place for part in merged for place in part.places[r].tolist()]
        assert [keys[place] for place in places] == sorted(run)
    assert [part.keys.tolist() for part in again] == [part.keys.tolist() for part in merged]


def test_nothing_is_merged_from_nothing():
    assert list(merge([])) == []
    assert list(merge([[], []])) == []
    (only,) = merge([[], [Chunk(np.array([4]), np.array([7]))]])
    assert (only.keys.tolist(), only.counts.tolist()) == ([4], [7])


@settings(deadline=None)
@given(counts=st.dictionaries(words, st.integers(1, 9), max_size=30), data=st.data())
def test_keys_are_found_by_their_places(counts, data):
    keys = sorted(counts)
    places = sorted(data.draw(st.sets(st.integers(0, len(keys) - 1)))) if keys else []
    with pytest.MonkeyPatch.context() as patch, SpillFile() as spill:
        patch.setattr(spilled_run, "CHUNK", 4)
        run = run_of(spill, counts, of_strings=True)
        assert run.keys_at(np.array(places, dtype=np.int64)) == [keys[i] for i in places]


@given(st.lists(words, unique=True))
def test_ranks_sort(strings):
    order, rank = ranks(strings)
    assert [strings[i] for i in order] == sorted(strings)
    assert [sorted(strings)[i] for i in rank] == strings


def test_a_spill_file_has_no_name_and_numbers_lie_where_they_may(tmp_path):
    with SpillFile(tmp_path) as spill:
        assert spill.append(b"abc") == 0
        assert spill.append(np.arange(3), b"x") == 8
        assert spill.array(8, 3, np.int64).tolist() == [0, 1, 2]
        assert spill.array(8, 0, np.int64).tolist() == []
        assert spill.read(8 + 24, 1) == b"x"
        assert list(tmp_path.iterdir()) == []
