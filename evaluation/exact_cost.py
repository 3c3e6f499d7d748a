"""Limits of exact likelihoods, and the error that refuses what is above them."""

from __future__ import annotations

from typing import Any

MAX_MEMORY = 2 * 2**30
"""Bytes, for all documents that are computed at the same time: what any machine can spare."""
MAX_SECONDS = 3600.0
"""Longest time for one document: a longer wait without progress is likely a mistake."""


class ExactCostError(ValueError):
    """The exact likelihood of some document would take too much memory or time.

    `document` is the costliest one's row, `n_tokens` and `n_topics` are what makes it costly,
    `n_bytes` and `seconds` are estimates of what it would take (infinity beyond 1e308).
    """

    def __init__(
        self,
        limit: str,
        document: int,
        n_tokens: int,
        n_topics: int,
        n_bytes: float,
        seconds: float,
    ) -> None:
        self._limit = limit
        super().__init__(
            f"document {document} has {n_tokens} tokens of {n_topics} topics: its exact likelihood "
            f"needs {readable_bytes(n_bytes)} and some {seconds:.2g} seconds, and {limit}"
        )
        self.document, self.n_tokens, self.n_topics = document, n_tokens, n_topics
        self.n_bytes, self.seconds = n_bytes, seconds

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, so that a worker can raise it."""
        costs = (self.document, self.n_tokens, self.n_topics, self.n_bytes, self.seconds)
        return type(self), (self._limit, *costs)


def readable_bytes(n_bytes: float) -> str:
    """The number of bytes in the largest unit of which there is one at least."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GiB"
