"""Parts of speech that the two words of a bigram may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.tokens.settings import UNIVERSAL_PARTS_OF_SPEECH
from corpora.tokens.spacy_model import BLANK
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.settings import TrainSettings


def bigram_patterns(settings: TrainSettings) -> frozenset[tuple[str, str]] | None:
    """Return the allowed pairs of parts of speech; None if all are allowed.

    Raises UsageError if the setting is no list of pairs, or names a part of speech that is not kept
    or that the spaCy model does not have.
    """
    patterns = set()
    for part in filter(str.strip, settings.bigram_patterns.split(",")):
        pair = part.split()
        if len(pair) != 2:
            raise UsageError(
                '--bigram-patterns takes two parts of speech each, as in "ADJ NOUN, NOUN NOUN"; '
                f"found {part.strip()!r}"
            )
        kept = [each.strip() for each in settings.parts_of_speech.split(",")]
        for each in pair:
            if each not in UNIVERSAL_PARTS_OF_SPEECH:
                raise UsageError(
                    f"--bigram-patterns: there is no part of speech {each!r}, only "
                    + ", ".join(UNIVERSAL_PARTS_OF_SPEECH)
                )
            if each not in kept:
                raise UsageError(
                    f"--bigram-patterns: no {each} is kept; add it to --parts-of-speech"
                )
        patterns.add((pair[0], pair[1]))
    if not patterns:
        return None
    if settings.spacy_model.startswith(BLANK):
        raise UsageError(
            f"--bigram-patterns: {settings.spacy_model} gives no parts of speech; leave the "
            "setting out, or choose a spaCy model that does"
        )
    return frozenset(patterns)
