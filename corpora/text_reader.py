"""Texts to tokens, as a vectorizer is set: what its worker processes run.

Apart from the vectorizer, so that workers do not import scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.articles.article import Article
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotators import load_annotator
from corpora.tokens.block import BREAK, TokenBlock
from corpora.tokens.model_choice import model_for_language
from corpora.tokens.plain_annotator import PlainAnnotator
from corpora.tokens.selection import select
from corpora.tokens.settings import TextSettings
from corpora.tokens.spacy_model import BLANK, find_model, stop_words_of

if TYPE_CHECKING:
    from corpora.tokens.annotation import Annotator


class TextReader:
    """Function of a block of texts that annotates them; can be pickled if `may_be_sent`."""

    def __init__(self, analyzer: Any, settings: TextSettings) -> None:
        self._analyzer, self._settings = analyzer, settings

    @classmethod
    def of(
        cls, analyzer: Any, language: str, parts_of_speech: Any, stop_words: Any, min_length: int
    ) -> TextReader:
        """Return the reader of a `LemmaVectorizer` with these settings; raises their errors."""
        if analyzer is None:
            analyzer = model_for_language(language)
        elif isinstance(analyzer, str):
            analyzer = find_model(analyzer)
        elif not callable(analyzer):
            raise TypeError(
                "analyzer must be the name of a spaCy model, a spaCy Language, or a function from "
                f"a text to its words, not {analyzer!r}"
            )
        model = analyzer if isinstance(analyzer, str) else ""
        if getattr(analyzer, "pipe_names", None) == []:  # of spacy.blank: no parts of speech
            model = f"{BLANK}{analyzer.lang}"
        settings = TextSettings(
            spacy_model=model,
            parts_of_speech=_words_in("parts_of_speech", parts_of_speech),
            min_length=min_length,
            extra_stop_words=_words_in("stop_words", stop_words),
        )
        return cls(analyzer, settings)

    @property
    def may_be_sent(self) -> bool:
        """Whether other processes can do this."""
        return isinstance(self._analyzer, str) or not hasattr(self._analyzer, "pipe_names")

    def __call__(self, block: tuple[int, list[str]]) -> TokenBlock:
        """Return the tokens of texts, (the number of the first, texts), that `settings` select."""
        first, texts = block
        if self.may_be_sent and callable(self._analyzer):
            return _block_of_words(first, map(self._analyzer, texts))
        annotator, stop_words = self._annotator()
        articles = (Article(first + i, 0, "", "", "", "", "", text) for i, text in enumerate(texts))
        return select(annotate_articles(articles, annotator, stop_words), self._settings)

    def _annotator(self) -> tuple[Annotator, Iterable[str]]:
        if not isinstance(self._analyzer, str):
            return PlainAnnotator(self._analyzer), self._analyzer.Defaults.stop_words
        if self._analyzer not in _loaded:
            _loaded.clear()
            _loaded[self._analyzer] = load_annotator(self._analyzer), stop_words_of(self._analyzer)
        return _loaded[self._analyzer]


_loaded: dict[str, tuple[Annotator, Iterable[str]]] = {}
"""The model that was used last in this process."""


def _words_in(name: str, value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"{name} must be a list of words, not {value!r}")  # noqa: TRY004
    return tuple(value)


def shortened(value: object) -> str:
    """Return the beginning of what a value looks like."""
    return " ".join(islice(repr(value).split(), 8))[:60]


def _block_of_words(first: int, texts: Iterable[Any]) -> TokenBlock:
    """Return the words of texts, each text as one run of neighbours."""
    numbers: dict[Any, int] = {}
    places, start = [], [0]
    for words in texts:
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise TypeError(f"analyzer must return a list of words, not {shortened(words)}")
        listed = [numbers.setdefault(word, len(numbers)) for word in words]
        places += [*listed, BREAK] if listed else []
        start.append(len(places))
    wrong = next((word for word in numbers if not isinstance(word, str)), None)
    if wrong is not None:
        raise TypeError(f"analyzer must return words, which are strings, not {shortened(wrong)}")
    words = sorted(numbers)
    rank = np.empty(len(words) + 1, dtype=np.int32)
    rank[[numbers[word] for word in words]] = np.arange(len(words))
    rank[-1] = BREAK  # the place -1
    ids = tuple(str(first + i) for i in range(len(start) - 1))
    word_of = rank[np.array(places, dtype=np.int64)]
    return TokenBlock(tuple(words), word_of, np.array(start, dtype=np.int64), ids, ids)
