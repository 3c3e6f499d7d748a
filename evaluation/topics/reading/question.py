"""Question for a reader, and what only the researcher knows about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WORD_INTRUSION: Final = "word-intrusion"
TOPIC_INTRUSION: Final = "topic-intrusion"
RATING: Final = "rating"
TASKS: Final = (WORD_INTRUSION, RATING, TOPIC_INTRUSION)
"""Tasks in the order in which a reader has them. Ratings show the top words of a topic, which would
tell the intruder, so that they come after the intruders of words."""


@dataclass(frozen=True)
class Question:
    """Question as a reader sees it. An answer is the index of an option."""

    task: str  #: One of `TASKS`.
    options: tuple[str, ...]  #: Words, topics as lists of words, or levels of a rating.
    text: str = ""  #: Excerpt of a document, or the words of a topic to rate.
    title: str = ""  #: Title of the document.
    source: str = ""  #: Address and licence of the document.


@dataclass(frozen=True)
class Item:
    """A question and its key."""

    question: Question
    model: str  #: Name of the model that the question is about.
    unit: str  #: Number of the topic, or id of the document.
    intruder: int | None = None  #: Index of the right option; None for a rating.
    log_odds: tuple[float, ...] = ()
    """log θ of the intruder minus log θ of each option, for topic intrusion: 0 for the intruder."""
    repeats: int | None = None
    """Index of the item that this one shows once more, its options in another order."""
