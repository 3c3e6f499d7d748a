import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import EmptyVocabularyError
from corpora.vocabulary import SHOWN, Pruning, learn_vocabulary, prune
from tests.corpora.tokens.blocks import block_of_runs

prunings = st.builds(
    Pruning,
    no_below=st.integers(1, 6),
    no_above=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    keep_n=st.none() | st.integers(1, 10),
)


def chunks_of(frequency, size=1000):
    words = sorted(frequency)
    parts = [words[i : i + size] for i in range(0, len(words), size)]
    return [(part, np.array([frequency[w] for w in part], dtype=np.int64)) for part in parts]


def as_loops_say(frequency, n_docs, pruning):
    kept = [
        w
        for w, n in frequency.items()
        if pruning.no_below <= n and n / n_docs <= pruning.no_above + 1e-12
    ]
    kept.sort(key=lambda w: (-frequency[w], w))
    return tuple(sorted(kept[: pruning.keep_n]))


@settings(deadline=None)
@given(
    frequency=st.dictionaries(st.text(max_size=3), st.integers(1, 20), max_size=30),
    pruning=prunings,
    size=st.integers(1, 31),
)
def test_pruning_is_what_a_loop_says(frequency, pruning, size):
    expected = as_loops_say(frequency, 20, pruning)
    if expected:
        words, removed = prune(chunks_of(frequency, size), 20, pruning)
        assert words == expected
        assert removed.n_words == len(frequency)
        assert removed.n_rare == sum(n < pruning.no_below for n in frequency.values())
        common = [w for w, n in frequency.items() if n / 20 > pruning.no_above + 1e-12]
        assert removed.n_common == len(common)
        assert removed.n_rare + removed.n_common + removed.n_beyond + len(words) == len(frequency)
        common.sort(key=lambda w: (-frequency[w], w))
        assert removed.commonest == tuple(common[:SHOWN])
    else:
        with pytest.raises(EmptyVocabularyError):
            prune(chunks_of(frequency, size), 20, pruning)


@settings(deadline=None)
@given(
    documents=st.lists(
        st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=3),
        max_size=9,
    ),
    pruning=prunings,
    block_size=st.integers(1, 9),
    most_words=st.integers(0, 9),
)
def test_learning_counts_training_documents_whatever_fits_in_memory(
    documents, pruning, block_size, most_words
):
    ids = [str(d) for d in range(len(documents))]
    training = {doc_id for doc_id in ids if int(doc_id) % 3}
    bags = [{w for run in documents[int(d)] for w in run} for d in sorted(training)]
    frequency = {w: sum(w in bag for bag in bags) for w in "abcdefgh" if any(w in b for b in bags)}
    blocks = [
        block_of_runs(
            documents[i : i + block_size], ids[i : i + block_size], ids[i : i + block_size]
        )
        for i in range(0, len(documents), block_size)
    ]
    expected = as_loops_say(frequency, len(training), pruning) if training else ()
    if expected:
        learned = learn_vocabulary(blocks, training.__contains__, pruning, most_words=most_words)
        assert learned == expected
    else:
        with pytest.raises(EmptyVocabularyError):
            learn_vocabulary(blocks, training.__contains__, pruning, most_words=most_words)


def test_a_share_is_not_lost_to_rounding():
    assert 0.29 * 100 < 29
    assert prune(chunks_of({"a": 29}), 100, Pruning(no_above=0.29))[0] == ("a",)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        (
            [1, 2, 1],
            (
                "no word is left of 3: 3 occur in fewer than no_below = 5 documents, "
                "0 in more than no_above = 0.5 of the 20 documents; lower no_below"
            ),
        ),
        ([20, 19, 1], "1 occur in fewer .* 2 in more than .* documents; raise no_above"),
        ([20, 1], "lower no_below or raise no_above"),
        ([], "training documents have no words"),
    ],
)
def test_an_empty_vocabulary_says_which_threshold_to_change(frequency, message):
    words = {f"word{w}": n for w, n in enumerate(frequency)}
    with pytest.raises(EmptyVocabularyError, match=message):
        prune(chunks_of(words, 1), 20, Pruning())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"no_below": 0}, "no_below"),
        ({"no_above": 0.0}, "no_above"),
        ({"no_above": 10}, "share of the documents"),
        ({"no_above": float("nan")}, "no_above"),
        ({"keep_n": 0}, "keep_n"),
    ],
)
def test_thresholds_out_of_range_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        Pruning(**setting)
