"""`reproduce lpmrf-dependencies` and `lpmrf-scaling`: what comes out, files, going on."""

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
from corpora import Corpus, write_corpus
from models import SavedModel
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topic_model import LPMRFTopicModel
from models.poisson_mrf.topics import LPMRFTopics
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted, UsageError
from pipeline.reproduce import counts as experiment_counts
from pipeline.reproduce.counts import Named, words_of_counts
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import dependencies_view as lpmrf_dependencies
from pipeline.reproduce.inouye2015 import scaling as timed
from pipeline.reproduce.inouye2015 import scaling_view as lpmrf_scaling
from pipeline.reproduce.inouye2015.dependencies import (
    KINDS,
    PUBLISHED,
    compared,
    training_part,
)
from pipeline.reproduce.inouye2015.dependencies_view import Learned
from pipeline.reproduce.inouye2015.scaling import Scaling, ScalingSettings, Timing, steps
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.runs.topics import topic_rows
from tests.pipeline.reproduce.support import places
from tests.pipeline.support import Outcome, call, inside

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

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
WORDS = ("ash", "birch", "cedar", "date", "elm", "fir", "gum", "hazel", "ivy")
PUBLISHED_WORDS = tuple(
    sorted(
        {
            word
            for topic in PUBLISHED
            for each in (topic.words, *topic.positive, *topic.negative)
            for word in each
        }
    )
)


def drawn_counts(n_docs: int = 90) -> sparse.csr_array:
    """Documents of three kinds; of each three words, two come together or not at all."""
    rng = np.random.default_rng(2)
    kind = np.arange(n_docs) % 3
    counts = rng.poisson(0.2, (n_docs, 9))
    for k in range(3):
        of_kind = np.flatnonzero(kind == k)
        together = rng.poisson(3.0, len(of_kind)) * rng.integers(2, size=len(of_kind))
        counts[of_kind, 3 * k] += together
        counts[of_kind, 3 * k + 1] += together
        counts[of_kind, 3 * k + 2] += 1 + rng.poisson(2.0, len(of_kind))
    return sparse.csr_array(counts)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with counts.npz and a vocabulary beside it."""
    sparse.save_npz(tmp_path / "counts.npz", drawn_counts())
    (tmp_path / "counts.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    return tmp_path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker than quick."""
    monkeypatch.setattr(
        lpmrf_scaling, "protocol", lambda settings, _: replace(SMALL, seed=settings.seed)
    )
    monkeypatch.setattr(timed, "LEAST_SECONDS", 0.0)
    for name in ("n_samples", "n_temperatures"):
        monkeypatch.setitem(lpmrf_dependencies.PROTOCOL, name, 3)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(command, "write_figures", mock.Mock(return_value=[]))


def reproduced(*argv: object, cwd: Path, threads: int = 1) -> Outcome:
    outcome = call("reproduce", *argv, "--threads", threads, cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome


DEPENDENCIES = ("lpmrf-dependencies", "--counts", "counts.npz", "--penalty", 0.02)


# --- Table 1 --------------------------------------------------------------------------------------


def test_topics_are_those_of_the_protocol(
    no_pictures: None, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = reproduced(*DEPENDENCIES, "--seed", 4, "--json", cwd=place).result
    written = place / "reproduce" / "lpmrf-dependencies" / "lpmrf-dependencies.json"
    assert json.loads(written.read_text()) == result
    trainer = LPMRFTopicModel(
        3,
        **lpmrf_dependencies.PROTOCOL,
        penalty=0.02,
        length_scale=1.5,
        random_state=4,
    )
    model = SavedModel(trainer.fit(training_part(drawn_counts())).topics_, WORDS)
    assert trainer.assignments == "moves"
    ours = {row["topic"]: row for row in result["rows"]}
    effect = topic_rows(model, 10, 10, "effect")
    for row, by_effect in zip(topic_rows(model, 10, 10), effect, strict=True):
        assert ours[row["topic"]]["words"] == row["words"]
        assert ours[row["topic"]]["positive"] == list(row["positive"])
        assert ours[row["topic"]]["positive_by_effect"] == list(by_effect["positive"])
        assert ours[row["topic"]]["negative_by_effect"] == list(by_effect["negative"])
    assert sum(row["prevalence"] for row in result["rows"]) == pytest.approx(1.0)
    # Words that were planted to come together are the strongest pairs of the three topics.
    planted = {("ash", "birch"), ("date", "elm"), ("gum", "hazel")}
    strongest = {
        tuple(sorted((row["positive"][0]["first"], row["positive"][0]["second"])))
        for row in result["rows"]
    }
    assert strongest == planted
    assert result["published"] == result["findings"] == []
    command.print_reproduction(result)
    text = capsys.readouterr().out
    assert "Not compared with the published table" in " ".join(text.split())
    assert "ash+birch" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def learned(words: tuple[str, ...], is_published: bool) -> Learned:
    """A model of all words of Table 1 with its dependencies, or without them, topics reversed."""
    place = {word: w for w, word in enumerate(words)}
    fields = []
    for topic in PUBLISHED[::-1]:
        node = np.full(len(words), -8.0)
        node[[place[word] for word in topic.words]] = -np.linspace(2.0, 3.0, 10)
        phi = np.zeros((len(words), len(words)))
        signs = (topic.positive, 1.0), (topic.negative, -1.0)
        for pairs, sign in signs if is_published else ():
            for n, (first, second) in enumerate(pairs):
                s, t = place[first], place[second]
                phi[s, t] = phi[t, s] = sign * (1.0 - 0.05 * n)
        fields.append(FixedLengthPoissonMRF(node, sparse.csr_array(phi), 9.0))
    topics = LPMRFTopics.of_fields(fields, np.zeros((3, 4)), np.ones(3))
    model = SavedModel(topics, words, prevalence=np.array([0.2, 0.3, 0.5]))
    corpus = Named("made up", sparse.csr_array(np.eye(len(words), dtype=int)), words)
    rankings = {by: lpmrf_dependencies._all(model, by) for by in ("weight", "effect")}
    found = {by: compared(topics) for by, topics in rankings.items()}
    return Learned(corpus, model, 0.1, 1.5, 2.0, found)


def test_the_published_table_is_found_in_its_own_model(capsys: pytest.CaptureFixture[str]) -> None:
    found = learned(PUBLISHED_WORDS, is_published=True)
    findings = lpmrf_dependencies.EXPERIMENT.findings(Found({}, found))
    result = lpmrf_dependencies.as_json(found)
    result["findings"] = [each.as_json() for each in findings]
    json.dumps(result, allow_nan=False)
    by_weight = [row for row in result["published"] if row["by"] == "weight"]
    assert len(by_weight) == 3 * len(KINDS)
    for row in by_weight:
        assert row["topic"] == 2 - row["published_topic"]
        assert row["found"] == {"12": 10, "50": 10}
        assert [place["place"] for place in row["places"]] == list(range(1, 11))
    assert all(each.holds for each in findings)
    command.print_reproduction(
        {**result, "experiment": "lpmrf-dependencies", "pictures": [], "path": "x"}
    )
    text = capsys.readouterr().out
    assert "Topic 2, 50.0% of tokens\n" in text
    assert "20 dependencies, the strongest by Φ and by effect" in text
    assert "Table 1 has it as topic 1" in " ".join(text.split())
    assert "language+natural*" in text
    (line, *_) = (line for line in text.splitlines() if "weight" in line)
    assert line.split()[-3:] == ["10"] * 3
    assert all(line == line.rstrip() for line in text.splitlines())


def test_findings_say_which_topics_did_not_come_out() -> None:
    found = learned(PUBLISHED_WORDS, is_published=False)
    result = lpmrf_dependencies.as_json(found)
    words, positive, negative = places(lpmrf_dependencies.EXPERIMENT, found).values()
    assert words == []
    assert positive == negative == [f"published topic {number}" for number in (1, 2, 3)]
    assert all(
        place["place"] is None
        for row in result["published"]
        if row["kind"] != "words"
        for place in row["places"]
    )


def test_the_picture_has_a_panel_for_each_topic() -> None:
    found = Found({"name": "x"}, learned(PUBLISHED_WORDS, is_published=True))
    (draw,) = lpmrf_dependencies.EXPERIMENT.draw(found).values()
    figure = Figure(figsize=(10, 6))
    draw(figure)
    assert len(figure.axes) == 3


@pytest.mark.slow
def test_interrupted_training_goes_on(
    no_pictures: None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reproduced(*DEPENDENCIES, "--json", "--output", "whole", cwd=place).result
    ResultCache().clear()
    monkeypatch.setattr(lpmrf_dependencies, "CHECKPOINT_SECONDS", 0.0)
    trained: list[Any] = []
    iterate = LPMRFTopicModel.iterate

    def until_the_third(self: LPMRFTopicModel, *args: Any, **named: Any) -> Any:
        for step in iterate(self, *args, **named):
            trained.append(step)
            yield step
            if len(trained) == 3:
                raise Interrupted(15)

    with mock.patch.object(LPMRFTopicModel, "iterate", until_the_third):
        outcome = call("reproduce", *DEPENDENCIES, "--output", "parts", "--threads", 1, cwd=place)
        assert outcome.code == 143
        again = reproduced(*DEPENDENCIES, "--json", "--output", "parts", cwd=place).result
    assert [step.n_rounds for step in trained] == list(range(1, len(trained) + 1))
    assert len(trained) > 4
    for result in (again, whole):
        del result["path"], result["seconds"]
    assert again == whole
    # A checkpoint that is damaged is none.
    (path,) = ResultCache().directory.glob("*/*.npz")
    path.write_bytes(path.read_bytes()[:200])
    anew = reproduced(*DEPENDENCIES, "--json", "--output", "parts", cwd=place).result
    assert anew["rows"] == whole["rows"]


# --- counts and words -----------------------------------------------------------------------------


def test_words_of_counts(place: Path) -> None:
    corpus = Corpus(drawn_counts(), WORDS, tuple(map(str, range(90))))
    for name in ("a.jsonl", "b.mtx", "c.ldac"):
        write_corpus(corpus, place / name)
    (place / "others.txt").write_text("".join(f"{word}s\n" for word in WORDS))
    others = tuple(f"{word}s" for word in WORDS)
    for counts, vocabulary, expected in (
        ("counts.npz", "", WORDS),
        ("counts.npz", "others.txt", others),
        ("counts.npz", "numbers", tuple("012345678")),
        ("a.jsonl", "", WORDS),
        ("b.mtx", "", WORDS),
        ("c.ldac", "others.txt", others),
    ):
        with inside(place):
            found = words_of_counts(ReproduceSettings(counts=counts, vocabulary=vocabulary))
        assert found.words == expected
        assert found.name == counts.split(".")[0]
        assert found.counts.sum() == drawn_counts().sum()


@pytest.mark.slow
def test_the_sample_is_what_there_is_without_counts(
    tiny_finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_counts, "SAMPLE_STORE", "articles")
    filled: list[str] = []
    monkeypatch.setattr(
        experiment_counts, "download", lambda settings: filled.append(settings.output)
    )
    with inside(tiny_finished):
        found = words_of_counts(ReproduceSettings(threads=1))
    assert filled == ["articles"]
    assert found.name == "sample"
    assert found.counts.shape[1] == len(found.words) > 0
    assert found.counts.sum() > 0


def test_what_cannot_be_used(place: Path) -> None:
    sparse.save_npz(place / "bare.npz", drawn_counts())
    sparse.save_npz(place / "few.npz", sparse.csr_array(np.eye(2, 9, dtype=int)))
    (place / "few.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    (place / "short.txt").write_text("ash\nbirch\n")
    (place / "x.xyz").touch()
    for argv, code, complaint in (
        ("--counts counts.npz,bare.npz", 2, "expected one file, found 2"),
        ("--counts nowhere.npz", 3, "nowhere.npz"),
        ("--counts bare.npz", 2, "--vocabulary: bare.npz: no vocabulary beside it"),
        ("--counts bare.npz --vocabulary nowhere.txt", 3, "nowhere.txt"),
        ("--counts bare.npz --vocabulary short.txt", 2, "short.txt has 2 words"),
        ("--counts x.xyz", 2, "or .npz as SciPy writes it"),
        ("--vocabulary short.txt", 2, "--vocabulary is of --counts"),
        ("--counts few.npz", 2, "few: 3 topics need as many documents"),
        ("--counts counts.npz --penalty 0", 2, "--penalty must be positive"),
        ("--counts counts.npz --length-scale -1", 2, "--length-scale must be positive"),
    ):
        outcome = call("reproduce", "lpmrf-dependencies", *shlex.split(argv), cwd=place)
        assert outcome.code == code, (argv, outcome.err)
        assert complaint in outcome.error
    outcome = call("reproduce", "lpmrf-scaling", "--counts", "counts.npz,bare.npz", cwd=place)
    assert outcome.code == 2
    assert "expected one file, found 2" in outcome.error


# --- Figure 4 -------------------------------------------------------------------------------------

SCALING = ("lpmrf-scaling", "--counts", "counts.npz")


def test_times_are_printed_and_written(
    no_pictures: None, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = reproduced(*SCALING, "--json", cwd=place).result
    written = place / "reproduce" / "lpmrf-scaling" / "lpmrf-scaling.json"
    assert json.loads(written.read_text()) == result
    assert result["cores"] >= 1
    assert result["threads"] == 1
    parts = [row["part"] for row in result["rows"]]
    assert [parts.count(part) for part in ("regressions", "matrices")] == [4, 4]
    assert parts.count("annealing") >= 2
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


def test_findings_say_where_time_grows_too_fast() -> None:
    def found(n: float, k: float, p: float) -> list[list[str]]:
        timings = [
            *(Timing("regressions", d, w, 0, 5, d**n * w) for d in (2, 4, 9) for w in (3, 9)),
            *(Timing("matrices", d, 9, t, 5, d * t**k) for d in (2, 4, 9) for t in (3, 9)),
            *(Timing("annealing", 9, w, 0, e, e * w**p) for e in (20, 40, 90) for w in (3, 9)),
        ]
        scaling = Scaling(SMALL, 1.0, True, tuple(timings))
        json.dumps(lpmrf_scaling.as_json(Named("x", drawn_counts()), 2, scaling), allow_nan=False)
        return list(places(lpmrf_scaling.EXPERIMENT, scaling).values())

    assert found(1.0, 2.0, 0.0) == [[], [], []]
    assert found(0.5, 1.0, -0.5) == [[], [], []]
    assert found(1.5, 2.5, 0.5) == [["n"], ["k"], ["p"]]


def test_the_picture_has_three_panels_with_a_line_for_each_size() -> None:
    timings = [
        *(Timing("regressions", n, p, 0, 5, n * p) for n in (2, 4) for p in (3, 9, 20)),
        *(Timing("matrices", n, p, k, 5, n * k) for n in (2, 4) for p in (9, 20) for k in (3, 9)),
        *(Timing("annealing", 9, p, 0, e, e) for e in (20, 40) for p in (3, 9, 20)),
    ]
    found = Found({"name": "x"}, Scaling(SMALL, 1.0, True, tuple(timings)))
    (draw,) = lpmrf_scaling.EXPERIMENT.draw(found).values()
    figure = Figure()
    draw(figure)
    assert [len(axes.lines) for axes in figure.axes] == [2, 4, 3]


def test_interrupted_timing_goes_on(no_pictures: None, place: Path) -> None:
    done: list[str] = []

    def until_the_third(*args: Any) -> Any:
        for name, measure in steps(*args):

            def counted(name: str = name, measure: Any = measure) -> Any:
                if len(done) == 3:
                    raise Interrupted(15)
                done.append(name)
                return measure()

            yield name, counted

    with mock.patch.object(lpmrf_scaling, "steps", until_the_third):
        outcome = call("reproduce", *SCALING, "--threads", 1, cwd=place)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err
        first = done.copy()
        done[:] = ["again"] * 4
        result = reproduced(*SCALING, "--json", cwd=place).result
    rest = [name for name in done if name != "again"]
    names = [name for name, _ in steps(drawn_counts(), SMALL, 1.0)]
    assert first + rest == names
    with mock.patch.object(lpmrf_scaling, "penalty_for") as chosen:
        assert reproduced(*SCALING, "--json", cwd=place).result == result
        assert not chosen.called


def test_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    full = lpmrf_scaling.protocol(ReproduceSettings(scale="full", seed=7), 10_337)
    assert full == ScalingSettings(seed=7)
    quick = lpmrf_scaling.protocol(ReproduceSettings(), 4_192)
    assert quick.words == (500, 1_000, 2_000)
    assert quick.most_words == 2_000
    few = lpmrf_scaling.protocol(ReproduceSettings(), 100)
    assert (few.words, few.matrix_words) == ((25, 50, 100), (50, 100))
    with pytest.raises(UsageError, match="takes 8 words at least"):
        lpmrf_scaling.protocol(ReproduceSettings(), 5)
