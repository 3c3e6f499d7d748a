"""Inouye et al. 2015, Table 1: how much of what it shows of Classic3 comes out again.

Its three topics have ten words each, the most probable ones, and ten pairs of words with a positive
and ten with a negative dependency, the strongest ones by Φ. Topics that were learned anew stand in
another order, and are matched by their words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Pair = tuple[str, str]

WITHIN = (12, 50)
"""Places down to which what was published is looked for."""
KINDS = ("words", "positive", "negative")
"""What a topic has, in this order."""


class Topic(NamedTuple):
    """The words, and the pairs of words of either sign, of a topic; the strongest first."""

    words: tuple[str, ...]
    positive: tuple[Pair, ...]
    negative: tuple[Pair, ...]


def _topic(words: str, positive: str, negative: str) -> Topic:
    return Topic(tuple(words.split()), _pairs(positive, "+"), _pairs(negative, "-"))


def _pairs(text: str, sign: str) -> tuple[Pair, ...]:
    pairs = []
    for pair in text.split():
        first, second = pair.split(sign)
        pairs.append((first, second))
    return tuple(pairs)


PUBLISHED = (
    _topic(
        "information library research system libraries book systems data use scientific",
        "states+united point+view test+tests primary+secondary recall+precision dissemination+sdi "
        "direct+access language+natural years+five term+long",
        "paper-book libraries-retrieval library-chemical libraries-language system-published "
        "information-citations information-citation chemical-document library-scientists "
        "library-scientific",
    ),
    _topic(
        "patients cases normal cells treatment children found results blood disease",
        "term+long positive+negative cooling+hypothermia system+central atmosphere+height "
        "function+functions methods+suitable stress+reaction low+rates case+report",
        "cells-patient patients-animals patients-rats hormone-protein growth-parathyroid "
        "patients-lens patients-mice patients-dogs hormone-tumor patients-child",
    ),
    _topic(
        "flow pressure boundary results theory method layer given number presented",
        "supported+simply account+taken agreement+good moment+pitching non+linear lower+upper "
        "tunnel+wind time+dependent level+noise purpose+note",
        "flow-shells number-numbers flow-shell wing-hypersonic solutions-turbulent mach-reynolds "
        "flow-stresses theoretical-drag general-buckling made-conducted",
    ),
)
"""Table 1: library science, medicine and aeronautics. It cuts "hypothermia" short."""


class Place(NamedTuple):
    """Where something that was published stands in a topic that was learned, counted from 1."""

    what: str | Pair
    place: int | None
    """None if it is not there at all."""


@dataclass(frozen=True)
class Compared:
    """One topic of Table 1 beside the one that is most like it."""

    published: int
    """Its number, from 0."""
    topic: int
    """That of the one that was learned."""
    places: dict[str, tuple[Place, ...]]
    """Of each of `KINDS`, for all that was published."""

    def found(self, kind: str, within: int) -> int:
        """How many stand in the first places, down to `within`."""
        return sum(each.place is not None and each.place <= within for each in self.places[kind])


def training_part(counts: sparse.csr_array) -> sparse.csr_array:
    """The nine tenths of documents (D, V) that the published table is of.

    They are those that the authors' perplexities were trained on. With all documents pairs of words
    stand in another order.
    """
    n_docs = counts.shape[0]
    order = np.argsort(np.random.RandomState(1).rand(n_docs))
    return sparse.csr_array(counts[order[n_docs // 10 :]])


def missing_words(vocabulary: Iterable[str], table: Sequence[Topic] = PUBLISHED) -> list[str]:
    """The words of a table that a vocabulary has not got: without them it cannot come out again."""
    known = set(vocabulary)
    return sorted({word for topic in table for word in _words_of(topic)} - known)


def matched(topics: Sequence[Topic], table: Sequence[Topic] = PUBLISHED) -> list[int]:
    """The topic that each of a table's is compared with, no topic twice.

    They share as many words as possible among the first `WITHIN`, the more so the first of them.

    Raises
    ------
    ValueError
        If there are fewer topics than in the table.
    """
    if len(topics) < len(table):
        raise ValueError(
            f"expected {len(table)} topics at least, as many as are published, found {len(topics)}"
        )
    shared = np.array(
        [
            [
                sum(len({*row.words} & {*topic.words[:within]}) / within for within in WITHIN)
                for topic in topics
            ]
            for row in table
        ]
    )
    _, chosen = linear_sum_assignment(shared, maximize=True)
    return [int(k) for k in chosen]


def compared(topics: Sequence[Topic], table: Sequence[Topic] = PUBLISHED) -> list[Compared]:
    """Each topic of a table with where all that it shows stands among `topics`.

    `topics` have all of their words and pairs, the strongest first; in which order a pair is named
    makes no difference.
    """
    return [
        Compared(
            published,
            k,
            {
                kind: _places(getattr(table[published], kind), getattr(topics[k], kind))
                for kind in KINDS
            },
        )
        for published, k in enumerate(matched(topics, table))
    ]


def _places(wanted: Sequence[str | Pair], ranking: Sequence[str | Pair]) -> tuple[Place, ...]:
    place_of = {_unordered(each): place for place, each in enumerate(ranking, start=1)}
    return tuple(Place(each, place_of.get(_unordered(each))) for each in wanted)


def _unordered(each: str | Pair) -> frozenset[str]:
    return frozenset([each] if isinstance(each, str) else each)


def _words_of(topic: Topic) -> set[str]:
    return {*topic.words} | {word for pair in topic.positive + topic.negative for word in pair}
