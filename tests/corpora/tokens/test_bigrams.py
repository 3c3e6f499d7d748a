"""Collocations, against gensim's Phrases and FrozenPhrases on the same runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from gensim.models.phrases import FrozenPhrases, Phrases
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import CorpusFormatError
from corpora.tokens import bigrams as bigrams_module
from corpora.tokens.bigrams import Bigrams
from corpora.tokens.block import TokenBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

Documents = list[list[list[str]]]


def blocks_of(documents: Documents, block_size: int = 2) -> list[TokenBlock]:
    """Documents in blocks, named 0, 1, …."""
    ids = [str(d) for d in range(len(documents))]
    return [
        TokenBlock.from_runs(
            documents[start : start + block_size],
            ids[start : start + block_size],
            ids[start : start + block_size],
        )
        for start in range(0, len(documents), block_size)
    ]


def gensim_phrases(documents: Documents, min_count: int, threshold: float, scoring: str) -> Phrases:
    runs = [run for document in documents for run in document]
    scoring = {"classic": "default"}.get(scoring, scoring)
    return Phrases(runs, min_count=min_count, threshold=threshold, scoring=scoring)


def joined_scores(bigrams: Bigrams) -> dict[str, float]:
    return {f"{a}_{b}": score for (a, b), score in bigrams.scores.items()}


def everything(doc_id: str) -> bool:
    return True


def runs_of_blocks(blocks: Sequence[TokenBlock]) -> Documents:
    return [block.runs(d) for block in blocks for d in range(block.n_docs)]


@pytest.fixture(scope="module")
def lee() -> Documents:
    """News articles that come with gensim: runs of lower-case words between other characters."""
    lines = Path(datapath("lee_background.cor")).read_text("utf-8").lower().splitlines()
    return [[re.findall(r"[a-z]+", run) for run in re.split(r"[^a-z ]+", line)] for line in lines]


SETTINGS = [
    ("classic", 5, 10.0),
    ("classic", 2, 100.0),
    ("classic", 1, 0.5),
    ("npmi", 3, 0.4),
    ("npmi", 1, -1.0),
]


@pytest.mark.parametrize(("scoring", "min_count", "threshold"), SETTINGS)
def test_real_text_is_scored_and_joined_as_gensim_does(
    scoring: str, min_count: int, threshold: float, lee: Documents
) -> None:
    documents = [[run for run in document if run] for document in lee]
    phrases = gensim_phrases(documents, min_count, threshold, scoring)
    blocks = blocks_of(documents, 40)
    bigrams = Bigrams.learn(blocks, everything, min_count, threshold, scoring)
    assert joined_scores(bigrams) == phrases.export_phrases()
    assert len(bigrams.scores) > 10

    frozen = FrozenPhrases(phrases)
    expected = [[frozen[run] for run in document] for document in documents]
    assert runs_of_blocks([bigrams.join(block) for block in blocks]) == expected


tiny_documents = st.lists(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), max_size=3), max_size=8
)


@settings(max_examples=200, deadline=None)
@given(
    documents=tiny_documents,
    min_count=st.integers(1, 3),
    threshold=st.sampled_from([0.01, 0.2, 1.0]),
    scoring=st.sampled_from(["classic", "npmi"]),
)
def test_any_corpus_is_scored_and_joined_as_gensim_does(
    documents: Documents, min_count: int, threshold: float, scoring: str
) -> None:
    phrases = gensim_phrases(documents, min_count, threshold, scoring)
    blocks = blocks_of(documents)
    bigrams = Bigrams.learn(blocks, everything, min_count, threshold, scoring)
    assert joined_scores(bigrams) == phrases.export_phrases()

    frozen = FrozenPhrases(phrases)
    joined = [bigrams.join(block) for block in blocks]
    expected = [[frozen[run] for run in document] for document in documents]
    assert runs_of_blocks(joined) == expected
    for block in joined:
        assert list(block.words) == sorted(
            {w for d in range(block.n_docs) for run in block.runs(d) for w in run}
        )


@settings(deadline=None)
@given(tiny_documents)
def test_only_kept_documents_are_learned_from(documents: Documents) -> None:
    odd = Bigrams.learn(blocks_of(documents), lambda d: int(d) % 2 == 1, 1, 0.1)
    alone = Bigrams.learn(blocks_of(documents[1::2]), everything, 1, 0.1)
    assert odd == alone


def test_merging_pair_counts_early_changes_nothing(
    lee: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, 400_000, 300_000) for _ in range(8)]
    pairs = bigrams_module._PairCounts()
    for batch in keys:
        pairs.add(batch)
    found, counts = pairs.total()
    expected = np.unique(np.concatenate(keys), return_counts=True)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(counts, expected[1])


def test_three_in_a_row_join_from_the_left_and_never_across_a_break() -> None:
    bigrams = Bigrams({("a", "a"): 1.0, ("a", "b"): 1.0})
    block = TokenBlock.from_runs(
        [[["a", "a", "a", "b"], ["a"], ["b"]], [["a", "a", "b"]]], "xy", "xy"
    )
    assert runs_of_blocks([bigrams.join(block)]) == [
        [["a_a", "a_b"], ["a"], ["b"]],
        [["a_a", "b"]],
    ]


def test_joining_twice_makes_longer_words() -> None:
    block = TokenBlock.from_runs([[["new", "york", "times"]]], "x", "x")
    once = Bigrams({("new", "york"): 1.0}).join(block)
    twice = Bigrams({("new_york", "times"): 1.0}).join(once)
    assert twice.words == ("new_york_times",)


def test_no_bigrams_change_nothing() -> None:
    block = TokenBlock.from_runs([[["b", "a"]], []], "xy", "xy")
    assert runs_of_blocks([Bigrams({}).join(block)]) == [[["b", "a"]], []]


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(*2 * [st.text(st.characters(categories=["L"]), min_size=1)]),
        st.floats(allow_nan=False),
        max_size=8,
    )
)
def test_saved_bigrams_come_back(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[tuple[str, str], float]
) -> None:
    path = tmp_path_factory.mktemp("bigrams") / "bigrams.tsv"
    Bigrams(scores).save(path)
    assert Bigrams.load(path) == Bigrams(scores)


@pytest.mark.parametrize("line", ["new\tyork", "new york 3.0", "a\tb\tthree", "a\tb\t1\t2", "\xff"])
def test_a_malformed_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "bigrams.tsv"
    path.write_bytes(b"new\tyork\t12.5\n" + line.encode("latin-1") + b"\n")
    with pytest.raises(CorpusFormatError, match=r"bigrams\.tsv, line 2"):
        Bigrams.load(path)


def test_a_line_that_was_cut_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bigrams.tsv"
    path.write_text("new\tyork\t12.5\nbig\tapple\t12")
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
def test_settings_out_of_range_are_refused(
    min_count: int, threshold: float, scoring: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Bigrams.learn([], everything, min_count, threshold, scoring)
