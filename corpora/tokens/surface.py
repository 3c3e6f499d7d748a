"""Positions of counted lemmas in an article's text, as they are written there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corpora.articles.article import Article, heading_of
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotation import PlacingAnnotator
from corpora.tokens.bigrams import Bigrams
from corpora.tokens.block import BREAK
from corpora.tokens.pieces import placed_pieces
from corpora.tokens.selection import kept_tokens, select
from corpora.tokens.settings import TextSettings


@dataclass(frozen=True, eq=False)
class Surface:
    """The words of a text in their order, without overlap: `text[start[i]:end[i]]` is word i. The
    halves of a bigram were neighbours, with at most a space between them that is part of the word.
    """

    words: tuple[str, ...]
    """Lemmas in their normalized form, bigrams joined; words outside any vocabulary too."""
    start: NDArray[np.int64]  # (len(words),) ascending
    end: NDArray[np.int64]


def text_of(article: Article, doc_id: str) -> str | None:
    """The text of the article or, for `en:12#3`, of its third section; None if there is none."""
    number = doc_id.partition("#")[2]
    if not number:
        return article.text
    sections = article.sections()
    return sections[int(number) - 1][1] if 1 <= int(number) <= len(sections) else None


def surface(
    text: str,
    settings: TextSettings,
    bigrams: Bigrams,
    annotator: PlacingAnnotator,
    stop_words: Iterable[str],
) -> Surface:
    """The words that the text stage counts in the text of an article, or of one of its sections:
    the same for both, as a section is annotated by itself. `annotator` and `stop_words` are those
    of the settings' model; see `load_annotator` and `stop_words_of`.
    """
    article = Article(0, 0, "", "", "", "und", "", text)
    settings = replace(settings, documents="article")
    annotated = annotate_articles([article], annotator, stop_words)
    block = select(annotated, settings)
    spans = _token_spans(article, annotator)
    assert len(spans) == annotated.n_tokens, "annotating and placing came to different tokens"
    start, end = np.zeros((2, len(block.word_of)), dtype=np.int64)
    is_word = block.word_of != BREAK
    start[is_word], end[is_word] = spans[kept_tokens(annotated, settings)].T
    # A bigram takes the place of its first word, and the second is gone.
    first = bigrams.first_of_pairs(block)
    end[first] = end[first + 1]
    start, end = np.delete(start, first + 1), np.delete(end, first + 1)
    block = bigrams.join(block)
    is_word = block.word_of != BREAK
    words = tuple(block.words[w] for w in block.word_of[is_word].tolist())
    return Surface(words, start[is_word], end[is_word])


def _placed_sections(article: Article) -> Iterator[tuple[int, str]]:
    """The texts of `article.sections()`, each with where it begins in `article.text`."""
    bounds, at = [0], 0
    for line in article.text.split("\n"):
        end = at + len(line) + 1
        if heading_of(line)[0] == 2:
            bounds += [at, end]
        at = end
    bounds.append(len(article.text))
    for start, end in zip(bounds[::2], bounds[1::2], strict=True):
        section = article.text[start:end]
        if text := section.strip():
            yield start + len(section) - len(section.lstrip()), text


def _token_spans(article: Article, annotator: PlacingAnnotator) -> NDArray[np.int64]:
    """(n_tokens, 2) where each token of the article's annotation stands in its text, and ends."""
    pieces, places = [], []
    for offset, text in _placed_sections(article):
        place = offset + _places_outside_headings(text)
        for start, piece in placed_pieces(text):
            pieces.append(piece)
            places.append(place[start : start + len(piece)])
    found = [np.zeros((0, 2), dtype=np.int64)]
    for place, spans in zip(places, annotator.token_spans(pieces), strict=True):
        found.append(np.stack([place[spans[:, 0]], place[spans[:, 1] - 1] + 1], axis=1))
    return np.concatenate(found)


def _places_outside_headings(text: str) -> NDArray[np.int64]:
    """Return the position in `text` of each character of `without_headings(text)`."""
    is_left, at = np.ones(len(text), dtype=bool), 0
    for line in text.split("\n"):
        if heading_of(line)[0]:
            is_left[at : at + len(line)] = False
        at += len(line) + 1
    return np.flatnonzero(is_left)
