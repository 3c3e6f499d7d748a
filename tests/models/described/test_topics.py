"""Topics of any origin: what they need, and what they have a likelihood by."""

import numpy as np
import pytest

from models import LDATopics, SavedModel
from models.described.topics import DescribedTopics

WEIGHTS = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])


def test_words_are_the_heaviest_without_those_of_no_weight():
    topics = DescribedTopics.from_weights(WEIGHTS, ["a", "b", "c"])
    assert topics.words == (("a", "b"), ("c", "b"))
    assert topics.n_topics == 2
    shown = DescribedTopics.from_weights(WEIGHTS, ["a", "b", "c"], words=[["x"], ["y"]])
    assert shown.words == (("x",), ("y",))


@pytest.mark.parametrize(
    ("topics", "why"),
    [
        (DescribedTopics.from_words([["a", "b"]]), "word lists"),
        (DescribedTopics.from_weights(WEIGHTS - 0.1, "abc", alpha=1.0), "negative"),
        (DescribedTopics.from_weights([[1.0, 0.0], [0.0, 0.0]], "ab", alpha=1.0), "no weight"),
        (DescribedTopics.from_weights(WEIGHTS, "abc"), "no prior"),
    ],
)
def test_the_reason_for_no_likelihood(topics, why):
    assert why in topics.no_likelihood
    assert topics.lda is None


def test_weights_with_a_prior_are_lda():
    topics = DescribedTopics.from_weights(4 * WEIGHTS, "abc", alpha=0.5)
    assert topics.no_likelihood == ""
    assert topics.lda.topic_word == pytest.approx(WEIGHTS)
    assert topics.lda.alpha.tolist() == [0.5, 0.5]


def test_a_saved_model_is_described_by_its_weights():
    saved = SavedModel(LDATopics.from_weights(WEIGHTS + 0.1, 0.5), ("a", "b", "c"))
    topics = DescribedTopics.of(saved)
    assert topics.vocabulary == saved.vocabulary
    assert topics.words[1][0] == "c"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DescribedTopics.from_words([]), "no topic"),
        (lambda: DescribedTopics.from_words([["a", "a"]]), "twice"),
        (lambda: DescribedTopics.from_words(["river"]), "list of words"),
        (lambda: DescribedTopics.from_weights(WEIGHTS, "ab"), "column a word"),
        (lambda: DescribedTopics.from_weights(WEIGHTS * np.nan, "abc"), "finite"),
        (lambda: DescribedTopics.from_weights(WEIGHTS, "aba"), "twice"),
        (lambda: DescribedTopics.from_weights(WEIGHTS, "abc", alpha=[1.0, -1.0]), "alpha"),
        (
            lambda: DescribedTopics.from_weights(WEIGHTS, "abc", [[1.0, 0.0, 0.0]]),
            "a column a topic",
        ),
        (lambda: DescribedTopics.from_weights(WEIGHTS, "abc", [[1, 0]], ["x", "y"]), "one a row"),
        (lambda: DescribedTopics.from_weights(WEIGHTS, "abc", [[1, 0]] * 2, ["x", "x"]), "twice"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
