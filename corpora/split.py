"""Training, validation and test documents, told apart by their names alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
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
    """The three parts of `corpus`, each in its order; see `part_of`."""
    names = Split._fields
    numbers = (names.index(part_of(doc_id, validation, test)) for doc_id in corpus.doc_ids)
    parts = np.fromiter(numbers, dtype=np.int8, count=corpus.n_docs)
    return Split(*(corpus.rows(parts == number) for number in range(len(names))))
