"""The cheap half of the text stage: which of the annotated tokens are the words of a document."""

import numpy as np
from numpy.typing import NDArray

from corpora.tokens.annotated import AnnotatedArticles
from corpora.tokens.annotation import PARTS_OF_SPEECH
from corpora.tokens.block import BREAK, TokenBlock
from corpora.tokens.settings import TextSettings
from corpora.tokens.word_form import normalized


def select(articles: AnnotatedArticles, settings: TextSettings) -> TokenBlock:
    """The kept words of the articles, or of their sections, in runs. Kept are tokens of the
    settings' parts of speech, of which a blank model knows none, whose lemma is letters alone, long
    enough, and as the token itself no stop word. All else ends a run, as do headings and ends of
    pieces, so that bigrams were neighbours in the text.
    """
    keep = _keep_entry(articles, settings)[articles.entry_of]
    is_last_of_run = keep.copy()
    is_last_of_run[:-1] &= ~keep[1:]
    piece_ends = articles.piece_start[1:][np.diff(articles.piece_start) > 0] - 1
    is_last_of_run[piece_ends] = keep[piece_ends]

    token = np.flatnonzero(keep)  # of each kept word
    is_last = is_last_of_run[token]
    n_breaks = np.concatenate(([0], np.cumsum(is_last)))  # before each kept word, and in all
    place = np.arange(len(token)) + n_breaks[:-1]
    n_entries = len(token) + int(n_breaks[-1])

    entry = articles.entry_of[token]
    word = articles.entry_word[entry].astype(np.int64)
    is_used = np.zeros(len(articles.words), dtype=bool)
    is_used[word] = True
    number = np.cumsum(is_used) - 1
    word_of = np.full(n_entries, BREAK, dtype=np.int32)
    word_of[place] = number[word]
    pos_of = np.zeros(n_entries, dtype=np.uint8)
    pos_of[place] = articles.entry_pos[entry]
    continues_chunk = np.zeros(n_entries, dtype=bool)
    if len(articles.continues_chunk):
        follows = np.concatenate(([False], ~is_last[:-1]))[: len(token)]
        continues_chunk[place] = articles.continues_chunk[token] & follows

    start, doc_ids, titles = _documents(articles, settings.documents)
    n_before = np.searchsorted(token, start)  # kept words before each document
    return TokenBlock(
        tuple(articles.words[w] for w in np.flatnonzero(is_used).tolist()),
        word_of,
        n_before + n_breaks[n_before],
        doc_ids,
        titles,
        pos_of,
        continues_chunk,
    )


def kept_tokens(articles: AnnotatedArticles, settings: TextSettings) -> NDArray[np.int64]:
    """The tokens, ascending, that the words of `select`, less the breaks, are in their order."""
    return np.flatnonzero(_keep_entry(articles, settings)[articles.entry_of])


def _keep_entry(articles: AnnotatedArticles, settings: TextSettings) -> NDArray[np.bool_]:
    length = np.array([len(word) for word in articles.words], dtype=np.int64)
    keep_word = articles.is_alphabetic & ~articles.is_stop_word & (length >= settings.min_length)
    extra = {normalized(word) for word in settings.extra_stop_words}
    if extra:
        keep_word &= np.array([word not in extra for word in articles.words], dtype=bool)
    keep_pos = np.ones(len(PARTS_OF_SPEECH), dtype=bool)
    if settings.knows_parts_of_speech:
        keep_pos[:] = [pos in settings.parts_of_speech for pos in PARTS_OF_SPEECH]
    keep: NDArray[np.bool_] = (
        keep_word[articles.entry_word] & keep_pos[articles.entry_pos] & ~articles.entry_is_stop
    )
    return keep


def _documents(
    articles: AnnotatedArticles, documents: str
) -> tuple[NDArray[np.int64], tuple[str, ...], tuple[str, ...]]:
    """(n_docs + 1,) first token of each document and the end of the last; ids; titles."""
    section_start = articles.piece_start[articles.section_start]
    if documents == "article":
        return section_start[articles.article_start], articles.doc_ids, articles.titles
    doc_ids, titles = [], []
    starts = articles.article_start.tolist()
    for doc_id, title, first, end in zip(
        articles.doc_ids, articles.titles, starts[:-1], starts[1:], strict=True
    ):
        for number, heading in enumerate(articles.headings[first:end], start=1):
            doc_ids.append(f"{doc_id}#{number}")
            titles.append(f"{title} § {heading}" if heading else title)
    return section_start, tuple(doc_ids), tuple(titles)
