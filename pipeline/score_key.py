"""What a score of documents under a model depends on, in one hash."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

from corpora.files import sha256_of
from models.families import arrays_of, family_of
from models.saved import vocabulary_hash
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models import SavedModel
    from pipeline.held_out import HeldOut
    from pipeline.settings import EvaluateSettings


def score_key(
    settings: EvaluateSettings, model: str, documents: HeldOut, words: Sequence[str]
) -> str:
    """SHA-256 of all that scores depend on; `model` is the model's hash, `words` are scored.

    Of this software that is the version: changes of its code between versions do not show.
    """
    depends_on = {
        "software": software_version(),
        "model": model,
        "corpus": documents.corpus.content_hash,
        "words": vocabulary_hash(words),
        "method": settings.method,
        "convention": settings.convention,
        "samples": settings.samples,
        "target_se": settings.target_se,
        "smoothing": settings.smoothing,
        "seed": settings.seed,
    }
    return sha256_of(json.dumps(depends_on, sort_keys=True).encode())


def model_hash(model: SavedModel) -> str:
    """SHA-256 of what a model says of documents: its arrays and its words."""
    digest = hashlib.sha256(
        f"{family_of(model.topics)} {vocabulary_hash(model.vocabulary)}".encode()
    )
    for name, array in sorted(arrays_of(model.topics).items()):
        array = np.ascontiguousarray(array)  # noqa: PLW2901
        digest.update(f" {name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
