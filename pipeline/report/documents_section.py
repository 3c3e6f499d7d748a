"""Held-out documents as people read them, each known word with the topic it is most probably from.

Given the shares θ_d of the topics in a document, the probability that a token of word w is of topic
k is

    p(k | w, d) ∝ θ_dk p(w | k),

for LDA and, with θ_dk the share of topic k in the document's tokens, for Gamma-Poisson factor
analysis. θ_d is a point estimate here, and made from the same words: all of its uncertainty is
passed over, so that words look a little surer of their topics than they are. For Poisson MRFs the
dependencies between words are passed over too, but for what they have done to θ_d; in a mixture of
these a document is of one topic and all of its words are of that, as surely as the document is.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corpora import article_of, load_annotator, stop_words_of
from corpora.articles.shard_file import stored_keys
from corpora.errors import CorpusFormatError, MissingModelError, UnsuitableModelError
from corpora.row_blocks import tokens_of_documents
from corpora.tokens.surface import surface, text_of
from pipeline.report.article_names import names_of
from pipeline.report.sections import DocumentsSection, ShownDocument
from pipeline.report.text_cut import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from corpora import Article, ArticleStore, Corpus
    from corpora.tokens.surface import Surface
    from models.families import Topics
    from pipeline.report.article_names import ArticleNames
    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

ENOUGH = 20
"""Known words that a document should have to be shown."""
SMALLEST_SHARE = 0.01
"""Of a topic in a document for it to be named."""
MOST_REPEATED = 5
"""Times that a word stands in a document whose text is not there."""


@dataclass(frozen=True, eq=False)
class _Found:
    """A document's words in their order, each with what stands before it."""

    pieces: list[str]
    """(2 n + 1,), see `ShownDocument.pieces`."""
    words: list[int]
    """(n,) indices into the vocabulary."""
    is_text: bool


def documents_section(
    run: LoadedRun,
    names: ArticleNames | None = None,
    *,
    n_documents: int = 20,
    most_words: int = 1500,
    n_threads: int = 1,
) -> DocumentsSection | None:
    """Some documents of a run's test part, or else of its validation part; None without either.

    They are evenly spaced among those of at least `ENOUGH` known words. A document whose words in
    the store's article are not those of the corpus is shown without its text.

    Parameters
    ----------
    names
        Of articles; by default those that the run's store has.
    most_words
        Known words of a document that are shown.

    Raises
    ------
    ValueError
        If the model is of other words than the corpus.
    CorpusFormatError
        If the run's bigrams are missing or were changed.
    """
    model, corpus, parts = run.model, run.corpus, run.parts
    if model.vocabulary != corpus.vocabulary:
        raise ValueError(
            f"the corpus must be the one that the model was trained on: the model knows "
            f"{len(model.vocabulary)} words, the corpus {corpus.n_words}, and they are not the same"
        )
    part = next((each for each in (parts.test, parts.validation) if each.n_tokens), None)
    if part is None:
        return None
    chosen = part.rows(chosen_documents(tokens_of_documents(part.counts), n_documents))
    there = _in_the_text(run, chosen)
    named = (names_of(run) if names is None else names)(chosen.doc_ids)
    proportions = model.topics.proportions(chosen.counts, n_jobs=n_threads)
    shown = []
    for d, doc_id in enumerate(chosen.doc_ids):
        bag = _bag_of(chosen, d)
        found = there.get(doc_id) or _alphabetical(bag, chosen.vocabulary)
        topic, certainty = word_topics(model.topics, proportions[d], np.array(list(bag)))
        place = {w: i for i, w in enumerate(bag)}
        pieces, n_words, is_cut = cut(found.pieces, most_words)
        places = [place[w] for w in found.words[:n_words]]
        order = np.argsort(-proportions[d], kind="stable").tolist()
        shares = [(k, float(proportions[d, k])) for k in order]
        shown.append(
            ShownDocument(
                title=named[doc_id].title,
                url=named[doc_id].url,
                tokens=bag.total(),
                unknown=int(chosen.n_unknown[d]),
                topics=tuple((k, share) for k, share in shares if share >= SMALLEST_SHARE),
                pieces=tuple(map(_encodable, pieces)),
                word_topics=tuple(topic[places].tolist()),
                certainty=tuple(certainty[places].tolist()),
                is_cut=is_cut,
                is_text=found.is_text,
            )
        )
    return DocumentsSection(tuple(shown), part.n_docs)


def chosen_documents(lengths: NDArray[np.integer], number: int) -> NDArray[np.int64]:
    """Indices, ascending, of documents (D,) of so many known words to show: `number`, if there are.

    Evenly spaced ones of those with enough words; the longest, where too few have.
    """
    enough = np.flatnonzero(lengths >= ENOUGH)
    if len(enough) >= number:
        return enough[(2 * np.arange(number) + 1) * len(enough) // (2 * number)]
    longest = np.argsort(-lengths, kind="stable")[:number]
    return np.sort(longest[lengths[longest] > 0])


def word_topics(
    topics: Topics, proportions: NDArray[np.float64], words: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The most probable topic (n,) of each word of a document, and how probable it is (n,).

    See the head of this file for what is passed over.

    Parameters
    ----------
    proportions
        (K,), θ_d.
    words
        (n,) indices into the vocabulary.
    """
    posterior = np.tile(proportions, (len(words), 1))
    if not topics.has_one_topic_per_document:
        # p(w | k): rows of Gamma-Poisson models need not sum to 1, and may be empty.
        sums = topics.topic_word.sum(axis=1)
        posterior *= topics.topic_word[:, words].T / np.where(sums > 0, sums, 1.0)
        # A word that no topic has, or only topics without a share, says nothing about its topic.
        posterior[~(posterior.sum(axis=1) > 0)] = proportions
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior.argmax(axis=1), posterior.max(axis=1)


def _in_the_text(run: LoadedRun, chosen: Corpus) -> dict[str, _Found]:
    """By id, those of the chosen documents whose words are found in the articles of the store."""
    if not run.store.exists:
        return {}
    how, bigrams = run.text_settings, run.bigrams
    number_of = {word: w for w, word in enumerate(chosen.vocabulary)}
    try:
        articles = _articles(run.store, {article_of(doc_id) for doc_id in chosen.doc_ids})
        if not articles:
            return {}
        annotator = load_annotator(how.spacy_model, noun_chunks=how.noun_chunks, warn=logger.debug)
        stop_words = stop_words_of(how.spacy_model)
    except (CorpusFormatError, MissingModelError, UnsuitableModelError) as error:
        logger.warning("documents are shown without their text: %s", error)
        return {}
    found = {}
    for d, doc_id in enumerate(chosen.doc_ids):
        article = articles.get(article_of(doc_id))
        text = None if article is None else text_of(article, doc_id)
        if text is None:
            continue
        words = surface(text, how, bigrams, annotator, stop_words)
        each = _found(text, words, number_of)
        n_unknown = len(words.words) - len(each.words)
        if Counter(each.words) == _bag_of(chosen, d) and n_unknown == chosen.n_unknown[d]:
            found[doc_id] = each
    return found


def _articles(store: ArticleStore, doc_ids: set[str]) -> dict[str, Article]:
    """Articles of the store by their ids; only the shards that hold some are read as a whole."""
    found: dict[str, Article] = {}
    for entry in store.entries:
        keys = {f"{language}:{page_id}" for language, page_id in stored_keys(store.path, entry)}
        if not keys.isdisjoint(doc_ids):
            found |= {a.document_id: a for a in store.read_shard(entry) if a.document_id in doc_ids}
        if len(found) == len(doc_ids):
            break
    return found


def _found(text: str, surface: Surface, number_of: dict[str, int]) -> _Found:
    """A document's text, cut at the words that the vocabulary has."""
    pieces, words, at = [], [], 0
    spans = zip(surface.words, surface.start.tolist(), surface.end.tolist(), strict=True)
    for word, start, end in spans:
        if word in number_of:
            pieces += [text[at:start], text[start:end]]
            words.append(number_of[word])
            at = end
    return _Found([*pieces, text[at:]], words, is_text=True)


def _alphabetical(bag: Counter[int], vocabulary: Sequence[str]) -> _Found:
    """A document's words where its text is not there: up to `MOST_REPEATED` times each."""
    words = [
        w
        for w in sorted(bag, key=vocabulary.__getitem__)
        for _ in range(min(bag[w], MOST_REPEATED))
    ]
    pieces = [piece for w in words for piece in (" ", vocabulary[w])]
    return _Found(["", *pieces[1:], ""], words, is_text=False)


def _bag_of(corpus: Corpus, d: int) -> Counter[int]:
    """Words of a document, by number, and how often each occurs."""
    row = corpus.counts[[d]]
    return Counter(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)))


def _encodable(text: str) -> str:
    """`text` with a question mark for each half of a surrogate pair, as in `pieces_of`."""
    return text.encode(errors="replace").decode()
