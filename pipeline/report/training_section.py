"""Validation checks of training, the best one, and the reason why training ended."""

import math
from typing import Any

from corpora.errors import CorpusFormatError
from evaluation.methods import scoring_of
from models import EarlyStopping
from models.family import Schedule
from pipeline.report.sections import CheckRow, TrainingSection
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of


def training_section(run: LoadedRun) -> TrainingSection | None:
    """Return the validation checks of a finished run; None if nothing is known of its training.

    A run without validation has a section without checks, which says so.

    Raises CorpusFormatError if metrics.jsonl is damaged.
    """
    settings, lines, provenance = run.settings, run.directory.metrics(), run.provenance
    checks = tuple(_check(line, n, run.directory) for n, line in enumerate(lines, start=1))
    if not checks and "documents_seen" not in provenance:
        return None
    best = provenance.get("best_look")
    ending = _ending(settings, lines, provenance)
    if len(lines) > 1 and best == 0:
        ending += f" The first of the {len(lines):,} checks was the best, and its topics are kept."
    if lines and lines[-1].get("finished"):
        ending += " The last check is of the final topics, which --topics-from conditionals gave."
    tokens = [line["bound_tokens"] for line in lines if line.get("bound_tokens")]
    if tokens:
        ending += (
            f" The bound on perplexity is for whole documents: {tokens[-1]:,} tokens in some of the"
            " validation documents."
        )
    return TrainingSection(
        checks=checks,
        best=best if isinstance(best, int) and 0 <= best < len(checks) else None,
        measure=scoring_of(run.model.topics).validation.measure,
        ending=ending,
    )


def _check(line: Any, number: int, run: RunDirectory) -> CheckRow:
    """Read a line of metrics.jsonl; those of streams have no passes, those of old runs no bound."""
    try:
        float(line["log_likelihood"])  # decides when training ends
        return CheckRow(
            documents=int(line["documents"]),
            passes=_known(line.get("passes")),
            seconds=float(line["seconds"]),
            perplexity=float(line["perplexity"]),
            perplexity_standard_error=_known(line.get("perplexity_standard_error")),
            bound_perplexity=_known(line.get("bound_perplexity")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        path = run.metrics_path
        raise CorpusFormatError(f"{path}:{number}: not a validation check: {error!r}") from error


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _ending(
    settings: TrainSettings, lines: list[dict[str, Any]], provenance: dict[str, Any]
) -> str:
    seconds = provenance.get("seconds", {}).get("training")
    spent = "" if seconds is None else f" in {_duration(seconds)}"
    if not lines:
        why = (
            "because --early-stopping none switched them off"
            if settings.early_stopping == "none"
            else "because there were no validation documents"
        )
        return f"Training ended{spent}, without validation checks, {why}."
    is_last_known = provenance.get("documents_seen") == lines[-1]["documents"]
    if lines[-1].get("passes") is None or not is_last_known or "best_look" not in provenance:
        return f"Training ended{spent}; the reason is not known."  # or an old version's rule
    trained = [line for line in lines if not line.get("finished")] or lines
    last, best = trained[-1], provenance["best_look"]
    is_best_last = best == len(trained) - 1 or (
        best == len(trained) and last.get("best_perplexity") == last["perplexity"]
    )
    return _reason(settings, trained, spent, is_best_last=is_best_last)


def _reason(
    settings: TrainSettings, lines: list[dict[str, Any]], spent: str, *, is_best_last: bool
) -> str:
    """Apply again the rule that ended training."""
    schedule, is_stopped = estimator_of(settings, 1).schedule, _is_stopped(settings, lines)
    most, before, passes = schedule.max_passes, schedule.n_before, lines[-1]["passes"]
    if before and passes > before:  # passes of two kinds
        after = _passes(passes - before, schedule.unit)
        made = f"{schedule.before} and {after} {schedule.after}{spent}"
    else:
        made = f"{_passes(passes, schedule.unit)} over the training documents{spent}"
    if passes > most - 0.5:
        ending = f"Training ended at its limit of {_limit(settings, schedule)}{spent}"
        if is_stopped:
            return f"{ending}; early stopping would have ended it there too."
        if is_best_last:
            return f"{ending}; validation was still improving, so more (--max-passes) may help."
        return f"{ending}."
    if is_stopped:
        patience = settings.stopping_patience
        latest = (
            "the last check was not" if patience == 1 else f"none of the last {patience} checks was"
        )
        clock = ", timed by the clock," if settings.early_stopping == "time" else ""
        return (
            f"Early stopping ended training after {made}: {latest}{clock} better than the best "
            f"before by more than {100 * settings.stopping_tolerance:.3g} % of the log-likelihood."
        )
    return f"Training ended by itself after {made}, before its limit of {most:,}."


def _limit(settings: TrainSettings, schedule: Schedule) -> str:
    of_stage = _passes(settings.max_passes, schedule.unit)
    if schedule.n_before:
        return f"{of_stage} {schedule.after} (--max-passes), after {schedule.before}"
    if schedule.n_stages > 1:
        return f"{of_stage} in each of {schedule.n_stages} stages (--max-passes)"
    return f"{of_stage} (--max-passes)"


def _passes(number: float, noun: str) -> str:
    if round(number) == 1:
        return f"1 {noun}"
    return f"{number:,.0f} {noun}{'es' if noun == 'pass' else 's'}"


def _is_stopped(settings: TrainSettings, lines: list[dict[str, Any]]) -> bool:
    """Whether the rule of early stopping says to stop at the last check.

    Checks of a stream do not count: they do not end training or compare with later ones.
    """
    rule = EarlyStopping(
        0.0, tolerance=settings.stopping_tolerance, patience=settings.stopping_patience
    )
    stops = [
        rule.record(line["documents"], line["log_likelihood"]) for line in lines if "passes" in line
    ]
    return stops[-1]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.1f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:,.0f} minutes"
    return f"{seconds / 3600:,.1f} hours"
