import pytest

from corpora import PlainAnnotator, load_annotator
from corpora.tokens import annotators
from tests.corpora.tokens.models import save_all_nouns


def test_a_pipeline_that_is_not_known_is_left_to_spacy_with_the_reason(tmp_path):
    said = []
    annotator = load_annotator(save_all_nouns(tmp_path), warn=said.append)
    assert isinstance(annotator, PlainAnnotator)
    (reason,) = said
    assert reason.startswith("the text stage runs at spaCy's own speed: ")
    assert annotator.annotate(["Old rivers"]).lemmas == ("Old", "rivers")


@pytest.mark.parametrize(("model", "noun_chunks"), [("blank:de", False), ("", True)])
def test_blank_models_and_noun_chunks_are_spacys_without_a_word(model, noun_chunks):
    said = []
    annotator = load_annotator(model, noun_chunks=noun_chunks, warn=said.append)
    assert isinstance(annotator, PlainAnnotator)
    assert said == []
    found = annotator.annotate(["Die neuen Häuser"])
    assert len(found.continues_chunk) == (found.n_tokens if noun_chunks else 0)


def test_the_small_english_model_is_known():
    said = []
    assert not isinstance(load_annotator("", warn=said.append), PlainAnnotator)
    assert said == []


def test_without_the_fast_annotator_spacy_does_it(monkeypatch):
    monkeypatch.setattr(annotators, "_fast_annotator", lambda *_: None)
    assert isinstance(load_annotator(""), PlainAnnotator)
