"""Token blocks: runs in, the same runs out, and no changed byte goes unnoticed."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.tokens import block as block_module
from corpora.tokens.block import BREAK, TokenBlock

if TYPE_CHECKING:
    from pathlib import Path

words = st.text(min_size=1, max_size=4)
documents = st.lists(st.lists(st.lists(words, min_size=1, max_size=4), max_size=4), max_size=5)


def small_block() -> TokenBlock:
    return TokenBlock.from_runs(
        [[["b", "a"], ["b"]], [], [["c"]]], ["en:1", "en:2", "en:3"], ["One", "Two\n", "Drei § ü"]
    )


def same(a: TokenBlock, b: TokenBlock) -> bool:
    return (
        (a.words, a.doc_ids, a.titles) == (b.words, b.doc_ids, b.titles)
        and np.array_equal(a.word_of, b.word_of)
        and np.array_equal(a.doc_start, b.doc_start)
        and (a.word_of.dtype, a.doc_start.dtype) == (b.word_of.dtype, b.doc_start.dtype)
    )


def test_a_block_by_hand() -> None:
    block = small_block()
    assert block.words == ("a", "b", "c")
    assert block.word_of.tolist() == [1, 0, BREAK, 1, BREAK, 2, BREAK]
    assert block.doc_start.tolist() == [0, 5, 5, 7]
    assert block.doc_of.tolist() == [0, 0, 0, 0, 0, 2, 2]
    assert (block.n_docs, block.n_tokens) == (3, 4)


@settings(deadline=None)
@given(documents)
def test_runs_survive(documents: list[list[list[str]]]) -> None:
    ids = [f"en:{d}" for d in range(len(documents))]
    block = TokenBlock.from_runs(documents, ids, ids)
    assert [block.runs(d) for d in range(block.n_docs)] == documents


@settings(deadline=None)
@given(documents=documents, title=st.text())
def test_saved_blocks_come_back(
    documents: list[list[list[str]]], title: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("block") / "block.npz"
    ids = [f"en:{d}" for d in range(len(documents))]
    block = TokenBlock.from_runs(documents, ids, [title + "\ud800"] * len(ids))
    block.save(path)
    assert same(TokenBlock.load(path), block)


def test_equal_blocks_make_equal_files_that_numpy_reads(tmp_path: Path) -> None:
    small_block().save(tmp_path / "a.npz")
    small_block().save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["word_of"].tolist() == small_block().word_of.tolist()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
        assert len(archive.comment) == 32


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "block.npz"
    small_block().save(path)
    stored = path.read_bytes()
    for position in range(len(stored)):
        changed = bytearray(stored)
        changed[position] ^= 0x01
        path.write_bytes(changed)
        with pytest.raises(CorpusFormatError, match=r"block\.npz"):
            TokenBlock.load(path)


@pytest.mark.parametrize("length", [0, 10, 100, -1])
def test_a_shortened_file_is_noticed(length: int, tmp_path: Path) -> None:
    path = tmp_path / "block.npz"
    small_block().save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CorpusFormatError, match="damaged"):
        TokenBlock.load(path)


def test_a_block_of_a_newer_version_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(block_module, "FORMAT_VERSION", 2)
        small_block().save(tmp_path / "block.npz")
    with pytest.raises(UnsupportedVersionError, match="newer"):
        TokenBlock.load(tmp_path / "block.npz")


def test_another_archive_is_not_a_block(tmp_path: Path) -> None:
    packed = io.BytesIO()
    np.savez(packed, x=np.zeros(3))
    (tmp_path / "x.npz").write_bytes(packed.getvalue())
    with pytest.raises(CorpusFormatError, match=r"x\.npz"):
        TokenBlock.load(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("word_of", "doc_start", "n_ids"),
    [
        ([0, -1, 1, -1], [0, 2], 1),  # tokens behind the last document
        ([0, -1, 1, -1], [0, 4], 2),
        ([0, -1, 2, -1], [0, 4], 1),  # a word that is not there
        ([0, -1, 1], [0, 3], 1),  # a run without its end
        ([0, 1, -1], [0, 1, 3], 2),  # a run over two documents
        ([0, -1], [0, 3, 2], 2),
        ([-2, -1], [0, 2], 1),
    ],
)
def test_contradictory_arrays_are_refused(
    word_of: list[int], doc_start: list[int], n_ids: int
) -> None:
    ids = tuple("x" * n_ids)
    with pytest.raises(ValueError, match="contradict"):
        TokenBlock(("a", "b"), np.array(word_of, dtype=np.int32), np.array(doc_start), ids, ids)
