"""One error class for each failure that a caller can act on."""


class CorpusFormatError(ValueError):
    """Data do not have the form of their format; the message names the file and the place."""


class EmptyVocabularyError(ValueError):
    """Pruning kept no word, or no document with a word; the message names the threshold."""


class StoreLockedError(RuntimeError):
    """Another process is writing to the same directory; try again when it has ended."""


class MissingModelError(RuntimeError):
    """The spaCy model is not installed; the message holds the install command."""


class UnsupportedVersionError(CorpusFormatError):
    """A newer version of this software wrote the data; upgrade to read them."""


class UnsuitableModelError(ValueError):
    """The spaCy model has no parts of speech or no lemmas; choose another model."""


class UnsupportedPipelineError(ValueError):
    """The fast text stage does not support a spaCy pipeline; the message names the component."""


class MissingExtraError(RuntimeError):
    """An optional package is not installed; the message holds the install command."""
