"""The results as Markdown tables that are aligned, so that they read well as plain text."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from benchmarks.lda_trainers.results import comparable, judge, label, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.lda_trainers.results import Judgement, Look, Run

TEXT_COLUMNS = 2
"""How many columns, from the left, hold names."""


def tables(runs: Sequence[Run]) -> str:
    """How the trainers ended and ours beside each peer, for each documents, topics and threads.

    Of several seeds the mean is given, ± its standard error.
    """
    parts = []
    for (n_docs, n_topics, threads), there in comparable(runs).items():
        trainings = _by_trainer(there)
        n_seeds = max(len(each) for each in trainings.values())
        spread = f"; mean of {n_seeds} seeds ± standard error" if n_seeds > 1 else ""
        alpha = there[0].settings.alpha
        parts.append(
            f"K = {n_topics}, {n_docs:,} documents, {said(threads)}, alpha {alpha:g}{spread}"
        )
        parts += [part for part in (_endings(trainings), _ratios(trainings)) if part]
        parts += [
            f"{name}, seed {run.settings.seed}: {run.failed}"
            for name, each in trainings.items()
            for run in each
            if not run.looks
        ]
    return "\n\n".join(parts) + "\n"


def short_table(runs: Sequence[Run]) -> str:
    """Return a row for each peer: how it ended, when ours were as good as that, and how good then.

    Runs of all numbers of topics, documents and threads are in one table (see `label`).
    """
    ours = list(dict.fromkeys(run.trainer for run in runs if run.is_ours))
    head = ["K", "peer", "perplexity", "its seconds"]
    rows = [head + [part for name in ours for part in (f"{name} there after", "at equal time")]]
    groups = comparable(runs)
    for group, there in groups.items():
        trainings = _with_looks(_by_trainer(there))
        for peer, peer_runs in trainings.items():
            if peer in ours:
                continue
            last = [run.looks[-1] for run in peer_runs]
            seconds = _mean([look.seconds for look in last], 0)
            stopped = "" if all(run.ended for run in peer_runs) else ", stopped"
            row = [label(group, groups), peer, _mean([look.perplexity for look in last], 1)]
            row.append(f"{seconds}{stopped}")
            for name in ours:
                row += _short(_judged(trainings.get(name, []), peer_runs))
            rows.append(row)
    return markdown(rows)


def _short(both: Sequence[Judgement]) -> list[str]:
    """Return when ours were there, and their perplexity when the peer's last look was taken."""
    if not both:
        return ["", ""]
    pairs = [(each.peer, each.ours) for each in both if each.ours is not None]
    when = "not reached"
    if len(pairs) == len(both):
        seconds = _mean([look.seconds for _, look in pairs], 1)
        # Of the means: the mean of quotients is much above it where seeds differ much.
        times = sum(peer.seconds for peer, _ in pairs) / sum(look.seconds for _, look in pairs)
        when = f"{seconds} s, {times:.1f} times sooner"
    return [when, _perplexities([each.ours_then for each in both])]


def _by_trainer(runs: Sequence[Run]) -> dict[str, list[Run]]:
    trainings: dict[str, list[Run]] = {}
    for run in runs:
        trainings.setdefault(run.trainer, []).append(run)
    return trainings


def _judged(ours: Sequence[Run], peers: Sequence[Run]) -> list[Judgement]:
    """Judge the runs of both that have a seed in common."""
    by_seed = {run.settings.seed: run for run in peers}
    return [judge(run, by_seed[run.settings.seed]) for run in ours if run.settings.seed in by_seed]


def _with_looks(trainings: dict[str, list[Run]]) -> dict[str, list[Run]]:
    found = {name: [run for run in runs if run.looks] for name, runs in trainings.items()}
    return {name: runs for name, runs in found.items() if runs}


def _endings(trainings: dict[str, list[Run]]) -> str:
    head = ["trainer", "ended", "seeds", "threads", "steps", "seconds", "CPU s", "perplexity"]
    rows = [[*head, "MB at start", "MB at peak"]]
    for name, runs in _with_looks(trainings).items():
        last = [run.looks[-1] for run in runs]
        rows.append(
            [
                name,
                "yes" if all(run.ended for run in runs) else "stopped",
                str(len(runs)),
                str(runs[0].n_threads),
                _mean([look.n_steps for look in last], 0),
                _mean([look.seconds for look in last], 1),
                _mean([look.cpu_seconds for look in last], 1),
                _mean([look.perplexity for look in last], 1),
                _mean([run.start_memory / 1e6 for run in runs], 0),
                _mean([run.peak_memory / 1e6 for run in runs], 0),
            ]
        )
    return markdown(rows) if len(rows) > 1 else ""


def _ratios(trainings: dict[str, list[Run]]) -> str:
    head = ["ours", "to the last of", "perplexity", "seconds", "ours", "ratio", "ours then"]
    rows = [[*head, "CPU s", "ours", "ratio", "ours then"]]
    found = _with_looks(trainings)
    ours = {name: runs for name, runs in found.items() if runs[0].is_ours}
    peers = {name: runs for name, runs in found.items() if not runs[0].is_ours}
    for name, our_runs in ours.items():
        for peer, peer_runs in peers.items():
            both = _judged(our_runs, peer_runs)
            if not both:
                continue
            then = _perplexities([each.ours_then for each in both])
            then_cpu = _perplexities([each.ours_at_equal_cpu for each in both])
            pairs = [(each.peer, each.ours) for each in both if each.ours is not None]
            if len(pairs) < len(both):
                best = min(look.perplexity for run in our_runs for look in run.looks)
                reached = f"reached by {len(pairs)} of {len(both)}, best {best:.1f}"
                times = [reached, "", "", then, "", "", "", then_cpu]
            else:
                times = [
                    _mean([theirs.seconds for theirs, _ in pairs], 1),
                    _mean([look.seconds for _, look in pairs], 2),
                    _mean([theirs.seconds / look.seconds for theirs, look in pairs], 1),
                    then,
                    _mean([theirs.cpu_seconds for theirs, _ in pairs], 1),
                    _mean([look.cpu_seconds for _, look in pairs], 2),
                    _mean([theirs.cpu_seconds / look.cpu_seconds for theirs, look in pairs], 1),
                    then_cpu,
                ]
            rows.append([name, peer, _mean([each.goal for each in both], 1), *times])
    return markdown(rows) if len(rows) > 1 else ""


def _perplexities(looks: Sequence[Look | None]) -> str:
    """Their mean; "none" if there was no look yet."""
    found = [look.perplexity for look in looks if look is not None]
    return _mean(found, 1) if len(found) == len(looks) else "none"


def _mean(values: Sequence[float], digits: int) -> str:
    """The mean, and if there are several values its standard error."""
    mean = f"{statistics.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    error = statistics.stdev(values) / len(values) ** 0.5
    return f"{mean} ± {error:.{digits}f}"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table of which the first row is the head; names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < TEXT_COLUMNS else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rules = [
        "-" * width if i < TEXT_COLUMNS else "-" * (width - 1) + ":"
        for i, width in enumerate(widths)
    ]
    lines.insert(1, f"| {' | '.join(rules)} |")
    return "\n".join(lines)
