"""Settings of the text stage, from those of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora import TextSettings
from corpora.tokens.spacy_model import BLANK
from pipeline.errors import UsageError

if TYPE_CHECKING:
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
