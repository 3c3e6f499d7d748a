"""Held-out documents as text, each known word with its most probable topic.

Given the shares θ_d of the topics in document d, a token of word w is from topic k with probability

    p(k | w, d) ∝ θ_dk p(w | k),

for LDA and, with θ_dk the share of topic k in the document's tokens, for Gamma-Poisson factor
analysis. θ_d is a point estimate from the same words; its uncertainty is ignored, so the
probabilities are slightly overconfident. For Poisson MRFs, dependencies between words count only
through θ_d. In a mixture of Poisson MRFs all words have the topic of the document, with its
probability.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpora import Article, ArticleStore, Corpus, article_of, load_annotator, stop_words_of
from corpora.articles.shard_file import stored_keys
from corpora.errors import CorpusFormatError, MissingModelError, UnsuitableModelError
from corpora.row_blocks import tokens_of_documents
from corpora.tokens.surface import Surface, surface, text_of
from evaluation.arrays import Floats, Ints
from models.families import Topics
from pipeline.report.article_names import ArticleNames
from pipeline.report.sections import DocumentsSection, ShownDocument
from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

MIN_WORDS = 20  # Known words of a document that is long enough to be shown
MIN_SHARE = 0.01  # Smallest share of a topic that is listed for a document
MAX_REPEATED = 5  # Times that a word is listed in a document without its text
MAX_WORDS = 1500  # Largest number of known words of a document
MAX_BYTES = 25_000  # Bytes of a document's escaped text with the topics of its words
BYTES_OF_TOPIC = 8  # Bytes of a word's topic and certainty, about
BYTES_ESCAPED = 6  # Bytes of a special character of HTML, at most


@dataclass(frozen=True, eq=False)
class _Found:
    """A document's known words in their order, with the text between them."""

    pieces: list[str]  # (2 n + 1,), see `ShownDocument.pieces`
    words: list[int]  # (n,) indices into the vocabulary
    is_text: bool


def documents_section(
    run: LoadedRun, names: ArticleNames, n_documents: int, n_threads: int = 1
) -> DocumentsSection | None:
    """Return some documents of a run's test part, or else its validation part; None without both.

    They are evenly spaced among those with at least `MIN_WORDS` known words. If the words of the
    store's article differ from the corpus, the document is shown without its text.

    Raises ValueError if the model and the corpus have different vocabularies; CorpusFormatError if
    the run's bigrams are missing or were changed.
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
    named = names(chosen.doc_ids)
    proportions = model.topics.proportions(chosen.counts, n_jobs=n_threads)
    shown = []
    for d, doc_id in enumerate(chosen.doc_ids):
        bag = _bag_of(chosen, d)
        found = there.get(doc_id) or _alphabetical(bag, chosen.vocabulary)
        topic, certainty = word_topics(model.topics, proportions[d], np.array(list(bag)))
        place = {w: i for i, w in enumerate(bag)}
        pieces, n_words, is_cut = cut(found.pieces, MAX_WORDS)
        places = [place[w] for w in found.words[:n_words]]
        order = np.argsort(-proportions[d], kind="stable").tolist()
        shares = [(k, float(proportions[d, k])) for k in order]
        shown.append(
            ShownDocument(
                title=named[doc_id].title,
                url=named[doc_id].url,
                tokens=bag.total(),
                unknown=int(chosen.n_unknown[d]),
                topics=tuple((k, share) for k, share in shares if share >= MIN_SHARE),
                # A question mark replaces each half of a surrogate pair, as in `pieces_of`.
                pieces=tuple(piece.encode(errors="replace").decode() for piece in pieces),
                word_topics=tuple(topic[places].tolist()),
                certainty=tuple(certainty[places].tolist()),
                is_cut=is_cut,
                is_text=found.is_text,
            )
        )
    return DocumentsSection(tuple(shown), part.n_docs)


def chosen_documents(lengths: NDArray[np.integer], number: int) -> Ints:
    """Return the ascending indices of `number` documents, given their numbers of known words (D,).

    Evenly spaced among those with enough words; the longest if too few have enough.
    """
    enough = np.flatnonzero(lengths >= MIN_WORDS)
    if len(enough) >= number:
        return enough[(2 * np.arange(number) + 1) * len(enough) // (2 * number)]
    longest = np.argsort(-lengths, kind="stable")[:number]
    return np.sort(longest[lengths[longest] > 0])


def word_topics(topics: Topics, proportions: Floats, words: Ints) -> tuple[Ints, Floats]:
    """Return the most probable topic (n,) of each word of a document, and its probability (n,).

    The head of this file names the approximations. `proportions` (K,) are θ_d, `words` (n,) are
    indices into the vocabulary.
    """
    posterior = np.tile(proportions, (len(words), 1))
    if not topics.has_one_topic_per_document:
        # p(w | k): rows of Gamma-Poisson models need not sum to 1, and may be 0.
        sums = topics.topic_word.sum(axis=1)
        posterior *= topics.topic_word[:, words].T / np.where(sums > 0, sums, 1.0)
        # A word of probability 0 carries no information about its topic.
        posterior[~(posterior.sum(axis=1) > 0)] = proportions
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior.argmax(axis=1), posterior.max(axis=1)


def _in_the_text(run: LoadedRun, chosen: Corpus) -> dict[str, _Found]:
    """Return, by id, the chosen documents whose words equal those of the store's article."""
    if not run.store.exists:
        return {}
    how, bigrams = run.text_settings, run.bigrams
    number_of = {word: w for w, word in enumerate(chosen.vocabulary)}
    try:
        articles = articles_of(run.store, {article_of(doc_id) for doc_id in chosen.doc_ids})
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


def articles_of(store: ArticleStore, doc_ids: set[str]) -> dict[str, Article]:
    """Return articles of the store by their ids; reads only the shards that hold some."""
    found: dict[str, Article] = {}
    for entry in store.entries:
        keys = {f"{language}:{page_id}" for language, page_id in stored_keys(store.path, entry)}
        if not keys.isdisjoint(doc_ids):
            found |= {a.document_id: a for a in store.read_shard(entry) if a.document_id in doc_ids}
        if len(found) == len(doc_ids):
            break
    return found


def _found(text: str, surface: Surface, number_of: dict[str, int]) -> _Found:
    pieces, words, at = [], [], 0
    spans = zip(surface.words, surface.start.tolist(), surface.end.tolist(), strict=True)
    for word, start, end in spans:
        if word in number_of:
            pieces += [text[at:start], text[start:end]]
            words.append(number_of[word])
            at = end
    return _Found([*pieces, text[at:]], words, is_text=True)


def _alphabetical(bag: Counter[int], vocabulary: Sequence[str]) -> _Found:
    """List the words of a document without its text, each up to `MAX_REPEATED` times."""
    words = [
        w for w in sorted(bag, key=vocabulary.__getitem__) for _ in range(min(bag[w], MAX_REPEATED))
    ]
    pieces = [piece for w in words for piece in (" ", vocabulary[w])]
    return _Found(["", *pieces[1:], ""], words, is_text=False)


def _bag_of(corpus: Corpus, d: int) -> Counter[int]:
    row = corpus.counts[[d]]
    return Counter(dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)))


# --- cut to a length ------------------------------------------------------------------------------


def cut(
    pieces: Sequence[str], max_words: int, max_bytes: int = MAX_BYTES
) -> tuple[list[str], int, bool]:
    """Return the pieces that fit, their number of known words, and whether some are missing.

    A cut text ends with a known word or, without one, at the end of any word.
    """
    left, n_words = max_bytes, 0
    for i in range(0, len(pieces) - 1, 2):
        left -= cost(pieces[i]) + cost(pieces[i + 1]) + BYTES_OF_TOPIC
        if n_words == max_words or left < 0:
            break
        n_words += 1
    kept = list(pieces[: 2 * n_words])
    is_last = n_words == len(pieces) // 2
    if is_last or not n_words:
        between = pieces[2 * n_words]
        left = max_bytes - sum(map(cost, kept)) - BYTES_OF_TOPIC * n_words
        end = _end_of(between, left)
        return [*kept, between[:end]], n_words, not is_last or end < len(between)
    return [*kept, ""], n_words, True


def cost(text: str) -> int:
    """Return the largest number of bytes that a text takes in a page."""
    special = sum(map(text.count, "&<>\"'"))
    return len(text.encode(errors="replace")) + (BYTES_ESCAPED - 1) * special


def _end_of(text: str, max_bytes: int) -> int:
    """Return the length of `text`, which has no known word, that fits: up to the end of a word."""
    if cost(text) <= max_bytes:
        return len(text)
    end = max(max_bytes, 0)  # a character takes at least a byte
    while end and cost(text[:end]) > max_bytes:
        end = end * 9 // 10
    return next((i for i in range(end, -1, -1) if text[i].isspace()), end)
