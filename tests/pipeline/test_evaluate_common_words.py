"""Of several models `evaluate` scores only what all of them know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from corpora import Corpus
from models import LDATopics, SavedModel, load_model, save_model
from pipeline.common_words import common_words, counts_of, topics_of
from tests.pipeline.evaluate_support import ALPHA, failed, load_documents, succeeded
from tests.pipeline.support import call

if TYPE_CHECKING:
    from pathlib import Path


def test_models_of_other_vocabularies_score_the_same_tokens(zoo: Path) -> None:
    saved = load_model(zoo / "model.npz")
    some = np.arange(30) != 7
    few = LDATopics.from_weights(saved.topics.topic_word[::-1][:, some][:, ::-1], ALPHA)
    words = tuple(np.array(saved.vocabulary)[some][::-1].tolist())
    save_model(zoo / "few.npz", SavedModel(few, words))
    argv = ("model.npz", "few.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    result = succeeded(call("evaluate", *argv, cwd=zoo)).result
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
    text = succeeded(call("evaluate", *argv[:-1], cwd=zoo)).out
    assert "not scored: the share" in text

    nothing = SavedModel(few, tuple(f"other{w}" for w in range(29)))
    save_model(zoo / "nothing.npz", nothing)
    error = failed(3, "model.npz", "nothing.npz", "--counts", "docs.jsonl", cwd=zoo)
    assert "docs.jsonl has no word in common with all models" in error


def test_the_order_of_a_vocabulary_changes_nothing(zoo: Path) -> None:
    saved = load_model(zoo / "model.npz")
    order = np.random.default_rng(1).permutation(30)
    words = tuple(saved.vocabulary[w] for w in order)
    mixed = LDATopics(saved.topics.topic_word[:, order], saved.topics.alpha)
    save_model(zoo / "mixed.npz", SavedModel(mixed, words))
    argv = ("model.npz", "mixed.npz", "--counts", "docs.jsonl", "--threads", 1, "--json")
    first, second = succeeded(call("evaluate", *argv, cwd=zoo)).result["models"]
    assert first["log_likelihood"] == second["log_likelihood"]


def test_words_are_matched_by_name() -> None:
    corpus = Corpus(np.array([[1, 2, 0, 4], [0, 0, 3, 0]]), ("d", "a", "x", "b"), ("1", "2"))
    assert common_words([("a", "b", "c", "d"), ("d", "b", "e", "a")]) == ("a", "b", "d")
    counts = counts_of(corpus, ("a", "b", "d"), 5)
    assert counts.toarray().tolist() == [[2, 4, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert counts.has_canonical_format
    saved = SavedModel(LDATopics([[0.1, 0.2, 0.3, 0.4]], [1.0]), ("d", "b", "e", "a"))
    assert topics_of(saved, ("a", "b", "d")).topic_word.tolist() == [[0.4, 0.2, 0.1, 0.3]]
    assert topics_of(saved, saved.vocabulary) is saved.topics
