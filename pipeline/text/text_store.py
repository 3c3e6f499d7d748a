"""Store of texts that are given to `train`: complete or not there, and shared by later runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from corpora import ArticleStore, CorpusFormatError
from corpora.files import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from corpora import Article

PREFIX = "texts-"


def stored_texts(articles: Iterable[Article], runs: Path) -> Path:
    """Store the articles in `runs/texts-<12 hexadecimal digits of their hash>`.

    The same articles are stored once. Raises CorpusFormatError if there are none.
    """
    runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{PREFIX}", dir=runs, ignore_cleanup_errors=True
    ) as folder:
        made = ArticleStore(Path(folder) / "store")
        if not made.append(articles):
            raise CorpusFormatError(
                "there is no text to learn from: all are empty, or none is given"
            )
        manifest = (made.path / "manifest.jsonl").read_bytes()
        path = runs / f"{PREFIX}{sha256_of(manifest)[:12]}"
        if not path.exists():
            # A run that is saved takes its texts along, and nothing is added to them.
            for name in ("lock", "keys.sqlite"):
                (made.path / name).unlink(missing_ok=True)
            made.path.replace(path)
    return path


def copy_store(store: Path, target: Path) -> None:
    """Copy a store of texts without the tokens that are cached in it."""
    shutil.copytree(store, target, ignore=shutil.ignore_patterns("tokens", "lock"))
