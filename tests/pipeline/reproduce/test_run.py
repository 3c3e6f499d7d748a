"""`reproduce`: what is printed, drawn, cached and refused, by experiments of three papers."""

import json
import re
import shlex
import shutil
from dataclasses import fields
from unittest import mock

import pytest
from matplotlib.figure import Figure

import pipeline.reproduce.run as command
from corpora import writer_lock
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce import papers, trials
from pipeline.reproduce.buntine2009 import convergence, model_selection, table_1
from pipeline.reproduce.buntine2009.convergence import ConvergenceBudget
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.buntine2009.model_selection import DATASETS, SelectionBudget
from pipeline.reproduce.capdevila2018 import convergence as l2r_convergence
from pipeline.reproduce.capdevila2018 import kl, runs
from pipeline.reproduce.cemgil2019 import abalone, decompositions, histogram, letters, parafac, toy
from pipeline.reproduce.cemgil2019.scores import NAMES, SCORING
from pipeline.reproduce.settings import EXPERIMENTS, ReproduceSettings
from pipeline.setting_sources import resolve
from tests.pipeline.reproduce.support import reproduced, without_seconds
from tests.pipeline.support import call, inside

MODULES = {each.NAME: each for each in (table_1, convergence, model_selection, kl, l2r_convergence)}
ALLOCATION = (toy, histogram, parafac, abalone, letters, decompositions)
MODULES |= {each.NAME: each for each in ALLOCATION}
ARGV = {
    "buntine-table-1": ("--pairs", 2),
    "l2r-kl": ("--counts", "counts.npz, more.npz"),
    "l2r-convergence": ("--counts", "counts.npz, more.npz"),
    "bam-abalone": ("--table", "abalone.csv"),
    "bam-letters": ("--table", "pairs.csv"),
    "bam-decompositions": ("--table", "pairs.csv"),
}
OUTPUT = ("--output", "out")


def with_trials(*quick):
    """All experiments with trials; those on allocation models that are not `quick` are slow."""
    slow = {each.NAME for each in ALLOCATION} - set(quick)
    return [
        pytest.param(name, marks=pytest.mark.slow) if name in slow else name
        for name in MODULES
        if name != "bam-histogram"
    ]


def run(experiment, *argv, cwd, threads=1):
    given = (experiment, *ARGV.get(experiment, ()), *OUTPUT, *argv)
    return reproduced(*given, cwd=cwd, threads=threads)


@pytest.fixture
def computed(monkeypatch):
    """Keys of the trials that were computed and not read from the cache."""
    keys, timed = [], trials._timed

    def noted(compute, key):
        keys.append(key)
        return timed(compute, key)

    monkeypatch.setattr(trials, "_timed", noted)
    return keys


@pytest.fixture(scope="module")
def caches():
    """Folders with the cached trials of experiments, by name, of those that a test has run."""
    return {}


@pytest.fixture
def known(caches, quick, no_pictures, place, cache_directory, tmp_path_factory):
    """A function that leaves all trials of an experiment in the cache, which runs it once."""

    def fill(experiment):
        if experiment in caches:
            shutil.copytree(caches[experiment], cache_directory)
        else:
            run(experiment, cwd=place)
            shutil.rmtree(place / "out")
            kept = tmp_path_factory.mktemp("caches") / experiment
            cache_directory.mkdir(parents=True, exist_ok=True)  # not all have trials
            caches[experiment] = shutil.copytree(cache_directory, kept)

    return fill


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", MODULES)
def test_what_is_printed_and_what_is_written(experiment, known, place, capsys):
    known(experiment)
    result = reproduced(experiment, *ARGV.get(experiment, ()), cwd=place)
    assert result["path"] == f"reproduce/{experiment}"
    assert (result["experiment"], result["scale"], result["seed"]) == (experiment, "quick", 0)
    files = {f"{result['name']}.json", "lock"}
    assert {path.name for path in (place / result["path"]).iterdir()} == files
    path = place / result["path"] / f"{result['name']}.json"
    assert json.loads(path.read_text()) == result
    corpora = ["counts", "more"] if experiment.startswith("l2r") else []
    assert [each["corpus"] for each in result.get("corpora", ())] == corpora
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {result['name']}.json"
    assert all(line == line.rstrip() for line in lines)
    assert result["findings"]
    for each in result["findings"]:
        (line,) = [line for line in lines if line.startswith(f"{each['claim']}: ")]
        assert line.endswith(": yes") == (not each["fails_at"])
    named = [row.get("estimator", row.get("method", "")) for row in result["rows"]]
    for name in named:
        assert any(NAMES.get(name, name) in line for line in lines)


PICTURES = {
    "buntine-table-1": (4, 0),
    "buntine-convergence": (1, 7),
    "buntine-convergence-close-up": (1, 7),
    "buntine-convergence-error": (1, 6),
    "buntine-model-selection-s10s-by-size": (4, 3),
    "buntine-model-selection-s10s-by-topics": (2, 4),
    "l2r-kl": (2, 5),
    "l2r-kl-error": (2, 5),
    "l2r-kl-length": (1, 3),
    "l2r-convergence": (2, 4),
    "l2r-convergence-seconds": (2, 4),
    "bam-toy-X1": (6, 4),
    "bam-toy-X2": (6, 4),
    "bam-histogram": (7, 1),
    "bam-parafac-rank": (2, 4),
    "bam-parafac-cost": (1, 2),
    "bam-abalone": (2, 5),
    "bam-abalone-ages": (3, 0),
    "bam-letters": (2, 8),
    "bam-decompositions": (3, 6),
}
"""Panels of each picture, and entries in the legend of the first."""
SCORED = {NAMES[method] for method in SCORING}
LEGENDS = {
    "bam-abalone": {"complete graph", *(f"CP, {method}" for method in SCORED)},
    "bam-letters": {f"{graph}, {method}" for graph in letters.GRAPHS for method in SCORED},
    "bam-decompositions": {*decompositions.BAYESIAN, *decompositions.PEERS},
}


@pytest.mark.parametrize("experiment", MODULES)
def test_what_pictures_show(experiment, known, place):
    known(experiment)
    module, found = MODULES[experiment], {}
    counts = ARGV[experiment][1] if experiment.startswith("l2r") else ""
    given = {"pairs": 2} if module is table_1 else {}
    given |= {"table": ARGV[experiment][1]} if "--table" in ARGV.get(experiment, ()) else {}
    with inside(place):
        for names in dict.fromkeys((counts, counts.partition(",")[0])):
            settings = ReproduceSettings(threads=1, counts=names, **given)
            found[names] = module.EXPERIMENT.draw(module.EXPERIMENT.run(settings))
    drawn = found[counts]
    assert list(drawn) == [name for name in PICTURES if name.startswith(experiment)]
    for name, draw in drawn.items():
        figure = Figure()
        draw(figure)
        shown = [axes for axes in figure.axes if axes.axison]
        assert len(shown) == PICTURES[name][0]
        assert all(axes.has_data() for axes in shown)
        handles, labels = shown[0].get_legend_handles_labels()
        assert len(handles) == len(set(labels)) == PICTURES[name][1]
        assert set(labels) == LEGENDS.get(name, set(labels))
    of_one_corpus = found[counts.partition(",")[0]]
    assert list(of_one_corpus) == [name for name in drawn if name != "l2r-kl-length"]
    if counts:
        figure = Figure()
        of_one_corpus[experiment](figure)
        assert len(figure.axes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("experiment", MODULES)
def test_pictures_are_written(experiment, quick, place):
    result = run(experiment, cwd=place)
    assert len(result["pictures"]) == 2 * sum(name.startswith(experiment) for name in PICTURES)
    for name in result["pictures"]:
        content = (place / "out" / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


@pytest.mark.parametrize("experiment", with_trials("bam-toy"))
def test_the_same_rows_for_a_seed_whatever_the_threads(experiment, quick, no_pictures, place):
    def rows(seed, threads):
        ResultCache().clear()
        result = run(experiment, "--seed", seed, cwd=place, threads=threads)
        return without_seconds(result["rows"])

    first = rows(1, 1)
    assert first == rows(1, 3)
    assert first != rows(2, 1)


# --- the cache ------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", with_trials("bam-toy"))
def test_interrupted_it_goes_on_where_it_was(experiment, quick, no_pictures, place, computed):
    whole = run(experiment, cwd=place)
    keys = computed.copy()
    (place / "out" / f"{whole['name']}.json").unlink()
    ResultCache().clear()
    end_at_the_third = mock.Mock(side_effect=[None] * 3 + [Interrupted(15)])
    timed = trials._timed

    def until_the_third(compute, key):
        end_at_the_third()
        return timed(compute, key)

    with mock.patch.object(trials, "_timed", until_the_third):
        argv = (experiment, *ARGV.get(experiment, ()), *OUTPUT, "--threads", 1)
        outcome = call("reproduce", *argv, cwd=place)
    assert outcome.code == 143
    assert "give the same command again" in outcome.err
    assert not (place / "out" / f"{whole['name']}.json").exists()
    computed.clear()
    with mock.patch.object(runs, "trainer_of", wraps=runs.trainer_of) as trained:
        again = run(experiment, cwd=place)
    assert computed == keys[3:]
    assert trained.call_count == experiment.startswith("l2r")  # of the second corpus
    if experiment == "bam-parafac":  # some of its claims are on seconds
        again, whole = again["rows"], whole["rows"]
    assert without_seconds(again) == without_seconds(whole)
    computed.clear()
    said = call("reproduce", *argv, cwd=place).succeeded().err
    assert sum(map(int, re.findall(r" trials, (\d+) cached", said))) == len(keys)
    assert computed == []


LONGER = {"DS": (4, 10, 20), "HM": (4,), "L2R": (4,), REFINED: (4, 9)}


@pytest.mark.parametrize(
    ("module", "changes", "n_computed"),
    [
        (convergence, {"n_runs": 3}, 6 * 3),
        (convergence, {"sizes": (10, 30)}, 6 * 2),
        (model_selection, {"training_sizes": (40, 60, 80)}, 2),
        (model_selection, {"n_held_out": 21}, 5),
        (model_selection, {"n_sweeps": 6}, 5),
        (kl, {"n_repeats": 3}, 5 * 2 * 2),
        (kl, {"n_documents": 5}, 5 * 2 * 2 * 2),
        (kl, {"n_words": 4}, 5 * 2 * 2 * 2),
        (l2r_convergence, {"sizes": LONGER}, 2 * 2),
        (l2r_convergence, {"n_topics": 3}, 2 * 6),
        (toy, {"a": (1.0, 10.0), "ranks": (1, 2, 3)}, 2 * 6 * 4 - 16),
        (toy, {"n_starts": 3}, 16),
        (letters, {"ranks": (2,)}, 0),
        pytest.param(letters, {"n_tokens": 41}, 32, marks=pytest.mark.slow),
    ],
)
def test_what_trials_depend_on(module, changes, n_computed, known, place, computed, monkeypatch):
    known(module.NAME)
    computed.clear()
    monkeypatch.setattr(module, "QUICK", module.QUICK | changes)
    run(module.NAME, cwd=place)
    assert len(computed) == n_computed


def test_damaged_results_are_computed_again(quick, no_pictures, place):
    first = reproduced("bam-toy", cwd=place)
    path = max(ResultCache().directory.glob("experiment-bam-toy/*.npz"))
    data = path.read_bytes()
    for damaged in (data[:50], data[: len(data) // 2], b""):
        path.write_bytes(damaged)
        assert reproduced("bam-toy", cwd=place) == first
        assert path.stat().st_size > 50  # whole again, though its seconds are others


def test_trials_of_a_corpus_depend_on_its_counts(quick, no_pictures, place, computed):
    for counts, n_computed in (("counts.npz", 20), ("more.npz", 20), ("more.npz", 0)):
        computed.clear()
        reproduced("l2r-kl", "--counts", counts, *OUTPUT, cwd=place)
        assert len(computed) == n_computed


# --- settings -------------------------------------------------------------------------------------


class BudgetIsKnownError(Exception):
    """Ends an experiment before anything is computed."""


def test_scales(place):
    def budget(module, **options):
        given = ReproduceSettings(counts=str(place / "counts.npz"), **options)
        with (
            mock.patch.object(module, "group_of", side_effect=BudgetIsKnownError) as group,
            pytest.raises(BudgetIsKnownError),
        ):
            module.EXPERIMENT.run(given)
        return group.call_args.args[1]

    full = {"scale": "full", "seed": 7}
    assert vars(budget(table_1, **full)) == vars(table_1.Table1Budget(seed=7))
    assert budget(table_1).n_pairs == 100
    assert budget(table_1, pairs=9, **full).n_pairs == 9
    assert vars(budget(convergence, **full)) == vars(ConvergenceBudget(seed=7))
    assert len(budget(convergence).sizes) == budget(convergence).n_runs == 10
    selected = budget(model_selection, dataset="s40", **full)
    assert selected == SelectionBudget(DATASETS["s40"], seed=7)
    quick = budget(model_selection, held_out=50)
    assert (quick.dataset, quick.n_held_out) == (DATASETS["s10s"], 50)
    assert max(quick.training_sizes) < max(selected.training_sizes)
    assert budget(kl, **full) == kl.FULL.__class__(**vars(kl.FULL) | {"seed": 7})
    quick = budget(kl)
    assert (quick.n_documents, quick.n_repeats, max(quick.sizes["DS"])) == (100, 3, 1000)
    asked = budget(kl, topics=3, scored=20, max_tokens=30)
    assert (asked.n_topics, asked.n_documents, asked.max_tokens) == (3, 20, 30)
    assert budget(l2r_convergence, scale="full") == l2r_convergence.FULL
    asked = budget(l2r_convergence, topics=3, seed=2)
    assert (asked.n_topics, asked.n_documents, asked.seed) == (3, 30, 2)


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ("nonsense", "buntine-table-1"),
        ("", "EXPERIMENT"),
        ("buntine-table-1 --pairs 1", "--pairs must be at least 2, found 1"),
        ("buntine-table-1 --pairs x", "--pairs must be a whole number"),
        ("buntine-table-1 --seed -1", "--seed must be from 0"),
        ("buntine-convergence --pairs 2", "--pairs is for buntine-table-1, not buntine-conv"),
        ("buntine-convergence --scale huge", "--scale must be one of quick, full"),
        ("buntine-model-selection --held-out 1", "--held-out must be at least 2, found 1"),
        ("buntine-model-selection --dataset s20", "--dataset must be one of s10s, s10, s40"),
        ("buntine-model-selection --threads 0", "--threads must not be 0"),
        ("l2r-kl --topics 0", "--topics must be at least 1, found 0"),
        ("l2r-kl --scored 1", "--scored must be at least 2, found 1"),
        ("l2r-kl --max-tokens 1", "--max-tokens must be at least 2, found 1"),
        ("l2r-convergence --topics x", "--topics must be a whole number"),
    ],
)
def test_usage_errors(argv, complaint, tmp_path):
    outcome = call("reproduce", *shlex.split(argv), cwd=tmp_path)
    assert outcome.code == 2
    assert outcome.out == ""
    assert complaint in outcome.err
    assert not list(tmp_path.iterdir())


_PERPLEXITY = {"--counts", "--topics", "--select", "--penalty", "--length-scale"}
_PARTICLES = {"--particles", "--repeats", "--moves"}
_ANNEALED = {*_PARTICLES, "--sweeps"}
_TOPICS = {"--counts", "--vocabulary", "--topics", "--repeats"}
SETTINGS_OF = {
    "aldebakel-trainers": _TOPICS,
    "aldebakel-topics": _TOPICS,
    "buntine-table-1": {"--pairs"},
    "buntine-convergence": set(),
    "buntine-model-selection": {"--dataset", "--held-out"},
    "l2r-kl": {"--counts", "--topics", "--scored", "--max-tokens"},
    "l2r-convergence": {"--counts", "--topics", "--scored"},
    "bam-toy": _PARTICLES - {"--moves"},
    "bam-histogram": set(),
    "bam-parafac": _ANNEALED,
    "bam-abalone": {"--table", *_ANNEALED},
    "bam-letters": {"--table", *_ANNEALED},
    "bam-decompositions": {"--table", *_ANNEALED},
    "lpmrf-classic3": _PERPLEXITY,
    "lpmrf-wikipedia": {*_PERPLEXITY, "--words", "--documents"},
    "lpmrf-dependencies": {"--counts", "--vocabulary", "--penalty", "--length-scale"},
    "lpmrf-scaling": {"--counts"},
}
WORDS = shlex.split("""
    --pairs 2 --dataset s10 --held-out 2 --counts x.npz --vocabulary x.txt --topics 2 --scored 2
    --max-tokens 10 --table x.csv --particles 10 --repeats 2 --moves 1 --sweeps 9
    --select validation --penalty 0.1 --length-scale 1.5 --words 10 --documents 20
""")
GIVEN = dict(zip(WORDS[::2], WORDS[1::2], strict=True))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_settings_of_other_experiments_are_refused(experiment, tmp_path, monkeypatch):
    monkeypatch.setitem(papers.EXPERIMENTS, experiment, mock.Mock())
    for option, value in GIVEN.items():
        if option in SETTINGS_OF[experiment]:
            given = {option[2:].replace("-", "_"): value}
            command.check(resolve(ReproduceSettings, "reproduce", given, {}), experiment)
            continue
        outcome = call("reproduce", experiment, option, value, cwd=tmp_path)
        assert outcome.code == 2
        owners = " or ".join(name for name in EXPERIMENTS if option in SETTINGS_OF[name])
        assert f"{option} is for {owners}, not {experiment}: leave it out" in outcome.error
        assert not list(tmp_path.iterdir())


def test_help_says_which_experiment_a_setting_is_of():
    of_some = {
        each.name: each.metadata for each in fields(ReproduceSettings) if each.metadata["of"]
    }
    assert {"--" + name.replace("_", "-") for name in of_some} == set(GIVEN)
    for metadata in of_some.values():
        assert metadata["help"].startswith(", ".join(metadata["of"]) + ": ")
        assert metadata["help"].count(metadata["of"][0]) == 1


def test_one_at_a_time(tmp_path):
    (tmp_path / "out").mkdir()
    with writer_lock(tmp_path / "out"):
        outcome = call("reproduce", "buntine-table-1", *OUTPUT, cwd=tmp_path)
    assert outcome.code == 75
    assert "out is being written to" in outcome.error


def test_an_output_that_is_a_file(tmp_path):
    (tmp_path / "out").touch()
    outcome = call("reproduce", "buntine-table-1", *OUTPUT, cwd=tmp_path)
    assert outcome.code == 1
    assert "out" in outcome.error
