"""Settings that decide which tokens of a text become words."""

from dataclasses import dataclass

from corpora.tokens.spacy_model import BLANK

UNIVERSAL_PARTS_OF_SPEECH = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ"),
    *("NOUN", "NUM", "PART", "PRON", "PROPN", "SCONJ", "VERB"),
)
"""The universal parts of speech that words have; PUNCT, SYM, SPACE and X are left out."""


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Settings of kept lemmas and documents; lists become tuples. Raises ValueError if invalid."""

    spacy_model: str = ""
    """A package, a path, `blank:CODE` (see `spacy_model`), or empty for the small English model."""
    parts_of_speech: tuple[str, ...] = ("NOUN", "VERB", "ADJ", "ADV")
    min_length: int = 3  #: Minimum number of characters of a lemma.
    extra_stop_words: tuple[str, ...] = ()
    """Lemmas to drop besides the model's own stop words, in any case."""
    documents: str = "article"
    """Whether each "article" or each top-level "section" of one is a document."""
    noun_chunks: bool = False
    """Whether to look for noun chunks, which takes the parser and several times as long."""

    def __post_init__(self) -> None:
        for name in ("parts_of_speech", "extra_stop_words"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(word, str) for word in value):
                raise ValueError(f"{name} must be a list of words, not {value!r}")
            object.__setattr__(self, name, tuple(value))
        unknown = sorted(set(self.parts_of_speech).difference(UNIVERSAL_PARTS_OF_SPEECH))
        if unknown or not self.parts_of_speech:
            raise ValueError(
                f"parts_of_speech must be some of {', '.join(UNIVERSAL_PARTS_OF_SPEECH)}; "
                f"found {', '.join(unknown) or 'none'}"
            )
        if self.min_length < 1:
            raise ValueError(f"min_length must be at least 1, not {self.min_length}")
        if self.documents not in {"article", "section"}:
            raise ValueError(f'documents must be "article" or "section", not {self.documents!r}')

    @property
    def knows_parts_of_speech(self) -> bool:
        """Whether the model gives parts of speech; if not, none are asked for."""
        return not self.spacy_model.startswith(BLANK)
