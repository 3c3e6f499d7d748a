"""What tables and pictures of several corpora have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

COLUMNS = 3
"""Panels beside each other, at most."""


def panels(figure: Any, n_corpora: int, title: str) -> list[Any]:
    """Axes for each corpus, the first with `title` at its left."""
    n_columns = min(COLUMNS, n_corpora)
    grid = figure.subplots(-(-n_corpora // n_columns), n_columns, squeeze=False)
    for axes in grid.flat[n_corpora:]:
        axes.set_axis_off()
    grid[0, 0].set_ylabel(title)
    return list(grid.flat[:n_corpora])


def finite(value: Any) -> float | None:
    """The number, as JSON can hold it: None if it is infinite or not known."""
    return float(value) if np.isfinite(value) else None
