"""From an article store to a corpus: tokens, bigrams, vocabulary, counts; each step once."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora import Bigrams, Corpus, Pruning, TextSettings, TokenStore, build_corpus, part_of
from pipeline.errors import UsageError
from pipeline.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from corpora import ArticleStore, TokenBlock
    from corpora.articles.manifest import ShardEntry
    from pipeline.runs import RunDirectory
    from pipeline.settings import TrainSettings

logger = logging.getLogger(__name__)

FEW_ARTICLES = 1000
"""A store of fewer has its sections as documents, unless the settings say otherwise."""


def text_settings(settings: TrainSettings) -> TextSettings:
    """The settings of the text stage; `documents` must be decided, not "auto"."""
    try:
        return TextSettings(
            spacy_model=settings.spacy_model,
            parts_of_speech=_listed(settings.parts_of_speech),
            min_length=settings.min_length,
            extra_stop_words=_listed(settings.stop_words),
            documents=settings.documents,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def learn_bigrams(
    blocks: Iterable[TokenBlock], is_training: Callable[[str], bool], settings: TrainSettings
) -> Bigrams:
    """The pairs to join, by the settings' score; none if they say so."""
    if settings.bigrams == "none":
        return Bigrams({})
    usual = 0.5 if settings.bigrams == "npmi" else 100.0
    return Bigrams.learn(
        blocks,
        is_training,
        min_count=settings.bigram_min_count,
        threshold=usual if settings.bigram_threshold is None else settings.bigram_threshold,
        scoring=settings.bigrams,
    )


def decide_documents(settings: TrainSettings, n_articles: int) -> TrainSettings:
    """Settings with "auto" replaced by what it means for a store of so many articles."""
    if settings.documents != "auto":
        return settings
    documents = "section" if n_articles < FEW_ARTICLES else "article"
    return replace(settings, documents=documents)


def make_corpus(run: RunDirectory, settings: TrainSettings, tokens: TokenStore) -> Corpus:
    """The corpus of a run: bigrams and vocabulary come from its training part alone."""

    def is_training(document_id: str) -> bool:
        return part_of(document_id, settings.validation, settings.test) == "train"

    corpus = learn_words(run, settings, tokens, is_training)
    corpus.save(run.corpus_path)
    return corpus


def learn_words(
    run: RunDirectory,
    settings: TrainSettings,
    tokens: TokenStore,
    learn_from: Callable[[str], bool],
) -> Corpus:
    """Learn the run's bigrams and the vocabulary, and count all of `tokens` with them.

    Parameters
    ----------
    learn_from
        Whether a document, by its id, is one to learn from.
    """

    def passing(progress: Progress) -> Iterator[TokenBlock]:
        for block in tokens:
            yield block
            progress.update(block.n_docs)

    with Progress("bigrams", None, "documents") as progress:
        bigrams = learn_bigrams(passing(progress), learn_from, settings)
    bigrams.save(run.bigrams_path)
    run.record(run.bigrams_path)
    pruning = Pruning(settings.no_below, settings.no_above, settings.keep_n)
    with Progress("counts", None, "documents") as progress:
        joined = (bigrams.join(block) for block in passing(progress))
        return build_corpus(joined, learn_from, pruning)


def count_with(
    run: RunDirectory,
    settings: TrainSettings,
    articles: ArticleStore,
    vocabulary: tuple[str, ...],
    n_processes: int,
) -> Corpus:
    """Other articles as the run's own were counted: same text settings, bigrams and vocabulary."""
    bigrams = Bigrams.load(run.verified(run.bigrams_path))
    blocks = tokens_of(articles, text_settings(settings), n_processes)
    return Corpus.from_blocks((bigrams.join(block) for block in blocks), vocabulary)


def token_store(
    articles: ArticleStore, settings: TextSettings, entries: tuple[ShardEntry, ...] | None = None
) -> TokenStore:
    """The store's cache of tokens; of all its shards, or of `entries` alone."""
    tokens = TokenStore(articles, articles.path / "tokens", settings)
    if entries is not None:
        tokens.entries = entries
    return tokens


def tokens_of(
    articles: ArticleStore,
    settings: TextSettings,
    n_processes: int,
    entries: tuple[ShardEntry, ...] | None = None,
) -> TokenStore:
    """The tokens of every article, from the store's cache as far as they are there.

    With `entries`, of the articles in these shards.
    """
    tokens = token_store(articles, settings, entries)
    missing = tokens.missing()
    if missing:
        total = sum(entry.articles for entry in missing)
        with Progress("text", total, "articles") as progress:
            n_tokens = 0
            for entry, (_, n_new) in zip(missing, tokens.fill(n_processes), strict=True):
                n_tokens += n_new
                progress.update(entry.articles, f"{n_tokens:,} words kept")
    return tokens


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
