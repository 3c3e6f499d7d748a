"""Articles through an annotator, some at a time, into what is kept of them."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corpora.articles.article import Article
from corpora.tokens.annotated import AnnotatedArticles
from corpora.tokens.annotation import Annotation, Annotator
from corpora.tokens.pieces import pieces_of
from corpora.tokens.word_form import is_alphabetic, normalized
from corpora.worker_pool import working_on

TOGETHER: Final = 100_000
"""Characters from which on pieces are annotated: one by one is slower, more hardly faster."""

TAG_BITS, POS_BITS = 15, 5
"""While articles are collected an entry is one integer: word, tag, part of speech and flag."""


def annotate_articles(
    articles: Iterable[Article],
    annotator: Annotator,
    stop_words: Iterable[str],
    *,
    one_by_one: bool = False,
    skipped: Collection[int] = (),
) -> AnnotatedArticles:
    """Annotate all sections of the articles. `stop_words` are those of the annotator's language, in
    any case; `skipped` holds places, counted from 0, of articles whose text is not read.
    `one_by_one` annotates no two articles together, with the same result.

    In a worker process, `working_on` is called with place, id and title of the article that is
    being cut into pieces, and of the first of those that are being annotated together.
    """
    collected = _Collected()
    headings, doc_ids, titles, skipped_ids = [], [], [], []
    n_pieces, n_sections = [0], [0]
    together: list[str] = []
    n_characters = 0
    note = ""

    def annotate() -> None:
        nonlocal n_characters
        if together:
            working_on(note)
            collected.add(annotator.annotate(together))
        working_on("")
        together.clear()
        n_characters = 0

    for place, article in enumerate(articles):
        doc_ids.append(article.document_id)
        titles.append(article.title)
        if place in skipped:
            skipped_ids.append(article.document_id)
            n_sections.append(0)
            continue
        name = f"{place} {article.document_id} {article.title}"
        working_on(name)
        sections = article.sections()
        n_sections.append(len(sections))
        for heading, text in sections:
            headings.append(heading)
            n_pieces.append(0)
            for piece in pieces_of(text):
                note = note if together else name
                together.append(piece)
                n_pieces[-1] += 1
                n_characters += len(piece)
                if n_characters >= TOGETHER:
                    annotate()
                    working_on(name)
        if one_by_one:
            annotate()
    annotate()
    return collected.articles(
        stop_words,
        section_start=np.cumsum(n_pieces, dtype=np.int64),
        article_start=np.cumsum(n_sections, dtype=np.int64),
        headings=tuple(headings),
        doc_ids=tuple(doc_ids),
        titles=tuple(titles),
        skipped=tuple(skipped_ids),
    )


class _Collected:
    """Annotations of consecutive pieces, in common numbers for words and tags."""

    def __init__(self) -> None:
        self._word_of_lemma: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._tags: dict[str, int] = {}
        self._entries = [np.zeros(0, dtype=np.int64)]
        self._chunks = [np.zeros(0, dtype=bool)]
        self._lengths = [np.zeros(1, dtype=np.int64)]

    def add(self, annotation: Annotation) -> None:
        words = np.array([self._number_of(lemma) for lemma in annotation.lemmas], dtype=np.int64)
        numbers = [self._tags.setdefault(tag, len(self._tags)) for tag in annotation.tags]
        tags = np.array(numbers, dtype=np.int64)
        word, tag = words[annotation.lemma_of], tags[annotation.tag_of]
        self._entries.append(_entry(word, tag, annotation.pos, annotation.is_stop))
        self._chunks.append(annotation.continues_chunk)
        self._lengths.append(np.diff(annotation.text_start))

    def articles(self, stop_words: Iterable[str], **layout: Any) -> AnnotatedArticles:
        entries, entry_of = np.unique(np.concatenate(self._entries), return_inverse=True)
        words, word_place = _sorted(self._words)
        tags, tag_place = _sorted(self._tags)
        word, tag, pos, is_stop = _parts(entries)
        word, tag = word_place[word], tag_place[tag]
        # In the order of the words; the numbers so far are those of first occurrence.
        order = np.argsort(_entry(word, tag, pos, is_stop))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        stops = {normalized(each) for each in stop_words}
        return AnnotatedArticles(
            words=words,
            is_alphabetic=np.array([is_alphabetic(each) for each in words], dtype=bool),
            is_stop_word=np.array([each in stops for each in words], dtype=bool),
            tags=tags,
            entry_word=word[order],
            entry_tag=tag[order],
            entry_pos=pos[order].astype(np.uint8),
            entry_is_stop=is_stop[order].astype(bool),
            entry_of=place[entry_of],
            continues_chunk=np.concatenate(self._chunks),
            piece_start=np.cumsum(np.concatenate(self._lengths)),
            **layout,
        )

    def _number_of(self, lemma: str) -> int:
        number = self._word_of_lemma.get(lemma)
        if number is None:
            number = self._words.setdefault(normalized(lemma), len(self._words))
            self._word_of_lemma[lemma] = number
        return number


def _entry(
    word: NDArray[np.int64],
    tag: NDArray[np.int64],
    pos: NDArray[np.integer],
    is_stop: NDArray[np.integer | np.bool_],
) -> NDArray[np.int64]:
    """The four as one integer each."""
    entries: NDArray[np.int64] = ((word << TAG_BITS | tag) << POS_BITS | pos) << 1 | is_stop
    return entries


def _parts(entries: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """The four that `_entry` made one."""
    rest = entries >> 1
    word_and_tag = rest >> POS_BITS
    return (
        word_and_tag >> TAG_BITS,
        word_and_tag & (1 << TAG_BITS) - 1,
        rest & (1 << POS_BITS) - 1,
        entries & 1,
    )


def _sorted(numbers: dict[str, int]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The strings in order, and for each number the place of its string."""
    strings = sorted(numbers)
    place = np.empty(len(strings), dtype=np.int64)
    place[[numbers[each] for each in strings]] = np.arange(len(strings))
    return tuple(strings), place
