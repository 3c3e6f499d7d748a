"""Lines of a CSV file with their numbers, for error messages."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path

from corpora import CorpusFormatError


def csv_lines(path: str, what: str) -> list[tuple[int, list[str]]]:
    """Return number and fields of each line that is not empty; `what` the file should hold.

    Raises FileNotFoundError if there is no such file; CorpusFormatError if the file is no CSV.
    """
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            return [(reader.line_num, line) for line in reader if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusFormatError(f"{path}: no CSV of {what}: {error}") from error
