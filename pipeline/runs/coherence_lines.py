"""Coherence of topics as lines: figures with standard errors, and what is missing."""

from typing import Any

SHOWN = 10  # Words that the index lacks and that are named


def format_coherence(value: float | None, error: float | None) -> str:
    """Format a coherence and its standard error, if there is one."""
    if value is None:
        return "-"
    return f"{value:.3f}" + ("" if error is None else f" ± {error:.3f}")


def format_summary(summary: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Format what the figures are of, their mean, and what is missing, as lines."""
    size = summary["window_size"]
    windows = "documents" if size is None else f"windows of {size} tokens"
    where = f"{summary['reference']}, {summary['articles']:,} articles, {windows}"
    mean = f"mean over topics {format_coherence(summary['mean'], summary['standard_error'])}"
    if summary["why_no_standard_error"]:
        mean += f"; no s.e.: {summary['why_no_standard_error']}"
    lines = [
        f"{summary['measure']} of {summary['words']} words in {where}; ± s.e. over articles",
        mean,
    ]
    n_without = sum(row["coherence"]["standard_error"] is None for row in rows)
    if n_without:
        lines.append(
            f"{n_without:,} of {len(rows):,} topics have no s.e.: their words are together in too "
            "few articles; --json has the reasons"
        )
    unknown = summary["unknown_words"]
    if unknown:
        more = f" and {len(unknown) - SHOWN:,} more" if len(unknown) > SHOWN else ""
        lines.append(
            f"{len(unknown):,} of {summary['different_words']:,} words are not in the reference: "
            f"{' '.join(unknown[:SHOWN])}{more}; their pairs are left out"
        )
    return "\n".join(lines)
