"""Made-up articles, the command line in this process and in another, and ways to end it."""

import bz2
import io
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from pipeline.cli import PACKAGES, main
from pipeline.report import report

THEMES = (
    "river lake mountain valley forest glacier island ocean desert canyon",
    "guitar piano violin opera singer melody drummer concert orchestra album",
    "electron proton atom molecule photon neutron energy particle nucleus laser",
)
MADE_UP = (
    *("--articles", "articles", "--topics", "3", "--seed", "5", "--threads", "1"),
    *("--documents", "article", "--no-below", "1", "--no-above", "1"),
    *("--bigram-threshold", "0.1"),
)
TINY = (*MADE_UP, "--batch-size", "10")
"""Settings under which made-up articles train in a blink."""
TINY_GIBBS = (*MADE_UP, "--model", "gibbs")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def result(self):
        found = json.loads(self.out, parse_constant=lambda name: pytest_fail(f"{name} in JSON"))
        assert isinstance(found, dict)
        return found

    def succeeded(self):
        assert self.code == 0, self.err
        return self

    def failed(self, code=2):
        assert self.code == code, self
        return self.error

    @property
    def error(self):
        assert self.out == ""
        assert "Traceback" not in self.err
        lines = [line for line in self.err.splitlines() if line.startswith("wikitopics: ")]
        assert len(lines) == 1, self.err
        assert self.err.splitlines()[-1] == lines[0]
        return lines[0]


class Hostile:
    """Its pickle makes a directory wherever it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def pytest_fail(message):
    raise AssertionError(message)


def clean_environment():
    return {
        name: text
        for name, text in os.environ.items()
        if "WIKITOPICS_" not in name or name in {"WIKITOPICS_CACHE", "WIKITOPICS_COMPILE_AHEAD"}
    }


def call(*argv, cwd, stdin="", **environment):
    out, err = io.StringIO(), io.StringIO()
    clean = clean_environment()
    with (
        inside(cwd),
        logging_restored(),
        mock.patch.dict(os.environ, clean | environment, clear=True),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            code = main([str(argument) for argument in argv])
        except SystemExit as end:
            code = int(str(end.code))
    return Outcome(code, out.getvalue(), err.getvalue())


def refused(code, message, *argv, cwd):
    """A command that fails says why, and leaves the directory as it was."""
    before = files_of(cwd)
    outcome = call(*argv, cwd=cwd)
    assert outcome.code == code, outcome
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert files_of(cwd) == before
    return outcome


def command(*argv):
    return [sys.executable, "-m", "pipeline", *map(str, argv)]


def spawn(*argv, cwd, program=None):
    clean = clean_environment()
    return subprocess.Popen(
        [*program, *map(str, argv)] if program else command(*argv),
        cwd=cwd,
        env=clean,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process, seconds=300):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        for each in session_of(process.pid):
            os.kill(each, signal.SIGKILL)
        process.communicate()
        raise
    wait_until(lambda: not session_of(process.pid), 120, "worker processes are left")
    return Outcome(process.returncode, out, err)


def session_of(leader):
    """Processes of the session of `leader` that run: until all threads of a process are zombies."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        try:
            state, _, _, session, *_ = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == leader and state not in "ZX":
            found.add(int(stat.parts[2]))
    return sorted(found)


def wait_until(condition, seconds, complaint):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
        time.sleep(0.002)


@contextmanager
def inside(directory):
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def figures_of_runs_left_out():
    """Of a report on several runs, only the figures that compare them are drawn."""
    with mock.patch.object(report, "all_figures", return_value=[]):
        yield


@contextmanager
def logging_restored():
    """The command line configures logging; other tests want it as it was."""
    loggers = [logging.getLogger(name) for name in PACKAGES]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    try:
        yield
    finally:
        for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)


def made_up_texts(number, n_words=40, seed=0):
    rng = random.Random(seed)
    return [
        " ".join(
            f"It is the {a} of a {b}."  # as bare lists spaCy takes nouns for names
            for a, b in (rng.choices(THEMES[i % 3].split(), k=2) for _ in range(n_words // 2))
        )
        + " It is the solar panel."
        for i in range(number)
    ]


def write_jsonl(path, number, n_words=40, seed=0, first_id=1):
    lines = [
        json.dumps({"page_id": i + first_id, "title": f"Article {i + first_id}", "text": text})
        for i, text in enumerate(made_up_texts(number, n_words, seed))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def dump_xml(number):
    pages = "".join(
        f"<page><title>Article {i + 1}</title><ns>0</ns><id>{i + 1}</id><revision><id>{i + 101}"
        f"</id><timestamp>2020-01-01T00:00:00Z</timestamp><model>wikitext</model>"
        f"<text>'''Article''' {text}</text></revision></page>\n"
        for i, text in enumerate(made_up_texts(number))
    )
    talk = "<page><title>Talk:Article 1</title><ns>1</ns><id>9001</id></page>\n"
    return (
        '<mediawiki xml:lang="en"><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base>'
        f"</siteinfo>\n{pages}{talk}</mediawiki>\n"
    )


def write_dump(path, number):
    data = dump_xml(number).encode()
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)
    return path


def signalled_at(iterate, step, *numbers):
    """`iterate` of a trainer, in which signals arrive at this step."""

    def iterate_with_signals(*args, **kwargs):
        for number, each in enumerate(iterate(*args, **kwargs), start=1):
            if number == step:
                for signal_number in numbers:
                    os.kill(os.getpid(), signal_number)
            yield each

    return iterate_with_signals


def arrays_of(model):
    with np.load(model, allow_pickle=False) as archive:
        return {
            name: (archive[name].dtype.str, archive[name].shape, archive[name].tobytes())
            for name in archive.files
            if name != "header"
        }


def metrics_of(directory, run):
    path = directory / "runs" / run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def looks_of(directory, run):
    of_the_clock = ("seconds", "documents_per_second")
    lines = metrics_of(directory, run)
    return [{n: v for n, v in line.items() if n not in of_the_clock} for line in lines]


def flip(path, position, bit=0):
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.write_bytes(data)


def files_of(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock" and path.parent.name != "download"
    }
