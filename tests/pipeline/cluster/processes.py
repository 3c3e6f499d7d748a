"""Schedulers, workers and commands as processes, which may be killed; and a run to be trained."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from corpora.kernel_cache import caches_folder
from tests.pipeline.conftest import fill_store
from tests.pipeline.support import call, session_of, spawn, wait_until

REPOSITORY = Path(__file__).parents[3]
TRAIN = (
    *("train", "--articles", "articles", "--run", "x", "--topics", 3, "--seed", 5),
    *("--threads", 1, "--documents", "article", "--no-below", 1, "--no-above", 1),
    *("--batch-size", 20, "--bigram-threshold", 0.1, "--max-passes", 8),
    *("--early-stopping", "none", "--alpha", "learned"),
)
N_STEPS = 8 * 8
DRIVER = """
import os, signal, sys, threading, time
from pathlib import Path

import pipeline.cluster.connection
import pipeline.training.e_step_on_cluster
import pipeline.training.train as training
from models import OnlineLDA
from pipeline.cli import main


def kill_oldest():
    number = os.getpid()
    workers = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == number and "spawn_main" in (each / "cmdline").read_text():
                workers.append(int(each.name))
        except OSError:
            continue
    os.kill(min(workers), signal.SIGKILL)
    print("killed a worker", file=sys.stderr, flush=True)


def slowed(iterate, pause, kill_at):
    def slow(*args, **kwargs):
        for n, step in enumerate(iterate(*args, **kwargs)):
            time.sleep(pause)
            if n in kill_at:
                # At some moment of the next E-step.
                threading.Timer(0.01 * (n % 4), kill_oldest).start()
            yield step
            Path("steps").write_text(str(n))

    return slow


if __name__ == "__main__":  # processes that are spawned import this again
    pipeline.training.e_step_on_cluster.DEFAULT_PLACE = "workers"  # though batches are small
    pipeline.cluster.connection.CONNECT_SECONDS = 10.0  # then a scheduler is given up
    training.CHECKPOINT_SECONDS = 0.3  # checkpoints often, steps slowly
    pause, kill_at = float(sys.argv.pop(1)), {int(n) for n in sys.argv.pop(1).split(",") if n}
    OnlineLDA.iterate = slowed(OnlineLDA.iterate, pause, kill_at)
    sys.exit(main())
"""


def make_run(directory):
    """A store whose tokens are there, and a run that was trained without a cluster."""
    fill_store(directory / "articles", 200)
    call(*TRAIN, cwd=directory).succeeded()
    return directory


def to_be_trained(made, directory):
    shutil.copytree(made, directory, dirs_exist_ok=True)
    run = directory / "runs/x"
    for name in ("model.npz", "topics.txt", "metrics.jsonl", "checkpoints/latest.npz"):
        (run / name).unlink(missing_ok=True)
    return directory


def start(directory, *argv, pause=0.0, kill_at=(), prefix=()):
    (directory / "driver.py").write_text(DRIVER)
    (directory / "steps").unlink(missing_ok=True)
    kills = ",".join(map(str, kill_at))
    program = [*prefix, sys.executable, str(directory / "driver.py"), str(pause), kills]
    return spawn(*argv, cwd=directory, program=program)


def wait_for_steps(directory, number, process):
    steps, checkpoint = directory / "steps", directory / "runs/x/checkpoints/latest.npz"

    def is_there():
        assert process.poll() is None, process.communicate()
        made = steps.read_text() if steps.exists() else ""
        return checkpoint.exists() and bool(made) and int(made) >= number

    wait_until(is_there, 120, f"it does not come to step {number}")


@contextmanager
def ended(process):
    try:
        yield process
    finally:
        end(process)


def end(process):
    for _ in range(100):
        for each in session_of(process.pid):
            kill(each)
        process.wait(120)
        if not session_of(process.pid):
            return
        time.sleep(0.05)
    raise AssertionError("processes are left")


def kill(number):
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def dask(part, *argv, cwd, prefix=(), log="log", **more):
    """`dask scheduler` or `dask worker`, in a home and a directory of its own."""
    cwd.mkdir(parents=True, exist_ok=True)
    (cwd / "tmp").mkdir(exist_ok=True)
    clean = {name: text for name, text in os.environ.items() if "WIKITOPICS_" not in name}
    home = {"HOME": str(cwd), "TMPDIR": str(cwd / "tmp"), "PYTHONPATH": str(REPOSITORY)}
    home["XDG_CACHE_HOME"] = str(caches_folder().parents[1])  # where kernels are compiled
    program = [sys.executable, "-m", f"distributed.cli.dask_{part}", *map(str, argv)]
    with (cwd / log).open("ab") as stream:
        return subprocess.Popen(
            [*prefix, *program],
            cwd=cwd,
            env=clean | home | more,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def start_scheduler(cwd, port=0):
    file = cwd / "scheduler.json"
    file.unlink(missing_ok=True)
    process = dask(
        *("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"),
        *("--scheduler-file", file),
        cwd=cwd,
    )
    wait_until(lambda: file.exists() and file.read_text().endswith("}"), 120, "no scheduler")
    return process, json.loads(file.read_text())["address"]


def start_worker(cwd, address, host="127.0.0.1", prefix=()):
    options = ("--nthreads", 1, "--nanny", "--no-dashboard", "--host", host)
    return dask("worker", address, *options, cwd=cwd, prefix=prefix)
