import csv

import numpy as np
import pytest

from models import LDATopics, SavedModel
from pipeline.exports import topic_words, write_topics
from tests.pipeline.exports.made_up_run import made_up_run, run_of
from tests.small_models import TOPICS

KINDS = tuple(TOPICS.values())


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_topics_against_loops(kind, tmp_path):
    run = made_up_run(kind)
    assert write_topics(run, tmp_path / "t.csv", 4) == {"topics": 3, "rows": 12}
    with (tmp_path / "t.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["topic", "share", "rank", "word", "probability"]
    expected = []
    for k, share in ((1, 0.5), (2, 0.3), (0, 0.2)):
        weight = run.model.topics.topic_word[k] / run.model.topics.topic_word[k].sum()
        ranked = sorted(range(6), key=lambda w: -weight[w])[:4]
        expected += [(k, share, i + 1, w, weight[w]) for i, w in enumerate(ranked)]
    for row, (k, share, rank, w, probability) in zip(rows, expected, strict=True):
        assert row[:3] == [str(k), str(share), str(rank)]
        assert row[3] == run.model.vocabulary[w]
        assert float(row[4]) == pytest.approx(probability, rel=1e-12)


def test_probabilities_are_those_of_the_model_to_the_bit():
    run = made_up_run(LDATopics, words=tuple(f"word{w}" for w in range(50)))
    weights = run.model.topics.topic_word
    assert (weights.sum(axis=1) != 1).any()
    place = {word: w for w, word in enumerate(run.model.vocabulary)}
    rows = list(topic_words(run.model, 50))
    assert all(probability == weights[k, place[word]] for k, _, _, word, probability in rows)


def test_a_share_that_is_unknown_is_empty_and_more_words_than_there_are_are_all(tmp_path):
    words = ("=cmd()", "b")
    model = SavedModel(LDATopics(np.array([[0.25, 0.75]]), np.ones(1)), words)
    assert list(topic_words(model, 9)) == [(0, None, 1, "b", 0.75), (0, None, 2, "=cmd()", 0.25)]
    write_topics(run_of(model, None), tmp_path / "t.tsv", 9)
    lines = (tmp_path / "t.tsv").read_text().splitlines()[1:]
    assert lines == ["0\t\t1\tb\t0.75", "0\t\t2\t'=cmd()\t0.25"]
