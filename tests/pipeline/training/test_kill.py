import os
import random
import shutil
import signal
import sys
import time
from collections import Counter

import pytest

from corpora import ArticleStore
from tests.pipeline.support import (
    arrays_of,
    call,
    finish,
    looks_of,
    session_of,
    spawn,
    wait_until,
    write_dump,
)

pytestmark = pytest.mark.slow

N_ARTICLES = 500
DOWNLOAD = ("download", "--source", "dump", "--input", "dump.xml", "--threads", 2)
TRAIN = (
    *("train", "--articles", "articles", "--run", "x", "--topics", 3, "--seed", 5),
    *("--threads", 2, "--documents", "article", "--no-below", 1, "--no-above", 1),
    *("--batch-size", 20, "--bigram-threshold", 0.1, "--max-passes", 8),
    *("--early-stopping", "none"),
)
DRIVER = """
import os, signal, sys, time
import pipeline.training.train as training
from models import GibbsLDA, OnlineLDA
from pipeline.cli import main

if __name__ == "__main__":
    training.CHECKPOINT_SECONDS = 0.1  # checkpoints often, steps slowly
    kill_at, pause = int(sys.argv.pop(1)), float(sys.argv.pop(1))
    fsync, n_fsyncs = os.fsync, 0

    def slowed(iterate):
        def slow(*args, **kwargs):
            for step in iterate(*args, **kwargs):
                time.sleep(pause)
                yield step

        return slow

    def deadly(descriptor):
        global n_fsyncs
        n_fsyncs += 1
        if n_fsyncs == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = deadly
    OnlineLDA.iterate, GibbsLDA.iterate = slowed(OnlineLDA.iterate), slowed(GibbsLDA.iterate)
    sys.exit(main())
"""
STAGES = ("download", "text", "counting", "training", "saving", "done")


def start(directory, *argv, kill_at=0, pause=0.0):
    program = [sys.executable, str(directory / "driver.py"), str(kill_at), str(pause)]
    return spawn(*argv, cwd=directory, program=program)


def stage_of(directory):
    run, manifest = directory / "runs/x", directory / "articles/manifest.jsonl"
    if (run / "model.npz").exists():
        return "done"
    if (run / "topics.txt").exists():
        return "saving"
    if (run / "corpus/header.json").exists():
        return "training"
    n_shards = manifest.read_bytes().count(b"\n") - 1 if manifest.exists() else 0
    n_tokens = len(list(directory.glob("articles/tokens/*/*.npz")))
    if run.exists():
        return "counting" if n_tokens == n_shards else "text"
    return "download"


def wait_for(stage, directory, process):
    lock = directory / ("articles/lock" if stage == "download" else "runs/x/lock")

    def at_work():
        if process.poll() is not None:
            return True
        if not lock.exists() or lock.read_text() != f"{process.pid}\n":
            return False
        return stage != "training" or stage_of(directory) not in ("text", "counting")

    wait_until(at_work, 120, f"it does not come to {stage}")


def stored(directory):
    kept = [*directory.glob("articles/tokens/*/*.npz"), *directory.glob("runs/x/corpus/*.npy")]
    store = ArticleStore(directory / "articles")
    if store.exists:
        kept += [store.path / "shards" / entry.shard for entry in store.entries]
    return {str(path): path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = prepared(tmp_path_factory.mktemp("undisturbed"))
    assert call(*DOWNLOAD[:-1], 1, cwd=directory).code == 0
    assert call(*TRAIN, cwd=directory).code == 0
    return directory


def prepared(directory):
    write_dump(directory / "dump.xml", N_ARTICLES)
    (directory / "driver.py").write_text(DRIVER)
    return directory


def check_the_end(directory, undisturbed):
    for argv in (DOWNLOAD, TRAIN):
        finish(start(directory, *argv)).succeeded()
    store = ArticleStore(directory / "articles")
    store.verify()
    assert list(store) == list(ArticleStore(undisturbed / "articles"))
    expected = arrays_of(undisturbed / "runs/x/model.npz")
    assert arrays_of(directory / "runs/x/model.npz") == expected
    assert not [*directory.rglob("*.partial")]
    assert call("evaluate", "x", "--threads", 1, cwd=directory).code == 0


def test_killed_at_random_moments_of_every_stage(tmp_path, undisturbed, record_property):
    directory, rng, killed = prepared(tmp_path), random.Random(20), Counter[str]()
    wanted = {"download": 6, "text": 6, "training": 6}
    longest = {"download": 1.5, "text": 4.0, "training": 1.0}
    for stage, times in wanted.items():
        for _ in range(2 * times):
            if killed[stage] == times or STAGES.index(stage_of(directory)) > STAGES.index(stage):
                break
            process = start(directory, *(DOWNLOAD if stage == "download" else TRAIN), pause=0.02)
            wait_for(stage, directory, process)
            time.sleep(rng.random() * longest[stage])
            before, reached = stored(directory), stage_of(directory)
            process.kill()
            code = finish(process).code
            assert code in (0, -signal.SIGKILL)
            if code:
                killed[reached] += 1
            after = stored(directory)
            assert all(after[name] == content for name, content in before.items())
            ArticleStore(directory / "articles").verify()
        if stage == "download":
            assert finish(start(directory, *DOWNLOAD)).code == 0
    record_property("killed", dict(killed))
    assert killed.total() >= 10, killed
    assert {"download", "text", "training"} <= killed.keys()
    check_the_end(directory, undisturbed)


def test_killed_before_random_writes_are_durable(tmp_path, undisturbed, record_property):
    # Every commit goes through fsync; the moments around it are too short to be met by chance.
    rng, killed = random.Random(7), Counter[str]()
    directory = prepared(tmp_path)
    shutil.copytree(undisturbed / "articles/tokens", tmp_path / "tokens")
    for number in range(16):
        if number == 4:
            assert finish(start(directory, *DOWNLOAD)).code == 0
            shutil.copytree(tmp_path / "tokens", directory / "articles/tokens")
        argv = DOWNLOAD if number < 4 else TRAIN
        kill_at = rng.randint(1, 10) if number < 4 else rng.randint(1, 30)
        outcome = finish(start(directory, *argv, kill_at=kill_at))
        assert outcome.code in (0, -signal.SIGKILL), outcome.err
        if outcome.code:
            killed[stage_of(directory)] += 1
        if stage_of(directory) == "done" and number < 15:  # again, from the beginning
            shutil.rmtree(directory / "runs")
        store = ArticleStore(directory / "articles")
        if store.exists:
            store.verify()
    record_property("killed", dict(killed))
    assert killed.total() >= 10, killed
    assert len(killed) >= 3, killed
    check_the_end(directory, undisturbed)


def test_gibbs_sampling_killed_at_random_moments(tmp_path, undisturbed):
    directory, rng, killed = prepared(tmp_path), random.Random(6), []
    shutil.copytree(undisturbed / "articles", directory / "articles")
    argv = (
        *("train", "--articles", "articles", "--model", "gibbs", "--topics", 3, "--seed", 5),
        *("--threads", 2, "--documents", "article", "--no-below", 1, "--no-above", 1),
        *("--bigram-threshold", 0.1, "--sampler", "parallel-sparse", "--max-passes", 60),
    )
    assert call(*argv, "--run", "whole", cwd=directory).code == 0
    for _ in range(4):
        process = start(directory, *argv, "--run", "x", pause=0.1)
        wait_for("training", directory, process)
        time.sleep(rng.random() * 1.5)
        process.kill()
        outcome = finish(process)
        if outcome.code == 0:
            break
        killed.append(outcome)
    assert len(killed) >= 2
    assert any("going on after " in outcome.err for outcome in killed)
    finish(start(directory, *argv, "--run", "x")).succeeded()
    one, other = (arrays_of(directory / "runs" / run / "model.npz") for run in ("x", "whole"))
    assert one == other
    assert looks_of(directory, "x") == looks_of(directory, "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["text", "training"])
def test_a_signal_from_outside(tmp_path, undisturbed, number, stage):
    directory = prepared(tmp_path)
    shutil.copytree(undisturbed / "articles", directory / "articles")
    tokens = sorted((directory / "articles/tokens").glob("*/*.npz"))
    for path in tokens[:4] if stage == "text" else []:
        path.unlink()
    process = start(directory, *TRAIN, pause=0.1)
    wait_until(lambda: stage_of(directory) == stage, 120, f"it does not come to {stage}")
    if stage == "text":
        wait_until(lambda: len(session_of(process.pid)) >= 3, 120, "there are no workers")
    time.sleep(0.5)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to workers too
    else:
        process.send_signal(number)
    outcome = finish(process)
    assert outcome.code == 128 + number, outcome
    assert outcome.error.endswith("what was done is kept: give the same command again to go on")
    if stage == "training":
        assert (directory / "runs/x/checkpoints/latest.npz").exists()
    outcome = finish(start(directory, *TRAIN)).succeeded()
    if stage == "training":
        assert "going on after " in outcome.err
    expected = arrays_of(undisturbed / "runs/x/model.npz")
    assert arrays_of(directory / "runs/x/model.npz") == expected


def test_a_signal_at_any_moment_ends_without_a_traceback(tmp_path, undisturbed):
    directory, rng = prepared(tmp_path), random.Random(3)
    shutil.copytree(undisturbed / "articles", directory / "articles")
    codes = Counter[int]()
    for _ in range(8):
        process = start(directory, *TRAIN, pause=0.02)
        wait_until((directory / "runs/x/lock").exists, 120, "it does not begin")
        time.sleep(rng.random() * 2.5)
        process.send_signal(signal.SIGTERM)
        outcome = finish(process)
        assert outcome.code in (0, 143, -signal.SIGTERM), outcome
        assert "Traceback" not in outcome.err
        codes[outcome.code] += 1
    assert codes[143] >= 1
    check_the_end(directory, undisturbed)
