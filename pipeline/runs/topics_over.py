"""Mean shares of topics by a column that came along with the texts, or by time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.runs.mean_shares import (
    PARTS,
    MeanShares,
    by_row,
    groups_of,
    mean_shares,
    nearly_all_differ,
    parts_of,
)
from pipeline.training.prevalence import shares_in_blocks

if TYPE_CHECKING:
    from evaluation.arrays import Floats, Ints
    from pipeline.runs.document_rows import DocumentRows
    from pipeline.runs.loaded_run import LoadedRun

GROUPS_OF_SEVERAL = 20
"""Groups that are shown by default of a column that holds several values, as categories do."""
YEAR, TIMESTAMP = "year", "timestamp"
SHOWN_TOPICS = 5  # Topics of a group in a printed table
SHOWN_WIDTH = 40  # Characters of a group's name in a printed table, at most


def document_shares(run: LoadedRun, n_threads: int) -> Floats:
    """Return the shares (D, K) of topics in the documents of a run."""
    topics, counts = run.model.topics, run.corpus.counts
    shares = np.empty((run.corpus.n_docs, topics.n_topics))
    for first, _, block in shares_in_blocks(topics, counts, n_threads, "documents"):
        shares[first : first + len(block)] = block
    return shares


def topics_over(
    rows: DocumentRows,
    shares: Floats,
    n_tokens: Ints,
    column: str,
    period: str | None = None,
    max_groups: int | None = None,
) -> MeanShares:
    """Average the shares (D, K) of documents by a column of their rows; see `Run.topics_over`.

    Raises KeyError if there is no such column; ValueError if it does not group documents.
    """
    if max_groups is not None and max_groups < 1:
        raise ValueError(f"the number of groups must be at least 1, found {max_groups}")
    if column == YEAR and YEAR not in rows.columns and TIMESTAMP in rows.columns:
        column, period = TIMESTAMP, period or YEAR
    if column not in rows.columns:
        there = ", ".join(map(repr, rows.columns)) or "none"
        raise KeyError(
            f"no column {column!r} with values came along with the texts; there are {there}"
        )
    of_rows, has_tokens = by_row(shares, n_tokens, rows.row_of)
    values = [v for v, has in zip(rows.columns[column], has_tokens, strict=True) if has]
    if max_groups is None and any(isinstance(value, tuple) for value in values):
        max_groups = GROUPS_OF_SEVERAL
    if period is None and nearly_all_differ(values):
        values, max_groups = parts_of(values, max_groups or PARTS), None
    groups = groups_of(column, values, period, max_groups)
    return mean_shares(of_rows[has_tokens], groups, max_groups)


def group_rows(found: MeanShares) -> list[dict[str, Any]]:
    """Return a row for each group: its value, documents, shares and standard errors by topic."""
    return [
        {
            "group": group,
            "documents": int(found.n_documents[g]),
            "shares": found.share[g].tolist(),
            "standard_errors": [None if np.isnan(e) else float(e) for e in found.standard_error[g]],
        }
        for g, group in enumerate(found.groups)
    ]


def format_groups(column: str, rows: list[dict[str, Any]]) -> str:
    """Format rows as lines: group, documents, and the largest topics with their shares."""
    names = [str(row["group"])[:SHOWN_WIDTH] for row in rows]
    width = max(map(len, [column, *names]))
    lines = [f"{column:{width}}  documents  largest topics: mean share ± standard error"]
    for name, row in zip(names, rows, strict=True):
        order = np.argsort(-np.array(row["shares"]), kind="stable")[:SHOWN_TOPICS].tolist()
        shown = (_share(k, row["shares"][k], row["standard_errors"][k]) for k in order)
        lines.append(f"{name:{width}}  {row['documents']:9,d}  {', '.join(shown)}")
    return "\n".join(lines)


def _share(topic: int, share: float, error: float | None) -> str:
    return f"{topic}: {share:.1%}" + ("" if error is None else f" ± {error:.1%}")
