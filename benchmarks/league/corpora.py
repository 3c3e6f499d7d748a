"""Corpora of the league: training and test counts, words, and labels of the test documents."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.lda_trainers.recombined import recombined
from benchmarks.reference_counts import FOLDER, SHARED, reference_counts
from corpora import read_corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MIN_DOCUMENTS = 5
TEST_SHARE = 0.2
PATTERN = r"[a-z]{3,}"
RECOMBINED_FROM, RECOMBINED = 10_000, 20_000


@dataclass(frozen=True, eq=False)
class Parts:
    """A corpus in two parts."""

    train: sparse.csr_array
    test: sparse.csr_array
    words: tuple[str, ...]
    labels: tuple[str, ...] | None = None  # Of the test documents


def halves(
    counts: sparse.csr_array, words: Sequence[str], labels: Sequence[str] | None = None
) -> Parts:
    """Return a random fifth of the documents as the test part; words of five training documents."""
    is_test = np.zeros(counts.shape[0], dtype=bool)
    order = np.random.default_rng(0).permutation(counts.shape[0])
    is_test[order[: int(TEST_SHARE * counts.shape[0])]] = True
    train = sparse.csr_array(counts[np.flatnonzero(~is_test)])
    kept = np.bincount(train.indices, minlength=counts.shape[1]) >= MIN_DOCUMENTS
    columns = np.flatnonzero(kept)
    tests = np.flatnonzero(is_test)
    return Parts(
        sparse.csr_array(train[:, columns]).astype(np.int32),
        sparse.csr_array(counts[tests][:, columns]).astype(np.int32),
        tuple(words[w] for w in columns),
        None if labels is None else tuple(labels[d] for d in tests),
    )


def kos() -> Parts:
    corpus = read_corpus(SHARED / "data" / "kos" / "docword.kos.txt.gz", "uci", "numbers")
    return halves(sparse.csr_array(corpus.counts), corpus.vocabulary)


def classic3() -> Parts:
    """Abstracts of three collections, counted by scikit-learn, without its English stop words."""
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    with lzma.open(SHARED / "data" / "classic3" / "classic3.jsonl.xz", "rt") as stream:
        rows = [json.loads(line) for line in stream]
    vectorizer = CountVectorizer(stop_words="english", token_pattern=PATTERN, max_df=0.5)
    counts = sparse.csr_array(vectorizer.fit_transform([row["text"] for row in rows]))
    words = vectorizer.get_feature_names_out().tolist()
    return halves(counts, words, [row["label"] for row in rows])


def wikipedia() -> Parts:
    train, test = reference_counts()
    return Parts(train, test, _reference_words())


def recombined_articles() -> Parts:
    train, test = reference_counts()
    return Parts(recombined(train[:RECOMBINED_FROM], RECOMBINED), test, _reference_words())


def _reference_words() -> tuple[str, ...]:
    return tuple((FOLDER / "bow_vocabulary.txt").read_text("utf-8").split())


CORPORA: dict[str, Callable[[], Parts]] = {
    "kos": kos,
    "classic3": classic3,
    "wikipedia": wikipedia,
    "recombined": recombined_articles,
}
