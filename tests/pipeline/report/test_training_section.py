import json
import re
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import CorpusFormatError
from models import LDATopics, LPMRFTopics, SavedModel
from pipeline.report.sections import CheckRow
from pipeline.report.training_section import training_section
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of
from tests.pipeline.report.made_up_runs import loaded

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
N_LDA = (
    estimator_of(replace(SETTINGS, model="poisson-mrf", max_passes=3), 1).schedule.max_passes - 3
)
UNKNOWN = "Training ended in 12.5 seconds; the reason is not known."
MRF = {"model": "poisson-mrf", "max_passes": 3}


def line_of(score, passes, **more):
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


def section_of(directory, lines, settings=SETTINGS, **provenance):
    run = RunDirectory(directory / "runs" / "x")
    run.create(settings, {})
    run.write_metrics(lines)
    run.finish({"seconds": {"text": 3.0, "training": 12.5}, **provenance})
    kind = LPMRFTopics if settings.model == "poisson-mrf" else LDATopics
    return training_section(loaded(run, model=SavedModel(object.__new__(kind), ())))


def test_checks_are_as_written(tmp_path):
    lines = [
        line_of(-500.0, None, documents=7, validation_documents=3),  # of a stream
        line_of(-400.0, 1.0),  # of an old version
        line_of(-390.0, 2.0, bound_perplexity=600.0, bound_tokens=1_234),
        line_of(-395.0, 3.0, bound_perplexity=None, perplexity_standard_error=None),
    ]
    section = section_of(tmp_path, lines, documents_seen=300, best_look=2)
    assert section.best == 2
    assert section.checks == (
        *(CheckRow(7, None, 0.0, 600.0, 2.5, None), CheckRow(100, 1.0, 0.5, 500.0, 2.5, None)),
        *(CheckRow(200, 2.0, 1.0, 490.0, 2.5, 600.0), CheckRow(300, 3.0, 1.5, 495.0, None, None)),
    )
    assert section.measure == "completion of half of each document, given the other half"
    assert section.ending.endswith(
        "for whole documents: 1,234 tokens in some of the validation documents."
    )


def test_measure_of_perplexity(tmp_path):
    mrf = replace(SETTINGS, model="poisson-mrf")
    section = section_of(tmp_path / "mrf", [line_of(-1.0, 1.0)], mrf)
    assert section.measure == "likelihood of whole documents"
    section = section_of(tmp_path / "lda", [line_of(-1.0, 1.0)])
    assert "bound" not in section.measure + section.ending


@pytest.mark.parametrize(
    ("scores", "last_pass", "settings", "known", "ending"),
    [
        (
            *(STANDS_STILL, 6, {}, {}),
            (
                "Early stopping ended training after 6 passes over the training documents in "
                "12.5 seconds: none of the last 3 checks was better than the best before by more "
                "than 0.01 % of the log-likelihood."
            ),
        ),
        (
            *(STANDS_STILL[:3], 3, {"stopping_patience": 1, "early_stopping": "time"}, {}),
            "…the last check was not, timed by the clock, better…",
        ),
        (
            *(GETS_BETTER, 10, {}, {}),
            (
                "Training ended at its limit of 10 passes (--max-passes) in 12.5 seconds; "
                "validation was still improving, so more (--max-passes) may help."
            ),
        ),
        ((*GETS_BETTER, -245.0), 10, {}, {}, "…limit of 10 passes (--max-passes) in 12.5 seconds."),
        (STANDS_STILL, 10, {}, {}, "…seconds; early stopping would have ended it there too."),
        (
            *((-500.0, -490.0, -495.0), N_LDA + 3, MRF, {}),
            (
                "Training ended at its limit of 3 rounds with dependencies (--max-passes), after "
                "200 passes of LDA in 12.5 seconds."
            ),
        ),
        (
            *((-490.0, -495.0), N_LDA + 2, MRF | {"stopping_patience": 1}, {}),
            (
                "Early stopping ended training after 200 passes of LDA and 2 rounds with "
                "dependencies in … The first of the 2 checks was the best, and its topics are kept."
            ),
        ),
        (
            *((-500.0, -490.0), 9, MRF | {"assignments": "moves"}, {}),
            "…its limit of 3 rounds in each of 3 stages (--max-passes)…",
        ),
        ((-500.0, -490.0), 5, MRF | {"assignments": "moves"}, {}, "…after 5 rounds over…"),
        (
            *((-500.0, -510.0, -520.0, -530.0), 5, {}, {}),
            "… The first of the 4 checks was the best, and its topics are kept.",
        ),
        (
            *(GETS_BETTER, 5, {}, {}),
            (
                "Training ended by itself after 5 passes over the training documents in 12.5 "
                "seconds, before its limit of 10."
            ),
        ),
        (STANDS_STILL, 6, {"stopping_patience": 4}, {}, "Training ended by itself after 6 passes…"),
        ((-500.0,), 1, {}, {}, "Training ended by itself after 1 pass… limit of 10."),
        (GETS_BETTER, 5, {}, {"documents_seen": 900}, UNKNOWN),
        (GETS_BETTER, 5, {}, {"documents_seen": None}, UNKNOWN),
    ],
)
def test_endings(tmp_path, scores, last_pass, settings, known, ending):
    lines = [line_of(s, float(last_pass - len(scores) + 1 + i)) for i, s in enumerate(scores)]
    usual = {"documents_seen": lines[-1]["documents"], "best_look": int(np.argmax(scores))}
    section = section_of(tmp_path, lines, replace(SETTINGS, **settings), **{**usual, **known})
    assert re.fullmatch(re.escape(ending).replace("…", ".*"), section.ending)


@pytest.mark.parametrize(("final", "best"), [(-230.0, 5), (-260.0, 4)])
def test_the_check_of_final_topics_does_not_end_training(tmp_path, final, best):
    """However much better or worse these are, training improved up to its limit."""
    lines = [line_of(s, i + 6.0, best_perplexity=100.0 - s) for i, s in enumerate(GETS_BETTER)]
    lines.append(line_of(final, 10.0, finished=True))
    settings = replace(SETTINGS, model="gibbs")
    ending = section_of(tmp_path, lines, settings, documents_seen=1000, best_look=best).ending
    assert "validation was still improving" in ending
    assert ending.endswith(
        "The last check is of the final topics, which --topics-from conditionals gave."
    )


def test_checks_of_a_stream_do_not_end_training(tmp_path):
    lines = [line_of(-1.0, None, documents=i) for i in range(1, 9)]
    lines += [line_of(s, i + 1.0) for i, s in enumerate(GETS_BETTER)]
    assert "by itself" in section_of(tmp_path, lines, documents_seen=500, best_look=12).ending
    assert section_of(tmp_path / "b", lines[:8], documents_seen=8).ending == UNKNOWN


def test_a_run_without_checks(tmp_path):
    assert section_of(tmp_path / "a", []) is None
    none = replace(SETTINGS, early_stopping="none")
    section = section_of(tmp_path / "b", [], none, documents_seen=10, best_look=None)
    assert (section.checks, section.best) == ((), None)
    assert section.ending == (
        "Training ended in 12.5 seconds, without validation checks, because --early-stopping none "
        "switched them off."
    )


@pytest.mark.parametrize("best", [{"best_look": b} for b in (7, -1, "2", None)] + [{}])
def test_an_invalid_or_missing_best_check(tmp_path, best):
    section = section_of(tmp_path, [line_of(-5.0, 1.0)], documents_seen=100, **best)
    assert section.best is None
    assert best or section.ending == UNKNOWN  # an old version had other rules


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
def test_damaged_lines(tmp_path, damage):
    what = ":2: not a validation check|: not JSON lines: Infinity is no number of JSON"
    with pytest.raises(CorpusFormatError, match=rf"metrics.jsonl({what})"):
        section_of(tmp_path, [line_of(-1.0, 1.0), json.loads(json.dumps(damage))])


@pytest.mark.slow
def test_a_run_that_was_trained(tiny_gibbs):
    for name in ("tiny", "gibbs"):
        run = RunDirectory(tiny_gibbs / "runs" / name)
        section = training_section(LoadedRun(run))
        assert section.best == run.provenance()["best_look"]
        assert all(check.bound_perplexity is not None for check in section.checks)
        passes = section.checks[-1].passes
        expected = "Early stopping ended" if passes < 99 else "Training ended at its limit"
        assert section.ending.startswith(expected)
