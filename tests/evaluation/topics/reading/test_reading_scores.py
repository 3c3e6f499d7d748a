import math

import numpy as np
import pytest

from evaluation.topics.reading import Item, Question, ask, score, word_intrusion
from evaluation.topics.reading.question import RATING, TOPIC_INTRUSION, WORD_INTRUSION

SIX = tuple("abcdef")


def word_items(n, model="one"):
    return [Item(Question(WORD_INTRUSION, SIX), model, str(k), 0) for k in range(n)]


def answers_of(table):
    """Answers of a table of right (1) and wrong (0) answers, readers by items."""
    return {f"r{r}": {i: 1 - right for i, right in enumerate(row)} for r, row in enumerate(table)}


def test_precision_of_topics_and_of_the_model():
    found = score(word_items(2), answers_of([[1, 0], [1, 1], [1, 0]]))
    (model,) = found.models
    assert [unit.estimate.value for unit in model.units] == [1, pytest.approx(1 / 3)]
    assert model.estimate.value == pytest.approx(2 / 3)
    assert (model.chance, model.n_readers, model.n_answers) == (pytest.approx(1 / 6), 3, 6)
    assert model.estimate.caution == "3 readers, needs 5"
    assert [unit.unit for unit in model.units] == ["0", "1"]
    assert [reader.share_right for reader in found.readers] == [0.5, 1, 0.5]


def test_many_readers_have_intervals_and_differences():
    rng = np.random.default_rng(0)
    items = word_items(12) + word_items(15, "two")
    table = rng.random((8, 27)) < np.repeat([0.9, 0.4], [12, 15])
    found = score(items, answers_of(table.astype(int).tolist()))
    one, two = found.models
    assert one.estimate.low < one.estimate.value < one.estimate.high
    (difference,) = found.differences
    assert (difference.first, difference.second) == ("one", "two")
    assert difference.estimate.value == pytest.approx(one.estimate.value - two.estimate.value)
    assert 0 < difference.estimate.low < difference.estimate.high < 1


def test_topic_log_odds_are_those_of_the_equation():
    """Chang et al. 2009, eq. 2: mean of log θ of the intruder minus that of the chosen topic."""
    theta = np.array([[0.5, 0.3, 0.19, 0.01], [0.4, 0.3, 0.25, 0.05]])
    items = [
        Item(
            Question(TOPIC_INTRUSION, tuple("abcd"), "text"),
            "one",
            f"en:{d}",
            3,
            tuple(np.log(theta[d, 3] / theta[d])),
        )
        for d in range(2)
    ]
    found = score(items, {"r": {0: 0, 1: 3}, "s": {0: 2, 1: 3}})
    (model,) = found.models
    per_document = [(math.log(0.01 / 0.5) + math.log(0.01 / 0.19)) / 2, 0.0]
    assert model.log_odds.value == pytest.approx(np.mean(per_document))
    assert model.estimate.value == 0.5
    assert model.log_odds_of_chance == pytest.approx(np.mean(np.log(theta[:, 3:] / theta)))
    assert model.log_odds.caution == "2 readers, needs 5"


def test_ratings_are_means_of_one_to_three():
    items = [Item(Question(RATING, ("bad", "so-so", "good")), "one", str(k)) for k in range(2)]
    found = score(items, {"r": {0: 0, 1: 2}, "s": {0: 1}})
    (model,) = found.models
    assert [unit.estimate.value for unit in model.units] == [1.5, 3]
    assert model.estimate.value == pytest.approx(2.25)
    assert math.isnan(model.chance)
    assert math.isnan(found.readers[0].share_right)


def test_repeated_questions_count_for_agreement_only():
    items = [*word_items(2), Item(Question(WORD_INTRUSION, SIX), "one", "0", 0, repeats=0)]
    found = score(items, {"r": {0: 0, 1: 1, 2: 5}})
    assert found.models[0].n_answers == 2
    assert found.models[0].estimate.value == 0.5
    (agreement,) = found.agreements
    assert (agreement.n_repeated, agreement.n_same) == (1, 0)
    assert math.isnan(agreement.alpha)


@pytest.mark.parametrize("answers", [{}, {"r": {}}, {"r": {9: 0}}, {"r": {0: 6}}, {"r": {0: -1}}])
def test_impossible_answers_are_refused(answers):
    with pytest.raises(ValueError, match=r"no answers|item 9 of 2|option (6|-1) of item 0"):
        score(word_items(2), answers)


def test_any_function_can_be_asked():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    items = word_intrusion(rng.dirichlet(np.full(300, 0.05), 60), words)
    right = {item.question: item.intruder for item in items}
    questions = [item.question for item in items]
    seen = []

    def knowing(question):
        seen.append(question)
        return np.int64(right[question])

    answers = {
        "knowing": dict(enumerate(ask(questions, knowing))),
        **{
            f"guessing {n}": dict(enumerate(ask(questions, lambda _: int(rng.integers(6)))))
            for n in range(5)
        },
    }
    assert seen == questions
    found = score(items, answers)
    assert found.readers[0].share_right == 1
    guessed = [reader.share_right for reader in found.readers[1:]]
    assert np.mean(guessed) == pytest.approx(1 / 6, abs=4 * math.sqrt(5 / 36 / 300))
    with pytest.raises(ValueError, match="index from 0 to 5, found 6 for question 0"):
        ask(questions, lambda _: 6)
    for wrong in ("a", None, True, 1.0):
        with pytest.raises(TypeError, match="whole number"):
            ask(questions, lambda _, wrong=wrong: wrong)


def test_models_that_were_asked_in_one_test_keep_the_order_of_their_names():
    items = word_items(2, "two") + word_items(2)
    found = score(items, {"r": {0: 0, 1: 0, 2: 0, 3: 0}})
    assert [each.model for each in found.models] == ["one", "two"]
