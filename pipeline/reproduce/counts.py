"""Counts for experiments: files of --counts in any format, or the built-in sample."""

import logging
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora import ArticleStore, Pruning, build_corpus, read_corpus
from corpora.formats.registry import UnknownFormatError, format_of
from corpora.formats.vocabulary_file import NUMBERS, find_vocabulary, stem_of
from models.parallel import effective_n_jobs
from pipeline.downloads.download import download
from pipeline.errors import UsageError
from pipeline.reproduce.experiment import SAMPLE
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.runs.run_directory import SAMPLE_STORE
from pipeline.settings import DownloadSettings, TrainSettings
from pipeline.text.documents import decide_documents, tokens_of
from pipeline.text.settings import text_settings

logger = logging.getLogger(__name__)

Counts = sparse.csr_array  # Counts (D, V) of words in documents
PRUNING = Pruning(no_below=5, no_above=0.5)  # The sample's, as in Capdevila et al. (Sec. 6.1)


class Named(NamedTuple):
    """Counts (D, V) of one corpus, and its words (V,) where an experiment needs them."""

    name: str
    counts: sparse.csr_array
    words: tuple[str, ...] = ()


def corpora_of(settings: ReproduceSettings) -> list[Named]:
    """Return the files of --counts, or the sections of the built-in sample's articles. Raises
    UsageError if a file's format is unknown, or two files would have one name in tables;
    FileNotFoundError if one is missing; CorpusFormatError if one is malformed.
    """
    paths = _paths(settings)
    if not paths:
        found = sample(settings.threads)
        return [found._replace(counts=whole_counts(found.counts))]
    names = [name_of(path) for path in paths]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise UsageError(
                f"--counts: {paths[names.index(name)]} and {paths[i]} would both be called {name} "
                "in tables: rename one of them"
            )
    counts = (whole_counts(read_counts(path)) for path in paths)
    return [Named(*each) for each in zip(names, counts, strict=True)]


def one_corpus(settings: ReproduceSettings, experiment: str) -> Named:
    """Return the only one of `corpora_of`; raises UsageError if there are several files."""
    _paths(settings, experiment)
    return corpora_of(settings)[0]


def words_of_counts(settings: ReproduceSettings, experiment: str) -> Named:
    """Return the one file of --counts with its words, or the built-in sample. Words are those of
    --vocabulary, by default of a file beside the counts. Raises UsageError if there are several
    files, a format is unknown, or words are missing or too few or many; else as `corpora_of`.
    """
    (path,), vocabulary = _paths(settings, experiment) or [""], settings.vocabulary or None
    if not path:
        if vocabulary:
            raise UsageError("--vocabulary is of --counts: give both, or leave it out")
        return sample(settings.threads)
    try:
        if vocabulary is None and format_of(path).vocabulary == "needed":
            vocabulary = str(find_vocabulary(path))
        corpus = read_corpus(path, "", vocabulary)
    except UnknownFormatError as error:
        raise UsageError(f"--counts: {error}") from error
    except FileNotFoundError as error:
        if error.errno is not None:  # a file that was named is missing
            raise
        raise UsageError(f"--vocabulary: {error}") from error
    return Named(name_of(path), corpus.counts, corpus.vocabulary)


def _paths(settings: ReproduceSettings, experiment: str = "") -> list[str]:
    """Return the files of --counts, at most one if an experiment is named that takes one."""
    paths = [part.strip() for part in settings.counts.split(",") if part.strip()]
    if experiment and len(paths) > 1:
        raise UsageError(f"--counts: {experiment} takes one file, found {len(paths)}")
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(f"--counts: there is no file or directory {path}")
    return paths


def name_of(path: str) -> str:
    """Return NAME of docword.NAME.txt.gz or NAME.npz; the name of a directory is its own."""
    return Path(path).resolve().name if Path(path).is_dir() else stem_of(path)


def read_counts(path: str) -> sparse.csr_array:
    """Return counts (D, V) in a format that `convert` reads; the vocabulary may be missing.

    Raises UsageError if the format is unknown; CorpusFormatError if the file is malformed.
    """
    try:
        kind = format_of(path)
    except UnknownFormatError as error:
        raise UsageError(f"--counts: {error}") from error
    if kind.vocabulary != "needed":
        return read_corpus(path, kind.name).counts
    try:
        return read_corpus(path, kind.name, find_vocabulary(path)).counts
    except FileNotFoundError:
        return read_corpus(path, kind.name, NUMBERS).counts


def sample(threads: int) -> Named:
    """Return the sections of the built-in sample, in the store of `train`, with words by spaCy."""
    if not Path(SAMPLE_STORE).exists():
        logger.info("no --counts: taking the built-in sample of Wikipedia articles")
    download(DownloadSettings(output=SAMPLE_STORE, threads=threads))
    store = ArticleStore(SAMPLE_STORE)
    settings = decide_documents(TrainSettings(articles=SAMPLE_STORE), len(store))
    tokens = tokens_of(store, text_settings(settings), effective_n_jobs(threads))
    corpus = build_corpus(tokens, lambda _: True, PRUNING)
    return Named(SAMPLE, corpus.counts, corpus.vocabulary)


def whole_counts(counts: sparse.csr_array) -> sparse.csr_array:
    """Return a copy of counts (D, V) as estimators take them: int64, each entry once, none 0."""
    documents: sparse.csr_array = sparse.csr_array(counts).astype(np.int64)  # a copy
    documents.sum_duplicates()
    documents.eliminate_zeros()
    return documents


def most_frequent_words(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """Return the columns of the words with most tokens, in their order; all if there are fewer.
    Among words with as many tokens the first ones are taken.
    """
    n_tokens = np.asarray(counts.sum(axis=0)).ravel()
    chosen = np.sort(np.argsort(-n_tokens, kind="stable")[:n_words])
    return sparse.csr_array(counts[:, chosen])


def draw_rows(among: NDArray[np.intp], n_rows: int, seed: int) -> NDArray[np.intp]:
    """Draw `n_rows` of the row numbers `among`, in order; all if there are no more."""
    rng = np.random.default_rng([seed, 1])
    return np.sort(rng.permutation(among)[:n_rows])
