"""`reproduce bam-abalone`, `bam-letters`, `bam-decompositions`: tables in, tables and files out."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure

import pipeline.reproduce.run as command
from corpora import CorpusFormatError
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted, UsageError
from pipeline.reproduce.cemgil2019 import abalone_view as bam_abalone
from pipeline.reproduce.cemgil2019 import decompositions_view as bam_decompositions
from pipeline.reproduce.cemgil2019 import letters_view as bam_letters
from pipeline.reproduce.cemgil2019.abalone import AbaloneSettings, Ages
from pipeline.reproduce.cemgil2019.abalone import score as abalone_score
from pipeline.reproduce.cemgil2019.abalone_view import COLUMNS, read_abalone
from pipeline.reproduce.cemgil2019.decompositions import DecompositionsSettings, qualities
from pipeline.reproduce.cemgil2019.letters import NMF, SYMMETRIC, LettersSettings
from pipeline.reproduce.cemgil2019.letters import score as letters_score
from pipeline.reproduce.cemgil2019.rank_scores import RankCell
from pipeline.reproduce.cemgil2019.rank_scores_view import results_of
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES, Effort
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.allocation.test_letter_pairs import pairs_lines
from tests.pipeline.reproduce.support import places
from tests.pipeline.support import Outcome, call, inside
from tests.shared_data import shared_file

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

EXPERIMENTS = ("bam-abalone", "bam-letters", "bam-decompositions")
MODULES: dict[str, Any] = dict(
    zip(EXPERIMENTS, (bam_abalone, bam_letters, bam_decompositions), strict=True)
)
TABLES = {"bam-abalone": "abalone.csv", "bam-letters": "pairs.csv"}
TABLES["bam-decompositions"] = TABLES["bam-letters"]
EFFORT = Effort(n_particles=8, n_repeats=2, n_starts=2, n_moves=2)
SMALL: dict[str, Any] = {
    "bam-abalone": AbaloneSettings(n_bins=2, strengths=(1.0, 0.1), ranks=(1, 3), effort=EFFORT),
    "bam-letters": LettersSettings(n_tokens=40, ranks=(1, 2), effort=EFFORT),
    "bam-decompositions": DecompositionsSettings(
        n_tokens=40, rank=2, strengths=(0.1, 1.0), effort=EFFORT
    ),
}
SCORE = {
    "bam-abalone": ("score", abalone_score),
    "bam-letters": ("score", letters_score),
    "bam-decompositions": ("qualities", qualities),
}


def abalone_lines(n: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        age = int(rng.integers(1, 25))
        size = np.round(0.03 * age + 0.05 * rng.random(7), 4)
        lines.append(",".join([str(rng.choice(["M", "F", "I"])), *map(str, size), str(age)]))
    return lines


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with abalone.csv and pairs.csv."""
    (tmp_path / "abalone.csv").write_text("\n".join([",".join(COLUMNS), *abalone_lines()]) + "\n")
    (tmp_path / "pairs.csv").write_text("\n".join(pairs_lines()) + "\n")
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    for name, small in SMALL.items():
        monkeypatch.setattr(
            MODULES[name],
            "protocol",
            lambda settings, small=small: replace(small, seed=settings.seed),
        )


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def reproduced(*argv: object, cwd: Path, threads: int = 1) -> Outcome:
    outcome = call("reproduce", *argv, "--threads", threads, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome


def without_seconds(result: dict[str, Any]) -> dict[str, Any]:
    rows = [{n: v for n, v in row.items() if n != "seconds"} for row in result["rows"]]
    return {**result, "rows": rows, "path": ""}


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_what_is_printed(
    experiment: str,
    quick: None,
    no_pictures: None,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = (experiment, "--table", TABLES[experiment], "--json")
    result = reproduced(*argv, cwd=place).result
    directory = place / "reproduce" / experiment
    assert (result["experiment"], result["name"], result["seed"]) == (experiment, experiment, 0)
    assert json.loads((directory / f"{experiment}.json").read_text()) == result
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    for each in result["findings"]:
        assert sum(line.startswith(each["claim"] + ": ") for line in lines) == 1
    if experiment == "bam-decompositions":
        for method in ("SMC", "VB", "ALS-PGD"):
            assert any(line.startswith(f"{method} ") for line in lines)
    else:
        assert any(line.startswith("rank ") for line in lines)
        assert {row["direction"] for row in result["rows"]} == {"unbiased", "lower bound"}


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param("bam-abalone", marks=pytest.mark.slow),
        pytest.param("bam-letters", marks=pytest.mark.slow),
        "bam-decompositions",
    ],
)
def test_threads_change_nothing(
    experiment: str, quick: None, no_pictures: None, place: Path
) -> None:
    argv = (experiment, "--table", TABLES[experiment], "--seed", 3, "--json")
    found = []
    for n in (1, 2):
        where = ("--output", f"with-{n}")
        found.append(without_seconds(reproduced(*argv, *where, cwd=place, threads=n).result))
        ResultCache().clear()
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_pictures_are_written(experiment: str, quick: None, place: Path) -> None:
    argv = (experiment, "--table", TABLES[experiment], "--json")
    result = reproduced(*argv, cwd=place).result
    assert len(result["pictures"]) == (4 if experiment == "bam-abalone" else 2)
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_what_pictures_show(experiment: str, quick: None, place: Path) -> None:
    module = MODULES[experiment]
    with inside(place):
        found = module.run(ReproduceSettings(table=TABLES[experiment], threads=1), ResultCache())
    drawn = module.EXPERIMENT.draw(found)
    figure = Figure()
    drawn[experiment](figure)
    names = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
    assert len(figure.axes) == (3 if experiment == "bam-decompositions" else 2)
    methods = {NAMES[method] for method in ("smc", WITH_MOVES, "vb")}
    expected = {
        "bam-abalone": {"complete graph", *(f"CP, {m}" for m in methods)},
        "bam-letters": {f"{g}, {m}" for g in (NMF, SYMMETRIC) for m in methods},
        "bam-decompositions": {*methods, "ALS-PGD", "least squares, CD"},
    }
    assert names == expected[experiment]
    if experiment == "bam-abalone":
        ages = Figure()
        drawn["bam-abalone-ages"](ages)
        assert len(ages.axes) == len(found.drawn.ages.mean)


# --- findings -------------------------------------------------------------------------------------


def test_findings_of_abalones_tell_where_they_fail(quick: None, place: Path) -> None:
    settings = ReproduceSettings(table="abalone.csv", threads=1)
    with inside(place):
        found = bam_abalone.run(settings, ResultCache()).drawn
    low = {cell: _shifted(score, -1e6) for cell, score in found.curves.scores.items()}
    high = {cell: _shifted(score, 1e6) for cell, score in found.curves.scores.items()}
    ages = Ages.of(np.arange(60) % 3 + 5, np.arange(60) // 20)
    for scores, failed in ((low, 1), (high, 0)):
        made = replace(found, curves=replace(found.curves, scores=scores), ages=ages)
        failed_at = places(bam_abalone.EXPERIMENT, made)
        of_graph = [at for claim, at in failed_at.items() if "CP above" in claim]
        assert [len(each) for each in of_graph] == [failed] * 10
        assert all(each[0].startswith("rank 3") for each in of_graph if each)
        of_ages = [at for claim, at in failed_at.items() if "ages" in claim]
        assert of_ages == [["classes 1 and 2", "classes 2 and 3"]]
        (differ,) = (at for claim, at in failed_at.items() if "in age" in claim)
        assert differ[0].startswith("p = ")


def _shifted(score: Any, by: float) -> Any:
    estimate = score.estimate
    moved = replace(
        estimate, log_marginal=estimate.log_marginal + by, repeats=estimate.repeats + by
    )
    return score._replace(estimate=moved)


def test_findings_of_letters_tell_where_they_fail(quick: None, place: Path) -> None:
    with inside(place):
        found = bam_letters.run(
            ReproduceSettings(table="pairs.csv", threads=1), ResultCache()
        ).drawn
    scores = dict(found.curves.scores)
    for cell, score in found.curves.scores.items():
        raised = (cell.graph == NMF) == (cell.a == 1.0) and (cell.a, cell.rank) != (1.0, 2)
        scores[cell] = _shifted(score, 1e5 if raised else 0.0)
    scores[RankCell(SYMMETRIC, "smc", 1.0, 2)] = _shifted(
        scores[RankCell(SYMMETRIC, "smc", 1.0, 2)], 1e3
    )
    made = replace(found, curves=replace(found.curves, scores=scores))
    result = bam_letters.as_json(made)
    failed = places(bam_letters.EXPERIMENT, made)
    assert failed["a = 1, SMC: NMF above symmetric NMF from rank 2 on"] == ["rank 2"]
    assert failed["a = 0.001, SMC: symmetric NMF above NMF at 90% of ranks"] == []
    assert failed["a = 0.001, VB: symmetric NMF not above NMF throughout"] == ["any rank"]
    assert failed["a = 1: the best rank of VB below that of SMC"][0] == f"{NMF} (1 and 1)"
    at_1 = "a = 1: NMF above symmetric NMF at rank 1, where all methods are exact"
    assert failed[at_1] == []
    lowered = {cell: _shifted(s, -5.0 * (cell.method == "smc")) for cell, s in scores.items()}
    low = replace(found, curves=replace(found.curves, scores=lowered))
    claims = places(bam_letters.EXPERIMENT, low)
    assert "rank 1" in claims[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    assert "rank 1" not in failed[f"a = 1, {NMF}: SMC no lower than the bound of VB"]
    by_smc = next(e for e in result["preferred"] if (e["a"], e["method"]) == (1.0, "smc"))
    assert (by_smc["nmf"], by_smc["symmetric"], by_smc["not_told_apart"]) == ([1], [2], [])


# --- settings -------------------------------------------------------------------------------------


def test_scales() -> None:
    full = ReproduceSettings(scale="full", seed=7)
    assert bam_abalone.protocol(full) == AbaloneSettings(seed=7)
    assert bam_letters.protocol(full) == LettersSettings(seed=7)
    assert bam_decompositions.protocol(full) == DecompositionsSettings(seed=7)
    for module in MODULES.values():
        less, asked = (
            module.protocol(ReproduceSettings(particles=particles, repeats=particles))
            for particles in (None, 9)
        )
        assert less != module.protocol(ReproduceSettings(scale="full"))
        assert (asked.effort.n_particles, asked.effort.n_repeats) == (9, 9)
        assert module.protocol(ReproduceSettings(moves=3)).effort.n_moves == 3


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("bam-abalone", 2, "archive.ics.uci.edu"),
        ("bam-abalone --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --table nowhere.csv", 3, "nowhere.csv"),
        ("bam-letters --particles 1", 2, "--particles must be at least 2"),
        ("bam-decompositions --repeats 1", 2, "--repeats must be at least 2"),
        ("bam-decompositions --table abalone.csv", 3, "abalone.csv, line 1: expected a header"),
        ("bam-abalone --table pairs.csv", 3, "pairs.csv, line 1: expected the columns"),
    ],
)
def test_usage_and_missing_files(argv: str, code: int, complaint: str, place: Path) -> None:
    outcome = call("reproduce", *shlex.split(argv), "--threads", 1, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


# --- abalone.csv ----------------------------------------------------------------------------------


def test_abalone_with_or_without_a_header(tmp_path: Path) -> None:
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
def test_abalones_that_cannot_be_read(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(CorpusFormatError, match=complaint):
        bam_abalone.run(ReproduceSettings(table=str(path), threads=1), ResultCache())
    path.write_bytes(b"M,1,\xff\xfe")
    with pytest.raises(CorpusFormatError, match="no CSV of abalones"):
        read_abalone(str(path))


@pytest.mark.shared
def test_the_real_abalones() -> None:
    measurements, rings = read_abalone(str(shared_file("abalone/abalone.csv")))
    assert measurements.shape == (4177, 7)
    assert (rings.min(), rings.max()) == (1, 29)


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param("bam-abalone", marks=pytest.mark.slow),
        "bam-letters",
        pytest.param("bam-decompositions", marks=pytest.mark.slow),
    ],
)
def test_interrupted_it_goes_on_where_it_was(
    experiment: str, quick: None, no_pictures: None, place: Path
) -> None:
    argv = (experiment, "--table", TABLES[experiment], "--json")
    module, (name, score) = MODULES[experiment], SCORE[experiment]
    whole = reproduced(*argv, "--output", "whole", cwd=place).result
    ResultCache().clear()
    done = []

    def until_the_third(*given: Any) -> Any:
        if len(done) == 3:
            raise Interrupted(15)
        done.append(given[1])
        return score(*given)

    with mock.patch.object(module, name, until_the_third):
        outcome = call("reproduce", *argv, "--output", "parts", "--threads", 1, cwd=place)
        assert outcome.code == 143
        assert not (place / "parts" / f"{experiment}.json").exists()
    with mock.patch.object(module, name, wraps=score) as rest:
        again = reproduced(*argv, "--output", "parts", cwd=place).result
    cells = SMALL[experiment].cells
    assert done == cells[:3]
    assert [each.args[1] for each in rest.call_args_list] == cells[3:]
    assert without_seconds(again) == without_seconds(whole)
    with mock.patch.object(module, name, wraps=score) as none_left:
        reproduced(*argv, "--output", "parts", cwd=place)
        assert not none_left.called


def test_no_table_is_said_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs --table"):
        bam_abalone.run(ReproduceSettings(threads=1), ResultCache())
    assert not list(tmp_path.iterdir())


def test_what_results_depend_on() -> None:
    def key(settings: LettersSettings, X: NDArray[np.int64]) -> str:
        return results_of(ResultCache(), "x", settings, ("ranks", "strengths"), X=X).key

    small, X = SMALL["bam-letters"], np.arange(4)
    first = key(small, X)
    assert key(replace(small, ranks=(9,)), X) == first
    others = [
        key(replace(small, seed=1), X),
        key(replace(small, effort=Effort(9, 2, 2, 2)), X),
        key(replace(small, n_tokens=41), X),
        key(small, X + 1),
    ]
    assert len({*others, first}) == 5
