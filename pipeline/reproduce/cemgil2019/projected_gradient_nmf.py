"""Nonnegative least squares factorisation by alternating projected gradients (Lin 2007).

The peer of Cemgil et al. 2019, section 5.4 (ALS-PGD): |X − W H|² is minimised over H ≥ 0 with W
fixed, and the other way round, each by steps along the gradient that are cut off at zero and whose
length Armijo's rule decides (Lin 2007, algorithms 2 and 4).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SUFFICIENT = 0.01
"""σ of Armijo's rule: a step must fall by at least this share of what its slope promises."""
SHRINK = 0.1
"""β of Armijo's rule: factor between lengths that are tried."""
INNER_STEPS = 1000
TRIALS = 20
"""Maximum of lengths that are tried for one step."""


def projected_gradient_nmf(
    X: ArrayLike,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_rounds: int = 1000,
    tolerance: float = 1e-5,
) -> tuple[Floats, Floats]:
    """Return W (I, K) and H (K, J), from starts whose product is as large as X on average.

    Descent ends after `n_rounds`, or when the projected gradient is `tolerance` times the first.
    """
    X = np.asarray(X, dtype=np.float64)
    scale = np.sqrt(X.mean() / n_components)
    W = scale * np.abs(rng.standard_normal((X.shape[0], n_components)))
    H = scale * np.abs(rng.standard_normal((n_components, X.shape[1])))
    first = _projected_norm(X, W, H)
    limit_W = limit_H = max(1e-3, tolerance) * first
    for _ in range(n_rounds):
        if _projected_norm(X, W, H) <= tolerance * first:
            break
        solved, n_steps = _least_squares(X.T, H.T, W.T, limit_W)
        W = solved.T
        limit_W *= SHRINK if n_steps == 0 else 1.0
        H, n_steps = _least_squares(X, W, H, limit_H)
        limit_H *= SHRINK if n_steps == 0 else 1.0
    return W, H


def _least_squares(X: Floats, W: Floats, H: Floats, limit: float) -> tuple[Floats, int]:
    """Return the H ≥ 0 of least |X − W H|² / 2, from the start `H`, and its steps (algorithm 4)."""
    WtX, WtW = W.T @ X, W.T @ W
    step = 1.0
    for n_steps in range(INNER_STEPS):
        gradient = WtW @ H - WtX
        if np.linalg.norm(gradient[(gradient < 0) | (H > 0)]) <= limit:
            return H, n_steps
        best, is_shrinking = None, False
        for trial in range(TRIALS):
            tried = np.maximum(H - step * gradient, 0.0)
            move = tried - H
            change = (1 - SUFFICIENT) * (gradient * move).sum() + 0.5 * (move * (WtW @ move)).sum()
            if trial == 0:
                is_shrinking = not change < 0
            if is_shrinking:
                if change < 0:
                    best = tried
                    break
                step *= SHRINK
            elif not change < 0 or (best is not None and (best == tried).all()):
                step *= SHRINK
                break
            else:  # the longest step that still falls enough
                best = tried
                step /= SHRINK
        if best is None:
            return H, n_steps
        H = best
    return H, INNER_STEPS


def _projected_norm(X: Floats, W: Floats, H: Floats) -> float:
    """Return the norm of the gradient in W and H, less what leads to negative factors (eq. 14)."""
    gradient_W = (W @ H - X) @ H.T
    gradient_H = W.T @ (W @ H - X)
    inside_W = gradient_W[(gradient_W < 0) | (W > 0)]
    inside_H = gradient_H[(gradient_H < 0) | (H > 0)]
    return float(np.sqrt((inside_W**2).sum() + (inside_H**2).sum()))
