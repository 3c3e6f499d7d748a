"""Annotator of tokens `lemma/TAG/POS/flags` in the text; flags: `s` stop word, `c` noun chunk."""

import os
import signal

import numpy as np

from corpora.articles.article import Article
from corpora.tokens import annotate, filling
from corpora.tokens.annotation import PARTS_OF_SPEECH, Annotation

DEADLY = "deadly"


class Scripted:
    """Counts what it is asked for; a text that holds the word `deadly` kills the process."""

    def __init__(self, *, noun_chunks=False):
        self.noun_chunks = noun_chunks
        self.calls = []

    def annotate(self, texts):
        self.calls.append(list(texts))
        for text in texts:
            _die_of(text)
        tokens = [[token.split("/") for token in text.split()] for text in texts]
        flat = [token for text in tokens for token in text]
        lemmas = sorted({token[0] for token in flat})
        lemma_index = {lemma: i for i, lemma in enumerate(lemmas)}
        tags = sorted({token[1] for token in flat})
        chunks = [self.noun_chunks and "c" in token[3] for token in flat]
        return Annotation(
            tuple(lemmas),
            tuple(tags),
            np.array([lemma_index[token[0]] for token in flat], dtype=np.int32),
            np.array([tags.index(token[1]) for token in flat], dtype=np.int16),
            np.array([PARTS_OF_SPEECH.index(token[2]) for token in flat], dtype=np.uint8),
            np.array(["s" in token[3] for token in flat], dtype=bool),
            np.cumsum([0, *map(len, tokens)], dtype=np.int64),
            np.array(chunks if self.noun_chunks else [], dtype=bool),
        )


def nouns(text):
    return " ".join(f"{word}/NN/NOUN/-" for word in text.split())


def prepare_scripted(articles, model, noun_chunks):
    filling._prepared[:] = [(articles, Scripted(noun_chunks=noun_chunks), frozenset({"the"}), [])]


def prepare_deadly_pieces(articles, model, noun_chunks):
    prepare_scripted(articles, model, noun_chunks)
    cut = annotate.pieces_of

    def pieces_of(text):
        _die_of(text)
        return cut(text)

    annotate.pieces_of = pieces_of


def prepare_deadly_sections(articles, model, noun_chunks):
    prepare_scripted(articles, model, noun_chunks)
    cut = Article.sections

    def sections(article):
        _die_of(article.text)
        return cut(article)

    Article.sections = sections


PREPARE_CUTTING = {"pieces_of": prepare_deadly_pieces, "sections": prepare_deadly_sections}


def _die_of(text):
    if DEADLY in text:
        os.kill(os.getpid(), signal.SIGKILL)


def die_outside_of_any_article(task):
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
