"""The one place that chooses how texts are annotated: fast where that is possible."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from corpora.errors import UnsupportedPipelineError
from corpora.tokens.plain_annotator import PlainAnnotator
from corpora.tokens.spacy_model import load_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from spacy.language import Language

    from corpora.tokens.annotation import PlacingAnnotator

logger = logging.getLogger(__name__)


def load_annotator(
    model: str, *, noun_chunks: bool = False, warn: Callable[[str], object] = logger.warning
) -> PlacingAnnotator:
    """The fastest annotator that gives what spaCy's model gives; `model` as for `load_model`, which
    raises the errors. Noun chunks take the parser, which only spaCy itself runs. `warn` is called
    with a sentence if all has to be left to spaCy.
    """
    nlp = load_model(model, noun_chunks=noun_chunks)
    if noun_chunks or not nlp.pipe_names:  # a tokenizer alone is fast enough
        return PlainAnnotator(nlp, noun_chunks=noun_chunks)
    return _fast_annotator(nlp, warn) or PlainAnnotator(nlp)


def _fast_annotator(nlp: Language, warn: Callable[[str], object]) -> PlacingAnnotator | None:
    """None if the fast text stage does not know such a pipeline."""
    try:
        from corpora.tokens.fast_annotator import FastAnnotator  # noqa: PLC0415 - takes long
    except ImportError:
        return None
    try:
        return FastAnnotator(nlp)
    except UnsupportedPipelineError as error:
        warn(f"the text stage runs at spaCy's own speed: {error}")
        return None
