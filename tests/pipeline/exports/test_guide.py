"""The guide's commands and programs, on a run called demo."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.pipeline.support import call, inside

GUIDE = (Path(__file__).parents[3] / "docs/guides/exports.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (?:\$ )?python -m pipeline ([^#\n]+)", GUIDE, re.MULTILINE)
PROGRAMS = re.findall(r"\n\n((?:    (?:import|from) .*\n)(?:    .*\n|\n(?=    ))*)", GUIDE)


@pytest.fixture
def demo(tiny_gibbs, tmp_path):
    directory = shutil.copytree(tiny_gibbs, tmp_path / "demo")
    (directory / "runs/gibbs").rename(directory / "runs/demo")
    return directory


def test_all_commands_do_what_they_say(demo):
    assert len(COMMANDS) == 9
    for command in COMMANDS:
        _, *named = shlex.split(command)
        call(*shlex.split(command), "--force", cwd=demo).succeeded()
        files = [each for each in named if "." in each]
        assert files
        for file in files:
            assert (demo / file).stat().st_size
            (demo / file).unlink()


def test_all_programs_run(demo, capsys):
    pytest.importorskip("pyLDAvis", exc_type=ImportError)
    assert len(PROGRAMS) == 2
    with inside(demo):
        for program in PROGRAMS:
            exec("\n".join(line[4:] for line in program.splitlines()), {"__name__": "guide"})
    assert capsys.readouterr().out.startswith("[(")
    assert "ldavis" in (demo / "view.html").read_text("utf-8")
    call("evaluate", "model.gensim", "runs/demo", "--threads", 1, cwd=demo).succeeded()
