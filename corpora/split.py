"""Training, validation and test documents, told apart by their names alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from corpora.mapped_split import is_large, mapped_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from corpora.corpus import Corpus

Part = Literal["train", "validation", "test"]


class Split(NamedTuple):
    """One corpus in three, over the same vocabulary."""

    train: Corpus
    validation: Corpus
    test: Corpus


def article_of(document_id: str) -> str:
    """The article that a document is, or is a section of: of `en:12#3` that is `en:12`."""
    return document_id.partition("#")[0]


def part_of(document_id: str, validation: float = 0.1, test: float = 0.1) -> Part:
    """The part that a document is in, whatever other documents there are.

    The SHA-256 of the id, as a number from 0 to 1, is below `test`, or below `test + validation`,
    or not. Of `en:12#3` only `en:12` counts: the sections of an article are in one part, so that
    held-out sections are of articles that training has not seen.

    Parameters
    ----------
    validation, test
        The shares of the documents that these parts get, about.

    Raises
    ------
    ValueError
        If the shares are negative or leave nothing to train on.
    """
    if validation < 0 or test < 0 or not validation + test < 1:
        raise ValueError(
            "validation and test are shares of the documents, at least 0 and together below 1, "
            f"not {validation} and {test}"
        )
    digest = hashlib.sha256(article_of(document_id).encode()).digest()
    u = int.from_bytes(digest[:8], "big") / 2**64
    if u < test:
        return "test"
    return "validation" if u < test + validation else "train"


def split(corpus: Corpus, validation: float = 0.1, test: float = 0.1) -> Split:
    """The three parts of `corpus`, each in its order; see `part_of`.

    The parts of a large mapped corpus are mapped too: they are written to its directory once, which
    takes as much disk as itself (see `corpora.mapped_split`). Others are copied into memory.

    Raises
    ------
    CorpusFormatError
        If a file of a mapped corpus, or of a part that was written, is missing or was changed.
    OSError
        If the parts of a mapped corpus cannot be written, for instance because the disk is full.
    """

    def parts_of(doc_ids: Sequence[str]) -> NDArray[np.int8]:
        numbers = (Split._fields.index(part_of(each, validation, test)) for each in doc_ids)
        return np.fromiter(numbers, dtype=np.int8, count=len(doc_ids))

    if is_large(corpus):
        parts = mapped_parts(corpus, Split._fields, (validation, test), parts_of)
        if parts is not None:
            return Split(*parts)
    numbers = parts_of(corpus.doc_ids)
    return Split(*(corpus.rows(numbers == number) for number in range(len(Split._fields))))


def article_keys(doc_ids: Iterable[str]) -> NDArray[np.bytes_]:
    """(n,) 16 bytes of a hash of the article of each document: what tells articles from others.

    In the place of as many strings, where there are too many of these to hold in memory.
    """
    digests = (hashlib.sha256(article_of(each).encode()).digest()[:16] for each in doc_ids)
    return np.fromiter(digests, dtype="S16")
