"""tomotopy's .bin files, read by a process of its own.

On a file that is damaged, or of another model than LDA, tomotopy 0.14 ends the process, or computes
on without an end.
"""

from __future__ import annotations

import os
import resource
from importlib import import_module
from typing import TYPE_CHECKING

from corpora.errors import MissingExtraError
from corpora.worker_pool import WorkerDiedError, ordered_map
from models.lda.foreign import tomotopy_model
from models.saved import ModelFormatError

if TYPE_CHECKING:
    from models.saved import SavedModel

SECONDS = 5
"""Of processor time that a file may take at least; large ones get more, in excess of any need."""
BYTES_A_SECOND = 10**6


def read_tomotopy(path: str | os.PathLike[str]) -> SavedModel:
    """The `tomotopy.LDAModel` that its `save` wrote.

    Raises
    ------
    MissingExtraError
        If tomotopy is not installed.
    ModelFormatError
        If it cannot read the file as an LDAModel.
    """
    item = os.fspath(path), SECONDS + os.path.getsize(path) // BYTES_A_SECOND  # noqa: PTH202
    try:
        (saved,) = ordered_map(_read, [item], 2)  # with 1 it would be this process
    except WorkerDiedError:
        saved = "it is damaged, or of another kind, such as HDPModel"
    if isinstance(saved, str):
        raise ModelFormatError(f"{path}: tomotopy cannot read this as an LDAModel: {saved}")
    return saved


def _read(item: tuple[str, int]) -> SavedModel | str:
    """The model, or what is wrong with it; the process ends if it takes too many seconds."""
    path, seconds = item
    try:
        tomotopy = import_module("tomotopy")
    except ImportError as error:
        raise MissingExtraError(
            "tomotopy's models need tomotopy, which is not installed: pip install "
            "'wikitopics[peers]'"
        ) from error
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stderr = os.dup(2)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)  # what the C++ library says as it ends
    try:
        return tomotopy_model(tomotopy.LDAModel.load(path))
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        return str(error)
    finally:
        os.dup2(stderr, 2)
