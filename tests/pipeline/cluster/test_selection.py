import json
import os
import re
import shutil
import signal
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from corpora import mapped_split
from models import load_model
from pipeline.errors import ClusterLostError
from pipeline.interrupts import raise_interrupted, signals_handled_by
from pipeline.runs.run_directory import RunDirectory
from pipeline.selection import on_cluster as selection
from pipeline.selection import run_slice
from pipeline.selection.run_slice import CorpusPlace, RunSlice, run_files, train_slice
from pipeline.selection.scores import estimates_here
from tests.pipeline.cluster.bench import DISK_FULL, KILLED, LOST, Bench
from tests.pipeline.support import MADE_UP, call, files_of, finish, session_of, spawn, wait_until

PAIRS = (
    *(pair for pair in zip(MADE_UP[::2], MADE_UP[1::2], strict=True) if pair[0] != "--topics"),
    *(("--topics", "2,4,3"), ("--batch-size", "10"), ("--max-passes", "2"), ("--test", "0.2")),
)
SETTINGS = tuple(each for pair in PAIRS for each in pair)
RUNS = ("topics-2", "topics-3", "topics-4")


@contextmanager
def cluster_is(bench):
    @contextmanager
    def cluster_of(address):
        yield bench if address else None

    with mock.patch("pipeline.selection.select.cluster_of", cluster_of):
        try:
            yield
        finally:
            bench.close()


@pytest.fixture(scope="module", autouse=True)
def _no_plots():
    with mock.patch("pipeline.selection.select.plot_selection", return_value=None):
        yield


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    monkeypatch.setattr(run_slice, "_sent_corpora", run_slice._SentCorpora())


@pytest.fixture
def _short_slices(monkeypatch):
    monkeypatch.setattr(selection, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(selection, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(selection, "OVERHEADS", 0)


def select(cwd, bench=None, *more):
    if bench is None:
        return call("select", *SETTINGS, *more, cwd=cwd)
    with cluster_is(bench):
        return call("select", *SETTINGS, *more, "--cluster", "local:2", cwd=cwd)


@pytest.fixture(scope="module")
def here(tiny_finished, tmp_path_factory):
    directory = tmp_path_factory.mktemp("here")
    shutil.copytree(tiny_finished, directory, dirs_exist_ok=True)
    select(directory).succeeded()
    return directory


def assert_same(found, expected):
    tables = []
    for directory in (found, expected):
        table = json.loads((directory / "runs/select-online/select.json").read_text())
        for row in table["rows"]:
            del row["seconds"]
        tables.append(table)
    assert tables[0] == tables[1]
    for name in RUNS:
        one, other = (each / "runs/select-online" / name for each in (found, expected))
        for file in ("model.npz", "topics.txt", "bigrams.tsv", "settings.toml"):
            assert (one / file).read_bytes() == (other / file).read_bytes(), (name, file)
        checks = [RunDirectory(each).metrics() for each in (one, other)]
        assert len(checks[0]) == len(checks[1])
        for a, b in zip(*checks, strict=True):
            assert {k: v for k, v in a.items() if "second" not in k} == {
                k: v for k, v in b.items() if "second" not in k
            }


@pytest.mark.usefixtures("_short_slices")
def test_the_same_bytes_whatever_is_lost(tiny, here):
    fates = {1: LOST, 4: KILLED, 5: DISK_FULL, 6: LOST, 9: KILLED}
    bench = Bench(n_threads=2, fate=lambda n: fates.get(n, ""))
    outcome = select(tiny, bench).succeeded()
    assert_same(tiny, here)
    for name in RUNS:
        assert f"run {name} is done: validation perplexity " in outcome.err
        assert bench.trained.count(name) > 4  # else slices were not as short as they should be
    assert bench.trained[:2] == ["topics-4", "topics-3"]  # the longest first
    assert "topics-2" not in bench.trained[: bench.trained.index("topics-2")]
    # What is done is not made again.
    before, again = files_of(tiny / "runs"), Bench()
    assert select(tiny, again).code == 0
    assert again.trained == []
    assert again.n_scored == len(RUNS)
    assert files_of(tiny / "runs") == before


@pytest.mark.slow
@pytest.mark.usefixtures("_short_slices")
def test_at_most_as_many_runs_as_threads(tiny):
    bench = Bench(n_threads=1)
    assert select(tiny, bench).code == 0
    assert bench.trained == sorted(bench.trained, reverse=True)


def test_workers_that_see_no_file_are_sent_the_corpus(tiny, here, monkeypatch):
    monkeypatch.setattr(selection, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(selection, "OVERHEADS", 0)
    monkeypatch.setattr(CorpusPlace, "is_seen", lambda _: False)
    bench = Bench()
    with mock.patch.object(run_slice, "_written", wraps=run_slice._written) as written:
        outcome = select(tiny, bench).succeeded()
    assert (outcome.err.count("it is sent to them"), written.call_count) == (1, 1)
    assert_same(tiny, here)


def test_a_corpus_that_is_too_large_to_be_sent(tiny, monkeypatch):
    monkeypatch.setattr(selection, "MAX_SENT", 100)
    monkeypatch.setattr(CorpusPlace, "is_seen", lambda _: False)
    error = select(tiny, Bench()).failed()
    assert "put --runs on a file system that all workers see at the same path" in error


@pytest.mark.slow
@pytest.mark.usefixtures("_short_slices")
def test_interrupted_and_gone_on(tiny, here):
    def interrupt(number):
        if number == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    bench = Bench(on_submit=interrupt)
    assert select(tiny, bench).code == 143
    # The last one nobody holds: the signal came in the middle of its submission.
    assert all(each.status != "pending" for each in bench.futures[:-1])
    checkpoints = tiny.glob("runs/select-online/*/checkpoints/latest.npz")
    assert len({path: path.read_bytes() for path in checkpoints}) >= 2
    assert not list(tiny.glob("runs/select-online/*/model.npz"))
    again = Bench()
    select(tiny, again).succeeded()
    assert_same(tiny, here)
    whole = Bench()
    shutil.rmtree(tiny / "runs/select-online")
    assert select(tiny, whole).code == 0
    assert len(again.trained) < len(whole.trained)  # it went on from what there was


@pytest.mark.slow
@pytest.mark.usefixtures("_short_slices")
def test_a_cluster_that_is_lost(tiny, here):
    def lose(number):
        if number >= 5:
            raise ClusterLostError("gone")

    assert select(tiny, Bench(on_submit=lose)).code == 75
    assert select(tiny).code == 0  # without a cluster, from where it was
    assert_same(tiny, here)


def test_a_task_at_which_workers_die(tiny):
    error = select(tiny, Bench(fate=lambda _: KILLED)).failed(1)
    assert re.search("run topics-[34]: workers died again and again", error)


def test_an_error_of_a_slice_ends_the_command(tiny):
    bench = Bench()
    with (
        mock.patch.object(run_slice, "train", side_effect=ZeroDivisionError("ours")),
        pytest.raises(ZeroDivisionError, match="ours"),
    ):
        select(tiny, bench)
    assert all(each.status != "pending" for each in bench.futures)


@pytest.mark.slow
def test_parts_on_disk(tiny, here, monkeypatch):
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 0)
    select(tiny, Bench()).succeeded()
    assert_same(tiny, here)
    shutil.rmtree(tiny / "runs/select-online/topics-3")
    assert select(tiny).code == 0
    assert_same(tiny, here)


@pytest.mark.slow
@pytest.mark.usefixtures("_short_slices")
@pytest.mark.parametrize("model", ["gibbs", "gamma-poisson", "poisson-mrf"])
def test_other_models(tiny, model):
    argv = [each for pair in PAIRS if pair[0] != "--batch-size" for each in pair]
    argv += ["--model", model, "--max-passes", "3", "--bigrams", "none"]
    runs, found = tiny / f"runs/select-{model}", []
    for cluster in ((), ("--cluster", "local:2")):
        bench = Bench()
        with cluster_is(bench):
            outcome = call("select", *argv, *cluster, "--json", cwd=tiny).succeeded()
        assert len(bench.trained) > (3 if cluster else -1)
        rows = [{**row, "seconds": None} for row in outcome.result["rows"]]
        found.append((rows, [(runs / name / "model.npz").read_bytes() for name in RUNS]))
        shutil.rmtree(runs)
    assert found[0] == found[1]


def test_an_address_that_is_none_leaves_nothing_behind(tiny):
    before = files_of(tiny)
    error = call("select", *SETTINGS, "--cluster", "nowhere", cwd=tiny).failed()
    assert "--cluster must be tcp://HOST:PORT" in error
    assert files_of(tiny) == before
    assert not (tiny / "runs/select-online").exists()


def slice_of(run, seconds, *names):
    files = {name: (run.path / name).read_bytes() for name in names}
    place = CorpusPlace.of(run.corpus_path)
    return RunSlice(run.path.name, str(run.path.parent), files, place, seconds)


def test_a_slice_brings_back_what_changed(here):
    run = RunDirectory(here / "runs/select-online/topics-4")
    begun = ("settings.toml", "bigrams.tsv", "provenance.json")
    before, end = files_of(here), train_slice(slice_of(run, 0.0, *begun))
    assert end is not None
    assert not end.is_done
    assert 0 < end.passes < 1
    assert set(end.files) == {"checkpoints/latest.npz"}
    end = train_slice(slice_of(run, 60.0, *begun))
    assert end is not None
    assert end.is_done
    assert set(end.files) == set(run_files(run)) - {"settings.toml", "bigrams.tsv"}
    header, path = load_model(run.model_path).header, here / "found.npz"
    path.write_bytes(end.files["model.npz"])
    found = load_model(path).header
    path.unlink()
    assert found["settings"].pop("runs") == str(here / "runs/select-online")
    assert header["settings"].pop("runs") == "runs/select-online"
    assert found == header
    assert files_of(here) == before


def test_another_corpus_at_the_same_place_is_not_taken(here):
    place = CorpusPlace.of(here / "runs/select-online/topics-4/corpus")
    assert Path(place.path).is_absolute()
    assert place.is_seen()
    assert not CorpusPlace(place.path, place.header + b"\n").is_seen()
    assert not CorpusPlace("/no/such/directory", place.header).is_seen()


def test_a_corpus_of_which_a_file_is_missing_is_not_seen(tiny):
    place = CorpusPlace.of(tiny / "runs/tiny/corpus")
    assert place.is_seen()
    (Path(place.path) / next(iter(place.sizes))).write_bytes(b"")
    assert not place.is_seen()


def test_sent_corpora_stay_as_long_as_they_are_used():
    kept = run_slice._SentCorpora()
    one, other = (CorpusPlace("/no/such/directory", name) for name in (b"one", b"other"))
    assert kept.enter(one, None) is None
    first = kept.enter(one, {"header.json": b"one"})
    assert first is not None
    assert kept.enter(one, None) == first
    second = kept.enter(other, {"header.json": b"other"})
    assert second is not None
    assert (first / "header.json").read_bytes() == b"one"
    kept.leave(one)
    kept.leave(one)
    kept.leave(other)
    assert kept.enter(CorpusPlace("/no/such/directory", b"third"), {}) is not None
    assert not first.exists()
    assert not second.exists()
    assert kept.enter(one, None) is None


def test_training_ends_when_nobody_waits_for_it():
    task = SimpleNamespace(state="executing")
    worker = SimpleNamespace(
        get_current_task=lambda: "key", state=SimpleNamespace(tasks={"key": task})
    )
    with mock.patch("distributed.get_worker", return_value=worker):
        clock = run_slice._clock_of_task()
    assert clock() <= clock()
    task.state = "cancelled"
    with pytest.raises(InterruptedError, match="cancelled"):
        clock()
    worker.state.tasks.clear()
    with pytest.raises(InterruptedError, match="cancelled"):
        clock()


def test_signals_are_left_to_the_main_thread():
    before, found = signal.getsignal(signal.SIGTERM), []

    def work():
        with signals_handled_by(raise_interrupted):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]


def test_scores_are_those_of_one_machine(tiny_gibbs, here):
    models = [
        tiny_gibbs / "runs/gibbs/model.npz",
        *(here / "runs/select-online" / name / "model.npz" for name in RUNS[1:]),
    ]
    n_words = load_model(models[0]).topics.n_words
    counts = np.random.default_rng(0).poisson(0.5, (9, n_words))
    from scipy import sparse

    held_out = sparse.csr_array(counts.astype(np.int32))
    expected = dict(estimates_here(models, held_out, 2))
    bench = Bench(fate=lambda n: LOST if n == 1 else "")
    try:
        found = dict(selection.estimates_on(bench, models, held_out))
    finally:
        bench.close()
    assert sorted(found) == sorted(expected) == [0, 1, 2]
    for number, estimate in expected.items():
        assert found[number].log_likelihood.tolist() == estimate.log_likelihood.tolist()


@pytest.mark.slow
def test_workers_of_a_real_cluster_are_killed(tiny, here):
    process = spawn("select", *SETTINGS, "--cluster", "local:2", cwd=tiny)
    runs = tiny / "runs/select-online"
    wait_until(lambda: list(runs.glob("*/checkpoints/latest.npz")), 120, "nothing was trained")
    killed = 0
    while process.poll() is None and killed < 2:
        for each in workers_of(process.pid)[:1]:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
                killed += 1
        with suppress(AssertionError):
            wait_until(lambda: process.poll() is not None, 3, "")
    finish(process).succeeded()
    assert killed
    assert_same(tiny, here)


@pytest.mark.slow
def test_the_client_is_killed_and_the_command_given_again(tiny, here):
    process = spawn("select", *SETTINGS, "--cluster", "local:2", cwd=tiny)
    runs = tiny / "runs/select-online"
    wait_until(
        lambda: process.poll() is not None or list(runs.glob("*/model.npz")),
        *(120, "no run was finished"),
    )
    process.kill()
    finish(process)
    process = spawn("select", *SETTINGS, "--cluster", "local:2", cwd=tiny)
    assert "of 3 runs are done" in finish(process).succeeded().err
    assert_same(tiny, here)


def workers_of(client):
    found = []
    for pid in session_of(client):
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            if pid != client and b"spawn_main" in line:
                found.append(pid)
    return found
