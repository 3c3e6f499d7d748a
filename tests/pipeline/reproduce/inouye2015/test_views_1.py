"""`reproduce lpmrf-classic3` and `lpmrf-wikipedia`: tables, pictures, settings, going on."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import pipeline.reproduce.run as command
from evaluation.estimate import LikelihoodEstimate
from evaluation.poisson_mrf import field_selection
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import counts as lpmrf_counts
from pipeline.reproduce.inouye2015 import perplexity_view as lpmrf_perplexity
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015 import runs as lpmrf_runs
from pipeline.reproduce.inouye2015.counts import counts_of
from pipeline.reproduce.inouye2015.models import (
    FEW,
    FIELDS,
    MULTINOMIAL,
    Cell,
    Effort,
    Score,
    score,
)
from pipeline.reproduce.inouye2015.perplexity import (
    HeldOut,
    Perplexities,
    PerplexitySettings,
    published_split,
)
from pipeline.reproduce.inouye2015.perplexity_view import protocol, title_of
from pipeline.reproduce.inouye2015.runs import cached_score, cached_selection, runs_of
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.inouye2015.test_perplexity import SMALL, documents
from tests.pipeline.reproduce.support import failing, places
from tests.pipeline.support import Outcome, call, inside

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EXPERIMENTS = ("lpmrf-classic3", "lpmrf-wikipedia")
GIVEN = ("--penalty", 0.1, "--length-scale", 1.5)
MODELS = {
    "Multinomial",
    "LPMRF",
    "LPMRF, few temperatures",
    "Multinomial mixture",
    "LPMRF mixture",
    "Multinomial topic model",
    "LPMRF topic model",
    "LDA, Gibbs sampling",
    "LPMRF topic model, Gibbs sampling",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with counts.npz."""
    sparse.save_npz(tmp_path / "counts.npz", documents())
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    monkeypatch.setattr(lpmrf_perplexity, "QUICK_EFFORT", vars(SMALL))
    grid = {"penalties": (0.5, 0.1), "length_scales": (1.0, 2.0)}
    monkeypatch.setattr(lpmrf_perplexity, "QUICK_GRID", grid)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def reproduced(*argv: object, cwd: Path, threads: int = 1) -> Outcome:
    outcome = call("reproduce", *argv, "--counts", "counts.npz", "--threads", threads, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome


def without_seconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_what_is_printed(
    experiment: str,
    quick: None,
    no_pictures: None,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = reproduced(experiment, "--topics", 2, *GIVEN, "--json", cwd=place).result
    path = place / "reproduce" / experiment / f"{experiment}.json"
    assert json.loads(path.read_text()) == result
    rows = {row["model"]: row for row in result["rows"]}
    assert set(rows) == MODELS
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    for name, row in rows.items():
        start = f"{name:33s}  {row['topics']:d} "
        line = next(line for line in lines if line.startswith(start))  # differences come later
        assert {f"{row[part]:.4f}" for part in ("test", "train")} <= set(line.split())
    assert rows["Multinomial"]["penalty"] is None
    assert (rows["LPMRF"]["penalty"], rows["LPMRF"]["from"]) == (0.1, "given")
    assert rows["LPMRF, few temperatures"]["runs"] == 3
    assert rows["LPMRF"]["figure_3"] == lpmrf_published.FIGURE_3[experiment][FIELDS]
    assert rows["LPMRF"]["published"] is None  # which is of other documents
    assert result["selections"] == []
    assert len(result["differences"]) == 5


def test_without_topics_there_are_single_distributions(
    quick: None, no_pictures: None, place: Path
) -> None:
    argv = ("lpmrf-wikipedia", "--words", 6, "--documents", 50, "--json")
    result = reproduced(*argv, cwd=place).result
    assert [row["kind"] for row in result["rows"]] == ["single"] * 3
    assert result["corpus"]["words"] == 6
    assert result["corpus"]["training_documents"] + result["corpus"]["test_documents"] == 50
    (selected,) = result["selections"]
    best = np.min(selected["perplexity"])
    i, j = (
        selected["penalties"].index(selected["penalty"]),
        [1.0, 2.0].index(selected["length_scale"]),
    )
    assert selected["perplexity"][i][j] == best
    row = next(row for row in result["rows"] if row["base"] == FIELDS)
    assert (row["penalty"], row["length_scale"]) == (selected["penalty"], selected["length_scale"])
    assert row["from"] == "validation"


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_pictures_are_written(experiment: str, quick: None, place: Path) -> None:
    result = reproduced(experiment, *GIVEN, "--json", cwd=place).result
    assert len(result["pictures"]) == 4
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


def made_up(n_topics: tuple[int, ...], n_docs: int = 60) -> Perplexities:
    """Perplexities as they should be; of 3,890 documents those that were published."""
    effort = Effort()
    settings = PerplexitySettings(n_topics, effort, by_published=n_docs == 3890)
    counts = np.zeros(lpmrf_published.SHAPE if n_docs == 3890 else (n_docs, 5), dtype=np.int64)
    counts[:, 0] = 48
    counts[0, 1] += lpmrf_published.N_TOKENS - counts.sum() if n_docs == 3890 else 0
    n_test = n_docs // 10
    split = HeldOut(sparse.csr_array(counts[n_test:]), sparse.csr_array(counts[:n_test]))
    rng = np.random.default_rng(0)
    tokens = np.asarray(split.test.sum(axis=1)).ravel()
    scores = {}
    for cell in settings.cells:
        is_field = cell.base != MULTINOMIAL
        base = FIELDS if is_field else MULTINOMIAL
        known = (cell.kind, base, cell.n_topics)
        test, train = lpmrf_published.PERPLEXITY.get(known, (29.0 - 3 * is_field, 25.0))
        if cell.kind == "single" and cell.base == FIELDS:
            test, train = test - 0.2, train - 0.2
        gain = -tokens * (5.0 - 0.1 * is_field) + rng.normal(0, 1e-3, len(tokens))
        summed = LikelihoodEstimate(
            gain, np.zeros(len(tokens)), tokens, "exact", "sequence", "exact"
        )
        scores[cell] = Score(
            np.array([test]),
            np.array([train]),
            78_400 * is_field,
            0.1,
            1.0,
            1.0,
            None if cell.base == FEW else summed,
        )
    return Perplexities("lpmrf-classic3", "made up", settings, split, scores, {})


@pytest.mark.parametrize("n_topics", [(), (3,), (3, 10, 20)])
def test_what_pictures_show(n_topics: tuple[int, ...]) -> None:
    for n_docs in (60, 3890):
        found = made_up(n_topics, n_docs)
        drawn = lpmrf_perplexity.CLASSIC3.draw(Found({"name": found.name}, found))
        assert list(drawn) == ["lpmrf-classic3", "lpmrf-classic3-likelihood"]
        for name, draw in drawn.items():
            figure = Figure()
            draw(figure)
            n_bars = [len(axes.patches) for axes in figure.axes]
            n_single = 2 if name.endswith("likelihood") else 3
            assert n_bars == [n_single, *([6 * len(n_topics)] if n_topics else [])]
            if n_topics and not name.endswith("likelihood"):
                marks = [len(axes.lines) for axes in figure.axes]
                assert marks == ([3, 4] if n_docs == 3890 else [2, 0])


def test_findings_say_where_they_fail() -> None:
    declared = lpmrf_perplexity.CLASSIC3
    good = made_up((3, 10), 3890)
    assert not failing(declared, good)
    assert len(places(declared, good)) == 17
    assert len(places(declared, made_up((), 60))) == 4

    def with_score(cell: Cell, **changed: Any) -> Perplexities:
        scores = dict(good.scores)
        scores[cell] = replace(scores[cell], **changed)
        return replace(good, scores=scores)

    single, mixture = Cell("single", FIELDS, 1), Cell("mixture", FIELDS, 3)
    summed = good.scores[mixture].summed
    assert summed is not None
    worse = replace(summed, log_likelihood=1.03 * summed.log_likelihood)
    for cell, changed, n_failed, part in (
        (Cell("single", MULTINOMIAL, 1), {"test": np.array([47.35])}, 1, "Multinomials as publ"),
        (single, {"n_nonzeros": 70_000}, 1, "nonzeros as published"),
        (single, {"test": np.array([33.9])}, 1, "with fewer temperatures"),
        (mixture, {"train": np.array([22.5])}, 1, "as published or better"),
        (mixture, {"test": np.array([31.0])}, 2, "below Multinomial"),
        (Cell("gibbs", MULTINOMIAL, 10), {"test": np.array([20.0])}, 1, "below LDA"),
        (mixture, {"missing": 100.0}, 1, "no lower than the term of one document"),
        (mixture, {"summed": worse}, 1, "LPMRF mixture, K = 3: likelier"),
    ):
        failed = failing(declared, with_score(cell, **changed))
        assert len(failed) == n_failed, failed
        assert any(part in claim for claim in failed)


# --- settings -------------------------------------------------------------------------------------


def test_scales() -> None:
    split, classic3 = made_up(()).split, made_up((), 3890).split
    full = protocol(ReproduceSettings(scale="full", seed=7), "lpmrf-classic3", classic3)
    assert full == PerplexitySettings(seed=7)
    quick = protocol(ReproduceSettings(), "lpmrf-classic3", classic3)
    assert (quick.n_topics, quick.by_published, quick.patience) == ((3,), True, 1)
    assert protocol(ReproduceSettings(), "lpmrf-classic3", split).by_published is False
    by_validation = ReproduceSettings(select="validation")
    assert protocol(by_validation, "lpmrf-classic3", classic3).by_published is False
    asked = ReproduceSettings(scale="full", select="published", topics=10)
    published = protocol(asked, "lpmrf-classic3", classic3)
    assert (published.by_published, published.n_topics) == (True, (10,))
    for scale in ("quick", "full"):
        wikipedia = protocol(ReproduceSettings(scale=scale), "lpmrf-wikipedia", split)
        assert wikipedia.n_topics == ()
    given = ReproduceSettings(penalty=0.1, length_scale=2.0)
    assert protocol(given, "lpmrf-classic3", classic3).given == (0.1, 2.0)


def test_names_of_models_differ() -> None:
    assert {title_of(cell) for cell in made_up((3,)).scores} == MODELS


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("lpmrf-classic3 --topics 0", 2, "--topics must be at least 1, found 0"),
        ("lpmrf-classic3 --topics 1", 2, "n_topics must be at least 2"),
        ("lpmrf-classic3 --penalty 0.1", 2, "belong together"),
        ("lpmrf-classic3 --length-scale 1", 2, "belong together"),
        ("lpmrf-classic3 --penalty 0 --length-scale 1", 2, "--penalty must be positive"),
        ("lpmrf-classic3 --penalty 1 --length-scale inf", 2, "--length-scale must be positive"),
        ("lpmrf-classic3 --select published", 2, "of Classic3 only, 3,890 documents"),
        (
            "lpmrf-classic3 --select validation --penalty 1 --length-scale 1",
            2,
            "--select validation says where",
        ),
        ("lpmrf-classic3 --words 5", 2, "--words is for lpmrf-wikipedia"),
        ("lpmrf-wikipedia --words 1", 2, "--words must be at least 2, found 1"),
        ("lpmrf-wikipedia --documents 19", 2, "--documents must be at least 20, found 19"),
        ("lpmrf-classic3 --counts counts.npz,few.npz", 2, "takes one file, found 2"),
        ("lpmrf-classic3 --counts few.npz", 2, "few: of 9 documents a tenth is held out"),
        (
            "lpmrf-classic3 --counts nowhere.npz",
            3,
            "--counts: there is no file or directory nowhere.npz",
        ),
    ],
)
def test_refusals(argv: str, code: int, complaint: str, place: Path) -> None:
    sparse.save_npz(place / "few.npz", documents(9))
    counts = () if "--counts" in argv else ("--counts", "counts.npz")
    outcome = call("reproduce", *shlex.split(argv), *counts, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


@pytest.mark.parametrize(
    "argv", ["--penalty 0.01", "--penalty -1", "--penalty -1 --length-scale 1"]
)
def test_refused_before_the_sample_is_downloaded(
    argv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = mock.Mock()
    monkeypatch.setattr(lpmrf_counts, "corpora_of", read)
    outcome = call("reproduce", "lpmrf-classic3", *shlex.split(argv), cwd=tmp_path)
    assert (outcome.code, "--penalty" in outcome.error) == (2, True)
    assert not read.called


def test_which_documents_and_words_are_taken(place: Path) -> None:
    with inside(place):
        whole = counts_of(ReproduceSettings(counts="counts.npz"), "lpmrf-classic3")
        assert (whole.name, whole.counts.toarray().tolist()) == (
            "counts",
            documents().toarray().tolist(),
        )
        some = ReproduceSettings(counts="counts.npz", words=4, documents=30, seed=1)
        part = counts_of(some, "lpmrf-wikipedia").counts.toarray()
        rows = {tuple(row) for row in documents().toarray().tolist()}
        assert part.shape == (30, 4)
        chosen = counts_of(replace(some, words=10), "lpmrf-wikipedia").counts.toarray()
        assert all(tuple(row) in rows for row in chosen.tolist())
        assert sorted(part.sum(axis=0)) == sorted(chosen.sum(axis=0))[-4:]
        other = counts_of(replace(some, seed=2), "lpmrf-wikipedia").counts.toarray()
        assert not np.array_equal(part, other)
        by_default = counts_of(ReproduceSettings(counts="counts.npz"), "lpmrf-wikipedia")
        assert by_default.counts.shape == (60, 10)


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_interrupted_it_goes_on_where_it_was(quick: None, no_pictures: None, place: Path) -> None:
    argv = ("lpmrf-classic3", "--topics", 2, "--seed", 3, "--json")
    whole = reproduced(*argv, "--output", "whole", cwd=place).result
    ResultCache().clear()
    n_left = 9  # of 3 times 4 pairs

    def a_table(*args: Any, **settings: Any) -> Any:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise Interrupted(15)
        return table(*args, **settings)

    table = field_selection.partition_table
    with mock.patch.object(field_selection, "partition_table", a_table):
        outcome = call("reproduce", *argv, "--counts", "counts.npz", "--output", "parts", cwd=place)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err
    done: list[Cell] = []

    def until_the_fourth(cell: Cell, *args: Any, **settings: Any) -> Score:
        if len(done) == 3:
            raise Interrupted(15)
        done.append(cell)
        return score(cell, *args, **settings)

    with (
        mock.patch.object(lpmrf_runs, "score", until_the_fourth),
        mock.patch.object(field_selection, "partition_table", wraps=table) as tables,
    ):
        outcome = call("reproduce", *argv, "--counts", "counts.npz", "--output", "parts", cwd=place)
        assert outcome.code == 143
    assert tables.call_count == 4 + 2 * 8 - 8  # 4 of one field, 2 of two, were complete
    with (
        mock.patch.object(lpmrf_runs, "score", wraps=score) as rest,
        mock.patch.object(field_selection, "partition_table") as no_tables,
    ):
        again = reproduced(*argv, "--output", "parts", cwd=place).result
    assert not no_tables.called
    wanted = PerplexitySettings((2,)).cells
    assert [each.args[0] for each in rest.call_args_list] == wanted[3:]
    assert without_seconds(again["rows"]) == without_seconds(whole["rows"])
    for name in ("selections", "differences", "findings", "corpus"):
        assert again[name] == whole[name]


def test_what_is_cached_comes_back_as_it_was() -> None:
    split = split_of_documents()
    settings = PerplexitySettings((), SMALL, (0.5, 0.1), (1.0,))
    group = runs_of(ResultCache(), settings, split)
    cell, chosen = Cell("single", FIELDS, 1), (0.1, 1.5)

    def cached(chosen: tuple[float, float] = chosen) -> Score:
        return cached_score(group, cell, split, settings, chosen, n_jobs=1)

    with mock.patch.object(lpmrf_runs, "score", wraps=score) as made:
        first, second = cached(), cached()
        assert made.call_count == 1
        cached((0.1, 1.25))
        assert made.call_count == 2
    assert first.summed is not None
    assert second.summed is not None
    for name, value in vars(first.summed).items():
        np.testing.assert_array_equal(getattr(second.summed, name), value)
    for name, value in vars(first).items():
        if name != "summed":
            assert getattr(second, name) == value
            assert type(getattr(second, name)) is type(value)
    without = replace(first, summed=None)
    assert Score.from_arrays(without.to_arrays()).summed is None


def test_pairs_that_were_tried_are_not_tried_again() -> None:
    split = split_of_documents()
    settings = PerplexitySettings((), SMALL, (0.5, 0.1), (1.0,))
    group = runs_of(ResultCache(), settings, split)
    table = cached_selection(group, "single", 1, split, settings, n_jobs=1).perplexity
    with mock.patch.object(field_selection, "partition_table") as no_tables:
        again = cached_selection(group, "single", 1, split, settings, n_jobs=1).perplexity
    assert not no_tables.called
    assert np.array_equal(again, table)
    longer = replace(settings, penalties=(0.5, 0.2, 0.1))
    assert cached_selection(group, "single", 1, split, longer, n_jobs=1).perplexity.shape == (3, 1)


def test_what_results_depend_on() -> None:
    def key(settings: PerplexitySettings, split: HeldOut) -> str:
        return runs_of(ResultCache(), settings, split).key

    split = split_of_documents()
    settings = PerplexitySettings((), SMALL)
    first = key(settings, split)
    assert key(replace(settings, n_topics=(3,), given=(1.0, 1.0)), split) == first
    others = [
        key(replace(settings, seed=1), split),
        key(replace(settings, effort=replace(SMALL, n_samples=21)), split),
        key(settings, HeldOut(split.train, split.train)),
        key(settings, HeldOut(split.test, split.train)),
    ]
    assert len({*others, first}) == 5


def split_of_documents() -> HeldOut:
    return published_split(documents())
