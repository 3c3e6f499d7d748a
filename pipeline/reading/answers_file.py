"""Answers of one reader, as the page of a reading test saves them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corpora.errors import CorpusFormatError
from corpora.files import atomic_write_text
from pipeline.reading.key_file import VERSION, ReadingTest, question_id, read_json

MAX_NAME = 80  # Characters of a reader's name
MAX_SECONDS = 1e7  # of an answer

ANSWERS: Final = "wikitopics reading test answers"


@dataclass(frozen=True)
class ReaderAnswers:
    """Answers of one reader."""

    reader: str
    options: Mapping[int, int]  #: Chosen option by index of the item.
    seconds: float  #: Time on all questions; NaN if it is not known.


def read_answers(paths: Sequence[Path], test: ReadingTest) -> list[ReaderAnswers]:
    """Read files of answers to a test.

    Raises CorpusFormatError if a file is damaged, belongs to another test, answers an unknown
    question or one twice, or is of a reader of whom another file is; OSError if one is missing.
    """
    found: dict[str, Path] = {}
    answers = []
    for path in paths:
        each = _read(path, test)
        if each.reader in found:
            raise CorpusFormatError(
                f"{path} and {found[each.reader]} are of the same reader, {each.reader}: leave one "
                "out"
            )
        found[each.reader] = path
        answers.append(each)
    return answers


def write_answers(path: Path, test: ReadingTest, reader: str, options: Mapping[int, int]) -> None:
    """Write answers that were not given on the page, those of `ask` say, as the page does."""
    content = {
        "format": ANSWERS,
        "version": VERSION,
        "test": test.id,
        "reader": reader,
        "answers": [
            {"question": question_id(i), "option": option} for i, option in options.items()
        ],
    }
    atomic_write_text(path, json.dumps(content, indent=1) + "\n")


def _read(path: Path, test: ReadingTest) -> ReaderAnswers:
    content = read_json(path, ANSWERS)
    if content.get("test") != test.id:
        raise CorpusFormatError(
            f"{path}: answers to test {content.get('test')}, not to that of the key, {test.id}"
        )
    reader = content.get("reader")
    if not isinstance(reader, str) or not (reader.isprintable() and 0 < len(reader) <= MAX_NAME):
        raise CorpusFormatError(f"{path}: damaged answers: reader is {reader!r}")
    rows = content.get("answers")
    if not isinstance(rows, list) or not rows:
        raise CorpusFormatError(f"{path}: there are no answers in it")
    index = {question_id(i): i for i in range(len(test.items))}
    options: dict[int, int] = {}
    seconds = 0.0
    for row in rows:
        question, option = _checked(path, row, index, test)
        if question in options:
            raise CorpusFormatError(f"{path}: question {row['question']} is answered twice")
        options[question] = option
        took = row.get("seconds")
        is_time = isinstance(took, int | float) and not isinstance(took, bool)
        is_time = is_time and 0 <= took < MAX_SECONDS
        seconds += took if is_time else math.nan
    return ReaderAnswers(reader, options, seconds)


def _checked(path: Path, row: Any, index: Mapping[str, int], test: ReadingTest) -> tuple[int, int]:
    if not isinstance(row, dict):
        raise CorpusFormatError(f"{path}: expected answers with question and option, found {row!r}")
    question = row.get("question")
    if not isinstance(question, str) or question not in index:
        raise CorpusFormatError(f"{path}: there is no question {question!r} in this test")
    i, option = index[question], row.get("option")
    n_options = len(test.items[i].question.options)
    if type(option) is not int or not 0 <= option < n_options:
        raise CorpusFormatError(
            f"{path}: question {question} has options 0 to {n_options - 1}, found {option!r}"
        )
    return i, option
