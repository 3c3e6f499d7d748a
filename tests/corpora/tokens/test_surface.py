from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st

from corpora import Article, Bigrams, Corpus, TextSettings, article_of, load_annotator, select
from corpora.tokens import pieces as pieces_module
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.fast_annotator import FastAnnotator
from corpora.tokens.pieces import pieces_of
from corpora.tokens.plain_annotator import PlainAnnotator
from corpora.tokens.spacy_model import load_model, stop_words_of, token_spans
from corpora.tokens.surface import surface, text_of
from corpora.tokens.word_form import is_alphabetic, normalized
from corpora.vocabulary import Pruning, learn_vocabulary
from downloader.sources import read_source, sample_path
from tests.corpora.tokens.blocks import learn_bigrams

BLANK = "blank:en"
NEW_YORK = Bigrams({("new", "york"): 1.0, ("york", "new"): 1.0, ("café", "café"): 1.0})
WORDS = ["New", "new", "York", "york", "café", "Cafe\u0301", "ΣΊΣΥΦΟΣ"]
PARTS = [
    *WORDS,
    *("the", "of", "12", ",", "-", "\ud83d", "— “", "x"),
    *(" ", " ", " ", "  ", "\t", "\u00a0", "\n", "\n\n"),
    *("\n== New York ==\n", "\n=== new york ===\n", "\n == a = ==\n", "\n==  ==\n", "a =="),
]
parts = st.lists(st.sampled_from(PARTS), max_size=40)
cut_apart = st.lists(
    st.sampled_from([part for part in PARTS if part not in "\t\u00a0"]), max_size=40
)
"""Pieces are cut between lines or at spaces, so that no word of these is cut."""
TOKENS = [" \n\nLet's see:  3.14 cafe\u0301s,\tO'Neill 😀 can't. ", "", "don't  "]


@cache
def annotator_of(model):
    return load_annotator(model)


def plain_surface(text, bigrams=None, min_length=3):
    how = TextSettings(spacy_model=BLANK, min_length=min_length)
    return surface(text, how, bigrams or Bigrams({}), annotator_of(BLANK), stop_words_of(BLANK))


def found(text, bigrams=None):
    where = plain_surface(text, bigrams)
    spans = zip(where.words, where.start.tolist(), where.end.tolist(), strict=True)
    return [(word, text[start:end]) for word, start, end in spans]


def naive_words(listed):
    """Runs of (word, start, end), a part at a time, if no two words touch."""
    runs, at = [[]], 0
    for part in listed:
        if part in WORDS:
            runs[-1].append((normalized(part), at, at + len(part)))
        elif part != " ":
            runs.append([])
        at += len(part)
    return runs


def naive_bigrams(runs):
    """The words with pairs joined from left to right; the halves stand in the same run."""
    joined = []
    for run in runs:
        i = 0
        while i < len(run):
            pair = run[i : i + 2]
            if len(pair) == 2 and (pair[0][0], pair[1][0]) in NEW_YORK.scores:
                joined.append((f"{pair[0][0]}_{pair[1][0]}", pair[0][1], pair[1][2]))
                i += 2
            else:
                joined.append(run[i])
                i += 1
    return joined


def spaced(listed):
    """Join the parts, with one space wherever two would touch and be another word, or a heading."""
    apart = []
    for part in listed:
        is_space = part.isspace()
        if apart and not (is_space or apart[-1].isspace() or "\n" in (part[0], apart[-1][-1])):
            apart.append(" ")
        if apart and is_space and apart[-1].isspace():
            apart[-1] += part
        else:
            apart.append(part)
    return apart


@given(listed=parts.map(spaced))
def test_words_are_found_where_they_were_put(listed):
    where = plain_surface("".join(listed), NEW_YORK)
    got = list(zip(where.words, where.start.tolist(), where.end.tolist(), strict=True))
    assert got == naive_bigrams(naive_words(listed))


@given(listed=cut_apart.map(spaced), longest=st.integers(8, 30))
def test_words_are_found_in_any_pieces(listed, longest):
    text = "".join(listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces_module, "MAX_PIECE", longest)
        where, joined = plain_surface(text), plain_surface(text, NEW_YORK)
    got = list(zip(where.words, where.start.tolist(), where.end.tolist(), strict=True))
    assert got == [word for run in naive_words(listed) for word in run]
    # Halves on both sides of a cut are no neighbours, but the words are the same.
    assert [half for word in joined.words for half in word.split("_")] == list(where.words)
    assert set(joined.start) <= set(where.start)
    assert set(joined.end) <= set(where.end)


def test_headings_and_half_surrogate_pairs_shift_nothing():
    text = "== New ==\n york\n=== Café ===\n\nnew York\n== York =="
    assert found(text, NEW_YORK) == [("york", "york"), ("new_york", "new York")]
    assert plain_surface(text).start.tolist() == [11, 30, 34]
    text = "apples \ud83d pears \ud83d\ude00 plums"
    assert found(text) == [("apples", "apples"), ("pears", "pears"), ("plums", "plums")]


def test_halves_of_a_bigram_are_neighbours_and_in_one_at_most():
    text = "New York, new, york; new of york; new\nyork; new york new york"
    pairs = [each for each in found(text, NEW_YORK) if "_" in each[0]]
    assert pairs == [("new_york", "New York"), ("new_york", "new york"), ("new_york", "new york")]
    assert found("café café café", NEW_YORK) == [("café_café", "café café"), ("café", "café")]


@pytest.mark.parametrize("text", ["", " \n", "== Heading ==", "the of", "\x00", "\u202e,"])
def test_a_text_without_words(text):
    where = plain_surface(text)
    assert (where.words, len(where.start), len(where.end)) == ((), 0, 0)


def test_text_of_articles_and_sections():
    text = "== A ==\n\n== B ==\nb\n=== C ===\nc\n== D ==\nd"
    article = Article(7, 0, "T", "", "", "en", "", text)
    assert text_of(article, "en:7") == article.text
    assert text_of(article, "en:7#1") == "b\n=== C ===\nc"
    assert text_of(article, "en:7#2") == "d"
    assert text_of(article, "en:7#3") is None
    assert text_of(article, "en:7#0") is None


@cache
def english():
    return load_model("")


def check_spans(spans, nlp):
    expected = [[(t.idx, t.idx + len(t)) for t in nlp.make_doc(text)] for text in TOKENS]
    assert [[tuple(span) for span in each.tolist()] for each in spans] == expected
    assert all(each.shape[1:] == (2,) for each in spans)


def test_spans_of_tokens_are_spacys():
    check_spans(token_spans(english(), TOKENS), english())
    check_spans(PlainAnnotator(english()).token_spans(TOKENS), english())
    check_spans(annotator_of(BLANK).token_spans(TOKENS), load_model(BLANK))


@pytest.mark.slow
def test_the_fast_annotator_has_the_same_spans():
    assert isinstance(annotator_of(""), FastAnnotator)
    check_spans(annotator_of("").token_spans(TOKENS), english())


def news(number):
    lines = Path(datapath("lee_background.cor")).read_text("utf-8").splitlines()[:number]
    halves = [line.partition(". ") for line in lines]
    return [
        Article(n, 0, "", "", "", "en", "", f"{lead}.\n== City news ==\n\n=== New ===\n{text}")
        for n, (lead, _, text) in enumerate(halves, 1)
    ]


def test_surfaces_are_the_text_of_spacys_tokens():
    nlp, how, stop_words = english(), TextSettings(), stop_words_of("")
    n_found = 0
    for article in news(5):
        where = surface(article.text, how, Bigrams({}), PlainAnnotator(nlp), stop_words)
        tokens = [
            token
            for _, text in article.sections()
            for piece in pieces_of(text)
            for token in nlp(piece)
        ]
        expected = [
            (token.text, word)
            for token in tokens
            if token.pos_ in how.parts_of_speech
            and not token.is_stop
            and is_alphabetic(word := normalized(token.lemma_))
            and len(word) >= how.min_length
            and word not in stop_words
        ]
        spans = zip(where.start.tolist(), where.end.tolist(), strict=True)
        surfaces = [article.text[start:end] for start, end in spans]
        assert list(zip(surfaces, where.words, strict=True)) == expected
        assert (where.start[1:] >= where.end[:-1]).all()
        n_found += len(expected)
    assert n_found > 300


def check_counted(articles, how, *, with_bigrams):
    annotator, stop_words = annotator_of(how.spacy_model), stop_words_of(how.spacy_model)
    block = select(annotate_articles(articles, annotator, stop_words), how)
    bigrams = Bigrams({})
    if with_bigrams:
        bigrams = learn_bigrams([block], min_count=3, threshold=10.0)
    block = bigrams.join(block)
    vocabulary = learn_vocabulary([block], lambda _: True, Pruning(2, 1.0, 100_000))
    corpus = Corpus.from_blocks([block], vocabulary)
    by_id, n_joined = {article.document_id: article for article in articles}, 0
    assert corpus.n_docs >= len(articles)
    for d, doc_id in enumerate(corpus.doc_ids):
        text = text_of(by_id[article_of(doc_id)], doc_id)
        assert text is not None
        where = surface(text, how, bigrams, annotator, stop_words)
        row = np.zeros(len(vocabulary), dtype=np.int64)
        known = {word: w for w, word in enumerate(vocabulary)}
        np.add.at(row, [known[word] for word in where.words if word in known], 1)
        assert (row == corpus.counts[[d]].toarray()[0]).all(), doc_id
        assert len(where.words) - row.sum() == corpus.n_unknown[d]
        assert (where.start < where.end).all()
        assert (where.start[1:] >= where.end[:-1]).all()
        for word, start, end in zip(where.words, where.start, where.end, strict=True):
            if how.spacy_model == BLANK:
                assert normalized(text[start:end]).replace(" ", "_") == word.replace(" ", "_")
            assert len(text[start:end].split(" ")) <= word.count("_") + 1
            n_joined += "_" in word
    return n_joined


@pytest.mark.parametrize(
    ("documents", "with_bigrams"), [("article", True), ("section", False), ("section", True)]
)
def test_what_is_found_is_what_is_counted(documents, with_bigrams):
    how = TextSettings(spacy_model=BLANK, documents=documents)
    assert (check_counted(news(12), how, with_bigrams=with_bigrams) > 0) == with_bigrams


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "documents", "with_bigrams"),
    [
        *(("", "article", True), ("", "section", True), ("", "section", False)),
        *((BLANK, "article", True), (BLANK, "section", False)),
    ],
)
def test_the_same_of_the_whole_sample(model, documents, with_bigrams):
    how = TextSettings(spacy_model=model, documents=documents)
    articles = [*read_source("sample", str(sample_path()))]
    assert (check_counted(articles, how, with_bigrams=with_bigrams) > 100) == with_bigrams
