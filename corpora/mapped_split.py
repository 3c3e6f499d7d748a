"""Parts of a large mapped corpus as corpora, written once beside it and mapped.

    DIR/parts-<hash>-<validation>-<test>/train, validation, test   each with the layout of a corpus

<hash> is the beginning of the content hash of the whole corpus; a new corpus deletes the parts of
the former one. A part is not a list of row numbers: trainers take one CSR matrix with contiguous
rows, and selected rows of a mapped matrix can only be copied into memory.
"""

import errno
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.array_file import release
from corpora.corpus import Corpus
from corpora.corpus_files import HEADER, parts_name
from corpora.corpus_writer import Bags, CorpusWriter
from corpora.errors import StoreLockedError
from corpora.lock import writer_lock
from corpora.row_blocks import row_blocks
from corpora.string_column import StringColumn

PartsOf = Callable[[Sequence[str]], NDArray[np.int8]]

logger = logging.getLogger(__name__)

LARGE_BYTES = 256 << 20  # Bytes of the counts; parts of a smaller corpus are copied into memory
WAIT_SECONDS = 0.2  # Seconds between attempts to take the lock


def is_large(corpus: Corpus) -> bool:
    """Whether the parts of `corpus` are written to disk: it is mapped and large."""
    n_bytes = corpus.counts.data.nbytes + corpus.counts.indices.nbytes
    return corpus.mapped_from is not None and n_bytes >= LARGE_BYTES


def mapped_parts(
    corpus: Corpus, names: Sequence[str], shares: tuple[float, float], parts_of: PartsOf
) -> tuple[Corpus, ...] | None:
    """Return the parts of a mapped corpus, in the order of their `names`; written if missing, and
    checked if `corpus` was. None if they are missing and the directory is not writable.

    `shares` of validation and test are part of the directory name; `parts_of` returns the number
    (n,) of the part of each document from their ids. If another process is writing, this call
    waits. Raises CorpusFormatError if a file is missing or was changed; OSError if the parts cannot
    be written.
    """
    source = corpus.mapped_from
    assert source is not None
    identity = source.content_hash or corpus.content_hash
    label = "-".join(repr(float(share)) for share in shares)
    directory = source.directory / f"{parts_name(identity)}{label}"
    try:
        _make(corpus, directory, names, parts_of)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        logger.info("%s cannot be written to: the parts are kept in memory", source.directory)
        return None
    return tuple(
        Corpus.load(directory / name, mmap=True, checked=source.is_checked) for name in names
    )


def _make(corpus: Corpus, directory: Path, names: Sequence[str], parts_of: PartsOf) -> None:
    """Write the parts, unless they are complete; wait for another process that writes them."""
    while not all((directory / name / HEADER).exists() for name in names):
        directory.mkdir(exist_ok=True)
        try:
            with writer_lock(directory):
                if all((directory / name / HEADER).exists() for name in names):
                    return
                _write(corpus, directory, names, parts_of)
        except StoreLockedError:
            time.sleep(WAIT_SECONDS)


def _write(corpus: Corpus, directory: Path, names: Sequence[str], parts_of: PartsOf) -> None:
    source = corpus.mapped_from
    assert source is not None
    if not source.is_checked:  # damage would be copied into parts with valid checksums
        Corpus.load(source.directory, mmap=True, checked=True)
    doc_ids, titles = StringColumn.of(corpus.doc_ids), StringColumn.of(corpus.titles)
    logger.info("writing the parts of %s documents to %s", f"{corpus.n_docs:,}", directory)
    with ExitStack() as stack:
        writers = [
            stack.enter_context(CorpusWriter(directory / name, corpus.vocabulary)) for name in names
        ]
        for first, block in row_blocks(corpus.counts):
            rows = slice(first, first + block.shape[0])
            number = parts_of(doc_ids[rows])
            for i, writer in enumerate(writers):
                which = np.flatnonzero(number == i)
                if len(which):
                    strings = doc_ids[rows].take(which), titles[rows].take(which)
                    writer.append(Bags(block[which], *strings, corpus.n_unknown[rows][which]))
            release(doc_ids.data, titles.data)
    release(doc_ids.start, titles.start, corpus.counts.indptr, corpus.n_unknown)
