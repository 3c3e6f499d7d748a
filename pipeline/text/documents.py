"""Article store to corpus: tokens, bigrams, vocabulary, counts."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path

from corpora import (
    ArticleStore,
    Bigrams,
    Corpus,
    Pruning,
    TextSettings,
    TokenBlock,
    TokenStore,
    model_for_store,
)
from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import is_url
from corpora.corpus import build_corpus_of_bags
from corpora.errors import CorpusFormatError
from corpora.files import sha256_of
from corpora.tokens.model_choice import meaning
from corpora.tokens.spacy_model import BLANK
from corpora.tokens.workers import Workers
from corpora.vocabulary import Removed, vocabulary_from
from pipeline.cluster.cluster import Cluster
from pipeline.progress import Progress
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.text.counting import CountingPasses, TrainingPart, bigrams_of
from pipeline.text.settings import bigram_patterns, text_settings

logger = logging.getLogger(__name__)

FEW_ARTICLES = 1000
"""Articles of a store below which sections are documents, unless the settings say otherwise. A row
or a file of other input is one document.
"""

SHOWN = 5  # Skipped articles that a warning names


def decide_documents(settings: TrainSettings, n_articles: int) -> TrainSettings:
    """Decide settings that depend on the articles: what a document is, and the spaCy model.

    The model fits the articles' language; its name is recorded, so that new texts and other
    articles are read by the same model.

    Raises CorpusFormatError if there are no articles; UsageError if a setting is impossible.
    """
    refuse_empty(settings.articles, n_articles)
    if settings.documents == "auto":
        is_few = n_articles < FEW_ARTICLES and not settings.input
        documents = "section" if is_few else "article"
        settings = replace(settings, documents=documents)
    if not settings.spacy_model:
        model = model_for_store(ArticleStore(settings.articles))
        settings = replace(settings, spacy_model=model)
    elif settings.spacy_model.startswith(BLANK):
        logger.warning("%s", meaning(settings.spacy_model))
    text_settings(settings)
    bigram_patterns(settings)
    return settings


def refuse_empty(store: str, n_articles: int) -> None:
    """Raise CorpusFormatError if a store has no articles."""
    if not n_articles:
        raise CorpusFormatError(
            f"{store} holds no articles: fill it with"
            f" `python -m pipeline download --output {store}`"
        )


def make_corpus(
    run: RunDirectory,
    settings: TrainSettings,
    tokens: TokenStore,
    n_processes: int = 1,
    cluster: Cluster | None = None,
) -> Corpus:
    """Count the corpus of a run; bigrams and vocabulary come from its training part alone.

    Blocks are counted into the run directory, which is memory-mapped, so a corpus may be larger
    than memory. Processes or the cluster's workers count; sums of whole numbers do not depend on
    who does.
    """
    counting = CountingPasses(tokens, n_processes, _workers_of(cluster))
    is_training = TrainingPart(settings.validation, settings.test)
    bigrams, vocabulary = _learn(run, settings, counting, is_training)
    return build_corpus_of_bags(run.corpus_path, counting.bags(bigrams, vocabulary), vocabulary)


def learn_words(
    run: RunDirectory,
    settings: TrainSettings,
    tokens: TokenStore,
    learn_from: Callable[[str], bool],
) -> Corpus:
    """Learn the run's bigrams and the vocabulary, and count all of `tokens` with them, in memory.

    They are learned from the documents whose ids satisfy `learn_from`.
    """
    bigrams, vocabulary = _learn(run, settings, CountingPasses(tokens), learn_from)
    with Progress("counts", None, "documents") as progress:

        def joined() -> Iterator[TokenBlock]:
            for block in tokens:
                yield bigrams.join(block)
                progress.update(block.n_docs)

        return Corpus.from_blocks(joined(), vocabulary)


def count_with(
    run: RunDirectory,
    settings: TrainSettings,
    articles: ArticleStore,
    vocabulary: tuple[str, ...],
    n_processes: int,
    cluster: Cluster | None = None,
) -> Corpus:
    """Count other articles with the run's text settings, bigrams and vocabulary."""
    bigrams = Bigrams.load(run.verified(run.bigrams_path))
    blocks = tokens_of(
        articles, text_settings(settings), n_processes, cluster=cluster, runs=run.path.parent
    )
    return Corpus.from_blocks((bigrams.join(block) for block in blocks), vocabulary)


def token_store(
    articles: ArticleStore,
    settings: TextSettings,
    entries: tuple[ShardEntry, ...] | None = None,
    runs: str | Path = TrainSettings.runs,
) -> TokenStore:
    """Return the tokens of a store, or of its shards `entries`, with their cache of annotations.

    The cache lies in the store's directory; for a store at a URL in `tokens-<hash of the URL>` in
    the folder `runs`.
    """
    tokens = TokenStore(articles, tokens_path(articles, runs), settings)
    if entries is not None:
        tokens.entries = entries
    return tokens


def tokens_path(articles: ArticleStore, runs: str | Path = TrainSettings.runs) -> Path:
    """Path of the tokens of a store; all runs on the same articles share them."""
    if not is_url(articles.path):
        return articles.path / "tokens"
    return Path(runs) / f"tokens-{sha256_of(str(articles.path).encode())[:12]}"


def tokens_of(
    articles: ArticleStore,
    settings: TextSettings,
    n_processes: int,
    entries: tuple[ShardEntry, ...] | None = None,
    cluster: Cluster | None = None,
    runs: str | Path = TrainSettings.runs,
) -> TokenStore:
    """Return the tokens of every article; articles that the cache lacks are annotated.

    Processes or the cluster's workers annotate. `entries` limits the articles to these shards; for
    `runs` see `token_store`. A warning names articles that are skipped because they kill the
    process that annotates them.
    """
    tokens = token_store(articles, settings, entries, runs)
    missing = tokens.missing()
    if missing:
        total = sum(entry.articles for entry in missing)
        with Progress("text", total, "articles") as progress:
            n_tokens = 0
            for n_articles, n_new in tokens.fill(n_processes, _workers_of(cluster)):
                n_tokens += n_new
                progress.update(n_articles, f"{n_tokens:,} tokens")
    _warn_of_skipped(tokens)
    return tokens


def record_skipped(run: RunDirectory, tokens: TokenStore) -> None:
    """Record in the provenance the articles that were skipped, as they cannot be annotated."""
    doc_ids = [doc_id for found in tokens.skipped().values() for doc_id in found]
    about = run.provenance().get("annotation", {})
    run.update_provenance({"annotation": {**about, "passed_over": doc_ids}})


def _warn_of_skipped(tokens: TokenStore) -> None:
    skipped = tokens.skipped()
    if not skipped:
        return
    names = [f"{doc_id} {title}" for found in skipped.values() for doc_id, title in found.items()]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    files = [str(path) for path in islice(skipped, SHOWN)]
    logger.warning(
        "%s of the articles in %s killed the process that annotated them and have no words: %s%s; "
        "to have them tried again delete %s%s",
        f"{len(names):,}",
        tokens.articles.path,
        ", ".join(names[:SHOWN]),
        more,
        " ".join(files),
        f" and {len(skipped) - SHOWN:,} more" if len(skipped) > SHOWN else "",
    )


def _workers_of(cluster: Cluster | None) -> Workers | None:
    if cluster is None:
        return None
    from pipeline.text.on_cluster import TextWorkers  # noqa: PLC0415 - for clusters alone

    return TextWorkers(cluster)


def _learn(
    run: RunDirectory,
    settings: TrainSettings,
    counting: CountingPasses,
    learn_from: Callable[[str], bool],
) -> tuple[Bigrams, tuple[str, ...]]:
    bigrams = bigrams_of(counting.pairs, learn_from, settings, run.path)
    bigrams.save(run.bigrams_path)
    run.record(run.bigrams_path)
    words = vocabulary_from(
        counting.frequencies(bigrams, learn_from),
        Pruning(settings.no_below, settings.no_above, settings.keep_n),
        directory=run.path,
        on_pruned=partial(_note_pruning, run),
    )
    return bigrams, words


def _note_pruning(run: RunDirectory, removed: Removed) -> None:
    """Record in the provenance what pruning removed."""
    about = {name: value for name, value in asdict(removed).items() if name != "pruning"}
    run.update_provenance({"pruning": about})
