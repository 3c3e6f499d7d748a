"""`warm`: compile all kernels."""

import logging
import time
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from corpora.kernel_cache import cache_folder, caches_folder, left_to_others, share_compiling
from corpora.worker_pool import ordered_map
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.settings import WarmSettings
from pipeline.warming.background import mark_of
from pipeline.warming.recipes import Recipe, all_recipes

logger = logging.getLogger(__name__)


def warm(settings: WarmSettings) -> dict[str, Any]:
    """Compile all kernels that are not in the cache; return what is in it then.

    Raises UsageError if compiled kernels cannot be kept.
    """
    folder, started = cache_folder(), time.monotonic()
    if folder is None:
        raise UsageError(
            f"compiled kernels cannot be kept in {caches_folder()}: set NUMBA_CACHE_DIR to a "
            "folder of yours that nobody else may write to"
        )
    names = list(_recipes())
    middle = (len(names) + 1) // 2  # neighbours share kernels: processes begin far from each other
    order = [name for name in chain(*zip_longest(names[:middle], names[middle:])) if name]
    mark = mark_of("; ".join(names))
    if mark is not None and not mark.exists():
        logger.info("compiling the kernels of %d uses into %s", len(order), folder)
        with Progress("compiling", len(order), "uses of kernels") as progress:
            n_processes = effective_n_jobs(settings.threads)
            sharing = share_compiling if n_processes > 1 else None
            done = []
            for name, left in ordered_map(_run, order, n_processes, sharing):
                done.append((name, left))
                progress.update(1, name)
        for name, left in done:
            if not all(map(Path.exists, left)):  # another process compiles it, or was killed
                _run(name)
        mark.touch()
    kernels = [path for path in folder.iterdir() if "." in path.name]
    return {
        "directory": str(folder),
        "kernels": len(kernels),
        "bytes": sum(path.stat().st_size for path in kernels),
        "seconds": time.monotonic() - started,
    }


@cache
def _recipes() -> dict[str, Recipe]:
    return {each.name: each for each in all_recipes()}


def _run(name: str) -> tuple[str, list[Path]]:
    _recipes()[name].run()
    return name, left_to_others()
