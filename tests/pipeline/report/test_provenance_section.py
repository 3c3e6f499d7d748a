import shlex
from dataclasses import fields, replace

from pipeline.cli import build_parser
from pipeline.report.provenance_section import applying, train_command
from pipeline.setting_sources import as_table, resolve
from pipeline.settings import TrainSettings


def test_settings_of_other_models_are_left_out():
    shown = applying(as_table(TrainSettings(model="gibbs")))
    assert {"model", "topics", "alpha", "sampler"} <= set(shown)
    assert not {"trainer", "penalty", "assignments", "batch_size", "follow"} & set(shown)
    assert "trainer" in applying(as_table(TrainSettings(model="gamma-poisson")))


def test_the_command_makes_the_same_settings():
    settings = TrainSettings(
        articles="a dir/with 'quotes'",
        model="online",
        follow=True,
        stop_words="$(rm), -x",
        threads=-2,
        parts_of_speech="",
        no_above=0.5,
        seed=None,
    )
    words = shlex.split(train_command(as_table(settings), 77))
    assert words[:4] == ["python", "-m", "pipeline", "train"]
    given = vars(build_parser().parse_args(words[3:]))
    named = {each.name for each in fields(TrainSettings)} & set(given)
    assert named == {
        *("articles", "model", "follow", "stop_words", "threads", "parts_of_speech"),
        *("no_above", "seed"),
    }
    resolved = resolve(TrainSettings, "train", {name: given[name] for name in named}, {})
    assert resolved == replace(settings, seed=77)


def test_a_seed_is_said_once_even_if_it_was_given():
    assert train_command(as_table(TrainSettings(seed=5)), 5) == (
        "python -m pipeline train --seed 5"
    )
