"""The forms of tokens that were met: for each a row with all that its form alone decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from spacy.language import Language
    from spacy.tokens import Doc

PADDING = 0
"""The row that stands for no token: its embedding is all zeros."""

CHUNK = re.compile(r"\S+ ?|\s+")
"""What spaCy's tokenizer looks at in isolation: a word up to the next white space, with the single
space that it counts to the word, or the white space that is left, which is a token of its own."""

SEPARATOR = "separator"
"""Stands between the words that are tokenized in one call, lest a rule join two of them."""

BLOCK = 256
"""Tokens that are embedded at a time, the last ones among zeros. The size of a matrix product may
touch its last bits, so it is always the same."""


class Lexicon:
    """Rows for the tokens of texts, and chunks of text for which they are known.

    Parameters
    ----------
    nlp
        Its tokenizer is asked once for each chunk.
    embed
        What makes the (n, width) embedding of (n, n_columns) attributes of tokens.
    columns
        Names of these attributes; each has to depend on the token's form, norm and trailing space.
    """

    def __init__(self, nlp: Language, embed: Any, columns: Sequence[str], width: int) -> None:
        self._nlp = nlp
        self._embed = embed
        self._columns: list[int | str] = [*columns, "SPACY", "ORTH", "NORM", "IS_STOP"]
        self._space_columns = [i for i, name in enumerate(self._columns) if name == "SPACY"]
        self._n_features = len(columns)
        self._width = width
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.words: list[str] = []
        """The different forms of tokens."""
        self.form_of: NDArray[np.int32] = np.zeros(1, dtype=np.int32)
        """(n_rows,) the form of each row's tokens, an index into `words`."""
        self.embedding: NDArray[np.float32] = np.zeros((1, self._width), dtype=np.float32)
        """(n_rows, width)"""
        self.is_stop: NDArray[np.bool_] = np.zeros(1, dtype=bool)
        """(n_rows,)"""
        self._row_of: dict[tuple[int, int, int], int] = {}
        self._form_of_orth: dict[int, int] = {}
        self._index: dict[str, int] = {}
        self._starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._rows: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    @property
    def n_rows(self) -> int:
        """Different tokens, `PADDING` among them."""
        return len(self.form_of)

    @property
    def n_chunks(self) -> int:
        """Different chunks."""
        return len(self._index)

    def rows_of(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows of the tokens of all texts, and (n_texts + 1,) where each text begins."""
        found = [CHUNK.findall(text) for text in texts]
        chunks = [chunk for of_text in found for chunk in of_text]
        new = dict.fromkeys(chunk for chunk in chunks if chunk not in self._index)
        if new:
            self._learn(list(new))
        chunk_of = np.array(list(map(self._index.__getitem__, chunks)), dtype=np.int64)
        lengths = np.diff(self._starts)[chunk_of]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        rows = self._rows[np.repeat(self._starts[chunk_of], lengths) + within]
        return rows, ends[np.cumsum([0, *map(len, found)])]

    def _learn(self, chunks: list[str]) -> None:
        """Tokenize chunks, and make rows for the tokens that are new."""
        n_rows = self.n_rows
        starts, rows = [len(self._rows)], []
        forms: list[int] = []
        features: list[NDArray[np.uint64]] = []
        tokenized = self._tokenize(chunks)
        for chunk in chunks:
            word = chunk if chunk.isspace() else chunk.removesuffix(" ")
            tokens, attributes, start, end = tokenized[word]
            for i in range(start, end):
                has_space = int(word != chunk and i == end - 1)
                orth, norm = attributes[i, -3:-1].tolist()
                row = self._row_of.setdefault((orth, norm, has_space), n_rows + len(forms))
                rows.append(row)
                if row == n_rows + len(forms):
                    form = self._form_of_orth.setdefault(orth, len(self.words))
                    if form == len(self.words):
                        self.words.append(tokens[i].text)
                    forms.append(form)
                    features.append(attributes[i].copy())
                    features[-1][self._space_columns] = has_space
            self._index[chunk] = len(self._index)
            starts.append(len(self._rows) + len(rows))
        self._starts = np.concatenate([self._starts[:-1], starts])
        self._rows = np.concatenate([self._rows, np.array(rows, dtype=np.int32)])
        self.form_of = np.concatenate([self.form_of, np.array(forms, dtype=np.int32)])
        if features:
            self._describe(np.stack(features))

    def _tokenize(self, chunks: list[str]) -> dict[str, tuple[Doc, NDArray[Any], int, int]]:
        """Each chunk's tokens: a document with its attributes, and from where to where they are."""
        words = list(dict.fromkeys(c.removesuffix(" ") for c in chunks if not c.isspace()))
        # Tokens end in a space where the next word or separator follows, and nowhere else.
        doc: Doc = self._nlp.tokenizer(f" {SEPARATOR} ".join(words))
        attributes: NDArray[Any] = doc.to_array(self._columns)
        ends = np.flatnonzero(attributes[:, self._columns.index("SPACY")]) + 1
        bounds = [0, *ends.tolist(), len(doc)]
        spans = {
            word: (doc, attributes, bounds[2 * i], bounds[2 * i + 1])
            for i, word in enumerate(words)
        }
        for chunk in chunks:
            if chunk.isspace():
                white = self._nlp.tokenizer(chunk)
                spans[chunk] = white, white.to_array(self._columns), 0, len(white)
        return spans

    def _describe(self, attributes: NDArray[np.uint64]) -> None:
        """Embeddings and flags for the rows that were added last."""
        features = attributes[:, : self._n_features]
        embeddings = [self.embedding]
        for start in range(0, len(features), BLOCK):
            part = features[start : start + BLOCK]
            padded = np.zeros((BLOCK, self._n_features), dtype=np.uint64)
            padded[: len(part)] = part
            embeddings.append(self._embed(padded)[: len(part)])
        self.embedding = np.concatenate(embeddings)
        self.is_stop = np.concatenate([self.is_stop, attributes[:, -1] != 0])
