"""The guide's programs and commands, one after the other, and the notebook."""

import re
import shlex

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from downloader.sources import read_source
from tests.docs.markdown_links import DOCS
from tests.pipeline.support import call, inside

GUIDE = (DOCS / "guides" / "data-frame.md").read_text("utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
COMMANDS = re.findall(r"^    python -m pipeline (.+)", GUIDE, re.MULTILINE)
NOTEBOOK = DOCS / "examples" / "own_texts.ipynb"


@pytest.mark.slow
def test_the_programs_of_the_guide_run_and_commands_take_their_runs(tmp_path):
    articles = read_source("sample", "")
    texts = [text for article in articles for _, text in article.sections()][:200]
    frame = pd.DataFrame({"review": texts, "stars": [1 + i % 5 for i in range(200)]})
    frame["key"] = [f"r{i}" for i in range(200)]
    frame["when"] = pd.date_range("2020-01-01", periods=200, freq="W")
    assert len(PROGRAMS) == 10
    names = {"frame": frame[["review"]], "new_frame": frame.iloc[:3]}
    with inside(tmp_path):
        for i, program in enumerate(PROGRAMS):
            exec(compile(program, f"program {i}", "exec"), names)
            names["frame"] = frame
        assert (tmp_path / "report.html").stat().st_size > 100_000
        assert names["again"].topics.equals(names["run"].topics)
        assert len(COMMANDS) == 3
        for command in COMMANDS:
            call(*shlex.split(command), cwd=tmp_path).succeeded()


def executed(cells):
    return [each for each in cells if each.cell_type == "code"]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_holds(tmp_path):
    held = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(held)
    again = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, timeout=600, kernel_name="python3", resources=where).execute()
    for before, after in zip(executed(held.cells), executed(again.cells), strict=True):
        assert kinds(before) == kinds(after) != set()
    assert topics_shown(again) == topics_shown(held)
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "kept" / "model.npz").exists()


def kinds(cell):
    """Kinds of what a cell shows; progress comes and goes."""
    found = {kind for each in cell.outputs for kind in each.get("data", {})}
    return {kind for kind in found if "widget" not in kind} & {"text/html", "image/png"} or {"text"}


def topics_shown(notebook):
    texts = [
        each.get("data", {}).get("text/html", "")
        for cell in executed(notebook.cells)
        for each in cell.outputs
    ]
    return [
        re.findall(r"<td[^>]*>([a-z_ ]{20,})</td>", text) for text in texts if "<p>gibbs-12" in text
    ]
