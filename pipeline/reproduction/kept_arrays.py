"""Arrays in a file, whole or not at all: what an experiment keeps of each of its steps."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from corpora.files import atomic_write
from models.saved import DAMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

T = TypeVar("T")


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write them, compressed."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    with atomic_write(path) as stream:
        stream.write(content.getvalue())


def load_arrays(path: Path, made_of: Callable[[Arrays], T]) -> T | None:
    """What `made_of` makes of them; None if there is no such file, or it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return made_of(dict(archive))
    except DAMAGE:
        return None
