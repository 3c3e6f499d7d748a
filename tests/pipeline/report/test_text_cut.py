"""What is left of a text that is cut."""

from __future__ import annotations

import html

from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.text_cut import BYTES_OF_TOPIC, cost, cut

texts = st.text(st.sampled_from("ab <&'\"é語😀\n"), max_size=30)
words = st.text(st.sampled_from("ab<é"), min_size=1, max_size=8)


@st.composite
def pieces_of_odd_number(draw: st.DrawFn) -> list[str]:
    pieces = [draw(texts)]
    for _ in range(draw(st.integers(0, 6))):
        pieces += [draw(words), draw(texts)]
    return pieces


@given(text=texts)
def test_no_page_takes_more_than_is_thought(text: str) -> None:
    assert len(html.escape(text).encode()) <= cost(text)


@given(pieces=pieces_of_odd_number(), most_words=st.integers(1, 6), most_bytes=st.integers(1, 200))
def test_what_is_left(pieces: list[str], most_words: int, most_bytes: int) -> None:
    left, n_words, is_cut = cut(pieces, most_words, most_bytes)
    assert len(left) == 2 * n_words + 1
    assert left[:-1] == pieces[: 2 * n_words]
    assert n_words <= most_words
    assert "".join(pieces).startswith("".join(left))
    assert is_cut == ("".join(left) != "".join(pieces))
    assert sum(map(cost, left)) + BYTES_OF_TOPIC * n_words <= most_bytes
    if is_cut and 0 < n_words < len(pieces) // 2:
        # It ends with a word, and the next one would have been too much.
        assert left[-1] == ""
        more = sum(map(cost, pieces[: 2 * n_words + 2])) + BYTES_OF_TOPIC * (n_words + 1)
        assert n_words == most_words or more > most_bytes


def test_a_text_that_fits_is_whole() -> None:
    pieces = ["The ", "river", " and the ", "lake", "."]
    assert cut(pieces, 2) == (pieces, 2, False)
    assert cut(pieces, 1) == (["The ", "river", ""], 1, True)


def test_a_long_text_without_a_known_word_ends_between_two_words() -> None:
    assert cut(["one two three"], 5, 11) == (["one two"], 0, True)
    assert cut(["one two three", "four", ""], 5, 11) == (["one two"], 0, True)
    assert cut(["", "one", " two three"], 5, 11 + 3) == (["", "one", ""], 1, True)
    assert cut(["", "one", " two three"], 5, 11 + 5) == (["", "one", " two"], 1, True)
    assert cut(["onetwothree"], 5, 6) == (["onetwo"], 0, True)
