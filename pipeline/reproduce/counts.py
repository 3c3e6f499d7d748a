"""Counts for the Gamma-Poisson experiments: files in any format, or the built-in sample."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scipy import sparse

from corpora import ArticleStore, CorpusFormatError, Pruning, build_corpus, read_corpus
from corpora.formats.registry import UnknownFormatError, format_of
from corpora.formats.vocabulary_file import NUMBERS, find_vocabulary, stem_of
from models.parallel import effective_n_jobs
from models.saved import DAMAGE
from pipeline.downloads.download import download
from pipeline.errors import UsageError
from pipeline.runs.run_directory import SAMPLE_STORE
from pipeline.settings import DownloadSettings, TrainSettings
from pipeline.text.documents import decide_documents, tokens_of
from pipeline.text.settings import text_settings

if TYPE_CHECKING:
    from pipeline.reproduce.settings import ReproduceSettings

logger = logging.getLogger(__name__)

SAMPLE = "sample"
PRUNING = Pruning(no_below=5, no_above=0.5)
"""Of the sample's words, as in the paper (Sec. 6.1)."""


class Named(NamedTuple):
    """One corpus, as far as the experiments need it."""

    name: str
    counts: sparse.csr_array
    """(D, V)"""


def corpora_of(settings: ReproduceSettings) -> list[Named]:
    """The files of --counts, or the sections of the built-in sample's articles.

    Raises
    ------
    UsageError
        If a name does not tell a format, or two files would have one name in tables.
    FileNotFoundError
        If a file is missing.
    CorpusFormatError
        If a file is not what its format says.
    """
    paths = [part.strip() for part in settings.counts.split(",") if part.strip()]
    if not paths:
        return [sample(settings.threads)]
    for path in paths:
        if not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    names = [name_of(path) for path in paths]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise UsageError(
                f"--counts: {paths[names.index(name)]} and {paths[i]} would both be called {name} "
                "in tables: rename one of them"
            )
    return [Named(name, read_counts(path)) for name, path in zip(names, paths, strict=True)]


def name_of(path: str) -> str:
    """NAME of docword.NAME.txt.gz, NAME.npz, of a directory its own."""
    return Path(path).resolve().name if Path(path).is_dir() else stem_of(path)


def read_counts(path: str) -> sparse.csr_array:
    """Counts (D, V) in a format that `convert` reads, or in SciPy's `.npz`.

    Words are not needed, so that a vocabulary beside the file may be missing.

    Raises
    ------
    UsageError
        If the name does not tell the format.
    CorpusFormatError
        If the file is not what its format says.
    """
    if Path(path).suffix == ".npz" and not Path(path).is_dir():
        return _read_npz(path)
    try:
        kind = format_of(path)
    except UnknownFormatError as error:
        raise UsageError(f"--counts: {error}, or .npz as SciPy writes it") from error
    if kind.vocabulary != "needed":
        return read_corpus(path, kind.name).counts
    try:
        return read_corpus(path, kind.name, find_vocabulary(path)).counts
    except FileNotFoundError:
        return read_corpus(path, kind.name, NUMBERS).counts


def sample(threads: int) -> Named:
    """Sections of the built-in sample, whose store is that of `train`, with its words by spaCy."""
    if not Path(SAMPLE_STORE).exists():
        logger.info("no --counts: taking the built-in sample of Wikipedia articles")
    download(DownloadSettings(output=SAMPLE_STORE, threads=threads))
    store = ArticleStore(SAMPLE_STORE)
    settings = decide_documents(TrainSettings(articles=SAMPLE_STORE), len(store))
    tokens = tokens_of(store, text_settings(settings), effective_n_jobs(threads))
    return Named(SAMPLE, build_corpus(tokens, lambda _: True, PRUNING).counts)


def _read_npz(path: str) -> sparse.csr_array:
    try:
        counts = sparse.csr_array(sparse.load_npz(path))
        counts.check_format(full_check=True)
    except DAMAGE as error:
        raise CorpusFormatError(
            f"{path}: no sparse matrix as scipy.sparse.save_npz writes it, or damaged: {error}"
        ) from error
    data = counts.data
    if counts.ndim != 2 or data.dtype.kind not in "biuf" or (data < 0).any() or (data % 1).any():
        raise CorpusFormatError(f"{path}: counts must be whole numbers, none negative")
    return counts
