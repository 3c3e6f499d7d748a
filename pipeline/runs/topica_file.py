"""topica's saved models, read in a separate process: a damaged file can end it.

The file names its class, which topica tells when another class is asked to load it.
"""

import os
import re
from importlib import import_module
from typing import Any

import numpy as np

from corpora.errors import MissingExtraError
from corpora.worker_pool import WorkerDiedError, ordered_map
from models.described.topics import DescribedTopics
from models.saved import ModelFormatError

MAGIC = b"TOPICA"
WITH_PRIOR = ("LDA",)
"""Classes whose alpha is the Dirichlet prior of topics in documents."""


def read_topica(path: str | os.PathLike[str]) -> DescribedTopics:
    """Read a file that the `save` of one of topica's models wrote.

    Topics have weights, shares in the training documents, and LDA's have their prior. Raises
    MissingExtraError if topica is not installed; ModelFormatError if topica cannot read the file,
    or the model tells no weights.
    """
    try:
        (found,) = ordered_map(_read, [os.fspath(path)], 2)  # with 1 it would run in this process
    except WorkerDiedError:
        found = "it is damaged"
    if isinstance(found, str):
        raise ModelFormatError(f"{path}: topica cannot read this: {found}")
    return found


def _read(path: str) -> DescribedTopics | str:
    """Return the topics, or an error message."""
    try:
        topica = import_module("topica")
    except ImportError as error:
        raise MissingExtraError(
            "topica's models need topica, which is not installed: pip install 'wikitopics[peers]'"
        ) from error
    try:
        name, model = _load(topica, path)
        prior = np.asarray(model.alpha) if name in WITH_PRIOR else None
        return DescribedTopics.from_weights(
            np.asarray(model.topic_word),
            list(model.vocabulary),
            np.asarray(model.doc_topic),
            alpha=prior,
        )
    except (AttributeError, TypeError, ValueError, RuntimeError, OSError) as error:
        return str(error)


def _load(topica: Any, path: str) -> tuple[str, Any]:
    """Return the class of the model in a file, and the model."""
    try:
        return "LDA", topica.LDA.load(path)
    except ValueError as error:
        saved_by = re.search(r"saved by model (\w+)", str(error))
        if saved_by is None or not hasattr(topica, saved_by[1]):
            raise
        return saved_by[1], getattr(topica, saved_by[1]).load(path)
