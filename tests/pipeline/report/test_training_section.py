"""The looks of a run, and why its training ended, from what it wrote down."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from corpora.errors import CorpusFormatError
from models import LDATopics, LPMRFTopics, SavedModel
from pipeline.report.sections import Look
from pipeline.report.training_section import training_section
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of
from tests.pipeline.report.made_up_runs import loaded

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.report.sections import TrainingSection

SETTINGS = TrainSettings(
    articles="articles",
    run="x",
    model="online",
    topics=3,
    seed=0,
    documents="article",
    spacy_model="blank:en",
    max_passes=10,
)
GETS_BETTER = (-500.0, -400.0, -300.0, -250.0, -240.0)
STANDS_STILL = (-500.0, -300.0, -301.0, -302.0, -303.0)


def line_of(score: float, passes: float | None, **more: Any) -> dict[str, Any]:
    number = 0 if passes is None else passes
    line = {
        "log_likelihood": score,
        "perplexity": 100.0 - score,
        "perplexity_standard_error": 2.5,
        "tokens": 80,
        "documents": int(100 * number),
        "seconds": 0.5 * number,
        "documents_per_second": 200.0,
    }
    return line | ({} if passes is None else {"passes": passes}) | more


def section_of(
    directory: Path,
    lines: list[dict[str, Any]],
    settings: TrainSettings = SETTINGS,
    **provenance: Any,
) -> TrainingSection | None:
    run = RunDirectory(directory / "runs" / "x")
    run.create(settings, {})
    run.write_metrics(lines)
    run.finish({"seconds": {"text": 3.0, "training": 12.5}, **provenance})
    kind = LPMRFTopics if settings.model == "poisson-mrf" else LDATopics
    model = SavedModel(object.__new__(kind), ())
    return training_section(loaded(run, model=model))


def ending_of(
    directory: Path,
    scores: tuple[float, ...],
    last_pass: float,
    settings: TrainSettings = SETTINGS,
    **provenance: Any,
) -> str:
    lines = [line_of(s, last_pass - len(scores) + 1 + i) for i, s in enumerate(scores)]
    best = max(range(len(scores)), key=lambda i: scores[i])
    known = {"documents_seen": lines[-1]["documents"], "best_look": best}
    section = section_of(directory, lines, settings, **{**known, **provenance})
    assert section is not None
    return section.ending


def test_looks_are_as_written(tmp_path: Path) -> None:
    lines = [
        line_of(-500.0, None, documents=7, validation_documents=3),  # of a stream
        line_of(-400.0, 1.0),  # of an old version
        line_of(-390.0, 2.0, bound_perplexity=600.0, bound_tokens=1_234),
        line_of(-395.0, 3.0, bound_perplexity=None, perplexity_standard_error=None),
    ]
    section = section_of(tmp_path, lines, documents_seen=300, best_look=2)
    assert section is not None
    assert section.best == 2
    assert section.looks == (
        Look(7, None, 0.0, 600.0, 2.5, None),
        Look(100, 1.0, 0.5, 500.0, 2.5, None),
        Look(200, 2.0, 1.0, 490.0, 2.5, 600.0),
        Look(300, 3.0, 1.5, 495.0, None, None),
    )
    assert section.measure == "completion of half of each document, given the other half"
    assert section.ending.endswith(
        "The bound on perplexity is of whole documents, 1,234 tokens in some of those for "
        "validation."
    )


def test_what_perplexity_is_of(tmp_path: Path) -> None:
    mrf = replace(SETTINGS, model="poisson-mrf")
    section = section_of(tmp_path / "mrf", [line_of(-1.0, 1.0)], mrf)
    assert section is not None
    assert section.measure == "likelihood of whole documents"
    section = section_of(tmp_path / "lda", [line_of(-1.0, 1.0)])
    assert section is not None
    assert "bound" not in section.measure + section.ending


def test_ended_by_early_stopping(tmp_path: Path) -> None:
    ending = ending_of(tmp_path, STANDS_STILL, 6.0)
    assert ending == (
        "Early stopping ended training after 6 passes over the training documents in 12.5 seconds: "
        "none of the last 3 looks was better than the best before by more than 0.01 % of the "
        "log-likelihood."
    )
    settings = replace(SETTINGS, stopping_patience=1, early_stopping="time")
    ending = ending_of(tmp_path / "one", STANDS_STILL[:3], 3.0, settings)
    assert "the last look was not, looked at by the clock, better" in ending


def test_patience_is_that_of_the_run(tmp_path: Path) -> None:
    patient = replace(SETTINGS, stopping_patience=4)
    assert "Early stopping" not in ending_of(tmp_path, STANDS_STILL, 6.0, patient)


def test_ended_by_the_most_passes(tmp_path: Path) -> None:
    ending = ending_of(tmp_path / "a", GETS_BETTER, 10.0)
    assert ending == (
        "Training ended at its limit of 10 passes (--max-passes) in 12.5 seconds; validation was "
        "still improving, so that more (--max-passes) may be worth while."
    )
    assert "still improving" not in ending_of(tmp_path / "b", (*GETS_BETTER, -245.0), 10.0)
    ending = ending_of(tmp_path / "c", STANDS_STILL, 10.0)
    assert ending.endswith("12.5 seconds; early stopping would have ended it there too.")


def test_rounds_of_poisson_mrfs_are_told_from_passes_of_lda(tmp_path: Path) -> None:
    gibbs = replace(SETTINGS, model="poisson-mrf", max_passes=3)
    n_lda = estimator_of(gibbs, 1).schedule.max_passes - 3
    ending = ending_of(tmp_path / "a", (-500.0, -490.0, -495.0), n_lda + 3.0, gibbs)
    assert ending == (
        "Training ended at its limit of 3 rounds with dependencies (--max-passes), after 200 "
        "passes of LDA in 12.5 seconds."
    )
    impatient = replace(gibbs, stopping_patience=1)
    ending = ending_of(tmp_path / "b", (-490.0, -495.0), n_lda + 2.0, impatient)
    assert ending.startswith(
        "Early stopping ended training after 200 passes of LDA and 2 rounds with dependencies in "
    )
    assert ending.endswith(" The first of the 2 looks was the best, and its topics are kept.")
    moves = replace(gibbs, assignments="moves")
    ending = ending_of(tmp_path / "c", (-500.0, -490.0), 9.0, moves)
    assert "its limit of 3 rounds in each of 3 stages (--max-passes)" in ending
    assert "after 5 rounds over" in ending_of(tmp_path / "d", (-500.0, -490.0), 5.0, moves)


def test_a_first_look_that_was_the_best_is_said(tmp_path: Path) -> None:
    falling = (-500.0, -510.0, -520.0, -530.0)
    expected = " The first of the 4 looks was the best, and its topics are kept."
    assert ending_of(tmp_path / "a", falling, 5.0).endswith(expected)
    assert "was the best" not in ending_of(tmp_path / "b", GETS_BETTER, 5.0)
    assert "was the best" not in ending_of(tmp_path / "c", (-500.0,), 1.0)


def test_ended_by_itself(tmp_path: Path) -> None:
    ending = ending_of(tmp_path, GETS_BETTER, 5.0)
    assert ending.startswith("Training came to its end by itself after 5 passes")
    assert ending.endswith("before the 10 that it was to make at most.")


@pytest.mark.parametrize("known", [{"documents_seen": 900}, {"documents_seen": None}])
def test_what_is_not_known_is_not_guessed(tmp_path: Path, known: dict[str, Any]) -> None:
    ending = ending_of(tmp_path, GETS_BETTER, 5.0, **known)
    assert ending == "Training was over in 12.5 seconds; why it ended is not known."


def test_old_versions_had_other_rules(tmp_path: Path) -> None:
    section = section_of(tmp_path, [line_of(-5.0, 1.0)], documents_seen=100)
    assert section is not None
    assert section.best is None
    assert section.ending.endswith("why it ended is not known.")


def test_looks_of_a_stream_do_not_end_training(tmp_path: Path) -> None:
    lines = [line_of(-1.0, None, documents=i) for i in range(1, 9)]
    lines += [line_of(s, i + 1.0) for i, s in enumerate(GETS_BETTER)]
    section = section_of(tmp_path, lines, documents_seen=500, best_look=12)
    assert section is not None
    assert "by itself" in section.ending
    section = section_of(tmp_path / "b", lines[:8], documents_seen=8)
    assert section is not None
    assert section.ending.endswith("why it ended is not known.")


def test_a_run_without_looks(tmp_path: Path) -> None:
    assert section_of(tmp_path / "a", []) is None
    none = replace(SETTINGS, early_stopping="none")
    section = section_of(tmp_path / "b", [], none, documents_seen=10, best_look=None)
    assert section is not None
    assert section.looks == ()
    assert section.best is None
    assert section.ending == (
        "Training was over in 12.5 seconds, without looks at validation documents, as "
        "--early-stopping none asked for."
    )


@pytest.mark.parametrize("best", [7, -1, "2", None])
def test_a_best_look_that_is_not_there(tmp_path: Path, best: Any) -> None:
    section = section_of(tmp_path, [line_of(-5.0, 1.0)], documents_seen=100, best_look=best)
    assert section is not None
    assert section.best is None


@pytest.mark.parametrize(
    "damage",
    [
        [1, 2],
        "text",
        {"documents": 3},
        line_of(-1.0, 1.0) | {"perplexity": "<script>"},
        line_of(-1.0, 1.0) | {"log_likelihood": None},
        line_of(-1.0, 1.0) | {"documents": float("inf")},
        line_of(-1.0, 1.0) | {"passes": "many"},
    ],
)
def test_damaged_lines(tmp_path: Path, damage: Any) -> None:
    what = ":2: not a look at validation|: not JSON lines: Infinity is no number of JSON"
    with pytest.raises(CorpusFormatError, match=rf"metrics.jsonl({what})"):
        section_of(tmp_path, [line_of(-1.0, 1.0), json.loads(json.dumps(damage))])


@pytest.mark.slow
def test_a_run_that_was_trained(tiny_gibbs: Path) -> None:
    for name in ("tiny", "gibbs"):
        run = RunDirectory(tiny_gibbs / "runs" / name)
        section = training_section(LoadedRun(run))
        assert section is not None
        assert section.best == run.provenance()["best_look"]
        assert all(look.bound_perplexity is not None for look in section.looks)
        passes = section.looks[-1].passes
        assert passes is not None
        expected = "Early stopping ended" if passes < 99 else "Training ended at its limit"
        assert section.ending.startswith(expected)
