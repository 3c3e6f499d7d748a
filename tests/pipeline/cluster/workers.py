"""Clusters for tests whose workers are threads of this process: there at once."""

import logging
import tempfile
from contextlib import ExitStack, contextmanager

from distributed import Client, LocalCluster

from pipeline.cluster.cluster import Cluster

HERE = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": False}
# A worker pauses as its process fills its share of memory: here that is the tests' own process.
THREADS = {"processes": False, "threads_per_worker": 1, "memory_limit": 0}

# Told to be silent, a LocalCluster silences all that goes to the root logger too.
for name in ("distributed", "distributed.worker", "distributed.core", "distributed.scheduler"):
    logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def threads_as_workers(number):
    with ExitStack() as stack:
        local = stack.enter_context(
            LocalCluster(
                n_workers=number,
                protocol="tcp://",
                local_directory=stack.enter_context(tempfile.TemporaryDirectory()),
                **HERE,
                **THREADS,
            )
        )
        client = stack.enter_context(Client(local, set_as_default=False, direct_to_workers=True))
        yield Cluster(client, local.scheduler_address)
