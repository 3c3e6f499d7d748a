"""Connection to a cluster: processes of this machine, or a running scheduler."""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from corpora.errors import MissingExtraError
from corpora.worker_process import sigint_blocked
from pipeline.cluster.cluster import Cluster
from pipeline.errors import ClusterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client, LocalCluster

logger = logging.getLogger(__name__)

ADDRESS = re.compile(r"(tcp|tls)://[^\s/:]+:\d+|(tcp|tls)://\[[0-9a-fA-F:]+\]:\d+")
INSTALL = "pip install 'wikitopics[cluster]'"
CONNECT_SECONDS = 30.0
ONE_THREAD = {f"{library}_NUM_THREADS": 1 for library in ("OMP", "MKL", "OPENBLAS")}
"""Environment of workers on this machine."""


@contextmanager
def cluster_of(address: str) -> Iterator[Cluster | None]:
    """Connect to the scheduler at `tcp://HOST:PORT` or `tls://HOST:PORT`; None without address.

    `local:N` starts N worker processes on this machine, which end with the block.

    Raises MissingExtraError if Dask is not installed; UsageError if the address has another form;
    ClusterError if no scheduler answers, it has no workers, or their software differs from this
    one.
    """
    if not address:
        yield None
        return
    n_processes = check_address(address)
    with ExitStack() as stack:
        client = _connected(address, n_processes, stack)
        cluster = Cluster(client, address)
        cluster.check_environment()
        logger.info(
            "cluster %s: %d workers with %d threads; the first time they compile kernels, for some "
            "minutes at most",
            *(address, cluster.n_workers, cluster.n_threads),
        )
        yield cluster


def check_address(address: str) -> int:
    """Return the number of processes to start here, or 0 for a running cluster.

    Raises UsageError if it is no address of a cluster; MissingExtraError if Dask is not installed.
    """
    kind, _, number = address.partition(":")
    is_local = kind == "local"
    if is_local and not (number.isascii() and number.isdecimal() and int(number) > 0):
        raise UsageError(f"--cluster local:N needs a number of processes, found {address!r}")
    if not is_local and not ADDRESS.fullmatch(address):
        raise UsageError(
            "--cluster must be tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler, or local:N "
            f"for N processes on this machine, found {address!r}"
        )
    if find_spec("distributed") is None:
        raise MissingExtraError(f"--cluster needs Dask, which is not installed: {INSTALL}")
    return int(number) if is_local else 0


def _connected(address: str, n_processes: int, stack: ExitStack) -> Client:
    import dask  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    for name in ("distributed", "distributed.client", "distributed.nanny", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Large values are sent between client and workers directly, not by the scheduler.
    settings: dict[str, Any] = {
        "distributed.admin.large-graph-warning-threshold": "1 GiB",
        "distributed.comm.timeouts.connect": "10s",  # a worker may just be lost
        # Otherwise a worker that was lost twice, or starts slowly, is not replaced.
        "distributed.deploy.lost-worker-timeout": "1 day",
        # Dask would profile every thread each 10 ms, and return free memory at once: together a
        # tenth of the time.
        "distributed.worker.profile.enabled": False,
        "distributed.nanny.pre-spawn-environ": ONE_THREAD,
        # Every process would check its event loop each 20 ms, its memory each 100 ms, and more each
        # 500 ms: with two workers 2.5 % of two cores.
        "distributed.admin.tick.interval": "1s",
        "distributed.worker.memory.monitor-interval": "1s",
        "distributed.admin.system-monitor.interval": "5s",
    }
    stack.enter_context(dask.config.set(settings))
    target: Any = address
    if n_processes:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="wikitopics-", ignore_cleanup_errors=True)
        )
        # A terminal sends Ctrl-C to workers too, which would die with messages; we end them.
        with sigint_blocked():
            target = LocalCluster(
                n_workers=n_processes,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            )
        stack.callback(_end, target)
    try:
        if not n_processes:
            logger.info("connecting to %s", address)
            asyncio.run(_shake_hands(address))
        client = Client(
            target, timeout=CONNECT_SECONDS, direct_to_workers=True, set_as_default=False
        )
    except Exception as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}: start one with `dask scheduler`, and workers "
            f"with `dask worker {address}`"
        ) from error
    stack.callback(_close, client)
    try:
        client.wait_for_workers(max(1, n_processes), timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        ) from error
    return client


async def _shake_hands(address: str) -> None:
    """Check that a scheduler answers: a client would wait for ever for a silent one."""
    from distributed import Security  # noqa: PLC0415
    from distributed.comm.core import connect  # noqa: PLC0415

    arguments = Security().get_connection_args("client")
    comm = await asyncio.wait_for(
        connect(address, timeout=CONNECT_SECONDS, **arguments), CONNECT_SECONDS
    )
    comm.abort()


def _end(local: LocalCluster) -> None:
    # A worker that is just starting may take longer to end: it ends with this process.
    with suppress(OSError, TimeoutError):
        local.close(timeout=10)


def _close(client: Client) -> None:
    with suppress(OSError, TimeoutError):  # of a cluster that is gone
        client.close(timeout=5)
