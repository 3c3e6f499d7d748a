import math

import numpy as np
import pytest
from gensim.models.phrases import npmi_scorer, original_scorer
from hypothesis import given
from hypothesis import strategies as st

from corpora.tokens.collocation_scores import classic_scores, npmi_scores

counts = st.integers(1, 10**12) | st.integers(1, 20)


@st.composite
def possible_counts(draw):
    """n_a, n_b, n_ab and the number of tokens, as a text can have them."""
    n_ab = draw(counts)
    n_a, n_b = n_ab + draw(counts) - 1, n_ab + draw(counts) - 1
    return n_a, n_b, n_ab, n_a + n_b + draw(counts)


def npmi(n_a, n_b, n_ab, n_tokens):
    return float(npmi_scores(*(np.array([n]) for n in (n_a, n_b, n_ab)), n_tokens)[0])


@given(
    *(st.integers(0, 10**12) | st.integers(0, 9) for _ in range(3)),
    st.integers(1, 10**12) | st.integers(1, 9),
)
def test_npmi_is_from_minus_1_to_1_whatever_the_counts(n_a, n_b, n_ab, n_tokens):
    assert -1 <= npmi(n_a, n_b, n_ab, n_tokens) <= 1


@given(possible_counts())
def test_npmi_is_gensims_number_cut_to_its_bounds(counts):
    n_a, n_b, n_ab, n_tokens = counts
    theirs = npmi_scorer(n_a, n_b, n_ab, 0, 1, n_tokens)
    # What rounding adds, however small: the formula itself does not leave its bounds.
    assert abs(theirs) <= 1 + 1e-6
    assert npmi(*counts) == min(1.0, max(-1.0, theirs))


def test_npmi_at_its_bounds_and_of_nothing():
    assert npmi(5, 5, 5, 11) == 1 < npmi_scorer(5, 5, 5, 0, 1, 11)
    assert npmi(5, 5, 5, 5) == 1  # gensim divides by zero
    with pytest.raises(ZeroDivisionError):
        npmi_scorer(5, 5, 5, 0, 1, 5)
    assert npmi(2, 3, 0, 9) == -1
    assert npmi(2, 2, 7, 9) == 1 < npmi_scorer(2, 2, 7, 0, 1, 9)  # more pairs than words
    assert npmi(3, 3, 1, 9) == pytest.approx(0, abs=1e-12)  # as chance has it
    assert npmi(4, 5, 2, 100) == pytest.approx(math.log(10) / math.log(50))
    none = np.zeros(0, dtype=np.int64)
    assert npmi_scores(none, none, none, 0).tolist() == []
    assert classic_scores(none, none, none, 0, 1).tolist() == []


@given(possible_counts(), st.integers(1, 10**9), st.integers(1, 30))
def test_classic_scores_are_gensims(counts, n_entries, min_count):
    n_a, n_b, n_ab, n_tokens = counts
    (score,) = classic_scores(*(np.array([n]) for n in (n_a, n_b, n_ab)), n_entries, min_count)
    theirs = original_scorer(n_a, n_b, n_ab, n_entries, min_count, n_tokens)
    # Beyond 2⁵³ the product of the counts is rounded once by gensim, and here each of them too.
    assert score == (theirs if n_a * n_b < 2**53 else pytest.approx(theirs, rel=1e-15))
    assert (score > 0) == (n_ab > min_count)
