"""Settings of the text stage, from those of training."""

from corpora import TextSettings
from corpora.tokens.settings import UNIVERSAL_PARTS_OF_SPEECH
from corpora.tokens.spacy_model import BLANK
from pipeline.errors import UsageError
from pipeline.settings import TrainSettings


def text_settings(settings: TrainSettings) -> TextSettings:
    """Return the settings of the text stage; `documents` must be decided, not "auto".

    Raises UsageError if a setting is impossible.
    """
    if settings.noun_chunks and settings.spacy_model.startswith(BLANK):
        raise UsageError(
            f"--noun-chunks: {settings.spacy_model} has no parser; leave the setting out, or "
            "choose a spaCy model that has one"
        )
    try:
        return TextSettings(
            spacy_model=settings.spacy_model,
            parts_of_speech=_listed(settings.parts_of_speech),
            min_length=settings.min_length,
            extra_stop_words=_listed(settings.stop_words),
            documents=settings.documents,
            noun_chunks=settings.noun_chunks,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


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
