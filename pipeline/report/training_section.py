"""How training went: the looks at validation, which of them was the best, and why it ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from corpora.errors import CorpusFormatError
from evaluation.methods import scoring_of
from models import EarlyStopping
from pipeline.report.sections import Look, TrainingSection
from pipeline.training.trainers import estimator_of

if TYPE_CHECKING:
    from models.family import Schedule
    from pipeline.runs.loaded_run import LoadedRun
    from pipeline.runs.run_directory import RunDirectory
    from pipeline.settings import TrainSettings


def training_section(run: LoadedRun) -> TrainingSection | None:
    """The looks of a finished run; None if nothing is known of its training.

    A run that did not look at validation has a section without looks, which says so.

    Raises
    ------
    CorpusFormatError
        If metrics.jsonl is damaged.
    """
    settings, lines, provenance = run.settings, run.directory.metrics(), run.provenance
    looks = tuple(_look(line, number, run.directory) for number, line in enumerate(lines, start=1))
    if not looks and "documents_seen" not in provenance:
        return None
    best = provenance.get("best_look")
    return TrainingSection(
        looks=looks,
        best=best if isinstance(best, int) and 0 <= best < len(looks) else None,
        measure=scoring_of(run.model.topics).validation.measure,
        ending=_ending(settings, lines, provenance)
        + _best_first(provenance, lines)
        + _of_bound(lines),
    )


def _look(line: Any, number: int, run: RunDirectory) -> Look:
    """A line of metrics.jsonl; those of streams have no passes, those of old versions no bound."""
    try:
        float(line["log_likelihood"])  # by which training was ended
        return Look(
            documents=int(line["documents"]),
            passes=_known(line.get("passes")),
            seconds=float(line["seconds"]),
            perplexity=float(line["perplexity"]),
            perplexity_standard_error=_known(line.get("perplexity_standard_error")),
            bound_perplexity=_known(line.get("bound_perplexity")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        path = run.path / "metrics.jsonl"
        raise CorpusFormatError(f"{path}:{number}: not a look at validation: {error!r}") from error


def _known(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _best_first(provenance: dict[str, Any], lines: list[dict[str, Any]]) -> str:
    """A sentence if training made validation no better."""
    if len(lines) < 2 or provenance.get("best_look") != 0:
        return ""
    return f" The first of the {len(lines):,} looks was the best, and its topics are kept."


def _of_bound(lines: list[dict[str, Any]]) -> str:
    """A sentence on what the bound is of, if there is one: other documents than perplexity."""
    tokens = [line["bound_tokens"] for line in lines if line.get("bound_tokens")]
    if not tokens:
        return ""
    return (
        f" The bound on perplexity is of whole documents, {tokens[-1]:,} tokens in some of those "
        "for validation."
    )


def _ending(
    settings: TrainSettings, lines: list[dict[str, Any]], provenance: dict[str, Any]
) -> str:
    """Why training ended, as far as it can be told: by the rule that ended it, tried again."""
    seconds = provenance.get("seconds", {}).get("training")
    spent = "" if seconds is None else f" in {_duration(seconds)}"
    seen = provenance.get("documents_seen")
    if not lines:
        why = (
            "as --early-stopping none asked for"
            if settings.early_stopping == "none"
            else "as there were none to look at"
        )
        return f"Training was over{spent}, without looks at validation documents, {why}."
    passes = lines[-1].get("passes")
    if passes is None or seen != lines[-1]["documents"] or "best_look" not in provenance:
        # The last is of a version that had other rules.
        return f"Training was over{spent}; why it ended is not known."
    is_best_last = provenance["best_look"] == len(lines) - 1
    return _reason(settings, lines, spent, is_best_last=is_best_last)


def _reason(
    settings: TrainSettings, lines: list[dict[str, Any]], spent: str, *, is_best_last: bool
) -> str:
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
            return (
                f"{ending}; validation was still improving, so that more (--max-passes) may be "
                "worth while."
            )
        return f"{ending}."
    if is_stopped:
        patience = settings.stopping_patience
        latest = (
            "the last look was not" if patience == 1 else f"none of the last {patience} looks was"
        )
        clock = ", looked at by the clock," if settings.early_stopping == "time" else ""
        return (
            f"Early stopping ended training after {made}: {latest}{clock} better than the best "
            f"before by more than {100 * settings.stopping_tolerance:.3g} % of the log-likelihood."
        )
    return (
        f"Training came to its end by itself after {made}, before the {most:,} that it was to make "
        "at most."
    )


def _limit(settings: TrainSettings, schedule: Schedule) -> str:
    """The most that training makes, and the setting that says so."""
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
    """Whether the rule of early stopping says to stop at the last look.

    Looks of a stream do not count: they neither end training nor compare with later ones.
    """
    rule = EarlyStopping(
        0.0, tolerance=settings.stopping_tolerance, patience=settings.stopping_patience
    )
    stops = [
        rule.record(line["documents"], line["log_likelihood"]) for line in lines if "passes" in line
    ]
    return stops[-1]


def _duration(seconds: float) -> str:
    """For people."""
    if seconds < 120:
        return f"{seconds:,.1f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:,.0f} minutes"
    return f"{seconds / 3600:,.1f} hours"
