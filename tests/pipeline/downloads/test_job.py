"""`download` in the background; a named pipe is the source where a download has to last."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpora import Article, ArticleStore, writer_lock
from pipeline.downloads import job as download_job
from pipeline.downloads.job import DownloadJob, Status, as_options
from pipeline.setting_sources import resolve
from pipeline.settings import DownloadSettings
from tests.pipeline.support import call, command, finish, session_of, spawn, wait_until, write_jsonl

PIPE = ("download", "--source", "jsonl", "--input", "pipe")


def write_pipe(directory):
    path = directory / "pipe"
    os.mkfifo(path)
    return path


@contextmanager
def feeding(pipe):
    descriptor = os.open(pipe, os.O_RDWR)  # does not wait for a reader
    with os.fdopen(descriptor, "wb", buffering=0) as stream:
        yield stream


@pytest.fixture
def background(tmp_path):
    pipe, pid = write_pipe(tmp_path), 0
    try:
        with feeding(pipe) as source:
            pid = call(*PIPE, "--background", "--json", cwd=tmp_path).succeeded().result["pid"]
            yield tmp_path, source
    finally:
        for each in session_of(pid) if pid else ():
            os.kill(each, signal.SIGKILL)


def lines(number, first_id=1):
    each = ({"page_id": first_id + i, "title": "T", "text": "Words."} for i in range(number))
    return b"".join(json.dumps(one).encode() + b"\n" for one in each)


def shards(directory):
    store = ArticleStore(directory / "articles")
    return store.entries if store.exists else ()


def status(directory):
    return call("download", "--status", "--json", cwd=directory).succeeded().result


def test_a_download_in_the_background_from_beginning_to_end(background):
    directory, source = background
    first = status(directory)
    assert first["state"] == "running"
    assert first["pid"] > 0
    assert first["source"] == "jsonl"
    source.write(lines(250))
    wait_until(lambda: len(shards(directory)) == 2, 120, "not stored")
    wait_until(lambda: status(directory)["added"] >= 200, 120, "no progress is told")
    stopped = call("download", "--stop", "--json", cwd=directory)
    assert (stopped.code, stopped.result["state"]) == (0, "interrupted")
    assert stopped.result["stopped"]
    assert stopped.result["pid"] is None
    # What had been read when it was stopped is stored too.
    assert len(ArticleStore(directory / "articles")) == 250
    wait_until(lambda: not session_of(first["pid"]), 120, "a process is left")
    files = {path.name for path in (directory / "articles/download").iterdir()}
    assert files == {"lock", "log", "status.json"}
    assert "interrupted" in (directory / "articles/download/log").read_text()
    assert not call("download", "--stop", "--json", cwd=directory).succeeded().result["stopped"]


def test_a_package_of_the_same_name_in_the_working_directory_is_not_run(tmp_path):
    (tmp_path / "pipeline").mkdir()
    for name in ("__init__.py", "__main__.py"):
        (tmp_path / "pipeline" / name).write_text("open('run', 'w')")
    write_jsonl(tmp_path / "pipe", 3)
    call(*PIPE, "--background", cwd=tmp_path).succeeded()
    wait_until(lambda: status(tmp_path)["state"] == "done", 120, "not stored")
    assert not (tmp_path / "run").exists()


def test_it_returns_at_once_and_leaves_the_terminal(background):
    directory, _ = background
    pid = status(directory)["pid"]
    assert os.getsid(pid) == pid
    for number in (0, 1, 2):
        target = str(Path(f"/proc/{pid}/fd/{number}").readlink())
        assert target == "/dev/null" or target.startswith(str(directory))


def test_only_one_at_a_time(background):
    directory, _ = background
    pid = status(directory)["pid"]
    for more in ((), ("--background",)):
        assert f"process {pid}" in call(*PIPE, *more, cwd=directory).failed(75)
    assert status(directory)["state"] == "running"


def test_a_killed_download_is_not_said_to_run(background):
    directory, source = background
    source.write(lines(150))
    wait_until(lambda: shards(directory), 120, "nothing stored")
    os.kill(status(directory)["pid"], signal.SIGKILL)
    wait_until(lambda: status(directory)["state"] == "killed", 120, "it seems to run still")
    assert status(directory)["pid"] is None
    # The pid in the file is somebody else's by now: nobody is signalled.
    (directory / "articles/download/lock").write_text(f"{os.getpid()}\n")
    assert status(directory)["state"] == "killed"
    assert call("download", "--stop", cwd=directory).code == 0
    assert "killed" in call("download", "--status", cwd=directory).out
    assert len(ArticleStore(directory / "articles")) == 100


def following(directory, *argv):
    """A process that follows the download: it has shown the first line of the log."""
    follower = spawn("download", "--follow", *argv, cwd=directory)
    assert follower.stderr is not None
    assert "begun: jsonl pipe" in follower.stderr.readline()
    return follower


def test_follow_shows_the_log_until_the_end(background):
    directory, _ = background
    follower = following(directory, "--json")
    with pytest.raises(subprocess.TimeoutExpired):
        follower.wait(0.3)
    call("download", "--stop", cwd=directory)
    outcome = finish(follower).succeeded()
    assert "interrupted" in outcome.err
    assert json.loads(outcome.out)["state"] == "interrupted"


def test_ctrl_c_ends_following_alone(background):
    directory, _ = background
    follower = following(directory)
    follower.send_signal(signal.SIGINT)
    assert finish(follower).code == 130
    assert status(directory)["state"] == "running"


@pytest.mark.parametrize("action", ["--status", "--stop", "--follow"])
def test_there_was_no_download(tmp_path, action):
    assert "no download" in call("download", action, cwd=tmp_path).failed()
    assert not list(tmp_path.iterdir())


def test_a_download_that_fails_says_why(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"title": "A", "text": "B"}\nnonsense\n')
    argv = ("download", "--source", "jsonl", "--input", "x.jsonl")
    assert call(*argv, cwd=tmp_path).code == 3
    told = status(tmp_path)
    assert told["state"] == "failed"
    assert "x.jsonl, line 2" in told["last_error"]["what"]
    assert "x.jsonl, line 2" in call("download", "--status", cwd=tmp_path).out
    assert "ERROR" in (tmp_path / "articles/download/log").read_text()


def test_a_background_download_that_cannot_begin(tmp_path):
    assert call("download", "--background", "--source", "dump", cwd=tmp_path).code == 2
    (tmp_path / "articles").write_text("a file")
    assert "articles is a file" in call("download", "--background", cwd=tmp_path).failed(3)
    (tmp_path / "articles").unlink()
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles/thesis.txt").write_text("mine")
    assert call("download", "--background", cwd=tmp_path).code == 3
    assert [path.name for path in (tmp_path / "articles").iterdir()] == ["thesis.txt"]


def test_a_background_download_that_ends_before_it_begins(tmp_path):
    environment = os.environ | {"PYTHONSTARTUP": "", "PYTHONPATH": str(Path.cwd())}
    program = (
        "import pipeline.downloads.job as job, pipeline.cli, sys\n"
        "job.as_options = lambda settings: ['--source', 'nosuch']\n"
        "sys.exit(pipeline.cli.main(['download', '--background']))\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert process.returncode == 2
    assert "--source must be one of" in process.stderr


def test_a_finished_download_is_done(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", 7)
    argv = ("download", "--source", "jsonl", "x.jsonl")
    assert call(*argv, cwd=tmp_path).code == 0
    told = status(tmp_path)
    assert (told["state"], told["added"]) == ("done", 7)
    assert told["articles"] == 7
    assert "done" in call("download", "--follow", cwd=tmp_path).succeeded().out


def test_damaged_status(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", 1)
    assert call("download", "--source", "jsonl", "x.jsonl", cwd=tmp_path).code == 0
    for text in ("{", "[]", "", "{}", '{"state": "done", "of": "x"}', '{"state": 3}'):
        (tmp_path / "articles/download/status.json").write_text(text)
        assert "status.json" in call("download", "--status", cwd=tmp_path).failed(3)


def test_the_log_rotates_and_is_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(download_job, "LOG_BYTES", 2000)
    monkeypatch.setattr(download_job, "POLL_SECONDS", 0.002)
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    job, begun = DownloadJob(tmp_path / "store"), threading.Event()

    def download():
        import logging

        logger = logging.getLogger("pipeline")
        before = logger.level
        logger.setLevel(logging.INFO)
        with job.held(DownloadSettings()):
            logger.info("line 0")
            begun.set()
            for i in range(1, 201):
                shown_last = f" line {max(i - 20, 0)}\n"
                wait_until(lambda text=shown_last: text in shown.getvalue(), 120, "not followed")
                logger.info("line %d", i)
        logger.setLevel(before)

    # A thread stands for the process: a lock belongs to whoever opened the file.
    thread = threading.Thread(target=download)
    thread.start()
    begun.wait(120)
    job.follow()
    thread.join()
    assert not [i for i in range(201) if f" line {i}\n" not in shown.getvalue()]
    logs = sorted(path.name for path in job.directory.glob("log*"))
    assert logs == ["log", "log.1", "log.2", "log.3"]
    assert all(path.stat().st_size <= 2000 for path in job.directory.glob("log*"))


def test_the_options_of_the_process_say_the_same(tmp_path):
    settings = DownloadSettings(source="category", input="-x y", limit=5, contact="a b", depth=0)
    given = {}
    for option in as_options(settings):
        name, _, value = option.removeprefix("--").partition("=")
        given[name.replace("-", "_")] = value
    assert resolve(DownloadSettings, "download", given, {}, tmp_path / "none") == settings


def test_a_download_that_was_just_begun_tells_what_is_stored(tmp_path):
    store = ArticleStore(tmp_path / "store")
    store.append([Article(1, 1, "T", "https://en.wikipedia.org/wiki/T", "", "en", "", "Text.")])
    Status(tmp_path / "status.json", DownloadSettings(), store)
    assert json.loads((tmp_path / "status.json").read_text())["articles"] == 1


def test_rate_and_time_left(tmp_path, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(download_job.time, "monotonic", lambda: now)
    told = Status(tmp_path / "status.json", DownloadSettings(), ArticleStore(tmp_path / "none"))
    told.update(0, of=1000)
    assert told.fields["rate"] is None
    now += 10
    told.update(100)
    assert told.fields["rate"] == pytest.approx(10)
    assert told.fields["time_left"] == pytest.approx(90)
    now += 600  # a long wait: what was before no longer counts in full
    told.update(100)
    now += 250
    told.update(350)
    assert told.fields["rate"] == pytest.approx(250 / 850)  # since the last one before
    told.trouble("the server is busy", 30)
    assert told.fields["waiting_until"]
    told.save()
    assert json.loads((tmp_path / "status.json").read_text())["last_error"]["what"]
    told.update(351)
    assert told.fields["waiting_until"] is None


def test_the_lock_is_what_counts(tmp_path):
    job = DownloadJob(tmp_path)
    assert job.pid() is None
    job.directory.mkdir()
    with writer_lock(job.directory):
        assert job.pid() == os.getpid()
    assert job.pid() is None


def test_the_command_in_the_background_is_this_one(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", 3)
    process = subprocess.run(
        command("download", "--source", "jsonl", "x.jsonl", "--background"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert "--status" in process.stdout
    wait_until(lambda: status(tmp_path)["state"] == "done", 120, "it does not end")
    assert len(ArticleStore(tmp_path / "articles")) == 3
