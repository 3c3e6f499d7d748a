"""`index`: a reference corpus as one file, in which the coherence of topics is counted.

    FILE               the index; complete, or not there
    .FILE.partial/     what a process that builds it, or was killed, has so far

Annotations are kept in the article store, so that a command that was stopped annotates the rest.
"""

import logging
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from corpora import ArticleStore, Pruning
from corpora.articles.attribution import FILE, read_attribution
from corpora.files import replace as rename
from corpora.files import sha256_of, sync_directory
from corpora.vocabulary import vocabulary_from
from evaluation.topics.reference.build import build_index
from evaluation.topics.reference.index import ReferenceIndex
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.indexing.settings import PRUNING, READING, check_reading, like_run, own_settings
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import versions
from pipeline.settings import IndexSettings, TrainSettings
from pipeline.text.counting import CountingPasses, TrainingPart, bigrams_of
from pipeline.text.documents import decide_documents, tokens_of
from pipeline.text.inputs import input_at, texts_store
from pipeline.text.settings import text_settings
from pipeline.text.text_store import partial_folder

logger = logging.getLogger(__name__)

LICENCE = (
    "The order of the indexed words can be read from this file, so it is adapted from the texts. "
    "Texts of Wikipedia are CC BY-SA, by Wikipedia contributors: whoever passes the file on names "
    "them, and passes it on under the same licence."
)
IDENTITY = ("shards", "settings", "like")
"""Entries that say what an index was made of, by its content: not where that was, nor its name."""


def index(settings: IndexSettings, *, force: bool = False) -> dict[str, Any]:
    """Index the words of articles, or of other texts.

    A file that was made of the same articles with the same settings is left as it is; another one
    is replaced if `force`.

    Raises UsageError if a setting is impossible, or the file is there already; CorpusFormatError if
    there are no articles; StoreLockedError if another process makes the same file.
    """
    if not settings.input:
        raise UsageError(
            "name the ARTICLES to index: an article store, or a file or folder of texts"
        )
    target = _target(settings)
    run = LoadedRun.find(settings.runs, settings.like) if settings.like else None
    reading = own_settings(settings) if run is None else like_run(settings, run)
    check_reading(reading)
    reading = _with_store(reading, settings)
    store = ArticleStore(reading.articles)
    reading = decide_documents(reading, len(store))
    about = _about(reading, settings, store, run)
    found = _made_already(target, about, force=force)
    if found is None:
        logger.info("indexing %s into %s", settings.input, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        found = _build(target, reading, store, run, about)
    return {
        "output": str(target),
        "source": settings.input,
        "articles": found.n_articles,
        "documents": found.n_docs,
        "words": len(found.vocabulary),
        "tokens": found.n_tokens,
        "positions": found.n_positions,
        "bytes": target.stat().st_size,
    }


def _target(settings: IndexSettings) -> Path:
    if settings.output:
        target = Path(settings.output)
    else:
        name = settings.input.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        is_folder = Path(settings.input).is_dir()  # whose dots are part of its name
        name = name if is_folder else name.partition(".")[0]
        target = Path(f"{name or 'articles'}.index")
    if target.is_dir():
        raise UsageError(f"--output {target} is a folder: name a file")
    return target


def _with_store(reading: TrainSettings, settings: IndexSettings) -> TrainSettings:
    """Return settings that name the store of what is indexed, into which texts are read."""
    named = input_at(settings.input, reading)
    if named.kind == "counts":
        raise UsageError(f"{settings.input} holds counts, which have no order: give texts")
    if named.kind == "store":
        return replace(reading, input="", articles=settings.input)
    return replace(reading, articles=texts_store(named, settings.runs))


def _about(
    reading: TrainSettings, settings: IndexSettings, store: ArticleStore, run: LoadedRun | None
) -> dict[str, Any]:
    """Return the provenance of an index."""
    like = None
    if run is not None:
        like = {
            "bigrams": sha256_of(run.directory.bigrams_path.read_bytes()),
            "words": run.corpus.vocabulary_hash,
        }
    attribution = read_attribution(store.path / FILE)
    return {
        "source": settings.input,
        "shards": sha256_of("".join(entry.sha256 for entry in store.entries).encode()),
        "settings": {name: getattr(reading, name) for name in (*READING, *PRUNING)},
        "like": like,
        "run": None if run is None else run.name,
        "licence": LICENCE,
        "sources": [asdict(each) for each in sorted(attribution.sources)] if attribution else [],
        "versions": versions(),
    }


def _made_already(target: Path, about: dict[str, Any], *, force: bool) -> ReferenceIndex | None:
    """Return the index that is there and was made of the same; None if it is to be made.

    Raises UsageError if something else is there that is not to be replaced.
    """
    if not target.exists() or force:
        return None
    found = ReferenceIndex.open(target)
    if any(found.about.get(name) != about[name] for name in IDENTITY):
        raise UsageError(
            f"{target} is there already, made of other articles or with other settings: choose "
            "another --output, or replace it by --force"
        )
    logger.info("%s is there already, made of the same articles", target)
    return found


def _build(
    target: Path,
    reading: TrainSettings,
    store: ArticleStore,
    run: LoadedRun | None,
    about: dict[str, Any],
) -> ReferenceIndex:
    """Build the index beside its place, and move it there."""
    started = time.monotonic()
    n_processes = effective_n_jobs(reading.threads)
    folder = target.with_name(f".{target.name}.partial")
    with partial_folder(folder):
        tokens = tokens_of(store, text_settings(reading), n_processes, runs=reading.runs)
        counting = CountingPasses(tokens, n_processes)
        of_all = TrainingPart(0.0, 0.0)
        if run is None:
            bigrams = bigrams_of(counting.pairs, of_all, reading, folder)
        else:
            bigrams = run.bigrams
        words = vocabulary_from(
            counting.frequencies(bigrams, of_all),
            Pruning(reading.no_below, reading.no_above, reading.keep_n),
            directory=folder,
        )
        if run is not None:
            words = tuple(sorted({*words, *run.corpus.vocabulary}))
        partial_path = folder / "index"
        build_index(partial_path, counting.running_words(bigrams, words), words, about)
        rename(partial_path, target)
        sync_directory(target.parent)
    logger.info("%.0f s", time.monotonic() - started)
    return ReferenceIndex.open(target)
