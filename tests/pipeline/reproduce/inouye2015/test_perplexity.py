"""`reproduce lpmrf-classic3` and `lpmrf-wikipedia`: results, selection, settings, cache."""

import json
import shlex
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

import pipeline.reproduce.run as command
from evaluation.comparison import paired_difference
from evaluation.poisson_mrf import field_selection
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce import counts as experiment_counts
from pipeline.reproduce.inouye2015 import perplexity, published
from pipeline.reproduce.inouye2015.models import FIELDS, MULTINOMIAL, Scorer, Variant
from pipeline.reproduce.inouye2015.perplexity import (
    CLASSIC3,
    HeldOut,
    PerplexitySettings,
    as_json,
    counts_of,
    protocol,
    selected,
)
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.trials import group_of
from tests.pipeline.reproduce.inouye2015.small_models import SMALL, documents, scored, summed_of
from tests.pipeline.reproduce.inouye2015.test_figure_3 import made_up
from tests.pipeline.reproduce.support import failing, reproduced, without_seconds
from tests.pipeline.support import call, inside

pytestmark = pytest.mark.slow

EXPERIMENTS = ("lpmrf-classic3", "lpmrf-wikipedia")
GIVEN = ("--penalty", 0.1, "--length-scale", 1.5)
SETTINGS = PerplexitySettings((2,), SMALL, (0.5, 0.1), (1.0, 2.0), seed=2)
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


def cached(split, settings=SETTINGS):
    return group_of(perplexity.NAME, settings, perplexity.LEVELS, split=split)


def test_sources_of_penalties():
    settings = PerplexitySettings()
    assert settings.source_of("single", 1) == "validation"
    known = replace(settings, by_published=True)
    assert known.source_of("mixture", 3) == "published"
    assert known.source_of("mixture", 10) == "validation"
    assert replace(known, given=(0.1, 1.0)).source_of("mixture", 3) == "given"
    chosen_for = {each.chosen_for for each in settings.variants if each.kind == "gibbs"}
    assert chosen_for == {("topics", n_topics) for n_topics in (3, 10, 20)}
    assert set(published.CHOSEN) <= {each.chosen_for for each in settings.variants}
    assert {Variant(*key) for key in published.PERPLEXITY} <= set(settings.variants)


# --- results, claims and figures ------------------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    """A directory with counts.npz."""
    sparse.save_npz(tmp_path / "counts.npz", documents())
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Quicker than quick."""
    small = {"budget": SMALL, "penalties": (0.5, 0.1), "length_scales": (1.0, 2.0)}
    monkeypatch.setattr(perplexity, "QUICK", small)


def run(*argv, cwd):
    return reproduced(*argv, "--counts", "counts.npz", cwd=cwd)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_results_are_printed(experiment, quick, no_pictures, place, capsys):
    result = run(experiment, "--topics", 2, *GIVEN, cwd=place)
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
    assert rows["LPMRF"]["figure_3"] == published.FIGURE_3[experiment][FIELDS]
    assert rows["LPMRF"]["published"] is None  # it is of other documents
    assert result["selections"] == []
    assert len(result["differences"]) == 5


def test_without_topics_there_are_single_distributions(quick, no_pictures, place):
    result = run("lpmrf-wikipedia", "--words", 6, "--documents", 50, cwd=place)
    assert [row["kind"] for row in result["rows"]] == ["single"] * 3
    assert result["corpus"]["words"] == 6
    assert result["corpus"]["training_documents"] + result["corpus"]["test_documents"] == 50
    (found,) = result["selections"]
    i = found["penalties"].index(found["penalty"])
    j = found["length_scales"].index(found["length_scale"])
    assert found["perplexity"][i][j] == np.min(found["perplexity"])
    row = next(row for row in result["rows"] if row["base"] == FIELDS)
    assert (row["penalty"], row["length_scale"]) == (found["penalty"], found["length_scale"])
    assert row["from"] == "validation"


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_pictures_are_written(experiment, quick, place):
    result = run(experiment, *GIVEN, cwd=place)
    assert len(result["pictures"]) == 4
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


def test_differences(split):
    scores = {variant: scored(variant, split) for variant in SETTINGS.variants}
    for found in scores.values():
        found |= {"penalty": 0.1, "length_scale": 1.5}
    result = as_json("lpmrf-classic3", "x", SETTINGS, split, scores, {})
    single, mixture, topics, gibbs = (each for each in SETTINGS.variants if each.base == FIELDS)
    lda = gibbs._replace(base=MULTINOMIAL)
    pairs = [(each, each._replace(base=MULTINOMIAL)) for each in (single, mixture, topics)]
    pairs += [(topics, lda), (gibbs, lda)]
    assert len(result["differences"]) == len(pairs)
    for row, (first, second) in zip(result["differences"], pairs, strict=True):
        assert (row["first"], row["second"]) == (first.title, second.title)
        expected = paired_difference(summed_of(scores[first]), summed_of(scores[second]))
        assert row["nats_per_word"] == expected.nats_per_word
        assert row["p_value"] == expected.p_value
    row = result["rows"][0]
    assert row["likelihood"]["bag_perplexity"] == pytest.approx(row["test"])


def test_a_selected_penalty_at_the_edge_is_named(split):
    found = selected(cached(split), ("single", 1), split, SETTINGS)
    settings, split, scores = made_up(())
    result = as_json("lpmrf-classic3", "x", settings, split, scores, {("single", 1): found})
    assert list(failing(CLASSIC3, result).values()) == [["single, K = 1"]]  # there are but two
    (selection,) = result["selections"]
    selection["penalties"] = (1.0, selection["penalty"], 0.01)
    selection["pairs_of_words"] = [0, 1, 2]
    assert not failing(CLASSIC3, result)


# --- settings and data ----------------------------------------------------------------------------


def test_scales():
    other, known = made_up(())[1], made_up((), 3890)[1]

    def wanted(experiment="lpmrf-classic3", split=known, **settings):
        return protocol(ReproduceSettings(**settings), experiment, split)

    assert wanted(scale="full", seed=7) == PerplexitySettings(seed=7)
    quick = wanted()
    assert (quick.n_topics, quick.by_published, quick.patience) == ((3,), True, 1)
    assert not wanted(split=other).by_published
    assert not wanted(select="validation").by_published
    asked = wanted(scale="full", select="published", topics=10)
    assert (asked.by_published, asked.n_topics) == (True, (10,))
    for scale in ("quick", "full"):
        assert wanted("lpmrf-wikipedia", other, scale=scale).n_topics == ()
    assert wanted(penalty=0.1, length_scale=2.0).given == (0.1, 2.0)


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("lpmrf-classic3 --topics 0", 2, "--topics must be at least 1, found 0"),
        ("lpmrf-classic3 --topics 1", 2, "--topics must be at least 2"),
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
        ("lpmrf-classic3 --counts counts.npz,few.npz", 2, "lpmrf-classic3 takes one file, found 2"),
        ("lpmrf-classic3 --counts few.npz", 2, "few: of 9 documents a tenth is held out"),
        ("lpmrf-classic3 --counts nowhere.npz", 3, "--counts: there is no file or directory"),
    ],
)
def test_refusals(argv, code, complaint, place):
    sparse.save_npz(place / "few.npz", documents(9))
    counts = () if "--counts" in argv else ("--counts", "counts.npz")
    outcome = call("reproduce", *shlex.split(argv), *counts, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


@pytest.mark.parametrize(
    "argv", ["--penalty 0.01", "--penalty -1", "--penalty -1 --length-scale 1"]
)
def test_refused_before_the_sample_is_downloaded(argv, tmp_path, monkeypatch):
    read = mock.Mock()
    monkeypatch.setattr(experiment_counts, "sample", read)
    outcome = call("reproduce", "lpmrf-classic3", *shlex.split(argv), cwd=tmp_path)
    assert (outcome.code, "--penalty" in outcome.error) == (2, True)
    assert not read.called


def test_documents_and_words_of_wikipedia(place):
    def taken(experiment="lpmrf-wikipedia", **settings):
        with inside(place):
            found = counts_of(ReproduceSettings(counts="counts.npz", **settings), experiment)
        assert found.name == "counts"
        return found.counts.toarray()

    assert np.array_equal(taken("lpmrf-classic3"), documents().toarray())
    assert taken().shape == (60, 10)
    part, chosen = taken(words=4, documents=30, seed=1), taken(words=10, documents=30, seed=1)
    assert part.shape == (30, 4)
    assert set(map(tuple, chosen)) <= set(map(tuple, documents().toarray()))
    assert sorted(part.sum(axis=0)) == sorted(chosen.sum(axis=0))[-4:]
    assert not np.array_equal(part, taken(words=4, documents=30, seed=2))


# --- cache ----------------------------------------------------------------------------------------


def test_an_interrupted_command_continues(quick, no_pictures, place):
    argv = ("lpmrf-classic3", "--topics", 2, "--seed", 3)
    whole = run(*argv, "--output", "whole", cwd=place)
    ResultCache().clear()
    n_left = 9  # of 3 times 4 pairs

    def a_table(*args, **settings):
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise Interrupted(15)
        return table(*args, **settings)

    def interrupted():
        parts = ("--counts", "counts.npz", "--output", "parts")
        outcome = call("reproduce", *argv, *parts, "--threads", 1, cwd=place)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err

    table = field_selection.partition_table
    with mock.patch.object(field_selection, "partition_table", a_table):
        interrupted()
    score, done = Scorer.score, []

    def until_the_fourth(self, variant, *args):
        if len(done) == 3:
            raise Interrupted(15)
        done.append(variant)
        return score(self, variant, *args)

    with (
        mock.patch.object(Scorer, "score", until_the_fourth),
        mock.patch.object(field_selection, "partition_table", wraps=table) as tables,
    ):
        interrupted()
    assert tables.call_count == 4 + 2 * 8 - 8  # 4 of one field, 2 of two, were complete
    with (
        mock.patch.object(Scorer, "score", autospec=True, side_effect=score) as rest,
        mock.patch.object(field_selection, "partition_table") as no_tables,
    ):
        again = run(*argv, "--output", "parts", cwd=place)
    assert not no_tables.called
    wanted = PerplexitySettings((2,)).variants
    assert [each.args[1] for each in rest.call_args_list] == wanted[3:]
    del again["path"], whole["path"]
    assert without_seconds(again) == without_seconds(whole)


def test_other_penalties_are_scored_again(quick, no_pictures, place):
    other = ("--penalty", 0.1, "--length-scale", 1.25)
    with mock.patch.object(Scorer, "score", autospec=True, side_effect=Scorer.score) as made:
        first = run("lpmrf-wikipedia", *GIVEN, cwd=place)
        assert made.call_count == 3
        assert run("lpmrf-wikipedia", *GIVEN, cwd=place)["rows"] == first["rows"]
        assert made.call_count == 3
        run("lpmrf-wikipedia", *other, cwd=place)
        assert made.call_count == 5  # multinomials have no penalty


@pytest.mark.parametrize("kind", ["single", "mixture", "topics"])
def test_selection_by_training_documents_alone(kind, split):
    model = kind, 1 if kind == "single" else 2
    found = selected(cached(split), model, split, SETTINGS)
    assert np.isfinite(found.perplexity).all()
    other = replace(split, test=split.test[:1])
    others = selected(cached(other), model, other, SETTINGS)
    assert np.array_equal(others.perplexity, found.perplexity)
    assert found.penalty in SETTINGS.penalties
    assert found.length_scale in SETTINGS.length_scales
    with mock.patch.object(field_selection, "partition_table") as no_tables:
        again = selected(cached(split), model, split, SETTINGS)
    assert not no_tables.called
    assert np.array_equal(again.perplexity, found.perplexity)
    longer = replace(SETTINGS, penalties=(0.5, 0.2, 0.1))
    assert selected(cached(split), model, split, longer).perplexity.shape == (3, 2)


def test_cached_results_depend_on_documents_budget_and_seed(split):
    def key(split=split, **changed):
        return cached(split, replace(SETTINGS, **changed)).key

    assert key(n_topics=(3,), given=(1.0, 1.0)) == key()
    others = [
        key(seed=1),
        key(budget=replace(SMALL, n_samples=21)),
        key(HeldOut(split.train, split.train)),
        key(HeldOut(split.test, split.train)),
    ]
    assert len({*others, key()}) == 5
