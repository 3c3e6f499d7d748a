import numpy as np
import pytest

from evaluation.topics.reading import topic_intrusion

TOPICS = [f"t{k}" for k in range(6)]


def made_up(n=20, n_topics=6, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n_topics, 0.7), n)


def test_three_top_topics_and_one_of_low_share_with_log_odds():
    shares, texts = made_up(), [f"text {d}" for d in range(20)]
    items = topic_intrusion(shares, TOPICS, texts, titles=texts, min_share=0.0)
    assert len(items) == 20
    for d, item in enumerate(items):
        shown = [TOPICS.index(each) for each in item.question.options]
        intruder = shown[item.intruder]
        assert set(shown) - {intruder} == set(np.argsort(-shares[d])[:3])
        assert shares[d, intruder] <= np.median(shares[d])
        expected = np.log(shares[d, intruder] / shares[d, shown])
        assert item.log_odds == pytest.approx(expected, abs=1e-4)
        assert max(item.log_odds) == item.log_odds[item.intruder] == 0
        assert (item.unit, item.question.text) == (str(d), f"text {d}")


def test_document_with_two_topics_gets_no_question():
    shares = np.array([[0.6, 0.38, 0.01, 0.005, 0.005], [0.4, 0.3, 0.2, 0.1, 0.0]])
    items = topic_intrusion(shares, TOPICS[:5], ["a", "b"], ids=["en:1", "en:2"])
    assert [item.unit for item in items] == ["en:2"]
    assert np.isfinite(items[0].log_odds).all()  # of share 0 too


def test_topics_that_look_alike_are_not_shown_together():
    shares = np.array([[0.3, 0.3, 0.2, 0.1, 0.1]])
    assert topic_intrusion(shares, ["a", "a", "b", "c", "d"], ["text"]) == []
    (item,) = topic_intrusion(shares, ["a", "b", "c", "a", "d"], ["text"])
    assert sorted(item.question.options) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("shares", "topics", "message"),
    [
        (made_up(2), TOPICS[:5], "shares must be"),
        (made_up(2, 3), TOPICS[:3], "number of topics must be at least 4"),
        (-made_up(2), TOPICS, "not negative"),
    ],
)
def test_impossible_shares_are_refused(shares, topics, message):
    with pytest.raises(ValueError, match=message):
        topic_intrusion(shares, topics, ["a", "b"])
    with pytest.raises(ValueError, match="titles must be 2"):
        topic_intrusion(made_up(2), TOPICS, ["a", "b"], titles=["a"])
