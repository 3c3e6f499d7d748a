"""The forms of tokens that were met: for each a row with all that its form alone decides."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]
from spacy.tokens import Doc

SEPARATOR = "separator"
"""Stands between the words that are tokenized in one call, lest a rule join two of them."""

BLOCK = 256  # Tokens that are embedded at a time


class Lexicon:
    """Rows for the tokens of texts, and chunks of text for which they are known. The tokenizer of
    `nlp` is asked once for each chunk. `embed` makes the (n, width) embedding of (n, n_columns)
    attributes of tokens, its rows independent of each other (`row_product`); `columns` names these
    attributes, which depend on the token's form, norm and trailing space alone.
    """

    def __init__(self, nlp: Language, embed: Any, columns: Sequence[str], width: int) -> None:
        self._nlp = nlp
        self._embed = embed
        self._columns: list[int | str] = [*columns, "SPACY", "ORTH", "NORM", "IS_STOP"]
        self._space_columns = [i for i, name in enumerate(self._columns) if name == "SPACY"]
        self._n_features = len(columns)
        self._width = width
        self._chunk = chunk_pattern(nlp.tokenizer)
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.words: list[str] = []  # The different forms of tokens
        self.form_of: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        """(n_rows,) the form of each row's tokens, an index into `words`."""
        self.embedding: NDArray[np.float32] = np.zeros((0, self._width), dtype=np.float32)
        """(n_rows, width)"""
        self.is_stop: NDArray[np.bool_] = np.zeros(0, dtype=bool)  # (n_rows,)
        self._row_of: dict[tuple[int, int, int], int] = {}
        self._form_of_orth: dict[int, int] = {}
        self._index: dict[str, int] = {}
        self._starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._rows: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    @property
    def n_rows(self) -> int:
        """Different tokens."""
        return len(self.form_of)

    @property
    def n_chunks(self) -> int:
        """Different chunks."""
        return len(self._index)

    def rows_of(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows of the tokens of all texts, and (n_texts + 1,) where each text begins."""
        found = [self._chunk.findall(text) for text in texts]
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
                space, orth, norm = attributes[i, -4:-1].tolist()
                has_space = space if i < end - 1 else int(word != chunk)
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
        texts = dict.fromkeys(c if c.isspace() else c.removesuffix(" ") for c in chunks)
        words = [text for text in texts if len(text.split()) == 1 and not text.isspace()]
        # Tokens end in a space where the next word or separator follows, and nowhere else.
        doc: Doc = self._nlp.tokenizer(f" {SEPARATOR} ".join(words))
        attributes: NDArray[Any] = doc.to_array(self._columns)
        ends = np.flatnonzero(attributes[:, self._columns.index("SPACY")]) + 1
        bounds = [0, *ends.tolist(), len(doc)]
        spans = {
            word: (doc, attributes, bounds[2 * i], bounds[2 * i + 1])
            for i, word in enumerate(words)
        }
        for text in (each for each in texts if each not in spans):
            alone = self._nlp.tokenizer(text)
            spans[text] = alone, alone.to_array(self._columns), 0, len(alone)
        return spans

    def _describe(self, attributes: NDArray[np.uint64]) -> None:
        """Embeddings and flags for the rows that were added last."""
        features = attributes[:, : self._n_features]
        blocks = (features[start : start + BLOCK] for start in range(0, len(features), BLOCK))
        self.embedding = np.concatenate([self.embedding, *map(self._embed, blocks)])
        self.is_stop = np.concatenate([self.is_stop, attributes[:, -1] != 0])


def chunk_pattern(tokenizer: Any) -> re.Pattern[str]:
    """Return a pattern for the parts of a text that spaCy's `Tokenizer` treats separately: a word
    with the space behind it, or other white space, which is a token. Only special cases look
    further: they are matched on the tokens of the whole text, and a match across a space, though
    nothing comes of it, keeps others that overlap it from being applied. So words stay together
    where two neighbours in a rule could be the last and the first token there.
    """
    without_rules = Tokenizer(
        tokenizer.vocab,
        rules={},
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        token_match=tokenizer.token_match,
        url_match=tokenizer.url_match,
    )
    after_words: set[str] = set()
    after_others: dict[str, set[str]] = {}
    for rule in tokenizer.rules or {}:
        tokens = [token.text for token in without_rules(rule)]
        for before, after in pairwise(tokens):
            if re.fullmatch(r"\w", before[-1]):  # many characters, and few may follow: all alike
                after_words.add(after[0])
            else:
                after_others.setdefault(before[-1], set()).add(after[0])
    borders = [rf"(?<={re.escape(c)} )(?={_one_of(s)})" for c, s in sorted(after_others.items())]
    together = rf"(?<=\w )(?={_one_of(after_words)})|(?<=\W )(?:{'|'.join(borders) or '(?!)'})"
    return re.compile(rf"\S+(?: (?:{together})\S+)* ?|\s+")


def _one_of(characters: set[str]) -> str:
    """A pattern for any of these; for none, one that never matches."""
    return f"[{''.join(map(re.escape, sorted(characters)))}]" if characters else "(?!)"
