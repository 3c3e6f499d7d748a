"""Claims of Capdevila et al. 2018, decided for each corpus by the rows with most samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.reproduce.claims import Claim
from pipeline.reproduce.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Callable


def last_rows(result: Any) -> dict[str, dict[str, Any]]:
    """Return the row of most samples of each estimator, by corpus."""
    return {
        corpus: {
            name: max(of, key=lambda row: int(row["samples"]))
            for name, of in grouped(rows, "estimator").items()
        }
        for corpus, rows in grouped(result["rows"], "corpus").items()
    }


def corpus_claim(
    name: str, sentence: str, holds: Callable[[dict[str, Any]], bool], paper: str = ""
) -> Claim:
    """Return a claim that `holds` of the last rows of each corpus."""

    def fails_at(result: Any) -> list[str]:
        return [corpus for corpus, last in last_rows(result).items() if not holds(last)]

    return Claim(name, sentence, fails_at, paper)
