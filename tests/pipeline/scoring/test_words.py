import numpy as np
import pytest

from models import LDATopics, SavedModel, load_model, save_model
from pipeline.scoring.score import common_words, topics_of
from tests.pipeline.scoring.support import ALPHA, failed, load_documents
from tests.pipeline.support import call


def test_models_of_other_vocabularies_score_the_same_tokens(zoo):
    saved = load_model(zoo / "model.npz")
    some = np.arange(30) != 7
    few = LDATopics.from_weights(saved.topics.topic_word[::-1][:, some][:, ::-1], ALPHA)
    words = tuple(np.array(saved.vocabulary)[some][::-1].tolist())
    save_model(zoo / "few.npz", SavedModel(few, words))
    argv = ("model.npz", "few.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = call("evaluate", *argv, cwd=zoo).succeeded().result
    corpus = load_documents(zoo)
    dropped = corpus.counts.toarray()[:, list(corpus.vocabulary).index(saved.vocabulary[7])].sum()
    assert dropped > 0
    assert result["tokens"] == corpus.n_tokens - dropped
    rows = {row["model"]: row for row in result["models"]}
    assert rows["model.npz"]["unknown_share"] == 0
    assert rows["few.npz"]["unknown_share"] == dropped / corpus.n_tokens
    assert rows["few.npz"]["probability_of_scored_words"] == pytest.approx(1)
    expected = 1 - saved.topics.topic_word[:, 7].mean()
    assert rows["model.npz"]["probability_of_scored_words"] == pytest.approx(expected)
    text = call("evaluate", *argv[:-1], cwd=zoo).succeeded().out
    assert "not scored: the share" in text
    row = next(line.split() for line in text.splitlines() if line.startswith("model.npz"))
    assert float(row[-1]) == pytest.approx(-np.log(expected), abs=0.005)
    assert float(row[-2].rstrip("%")) == pytest.approx(100 * (1 - expected), abs=0.06)
    save_model(zoo / "nothing.npz", SavedModel(few, tuple(f"other{w}" for w in range(29))))
    error = failed(3, "model.npz", "nothing.npz", "--counts", "docs.jsonl", cwd=zoo)
    assert "docs.jsonl has no word in common with all models" in error


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_ranking_of_vocabularies_is_not_one_of_models(zoo, share):
    saved = load_model(zoo / "truth.npz")
    wide = np.hstack([(1 - share) * saved.topics.topic_word, np.full((3, 1), share)])
    save_model(
        zoo / "wide.npz",
        SavedModel(LDATopics(wide, saved.topics.alpha), (*saved.vocabulary, "more")),
    )
    argv = ("truth.npz", "wide.npz", "--counts", "docs.jsonl", "--threads", 1)
    text = call("evaluate", *argv, cwd=zoo).succeeded().out
    assert ("not comparable as they are" in text, "\nbest: " in text) == (share > 0, share == 0)
    if share:
        assert "not scored cost wide.npz 0.51 of the 0.51 nats a word\nby which truth.npz" in text
        assert "\nmost probable: truth.npz; against it" in text
        assert "truth.npz is ahead with probability" in text
        assert "better" not in text


def test_warnings_say_which_of_several_models(zoo):
    argv = ("evaluate", "--counts", "docs.jsonl", "--threads", 1, "--method", "mean-field-is-2")
    for models in (("model.npz", "truth.npz"), ("model.npz",)):
        err = call(*argv, "--samples", 12, *models, cwd=zoo).succeeded().err
        assert "documents have an effective sample size below" in err
        assert [f"{name}: " in err for name in models] == [len(models) > 1] * len(models)


def test_the_order_of_a_vocabulary_changes_nothing(zoo):
    saved, order = load_model(zoo / "model.npz"), np.random.default_rng(1).permutation(30)
    words = tuple(saved.vocabulary[w] for w in order)
    mixed = LDATopics(saved.topics.topic_word[:, order], saved.topics.alpha)
    save_model(zoo / "mixed.npz", SavedModel(mixed, words))
    argv = ("model.npz", "mixed.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    first, second = call("evaluate", *argv, cwd=zoo).succeeded().result["models"]
    assert first["log_likelihood"] == second["log_likelihood"]


def test_words_are_matched_by_name():
    assert common_words([("a", "b", "c", "d"), ("d", "b", "e", "a")]) == ("a", "b", "d")
    saved = SavedModel(LDATopics([[0.1, 0.2, 0.3, 0.4]], [1.0]), ("d", "b", "e", "a"))
    assert topics_of(saved, ("a", "b", "d")).topic_word.tolist() == [[0.4, 0.2, 0.1, 0.3]]
    assert topics_of(saved, saved.vocabulary) is saved.topics
