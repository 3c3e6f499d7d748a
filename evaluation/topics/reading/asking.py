"""Questions put to any function, in place of a reader."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from evaluation.topics.reading.question import Question


def ask(questions: Sequence[Question], answer: Callable[[Question], int]) -> list[int]:
    """Return what `answer` answers to each question, the index of an option.

    The function sees what a reader sees, and not the key. What it calls is the caller's affair; a
    program is no reader, and agrees with itself more than readers do with each other. Raises
    TypeError or ValueError if an answer is no index of an option.
    """
    answers: list[int] = []
    for number, question in enumerate(questions):
        found: Any = answer(question)
        if isinstance(found, bool) or not isinstance(found, Integral):
            raise TypeError(
                f"answer must return a whole number, found {found!r} for question {number}"
            )
        if not 0 <= int(found) < len(question.options):
            raise ValueError(
                f"answer must return an index from 0 to {len(question.options) - 1}, found "
                f"{found} for question {number}"
            )
        answers.append(int(found))
    return answers
