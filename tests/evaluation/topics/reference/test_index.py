import itertools
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import CorpusFormatError, UnsupportedVersionError
from evaluation import coherence
from evaluation.topics import cooccurrence
from evaluation.topics.coherence import WINDOW_SIZES
from evaluation.topics.cooccurrence import count_windows
from evaluation.topics.reference import build, index, index_file
from evaluation.topics.reference.index import ReferenceIndex
from models import LDATopics
from tests.evaluation.topics.reference.support import WORDS, built, text_of
from tests.oracles.window_coherence import count, topic_coherence, windows_of

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=40), min_size=1, max_size=12)
TOPICS = np.array([[0, 1, 2], [2, 5, 3], [4, -1, 0]])
TEXT = [list("abcabcd"), list("bca"), [], list("ffgabhhh"), list("ac")]


@pytest.fixture
def path():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "reference.index"


@settings(max_examples=50)
@given(
    DOCUMENTS,
    st.one_of(st.none(), st.integers(1, 15)),
    st.integers(1, 3),
    st.integers(1, 20),
    st.integers(1, 10),
    st.integers(1, 30),
)
def test_counts_against_loops(documents, size, n_blocks, max_tokens, max_bytes, part):
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(cooccurrence, "PART", part):
        limits = {"max_tokens": max_tokens, "max_bytes": max_bytes}
        found = built(Path(folder) / "x", documents, n_blocks=n_blocks, **limits)
        counts = found.count_windows(TOPICS, size)
        in_memory = count_windows(text_of(documents), TOPICS, size)
        for name in ("n_windows", "n_word", "n_pair"):
            np.testing.assert_array_equal(getattr(counts, name), getattr(in_memory, name))
        # The oracle imports nothing of ours.
        windows = windows_of(documents, size)
        assert counts.total.n_windows == len(windows)
        for k, topic in enumerate(TOPICS):
            for (i, a), (j, b) in itertools.product(enumerate(topic), repeat=2):
                known = min(a, b) >= 0
                expected = count(windows, WORDS[a], WORDS[b]) if known else 0
                assert counts.total.n_both[k, i, j] == expected
        assert found.n_tokens == sum(word in WORDS for each in documents for word in each)
        assert (found.n_docs, found.n_positions) == (len(documents), sum(map(len, documents)))


@settings(max_examples=30)
@given(
    DOCUMENTS, st.lists(st.permutations("abcdefxy").map(lambda w: w[:4]), min_size=1, max_size=3)
)
def test_every_measure_against_loops(documents, topics):
    with tempfile.TemporaryDirectory() as folder:
        reference = built(Path(folder) / "x", documents)
        for measure, size in WINDOW_SIZES.items():
            found = coherence(topics, reference, measure)
            windows = windows_of(documents, size)
            known = [[word for word in topic if word in WORDS] for topic in topics]
            expected = [topic_coherence(windows, topic, measure) for topic in known]
            np.testing.assert_allclose(found.per_topic, expected, atol=1e-12)
            same = coherence(topics, text_of(documents), measure)
            np.testing.assert_array_equal(found.per_topic, same.per_topic)
            for ours, theirs in zip(found.by_document.topics, same.by_document.topics, strict=True):
                np.testing.assert_equal(asdict(ours), asdict(theirs))


def test_gaps_of_many_bytes(path):
    # a is 200 tokens apart, b 40,000 tokens: gaps of two and three bytes.
    documents = [["a"], ["x"] * 199, ["a", "b"], ["x"] * 39_999, ["b", "a"], ["x"] * 3]
    found = built(path, documents, max_tokens=1000)
    np.testing.assert_array_equal(found.doc_start, np.cumsum([0, *map(len, documents)]))
    assert [len(found.postings(w)) for w in range(3)] == [1 + 2 + 3, 2 + 3, 0]
    assert found.word_tokens.tolist() == [3, 2, 0, 0, 0, 0]
    counts = found.count_windows(np.array([[0, 1]]), None).total
    assert (counts.n_windows, counts.n_both.tolist()) == (6, [[[3, 2], [2, 2]]])


def test_the_file_does_not_depend_on_memory_or_blocks(path):
    rng = np.random.default_rng(0)
    documents = [list(rng.choice(list("abcdefgh"), n)) for n in rng.integers(0, 50, 40)]
    made = set()
    for n_blocks, max_tokens, max_bytes in ((1, 10**6, 10**6), (5, 7, 11), (40, 64, 1)):
        built(path, documents, n_blocks=n_blocks, max_tokens=max_tokens, max_bytes=max_bytes)
        made.add(path.read_bytes())
    assert len(made) == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_sections_of_an_article_are_in_one_block(path):
    ids = ["en:1#1", "en:1#2", "en:2#1", "en:3#1", "en:3#2"]
    found = built(path, TEXT, ids)
    assert found.article_of.tolist() == [0, 0, 1, 2, 2]
    assert (found.n_articles, found.n_docs) == (3, 5)
    assert text_of(TEXT, ids).article_of.tolist() == [0, 0, 1, 2, 2]


def test_what_was_stored_is_there_again(path):
    about = {"source": "Wörter", "licence": "CC BY-SA"}
    found = built(path, TEXT, about=about)
    assert (found.about, found.vocabulary) == (about, WORDS)


def test_two_files_of_one_name_and_a_changed_one_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    one, two = (built(tmp_path / name / "x.index", TEXT[:n]) for name, n in (("a", 5), ("b", 3)))
    assert one.identity["path"] == str((tmp_path / "a/x.index").resolve())
    assert one.identity["sha256"] != two.identity["sha256"]
    same = built(tmp_path / "b/x.index", TEXT)
    assert same.identity["path"] == two.identity["path"]
    assert same.identity["sha256"] == one.identity["sha256"] != two.identity["sha256"]
    other_order = built(tmp_path / "b/x.index", [TEXT[0][::-1], *TEXT[1:]])
    assert other_order.identity["sha256"] != one.identity["sha256"]


@pytest.mark.parametrize(
    ("topics", "size", "message"),
    [
        ([[0, 1, 6]], 2, "topics must be numbers of the 6 words, or -1, found 6"),
        ([[0, 1, -2]], 2, "found -2"),
        ([[0, 1], [3, 3]], 2, "topic 1 has word 3 twice"),
        ([0, 1], 2, r"topics must be whole numbers \(n_topics, n_words\), found int64 \(2,\)"),
        ([[0.0, 1.0]], 2, r"found float64 \(1, 2\)"),
        ([[0, 1]], 0, "size must be at least 1, found 0"),
        ([[0, 1]], 2.5, "size must be a whole number, found 2.5"),
    ],
)
def test_windows_that_cannot_be_counted(path, topics, size, message):
    found, text = built(path, TEXT), text_of(TEXT)
    for count_in in (found.count_windows, partial(count_windows, text)):
        with pytest.raises((ValueError, TypeError), match=message):
            count_in(np.array(topics), size)
    assert found.count_windows(np.array([[0, -1, -1]]), 2).total.n_word[0, 1] == 0


def test_no_documents_and_no_words(path):
    found = built(path, [])
    assert (found.n_docs, found.n_articles, found.n_positions) == (0, 0, 0)
    assert np.isnan(coherence([["a", "b"]], found).mean)
    build.build_index(path, [], ())
    found = ReferenceIndex.open(path, checked=True)
    assert np.isnan(coherence([["a", "b"]], found).mean)


def test_every_damaged_byte_is_noticed(path):
    built(path, TEXT)
    whole = path.read_bytes()
    for i in range(len(whole)):
        damaged = bytearray(whole)
        damaged[i] ^= 1 << i % 8
        path.write_bytes(damaged)
        with pytest.raises(CorpusFormatError, match=str(path)):
            ReferenceIndex.open(path, checked=True)
    for n in (0, 1, 55, 56, len(whole) - 1):
        path.write_bytes(whole[:n])
        with pytest.raises(CorpusFormatError, match=str(path)):
            ReferenceIndex.open(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(CorpusFormatError, match=r"was changed: expected .*--force"):
        ReferenceIndex.open(path)


def test_damaged_positions_give_no_number(path):
    built(path, TEXT)
    damaged = bytearray(path.read_bytes())
    damaged[56] ^= 1  # the first posting, of a
    path.write_bytes(damaged)
    found = ReferenceIndex.open(path)
    assert np.isfinite(coherence([["b", "c"]], found, "u_mass").mean)
    with pytest.raises(CorpusFormatError, match=r"reference\.index was changed.*'a'.*--force"):
        coherence([["a", "b"]], found, "u_mass")


def test_positions_that_are_sound_but_wrong(path):
    """Whoever makes the checks fit still cannot make a kernel write outside of its arrays."""
    found = built(path, TEXT)
    n_bytes = np.diff(found._word_start)
    for wrong in ([0], [0x80], [0xFF] * 9 + [1], [5, 0], [5, *[0xFF] * 8, 0x7F]):
        postings = np.array([*wrong, *[1] * (n_bytes.sum() - len(wrong))], dtype=np.uint8)
        sizes = np.array([len(wrong), *[0] * 4, n_bytes.sum() - len(wrong)])
        start = np.concatenate(([0], np.cumsum(sizes)))
        checks = [build.check_of(postings[i:j]) for i, j in itertools.pairwise(start)]
        forged = index.ReferenceIndex(
            *(path, "", WORDS, found.n_tokens, {}, found.doc_start, found.article_of),
            *(found.word_tokens, start, np.frombuffer(b"".join(checks), np.uint8), postings),
        )
        with pytest.raises(CorpusFormatError, match="malformed"):
            forged.count_windows(np.array([[0, 1]]), 10)


def test_other_files_are_refused(path):
    path.write_text("a text that is longer than the first bytes of an index are, by some words")
    with pytest.raises(CorpusFormatError, match="is not an index"):
        ReferenceIndex.open(path)
    with pytest.raises(FileNotFoundError, match=r"`python -m pipeline index` makes one: .*none"):
        ReferenceIndex.open(path.with_name("none"))
    with mock.patch.object(index_file, "VERSION", 2):
        built(path, TEXT)
    with pytest.raises(UnsupportedVersionError, match="upgrade"):
        ReferenceIndex.open(path)
    with mock.patch.object(index_file, "FORMAT", "something else"):
        built(path, TEXT)
    with pytest.raises(CorpusFormatError, match="but a 'something else'"):
        ReferenceIndex.open(path)


def test_a_failed_writer_leaves_the_former_file(path):
    built(path, TEXT)
    before = path.read_bytes()

    def failing():
        yield from ()
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        build.build_index(path, failing(), WORDS)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    with pytest.raises(ValueError, match="twice"):
        build.build_index(path, [], ("a", "a"))


def test_topics_of_a_model_need_its_words(path):
    found = built(path, TEXT)
    topic_word = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    model = LDATopics(topic_word, np.ones(2))
    with pytest.raises(ValueError, match="give those of the model"):
        coherence(model, found, n_words=2)
    with pytest.raises(ValueError, match="3 words, the vocabulary has 2"):
        coherence(model, found, n_words=2, vocabulary=("a", "b"))
    named = coherence(model, found, "u_mass", n_words=2, vocabulary=("c", "x", "a"))
    listed = coherence([["c", "x"], ["a", "x"]], found, "u_mass")
    np.testing.assert_array_equal(named.n_pairs, listed.n_pairs)
    named = coherence(model, found, "u_mass", n_words=2, vocabulary=("c", "b", "a"))
    listed = coherence([["c", "b"], ["a", "b"]], found, "u_mass")
    np.testing.assert_array_equal(named.per_topic, listed.per_topic)
