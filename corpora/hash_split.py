"""Split of a corpus into training, validation and test documents by a hash of the document id."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.corpus import Corpus
from corpora.mapped_split import is_large, mapped_parts

Part = Literal["train", "validation", "test"]


class Split(NamedTuple):
    """The three parts of a corpus, with the same vocabulary."""

    train: Corpus
    validation: Corpus
    test: Corpus


def article_of(document_id: str) -> str:
    """Return the article of a document or section: `en:12` for `en:12#3`."""
    return document_id.partition("#")[0]


def part_of(document_id: str, validation: float = 0.1, test: float = 0.1) -> Part:
    """Return the part of a document, independent of all other documents.

    The SHA-256 of the id, as a number from 0 to 1, is compared with `test` and `test + validation`,
    the approximate shares of the parts. Only `en:12` of `en:12#3` counts, so that held-out sections
    come from unseen articles. Raises ValueError if a share is negative, or no training documents
    are left.
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
    """Return the three parts of `corpus`, each in the order of `corpus`; see `part_of`. The parts
    of a large mapped corpus are written to its directory once and mapped, with the errors of
    `corpora.mapped_split.mapped_parts`; other parts are copied into memory.
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
    """(n,) 16 bytes of a hash of the article of each document, in place of strings."""
    digests = (hashlib.sha256(article_of(each).encode()).digest()[:16] for each in doc_ids)
    return np.fromiter(digests, dtype="S16")
