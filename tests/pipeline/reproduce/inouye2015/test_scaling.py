"""`reproduce lpmrf-scaling`: documents, penalties, times, exponents, claims."""

import json
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import pipeline.reproduce.run as command
from models.poisson_mrf.node_regressions import fit_nodes
from pipeline.errors import Interrupted, UsageError
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import scaling
from pipeline.reproduce.inouye2015.scaling import (
    EXPERIMENT,
    PUBLISHED,
    PUBLISHED_PENALTY,
    SYMBOLS,
    TITLES,
    ScalingSettings,
    Timer,
    documents_of,
    penalty_for,
    powers,
    protocol,
    quickest,
    trials_of,
)
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import places, reproduced
from tests.pipeline.support import call

SMALL = ScalingSettings(
    documents=(40, 80),
    words=(4, 8),
    matrix_documents=(20, 40),
    matrix_words=(8,),
    topics=(2, 3),
    annealing_words=(4, 8),
    n_nonzeros=20,
    wanted_nonzeros=20,
    field_documents=60,
    n_samples=2,
    n_temperatures=3,
)
COMMAND = ("reproduce", "lpmrf-scaling", "--threads", 1, "--counts")


def drawn_counts(rate=1.0, n_docs=60):
    """Documents of two kinds over ten words, the first the most frequent."""
    rng = np.random.default_rng(4)
    rates = rate * np.linspace(1.5, 0.5, 10) * np.where(np.arange(10) % 2, 1.0, 0.2)
    kinds = np.stack([rates, rates[::-1]])
    return sparse.csr_array(rng.poisson(kinds[rng.integers(2, size=n_docs)]))


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Short work is not repeated."""
    monkeypatch.setattr(scaling, "MIN_SECONDS", 0.0)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with counts.npz; sizes are small."""
    sparse.save_npz(tmp_path / "counts.npz", drawn_counts())
    monkeypatch.setattr(scaling, "protocol", lambda settings, _: replace(SMALL, seed=settings.seed))
    return tmp_path


def run(cwd):
    return reproduced("lpmrf-scaling", "--counts", "counts.npz", cwd=cwd)


# --- documents and penalties ----------------------------------------------------------------------


def test_documents_come_once_before_any_comes_twice():
    counts = drawn_counts()
    counts = sparse.csr_array(sparse.vstack([counts, sparse.csr_array((3, 10), dtype=int)]))
    found = documents_of(counts, 150, 10, 0).toarray()
    n_filled = int((counts.sum(axis=1) > 0).sum())
    assert found.shape == (150, 10)
    assert (found.sum(axis=1) > 0).all()
    filled = counts.toarray()[np.asarray(counts.sum(axis=1)).ravel() > 0]
    for start in (0, n_filled):
        taken = found[start : start + n_filled].tolist()
        assert sorted(taken) == sorted(filled.tolist())
    # Fewer are the first of more, and another seed another order.
    assert (documents_of(counts, 70, 10, 0).toarray() == found[:70]).all()
    assert (documents_of(counts, 70, 10, 1).toarray() != found[:70]).any()


def test_the_most_frequent_words_are_kept():
    counts = drawn_counts()
    total = np.asarray(counts.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:4])
    n_filled = int((counts[:, kept].sum(axis=1) > 0).sum())
    found = documents_of(counts, n_filled, 4, 0)
    assert found.sum(axis=0).tolist() == total[kept].tolist()


def test_the_published_penalty_is_taken_where_it_gives_nonzeros():
    many = sparse.csr_array(20 * drawn_counts().toarray())
    assert penalty_for(many, SMALL) == {"penalty": PUBLISHED_PENALTY, "is_published": True}
    counts = drawn_counts(0.4)
    documents = documents_of(counts, 40, 8, SMALL.seed)
    assert not fit_nodes(documents, PUBLISHED_PENALTY).coefficients.nnz
    chosen = penalty_for(counts, SMALL)
    assert not chosen["is_published"]
    found = fit_nodes(documents, chosen["penalty"]).field().interactions.nnz
    assert 10 <= found <= 40  # of 56 that there can be, 20 are wanted


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ("counts.npz,other.npz", "lpmrf-scaling takes one file, found 2"),
        ("empty.npz", "empty: expected documents with some of 8 words, found none"),
        ("equal.npz", "--counts: equal: penalties must be positive"),
    ],
)
def test_refusals(counts, complaint, place):
    sparse.save_npz(place / "empty.npz", sparse.csr_array((9, 10), dtype=int))
    blocks = np.kron(np.diag([1, 40]), np.ones((5, 5), int))
    sparse.save_npz(place / "equal.npz", sparse.csr_array(blocks))
    outcome = call(*COMMAND, counts, cwd=place)
    assert outcome.code == 2
    assert complaint in outcome.error


def test_scales():
    full = protocol(ReproduceSettings(scale="full", seed=7), 10_337)
    assert full == ScalingSettings(seed=7)
    quick = protocol(ReproduceSettings(), 4_192)
    assert quick.words == (500, 1_000, 2_000)
    few = protocol(ReproduceSettings(), 100)
    assert (few.words, few.matrix_words) == ((25, 50, 100), (50, 100))
    with pytest.raises(UsageError, match="takes 8 words at least"):
        protocol(ReproduceSettings(), 5)


# --- times ----------------------------------------------------------------------------------------


def test_nonzeros_are_those_of_the_model():
    counts = drawn_counts()
    timer = Timer(counts, SMALL, 0.05)
    ((*sizes, _),) = timer.regressions(80, 8)
    field = fit_nodes(documents_of(counts, 80, 8, 0), 0.05).field()
    assert sizes == [80, 8, 0, field.interactions.nnz]
    assert field.interactions.nnz > 0
    first, second = timer.matrices(8, 2)
    assert first[3] == second[3] > 0


def test_annealing_goes_from_few_nonzeros_to_those_wanted():
    timer = Timer(drawn_counts(), SMALL, 1.0)
    nonzeros = [each[3] for each in timer.annealing(8)]
    assert nonzeros == sorted(nonzeros)
    assert nonzeros[-1] >= SMALL.n_nonzeros
    assert all(n < SMALL.n_nonzeros for n in nonzeros[:-1])
    # There can be no more than 12 over four words: it ends with the least penalty.
    assert timer.annealing(4)[-1][3] <= 12


def test_short_work_is_timed_several_times(monkeypatch):
    clock = iter(np.cumsum([0, 3.0, 0, 1.0, 0, 2.0, 0, 5.0]).tolist())
    monkeypatch.setattr(scaling.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(scaling, "MIN_SECONDS", 5.5)
    done = []
    assert quickest(lambda: done.append(1)) == 1.0
    assert len(done) == 3


def test_times_are_printed_and_written(no_pictures, place, capsys):
    result = run(place)
    written = place / "reproduce" / "lpmrf-scaling" / "lpmrf-scaling.json"
    assert json.loads(written.read_text()) == result
    assert result["cores"] >= 1
    assert result["threads"] == 1
    rows = {part: [row for row in result["rows"] if row["part"] == part] for part in TITLES}
    assert all(row["seconds"] > 0 for row in result["rows"])
    sizes = [(row["n_docs"], row["n_words"]) for row in rows["regressions"]]
    assert sizes == [(40, 4), (40, 8), (80, 4), (80, 8)]
    sizes = [(row["n_docs"], row["n_words"], row["n_topics"]) for row in rows["matrices"]]
    assert sizes == [(20, 8, 2), (40, 8, 2), (20, 8, 3), (40, 8, 3)]
    assert {row["n_words"] for row in rows["annealing"]} == {4, 8}
    assert {(each["part"], each["of"]) for each in result["powers"]} >= {
        ("regressions", "n_docs"),
        ("regressions", "n_words"),
        ("matrices", "n_topics"),
        ("annealing", "n_words"),
    }
    assert len(result["findings"]) == 3
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "reproduce/lpmrf-scaling: lpmrf-scaling.json"
    assert any(line.split()[:2] == ["40", "4"] for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_interrupted_timing_continues(no_pictures, place, monkeypatch):
    monkeypatch.setattr(scaling, "warm_up", mock.Mock())
    done, limit = [], 3

    def counted(part):
        work = getattr(Timer, part)

        def timed(self, *size):
            if len(done) == limit:
                raise Interrupted(15)
            done.append((part, *size))
            return work(self, *size)

        return timed

    for part in TITLES:
        monkeypatch.setattr(Timer, part, counted(part))
    outcome = call(*COMMAND, "counts.npz", cwd=place)
    assert outcome.code == 143
    assert "give the same command again" in outcome.err
    limit = np.inf
    result = run(place)
    assert done == trials_of(SMALL)
    with mock.patch.object(scaling, "penalty_for") as chosen:
        assert run(place) == result
    assert not chosen.called
    assert done == trials_of(SMALL)


# --- exponents ------------------------------------------------------------------------------------


def timing(part, *sizes, seconds):
    return {"part": part, **dict(zip(SYMBOLS, sizes, strict=True)), "seconds": float(seconds)}


EXPONENTS = {"n_docs": 1.0, "n_words": 0.5, "n_topics": 2.0}


def timings_of(noise, seed=0):
    rng = np.random.default_rng(seed)
    return [
        timing(
            *("matrices", n, p, k, 7),
            seconds=1e-6
            * n ** EXPONENTS["n_docs"]
            * p ** EXPONENTS["n_words"]
            * k ** EXPONENTS["n_topics"]
            * np.exp(noise * rng.normal()),
        )
        for n in (100, 400, 1000)
        for p in (10, 50, 90)
        for k in (3, 5, 10)
    ]


def power_of(rows):
    return {each["of"]: each for each in powers(rows)}


def test_exponents_without_noise_are_found():
    found = power_of(timings_of(0.0))
    for name, exponent in EXPONENTS.items():
        assert found[name]["exponent"] == pytest.approx(exponent, abs=1e-9)
        assert found[name]["standard_error"] < 1e-9
    # A size that does not vary has no exponent; with as many sizes as timings there is no error.
    some = [each for each in timings_of(0.0) if each["n_topics"] == 3]
    assert list(power_of(some)) == ["n_docs", "n_words"]
    two = [each for each in some if each["n_words"] == 10][:2]
    assert power_of(two)["n_docs"]["standard_error"] is None


def test_standard_errors_of_exponents_are_those_of_noise():
    n_seeds = 200
    found = [power_of(timings_of(0.3, seed)) for seed in range(n_seeds)]
    for name, exponent in EXPONENTS.items():
        ours = np.array([each[name]["exponent"] for each in found])
        errors = np.array([each[name]["standard_error"] for each in found])
        t = (ours - exponent) / errors
        # t of 23 degrees of freedom: mean 0, variance 23/21, excess 6/19; four standard errors.
        assert abs(t.mean()) < 4 * np.sqrt(23 / 21 / n_seeds)
        assert abs(t.var() - 23 / 21) < 4 * 23 / 21 * np.sqrt((2 + 6 / 19) / n_seeds)
        wrong = (ours - exponent - 0.2) / errors
        assert abs(wrong.mean()) > 4 * np.sqrt(23 / 21 / n_seeds)


def result_of(n, k, p):
    """Return a result with exponents of documents, topics, and words in annealing."""
    sizes = (2, 4, 9)
    rows = [
        *(timing("regressions", d, w, 0, 5, seconds=d**n * w) for d in sizes for w in (3, 9)),
        *(timing("matrices", d, 9, t, 5, seconds=d * t**k) for d in sizes for t in (3, 9)),
        *(timing("annealing", 9, w, 0, e, seconds=e * w**p) for e in (20, 40) for w in sizes),
    ]
    return {"name": "x", "rows": rows, "powers": powers(rows)}


@pytest.mark.parametrize(
    ("exponents", "failing"),
    [
        ((1.0, 2.0, 0.0), [[], [], []]),
        ((0.5, 1.0, -0.5), [[], [], []]),
        ((1.5, 2.5, 0.5), [["n"], ["k"], ["p"]]),
    ],
)
def test_claims_name_the_sizes_with_too_large_exponents(exponents, failing):
    result = result_of(*exponents)
    json.dumps(result, allow_nan=False)
    assert list(places(EXPERIMENT, result).values()) == failing
    found = {(each["part"], each["of"]): each["exponent"] for each in result["powers"]}
    if exponents == (1.0, 2.0, 0.0):
        for (part, size), exponent in found.items():
            assert exponent == pytest.approx(PUBLISHED[part][size], abs=1e-9)


def test_the_figure_has_three_panels_with_a_line_for_each_size():
    (draw,) = EXPERIMENT.draw(Found(result_of(1.0, 2.0, 0.0))).values()
    figure = Figure()
    draw(figure)
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 3]
