import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.pipeline.cluster.processes import dask, ended, start, start_scheduler, start_worker
from tests.pipeline.support import call, finish

pytestmark = pytest.mark.slow

COMMON = ("--model", "online", "--seed", 1, "--threads", 1, "--test", 0.2)
TRAIN = ("train", "--run", "x", "--topics", 4, "--max-passes", 3, *COMMON)
EVALUATE = ("evaluate", "x", "--method", "left-to-right-sequential", "--samples", 5, "--threads", 1)
SELECT = ("select", "--topics", "3,5", "--name", "s", "--max-passes", 2, *COMMON)
NETWORK = "10.213.77"
# Nothing of the client's directory, nor of anybody's shared memory, is to be seen.
HIDING = """
mount -t tmpfs none "$1" && mount -t tmpfs none /dev/shm && mount -t proc proc /proc &&
hostname "$2" && shift 2 && exec "$@"
"""
LOOK_AROUND = """
import json, os, socket, sys
from distributed import Client

def seen(directory):
    return socket.gethostname(), os.listdir(directory), os.readlink("/proc/self/ns/net")

with Client(sys.argv[1], timeout=240) as client:
    client.wait_for_workers(2, timeout=240)
    print(json.dumps([seen(sys.argv[2]), *client.run(seen, sys.argv[2]).values()]))
"""


@dataclass(frozen=True)
class Hosts:
    """A scheduler, two workers, and where the client is to run."""

    address: str
    client: tuple[str, ...]

    def run(self, directory, *argv):
        return finish(start(directory, *argv, "--cluster", self.address, prefix=self.client), 200)


def ip(*argv):
    done = subprocess.run(["ip", *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(argv)}: {done.stderr.strip()}")


@contextmanager
def namespaces(names):
    """Network namespaces around a bridge, and their names; the first is NETWORK.1, and so on."""
    full = {name: f"wt-{os.getpid()}-{name}" for name in ("hub", *names)}
    with ExitStack() as stack:
        for name in full.values():
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
        hub = ("-n", full["hub"])
        ip(*hub, "link", "add", "bridge", "type", "bridge")
        ip(*hub, "link", "set", "bridge", "up")
        for number, name in enumerate(names, 1):
            here = ("-n", full[name])
            peer = ("peer", "name", "eth0", "netns", full[name])
            ip(*hub, "link", "add", f"to{number}", "type", "veth", *peer)
            ip(*hub, "link", "set", f"to{number}", "master", "bridge", "up")
            ip(*here, "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            ip(*here, "link", "set", "eth0", "up")
            ip(*here, "link", "set", "lo", "up")
        yield full


@contextmanager
def hosts_in_namespaces(tmp_path, client):
    """Four hosts, each with a network, and all but the client with a file system, of its own."""

    def on(name):
        apart = ("unshare", "--mount", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--")
        hiding = ("sh", "-c", HIDING, "sh", str(client), name)
        return ("ip", "netns", "exec", full[name], *apart, *hiding)

    with ExitStack() as stack:
        try:
            full = stack.enter_context(namespaces(("scheduler", "one", "two", "client")))
            subprocess.run([*on("one"), "true"], check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"no namespaces can be made here: {error}")
        address = f"tcp://{NETWORK}.1:8786"
        options = ("--host", f"{NETWORK}.1", "--port", 8786, "--no-dashboard")
        scheduler = dask("scheduler", *options, cwd=tmp_path / "scheduler", prefix=on("scheduler"))
        stack.enter_context(ended(scheduler))
        for number, name in enumerate(("one", "two"), 2):
            worker = start_worker(tmp_path / name, address, f"{NETWORK}.{number}", prefix=on(name))
            stack.enter_context(ended(worker))
        hosts = Hosts(address, ("ip", "netns", "exec", full["client"]))
        here, *there = looked_around(hosts, client)
        assert sorted(name for name, _, _ in there) == ["one", "two"]
        assert all(not files for _, files, _ in there)
        assert here[1]
        assert len({network for _, _, network in (here, *there)}) == 3
        yield hosts


def looked_around(hosts, client):
    look = [*hosts.client, sys.executable, "-c", LOOK_AROUND, hosts.address, str(client)]
    done = subprocess.run(look, check=True, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)


@contextmanager
def hosts_as_processes(tmp_path, client):
    """Processes with other directories, homes and places for temporary files."""
    with ExitStack() as stack:
        scheduler, address = start_scheduler(tmp_path / "scheduler")
        stack.enter_context(ended(scheduler))
        for name in ("one", "two"):
            stack.enter_context(ended(start_worker(tmp_path / name, address)))
        yield Hosts(address, ())


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    directory = tmp_path_factory.mktemp("here")
    for argv in (TRAIN, EVALUATE, SELECT):
        outcome = call(*argv, "--json", cwd=directory).succeeded()
        (directory / f"{argv[0]}.json").write_text(outcome.out)
    return directory


@pytest.mark.parametrize("kind", ["namespaces", "processes"])
def test_the_commands_on_other_hosts(here, tmp_path, kind):
    make = hosts_in_namespaces if kind == "namespaces" else hosts_as_processes
    client = tmp_path / "client"
    client.mkdir()
    (client / "here").touch()
    with make(tmp_path, client) as hosts:
        for argv in (TRAIN, EVALUATE, SELECT):
            outcome = hosts.run(client, *argv, "--json").succeeded()
            assert "2 workers with 2 threads" in outcome.err
            expected = json.loads((here / f"{argv[0]}.json").read_text())
            assert without_clock(outcome.result) == without_clock(expected)
    models = sorted(each.relative_to(here) for each in here.rglob("model.npz"))
    assert len(models) == 3
    for model in models:
        assert (client / model).read_bytes() == (here / model).read_bytes(), model


def without_clock(value):
    if isinstance(value, dict):
        kept = {n: each for n, each in value.items() if "second" not in n}
        return {n: without_clock(each) for n, each in kept.items()}
    return [without_clock(each) for each in value] if isinstance(value, list) else value
