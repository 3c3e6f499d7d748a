"""Keys of results: SHA-256 of all that a result depends on, and of the code that computes it.

A change of the code makes other keys. Results of the code before are then not found, and deleted
when they were not used for a while (`pipeline.cache.results`).
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import corpora
import evaluation
import models
from corpora.files import sha256_of
from models import SavedModel
from models.families import arrays_of, family_of
from models.saved import vocabulary_hash
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut

LIBRARIES = ("numba", "numpy", "scikit-learn", "scipy")  # Libraries that results are computed with
SCORE_SETTINGS = ("method", "convention", "samples", "target_se", "smoothing", "seed")
SCORES = "scores"  # Kind of the scores of documents under a model
EXPERIMENT = "experiment-"  # Begins the kinds of results of `reproduce`


@cache
def code_hash() -> str:
    """SHA-256 of every module of corpora, evaluation and models, and of the versions of libraries.

    It is computed once a process.
    """
    directories = (Path(str(each.__file__)).parent for each in (corpora, evaluation, models))
    versions = [metadata.version(name) for name in LIBRARIES]
    return sha256_of(f"{versions} {hash_of_modules(directories)}".encode())


@cache
def experiments_hash() -> str:
    """SHA-256 of every module of pipeline.reproduce, which no other results depend on."""
    return hash_of_modules([Path(__file__).parents[1] / "reproduce"])


def hash_of_modules(directories: Iterable[Path]) -> str:
    """SHA-256 of names and content of all Python files in these directories and below them."""
    digest = hashlib.sha256()
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            data = path.read_bytes()
            name = path.relative_to(directory.parent).as_posix()
            digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def key_of(kind: str, **parts: Any) -> str:
    """The key of a result of a certain kind.

    `parts` are everything that the result depends on besides the code: numbers, texts, None, lists,
    mappings from texts, dataclasses, arrays, sparse matrices. Raises TypeError for others.
    """
    depends_on = {"kind": kind, "code": code_hash(), "parts": _plain(parts)}
    if kind.startswith(EXPERIMENT):
        depends_on["experiments"] = experiments_hash()
    return sha256_of(json.dumps(depends_on, sort_keys=True).encode())


def score_key(
    settings: EvaluateSettings, model: SavedModel, documents: HeldOut, words: Sequence[str]
) -> str:
    """The key of the scores of `words` of documents under a model, in `evaluate` and `report`."""
    return key_of(
        SCORES,
        family=family_of(model.topics),
        model=arrays_of(model.topics),
        vocabulary=vocabulary_hash(model.vocabulary),
        corpus=documents.corpus.content_hash,
        words=vocabulary_hash(words),
        **{name: getattr(settings, name) for name in SCORE_SETTINGS},
    )


def _plain(value: Any) -> Any:
    """The value as JSON can hold it, arrays as the hash of what they hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("arrays of objects have no hash of their content")
        content = sha256_of(np.ascontiguousarray(value).data)
        return {"array": content, "dtype": value.dtype.str, "shape": value.shape}
    if sparse.issparse(value):
        rows: Any = value.tocsr()  # type: ignore[attr-defined]
        arrays = {name: _plain(getattr(rows, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": arrays, "shape": rows.shape}
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
        return {"dataclass": type(value).__name__, "fields": found}
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"names of parts must be texts, found {list(value)}")
        return {"mapping": {name: _plain(each) for name, each in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    raise TypeError(f"a part of a key must be plain data, found a {type(value).__name__}")
