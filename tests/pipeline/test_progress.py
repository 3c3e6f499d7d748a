import io
import os
import re
import struct
import sys
from unittest import mock

import pytest

import pipeline.progress as progress_module
from pipeline.cli import _configure_logging
from pipeline.progress import Progress, bars
from tests.pipeline.support import TINY, TINY_GIBBS, call, logging_restored, session_of, wait_until

SLOW_TRAINING = """
import sys, time
from models import OnlineLDA
from pipeline.cli import main

iterate = OnlineLDA.iterate

def slow(*args, **kwargs):
    for step in iterate(*args, **kwargs):
        time.sleep(0.1)
        yield step

OnlineLDA.iterate = slow
sys.exit(main())
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, *, quiet=False, fail=False):
    with (
        logging_restored(),
        mock.patch.object(sys, "stderr", stream),
        mock.patch.object(progress_module, "DELAY", 0.0),
        mock.patch.object(progress_module, "LINE_EVERY", 0.0),
    ):
        _configure_logging(quiet=quiet, detached=False)
        try:
            with Progress("digging", 10, "holes") as progress:
                progress.update(4, "four")
                if fail:
                    raise KeyError("spade")
                progress.update(6, "ten")
        except KeyError:
            pass
    return stream.getvalue()


def test_a_terminal_gets_a_bar():
    text = shown(Terminal())
    assert "\r" in text
    assert "digging: 100%" in text


def test_a_file_gets_lines_and_none_says_done_if_a_stage_fails():
    text = shown(io.StringIO())
    assert "\r" not in text
    lines = text.splitlines()
    assert lines[0].startswith("digging: 40 %, 4 of 10 holes")
    assert lines[-1].startswith("digging: 100 %, 10 of 10 holes")
    assert lines[-1].endswith("ten")
    assert "digging: 100 %" not in shown(io.StringIO(), fail=True)


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_quiet_shows_nothing(stream):
    assert shown(stream, quiet=True) == ""


def test_a_short_stage_stays_silent(tiny):
    outcome = call("train", "--run", "short", *TINY, cwd=tiny)
    assert "training:" not in outcome.err
    assert "%" not in outcome.err


@pytest.mark.parametrize("argv", [TINY, TINY_GIBBS])
def test_training_shows_pass_perplexity_rate_and_time_left(tiny, argv):
    with mock.patch.object(progress_module, "LINE_EVERY", 0.0):
        outcome = call("train", "--run", "shown", *argv, cwd=tiny)
    lines = [line for line in outcome.err.splitlines() if line.startswith("training: ")]
    shape = r"training: \d+ %, [\d.k]+ of 4.30k documents, .+ documents/s, \d\d:\d\d < .+, pass "
    assert all(re.match(shape, line) for line in lines)
    assert re.search(r", pass \d+\.\d, perplexity \d+\.\d$", lines[-1])


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [False, True])
def test_a_stage_over_two_seconds_under_a_pseudo_terminal(tiny, quiet):
    program = tiny / "slow.py"
    program.write_text(SLOW_TRAINING)
    argv = ["train", "--run", "shown", *TINY, "--early-stopping", "none", "--max-passes", "8"]
    stdout = os.open(tiny / "out", os.O_WRONLY | os.O_CREAT)
    fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process
        os.setsid()
        os.dup2(stdout, 1)
        os.dup2(follower, 2)
        os.chdir(tiny)
        os.execv(
            sys.executable, [sys.executable, str(program), *argv, *(["--quiet"] if quiet else [])]
        )
    os.close(follower)
    written = b""
    try:
        while chunk := os.read(leader, 1 << 16):
            written += chunk
    except OSError:  # the other end was closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    wait_until(lambda: not session_of(pid), 120, "a process is left")
    os.close(leader)
    os.close(stdout)
    assert (tiny / "out").read_text().startswith("topic  share  words")
    if quiet:
        assert written == b""
    else:
        assert b"\rtraining:" in written
        assert b" documents/s" in written
        assert written.endswith(b"\r\n")


def shown_to_python(stream, *, shown):
    with (
        mock.patch.object(sys, "stderr", stream),
        mock.patch.object(progress_module, "DELAY", 0.0),
        bars(shown=shown),
        Progress("digging", 10, "holes") as progress,
    ):
        progress.update(10)
    return stream.getvalue()


def test_python_gets_a_bar_without_messages_and_none_if_it_wants_none():
    assert "10/10" in shown_to_python(Terminal(), shown=True)
    assert shown_to_python(Terminal(), shown=False) == ""
    assert shown_to_python(io.StringIO(), shown=True) == ""  # no terminal
    with mock.patch.object(sys, "stderr", Terminal()) as stream, Progress("digging", 10, "holes"):
        assert stream.getvalue() == ""


def test_a_notebook_gets_the_bar_of_tqdm_auto():
    kernel = mock.Mock()
    kernel.get_ipython.return_value.kernel = object()
    with mock.patch.dict(sys.modules, {"IPython": kernel}), mock.patch("tqdm.auto.tqdm") as bar:
        shown_to_python(io.StringIO(), shown=True)
        assert bar.call_args.kwargs["disable"] is False
        shown_to_python(io.StringIO(), shown=False)
        assert bar.call_args.kwargs["disable"] is True
        kernel.get_ipython.return_value.kernel = None  # IPython in a terminal
        assert shown_to_python(io.StringIO(), shown=True) == ""
