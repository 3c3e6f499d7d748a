"""Texts to counts of lemmas, as a transformer of scikit-learn."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from corpora.counting import BagsOfBlock
from corpora.errors import EmptyVocabularyError
from corpora.text_reader import TextReader, shortened
from corpora.tokens.bigrams import DELIMITER, Bigrams, PairsOfBlock
from corpora.vocabulary import FrequenciesOfBlock, Pruning, vocabulary_from
from corpora.worker_pool import effective_n_jobs, ordered_map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from corpora.tokens.block import TokenBlock

TEXTS_OF_BLOCK, CHARACTERS_OF_BLOCK = 500, 500_000
"""Largest numbers that a process annotates at a time."""
OWN_NAMES = {"no_below": "min_df", "no_above": "max_df", "keep_n": "max_features"}
BIGRAM_THRESHOLDS = {"classic": 100.0, "npmi": 0.5}


class LemmaVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Counts lemmas and bigrams of lemmas in texts, as the text stage of the pipeline does.

    `analyzer` reads the texts: by default the spaCy model for `language` that is installed; or the
    name of a model, a spaCy `Language`, or a function from a text to its words. Of a model's tokens
    those of the `parts_of_speech` are kept whose lemma is letters alone, has `min_length`
    characters, and is neither one of the language's stop words nor of `stop_words`. A function's
    words are taken as they are, and are all neighbours.

    `bigrams` joins neighbours that are so often neighbours that they make one word (`a_b`):
    "classic" (Mikolov et al. 2013), "npmi", or "none"; `bigram_threshold` is by default 100, and
    0.5 for "npmi". The vocabulary is the words in at least `min_df` texts and at most the share
    `max_df` of them, of these the `max_features` that most texts have.

    `n_jobs` processes annotate, -1: one for each core. A `Language` works in this process alone, as
    does everything in a process that another one started, such as those of `GridSearchCV`.
    Attributes of a fitted one: `vocabulary_`, the words of the columns; `bigrams_`.
    """

    def __init__(
        self,
        *,
        language: str = "en",
        analyzer: Any = None,
        parts_of_speech: Iterable[str] = ("NOUN", "VERB", "ADJ", "ADV"),
        min_length: int = 3,
        stop_words: Iterable[str] = (),
        bigrams: str = "classic",
        bigram_min_count: int = 5,
        bigram_threshold: float | None = None,
        min_df: int = 5,
        max_df: float = 0.2,
        max_features: int | None = 100_000,
        n_jobs: int | None = None,
    ) -> None:
        self.language = language
        self.analyzer = analyzer
        self.parts_of_speech = parts_of_speech
        self.min_length = min_length
        self.stop_words = stop_words
        self.bigrams = bigrams
        self.bigram_min_count = bigram_min_count
        self.bigram_threshold = bigram_threshold
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.n_jobs = n_jobs

    def fit(self, raw_documents: Iterable[str], y: object = None) -> Self:
        """Learn bigrams and vocabulary from texts.

        Raises TypeError or ValueError for a setting or a text that is none; EmptyVocabularyError if
        no word is left; MissingModelError if the spaCy model is not installed.
        """
        del y
        self._learn(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: object = None) -> Any:
        """Learn from texts, and return their counts; each text is annotated once."""
        del y
        return self._output(self._counts(self._learn(raw_documents)))

    def partial_fit(self, raw_documents: Iterable[str], y: object = None) -> Self:
        """Append the new words of the next texts of a stream; the first call is `fit`.

        A word is appended when it is in at least `min_df` of the texts of one call and at most the
        share `max_df` of them, so give hundreds of texts at a time. Columns keep their order, and
        new ones follow by the alphabet, until there are `max_features`. So do new bigrams: their
        words are no longer counted alone where they are neighbours. Nothing else is remembered of
        earlier texts. For trainers with `growing_vocabulary`. Raises errors as `fit`; later calls
        need no words.
        """
        del y
        self._learn_more(raw_documents)
        return self

    def partial_fit_transform(self, raw_documents: Iterable[str], y: object = None) -> Any:
        """Return the counts of the texts after `partial_fit`; each text is annotated once."""
        del y
        return self._output(self._counts(self._learn_more(raw_documents)))

    def transform(self, raw_documents: Iterable[str]) -> Any:
        """Return the counts (n_texts, n_words) of the words of the vocabulary, CSR of int32.

        After `set_output(transform="pandas")` it is a data frame of sparse columns. Raises
        NotFittedError before `fit`; otherwise as `fit`.
        """
        check_is_fitted(self, "vocabulary_")
        return self._output(self._counts(self._annotated(raw_documents)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the words of the columns."""
        del input_features
        check_is_fitted(self, "vocabulary_")
        return np.array(self.vocabulary_, dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose "pandas" data frames, or "default" matrices, as what `transform` returns."""
        if transform not in (None, "default", "pandas"):
            raise ValueError(
                f'transform must be "default" or "pandas", which has sparse columns: {transform!r}'
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _learn(self, raw_documents: Iterable[str]) -> list[TokenBlock]:
        pruning = self._pruning()
        blocks = list(self._annotated(raw_documents))
        self.bigrams_ = self._bigrams_of(blocks)
        joined = map(self.bigrams_.join, blocks)
        with _own_names():
            self.vocabulary_ = vocabulary_from(map(FrequenciesOfBlock(_always), joined), pruning)
        return blocks

    def _learn_more(self, raw_documents: Iterable[str]) -> list[TokenBlock]:
        if not hasattr(self, "vocabulary_"):
            return self._learn(raw_documents)
        pruning = self._pruning()
        blocks = list(self._annotated(raw_documents))
        if pruning.keep_n is not None:
            room = pruning.keep_n - len(self.vocabulary_)
            if room <= 0:
                return blocks
            pruning = replace(pruning, keep_n=room)
        known, earlier = frozenset(self.vocabulary_), self.bigrams_.scores
        found = {**self._bigrams_of(blocks).scores, **earlier}
        joined = map(Bigrams(found).join, blocks)
        frequencies = map(FrequenciesOfBlock(_always), joined)
        try:
            new = vocabulary_from((each.without(known) for each in frequencies), pruning)
        except EmptyVocabularyError:
            return blocks
        self.vocabulary_ += new
        columns = known.union(new)
        self.bigrams_ = Bigrams(
            {
                pair: score
                for pair, score in found.items()
                if pair in earlier or DELIMITER.join(pair) in columns
            }
        )
        return blocks

    def _bigrams_of(self, blocks: Iterable[TokenBlock]) -> Bigrams:
        none = Bigrams({})
        if self.bigrams == "none":
            return none
        if self.bigrams not in BIGRAM_THRESHOLDS:
            raise ValueError(f'bigrams must be "classic", "npmi" or "none", not {self.bigrams!r}')
        threshold = self.bigram_threshold
        return none.from_counts(
            map(PairsOfBlock(none, _always), blocks),
            min_count=self.bigram_min_count,
            threshold=BIGRAM_THRESHOLDS[self.bigrams] if threshold is None else threshold,
            scoring=self.bigrams,
        )

    def _pruning(self) -> Pruning:
        for name, value in (("min_df", self.min_df), ("max_features", self.max_features)):
            if not isinstance(value, int) or isinstance(value, bool):
                if name == "max_features" and value is None:
                    continue
                raise TypeError(f"{name} must be a whole number, not {value!r}")
        with _own_names():
            return Pruning(self.min_df, self.max_df, self.max_features)

    def _counts(self, blocks: Iterable[TokenBlock]) -> sparse.csr_array:
        bags = BagsOfBlock(self.vocabulary_)
        counts = [bags(self.bigrams_.join(block)).counts for block in blocks]
        empty = sparse.csr_array((0, len(self.vocabulary_)), dtype=np.int32)
        joined: sparse.csr_array = sparse.vstack([empty, *counts], format="csr")
        return joined

    def _output(self, counts: sparse.csr_array) -> Any:
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return counts
        import pandas as pd  # type: ignore[import-untyped] # noqa: PLC0415 - who asks, has it

        return pd.DataFrame.sparse.from_spmatrix(counts, columns=list(self.vocabulary_))

    def _annotated(self, raw_documents: Iterable[str]) -> Iterator[TokenBlock]:
        reader = TextReader.of(
            self.analyzer, self.language, self.parts_of_speech, self.stop_words, self.min_length
        )
        n_processes = effective_n_jobs(self.n_jobs)
        if not reader.may_be_sent or multiprocessing.parent_process() is not None:
            n_processes = 1
        return ordered_map(reader, _blocks_of(raw_documents), n_processes)


@contextmanager
def _own_names() -> Iterator[None]:
    """Let errors of pruning call the settings as the vectorizer does."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, own in OWN_NAMES.items():
            message = message.replace(name, own)
        error.args = (message,)
        raise


def _always(_: str) -> bool:
    return True


def _blocks_of(raw_documents: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield texts in blocks, with the number of the first; raise for what is no text."""
    if isinstance(raw_documents, str):
        raise ValueError("texts must be a list of strings, not one string")  # noqa: TRY004
    if isinstance(raw_documents, Mapping) or hasattr(raw_documents, "columns"):
        kind = type(raw_documents).__name__
        raise TypeError(f"texts must be a list of strings, such as one column of a {kind}")
    block: list[str] = []
    n_characters, n_before = 0, 0
    for i, text in enumerate(raw_documents):
        if not isinstance(text, str):
            raise TypeError(f"text {i} is no string but {shortened(text)}")
        block.append(text)
        n_characters += len(text)
        if len(block) == TEXTS_OF_BLOCK or n_characters >= CHARACTERS_OF_BLOCK:
            yield n_before, block
            n_before, n_characters, block = i + 1, 0, []
    if block:
        yield n_before, block
