"""`reproduce bam-…`: what is printed, drawn, cached and refused, on a scale below quick."""

from __future__ import annotations

import json
import shlex
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure

import pipeline.reproduce.run as command
from corpora import CorpusFormatError
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce.cemgil2019 import abalone, decompositions, histogram, letters, parafac, toy
from pipeline.reproduce.cemgil2019.abalone import COLUMNS, ages_of, read_abalone
from pipeline.reproduce.cemgil2019.letters import NMF, SYMMETRIC, LettersBudget
from pipeline.reproduce.cemgil2019.parafac import CostBudget, RankBudget
from pipeline.reproduce.cemgil2019.scores import NAMES, SCORING, budget_of
from pipeline.reproduce.cemgil2019.toy import ToyBudget
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.trials import group_of
from tests.pipeline.allocation.test_letter_pairs import pairs_lines
from tests.pipeline.reproduce.support import places
from tests.pipeline.support import call, inside
from tests.shared_data import shared_file

MODULES = {each.NAME: each for each in (toy, histogram, parafac, abalone, letters, decompositions)}
TABLES = {name: {"table": "pairs.csv"} for name in ("bam-letters", "bam-decompositions")}
TABLES["bam-abalone"] = {"table": "abalone.csv"}
BUDGET = {"n_particles": 8, "n_repeats": 2, "n_starts": 2, "n_moves": 2}
TOY = {"a": (1.0,), "ranks": (1, 2), "n_particles": 30, "n_repeats": 4, "n_starts": 2}
PARAFAC = {"shape": (3, 4, 5), "true_rank": 2, "n_tokens": 12, "ranks": (1, 2, 3), "n_tensors": 2}
PARAFAC |= {"n_particles": 20, "n_repeats": 3, "n_starts": 2, "n_moves": 3}
COSTS = {"sizes": (4, 8), "n_tokens": 10, "n_tensors": 1, "n_particles": 20}
SMALL = {
    toy: {"QUICK": TOY},
    histogram: {"RANK": 2},
    parafac: {"QUICK": PARAFAC, "QUICK_COSTS": COSTS},
    abalone: {"QUICK": {"n_bins": 2, "strengths": (1.0, 0.1), "ranks": (1, 3), **BUDGET}},
    letters: {"QUICK": {"n_tokens": 40, "ranks": (1, 2), **BUDGET}},
    decompositions: {"QUICK": {"n_tokens": 40, "rank": 2, "strengths": (0.1, 1.0), **BUDGET}},
}
"""Values of modules that tests replace by smaller ones."""
COMPUTE = {"bam-parafac": "measured", "bam-decompositions": "qualities"}
"""Function that is called once a trial, by default `score`."""


def abalone_lines(n=60, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        age = int(rng.integers(1, 25))
        size = np.round(0.03 * age + 0.05 * rng.random(7), 4)
        lines.append(",".join([str(rng.choice(["M", "F", "I"])), *map(str, size), str(age)]))
    return lines


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with abalone.csv and pairs.csv; experiments are smaller than quick."""
    (tmp_path / "abalone.csv").write_text("\n".join([",".join(COLUMNS), *abalone_lines()]) + "\n")
    (tmp_path / "pairs.csv").write_text("\n".join(pairs_lines()) + "\n")
    for module, small in SMALL.items():
        for name, value in small.items():
            monkeypatch.setattr(module, name, value)
    return tmp_path


@pytest.fixture
def no_pictures(monkeypatch):
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def called(experiment, *argv, cwd):
    options = [f"--{name}={value}" for name, value in TABLES.get(experiment, {}).items()]
    return call("reproduce", experiment, *options, "--threads", 1, *argv, cwd=cwd)


def reproduced(experiment, *argv, cwd):
    outcome = called(experiment, "--json", *argv, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome.result


def run(experiment, place):
    settings = ReproduceSettings(**TABLES.get(experiment, {}), threads=1)
    with inside(place):
        return MODULES[experiment].run(settings, ResultCache())


def rows_of(result):
    return [{n: v for n, v in row.items() if n != "seconds"} for row in result["rows"]]


def slow_but(*experiments):
    """All experiments but bam-histogram, most of them marked as slow."""
    return [
        name if name in experiments else pytest.param(name, marks=pytest.mark.slow)
        for name in MODULES
        if name != "bam-histogram"
    ]


@pytest.mark.parametrize("experiment", MODULES)
def test_what_is_printed(experiment, no_pictures, place, capsys):
    result = reproduced(experiment, cwd=place)
    directory = place / "reproduce" / experiment
    assert (result["experiment"], result["name"], result["seed"]) == (experiment, experiment, 0)
    assert json.loads((directory / f"{experiment}.json").read_text()) == result
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    assert len(result["findings"]) >= 5
    for each in result["findings"]:
        (line,) = [line for line in lines if line.startswith(f"{each['claim']}: ")]
        assert line.endswith(": yes") == (not each["fails_at"])
    rows = {"bam-abalone": "rank", "bam-letters": "rank", "bam-decompositions": "ALS-PGD"}
    assert any(line.startswith(rows.get(experiment, "")) for line in lines)


@pytest.mark.parametrize("experiment", slow_but("bam-toy", "bam-decompositions"))
def test_the_same_rows_for_a_seed_whatever_the_threads(experiment, no_pictures, place):
    def rows(seed, threads):
        ResultCache().clear()
        argv = ("--seed", seed, "--threads", threads, "--output", f"{seed}-{threads}")
        return rows_of(reproduced(experiment, *argv, cwd=place))

    first = rows(1, 1)
    assert first == rows(1, 3)
    assert first != rows(2, 1)


PANELS = {
    "bam-toy-X1": 6,
    "bam-toy-X2": 6,
    "bam-histogram": 7,
    "bam-parafac-rank": 2,
    "bam-parafac-cost": 1,
    "bam-abalone": 2,
    "bam-abalone-ages": 3,
    "bam-letters": 2,
    "bam-decompositions": 3,
}


@pytest.mark.parametrize("experiment", MODULES)
def test_what_pictures_show(experiment, place):
    drawn = MODULES[experiment].EXPERIMENT.draw(run(experiment, place))
    assert list(drawn) == [name for name in PANELS if name.startswith(experiment)]
    methods = {NAMES[method] for method in SCORING}
    legends = {
        "bam-abalone": {"complete graph", *(f"CP, {m}" for m in methods)},
        "bam-letters": {f"{g}, {m}" for g in (NMF, SYMMETRIC) for m in methods},
        "bam-decompositions": {*methods, *decompositions.PEERS},
    }
    for name, draw in drawn.items():
        figure = Figure()
        draw(figure)
        shown = [axes for axes in figure.axes if axes.axison]
        assert len(shown) == PANELS[name]
        assert all(axes.has_data() for axes in shown)
        if name in legends:
            texts = figure.axes[0].get_legend().get_texts()
            assert {text.get_text() for text in texts} == legends[name]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", MODULES)
def test_pictures_are_written(experiment, place):
    result = reproduced(experiment, cwd=place)
    assert len(result["pictures"]) == 2 * sum(name.startswith(experiment) for name in PANELS)
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


def shifted(row, by):
    return row | {
        name: row[name] + by for name in ("log_marginal", "lowest_repeat", "highest_repeat")
    }


def test_findings_of_abalones_tell_where_they_fail(place):
    result = run("bam-abalone", place).result
    rings, classes = np.arange(60) % 3 + 5, np.arange(60) // 20
    result["ages"] |= ages_of(rings, classes)
    for by, failed in ((-1e6, 1), (1e6, 0)):
        made = result | {"rows": [shifted(row, by) for row in result["rows"]]}
        failed_at = places(abalone.EXPERIMENT, made)
        of_graph = [at for claim, at in failed_at.items() if "CP above" in claim]
        assert [len(each) for each in of_graph] == [failed] * 10
        assert all(each[0].startswith("rank 3") for each in of_graph if each)
        of_ages = [at for claim, at in failed_at.items() if "ages" in claim]
        assert of_ages == [["classes 1 and 2", "classes 2 and 3"]]
        (differ,) = (at for claim, at in failed_at.items() if "in age" in claim)
        assert differ[0].startswith("p = ")
    result["ages"]["classes"].pop()
    of_ages = [at for claim, at in places(abalone.EXPERIMENT, result).items() if "ages" in claim]
    assert of_ages[0][-1] == "1 classes, which are empty"


def test_findings_of_letters_tell_where_they_fail(place):
    result = run("bam-letters", place).result
    rows = []
    for row in result["rows"]:
        at = (row["a"], row["rank"])
        raised = (row["graph"] == NMF) == (row["a"] == 1.0) and at != (1.0, 2)
        is_smc = (row["graph"], row["method"], *at) == (SYMMETRIC, "smc", 1.0, 2)
        rows.append(shifted(row, 1e5 * raised + 1e3 * is_smc))
    best = [row | {"rank": 1} for row in result["best"]]
    failed = places(letters.EXPERIMENT, result | {"rows": rows, "best": best})
    assert failed["a = 1, SMC: NMF above symmetric NMF from rank 2 on"] == ["rank 2"]
    assert failed["a = 0.001, SMC: symmetric NMF above NMF at 90% of ranks"] == []
    assert failed["a = 0.001, VB: symmetric NMF not above NMF throughout"] == ["any rank"]
    assert failed["a = 1: the best rank of VB below that of SMC"][0] == f"{NMF} (1 and 1)"
    at_1 = "a = 1: NMF above symmetric NMF at rank 1, where all methods are exact"
    assert failed[at_1] == []
    lowered = [shifted(row, -5.0 * (row["method"] == "smc")) for row in rows]
    claims = places(letters.EXPERIMENT, result | {"rows": lowered})
    assert "rank 1" in claims[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    assert "rank 1" not in failed[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    curves = letters.Curves({"rows": rows, "best": best})
    by_smc = letters._preferred(curves, "smc", 1.0)
    assert (by_smc["nmf"], by_smc["symmetric"], by_smc["not_told_apart"]) == ([1], [2], [])


def test_findings_of_decompositions_compare_with_projected_gradients():
    values = {"sparsity": 0.5, "unscaled_sparsity": 0.5, "squared_loss": 5.0, "kl_divergence": 5.0}
    rows = [{"method": "ALS-PGD", "a": None, **values}]
    for method in decompositions.BAYESIAN:
        rows.append({"method": method, "a": 0.1, **dict.fromkeys(values, 9.0)})
        rows.append({"method": method, "a": 1.0, **values, "kl_divergence": None})
        rows.append({"method": method, "a": 9.0, **dict.fromkeys(values, 0.1)})
    failed = places(decompositions.EXPERIMENT, {"rows": rows})
    assert failed.pop("SMC: lower KL divergence than ALS-PGD") == ["a = 0.1", "a = 1"]
    assert failed["VB: sparser than ALS-PGD"] == ["a = 1", "a = 9"]
    assert failed["SMC: higher squared loss than ALS-PGD"] == ["a = 1", "a = 9"]
    assert len(failed) == 4 * 3 - 1


def test_the_papers_budgets():
    toy, letters, of_ranks, of_costs = ToyBudget(), LettersBudget(), RankBudget(), CostBudget()
    assert (toy.n_particles, toy.n_repeats, toy.n_starts) == (1000, 100, 100)
    assert toy.a == pytest.approx([10.0**n for n in range(-5, 6)])
    assert (letters.n_tokens, letters.strengths) == (2000, (1.0, 0.001))
    assert letters.ranks == tuple(range(1, 51))
    assert (of_ranks.shape, of_ranks.true_rank) == ((20, 25, 30), 5)
    assert (of_ranks.n_tokens, of_ranks.a, of_ranks.ranks[-1]) == (500, 30.0, 15)
    assert (of_costs.n_tokens, of_costs.n_tensors) == (1000, 10)
    assert {4, 8, 16, 32, 64} < set(of_costs.sizes)


def test_scales():
    full = LettersBudget()
    given = ReproduceSettings(scale="full", seed=7)
    assert vars(budget_of(full, given, letters.QUICK)) == {**vars(full), "seed": 7}
    assert vars(budget_of(full, ReproduceSettings(), letters.QUICK)) == vars(full) | letters.QUICK
    asked = budget_of(full, ReproduceSettings(particles=9, repeats=8, moves=3), letters.QUICK)
    assert (asked.n_particles, asked.n_repeats, asked.n_moves) == (9, 8, 3)


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("bam-abalone", 2, "needs --table FILE, the abalone data of the UCI repository: https://"),
        ("bam-toy --moves 3", 2, "bam-toy has no runs with moves"),
        ("bam-letters --moves 0", 2, "--moves must be at least 1"),
        ("bam-abalone --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --particles 1", 2, "--particles must be at least 2"),
        ("bam-decompositions --repeats 1", 2, "--repeats must be at least 2"),
        ("bam-decompositions --table abalone.csv", 3, "abalone.csv, line 1: expected a header"),
        ("bam-abalone --table pairs.csv", 3, "pairs.csv, line 1: expected the columns"),
    ],
)
def test_usage_and_missing_files(argv, code, complaint, place):
    outcome = call("reproduce", *shlex.split(argv), "--threads", 1, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


def test_abalone_with_or_without_a_header(tmp_path):
    lines = abalone_lines(5)
    path = tmp_path / "a.csv"
    found = []
    for header in (
        None,
        ",".join(COLUMNS),
        "sex,length,diameter,height,whole weight,shucked_weight,Viscera weight,Shell weight,rings",
    ):
        path.write_bytes("\r\n".join([*([header] if header else []), *lines, ""]).encode())
        found.append(read_abalone(str(path)))
    for measurements, rings in found:
        assert measurements.shape == (5, 7)
        assert measurements[0].tolist() == [float(x) for x in lines[0].split(",")[1:8]]
        assert rings.tolist() == [int(line.split(",")[-1]) for line in lines]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no row"),
        (",".join(COLUMNS) + "\n", "no row"),
        ("Sex,Length\nM,1\n", "line 1: expected the columns"),
        ("M,1,1,1,1,1,1,1\n", "line 1: expected M, F or I"),
        ("M,1,1,1,1,1,1,1,9\nX,1,1,1,1,1,1,1,9\n", "line 2: expected M, F or I"),
        ("M,1,1,1,1,1,1,1,9\nM,1,1,-1,1,1,1,1,9\n", "line 2"),
        ("M,1,1,1,1,1,1,1,9.5\n", "line 1"),
        ("M,1,1,nan,1,1,1,1,9\n", "line 1"),
        ("M,1,1,x,1,1,1,1,9\n", "line 1"),
        ("M,1,1,1,1,1,1,1,9\n" * 9, "measurement 1 has 1 different values"),
    ],
)
def test_abalones_that_cannot_be_read(text, complaint, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(CorpusFormatError, match=complaint):
        abalone.run(ReproduceSettings(table=str(path), threads=1), ResultCache())
    path.write_bytes(b"M,1,\xff\xfe")
    with pytest.raises(CorpusFormatError, match="no CSV of abalones"):
        read_abalone(str(path))


@pytest.mark.shared
def test_the_real_abalones():
    measurements, rings = read_abalone(str(shared_file("abalone/abalone.csv")))
    assert measurements.shape == (4177, 7)
    assert (rings.min(), rings.max()) == (1, 29)


@pytest.mark.parametrize("experiment", slow_but("bam-toy", "bam-letters"))
def test_an_interrupted_run_goes_on_where_it_was(experiment, no_pictures, place):
    module, name = MODULES[experiment], COMPUTE.get(experiment, "score")
    compute = getattr(module, name)
    whole = reproduced(experiment, "--output", "whole", cwd=place)
    ResultCache().clear()
    effects = mock.Mock(side_effect=[None] * 3 + [Interrupted(15)])

    def until_the_third(*given):
        effects()
        return compute(*given)

    with mock.patch.object(module, name, until_the_third):
        assert called(experiment, cwd=place).code == 143
    assert not (place / "reproduce" / experiment / f"{experiment}.json").exists()
    n_cached = len(list(ResultCache().directory.glob("experiment-*/*.npz")))
    assert n_cached >= 3
    with mock.patch.object(module, name, wraps=compute) as rest:
        again = reproduced(experiment, cwd=place)
        n_all = len(list(ResultCache().directory.glob("experiment-*/*.npz")))
        assert rest.call_count == n_all - n_cached - (experiment == "bam-abalone")
    assert rows_of(again) == rows_of(whole)
    with mock.patch.object(module, name, wraps=compute) as none_left:
        reproduced(experiment, cwd=place)
        assert not none_left.called


def test_damaged_results_are_computed_again(no_pictures, place):
    first = reproduced("bam-toy", cwd=place)
    path = max(ResultCache().directory.glob("experiment-bam-toy/*.npz"))
    data = path.read_bytes()
    for damaged in (data[:50], data[: len(data) // 2], b""):
        path.write_bytes(damaged)
        assert reproduced("bam-toy", cwd=place) == first
        assert path.stat().st_size > 50  # whole again, though its seconds are others


def test_longer_lists_go_on_with_what_is_there(tmp_path, monkeypatch):
    made = {"log_marginal": -1.0, "standard_error": 0.0, "repeats": np.full(4, -1.0)}
    score = mock.Mock(return_value=made)
    monkeypatch.setattr(toy, "score", score)

    def n_computed(seed=0, **changes):
        score.reset_mock()
        monkeypatch.setattr(toy, "QUICK", {"a": (1.0,), "ranks": (1, 2), **changes})
        toy.run(ReproduceSettings(threads=1, seed=seed), ResultCache())
        return score.call_count

    n_trials = 2 * 2 * len(toy.METHODS)
    assert n_computed() == n_trials
    assert n_computed(a=(1.0, 10.0), ranks=(1, 2, 3)) == 2 * n_trials * 3 / 2 - n_trials
    assert n_computed() == 0
    for changes in ({"n_repeats": 5}, {"n_particles": 31}, {"n_starts": 3}):
        assert n_computed(**changes) == n_trials
    assert n_computed(seed=1) == n_trials


def test_what_results_depend_on():
    def key(X, **changes):
        group = group_of(ResultCache(), "x", LettersBudget(**changes), ("ranks", "strengths"), X=X)
        return group.key

    X = np.arange(4)
    first = key(X)
    assert key(X, ranks=(9,)) == first
    others = [key(X, seed=1), key(X, n_particles=9), key(X, n_tokens=41), key(X + 1)]
    assert len({*others, first}) == 5
