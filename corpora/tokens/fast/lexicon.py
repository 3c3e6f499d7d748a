"""The forms of tokens that were met: for each a row with all that its form alone decides."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]
from spacy.tokens import Doc

from corpora.tokens.fast.growing_array import GrowingArray

SEPARATOR = "separator"
"""Stands between the words that are tokenized in one call, lest a rule join two of them."""

T = TypeVar("T")

BLOCK = 256  # Tokens that are embedded at a time


KEY = slice(-4, -1)
"""Columns of a token's trailing space, form and norm, which name its row."""


class _Tokens(NamedTuple):
    """Tokens of a chunk: some of a document."""

    doc: Doc
    attributes: NDArray[Any]  # (n_tokens, n_columns) of the document
    keys: list[list[int]]  # (n_tokens, 3) its columns KEY
    start: int
    end: int


class Lexicon:
    """Rows for the tokens of texts, and chunks of text for which they are known. The tokenizer of
    `nlp` is asked once for each chunk. `embed` makes the (n, width) embedding of (n, n_columns)
    attributes of tokens, its rows independent of each other (`row_product`); `columns` names these
    attributes, which depend on the token's form, norm and trailing space alone.
    """

    def __init__(self, nlp: Language, embed: Any, columns: Sequence[str], width: int) -> None:
        self._nlp = nlp
        self._embed = embed
        self._columns: list[int | str] = [*columns, "SPACY", "ORTH", "NORM", "IS_STOP"]  # See KEY
        self._space_columns = [i for i, name in enumerate(self._columns) if name == "SPACY"]
        self._n_features = len(columns)
        self._width = width
        self._chunk = chunk_pattern(nlp.tokenizer)
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.words: list[str] = []  # The different forms of tokens
        self._forms = GrowingArray(np.int32)
        self._embeddings = GrowingArray(np.float32, (self._width,))
        self._stops = GrowingArray(np.bool_)
        self._row_of: dict[tuple[int, int, int], int] = {}  # In the order of rows
        self._form_of_orth: dict[int, int] = {}  # In the order of forms
        self._index: dict[str, int] = {}  # In the order of chunks
        self._n_uses = GrowingArray(np.int64)  # How often each chunk was met
        self._ends = GrowingArray(np.int64)  # Where each chunk's rows end in `_rows`
        self._rows = GrowingArray(np.int32)

    @property
    def form_of(self) -> NDArray[np.int32]:
        """(n_rows,) the form of each row's tokens, an index into `words`."""
        return self._forms.rows

    @property
    def embedding(self) -> NDArray[np.float32]:
        """(n_rows, width) the embedding of each row's tokens."""
        return self._embeddings.rows

    @property
    def is_stop(self) -> NDArray[np.bool_]:
        """(n_rows,) whether the row's tokens are stop words."""
        return self._stops.rows

    @property
    def n_rows(self) -> int:
        """Different tokens."""
        return len(self._forms)

    @property
    def n_chunks(self) -> int:
        """Different chunks."""
        return len(self._index)

    def keep_frequent(self, n_chunks: int) -> NDArray[np.int64]:
        """Forget all but the `n_chunks` chunks that were met most often, the earlier of equals, and
        their tokens; return the forms that are left (n_forms,), by their former numbers.

        What counts is halved, so that new chunks catch up with old ones.
        """
        uses, ends = self._n_uses.rows, self._ends.rows
        chunks = np.sort(np.argsort(-uses, kind="stable")[:n_chunks])
        lengths = np.diff(ends, prepend=0)[chunks]
        old_rows = self._rows.rows[ranges(ends[chunks] - lengths, lengths)]
        rows, new_rows = np.unique(old_rows, return_inverse=True)
        forms, new_forms = np.unique(self.form_of[rows], return_inverse=True)
        self._index = dict(zip(taken(self._index, chunks), range(len(chunks)), strict=True))
        self._row_of = dict(zip(taken(self._row_of, rows), range(len(rows)), strict=True))
        orths = taken(self._form_of_orth, forms)
        self._form_of_orth = dict(zip(orths, range(len(forms)), strict=True))
        self.words = [self.words[form] for form in forms.tolist()]
        self._n_uses.keep(chunks)
        self._n_uses.rows[:] //= 2
        for array, values in (
            (self._ends, np.cumsum(lengths)),
            (self._rows, new_rows),
            (self._forms, new_forms),
        ):
            array.keep(np.zeros(0, dtype=np.int64))
            array.append(values)
        self._embeddings.keep(rows)
        self._stops.keep(rows)
        return forms

    def rows_of(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows of the tokens of all texts, and (n_texts + 1,) where each text begins."""
        found = [self._chunk.findall(text) for text in texts]
        chunks = [chunk for of_text in found for chunk in of_text]
        new = dict.fromkeys(chunk for chunk in chunks if chunk not in self._index)
        if new:
            self._learn(list(new))
        chunk_of = np.array(list(map(self._index.__getitem__, chunks)), dtype=np.int64)
        self._n_uses.rows[:] += np.bincount(chunk_of, minlength=self.n_chunks)
        ends = self._ends.rows
        lengths = np.diff(ends, prepend=0)[chunk_of]
        rows = self._rows.rows[ranges(ends[chunk_of] - lengths, lengths)]
        text_ends = np.concatenate(([0], np.cumsum(lengths)))
        return rows, text_ends[np.cumsum([0, *map(len, found)])]

    def _learn(self, chunks: list[str]) -> None:
        """Tokenize chunks, and make rows for the tokens that are new."""
        n_rows, n_before = self.n_rows, len(self._rows)
        ends: list[int] = []
        rows: list[int] = []
        forms: list[int] = []
        features: list[NDArray[np.uint64]] = []
        spaces: list[int] = []
        tokenized = self._tokenize(chunks)
        for chunk in chunks:
            word = chunk if chunk.isspace() else chunk.removesuffix(" ")
            tokens, attributes, keys, start, end = tokenized[word]
            for i in range(start, end):
                has_space, orth, norm = keys[i]
                if i == end - 1:
                    has_space = int(word != chunk)
                new = n_rows + len(forms)
                row = self._row_of.setdefault((orth, norm, has_space), new)
                rows.append(row)
                if row == new:
                    form = self._form_of_orth.setdefault(orth, len(self.words))
                    if form == len(self.words):
                        self.words.append(tokens[i].text)
                    forms.append(form)
                    features.append(attributes[i])
                    spaces.append(has_space)
            self._index[chunk] = len(self._index)
            ends.append(n_before + len(rows))
        self._n_uses.append(np.zeros(len(chunks), dtype=np.int64))
        self._ends.append(np.array(ends, dtype=np.int64))
        self._rows.append(np.array(rows, dtype=np.int32))
        self._forms.append(np.array(forms, dtype=np.int32))
        if features:
            described = np.stack(features)
            described[:, self._space_columns] = np.array(spaces, dtype=np.uint64)[:, None]
            self._describe(described)

    def _tokenize(self, chunks: list[str]) -> dict[str, _Tokens]:
        """Return the tokens of each chunk without the space behind it."""
        texts = dict.fromkeys(c if c.isspace() else c.removesuffix(" ") for c in chunks)
        words = [text for text in texts if len(text.split()) == 1 and not text.isspace()]
        # Tokens end in a space where the next word or separator follows, and nowhere else.
        doc: Doc = self._nlp.tokenizer(f" {SEPARATOR} ".join(words))
        attributes: NDArray[Any] = doc.to_array(self._columns)
        ends = np.flatnonzero(attributes[:, self._columns.index("SPACY")]) + 1
        bounds = [0, *ends.tolist(), len(doc)]
        keys = attributes[:, KEY].tolist()
        spans = {
            word: _Tokens(doc, attributes, keys, bounds[2 * i], bounds[2 * i + 1])
            for i, word in enumerate(words)
        }
        for text in (each for each in texts if each not in spans):
            alone = self._nlp.tokenizer(text)
            of_text: NDArray[Any] = alone.to_array(self._columns)
            spans[text] = _Tokens(alone, of_text, of_text[:, KEY].tolist(), 0, len(alone))
        return spans

    def _describe(self, attributes: NDArray[np.uint64]) -> None:
        """Embeddings and flags for the rows that were added last."""
        features = attributes[:, : self._n_features]
        for start in range(0, len(features), BLOCK):
            self._embeddings.append(self._embed(features[start : start + BLOCK]))
        self._stops.append(attributes[:, -1] != 0)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each start on, as many as its length, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def taken(names: Iterable[T], indices: NDArray[np.int64]) -> list[T]:
    """Return the names at these places of an ordered collection."""
    listed = list(names)
    return [listed[i] for i in indices.tolist()]


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
