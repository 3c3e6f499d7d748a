from itertools import pairwise

import numpy as np
import pytest

from corpora import PlainAnnotator, load_model
from corpora.tokens.annotation import PARTS_OF_SPEECH

TEXTS = [
    "Apple's CEO didn't say that they were the best; Berlin's foxes ran (quickly)!",
    "",
    "In 1999 the new York–based company, U.S.A., sold 3,000 cafe\u0301s \n\n for $5m.",
]


def rows_of(annotation):
    rows = [
        (annotation.lemmas[a], annotation.tags[b], PARTS_OF_SPEECH[c], bool(d))
        for a, b, c, d in zip(
            annotation.lemma_of, annotation.tag_of, annotation.pos, annotation.is_stop, strict=True
        )
    ]
    return [rows[start:end] for start, end in pairwise(annotation.text_start.tolist())]


@pytest.mark.parametrize("noun_chunks", [False, True])
def test_english_is_annotated_as_spacy_does(noun_chunks):
    nlp = load_model("", noun_chunks=noun_chunks)
    annotation = PlainAnnotator(nlp, noun_chunks=noun_chunks).annotate(TEXTS)
    docs = [nlp(text) for text in TEXTS]
    assert rows_of(annotation) == [
        [(token.lemma_, token.tag_, token.pos_, token.is_stop) for token in doc] for doc in docs
    ]
    assert annotation.lemmas == tuple(sorted(set(annotation.lemmas)))
    if not noun_chunks:
        assert len(annotation.continues_chunk) == 0
        return
    expected = []
    for doc in docs:
        inside = [i for chunk in doc.noun_chunks for i in range(chunk.start + 1, chunk.end)]
        expected += [token.i in inside for token in doc]
    assert annotation.continues_chunk.tolist() == expected


def test_noun_chunks_of_a_sentence():
    nlp, text = load_model("", noun_chunks=True), "The big dog chased a small grey cat."
    found = PlainAnnotator(nlp, noun_chunks=True).annotate([text]).continues_chunk
    assert found.tolist() == [False, True, True, False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("language", "text", "lemmas", "stop_words"),
    [
        ("de", "Die Häuser UND Städte.", ["die", "häuser", "und", "städte", "."], ["die", "und"]),
        ("hi", "विज्ञान और भाषा", ["विज्ञान", "और", "भाषा"], ["और"]),
        ("xx", "Wē the People", ["wē", "the", "people"], []),
    ],
)
def test_blank_models_give_lower_case_forms_and_stop_words(language, text, lemmas, stop_words):
    (rows,) = rows_of(PlainAnnotator(load_model(f"blank:{language}")).annotate([text]))
    assert ([row[0] for row in rows], [row[0] for row in rows if row[3]]) == (lemmas, stop_words)
    assert {(row[1], row[2]) for row in rows} == {("", "")}


def test_no_texts_make_an_empty_annotation_and_strings_do_not_stay():
    annotation = PlainAnnotator(load_model("blank:en")).annotate([])
    assert (annotation.n_texts, annotation.n_tokens, annotation.lemmas) == (0, 0, ())
    np.testing.assert_array_equal(annotation.text_start, [0])
    nlp = load_model("")
    annotator = PlainAnnotator(nlp)
    annotator.annotate(["The"])
    before = len(nlp.vocab.strings)
    annotator.annotate(["Zyxwvutly qwertified blorptastic snarfblatts."])
    assert len(nlp.vocab.strings) == before
