import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from corpora.errors import UnsupportedPipelineError
from corpora.tokens.fast.attribute_rules import AttributeRules, Ruled
from tests.corpora.tokens.fast.english import english

WORDS = st.sampled_from(
    [
        *("the", "dog", "That", "this", "ai", "n't", "nt", "gon", "na", "got", "ta", "let", "Let"),
        *("'s", "c'm", "on", "y'", "y", "all", "is", "gets", "because", "so", "it", "I", "\n", " "),
        *("something", "there", "'re", "Anyone", "ca", "can", "'d", "been", "had", "us", "you"),
    ]
)


@pytest.fixture(scope="module")
def nlp():
    return english()


def ruled_as_a_whole(ruler, words, tags):
    doc = ruler(Doc(ruler.vocab, words=words, tags=tags))
    return [Ruled(token.tag_, token.pos_, str(token.morph), token.lemma_) for token in doc]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_the_table_says_what_the_ruler_says(nlp, data):
    ruler = nlp.get_pipe("attribute_ruler")
    rules, labels = AttributeRules(ruler), nlp.get_pipe("tagger").labels
    tokens = data.draw(
        st.lists(st.tuples(WORDS, st.sampled_from(sorted(labels))), min_size=1, max_size=8)
    )
    words, tags = [word for word, _ in tokens], [tag for _, tag in tokens]
    expected, masks = ruled_as_a_whole(ruler, words, tags), rules.masks(words)
    for i, (word, tag) in enumerate(tokens):
        together = any(
            masks[i - k + j, j] & np.uint64(which) == masks[i - k + j, j]
            for length, which in rules.lengths.items()
            for k in range(length)
            for j in range(length)
            if i - k >= 0 and i - k + length <= len(words) and masks[i - k + j, j]
        )
        if not together:
            assert rules.ruled(word, tag) == expected[i], (word, tag)


def ruler_with(*patterns):
    ruler = spacy.blank("en").add_pipe("attribute_ruler")
    for i, pattern in enumerate(patterns):
        ruler.add(patterns=[pattern], attrs={"LEMMA": f"lemma{i}"})
    return ruler


def test_places_of_patterns_of_several_tokens():
    rules = AttributeRules(
        ruler_with(
            [{"LOWER": "new"}, {"ORTH": {"IN": ["York", "Delhi"]}}],
            [{"TAG": "NN"}, {"LOWER": {"REGEX": "^of$"}}, {"LOWER": "the"}],
            [{"DEP": "nsubj"}, {"LOWER": "never"}],
        )
    )
    assert (rules.lengths, rules.longest) == ({2: 1, 3: 2}, 3)
    masks = rules.masks(["New", "York", "york", "of", "the", "never"])
    assert masks.tolist() == [[3, 0, 0], [2, 1, 0], [2, 0, 0], [2, 2, 0], [2, 0, 2], [2, 0, 0]]


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        *(([{"LOWER": "a", "OP": "+"}], "OP"), ([{"NORM": "a"}], "NORM")),
        *(([{"LOWER": {"FUZZY": "a"}}], "FUZZY"), ([{"LENGTH": {">": 3}}], "LENGTH")),
        *(([{"_": {"mine": True}}], "_"), ([{"IS_TITLE": True}], "IS_TITLE")),
    ],
)
def test_what_it_does_not_know_is_refused(pattern, named):
    with pytest.raises(UnsupportedPipelineError, match=named):
        AttributeRules(ruler_with(pattern))


def test_a_word_that_only_a_regex_names():
    rules = AttributeRules(ruler_with([{"LOWER": {"REGEX": "ing$"}}], [{"ORTH": "Ab"}]))
    assert rules.ruled("going", "").lemma == "lemma0"
    assert rules.ruled("gone", "").lemma == ""
    assert rules.ruled("Ab", "").lemma == "lemma1"
    assert rules.ruled("ab", "").lemma == ""
