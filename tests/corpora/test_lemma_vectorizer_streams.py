"""`LemmaVectorizer.partial_fit`: columns of new words follow those of earlier calls."""

import numpy as np
import pytest

from corpora import EmptyVocabularyError, LemmaVectorizer
from models import OnlineLDA


def split(text):
    return text.split()


def vectorizer(**settings):
    return LemmaVectorizer(
        **{"analyzer": split, "bigrams": "none", "min_df": 2, "max_df": 0.8, **settings}
    )


FIRST = ["b a", "b c", "a", "x d", ""]
SECOND = ["z b a2", "a2 z y", "x z z", "a2 b", "x", "q"]


def test_the_first_call_is_fit():
    one, other = vectorizer(), vectorizer()
    assert one.partial_fit(FIRST) is one
    assert one.vocabulary_ == other.fit(FIRST).vocabulary_ == ("a", "b")
    counts = vectorizer().partial_fit_transform(FIRST)
    assert (counts != other.transform(FIRST)).nnz == 0
    with pytest.raises(EmptyVocabularyError):
        vectorizer().partial_fit(["one", "two"])


def test_new_words_follow_earlier_ones():
    stream = vectorizer().partial_fit(FIRST)
    counts = stream.partial_fit_transform(SECOND)
    assert stream.vocabulary_ == ("a", "b", "a2", "x", "z")  # x: in two texts of this call
    assert counts.toarray()[:3].tolist() == [[0, 1, 1, 0, 1], [0, 0, 1, 0, 1], [0, 0, 0, 1, 2]]
    assert (stream.transform(SECOND) != counts).nnz == 0
    assert stream.partial_fit(["new words"]).vocabulary_ == ("a", "b", "a2", "x", "z")
    assert stream.partial_fit([]).vocabulary_ == ("a", "b", "a2", "x", "z")
    frequent = ["w v"] * 4 + ["v"]  # v is in all texts, and w in no more than the share max_df
    assert stream.partial_fit(frequent).vocabulary_[5:] == ("w",)
    assert stream.fit(FIRST).vocabulary_ == ("a", "b")


@pytest.mark.parametrize(("most", "new"), [(2, ()), (3, ("z",)), (4, ("a2", "z")), (None, 3)])
def test_columns_end_at_max_features(most, new):
    stream = vectorizer(max_features=most).partial_fit(FIRST)
    found = stream.partial_fit(["z", *SECOND]).vocabulary_[2:]
    assert found == (new if new != 3 else ("a2", "x", "z"))


def test_new_bigrams_are_columns_too():
    texts = ["new york is a big city", "the new city", "york has a big park"] * 10
    settings = {"bigrams": "npmi", "bigram_min_count": 3, "bigram_threshold": 0.9, "max_df": 1.0}
    stream = vectorizer(**settings).partial_fit(["new york city is big"] * 2 + ["park", "park"])
    assert not any("_" in word for word in stream.vocabulary_)
    later = ["saint paul is a city", "saint paul park", "the city is new"] * 4
    counts = stream.partial_fit_transform(later)
    assert ("saint", "paul") in stream.bigrams_.scores
    assert "saint_paul" in stream.vocabulary_
    assert "saint" not in stream.vocabulary_
    assert counts[:, [stream.vocabulary_.index("saint_paul")]].sum() == 8
    kept = dict(stream.bigrams_.scores)
    stream.partial_fit(texts)
    assert kept.items() <= stream.bigrams_.scores.items()


def test_a_pair_without_a_column_leaves_its_words_alone():
    """Pairs count occurrences and columns count texts: this one is in one text only."""
    settings = {"bigrams": "npmi", "bigram_min_count": 3, "bigram_threshold": 0.5}
    stream = vectorizer(**settings).partial_fit(["red fox", "fox red", "sea", "sea"])
    counts = stream.partial_fit_transform(["red fox " * 5, "sea", "sea"])
    assert stream.bigrams_.scores == {}
    assert counts[:, [stream.vocabulary_.index("red")]].sum() == 5


def test_a_stream_of_texts_is_learned():
    stream = vectorizer()
    model = OnlineLDA(2, growing_vocabulary=True, random_state=0)
    for texts in (FIRST, SECOND):
        model.partial_fit(stream.partial_fit_transform(texts))
    assert model.topics_.topic_word.shape == (2, 5)
    assert np.isfinite(model.score(stream.transform(SECOND)))
    pytest.importorskip("pandas")
    stream = vectorizer().set_output(transform="pandas")
    model = OnlineLDA(2, growing_vocabulary=True, random_state=0)
    for texts in (FIRST, SECOND):
        model.partial_fit(stream.partial_fit_transform(texts))
    assert list(model.feature_names_in_) == ["a", "b", "a2", "x", "z"]
