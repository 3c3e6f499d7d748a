import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.tokens import pieces as pieces_module
from corpora.tokens.pieces import MAX_PIECE, pieces_of


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(pieces_module, "MAX_PIECE", 20)


def test_a_short_text_is_one_piece_without_headings():
    assert list(pieces_of("One.\n\nTwo.\n")) == ["One.\n\nTwo."]
    assert list(pieces_of(" \n\n")) == []
    assert list(pieces_of("")) == []
    assert list(pieces_of("One.\n\n=== Early ===\n\nTwo.")) == ["One.\n\n\n\nTwo."]
    assert list(pieces_of("=== Early ===")) == []


def test_a_cut_is_at_a_paragraph_or_else_a_line_or_else_a_space(short):
    assert list(pieces_of("aa aa\n\nbb\nbb bb bb bb bb")) == ["aa aa", "bb\nbb bb bb bb bb"]
    assert list(pieces_of("aa aa\nbb bb bb bb bb bb bb")) == ["aa aa", "bb bb bb bb bb bb bb"]
    assert list(pieces_of("aa bb cc dd ee ff gg hh ii")) == ["aa bb cc dd ee ff gg", "hh ii"]


def test_a_long_text_without_a_space_is_cut():
    text = "a" * (2 * MAX_PIECE + 5)
    assert [len(piece) for piece in pieces_of(text)] == [MAX_PIECE, MAX_PIECE, 5]


@given(st.text(st.sampled_from("ab \n"), max_size=100))
def test_every_letter_stays_in_order_and_no_piece_is_too_long(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces_module, "MAX_PIECE", 7)
        pieces = list(pieces_of(text))
    assert all(1 <= len(piece) <= 7 for piece in pieces)
    assert all(piece == piece.strip() for piece in pieces)
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)


@given(st.lists(st.text(st.sampled_from("ab"), min_size=1, max_size=7), max_size=30))
def test_words_that_fit_are_never_cut(words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces_module, "MAX_PIECE", 7)
        assert " ".join(pieces_of(" ".join(words))).split() == words


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert list(pieces_of("green \ud83d apples")) == ["green ? apples"]
