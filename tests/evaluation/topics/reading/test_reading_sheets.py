from collections import Counter

import pytest

from evaluation.topics.reading import sheets
from evaluation.topics.reading.question import RATING, TASKS, WORD_INTRUSION, Item, Question


def items_of(**numbers):
    return [
        Item(
            Question(WORD_INTRUSION, tuple(f"{model}{k}{c}" for c in "abcdef")),
            model,
            str(k),
            k % 6,
        )
        for model, n in numbers.items()
        for k in range(n)
    ]


def flat(sheet):
    return [i for group in sheet for i in group]


def test_one_sheet_has_all_questions_if_there_are_few():
    dealt = sheets(items_of(one=10, two=6), 20, n_repeated=4)
    (sheet,) = dealt.sheets
    assert sorted(flat(sheet)) == list(range(20))
    assert len(dealt.items) == 20


def test_every_question_is_on_a_sheet_and_sheets_are_bounded_and_share_some():
    dealt = sheets(items_of(one=50, two=100), 32, n_repeated=4)
    on = Counter(i for sheet in dealt.sheets for i in flat(sheet))
    assert sorted(on) == list(range(len(dealt.items)))
    n_sheets = len(dealt.sheets)
    assert set(on.values()) == {1, n_sheets}
    shared = [i for i, n in on.items() if n == n_sheets]
    assert len(shared) == 7 + 4  # a quarter of 28, and the repeated ones
    for sheet in dealt.sheets:
        assert len(flat(sheet)) == len(set(flat(sheet))) <= 32
        models = Counter(dealt.items[i].model for i in flat(sheet))
        assert models["two"] / models["one"] == pytest.approx(2, abs=0.7)
    assert len(dealt.sheets) == 7  # 143 others, 21 a sheet


def test_repeated_question_is_on_each_sheet_after_the_first_with_other_places():
    dealt = sheets(items_of(one=60), 24, n_repeated=6)
    repeated = [item for item in dealt.items if item.repeats is not None]
    assert len(repeated) == 6
    for item in repeated:
        first = dealt.items[item.repeats]
        assert first.repeats is None
        assert sorted(first.question.options) == sorted(item.question.options)
        right = first.question.options[first.intruder]
        assert item.question.options[item.intruder] == right
    assert any(i.question != dealt.items[i.repeats].question for i in repeated)
    for sheet in dealt.sheets:
        is_repeated = [dealt.items[i].repeats is not None for i in flat(sheet)]
        assert is_repeated == sorted(is_repeated)
        assert sum(is_repeated) == 6


def test_tasks_are_in_order_and_ratings_are_not_repeated():
    mixed = items_of(one=5) + [Item(Question(RATING, ("1", "2", "3")), "one", "0")] * 5
    dealt = sheets(mixed, 20, n_repeated=5, random_state=2)
    tasks = [dealt.items[i].question.task for i in flat(dealt.sheets[0])]
    assert tasks == sorted(tasks, key=TASKS.index)
    assert all(i.question.task != RATING for i in dealt.items if i.repeats is not None)


def test_order_of_items_tells_nothing_and_the_seed_decides():
    items = items_of(one=40, two=40)
    dealt = sheets(items, 100)
    models = [item.model for item in dealt.items]
    assert models != sorted(models)
    assert dealt == sheets(items, 100)
    assert dealt != sheets(items, 100, random_state=1)


@pytest.mark.parametrize(
    ("items", "n", "repeated", "message"),
    [
        ([], 10, 0, "no questions"),
        (items_of(one=3), 1, 0, "n_questions must be at least 2"),
        (items_of(one=3), 10, 3, "at most a quarter"),
        (items_of(one=3), 10, -1, "n_repeated must be at least 0"),
    ],
)
def test_impossible_sheets_are_refused(items, n, repeated, message):
    with pytest.raises(ValueError, match=message):
        sheets(items, n, n_repeated=repeated)
