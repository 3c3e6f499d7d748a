import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

from corpora.kernel_cache import free
from models.families import trainers
from pipeline.settings import TrainSettings
from pipeline.warming import background, recipes
from pipeline.warming.background import VARIABLE, compile_ahead, compile_kernels, mark_of, task_of
from tests.pipeline.support import call


@pytest.fixture
def started(monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(background.os, "nice", lambda _: 0)  # or later tests would be slow
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    monkeypatch.setattr(background, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(background, "start_module", lambda *words: commands.append(words))
    return commands


SETTINGS = [TrainSettings(model=spec.model, topics=4, **spec.chosen_by) for spec in trainers()]


@pytest.mark.parametrize("settings", SETTINGS, ids=[spec.name for spec in trainers()])
def test_the_process_runs_a_small_training_and_leaves_a_mark(started, settings):
    assert compile_ahead(settings)
    assert [each[-2] for each in started] == ["pipeline.warming.background"]
    assert not mark_of(task_of(settings)).exists()
    compile_kernels(started[0][-1])
    assert mark_of(task_of(settings)).exists()
    assert not compile_ahead(settings)
    assert len(started) == 1, "all is compiled"


@pytest.mark.parametrize(
    ("asked", "n_topics", "compiled"),
    [("auto", 10, "dense"), ("auto", 50, "sparse"), ("exact-dense", 50, "dense")],
)
def test_the_sampler_is_that_of_documents_as_long_as_articles(
    started, monkeypatch, asked, n_topics, compiled
):
    trained = []
    train = recipes.train
    monkeypatch.setattr(recipes, "train", lambda *given: trained.append(given[0]) or train(*given))
    assert compile_ahead(TrainSettings(model="gibbs", sampler=asked, topics=n_topics))
    compile_kernels(started[0][-1])
    assert [each.sampler for each in trained] == [f"exact-{compiled}"]


@pytest.mark.parametrize("is_claimed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_package_of_the_same_name_in_the_working_directory_is_not_run(
    tmp_path, monkeypatch, is_claimed
):
    """A process for kernels that another process compiles ends at once."""
    theirs = tmp_path / "pipeline" / "warming"
    theirs.mkdir(parents=True)
    for path in (theirs.parent / "__init__.py", theirs / "__init__.py", theirs / "background.py"):
        path.write_text("open('run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    mark = mark_of(task_of(SETTINGS[0]))
    mark.unlink(missing_ok=True)
    with monkeypatch.context() as patch:
        if is_claimed:
            patch.setattr(background, "free", lambda _: None)
        assert compile_ahead(SETTINGS[0])
    assert background._started.pop().wait(timeout=300) == 0
    free(mark)
    assert mark.exists() == (not is_claimed)
    assert not (tmp_path / "run").exists()


def test_settings_that_take_other_kernels_are_another_task(started, monkeypatch):
    for settings in (SETTINGS[0], TrainSettings(model="gibbs", sampler="exact-sparse", topics=4)):
        mark_of(task_of(settings)).touch()
    compile_ahead(TrainSettings(model="gibbs", sampler="exact-sparse", topics=4, seed=3))
    assert started == []
    monkeypatch.setattr(background, "claim", lambda _: bool(not started))
    for _ in range(2):  # the second time another process is at it
        assert compile_ahead(TrainSettings(model="gibbs", sampler="exact-dense", topics=4))
        assert len(started) == 1


@pytest.mark.parametrize("reason", ["variable", "one core", "no cache", "no compiler"])
def test_nothing_starts_where_it_is_of_no_use(started, monkeypatch, reason):
    if reason == "variable":
        monkeypatch.setenv(VARIABLE, "0")
    elif reason == "one core":
        monkeypatch.setattr(background, "available_cores", lambda: 1)
    elif reason == "no cache":
        monkeypatch.setattr(background, "cache_folder", lambda: None)
    else:
        monkeypatch.setitem(vars(background.config), "DISABLE_JIT", 1)
    assert not compile_ahead(SETTINGS[0])
    assert started == []


def test_the_command_compiles_what_is_missing(tmp_path):
    result = call("warm", "--json", cwd=tmp_path).result
    assert result["kernels"] > 150
    assert 1e7 < result["bytes"] < 5e7


def test_what_make_installs_first_is_enough_to_compile():
    names = re.findall(r"INSTALL,(filelock .*)\)", Path("Makefile").read_text())[0].split()
    for name in names:  # and what these need, which is appended
        needs = {re.match(r"[\w-]+", each)[0] for each in requires(name) or () if ";" not in each}
        names += sorted(needs.difference(names))
    names += ["pipeline", "models", "corpora", "evaluation"]
    modules = {name: "".join(of) for name, of in packages_distributions().items()}
    others = [m for m, of in modules.items() if not {m, of.lower().replace("_", "-")} & {*names}]
    code = "import sys; sys.modules |= dict.fromkeys(sys.argv); import pipeline.warming.recipes"
    subprocess.run([sys.executable, "-c", code, *others], check=True)
