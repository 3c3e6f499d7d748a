import logging
import socket
import sys
import threading
import time
from contextlib import closing, suppress
from unittest import mock

import pytest
from distributed import LocalCluster

from corpora.errors import MissingExtraError
from pipeline.cluster import connection as connection_module
from pipeline.cluster.connection import cluster_of
from pipeline.errors import ClusterError, UsageError
from tests.pipeline.cluster import tasks
from tests.pipeline.cluster.workers import HERE
from tests.pipeline.support import TINY, call

INSTALL = "pip install 'wikitopics[cluster]'"


def test_without_an_address_there_is_none():
    with cluster_of("") as cluster:
        assert cluster is None


@pytest.mark.parametrize(
    "address",
    [
        *("local", "local:", "local:0", "local:-1", "local:two", "local:٢", "localhost:8786"),
        *("tcp://host", "tcp://host:", "tcp://:8786", "http://host:8786", "tcp://ho st:8786"),
        *("tcp://host:8786/path", "8786", "tcp://host:87x6", " "),
    ],
)
def test_what_is_no_address(address):
    with pytest.raises(UsageError, match="--cluster ") as caught, cluster_of(address):
        pass
    assert repr(address) in str(caught.value)


@pytest.mark.parametrize("address", ["tcp://host:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786"])
def test_what_is_one(address):
    assert connection_module.check_address(address) == 0


def test_without_dask_the_message_says_what_to_install(tmp_path):
    with mock.patch.dict(sys.modules, {"distributed": None}):
        with pytest.raises(MissingExtraError) as caught, cluster_of("local:2"):
            pass
        assert INSTALL in str(caught.value)
        with pytest.raises(UsageError), cluster_of("nonsense"):  # first what can be mended here
            pass
        argv = ("train", "--cluster", "local:2", "--articles", "none")
        assert INSTALL in call(*argv, cwd=tmp_path).failed(1)
    assert not any(tmp_path.iterdir())


def test_train_without_dask(untouched):
    argv = ("train", "--articles", "articles", "--documents", "article", "--cluster", "local:2")
    with mock.patch.dict(sys.modules, {"distributed": None}):
        assert INSTALL in call(*argv, cwd=untouched).failed(1)


def check_refused(address, message):
    with pytest.raises(ClusterError, match=message), cluster_of(address):
        pass


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(connection_module, "CONNECT_SECONDS", 0.3)
    with closing(socket.socket()) as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{reserved.getsockname()[1]}"
        check_refused(address, f"no Dask scheduler answers at {address}: start")


def test_one_that_is_not_there_leaves_no_run_behind(tiny, monkeypatch):
    monkeypatch.setattr(connection_module, "CONNECT_SECONDS", 0.3)
    before = sorted(tiny.rglob("*"))
    nowhere = ("--cluster", "tcp://127.0.0.1:1")
    error = call("train", "--run", "x", *TINY, *nowhere, cwd=tiny).failed(1)
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in error
    assert sorted(tiny.rglob("*")) == before
    call("train", "--run", "tiny", *nowhere, cwd=tiny).succeeded()  # it is done and needs none


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 64])
def test_somebody_else_answers(monkeypatch, says):
    monkeypatch.setattr(connection_module, "CONNECT_SECONDS", 0.2)

    def answer(server):
        connection, _ = server.accept()
        connection.sendall(says)
        with suppress(OSError):
            connection.recv(1 << 16)
            time.sleep(0.4)

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        check_refused(address, f"no Dask scheduler answers at {address}: start")
        thread.join()


def test_there_are_no_workers(monkeypatch):
    monkeypatch.setattr(connection_module, "CONNECT_SECONDS", 0.5)
    with LocalCluster(n_workers=0, processes=False, protocol="tcp://", **HERE) as local:
        address = local.scheduler_address
        check_refused(address, f"at {address} has no workers: start some")


def test_a_scheduler_that_is_there(two):
    with cluster_of(two.address) as cluster:
        assert cluster is not None
        assert (cluster.n_workers, cluster.n_threads) == (2, 2)
        assert list(cluster.ordered_map(tasks.double, range(5))) == [0, 2, 4, 6, 8]
    assert list(two.ordered_map(tasks.double, range(5))) == [0, 2, 4, 6, 8]  # it is still there


def test_workers_with_other_versions(two):
    other = two._environment | {"numba": "0.1", "scipy": "0.2"}
    with mock.patch.object(two, "_environment", other):
        with pytest.raises(ClusterError) as caught:
            two.check_environment()
        assert "has numba" in str(caught.value)
        assert "in place of 0.1, scipy " in str(caught.value)
        assert "in place of 0.2: install the same versions" in str(caught.value)
        # One that came later refuses by itself.
        with pytest.raises(ClusterError, match=r"worker tcp://.* has numba .* in place of 0.1"):
            list(two.map(tasks.double, range(3)))
    two.check_environment()


def test_workers_with_another_processor_are_only_told_of(two, caplog):
    with caplog.at_level(logging.WARNING, "pipeline"):
        two.check_environment()
        assert not caplog.messages
        with mock.patch.object(two, "_environment", two._environment | {"processor": "8086"}):
            two.check_environment()
            assert list(two.ordered_map(tasks.double, [1])) == [2]
    assert len(caplog.messages) == 1
    assert "results may differ" in caplog.messages[0]
