from dataclasses import fields
from pathlib import Path

import pytest

from models.gibbs.start import STARTS
from models.gibbs.state import SAMPLERS
from pipeline.errors import UsageError
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.setting_sources import SECTIONS, as_table, from_table, resolve, value_type
from pipeline.settings import (
    AllocateSettings,
    DownloadSettings,
    EvaluateSettings,
    IndexSettings,
    InferSettings,
    ReadingTestSettings,
    ReportSettings,
    SelectSettings,
    TopicsSettings,
    TrainSettings,
    choices_of,
)
from tests.pipeline.support import call

KINDS = dict(
    zip(
        SECTIONS,
        (
            *(DownloadSettings, TrainSettings, EvaluateSettings, TopicsSettings, InferSettings),
            *(SelectSettings, ReportSettings, ReadingTestSettings),
            *(AllocateSettings, ReproduceSettings, IndexSettings),
        ),
        strict=True,
    )
)
SAMPLES = (
    # name, default, in the file, in the environment, on the command line, as read
    ("topics", 25, "7", "8", "9", (7, 8, 9)),
    ("no_above", 0.2, "0.3", "0.4", "0.5", (0.3, 0.4, 0.5)),
    ("no_above", 0.2, "1", "1", ".5", (1.0, 1.0, 0.5)),
    ("articles", "", '"a"', "b", "c", ("a", "b", "c")),
    ("seed", None, "0", "1", "2", (0, 1, 2)),
    ("bigram_threshold", None, "2", "3.5", ".5", (2.0, 3.5, 0.5)),
    ("word_budget", None, "10", "11", "12", (10, 11, 12)),
    ("burn_in", 0, "1", "2", "3", (1, 2, 3)),
    ("stopping_tolerance", 1e-4, "0", "1e-3", ".1", (0.0, 1e-3, 0.1)),
    ("early_stopping", "documents", '"time"', "none", "documents", ("time", "none", "documents")),
)


@pytest.mark.parametrize(("name", "default", "toml", "env", "given", "values"), SAMPLES)
def test_the_nearest_source_wins(tmp_path, name, default, toml, env, given, values):
    file, missing = tmp_path / "pipeline.toml", tmp_path / "nosuch.toml"
    file.write_text(f"[train]\n{name} = {toml}\n")
    environment = {f"WIKITOPICS_{name.upper()}": env}

    def value(given, environment, path):
        return getattr(resolve(TrainSettings, "train", given, environment, path), name)

    assert value({}, {}, missing) == default
    found = (
        value({}, {}, file),
        value({}, environment, file),
        value({name: given}, environment, file),
    )
    assert found == values
    assert list(map(type, found)) == list(map(type, values))  # type: ignore[call-overload]
    assert value({name: given}, {}, missing) == values[2]  # type: ignore[index]


def test_dashes_will_do_in_the_file(tmp_path):
    (tmp_path / "pipeline.toml").write_text("[train]\nkeep-n = 12\n")
    assert resolve(TrainSettings, "train", {}, {}, tmp_path / "pipeline.toml").keep_n == 12


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[train]\ntopicks = 3", "[train] has no setting 'topicks'"),
        ("[trian]\ntopics = 3", "there is no section [trian]"),
        ("topics = 3", "there is no section [topics]|[train] must|topics must be a table"),
        ("train = 3", "train must be a table"),
        ("[train]\ntopics = 'three'", "topics must be a whole number, found 'three'"),
        ("[train]\ntopics = 3.0", "topics must be a whole number, found 3.0"),
        ("[train]\ntopics = true", "topics must be a whole number, found True"),
        ("[train]\nno_above = [1]", "no_above must be a number, found [1]"),
        ("[train]\nseed = ''", "seed must be a whole number, found ''"),
        ("[train]\nalpha = [0.1]", "alpha must be a text"),
        (
            "[train]\nmodel = 'offline'",
            "model must be one of auto, online, gibbs, gamma-poisson, poisson-mrf; found 'offline'",
        ),
        ("[train]\nthreads = 0", "threads must not be 0"),
        ("[train\ntopics = 3", "not a TOML file"),
        ("[train]\nrun = '\xff'", "not a TOML file"),
    ],
)
def test_mistakes_in_the_file(tmp_path, text, complaint):
    (tmp_path / "pipeline.toml").write_bytes(text.encode("latin-1"))
    section = "topics" if text.startswith("topics") else "train"
    error = call(*([section, "x"] if section == "topics" else [section]), cwd=tmp_path).failed()
    assert error.startswith("wikitopics: pipeline.toml: ")
    assert any(each in error for each in complaint.split("|"))


def test_mistakes_in_the_environment_are_mended_nowhere_else(tmp_path):
    error = call("train", cwd=tmp_path, WIKITOPICS_TOPICS="many").failed()
    assert error == "wikitopics: WIKITOPICS_TOPICS must be a whole number, found 'many'"
    error = call("evaluate", "x", cwd=tmp_path, WIKITOPICS_METHOD="guess").failed()
    assert "WIKITOPICS_METHOD must be one of exact, left-to-right-sequential" in error
    # A wrong value is an error even where something nearer has another: it would come back.
    error = call("train", "--topics", 3, cwd=tmp_path, WIKITOPICS_TOPICS="many").failed()
    assert "WIKITOPICS_TOPICS" in error


def test_the_file_in_the_working_directory_is_used(tiny):
    (tiny / "pipeline.toml").write_text("[topics]\nwords = 2\n")
    outcome = call("topics", "tiny", "--json", cwd=tiny)
    assert [len(row["words"]) for row in outcome.result["topics"]] == [2, 2, 2]
    outcome = call("topics", "tiny", "--json", cwd=tiny, WIKITOPICS_WORDS="4")
    assert [len(row["words"]) for row in outcome.result["topics"]] == [4, 4, 4]
    outcome = call("topics", "tiny", "--json", "--words", 1, cwd=tiny, WIKITOPICS_WORDS="4")
    assert [len(row["words"]) for row in outcome.result["topics"]] == [1, 1, 1]


@pytest.mark.parametrize("section", SECTIONS)
def test_defaults_are_of_their_own_type_and_among_their_choices(section):
    kind = KINDS[section]
    for each in fields(kind):
        assert each.default is None or type(each.default) is value_type(each)
        choices = choices_of(each)
        assert not choices or each.default is None or each.default in choices
        if callable(each.metadata["choices"]):  # which --help does not call
            assert set(each.metadata["metavar"].strip("{}").split(",")) == set(choices)
    assert resolve(kind, section, {}, {}, Path("nosuch.toml")) == kind()


def test_choices_of_gibbs_sampling_are_those_of_the_estimator():
    choices = {each.name: choices_of(each) for each in fields(TrainSettings)}
    assert choices["start"] == STARTS
    assert choices["sampler"] == ("auto", *SAMPLERS)


def test_a_table_and_back():
    some = TrainSettings(seed=3, word_budget=10)
    table = as_table(some)
    assert "batch_size" not in table
    assert from_table(TrainSettings, table, "here") == some
    with pytest.raises(UsageError, match="here: unknown setting 'tropics'"):
        from_table(TrainSettings, {"tropics": 1}, "here")
