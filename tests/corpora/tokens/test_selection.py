from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st
from spacy.lang.en.stop_words import STOP_WORDS

from corpora import AnnotatedArticles, PlainAnnotator, annotate_articles, select
from corpora.articles.article import Article, without_headings
from corpora.tokens import annotate as annotate_module
from corpora.tokens import pieces as pieces_module
from corpora.tokens.annotation import PARTS_OF_SPEECH
from corpora.tokens.block import BREAK
from corpora.tokens.settings import UNIVERSAL_PARTS_OF_SPEECH, TextSettings
from corpora.tokens.spacy_model import load_model, stop_words_of
from corpora.tokens.word_form import is_alphabetic, normalized
from tests.corpora.tokens.models import all_nouns
from tests.corpora.tokens.scripted import Scripted, nouns

tokens = st.tuples(
    st.sampled_from(["ox", "Ox", "the", "Cafe\u0301", "x-1", "विज्ञान", "apple", "be", "12"]),
    st.sampled_from(["NN", "VB", ""]),
    st.sampled_from(["NOUN", "VERB", "ADJ", "SPACE", "PUNCT", ""]),
    st.sampled_from(["-", "s", "c", "sc"]),
)
sections = st.lists(
    st.tuples(st.sampled_from(["", "History", "Use"]), st.lists(tokens, max_size=8)), max_size=4
)
choices = st.builds(
    TextSettings,
    spacy_model=st.sampled_from(["", "blank:en"]),
    parts_of_speech=st.lists(st.sampled_from(UNIVERSAL_PARTS_OF_SPEECH), min_size=1).map(tuple),
    min_length=st.integers(1, 5),
    extra_stop_words=st.lists(st.sampled_from(["APPLE", "ox", "none"])).map(tuple),
    documents=st.sampled_from(["article", "section"]),
)
TEXT = """Mr Obama visited the largest cities of Germany in 2009; journalists wrote stories.

Cafe\u0301 owners in New York sold paintings – and COVID-19 vaccines, state-of-the-art!

== History ==

Oncogenes are mutated genes.

=== Early years ===
Scientists discovered viruses
and the quick brown foxes were jumping over lazy dogs.

== See also ==
"""


def article(text, number=7, title="Anarchism"):
    return Article(number, 0, title, "", "", "en", "", text)


def runs_of(block):
    return [block.runs(d) for d in range(block.n_docs)]


def naive(articles, choice, *, noun_chunks):
    """Ids, titles and runs of (word, part of speech, continues chunk), a token at a time."""
    doc_ids, titles, documents = [], [], []
    dropped = {"the", "be", *(word.lower() for word in choice.extra_stop_words)}
    for a, article_sections in enumerate(articles):
        in_sections = []
        for heading, section in article_sections:
            runs = [[]]
            for lemma, _, pos, flags in section:
                word = normalized(lemma)
                if (
                    (pos in choice.parts_of_speech or choice.spacy_model)
                    and "s" not in flags
                    and len(word) >= choice.min_length
                    and is_alphabetic(word)
                    and word not in dropped
                ):
                    runs[-1].append((word, pos, noun_chunks and "c" in flags and runs[-1] != []))
                else:
                    runs.append([])
            in_sections.append((heading, [run for run in runs if run]))
        if choice.documents == "article":
            doc_ids.append(f"en:{a}")
            titles.append(f"Title {a}")
            documents.append([run for _, runs in in_sections for run in runs])
            continue
        for number, (heading, runs) in enumerate(in_sections, start=1):
            doc_ids.append(f"en:{a}#{number}")
            titles.append(f"Title {a} § {heading}" if heading else f"Title {a}")
            documents.append(runs)
    return doc_ids, titles, documents


@given(
    articles=st.lists(sections, max_size=4),
    choice=choices,
    noun_chunks=st.booleans(),
    together=st.sampled_from([1, 60, 10_000]),
    one_by_one=st.booleans(),
)
def test_any_annotation_is_selected_from_as_by_a_loop(
    articles, choice, noun_chunks, together, one_by_one
):
    # A lead, which has no heading, comes first or not at all; sections without text are left out.
    given_articles = [
        [
            (heading, section)
            for i, (heading, section) in enumerate(each)
            if section and (heading or i == 0)
        ]
        for each in articles
    ]
    texts = [
        "\n\n".join(
            (f"== {heading} ==\n\n" if heading else "")
            + " ".join("/".join(token) for token in section)
            for heading, section in each
        )
        for each in given_articles
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotate_module, "TOGETHER", together)
        annotated = annotate_articles(
            [article(text, a, f"Title {a}") for a, text in enumerate(texts)],
            Scripted(noun_chunks=noun_chunks),
            ["The", "be"],
            one_by_one=one_by_one,
        )
    doc_ids, titles, documents = naive(given_articles, choice, noun_chunks=noun_chunks)
    block = select(annotated, choice)
    assert (list(block.doc_ids), list(block.titles)) == (doc_ids, titles)
    assert runs_of(block) == [[[word for word, _, _ in run] for run in runs] for runs in documents]
    assert block.words == tuple(
        sorted({word for runs in documents for run in runs for word, _, _ in run})
    )
    flat = [entry for runs in documents for run in runs for entry in (*run, (None, "", False))]
    assert [PARTS_OF_SPEECH[pos] for pos in block.pos_of.tolist()] == [pos for _, pos, _ in flat]
    assert block.continues_chunk.tolist() == [chunk for _, _, chunk in flat]
    assert (block.word_of.dtype, block.doc_start.dtype) == (np.int32, np.int64)


def test_how_many_are_annotated_together_is_of_no_account(monkeypatch):
    articles = [article(nouns(f"new york {n} times"), n) for n in range(10)]

    def found(annotator, **how):
        return annotate_articles(articles, annotator, ["the"], **how)

    whole, alone, parts = Scripted(), Scripted(), Scripted()
    expected, others = found(whole), [found(alone, one_by_one=True)]
    monkeypatch.setattr(annotate_module, "TOGETHER", 100)
    others.append(found(parts))
    assert [len(each.calls) for each in (whole, alone, parts)] == [1, 10, 5]
    for other in others:
        for name in AnnotatedArticles.__dataclass_fields__:
            assert np.array_equal(getattr(other, name), getattr(expected, name)), name


def test_articles_that_are_passed_over_have_no_words():
    articles = [article(nouns("a b"), 1), article(nouns("c") + "\n\n== H ==\nx", 2)]
    annotator = Scripted()
    annotated = annotate_articles(articles, annotator, [], skipped={1})
    assert annotated.skipped == ("en:2",)
    assert annotator.calls == [[nouns("a b")]]
    settings = TextSettings(min_length=1)
    assert runs_of(select(annotated, settings)) == [[["a", "b"]], []]
    assert select(annotated, replace(settings, documents="section")).doc_ids == ("en:1#1",)


@pytest.fixture(scope="module")
def english():
    return load_model("")


def naive_runs(doc, choice):
    """The runs of a piece, a token at a time."""
    runs = [[]]
    for token in doc:
        word = normalized(token.lemma_)
        keep = token.pos_ in choice.parts_of_speech and not token.is_stop
        if (
            keep
            and len(word) >= choice.min_length
            and is_alphabetic(word)
            and word not in STOP_WORDS
            and word not in choice.extra_stop_words
        ):
            runs[-1].append(word)
        else:
            runs.append([])
    return [run for run in runs if run]


@pytest.mark.parametrize(
    "choice",
    [
        TextSettings(),
        TextSettings(parts_of_speech=("NOUN", "PROPN"), min_length=1),
        TextSettings(parts_of_speech=("VERB", "NUM", "ADP"), extra_stop_words=("visit",)),
    ],
)
def test_english_is_selected_as_by_a_loop_over_spacys_tokens(choice, english):
    lines = Path(datapath("lee_background.cor")).read_text("utf-8").splitlines()[:8]
    articles = [article(text, n) for n, text in enumerate([TEXT, *lines, ""])]
    annotated = annotate_articles(articles, PlainAnnotator(english), stop_words_of(""))
    expected = [
        [naive_runs(english(without_headings(text).strip()), choice) for _, text in each.sections()]
        for each in articles
    ]
    assert runs_of(select(annotated, choice)) == [list(chain(*each)) for each in expected]
    by_section = select(annotated, replace(choice, documents="section"))
    assert runs_of(by_section) == [runs for each in expected for runs in each]


def english_runs(text, english, choice=None):
    annotated = annotate_articles([article(text)], PlainAnnotator(english), stop_words_of(""))
    (runs,) = runs_of(select(annotated, choice or TextSettings()))
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
        ("Workers said prices rose.", [["worker"], ["price", "rise"]]),  # to say is a stop word
        *(("", []), ("... 1234 -- of the", [])),
    ],
)
def test_hand_labelled_english(text, runs, english):
    assert english_runs(text, english) == runs


def test_settings_choose_the_words(english):
    text = "The old ox of Berlin slowly ate green apples."
    some = TextSettings(parts_of_speech=("NOUN", "PROPN"), min_length=2)
    assert english_runs(text, english, some) == [["ox"], ["berlin"], ["apple"]]
    stop = TextSettings(extra_stop_words=("Apple", "EAT"))
    assert english_runs(text, english, stop) == [["old"], ["slowly"], ["green"]]


def test_words_of_one_noun_chunk_are_marked():
    annotator = PlainAnnotator(load_model("", noun_chunks=True), noun_chunks=True)
    text = article("Young scientists discovered deadly viruses yesterday.")
    block = select(annotate_articles([text], annotator, stop_words_of("")), TextSettings())
    words = ["young", "scientist", "discover", "deadly", "virus", "yesterday"]
    assert block.runs(0)[0][: len(words) - 1] == words[:-1]
    assert block.continues_chunk[:5].tolist() == [False, True, False, False, True]
    parts = [PARTS_OF_SPEECH[pos] for pos in block.pos_of[:5].tolist()]
    assert parts == ["ADJ", "NOUN", "VERB", "ADJ", "NOUN"]
    assert block.pos_of[block.word_of == BREAK].tolist() == [0]


@pytest.mark.parametrize(
    ("model", "text", "runs"),
    [
        ("blank:de", "Die alten Häuser und 12 Städte.", [["alten", "häuser"], ["städte"]]),
        ("blank:hi", "विज्ञान पुस्तक, २०१९ भाषा", [["विज्ञान", "पुस्तक"], ["भाषा"]]),
        ("blank:xx", "Stari grad – the Old town", [["stari", "grad"], ["the", "old", "town"]]),
    ],
)
def test_a_blank_model_keeps_all_words_of_letters(model, text, runs):
    annotator = PlainAnnotator(load_model(model))
    annotated = annotate_articles([article(text)], annotator, stop_words_of(model))
    nouns_only = TextSettings(spacy_model=model, parts_of_speech=("NOUN",))
    assert runs_of(select(annotated, nouns_only)) == [runs]


@pytest.mark.parametrize("separator", [" ", "\n", "\n\n"])
def test_a_long_text_keeps_every_word_and_a_cut_ends_a_run(separator, monkeypatch):
    monkeypatch.setattr(pieces_module, "MAX_PIECE", 1000)
    words = [f"word{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10 % 10]}" for i in range(2000)]
    text = separator.join(words)
    annotated = annotate_articles([article(text)], PlainAnnotator(all_nouns()), ())
    (runs,) = runs_of(select(annotated, TextSettings()))
    assert [word for run in runs for word in run] == words
    if separator == " ":
        assert len(runs) == len(annotated.piece_start) - 1 == len(text) // 1000 + 1


def test_long_texts_and_half_surrogate_pairs_go_through():
    nlp = all_nouns()
    nlp.max_length = 10_000
    annotated = annotate_articles([article("river " * 40_000)], PlainAnnotator(nlp), ())
    assert select(annotated, TextSettings()).n_tokens == 40_000
    annotated = annotate_articles([article("green \ud83d apples")], PlainAnnotator(all_nouns()), ())
    assert runs_of(select(annotated, TextSettings())) == [[["green"], ["apples"]]]


def test_contradictory_arrays_are_refused():
    annotated = annotate_articles([article(nouns("a b"))], Scripted(), [])
    for change in (
        *({"entry_of": np.array([0, 9])}, {"is_alphabetic": np.zeros(5, dtype=bool)}),
        *({"piece_start": np.array([0, 1])}, {"section_start": np.array([0, 2])}),
        *({"article_start": np.array([1])}, {"headings": ()}, {"skipped": ("en:8",)}),
        {"continues_chunk": np.zeros(1, dtype=bool)},
    ):
        with pytest.raises(ValueError, match="contradict"):
            replace(annotated, **change)
