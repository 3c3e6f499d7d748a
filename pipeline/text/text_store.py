"""Store of texts that are given to `train`: complete or not there, and shared by later runs.

RUNS/texts-<hash>/             the article store
RUNS/.texts-<hash>.partial/    what a process that reads, or was killed, has so far
"""

import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from corpora import Article, ArticleStore, CorpusFormatError, writer_lock
from corpora.files import sha256_of
from corpora.lock import lock_holder

PREFIX = "texts-"


def stored_texts(articles: Iterable[Article], runs: Path) -> Path:
    """Store the articles in `runs/texts-<12 hexadecimal digits of their hash>`.

    The same articles are stored once. Raises CorpusFormatError if there are none.
    """
    with made_for(runs), partial_store(runs, secrets.token_hex(6)) as folder:
        made = ArticleStore(folder / "store")
        if not made.append(articles):
            raise CorpusFormatError(
                "there is no text to learn from: all are empty, or none is given"
            )
        manifest = (made.path / "manifest.jsonl").read_bytes()
        path = runs / f"{PREFIX}{sha256_of(manifest)[:12]}"
        # A run that is saved takes its texts along, and nothing is added to them.
        for name in ("lock", "keys.sqlite"):
            (made.path / name).unlink(missing_ok=True)
        try:
            made.path.rename(path)
        except OSError:
            if not path.exists():  # else they are stored, perhaps by a process of this moment
                raise
    return path


@contextmanager
def made_for(folder: Path) -> Iterator[None]:
    """Make a folder within the block, and delete it, if it is empty, when the block fails."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


@contextmanager
def partial_store(runs: Path, key: str) -> Iterator[Path]:
    """Hold the folder of a store that is being written, which is deleted at the end. What killed
    processes have left beside it is deleted first.

    Raises StoreLockedError if another process writes there.
    """
    path = runs / f".{PREFIX}{key}.partial"
    with partial_folder(path):
        remove_abandoned(runs, path)
        yield path


@contextmanager
def partial_folder(path: Path) -> Iterator[None]:
    """Hold a folder of unfinished files, which is made if need be, and deleted at the end.

    It may have files of a process that was killed. Raises StoreLockedError if another process holds
    it.
    """
    with ExitStack() as held:
        while True:
            path.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has just deleted it
                held.enter_context(writer_lock(path))
                if (path / "lock").exists():
                    break
            held.close()
        if sys.platform == "win32":  # where a lock that is held cannot be deleted
            lock = held.pop_all()
            held.callback(shutil.rmtree, path, ignore_errors=True)
            held.push(lock)
        try:
            yield
        finally:
            shutil.rmtree(path, ignore_errors=True)


def remove_abandoned(runs: Path, own: Path | None = None) -> None:
    """Delete what killed processes have left of stores, but not what this process holds."""
    for each in runs.glob(f".{PREFIX}*.partial"):
        if each != own and lock_holder(each) is None:
            shutil.rmtree(each, ignore_errors=True)


def copy_store(store: Path, target: Path) -> None:
    """Copy a store of texts without the tokens that are cached in it."""
    shutil.copytree(store, target, ignore=shutil.ignore_patterns("tokens", "lock"))
