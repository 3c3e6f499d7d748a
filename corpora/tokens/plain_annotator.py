"""Annotation by spaCy's `nlp.pipe` alone: slow, and the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corpora.tokens.annotation import PARTS_OF_SPEECH, Annotation
from corpora.tokens.spacy_model import token_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from spacy.language import Language
    from spacy.tokens import Doc

BATCH_SIZE = 16
"""Texts that spaCy takes at a time, at some 20 kB of memory a word; more are not faster."""


class PlainAnnotator:
    """Annotates by any spaCy pipeline. Without components, lemmas are the lower-cased tokens, and
    tags and parts of speech are not known. `noun_chunks` takes a parser.
    """

    def __init__(self, nlp: Language, *, noun_chunks: bool = False) -> None:
        self._nlp, self._noun_chunks = nlp, noun_chunks
        lemma = "LEMMA" if nlp.pipe_names else "LOWER"
        self._attributes: list[int | str] = [lemma, "TAG", "POS", "IS_STOP"]
        ids = [nlp.vocab.strings[name] for name in PARTS_OF_SPEECH]  # small: spaCy's own symbols
        self._index_of_pos = np.zeros(max(ids) + 1, dtype=np.uint8)
        self._index_of_pos[ids] = np.arange(len(ids))

    def annotate(self, texts: Sequence[str]) -> Annotation:
        """The annotation of `texts`; spaCy may refuse one that is very long."""
        lengths = np.zeros(len(texts) + 1, dtype=np.int64)
        found = [np.zeros((0, len(self._attributes)), dtype=np.uint64)]
        chunks = [np.zeros(0, dtype=bool)]
        with self._nlp.memory_zone():  # else the strings of all texts ever read stay in memory
            for t, doc in enumerate(self._nlp.pipe(texts, batch_size=BATCH_SIZE)):
                lengths[t + 1] = len(doc)
                found.append(doc.to_array(self._attributes).astype(np.uint64, copy=False))
                if self._noun_chunks:
                    chunks.append(continues_chunk(doc))
            lemma, tag, pos, is_stop = np.concatenate(found).T
            lemmas, lemma_of = self._strings(lemma)
            tags, tag_of = self._strings(tag)
        return Annotation(
            lemmas,
            tags,
            lemma_of.astype(np.int32),
            tag_of.astype(np.int16),
            self._index_of_pos[pos.astype(np.int64)],
            is_stop != 0,
            np.cumsum(lengths),
            np.concatenate(chunks),
        )

    def token_spans(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return start and end (n_tokens, 2) of the tokens of each text, as characters."""
        return token_spans(self._nlp, texts)

    def _strings(self, ids: NDArray[np.uint64]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The different strings that `ids` stand for, sorted, and for each id which one it is."""
        different, index = np.unique(ids, return_inverse=True)
        strings = [self._nlp.vocab.strings[each] for each in different.tolist()]
        order = sorted(range(len(strings)), key=strings.__getitem__)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return tuple(strings[i] for i in order), place[index]


def continues_chunk(doc: Doc) -> NDArray[np.bool_]:
    """(n_tokens,) whether a token is in the same noun chunk as the one before."""
    found = np.zeros(len(doc), dtype=bool)
    for chunk in doc.noun_chunks:
        found[chunk.start + 1 : chunk.end] = True
    return found
