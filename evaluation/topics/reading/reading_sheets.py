"""Sheets: which questions each reader has.

If there are more questions than a reader answers, some are asked of all readers, which shows how
far they agree, and the others are dealt to sheets. Each sheet has tasks and models in the same
proportions as the whole test.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from evaluation.topics.reading.question import TASKS, Item
from models.checks import check_whole

SHARED: Final = 4  # One of so many questions of a sheet is on all sheets


@dataclass(frozen=True)
class Sheets:
    """Questions of a test, and those of each sheet."""

    items: tuple[Item, ...]  #: In an order that tells nothing, repeated ones included.
    sheets: tuple[tuple[tuple[int, ...], ...], ...]
    """Groups of indices of items on each sheet. A group can be shown in any order; groups are in
    the order in which a reader has them: task by task, repeated questions after the others."""


def sheets(
    items: Sequence[Item],
    n_questions: int,
    *,
    n_repeated: int = 0,
    random_state: int | np.random.Generator = 0,
) -> Sheets:
    """Deal the questions to as few sheets of at most `n_questions` as needed.

    `n_repeated` questions that all sheets have are asked twice, the second time with other places
    of the options, which shows how far a reader agrees with himself or herself; ratings are not
    repeated. Raises ValueError if there is no question, `n_questions` is below 2, `n_repeated` is
    negative or more than a quarter of `n_questions`.
    """
    check_whole("n_questions", n_questions, 2)
    check_whole("n_repeated", n_repeated, 0)
    if not items:
        raise ValueError("there are no questions")
    if n_repeated > n_questions // 4:
        raise ValueError(
            f"n_repeated must be at most a quarter of the {n_questions} questions, found "
            f"{n_repeated}"
        )
    rng = np.random.default_rng(random_state)
    order = _mixed(items, rng)
    fresh = n_questions - n_repeated
    if len(order) <= fresh:
        shared, rest, n_sheets = order, [], 1
    else:
        n_shared = max(fresh // SHARED, n_repeated, 1)
        shared, rest = order[:n_shared], order[n_shared:]
        n_sheets = -(-len(rest) // (fresh - n_shared))
    repeatable = [i for i in shared if items[i].intruder is not None][:n_repeated]
    known = [*items, *(_reshuffled(items[i], i, rng) for i in repeatable)]
    repeated = range(len(items), len(known))
    place = rng.permutation(len(known))  # of each item in the order that tells nothing
    dealt = []
    for own in np.array_split(np.array(rest, dtype=np.int64), n_sheets):
        of_sheet = [*shared, *own.tolist()]
        groups = [
            tuple(sorted(int(place[i]) for i in some if known[i].question.task == task))
            for task in TASKS
            for some in (of_sheet, repeated)
        ]
        dealt.append(tuple(group for group in groups if group))
    shown = [known[i] for i in np.argsort(place)]
    moved = tuple(
        each if each.repeats is None else replace(each, repeats=int(place[each.repeats]))
        for each in shown
    )
    return Sheets(moved, tuple(dealt))


def _mixed(items: Sequence[Item], rng: np.random.Generator) -> list[int]:
    """Return all items in an order whose every piece has tasks and models in equal proportions."""
    of_kind = defaultdict(list)
    for i, item in enumerate(items):
        of_kind[item.question.task, item.model].append(i)
    placed = []
    for kind in of_kind.values():
        shuffled = rng.permutation(kind).tolist()
        placed += [((n + rng.random()) / len(kind), i) for n, i in enumerate(shuffled)]
    return [i for _, i in sorted(placed)]


def _reshuffled(item: Item, index: int, rng: np.random.Generator) -> Item:
    """Return the item with its options in another order."""
    assert item.intruder is not None, "a rating has its levels in their order"
    n = len(item.question.options)
    order = rng.permutation(n).tolist()
    return replace(
        item,
        question=replace(item.question, options=tuple(item.question.options[i] for i in order)),
        intruder=order.index(item.intruder),
        log_odds=tuple(item.log_odds[i] for i in order) if item.log_odds else (),
        repeats=index,
    )
