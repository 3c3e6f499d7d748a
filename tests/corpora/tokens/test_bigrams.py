import math
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from gensim.models.phrases import FrozenPhrases, Phrases
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import CorpusFormatError, UnsuitableModelError
from corpora.tokens.annotation import PARTS_OF_SPEECH
from corpora.tokens.bigrams import RULE, Bigrams
from tests.corpora.tokens.blocks import block_of_runs, learn_bigrams

Documents = list[list[list[str]]]
Token = tuple[str, str, bool]
"""Word, part of speech, and whether it continues a noun chunk."""
SETTINGS = [
    *(("classic", 5, 10.0), ("classic", 2, 100.0), ("classic", 1, 0.5), ("npmi", 3, 0.4)),
    ("npmi", 1, -1.0),
]
tiny_documents = st.lists(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), max_size=3), max_size=8
)


def blocks_of(documents, block_size=2):
    ids = [str(d) for d in range(len(documents))]
    return [
        block_of_runs(
            documents[start : start + block_size],
            ids[start : start + block_size],
            ids[start : start + block_size],
        )
        for start in range(0, len(documents), block_size)
    ]


def gensim_phrases(documents, min_count, threshold, scoring):
    runs = [run for document in documents for run in document]
    scoring = {"classic": "default"}.get(scoring, scoring)
    return Phrases(runs, min_count=min_count, threshold=threshold, scoring=scoring)


def within_bounds(phrases, scoring, threshold):
    """gensim's scores, without what rounding adds to an npmi of 1."""
    scores = phrases.export_phrases()
    if scoring == "npmi":
        scores = {pair: min(1.0, score) for pair, score in scores.items()}
    return {pair: score for pair, score in scores.items() if score > threshold}


def joined_scores(bigrams):
    return {f"{a}_{b}": score for (a, b), score in bigrams.scores.items()}


def everything(doc_id):
    return True


def runs_of_blocks(blocks):
    return [block.runs(d) for block in blocks for d in range(block.n_docs)]


@pytest.fixture(scope="module")
def lee():
    lines = Path(datapath("lee_background.cor")).read_text("utf-8").lower().splitlines()
    return [[re.findall(r"[a-z]+", run) for run in re.split(r"[^a-z ]+", line)] for line in lines]


@pytest.mark.parametrize(("scoring", "min_count", "threshold"), SETTINGS)
def test_real_text_is_scored_and_joined_as_gensim_does(scoring, min_count, threshold, lee):
    documents = [[run for run in document if run] for document in lee]
    phrases = gensim_phrases(documents, min_count, threshold, scoring)
    blocks = blocks_of(documents, 40)
    bigrams = learn_bigrams(blocks, everything, min_count, threshold, scoring)
    assert joined_scores(bigrams) == within_bounds(phrases, scoring, threshold)
    assert list(bigrams.scores) == sorted(bigrams.scores)
    assert len(bigrams.scores) > 10
    # As little memory as this holds no two blocks' words.
    spilled = learn_bigrams(
        blocks, everything, min_count, threshold, scoring, max_words=1500, max_pairs=4000
    )
    assert spilled == bigrams
    frozen = FrozenPhrases(phrases)
    expected = [[frozen[run] for run in document] for document in documents]
    assert runs_of_blocks([bigrams.join(block) for block in blocks]) == expected


@settings(max_examples=80, deadline=None)
@given(
    documents=tiny_documents,
    min_count=st.integers(1, 3),
    threshold=st.sampled_from([0.01, 0.2, 1.0]),
    scoring=st.sampled_from(["classic", "npmi"]),
)
def test_any_corpus_is_scored_and_joined_as_gensim_does(documents, min_count, threshold, scoring):
    phrases = gensim_phrases(documents, min_count, threshold, scoring)
    blocks = blocks_of(documents)
    bigrams = learn_bigrams(blocks, everything, min_count, threshold, scoring)
    assert joined_scores(bigrams) == within_bounds(phrases, scoring, threshold)
    frozen = FrozenPhrases(phrases)
    frozen.phrasegrams = joined_scores(bigrams)
    joined = [bigrams.join(block) for block in blocks]
    expected = [[frozen[run] for run in document] for document in documents]
    assert runs_of_blocks(joined) == expected
    for block in joined:
        assert list(block.words) == sorted(
            {w for d in range(block.n_docs) for run in block.runs(d) for w in run}
        )


@settings(deadline=None)
@given(tiny_documents)
def test_only_kept_documents_are_learned_from(documents):
    odd = learn_bigrams(blocks_of(documents), lambda d: int(d) % 2 == 1, 1, 0.1)
    assert odd == learn_bigrams(blocks_of(documents[1::2]), everything, 1, 0.1)


def test_words_join_from_the_left_never_across_a_break_and_twice():
    bigrams = Bigrams({("a", "a"): 1.0, ("a", "b"): 1.0})
    block = block_of_runs([[["a", "a", "a", "b"], ["a"], ["b"]], [["a", "a", "b"]]], "xy", "xy")
    assert runs_of_blocks([bigrams.join(block)]) == [[["a_a", "a_b"], ["a"], ["b"]], [["a_a", "b"]]]
    block = block_of_runs([[["new", "york", "times"]]], "x", "x")
    once = Bigrams({("new", "york"): 1.0}).join(block)
    assert Bigrams({("new_york", "times"): 1.0}).join(once).words == ("new_york_times",)
    block = block_of_runs([[["b", "a"]], []], "xy", "xy")
    assert runs_of_blocks([Bigrams({}).join(block)]) == [[["b", "a"]], []]


def tagged_block(tagged, first_id=0):
    """Documents of runs of words, parts of speech and whether they continue a noun chunk."""
    words = [[[token[0] for token in run] for run in document] for document in tagged]
    ids = [str(first_id + d) for d in range(len(tagged))]
    block = block_of_runs(words, ids, ids)
    entries = [
        token for document in tagged for run in document for token in (*run, ("", "", False))
    ]
    return replace(
        block,
        pos_of=np.array([PARTS_OF_SPEECH.index(pos) for _, pos, _ in entries], dtype=np.uint8),
        continues_chunk=np.array([continues for _, _, continues in entries], dtype=bool),
    )


@st.composite
def tagged_runs(draw):
    token = st.tuples(
        st.sampled_from("abc"), st.sampled_from(["ADJ", "NOUN", "VERB"]), st.booleans()
    )
    (word, pos, _), *rest = draw(st.lists(token, min_size=1, max_size=6))
    return [(word, pos, False), *rest]


tagged_documents = st.lists(st.lists(tagged_runs(), max_size=3), max_size=8)
rules = st.tuples(
    st.none()
    | st.frozensets(st.tuples(*2 * [st.sampled_from(["ADJ", "NOUN", "VERB"])]), max_size=4),
    st.booleans(),
)


@settings(max_examples=50, deadline=None)
@given(
    tagged=tagged_documents,
    rule=rules,
    min_count=st.integers(1, 2),
    scoring=st.sampled_from(["classic", "npmi"]),
)
def test_learning_and_joining_use_one_rule(tagged, rule, min_count, scoring):
    patterns, within_chunks = rule
    threshold = 0.01 if scoring == "classic" else -0.5

    def may_join(one, two):
        return (patterns is None or (one[1], two[1]) in patterns) and (two[2] or not within_chunks)

    runs = [run for document in tagged for run in document]
    words = Counter(token[0] for run in runs for token in run)
    pairs = Counter(
        (one[0], two[0]) for run in runs for one, two in pairwise(run) if may_join(one, two)
    )
    scores = {}
    for (a, b), n in pairs.items():
        n_entries, n_tokens = len(words) + len(pairs), words.total()
        if scoring == "classic":
            score = (n - min_count) / (words[a] * words[b]) * n_entries
        else:
            p = n / n_tokens
            score = math.log(p * n_tokens**2 / (words[a] * words[b])) / -math.log(p)
        if n >= min_count and score > threshold + 1e-9:
            scores[a, b] = score
    blocks = [tagged_block(tagged[i : i + 3], i) for i in range(0, len(tagged), 3)]
    learned = learn_bigrams(
        blocks, everything, min_count, threshold, scoring, rule=Bigrams({}, *rule)
    )
    clearly_above = {p: s for p, s in learned.scores.items() if s > threshold + 1e-9}
    assert clearly_above == pytest.approx(scores)
    assert (learned.patterns, learned.within_chunks) == rule

    def joined(run):
        done, i = [], 0
        while i < len(run):
            if (
                i + 1 < len(run)
                and (run[i][0], run[i + 1][0]) in learned.scores
                and may_join(run[i], run[i + 1])
            ):
                done.append((f"{run[i][0]}_{run[i + 1][0]}", run[i + 1][1], run[i][2]))
                i += 2
            else:
                done.append(run[i])
                i += 1
        return done

    expected = tagged_block([[joined(run) for run in document] for document in tagged])
    whole = learned.join(tagged_block(tagged))
    assert whole.words == expected.words
    for name in ("word_of", "doc_start", "pos_of", "continues_chunk"):
        assert getattr(whole, name).tolist() == getattr(expected, name).tolist()


def test_patterns_without_parts_of_speech_or_of_unknown_ones_are_refused():
    blocks = blocks_of([[["new", "york"]]])
    rule = Bigrams({}, frozenset({("NOUN", "NOUN")}))
    with pytest.raises(UnsuitableModelError, match="parts of speech"):
        learn_bigrams(blocks, rule=rule)
    assert learn_bigrams([], rule=rule).scores == {}
    with pytest.raises(ValueError, match=r"two parts of speech.*'ADJ NOPE'"):
        Bigrams({}, frozenset({("ADJ", "NOPE")}))


@settings(deadline=None)
@given(
    scores=st.dictionaries(
        st.tuples(*2 * [st.text(st.characters(categories=["L"]), min_size=1) | st.just(RULE)]),
        st.floats(allow_nan=False),
        max_size=8,
    ),
    rule=rules,
)
def test_saved_bigrams_come_back(tmp_path_factory, scores, rule):
    path = tmp_path_factory.mktemp("bigrams") / "bigrams.tsv"
    Bigrams(scores, *rule).save(path)
    assert Bigrams.load(path) == Bigrams(scores, *rule)


def test_files_of_former_releases_have_no_rule(tmp_path):
    path = tmp_path / "bigrams.tsv"
    path.write_text("new\tyork\t12.5\n")
    assert Bigrams.load(path) == Bigrams({("new", "york"): 12.5})
    Bigrams({("new", "york"): 12.5}).save(path)
    assert path.read_text() == "new\tyork\t12.5\n"


@pytest.mark.parametrize("word", ["new\tyork", "new\n"])
def test_words_that_a_line_cannot_hold_are_refused(word, tmp_path):
    with pytest.raises(ValueError, match="tab or line end"):
        Bigrams({("a", word): 1.0}).save(tmp_path / "bigrams.tsv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "rule",
    [
        *("", "{", "[]", '{"patterns": null}', '{"patterns": null, "within_chunks": 1}'),
        '{"patterns": [["ADJ"]], "within_chunks": true}',
        '{"patterns": [["ADJ", "NOPE"]], "within_chunks": true}',
        '{"patterns": {}, "within_chunks": true}',
    ],
)
def test_a_malformed_rule_is_named(rule, tmp_path):
    path = tmp_path / "bigrams.tsv"
    path.write_text(f"#rule\t{rule}\nnew\tyork\t12.5\n")
    with pytest.raises(CorpusFormatError, match=r"bigrams\.tsv, line 1"):
        Bigrams.load(path)


CUT = b"big\tapple\t12"
MALFORMED = [b"new\tyork\n", b"new york 3.0\n", b"a\tb\tthree\n", b"a\tb\t1\t2\n", b"\xff\n", CUT]


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_named(line, tmp_path):
    path = tmp_path / "bigrams.tsv"
    path.write_bytes(b"new\tyork\t12.5\n" + line)
    with pytest.raises(CorpusFormatError, match=r"bigrams\.tsv, line 2"):
        Bigrams.load(path)


@pytest.mark.parametrize(
    ("min_count", "threshold", "scoring", "message"),
    [
        (0, 10.0, "classic", "min_count"),
        (5, 0.0, "classic", "positive"),
        (5, 1.5, "npmi", "from -1 to 1"),
        (5, float("nan"), "npmi", "from -1 to 1"),
        (5, 10.0, "pmi", "scoring"),
    ],
)
def test_settings_out_of_range_are_refused(min_count, threshold, scoring, message):
    with pytest.raises(ValueError, match=message):
        learn_bigrams([], everything, min_count, threshold, scoring)


def test_the_former_way_to_learn_warns():
    blocks = blocks_of([[["a", "b"]] * 9])
    with pytest.warns(DeprecationWarning, match="from_counts"):
        found = Bigrams.learn(blocks, everything, 1, 0.1, "classic", None, most_words=1)
    assert found == learn_bigrams(blocks, everything, 1, 0.1)
