"""Models of Blei's lda-c: final.beta with the topics, and final.other beside it with the rest.

final.beta     a line a topic: log p of each word, -100 for none
final.other    three lines: num_topics 2, num_terms 5000, alpha 0.1
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.lines import LineReader, shown

TOLERANCE = 1e-3
"""Largest difference between 1 and the sum of a topic: some programs write three digits."""


@dataclass(frozen=True, eq=False)
class LdacModel:
    """Topics of lda-c; the words are those of the training counts."""

    log_topic_word: NDArray[np.float64]  # (n_topics, n_words) log p of each word in each topic
    alpha: NDArray[np.float64]  # (n_topics,) positive


def read_ldac_model(path: PathLike) -> LdacModel:
    """Read NAME.beta and NAME.other, given the path of either, or of a directory with `final`.*.
    Raises OSError if a file cannot be read; CorpusFormatError, naming file and line, if a line has
    another form, sizes disagree, or the probabilities of a topic do not sum to 1.
    """
    beta = Path(path) / "final.beta" if Path(path).is_dir() else Path(path)
    if beta.suffix == ".other":
        beta = beta.with_suffix(".beta")
    other = LineReader(beta.with_suffix(".other"))
    line_of, values = _read_other(other)
    rows = _read_topics(LineReader(beta))
    for name, found in (("num_topics", len(rows)), ("num_terms", len(rows[0]))):
        if values[name] != [found]:
            what = "topics" if name == "num_topics" else "words"
            raise other.error(
                f"{name} is {values[name][0]:g}, but {beta} has {found} {what}", line_of[name]
            )
    alpha = np.array(values["alpha"])
    if len(alpha) not in (1, len(rows)) or not np.all((alpha > 0) & np.isfinite(alpha)):
        raise other.error(
            f"alpha must be a positive number, or {len(rows)} of them", line_of["alpha"]
        )
    return LdacModel(np.array(rows), np.broadcast_to(alpha, len(rows)).copy())


def _read_other(reader: LineReader) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Return the line of each name, and the numbers after it."""
    line_of: dict[str, int] = {}
    values: dict[str, list[float]] = {}
    for number, line in reader.text_lines():
        name, *fields = line.split() or [""]
        if line_of.setdefault(name, number) != number and name:
            raise reader.error(f"{shown(name)} is in line {line_of[name]} already", number)
        try:
            values[name] = [float(field) for field in fields]
        except ValueError:
            raise reader.error(f"expected NAME NUMBER, found {shown(line)}", number) from None
    for name in ("num_topics", "num_terms", "alpha"):
        if not values.get(name):
            raise CorpusFormatError(f"{reader.path}: no line with {name} and its value")
    return line_of, values


def _read_topics(reader: LineReader) -> list[NDArray[np.float64]]:
    rows: list[NDArray[np.float64]] = []
    for number, line in reader.lines():
        if not line.strip():
            continue
        try:
            row = np.array([float(field) for field in line.split()])
        except ValueError:
            raise reader.error(
                f"expected logarithms of probabilities, found {shown(line)}", number
            ) from None
        if rows and len(row) != len(rows[0]):
            raise reader.error(f"expected {len(rows[0])} words, found {len(row)}", number)
        total = np.exp(row).sum() if np.all(row <= TOLERANCE) else np.nan
        if not abs(total - 1) <= TOLERANCE:
            raise reader.error(
                "expected logarithms of probabilities that sum to 1, but they "
                + ("are not" if np.isnan(total) else f"sum to {total:.6g}"),
                number,
            )
        rows.append(row)
    if not rows:
        raise CorpusFormatError(f"{reader.path}: no topics: the file is empty")
    return rows
