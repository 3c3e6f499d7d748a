"""`reproduce aldebakel-trainers` and `aldebakel-topics` on a scale below quick."""

from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import pipeline.reproduce.run as command
from pipeline.cache.results import ResultCache
from pipeline.reproduce import trials
from pipeline.reproduce.aldebakel2022 import e_step_caps, topics_by_coherence, training
from pipeline.reproduce.aldebakel2022.e_step_caps import GIBBS, VB
from pipeline.reproduce.aldebakel2022.topics_by_coherence import BEST, THEMES
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import failing, places, reproduced
from tests.pipeline.support import call, inside

MODULES = {each.NAME: each for each in (e_step_caps, topics_by_coherence)}
OPTIONS = {"counts": "themes.npz", "topics": 3, "repeats": 2}
ARGV = ("--counts", "themes.npz", "--topics", 3, "--repeats", 2)
PANELS = {"aldebakel-trainers": 2, "aldebakel-topics-coherence": 1, "aldebakel-topics-clouds": 3}


def write_themes(directory, n_docs=60):
    """Write documents with most of their words of one theme, and the words."""
    words = [each.split() for each in THEMES.values()]
    first = np.cumsum([0, *map(len, words)])
    rates = np.full((n_docs, first[-1]), 0.2)
    for d in range(n_docs):
        rates[d, first[d % 3] : first[d % 3 + 1]] = 5.0
    counts = np.random.default_rng(0).poisson(rates)
    sparse.save_npz(directory / "themes.npz", sparse.csr_array(counts))
    lines = "".join(f"{word}\n" for theme in words for word in theme)
    (directory / "themes.vocab").write_text(lines)


@pytest.fixture
def place(tmp_path, quick):
    write_themes(tmp_path)
    return tmp_path


def values_of(value, name=""):
    """Yield all values but seconds, with their names."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from values_of(each, f"{name}.{key}")
    elif "seconds" not in name:
        yield name, value


@pytest.mark.parametrize("name", MODULES)
def test_the_stored_numbers_come_out(name, place, stored, no_pictures, capsys):
    result = reproduced(name, *ARGV, cwd=place)
    for part in {"rows", "topics"} & set(stored[name]):
        assert dict(values_of(result[part])) == {
            at: pytest.approx(each, rel=1e-4, abs=1e-5) if isinstance(each, float) else each
            for at, each in values_of(stored[name][part])
        }
    with inside(place):
        ResultCache().clear()
    again = reproduced(name, *ARGV, cwd=place, threads=2)
    assert dict(values_of(again["rows"])) == dict(values_of(result["rows"]))
    other = reproduced(name, *ARGV, "--seed", 1, cwd=place)
    assert dict(values_of(other["rows"])) != dict(values_of(result["rows"]))
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert all(table.title in lines for table in MODULES[name].EXPERIMENT.tables(result))


@pytest.mark.parametrize("name", MODULES)
def test_what_figures_show(name, place):
    with inside(place):
        found = MODULES[name].EXPERIMENT.run(ReproduceSettings(**OPTIONS, threads=1))
    drawn = MODULES[name].EXPERIMENT.draw(found)
    assert list(drawn) == [each for each in PANELS if each.startswith(name)]
    for each, draw in drawn.items():
        figure = Figure()
        draw(figure)
        assert len(figure.axes) == PANELS[each]


def test_documents_of_a_run(tmp_path):
    counts = sparse.csr_array(np.arange(60)[:, None] + 1)

    def train(part, _):
        return {"train": part.train.toarray()[:, 0], "held_out": part.held_out.toarray()[:, 0]}

    settings, shown = ReproduceSettings(repeats=2), "run {}, {} topics".format
    with inside(tmp_path), mock.patch.object(trials, "Progress") as progress:
        runs = training.run_models("x", counts, [(1,), (2,)], train, settings, shown)
    updates = progress.return_value.__enter__.return_value.update.call_args_list
    assert updates[0].args == (0, "run 0, 1 topics")
    for first, second in zip(*runs.values(), strict=True):
        assert len(first["held_out"]) == 6
        assert sorted([*first["train"], *first["held_out"]]) == list(range(1, 61))
        assert set(first["held_out"]) == set(second["held_out"])
    assert set(runs[1,][0]["held_out"]) != set(runs[1,][1]["held_out"])


def test_means_and_errors():
    runs, others = [{"a": 1.0}, {"a": 3.0}], [{"a": 0.0}, {"a": 4.0}]
    assert training.summary(["a"], runs) == {"a": 2.0, "a_error": 1.0}
    assert training.summary(["a"], runs, others) == {"a": 0.0, "a_error": 1.0}


@pytest.mark.parametrize(
    ("name", "counts", "needed"),
    [
        *((name, np.ones((19, 2)), "20 documents at least") for name in MODULES),
        *((name, np.zeros((60, 30)), "20 documents at least, with tokens") for name in MODULES),
        ("aldebakel-topics", np.full((60, 1), 3), "2 words at least"),
    ],
)
def test_too_small_counts_are_refused(name, counts, needed, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(counts))
    argv = ("--counts", "x.npz", "--vocabulary", "numbers")
    outcome = call("reproduce", name, *argv, cwd=tmp_path)
    assert outcome.code == 2
    assert f"--counts: {name} takes {needed}" in outcome.error


def test_claims_on_topics(stored):
    result, experiment = stored["aldebakel-topics"], topics_by_coherence.EXPERIMENT
    assert places(experiment, result) == {}
    assert not experiment.is_compared(result)
    result |= {"documents": 25_000, "best": BEST[1]}
    for row, words in zip(result["topics"], THEMES.values(), strict=True):
        row["words"] = ["other", *words.split()[:3]]
    assert len(places(experiment, result)) == 2
    assert failing(experiment, result) == {}
    result["best"], result["topics"][0]["words"] = 40, ["music", "song", "other"]
    assert list(failing(experiment, result).values()) == [["40 topics"], ["music"]]


def test_claims_on_trainers(stored):
    result, experiment = stored["aldebakel-trainers"], e_step_caps.EXPERIMENT
    low, last, *gibbs = result["rows"]
    assert (low["trainer"], low["limit"], gibbs[0]["trainer"]) == (VB, 5, GIBBS)
    low["more"] |= {"updates": -9.0, "updates_error": 1.0, "bound": 0.1, "bound_error": 0.1}
    low["near"] = last["near"] = 1.0
    for row in gibbs:
        row["updates"] = 2.0
        row["more"] |= {"log_p": 0.0, "bound": 0.0}
    assert len(places(experiment, result)) == 4
    assert failing(experiment, result) == {}
    low["more"] |= {"updates": -1.0, "bound": -0.3}
    last["near"] = 4.0
    gibbs[1]["more"]["log_p"] = -0.2
    assert list(failing(experiment, result).values()) == [
        ["cap 5 (−1)"],
        ["cap 5 (−0.3)"],
        ["50 sweeps (1.22 times the perplexity)"],
        ["cap 80 (0.50 times the updates)"],
    ]
    assert experiment.headline(result).ours.startswith("−0.3000 nats a word, with ")
    for row in gibbs:
        row["more"]["bound"] = -1.0
    assert "gibbs-takes-longer" not in {each.name for each in experiment.findings(result)}
