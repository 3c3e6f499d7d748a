"""One named error for each failure that a caller can act on."""

from __future__ import annotations


class CorpusFormatError(ValueError):
    """Stored or supplied data is not what its format says; the message names the file and place."""


class EmptyVocabularyError(ValueError):
    """Pruning left no word, or no document with a word; the message names the threshold."""


class StoreLockedError(RuntimeError):
    """Another process is writing to the same directory; try again when it has ended."""


class MissingModelError(RuntimeError):
    """The spaCy model is not installed; the message holds the install command."""


class UnsupportedVersionError(CorpusFormatError):
    """The data was written by a newer version of this software; upgrade to read it."""


class UnsuitableModelError(ValueError):
    """The spaCy model gives no parts of speech or no lemmas; another one has to be chosen."""


class UnsupportedPipelineError(ValueError):
    """A pipeline that the fast text stage does not know; the message says what it does not know."""


class MissingExtraError(RuntimeError):
    """An optional package is not installed; the message holds the install command."""
