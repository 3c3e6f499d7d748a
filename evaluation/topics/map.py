"""Map of topics in a plane by their distances: classical multidimensional scaling.

Torgerson 1952, "Multidimensional scaling: I. Theory and method"; also principal coordinates
analysis (Gower 1966), by which LDAvis lays out topics (Sievert & Shirley 2014, Sec. 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evaluation.arrays import Floats

NOISE = 1e-12  # share of the largest eigenvalue below which an eigenvalue is rounding


@dataclass(frozen=True, eq=False)
class TopicMap:
    """Positions of topics in the unit square, and the share of their distances that they show."""

    position: Floats
    """(K, 2), from 0 to 1, the same scale in both directions; the first axis shows the most."""
    share: float
    """Share of the two axes in the sum of positive eigenvalues: 1 if distances on the map equal
    those of the topics, up to scale."""


def topic_map(distances: ArrayLike) -> TopicMap:
    """Return the best map for `distances` by classical scaling.

    -J D² J / 2, with J = I - 1/K, are the inner products of centred points; its first two
    eigenvectors, times the roots of the eigenvalues, are the coordinates. On each axis the point
    farthest from the centre, the first of equal ones, is on the positive side, and the longer of
    the two extents goes from 0 to 1. Points that all coincide are in the middle. Raises ValueError
    if `distances` (K, K) are not symmetric, none negative, with a zero diagonal.
    """
    between = np.asarray(distances, dtype=np.float64)
    if between.ndim != 2 or between.shape[0] != between.shape[1] or not between.size:
        raise ValueError(f"distances must be (n_topics, n_topics), found shape {between.shape}")
    if not np.isfinite(between).all() or (between < 0).any():
        raise ValueError("distances must be finite and not negative")
    if between.diagonal().any() or not np.allclose(between, between.T, rtol=1e-9, atol=0):
        raise ValueError(
            "distances must be symmetric with a zero diagonal: give those of topic_distances"
        )
    n_topics = len(between)
    squared = between**2
    mean = squared.mean(axis=0)
    products = -(squared - mean - mean[:, None] + mean.mean()) / 2
    values, vectors = np.linalg.eigh(products)  # ascending
    values = np.where(values > NOISE * max(values[-1], 0.0), values, 0.0)
    if not values.any():
        return TopicMap(np.full((n_topics, 2), 0.5), 1.0)
    plane = np.zeros((n_topics, 2))
    n_axes = min(2, n_topics)
    plane[:, :n_axes] = vectors[:, ::-1][:, :n_axes] * np.sqrt(values[::-1][:n_axes])
    plane *= _signs(plane)
    share = float(values[::-1][:2].sum() / values.sum())
    low, high = plane.min(axis=0), plane.max(axis=0)
    position = (plane - (low + high) / 2) / (high - low).max() + 0.5
    return TopicMap(np.clip(position, 0.0, 1.0), share)


def _signs(plane: Floats) -> Floats:
    """Return the sign (2,) of the first of the outermost points on each axis."""
    size = np.abs(plane)
    farthest = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-9), axis=0)
    at_farthest = plane[farthest, np.arange(plane.shape[1])]
    return np.where(at_farthest < 0, -1.0, 1.0)
