import signal
import sys
import tomllib
from pathlib import Path

import pytest

from tests.pipeline.support import command, finish, spawn

ROOT = Path(__file__).resolve().parents[2]
SIGNALLED = """
import os, signal, time

try:
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)
except BaseException:  # as a library may that tries what it finds
    print("swallowed")
"""


def installed_command():
    with (ROOT / "pyproject.toml").open("rb") as stream:
        module, function = tomllib.load(stream)["project"]["scripts"]["wikitopics"].split(":")
    program = f"import sys; from {module} import {function}; sys.exit({function}())"
    return [sys.executable, "-c", program]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("program", [command, installed_command])
def test_an_interrupt_during_an_import(tmp_path, program, number):
    (tmp_path / "tqdm.py").write_text(SIGNALLED.format(name=number.name))
    outcome = finish(spawn("--version", cwd=tmp_path, program=program()))
    assert outcome.code == 128 + number
    assert outcome.error.startswith("wikitopics: interrupted; what was done is kept")
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_command_imports(tmp_path, number):
    signalled = SIGNALLED.partition("try:")[0] + f"os.kill(os.getpid(), signal.{number.name})\n"
    (tmp_path / "numba.py").write_text(signalled + "time.sleep(60)\n")
    outcome = finish(spawn("topics", "nosuch", cwd=tmp_path))
    assert (outcome.code, len(outcome.err.splitlines())) == (128 + number, 1)


@pytest.mark.parametrize("program", [command, installed_command])
def test_a_command_that_nothing_interrupts(tmp_path, program):
    outcome = finish(spawn("--version", cwd=tmp_path, program=program())).succeeded()
    assert outcome.out.startswith("wikitopics 0.")
    assert outcome.err == ""
