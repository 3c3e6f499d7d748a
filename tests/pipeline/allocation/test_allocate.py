import csv
import json
import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

from corpora import writer_lock
from evaluation.allocation import marginal_estimate
from evaluation.allocation.log_marginal import log_marginal
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from pipeline.allocation import allocate as command
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from tests.pipeline.support import call, files_of, finish, flip, spawn, wait_until

X1 = "2,1,1,0\n0,0,1,2\n0,0,1,1\n"
EXACT_X1 = (-20.227060056769, -19.810624350664, -20.093149263557, -20.345416633741)
QUICK = ("--method", "smc", "--particles", 100, "--moves", 2, "--repeats", 4)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "x1.csv").write_text(X1)
    lines = ["colour,size,taste", *["red,big,sweet", "red,big,sour", "blue,small,sour"] * 3]
    (tmp_path / "fruit.csv").write_text("\n".join([*lines, "red,,sweet", "blue,small,"]) + "\n")
    X = np.random.default_rng(0).poisson(0.6, (5, 6))
    sparse.save_npz(tmp_path / "counts.npz", sparse.csr_array(X))
    np.save(tmp_path / "square.npy", np.random.default_rng(1).poisson(0.8, (4, 4)))
    return tmp_path


@pytest.fixture
def no_pictures():
    with mock.patch.object(command, "write_figures", return_value=[]):
        yield


def allocated(*argv, cwd, threads=1):
    return call("allocate", *argv, "--threads", threads, cwd=cwd).succeeded()


def result_of(*argv, cwd, threads=1):
    return allocated(*argv, "--json", cwd=cwd, threads=threads).result


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_exact_figures_and_odds(place, no_pictures):
    argv = ("x1.csv", "--graph", "nmf; i <- q -> j", "--ranks", "1:4", "--method", "exact")
    result = result_of(*argv, "--factors", "none", cwd=place)
    rows = result["rows"]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4] * 2
    assert [row["log_marginal"] for row in rows] == pytest.approx(EXACT_X1 * 2, abs=1e-8)
    total = sum(math.exp(value) for value in EXACT_X1 * 2)
    for row, value in zip(rows, EXACT_X1 * 2, strict=True):
        assert math.exp(row["log_odds"]) == pytest.approx(math.exp(value) / total)
        assert row["standard_error"] == row["log_odds_standard_error"] == 0.0
        assert row["direction"] == "exact"
    assert result["best"] == {"graph": "nmf", "rank": 2, "sizes": {"k": 2}}
    sentence = "nmf, rank 2: the most probable, and just as probable: i <- q -> j, rank 2"
    assert result["recommendation"] == sentence
    assert (result["tokens"], result["cells"], result["factors"]) == (10 - 1, 7, None)
    assert result["axes"] == [{"name": "i", "values": 3}, {"name": "j", "values": 4}]


def test_particles_agree_with_the_exact_value(place, no_pictures):
    argv = ("x1.csv", "--ranks", "1:4", "--particles", 150, "--repeats", 20, "--factors", "none")
    ways = (
        *(("smc", "--moves", 0), ("smc", "--moves", 5)),
        *(("smc-adaptive", "--moves", 3, "--order", "sorted"), ("sis", "--moves", 1)),
    )
    for way in ways:
        result = result_of(*argv, "--method", *way, cwd=place)
        assert (result["method"], result["moves"]) == (way[0], way[2])
        assert result["order"] == ("sorted" if "sorted" in way else "random")
        for row, exact in zip(result["rows"], EXACT_X1, strict=True):
            # four standard errors, of 20 repeats each, and rounding where nothing is drawn
            assert abs(row["log_marginal"] - exact) < 4 * row["standard_error"] + 1e-9
            assert row["standard_error"] < 0.1
            assert 1 <= row["effective_sample_size"] <= 150
            assert 1 <= row["surviving_ancestors"] <= 150


def test_annealing_agrees_with_the_exact_value(place, no_pictures):
    argv = ("x1.csv", "--ranks", "1:3", "--method", "annealed", "--factors", "none")
    size = ("--chains", 2, "--sweeps", 40, "--repeats", 60, "--modes", 4)
    result = result_of(*argv, *size, cwd=place)
    assert [result[name] for name in ("chains", "sweeps", "repeats", "modes")] == [2, 40, 60, 4]
    assert [row["modes_found"] for row in result["rows"]] == [None] * 3  # all searches agree
    assert "particles" not in result
    for row, value in zip(result["rows"], EXACT_X1, strict=False):
        assert abs(row["log_marginal"] - value) <= 3 * row["standard_error"] + 1e-9
        assert row["direction"] == "unbiased"
    size = ("--chains", 2, "--sweeps", 2, "--repeats", 2, "--modes")
    printed = allocated(*argv, *size, 0, cwd=place).out
    assert "annealed: 2 runs of 2 chains, 2 sweeps, each rank from the runs of all" in printed
    printed = allocated(*argv, *size, 3, cwd=place).out
    assert "3 modes looked at, each rank from the runs of all, unbiased" in printed
    assert "--moves" not in printed


def test_ranks_have_the_runs_of_all_and_more_ranks_go_on(place, no_pictures):
    argv = ("x1.csv", "--method", "annealed", "--factors", "none", "--modes", 0, "--sweeps", 20)
    alone = [result_of(*argv, "--ranks", n, cwd=place)["rows"][0] for n in (2, 3)]
    assert [row["sources"] for row in alone] == [None, None]
    result = result_of(*argv, "--ranks", "1:3", cwd=place)
    assert result["rows"][0]["sources"] is None  # rank 1 has one allocation
    for row, before in zip(result["rows"][1:], alone, strict=True):
        assert row["sources"] > 1.2
        assert row["log_marginal"] != before["log_marginal"]
        assert row["seconds"] == before["seconds"]  # as the runs are those before
    several = result_of(*argv, "--graph", "nmf; i -> j", "--ranks", "2:3", cwd=place)["rows"]
    assert [bool(row["sources"]) for row in several] == [True, True, False]


def test_searches_of_a_rank_know_the_modes_of_the_rank_before(place, no_pictures, monkeypatch):
    found = []

    def watched(model, X, *method, known_modes=None, n_repeats, **settings):
        estimate = log_marginal(model, X, *method, n_repeats=n_repeats, **settings)
        if n_repeats == 1:  # to compile
            return estimate
        found.append((model.cardinalities.get("k"), known_modes and known_modes.shape[0]))
        rank = model.cardinalities.get("k", 1)
        made = CellCounts([[rank - 1, 0, 0]], [1], (rank, 3, 4)) if rank != 3 else None
        return replace(estimate, modes=made)

    def announced(candidates, *_):
        new[:] = [each.rank for each in candidates]

    new = []
    monkeypatch.setattr(command, "log_marginal", watched)
    monkeypatch.setattr(command, "warn_of_long_work", announced)
    argv = ("x1.csv", "--method", "annealed", "--factors", "none", "--modes", 0, "--sweeps", 2)
    argv = (*argv, "--repeats", 2, "--graph", "nmf; i -> j", "--ranks")
    rows = result_of(*argv, "2:4", cwd=place)["rows"]
    assert found == [(2, None), (3, 2), (4, 2), (None, None)]  # 3 has no modes of its own
    found.clear()
    assert without_seconds(result_of(*argv, "2:4", cwd=place)["rows"]) == without_seconds(rows)
    assert found == []
    assert new == []
    result_of(*argv, "2:5", cwd=place)
    assert found == [(5, 4)]
    assert new == [5]
    found.clear()
    result_of(*argv, "2,5", cwd=place)
    assert found == [(5, 2)]  # of other modes
    result_of(*argv, "2,4", cwd=place)
    assert found == [(5, 2)]
    found.clear()
    result_of(*argv, "3,5", cwd=place)
    assert found == [(3, None), (5, None)]
    result_of(*argv, "1,5", cwd=place)
    assert new == [1, 5]  # although there are runs of 5 that know no modes


def test_a_bound_is_called_a_bound(place, no_pictures):
    argv = ("x1.csv", "--ranks", "1:2", "--method", "vb")
    result = result_of(*argv, cwd=place)
    assert result["direction"] == "lower bound"
    assert {row["direction"] for row in result["rows"]} == {"lower bound"}
    assert result["rows"][0]["log_marginal"] <= EXACT_X1[0] + 1e-9
    assert "the highest lower bound" in result["recommendation"]
    assert "bounds do not tell" in result["recommendation"]
    printed = allocated(*argv, cwd=place).out
    assert "lower bound  log odds of bounds" in printed
    assert "vb: lower bounds, the best of 10 starts" in printed
    assert "s.e." not in printed


def test_what_is_printed_and_written(place, no_pictures):
    argv = ("fruit.csv", "--ranks", "1,2", *QUICK)
    result, directory = result_of(*argv, cwd=place), place / "allocate" / "fruit"
    assert json.loads((directory / "allocation.json").read_text()) == result
    with (directory / "allocation.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert [float(row["log_marginal"]) for row in table] == [
        row["log_marginal"] for row in result["rows"]
    ]
    assert result["files"][:3] == ["allocation.json", "allocation.csv", "factors.npz"]
    lines = allocated(*argv, cwd=place).out.splitlines()
    assert lines[0] == (
        "fruit.csv: records, 11 tokens in 5 cells of colour (2) × size (2) × taste (2); "
        "2 tokens not wholly observed"
    )
    assert lines[1].startswith(
        "smc: 4 runs of 100 particles, 2 moves a token, unbiased; log-probability of the counts"
    )
    assert lines[3].split()[:2] == ["graph", "rank"]
    assert [line.split()[:2] for line in lines[4:6]] == [["cp", "1"], ["cp", "2"]]
    assert result["recommendation"] in lines
    assert lines[-1] == "allocate/fruit: allocation.json, allocation.csv, factors.npz"
    assert all(line == line.rstrip() for line in lines)


def test_the_order_of_models_does_not_matter(place, no_pictures):
    def marginals(name, graphs, ranks):
        argv = ("counts.npz", "--graph", graphs, "--ranks", ranks, *QUICK, "--output", name)
        rows = result_of(*argv, "--factors", "none", cwd=place)["rows"]
        return {(row["graph"], row["rank"]): row["repeats"] for row in rows}

    whole = marginals("a", "nmf; complete", "2,3,4")
    assert len(whole) == 4
    assert marginals("b", "complete; nmf", "3:4") == {
        key: value for key, value in whole.items() if key[1] != 2
    }
    assert whole["nmf", 2] != whole["nmf", 3]


def test_threads_change_nothing(place, no_pictures):
    with mock.patch.object(marginal_estimate.time, "perf_counter", return_value=0.0):
        for threads in (1, 3):
            argv = ("fruit.csv", "--ranks", "1:3", *QUICK, "--all-factors", "--output", threads)
            allocated(*argv, cwd=place, threads=threads)
            ResultCache().clear()
    one, three = (files_of(place / name) for name in ("1", "3"))
    one_json, three_json = (json.loads(each.pop("allocation.json")) for each in (one, three))
    assert (one, one_json | {"path": ""}) == (three, three_json | {"path": ""})


def test_seeds_matter(place, no_pictures):
    argv = ("counts.npz", "--ranks", "3", *QUICK, "--factors", "none")
    first, again, other = (
        result_of(*argv, "--seed", seed, "--output", name, cwd=place)["rows"][0]["repeats"]
        for seed, name in ((1, "a"), (1, "b"), (2, "a"))
    )
    assert first == again != other


def test_what_is_unsure_is_said_once(place, no_pictures, caplog):
    np.save(place / "many.npy", np.random.default_rng(0).integers(0, 60, (6, 6)))
    argv = ("many.npy", "--ranks", "3", "--particles", 2, "--moves", 0, "--repeats", 3)
    argv = (*argv, "--method", "smc", "--factors", "none")
    outcome = allocated(*argv, cwd=place)
    assert outcome.out.count("1 of 1 estimates are rough") == 1
    assert "more --moves, or fewer tokens" in outcome.out
    assert "standard deviation" not in outcome.err + caplog.text
    (row,) = result_of(*argv, cwd=place)["rows"]
    assert row["rough"]
    assert row["spread"] == pytest.approx(np.std(row["repeats"], ddof=1))
    # the control: the library's own warning, which stays on for others
    model = AllocationModel.nmf(6, 6, 3)
    log_marginal(model, np.load(place / "many.npy"), n_particles=2, n_repeats=3, random_state=0)
    assert caplog.text.count("standard deviation") == 1


def test_settings_that_have_no_effect_are_named(place, no_pictures):
    argv = ("x1.csv", "--ranks", "1", "--repeats", 2)
    for more, unused in (
        (("--moves", 5, "--particles", 9), ["particles", "moves"]),
        (("--moves", 5, "--order", "sorted", "--factors", "smc"), ["order"]),
        (("--method", "smc", "--sweeps", 9, "--modes", 2), ["modes", "sweeps"]),
        (("--method", "smc", "--sweeps", 9, "--factors", "annealed"), []),
        (("--chains", 2, "--modes", 2, "--sweeps", 9), []),
    ):
        said = allocated(*argv, *more, cwd=place).err
        assert [line.split()[0] for line in said.splitlines() if "no effect" in line] == [
            f"--{name}" for name in unused
        ]


def test_settings_of_a_file(place, no_pictures):
    (place / "pipeline.toml").write_text(
        '[allocate]\nmethod = "sis"\nparticles = 30\nmoves = 1\nrepeats = 3\norder = "sorted"\n'
    )
    result = result_of("x1.csv", "--ranks", "2", "--repeats", 4, cwd=place)
    found = [result[name] for name in ("method", "particles", "moves", "order", "repeats")]
    assert found == ["sis", 30, 1, "sorted", 4]
    (place / "pipeline.toml").write_text("[allocate]\nmove = 1\n")
    error = call("allocate", "x1.csv", cwd=place).failed()
    assert "pipeline.toml: [allocate] has no setting 'move'" in error


def n_cached():
    return len(list((ResultCache().directory / "allocation").glob("*.npz")))


def interrupted_after(number):
    """`log_marginal` that is interrupted when it is called for the next time."""
    real, calls = command.log_marginal, []

    def stopping(model, X, *args, **kwargs):
        if kwargs["n_repeats"] == 1:
            return real(model, X, *args, **kwargs)  # to warm up
        if len(calls) == number:
            raise Interrupted(2)
        calls.append(model)
        return real(model, X, *args, **kwargs)

    return mock.patch.object(command, "log_marginal", stopping)


def test_interrupted_and_gone_on_with(place, no_pictures):
    argv = ("counts.npz", "--ranks", "1:4", *QUICK, "--all-factors")
    with mock.patch.object(marginal_estimate.time, "perf_counter", return_value=0.0):
        allocated(*argv, "--output", "whole", cwd=place)
        ResultCache().clear()
        for number in range(1, 4):
            with interrupted_after(1):
                outcome = call("allocate", *argv, "--threads", 1, "--output", "parts", cwd=place)
            assert outcome.code == 130
            assert "give the same command again to go on" in outcome.err
            assert n_cached() == number
            assert not (place / "parts" / "allocation.json").exists()
        allocated(*argv, "--output", "parts", cwd=place)
    whole, parts = files_of(place / "whole"), files_of(place / "parts")
    whole["allocation.json"] = whole["allocation.json"].replace(b'"whole"', b'"parts"')
    assert whole == parts
    assert len(whole) > 6


def test_what_is_there_is_not_done_again(place, no_pictures):
    argv = ("counts.npz", *QUICK, "--json", "--threads", 1)
    first = call("allocate", *argv, "--ranks", "1:3", cwd=place)
    with mock.patch.object(command, "log_marginal", side_effect=AssertionError):
        assert call("allocate", *argv, "--ranks", "1:3", cwd=place).out == first.out
        assert call("allocate", *argv, "--ranks", "3,1", cwd=place).code == 0
    with interrupted_after(1):  # of three more, two are new
        assert call("allocate", *argv, "--ranks", "2:5", cwd=place).code == 130
    assert call("allocate", *argv, "--ranks", "2:5", cwd=place).code == 0


def test_other_data_or_settings_are_scored_anew(place, no_pictures):
    argv = ("x1.csv", "--ranks", "2", "--factors", "none")

    def repeats(*more):
        return list(result_of(*argv, *(more or QUICK), cwd=place)["rows"][0]["repeats"])

    first = repeats()
    assert repeats(*QUICK, "--particles", 101) != first
    assert repeats(*QUICK, "--repeats", 5) != first
    assert repeats(*QUICK, "--moves", 3) != first
    assert repeats(*QUICK, "--order", "sorted") != first
    assert repeats(*QUICK, "--a", 2) != first
    assert repeats(*QUICK, "--b", 2) != first
    assert repeats(*QUICK, "--method", "sis") != first
    assert repeats() == first
    (place / "x1.csv").write_text(X1.replace("2", "3", 1))
    assert repeats() != first


def test_damaged_cells_are_made_again(place, no_pictures):
    argv = ("counts.npz", "--ranks", "2", *QUICK)
    first = result_of(*argv, cwd=place)
    paths = list(ResultCache().directory.glob("*/*.npz"))
    assert len(paths) == 2
    for path in paths:
        flip(path, path.stat().st_size // 2)
    again = result_of(*argv, cwd=place)
    assert without_seconds(again["rows"]) == without_seconds(first["rows"])
    assert again["factors"] == first["factors"]


@pytest.mark.slow
def test_killed_while_it_scores(place):
    np.save(place / "large.npy", np.random.default_rng(3).poisson(3.0, (20, 20)))
    argv = ("large.npy", "--ranks", "1:6", "--method", "smc", "--particles", 400, "--repeats", 4)
    argv += ("--threads", 1)
    whole = finish(spawn("allocate", *argv, "--output", "whole", "--json", cwd=place)).result
    ResultCache().clear()
    process = spawn("allocate", *argv, "--output", "parts", cwd=place)
    wait_until(n_cached, 120, "nothing is cached")
    process.kill()
    finish(process)
    assert n_cached() < 6
    parts = finish(spawn("allocate", *argv, "--output", "parts", "--json", cwd=place)).result
    assert without_seconds(parts["rows"]) == without_seconds(whole["rows"])
    assert parts["factors"] == whole["factors"]
    assert not list((place / "parts").rglob(".*.partial"))


@pytest.mark.slow
def test_pictures_are_written(place):
    argv = ("fruit.csv", "--graph", "cp; complete", "--ranks", "1,2", *QUICK)
    result = result_of(*argv, cwd=place)
    pictures = ("allocation", "particles", "factors")
    names = [f"{name}.{kind}" for name in pictures for kind in ("svg", "png")]
    assert result["files"][3:] == names
    for name in names:
        content = (place / "allocate" / "fruit" / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


def test_what_pictures_show(place):
    drawn = {}

    def draw(pictures, directory):
        for name, each in pictures.items():
            drawn[name] = Figure()
            each(drawn[name])
        return []

    argv = ("fruit.csv", "--graph", "cp; complete", "--ranks", "1,2", *QUICK)
    with mock.patch.object(command, "write_figures", draw):
        result = result_of(*argv, cwd=place)
        assert list(drawn) == ["allocation", "particles", "factors"]
        whole, near = drawn["allocation"].axes
        assert [text.get_text() for text in whole.get_legend().get_texts()] == ["complete", "cp"]
        for axes, value in ((whole, "log_marginal"), (near, "log_odds")):
            line = axes.containers[0].lines[0]
            rows = [row for row in result["rows"] if row["graph"] == "cp"]
            assert list(line.get_xdata()) == [1, 2]
            assert list(line.get_ydata()) == [row[value] for row in rows]
        upper, lower = drawn["particles"].axes
        assert len(upper.lines) == len(lower.lines) == 3
        titles = {axes.get_title() for axes in drawn["factors"].axes} - {""}
        of_graph = {
            "cp": {"p(r)", "p(colour | r)", "p(size | r)", "p(taste | r)"},
            "complete": {"p(colour)", "p(size | colour)", "p(taste | colour, size)"},
        }
        assert titles == of_graph[result["best"]["graph"]]
        drawn.clear()
        result_of(*argv, "--method", "exact", "--factors", "none", cwd=place)
        assert list(drawn) == ["allocation"]


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("nosuch.csv", 3, "No such file or directory: 'nosuch.csv'"),
        ("bad.csv", 3, "bad.csv, line 2: column '1' must be a whole number, not negative"),
        ("half.npy", 3, "half.npy, entry [0, 1]: a count must be a whole number"),
        ("doubt.csv", 2, "say --layout records or --layout matrix"),
        ("x1.csv --layout records", 3, "line 1: two columns are called '1'"),
        ("x1.csv --layout tensor", 2, "--layout must be one of auto, records, matrix"),
        ("x1.csv --graph nfm", 2, "there is no graph 'nfm'"),
        ("x1.csv --graph i->k->i,k->j", 2, "the graph has a cycle"),
        ("x1.csv --graph k->i", 2, "does not reach 'j' of x1.csv"),
        ("x1.csv --graph r->i,r->jay", 2, "does not reach 'j' of x1.csv"),
        ("x1.csv --graph symmetric-nmf", 2, "needs axes of the same values"),
        ("x1.csv --graph mixed-membership", 2, "is of 3 axes, x1.csv has 2"),
        ("x1.csv --ranks 0", 2, "--ranks must go up from 1"),
        ("x1.csv --sizes q=2", 2, "--sizes: nothing hidden is called 'q', only k"),
        ("x1.csv --vary q", 2, "--vary: nothing hidden is called 'q', only k"),
        ("x1.csv --a 0", 2, "--a must be positive and finite, found 0"),
        ("x1.csv --a nan", 2, "--a must be positive and finite, found nan"),
        ("x1.csv --b -1", 2, "--b must be positive and finite, found -1"),
        ("x1.csv --graph lda --alpha 0", 2, "--alpha must be positive"),
        ("x1.csv --eta 0.5", 2, "--eta is for --graph lda"),
        ("x1.csv --particles 1", 2, "--particles must be at least 2"),
        ("x1.csv --repeats 0", 2, "--repeats must be at least 1"),
        ("x1.csv --moves -1", 2, "--moves must be at least 0"),
        ("x1.csv --order cells", 2, "--order must be one of random, sorted"),
        ("x1.csv --top 0", 2, "--top must be at least 1"),
        ("x1.csv --seed -1", 2, "--seed must be from 0"),
        ("x1.csv --max-memory 0", 2, "--max-memory must be positive"),
        ("x1.csv --factors none --all-factors", 2, "do not go together"),
        ("x1.csv --method smc --particles 100000000", 2, "nmf, rank 1: 100,000,000 particles with"),
        ("x1.csv --method vb --ranks 1,1000 --max-memory 0.00005", 2, "rank 1000: its tables"),
        ("square.npy --method exact --ranks 4 --max-memory 0.00001 --factors none", 2, "rank 4: "),
    ],
)
def test_refused(place, argv, code, complaint):
    (place / "bad.csv").write_text("1,2\n-3,4\n")
    (place / "doubt.csv").write_text("a,b\n1,2\n")
    np.save(place / "half.npy", np.array([[1, 0.5]]))
    assert complaint in call("allocate", *argv.split(), cwd=place).failed(code)
    assert not list(place.rglob("*.npz.*"))
    assert not list((place / "allocate").rglob("allocation.json"))


def test_one_at_a_time(place):
    (place / "allocate" / "x1").mkdir(parents=True)
    with writer_lock(place / "allocate" / "x1"):
        assert "is being written to by process" in call("allocate", "x1.csv", cwd=place).failed(75)
