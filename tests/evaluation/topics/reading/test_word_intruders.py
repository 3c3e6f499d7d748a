import numpy as np
import pytest

from evaluation.topics.reading import ratings, weights_of_lists, word_intrusion

WORDS = [f"w{i}" for i in range(100)]


def made_up(n_topics=8, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(len(WORDS), 0.1), n_topics)


def parts(item):
    shown = [WORDS.index(word) for word in item.question.options]
    intruder = shown.pop(item.intruder)
    return shown, intruder


def test_intruder_is_improbable_here_and_probable_elsewhere():
    rows = made_up()
    items = word_intrusion(rows, WORDS, model="m")
    assert [item.unit for item in items] == [str(k) for k in range(8)]
    for k, item in enumerate(items):
        own, intruder = parts(item)
        assert set(own) == set(np.argsort(-rows[k])[:5])
        assert rows[k, intruder] <= np.median(rows[k])
        assert min(int((row > row[intruder]).sum()) for j, row in enumerate(rows) if j != k) < 10


def test_place_and_topic_of_the_intruder_are_drawn_evenly():
    rows, places, n = made_up(), [], 120
    for seed in range(n):
        places += [item.intruder for item in word_intrusion(rows, WORDS, random_state=seed)]
    counts = np.bincount(places, minlength=6)
    expected = 8 * n / 6
    assert ((counts - expected) ** 2 / expected).sum() < 20.5  # χ² of 5 degrees, 1 in 1,000


def test_seed_decides():
    assert word_intrusion(made_up(), WORDS) == word_intrusion(made_up(), WORDS)
    assert word_intrusion(made_up(), WORDS) != word_intrusion(made_up(), WORDS, random_state=1)


def test_topic_with_too_few_words_or_without_an_intruder_gets_no_question():
    rows = np.zeros((3, 12))
    rows[0, :4] = 1  # four words
    rows[1, :12] = np.arange(12, 0, -1)  # its least probable words are of no other topic
    rows[2, :6] = np.arange(6, 0, -1)
    assert [item.unit for item in word_intrusion(rows, WORDS[:12])] == ["2"]


def test_one_topic_and_other_words_are_refused():
    with pytest.raises(ValueError, match="only one"):
        word_intrusion(made_up(1), WORDS)
    with pytest.raises(ValueError, match="vocabulary must be 100 words"):
        word_intrusion(made_up(), WORDS[:-1])


def test_lists_of_words_are_models_too():
    lists = [[f"{letter}{i}" for i in range(6)] for letter in "abc"]
    weights, vocabulary = weights_of_lists(lists)
    assert weights.shape == (3, 18)
    items = word_intrusion(weights, vocabulary)
    assert len(items) == 3
    for letter, item in zip("abc", items, strict=True):
        intruder = item.question.options[item.intruder]
        assert intruder[0] != letter
        assert {word for word in item.question.options if word != intruder} == {
            f"{letter}{i}" for i in range(5)
        }
    with pytest.raises(ValueError, match="list 2 of words has a word twice"):
        weights_of_lists([["a", "b"], ["c", "c"]])
    with pytest.raises(ValueError, match="list 1 of words is empty"):
        weights_of_lists([[]])


def test_ratings_show_the_top_words_of_topics_that_have_some():
    rows = made_up()
    rows[3] = 0
    rows[4] = 0
    rows[4, [7, 9]] = 1, 2
    items = ratings(rows, WORDS, model="m")
    assert [item.unit for item in items] == ["0", "1", "2", "4", "5", "6", "7"]
    assert items[3].question.text == "w9, w7"
    assert items[0].question.text.split(", ") == [WORDS[w] for w in np.argsort(-rows[0])[:10]]
    assert (items[0].intruder, len(items[0].question.options)) == (None, 3)
