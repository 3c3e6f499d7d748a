"""The results as Markdown tables that are aligned, so that they read well as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.lda_trainers.results import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.lda_trainers.results import Results, Run

TEXT_COLUMNS = 2
"""How many columns, from the left, hold names."""


def tables(results: Results) -> str:
    """For each number of topics, how the trainers ended and when ours were as good as a peer."""
    parts = []
    for n_topics in sorted({run.n_topics for run in results.runs}):
        trainings: dict[str, list[Run]] = {}
        for run in results.runs:
            if run.n_topics == n_topics:
                trainings.setdefault(run.trainer, []).append(run)
        n_seeds = max(len(runs) for runs in trainings.values())
        spread = f"; mean of {n_seeds} seeds (least to most)" if n_seeds > 1 else ""
        parts += [f"K = {n_topics}{spread}", _endings(trainings)]
        if ratios := _ratios(trainings):
            parts.append(ratios)
    return "\n\n".join(parts) + "\n"


def _endings(trainings: dict[str, list[Run]]) -> str:
    head = ["trainer", "ended", "threads", "steps", "seconds", "CPU s", "perplexity"]
    rows = [[*head, "MB at start", "MB at peak"]]
    for name, runs in trainings.items():
        last = [run.looks[-1] for run in runs]
        rows.append(
            [
                name,
                "yes" if all(run.ended for run in runs) else "stopped",
                str(runs[0].n_threads),
                _spread([look.n_steps for look in last], 0),
                _spread([look.seconds for look in last], 1),
                _spread([look.cpu_seconds for look in last], 1),
                _spread([look.perplexity for look in last], 1),
                _spread([run.start_memory / 1e6 for run in runs], 0),
                _spread([run.peak_memory / 1e6 for run in runs], 0),
            ]
        )
    return markdown(rows)


def _ratios(trainings: dict[str, list[Run]]) -> str:
    head = ["ours", "to the last of", "perplexity", "seconds", "ours", "ratio"]
    rows = [[*head, "CPU s", "ours", "ratio"]]
    ours = {name: runs for name, runs in trainings.items() if runs[0].is_ours}
    peers = {name: runs for name, runs in trainings.items() if not runs[0].is_ours}
    for name, our_runs in ours.items():
        for peer, peer_runs in peers.items():
            by_seed = {run.seed: run for run in peer_runs}
            both = [judge(run, by_seed[run.seed]) for run in our_runs if run.seed in by_seed]
            if not both:
                continue
            goal = _spread([each.goal for each in both], 1)
            pairs = [(each.peer, each.ours) for each in both if each.ours is not None]
            if len(pairs) < len(both):
                best = min(look.perplexity for run in our_runs for look in run.looks)
                reached = f"reached by {len(pairs)} of {len(both)}, best {best:.1f}"
                rows.append([name, peer, goal, reached, *[""] * 5])
                continue
            rows.append(
                [
                    name,
                    peer,
                    goal,
                    _spread([theirs.seconds for theirs, _ in pairs], 1),
                    _spread([look.seconds for _, look in pairs], 2),
                    _spread([theirs.seconds / look.seconds for theirs, look in pairs], 1),
                    _spread([theirs.cpu_seconds for theirs, _ in pairs], 1),
                    _spread([look.cpu_seconds for _, look in pairs], 2),
                    _spread([theirs.cpu_seconds / look.cpu_seconds for theirs, look in pairs], 1),
                ]
            )
    return markdown(rows) if len(rows) > 1 else ""


def _spread(values: Sequence[float], digits: int) -> str:
    """The mean, and if there are several values the least and the most."""
    mean = f"{sum(values) / len(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


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
