import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.tokens.word_form import is_alphabetic, normalized


def test_normalized_words_are_lower_case_and_composed():
    assert normalized("Cafe\u0301") == "café"


@pytest.mark.parametrize(
    ("word", "alphabetic"),
    [
        ("naïve", True),
        ("विज्ञान", True),  # Hindi, with vowel signs and a virama
        ("ความรู้", True),  # Thai, with tone marks
        *(("история", True), ("科学", True), ("علم", True), ("covid-19", False), ("x86", False)),
        ("२०१९", False),  # Hindi digits
        *(("a_b", False), ("", False)),
    ],
)
def test_letters_of_any_script_are_alphabetic(word, alphabetic):
    assert is_alphabetic(word) is alphabetic


@given(st.text(max_size=4))
def test_alphabetic_is_letters_and_marks(word):
    categories = {unicodedata.category(character)[0] for character in word}
    assert is_alphabetic(word) == (bool(word) and categories <= {"L", "M"})
