from unittest import mock

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import UnsupportedPipelineError
from corpora.tokens import fast_annotator
from corpora.tokens.fast.lexicon import Lexicon
from corpora.tokens.fast_annotator import FastAnnotator, decoded
from downloader.sources import read_source, sample_path
from tests.corpora.tokens.fast.english import encode, english

WORDS = st.sampled_from(
    [
        *("gonna", "Let's", "let 's", "ain't", "y'all", "gotta", "c'mon", "there", "is", "that"),
        *("The", "running", "ran", "better", "best", "mice", "saw", "saws", "left", "leaves", "us"),
        *("because", "he", "'s", "n't", "U.S.", "1984", "km²", "\n\n", "  ", "\t", "—", "(", ")."),
        *("Wien", "naïve", "colour", "data", "to", "be", "or", "not", "had", "been", "being"),
    ]
)


@pytest.fixture(scope="module")
def nlp():
    return english()


@pytest.fixture(scope="module")
def annotator(nlp):
    return FastAnnotator(nlp)


def plain(nlp, texts):
    docs = nlp.pipe(texts)
    return [(token.lemma_, token.pos_, token.tag_) for doc in docs for token in doc]


def tokens_of(annotation):
    return list(zip(*decoded(annotation), strict=True))


def sample_texts():
    return [article.text[:9000] for article in read_source("sample", str(sample_path()))]


@pytest.mark.slow
def test_every_token_of_the_sample(nlp, annotator):
    texts = sample_texts()[:25]
    annotation = annotator.annotate(texts)
    assert annotation.n_texts == len(texts)
    assert annotation.n_tokens > 30_000
    assert tokens_of(annotation) == plain(nlp, texts)
    lengths = [len(nlp.make_doc(text)) for text in texts]
    assert np.diff(annotation.text_start).tolist() == lengths
    stops = [token.is_stop for text in texts for token in nlp.make_doc(text)]
    assert annotation.is_stop.tolist() == stops


@pytest.mark.slow
def test_every_token_of_the_whole_sample(nlp, annotator):
    texts = [article.text for article in read_source("sample", str(sample_path()))]
    assert tokens_of(annotator.annotate(texts)) == plain(nlp, texts)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=4))
def test_any_texts(nlp, annotator, texts):
    assert tokens_of(annotator.annotate(texts)) == plain(nlp, texts)


@settings(max_examples=30, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_any_characters(nlp, annotator, text):
    assert tokens_of(annotator.annotate([text])) == plain(nlp, [text])


def test_no_texts(annotator):
    assert annotator.annotate([]).n_texts == 0
    empty = annotator.annotate(["", ""])
    assert (empty.n_texts, empty.n_tokens, empty.lemmas) == (2, 0, ())


@pytest.mark.slow
def test_what_came_before_changes_nothing(nlp, annotator):
    texts = sample_texts()[30:40]
    annotator.annotate(sample_texts()[:5])
    warm, cold = annotator.annotate(texts), FastAnnotator(nlp).annotate(texts)
    with mock.patch.object(fast_annotator, "MAX_ROWS", 100):
        forgetful = FastAnnotator(nlp)
        for text in texts[:3]:
            forgetful.annotate([text])
        after = forgetful.annotate(texts)
    for other in (cold, after):
        for name in ("lemma_of", "tag_of", "pos", "is_stop", "text_start"):
            np.testing.assert_array_equal(getattr(warm, name), getattr(other, name))
        assert (warm.lemmas, warm.tags) == (other.lemmas, other.tags)


@pytest.mark.slow
def test_what_else_is_annotated_changes_nothing(nlp):
    text = sample_texts()[3][:3000]
    expected = encoded_of(FastAnnotator(nlp), [text])[0]
    for others in (["a"], ["a b", "", "c d e"], sample_texts()[5:7]):
        again = encoded_of(FastAnnotator(nlp), [*others, text, "z"])[len(others)]
        np.testing.assert_array_equal(again, expected)


def encoded_of(annotator, texts):
    rows, start = annotator._lexicon.rows_of(texts)
    encoded = encode(annotator._tagger, rows, start, annotator._lexicon.embedding)
    return np.split(encoded, start[1:-1])


@pytest.mark.parametrize("where", ["_describe", "_tokenize"])
def test_an_interrupt_in_the_middle_leaves_nothing_half_learned(nlp, annotator, where):
    texts = ["Unheardofwords were interrupted here.", "Others came after."]
    expected = tokens_of(FastAnnotator(nlp).annotate(texts))
    with (
        mock.patch.object(Lexicon, where, side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        annotator.annotate(["Interruptedwords one two three."])
    assert tokens_of(annotator.annotate(texts)) == expected


def test_the_memory_of_words_is_bounded(nlp):
    with mock.patch.object(fast_annotator, "MAX_ROWS", 1000):
        annotator, rows = FastAnnotator(nlp), []
        for start in range(0, 3000, 500):
            annotator.annotate([" ".join(f"w{i}x" for i in range(start, start + 500))])
            rows.append(annotator.n_remembered)
    assert max(rows) <= 1000 + 501


def broken(change):
    nlp = english()
    if change == "no ruler":
        nlp.remove_pipe("attribute_ruler")
    elif change == "another component":
        nlp.add_pipe("sentencizer")
    elif change == "order":
        nlp.remove_pipe("lemmatizer")
        nlp.add_pipe("lemmatizer", before="tagger")
    elif change == "rule of the tokenizer":
        nlp.tokenizer.add_special_case("New York", [{"ORTH": "New York"}])
    elif change == "pattern":
        nlp.get_pipe("attribute_ruler").add([[{"IS_TITLE": True}]], {"LEMMA": "x"})
    elif change == "network":
        model = nlp.get_pipe("tok2vec").model
        model.layers[1].attrs["pad"] = 1
    return nlp


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *(("no ruler", "components"), ("another component", "sentencizer")),
        *(("order", "components"), ("rule of the tokenizer", "New York"), ("pattern", "IS_TITLE")),
        ("network", "convolutions"),
    ],
)
def test_another_pipeline_is_refused(change, reason):
    with pytest.raises(UnsupportedPipelineError, match=reason):
        FastAnnotator(broken(change))


def test_a_network_that_gives_something_else_is_refused(nlp):
    weights = fast_annotator._weights

    def no_scale(layer, name):
        found, shift = weights(layer, name)
        return (np.zeros_like(found) if name == "G" else found), shift

    with (
        mock.patch.object(fast_annotator, "_weights", no_scale),
        pytest.raises(UnsupportedPipelineError, match="network"),
    ):
        FastAnnotator(nlp)


def test_a_blank_pipeline_is_refused():
    with pytest.raises(UnsupportedPipelineError):
        FastAnnotator(spacy.blank("en"))
