"""tomotopy's .bin files, read in a separate process.

tomotopy 0.14 crashes the process, or never ends, on a file that is damaged or of another model than
LDA.
"""

import os
import sys
from importlib import import_module

from corpora.errors import MissingExtraError
from corpora.worker_pool import WorkerDiedError, ordered_map
from models.lda.foreign import tomotopy_model
from models.saved import ModelFormatError, SavedModel

if sys.platform != "win32":
    import resource

SECONDS = 5  # Processor time allowed for a file, in seconds; large files get more
BYTES_A_SECOND = 10**6


def read_tomotopy(path: str | os.PathLike[str]) -> SavedModel:
    """Read a file that `tomotopy.LDAModel.save` wrote.

    Raises MissingExtraError if tomotopy is not installed; ModelFormatError if tomotopy cannot read
    the file as an LDAModel.
    """
    item = os.fspath(path), SECONDS + os.path.getsize(path) // BYTES_A_SECOND  # noqa: PTH202
    try:
        (saved,) = ordered_map(_read, [item], 2)  # with 1 it would run in this process
    except WorkerDiedError:
        saved = "it is damaged, or of another kind, such as HDPModel"
    if isinstance(saved, str):
        raise ModelFormatError(f"{path}: tomotopy cannot read this as an LDAModel: {saved}")
    return saved


def _read(item: tuple[str, int]) -> SavedModel | str:
    """Return the model, or an error message; the process is ended after too many seconds. Windows
    knows no such limit.
    """
    path, seconds = item
    try:
        tomotopy = import_module("tomotopy")
    except ImportError as error:
        raise MissingExtraError(
            "tomotopy's models need tomotopy, which is not installed: pip install "
            "'wikitopics[peers]'"
        ) from error
    if sys.platform != "win32":
        usage = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stderr = os.dup(2)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)  # silence the C++ library's last message
    try:
        return tomotopy_model(tomotopy.LDAModel.load(path))
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        return str(error)
    finally:
        os.dup2(stderr, 2)
