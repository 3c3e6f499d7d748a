"""What can go wrong with a cluster that a caller can act on."""

from __future__ import annotations

from pipeline.errors import Interrupted


class ClusterError(RuntimeError):
    """A cluster cannot be used; the message says why and what to do."""


class ClusterLostError(RuntimeError):
    """A cluster went away in the middle of work; what was done is kept, and can be gone on from."""


class InterruptedAloneError(Interrupted, ClusterLostError):
    """A signal arrived while a command waited for workers; what was done before that is kept."""


class TaskKilledError(ClusterError):
    """Workers died again and again at one task."""

    index: int | None = None
    """Which of the items of `Cluster.map` it was."""
