"""Limits of exact likelihoods, and the error above them."""

from typing import Any, NamedTuple

from evaluation.arrays import Floats, Ints

MAX_MEMORY = 2 * 2**30
"""Default limit in bytes, for all documents that are computed at the same time."""
MAX_SECONDS = 3600.0
"""Longest time for one document: a longer wait without progress is likely a mistake."""


class ExactCostError(ValueError):
    """The exact likelihood of some document would take too much memory or time.

    `document` is the row of the costliest one, with `n_tokens` and `n_topics`; `n_bytes` and
    `seconds` are estimates of its cost (infinity beyond 1e308).
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


class Costs(NamedTuple):
    """Estimated costs of each document (D,)."""

    n_tokens: Ints
    n_topics: Ints
    n_bytes: Floats
    seconds: Floats


def check_costs(
    costs: Costs, memory: float, too_large: str, instead: str, first_document: int = 0
) -> None:
    """Raise the ExactCostError of the costliest document above `memory` bytes or `MAX_SECONDS`."""
    for values, most, limit in (
        (costs.n_bytes, memory, too_large),
        (costs.seconds, MAX_SECONDS, f"the limit is {MAX_SECONDS:.0f} seconds: {instead}"),
    ):
        if values.max(initial=0.0) > most:
            d = int(values.argmax())
            raise ExactCostError(limit, first_document + d, *(each[d].item() for each in costs))


def readable_bytes(n_bytes: float) -> str:
    """Return the number of bytes in the largest unit that gives at least 1."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GiB"
