"""`reproduce l2r-kl` and `l2r-convergence`: where counts come from, tables, files, going on."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import pipeline.reproduce.run as command
from corpora import Corpus, CorpusFormatError, write_corpus
from models import GammaPoissonTopics
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted, UsageError
from pipeline.reproduce import counts as l2r_counts
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018 import convergence_view as l2r_convergence
from pipeline.reproduce.capdevila2018 import kl_view as l2r_kl
from pipeline.reproduce.capdevila2018 import runs as l2r_runs
from pipeline.reproduce.capdevila2018.convergence import ConvergenceSettings
from pipeline.reproduce.capdevila2018.kl import KLSettings, selected, train, truth
from pipeline.reproduce.capdevila2018.runs import cached_scores, cached_topics, runs_of
from pipeline.reproduce.capdevila2018.scores import ESTIMATORS, Cell, Score, score
from pipeline.reproduce.claims import decided
from pipeline.reproduce.counts import corpora_of, name_of, read_counts
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.support import Outcome, call, flip, inside

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

L2R_EXPERIMENTS = ("l2r-kl", "l2r-convergence")

SMALL_KL = KLSettings(
    n_topics=2,
    n_words=10,
    n_documents=12,
    max_tokens=10,
    sizes=(4, 8),
    n_repeats=2,
    n_sweeps=6,
    burn_in=2,
)
SMALL_CONVERGENCE = ConvergenceSettings(
    n_topics=2,
    n_documents=8,
    sizes={"DS": (4, 20), "HM": (4,), "L2R": (4,), REFINED: (4, 8)},
    n_sweeps=6,
    burn_in=2,
)


def drawn_counts(seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(20, 0.3), 2)
    return sparse.csr_array(rng.poisson(rng.gamma(1.0, 4.0, (60, 2)) @ topic_word))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with counts.npz and docword.more.txt, which has no vocabulary beside it."""
    sparse.save_npz(tmp_path / "counts.npz", drawn_counts())
    write_docword(tmp_path / "docword.more.txt", drawn_counts(1))
    return tmp_path


def write_docword(path: Path, counts: sparse.csr_array) -> None:
    rows = [f"{d + 1} {w + 1} {n}" for (d, w), n in np.ndenumerate(counts.toarray()) if n]
    path.write_text("\n".join([*map(str, (*counts.shape, counts.nnz)), *rows]) + "\n")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    for module, small in ((l2r_kl, SMALL_KL), (l2r_convergence, SMALL_CONVERGENCE)):
        monkeypatch.setattr(
            module, "protocol", lambda settings, small=small: replace(small, seed=settings.seed)
        )


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def reproduced(*argv: object, cwd: Path, threads: int = 1) -> Outcome:
    outcome = call("reproduce", *argv, "--threads", threads, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome


def without_seconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", L2R_EXPERIMENTS)
def test_what_is_printed(
    experiment: str,
    quick: None,
    no_pictures: None,
    place: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = (experiment, "--counts", "counts.npz, docword.more.txt", "--json")
    result = reproduced(*argv, cwd=place).result
    directory = place / "reproduce" / experiment
    assert (result["experiment"], result["name"], result["seed"]) == (experiment, experiment, 0)
    assert json.loads((directory / f"{experiment}.json").read_text()) == result
    assert [each["corpus"] for each in result["corpora"]] == ["counts", "more"]
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    for name in ESTIMATORS if experiment == "l2r-kl" else SMALL_CONVERGENCE.sizes:
        assert sum(line.startswith(f"{name:11s} ") for line in lines) > 0


@pytest.mark.slow
@pytest.mark.parametrize("experiment", L2R_EXPERIMENTS)
def test_pictures_are_written(experiment: str, quick: None, place: Path) -> None:
    argv = (experiment, "--counts", "counts.npz,docword.more.txt", "--json")
    result = reproduced(*argv, cwd=place).result
    assert len(result["pictures"]) == {"l2r-kl": 6, "l2r-convergence": 4}[experiment]
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


@pytest.mark.parametrize("experiment", L2R_EXPERIMENTS)
def test_what_pictures_show(experiment: str, quick: None, place: Path) -> None:
    module: Any = {"l2r-kl": l2r_kl, "l2r-convergence": l2r_convergence}[experiment]
    for n_corpora in (1, 2):
        counts = ",".join(["counts.npz", "docword.more.txt"][:n_corpora])
        with inside(place):
            found = module.run(ReproduceSettings(counts=counts, threads=1), ResultCache())
        drawn = module.EXPERIMENT.draw(found)
        names = [experiment, f"{experiment}-{'error' if module is l2r_kl else 'seconds'}"]
        if module is l2r_kl and n_corpora == 2:
            names.append("l2r-kl-length")
        assert list(drawn) == names
        for name, draw in drawn.items():
            figure = Figure()
            draw(figure)
            shown = [axes for axes in figure.axes if axes.axison]
            assert len(shown) == (1 if name == "l2r-kl-length" else n_corpora)
            handles, labels = shown[0].get_legend_handles_labels()
            n_estimators = 3 if name == "l2r-kl-length" else len(found.drawn[0].log_likelihood)
            assert len(handles) == len(set(labels)) == n_estimators


def test_rows_are_those_of_the_experiment(quick: None, no_pictures: None, place: Path) -> None:
    argv = ("l2r-kl", "--counts", "counts.npz", "--seed", 3, "--json")
    result = reproduced(*argv, cwd=place).result
    settings = replace(SMALL_KL, seed=3)
    chosen = selected(drawn_counts(), settings)
    topics = train(chosen, settings)
    exact = truth(topics, chosen)
    (about,) = result["corpora"]
    assert (about["documents"], about["scored"]) == (60, len(chosen.rows))
    assert about["left_out_for_length"] == chosen.n_too_long > 0
    assert about["log_likelihood"] == exact.sum()
    assert len(result["rows"]) == len(ESTIMATORS) * 2
    row = next(r for r in result["rows"] if (r["estimator"], r["samples"]) == ("L2R", 8))
    scores = [
        score(topics, chosen.documents, Cell("L2R", 8, repeat), 3).log_likelihood
        for repeat in range(2)
    ]
    assert row["log_error"] == pytest.approx(np.mean(np.array(scores) - exact))
    assert all(r["kl"] >= 0 for r in result["rows"])


@pytest.mark.parametrize("experiment", L2R_EXPERIMENTS)
def test_the_same_rows_for_a_seed_whatever_the_threads(
    experiment: str, quick: None, no_pictures: None, place: Path
) -> None:
    def rows(seed: int, threads: int) -> object:
        argv = (experiment, "--counts", "counts.npz", "--seed", seed, "--json")
        where = ("--output", f"{seed}-{threads}")
        ResultCache().clear()
        return without_seconds(reproduced(*argv, *where, cwd=place, threads=threads).result["rows"])

    first = rows(1, 1)
    assert first == rows(1, 3)
    assert first != rows(2, 1)


def test_findings_say_where_they_fail() -> None:
    def found(name: str, errors: dict[str, float]) -> Any:
        chosen = selected(drawn_counts(), SMALL_KL)
        exact = np.random.default_rng(0).normal(-9, 1, 12)
        signs = np.broadcast_to(np.resize([1.0, -1.0], 12), (2, 2, 12))
        estimate = np.stack([exact + errors[e] * signs for e in ESTIMATORS])
        estimate[1] += errors.get("too high", 1.0)
        return l2r_kl.KLComparison(
            name, SMALL_KL, chosen, tuple(ESTIMATORS), exact, estimate, np.ones((5, 2, 2))
        )

    good = {"DS": 0.3, "HM": 0.5, "L2R": 0.1, "L2R exact": 0.03, REFINED: 0.003}
    bad = {"DS": 0.003, "HM": 0.5, "L2R": 0.1, "L2R exact": 0.3, REFINED: 0.6, "too high": -1.0}
    result = l2r_kl.as_json([found("good", good), found("bad", bad)])
    findings = decided(l2r_kl.CLAIMS, result)
    assert all("good" not in each.fails_at for each in findings)
    failed = {each.text for each in findings if each.fails_at == ("bad",)}
    assert len(failed) >= 6
    assert any("HM too high" in claim for claim in failed)


def test_numbers_that_json_cannot_hold() -> None:
    chosen = selected(drawn_counts(), SMALL_KL)
    exact = np.full(12, -9.0)
    estimate = np.full((5, 2, 1, 12), -np.inf)
    settings = replace(SMALL_KL, n_repeats=1)
    with np.errstate(invalid="ignore"):
        found = l2r_kl.KLComparison(
            "x", settings, chosen, tuple(ESTIMATORS), exact, estimate, np.ones((5, 2, 1))
        )
        result = l2r_kl.as_json([found])
    json.dumps(result, allow_nan=False)
    (table,) = l2r_kl.tables(result)
    assert all(row[2] == row[5] == "–" for row in table.cells)


# --- settings -------------------------------------------------------------------------------------


def test_scales() -> None:
    full = l2r_kl.protocol(ReproduceSettings(scale="full", seed=7))
    assert full == KLSettings(seed=7)
    quick = l2r_kl.protocol(ReproduceSettings())
    assert (quick.n_documents, quick.n_repeats, max(quick.sizes)) == (100, 3, 1000)
    asked = l2r_kl.protocol(ReproduceSettings(topics=3, scored=20, max_tokens=30))
    assert (asked.n_topics, asked.n_documents, asked.max_tokens) == (3, 20, 30)
    full_convergence = l2r_convergence.protocol(ReproduceSettings(scale="full"))
    assert full_convergence == ConvergenceSettings()
    asked_convergence = l2r_convergence.protocol(ReproduceSettings(topics=3, seed=2))
    assert (asked_convergence.n_topics, asked_convergence.n_documents) == (3, 30)
    assert asked_convergence.seed == 2


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ("l2r-kl --topics 0", "--topics must be at least 1, found 0"),
        ("l2r-kl --scored 1", "--scored must be at least 2, found 1"),
        ("l2r-kl --max-tokens 1", "--max-tokens must be at least 2, found 1"),
        ("l2r-convergence --topics x", "--topics must be a whole number"),
        ("l2r-convergence --seed -1", "--seed must be from 0"),
    ],
)
def test_usage_errors(argv: str, complaint: str, tmp_path: Path) -> None:
    outcome = call("reproduce", *shlex.split(argv), cwd=tmp_path)
    assert outcome.code == 2
    assert complaint in outcome.error
    assert not list(tmp_path.iterdir())


# --- counts ---------------------------------------------------------------------------------------


def as_docword(corpus: Corpus, directory: Path) -> str:
    write_docword(directory / "docword.a.txt", corpus.counts)
    return str(directory / "docword.a.txt")


def as_npz(corpus: Corpus, directory: Path) -> str:
    sparse.save_npz(directory / "a.npz", sparse.csc_matrix(corpus.counts))
    return str(directory / "a.npz")


def as_format(name: str) -> Callable[[Corpus, Path], str]:
    def write(corpus: Corpus, directory: Path) -> str:
        write_corpus(corpus, directory / name)
        return str(directory / name)

    return write


def as_corpus(corpus: Corpus, directory: Path) -> str:
    corpus.save(directory / "a")
    return str(directory / "a")


@pytest.mark.parametrize(
    "write",
    [as_docword, as_npz, as_corpus, as_format("a.mtx"), as_format("a.ldac"), as_format("a.jsonl")],
)
def test_counts_in_any_format(write: Callable[[Corpus, Path], str], tmp_path: Path) -> None:
    counts = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0], [0, 0, 4]]))
    corpus = Corpus(counts, ("a", "b", "c"), ("1", "2", "3"))
    path = write(corpus, tmp_path)
    assert name_of(path) == "a"
    assert read_counts(path).toarray().tolist() == counts.toarray().tolist()


def test_counts_that_cannot_be_used(place: Path) -> None:
    (place / "other").mkdir()
    sparse.save_npz(place / "other" / "counts.npz", drawn_counts())
    sparse.save_npz(place / "half.npz", 0.5 * drawn_counts())
    sparse.save_npz(place / "few.npz", sparse.csr_array(np.eye(4)))
    np.savez(place / "else.npz", a=np.ones(3))
    whole = (place / "counts.npz").read_bytes()
    (place / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (place / "unknown.xyz").touch()
    for counts, code, complaint in (
        ("nowhere.npz", 3, "nowhere.npz"),
        ("counts.npz,other/counts.npz", 2, "would both be called counts"),
        ("unknown.xyz", 2, "or .npz as SciPy writes it"),
        ("half.npz", 3, "counts must be whole numbers"),
        ("else.npz", 3, "no sparse matrix"),
        ("cut.npz", 3, "no sparse matrix"),
        ("few.npz", 2, "few: 0 documents have more than one"),
    ):
        outcome = call("reproduce", "l2r-kl", "--counts", counts, cwd=place)
        assert outcome.code == code, counts
        assert complaint in outcome.error
    outcome = call("reproduce", "l2r-convergence", "--counts", "few.npz", cwd=place)
    assert outcome.code == 2
    assert "few: of 4 documents" in outcome.error


def test_a_damaged_matrix_is_no_crash(place: Path) -> None:
    path = place / "counts.npz"
    content, n_refused = path.read_bytes(), 0
    for position in range(0, len(content), max(1, len(content) // 80)):
        flip(path, position, position % 8)
        try:
            read_counts(str(path))
        except CorpusFormatError:
            n_refused += 1
        path.write_bytes(content)
    assert n_refused > 20


def test_too_many_topics_for_the_exact_likelihood(place: Path) -> None:
    sparse.save_npz(place / "long.npz", sparse.csr_array(np.full((6, 12), 8)))
    argv = ("--counts", "long.npz", "--topics", 40, "--max-tokens", 200, "--threads", 1)
    with mock.patch.object(l2r_kl, "protocol", wraps=l2r_kl.protocol) as protocol:
        protocol.side_effect = lambda settings: replace(
            SMALL_KL, n_topics=settings.topics, max_tokens=settings.max_tokens
        )
        outcome = call("reproduce", "l2r-kl", *argv, cwd=place)
    assert outcome.code == 2
    assert "its exact likelihood needs" in outcome.error


@pytest.mark.slow
def test_the_sample_is_what_there_is_without_counts(
    tiny_finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(l2r_counts, "SAMPLE_STORE", "articles")
    filled: list[str] = []
    monkeypatch.setattr(l2r_counts, "download", lambda settings: filled.append(settings.output))
    with inside(tiny_finished):
        (found,) = corpora_of(ReproduceSettings(threads=1))
    assert filled == ["articles"]
    assert found.name == "sample"
    assert found.counts.shape[0] == 60
    in_documents = (found.counts.toarray() > 0).sum(axis=0)
    assert in_documents.min() >= 5
    assert in_documents.max() <= 30


def test_names_in_tables(tmp_path: Path) -> None:
    assert [name_of(path) for path in ("x/docword.kos.txt.gz", "b.c.npz")] == ["kos", "b.c"]
    with inside(tmp_path):
        (tmp_path / "d.e").mkdir()
        assert name_of("d.e/") == "d.e"
        (tmp_path / "d.e.npz").touch()
        with pytest.raises(UsageError, match="rename one"):
            corpora_of(ReproduceSettings(counts="d.e,d.e.npz"))


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", L2R_EXPERIMENTS)
def test_interrupted_it_goes_on_where_it_was(
    experiment: str, quick: None, no_pictures: None, place: Path
) -> None:
    argv = (experiment, "--counts", "counts.npz", "--json")
    whole = reproduced(*argv, "--output", "whole", cwd=place).result
    ResultCache().clear()
    small: Any = {"l2r-kl": SMALL_KL, "l2r-convergence": SMALL_CONVERGENCE}[experiment]
    done: list[Cell] = []

    def until_the_third(topics: Any, documents: Any, cell: Cell, *rest: Any) -> Score:
        if len(done) == 3:
            raise Interrupted(15)
        done.append(cell)
        return score(topics, documents, cell, *rest)

    with mock.patch.object(l2r_runs, "score", until_the_third):
        outcome = call("reproduce", *argv, "--output", "parts", cwd=place)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err
        assert not (place / "parts" / f"{experiment}.json").exists()
    module = {"l2r-kl": l2r_kl, "l2r-convergence": l2r_convergence}[experiment]
    with (
        mock.patch.object(l2r_runs, "score", wraps=score) as rest,
        mock.patch.object(module, "train") as train_again,
    ):
        again = reproduced(*argv, "--output", "parts", cwd=place).result
        assert not train_again.called
    assert [each.args[2] for each in rest.call_args_list] == small.cells[3:]
    assert without_seconds(again["rows"]) == without_seconds(whole["rows"])
    assert again["corpora"] == whole["corpora"]


def test_what_is_cached_comes_back_as_it_was() -> None:
    rng = np.random.default_rng(0)
    topics = GammaPoissonTopics(rng.dirichlet(np.ones(5), 2), np.ones(2), np.full(2, 0.5))
    group = runs_of(ResultCache(), "l2r-kl", SMALL_KL, drawn_counts())
    trained = mock.Mock(return_value=topics)
    for _ in range(2):
        cached = cached_topics(group, trained)
        for name in ("topic_word", "shape", "probability"):
            assert (getattr(cached, name) == getattr(topics, name)).all()
    assert trained.call_count == 1

    documents = sparse.csr_array(rng.poisson(0.7, (4, 5)))
    cells = [Cell("DS", 5), Cell("DS", 5, 1)]
    with mock.patch.object(l2r_runs, "score", wraps=score) as scored:
        first, second = (
            cached_scores(group, topics, documents, cells, 1, n_jobs=1, stage="x") for _ in range(2)
        )
    assert scored.call_count == 2
    for cell in cells:
        assert (second[cell].log_likelihood == first[cell].log_likelihood).all()
        assert (second[cell].standard_error == first[cell].standard_error).all()
        assert second[cell].seconds == first[cell].seconds


def test_what_results_depend_on() -> None:
    def key(settings: Any, counts: Any, experiment: str = "l2r-kl") -> str:
        return runs_of(ResultCache(), experiment, settings, counts).key

    counts = drawn_counts()
    first = key(SMALL_KL, counts)
    assert key(replace(SMALL_KL, sizes=(9,), n_repeats=7), counts) == first
    others = [
        key(replace(SMALL_KL, **each), counts)  # type: ignore[arg-type]
        for each in ({"seed": 9}, {"n_topics": 3}, {"n_documents": 5}, {"n_words": 4})
    ]
    others += [key(SMALL_KL, drawn_counts(1)), key(SMALL_CONVERGENCE, counts, "l2r-convergence")]
    assert len({*others, first}) == 7
