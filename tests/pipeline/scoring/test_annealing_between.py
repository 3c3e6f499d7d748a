import numpy as np
import pytest

from evaluation import log_likelihood_difference
from models import LDATopics, SavedModel, load_model, save_model
from tests.pipeline.scoring.support import ALPHA, failed, load_documents
from tests.pipeline.support import call

METHOD = "annealing-between"
OPTIONS = ("--counts", "docs.jsonl", "--threads", 1, "--method", METHOD)


def test_differences_are_those_of_the_library(zoo):
    truth = load_model(zoo / "truth.npz")
    near = LDATopics(truth.topics.topic_word, np.full(3, 1.5 * ALPHA))
    save_model(zoo / "near.npz", SavedModel(near, truth.vocabulary))
    argv = ("truth.npz", "near.npz", *OPTIONS, "--samples", 9, "--temperatures", 9)
    path = zoo / "differences.tsv"
    result = call("evaluate", *argv, "--json", "--per-document", path, cwd=zoo).succeeded().result
    corpus, models = load_documents(zoo), [load_model(zoo / name) for name in argv[:2]]
    order = [corpus.vocabulary.index(word) for word in models[0].vocabulary]
    settings = {"n_samples": 9, "n_temperatures": 9, "random_state": 0}
    found = log_likelihood_difference(
        *(each.topics for each in models), corpus.counts[:, order], **settings
    )
    (row,) = result["differences"]
    assert (result["model"], row["model"]) == ("truth.npz", "near.npz")
    assert row["log_likelihood"] == pytest.approx(found.total)
    assert row["lower"] == pytest.approx(found.lower.sum())
    assert row["temperatures"] == 9
    lines = path.read_text().splitlines()
    assert float(lines[1].split("\t")[2]) == pytest.approx(found.difference[0])
    text = call("evaluate", *argv, cwd=zoo).succeeded().out
    assert "log p under truth.npz less log p under near.npz:" in text
    assert f"{found.total:+.2f}" in text
    assert np.isfinite(found.total_standard_error)
    assert f"{found.total:+.2f} ± {found.total_standard_error:.2f} (sampling)" in text
    assert row["why"] is None


def test_far_models_have_a_difference_without_an_error_and_the_reason(zoo):
    argv = ("truth.npz", "model.npz", *OPTIONS, "--samples", 6, "--temperatures", 2)
    result = call("evaluate", *argv, "--json", cwd=zoo).succeeded().result
    (row,) = result["differences"]
    assert row["unsure_documents"] > 0
    assert [value for name, value in row.items() if name.endswith("standard_error")] == [
        *(None, row["gap_standard_error"], None, None)
    ]
    assert np.isfinite(row["log_likelihood"])
    assert "take more temperatures" in row["why"]
    text = call("evaluate", *argv, cwd=zoo).succeeded().out
    assert "±" not in text
    assert f"no standard error: {row['why']}" in text


def test_words_of_one_model_alone_are_not_scored_but_cost_their_share(zoo):
    saved = load_model(zoo / "truth.npz")
    wide = np.hstack([0.6 * saved.topics.topic_word, np.full((3, 1), 0.4)])
    words = (*saved.vocabulary[::-1], "more")
    wide = np.hstack([wide[:, :-1][:, ::-1], wide[:, -1:]])
    save_model(zoo / "wider.npz", SavedModel(LDATopics(wide, [ALPHA] * 3), words))
    result = call("evaluate", "truth.npz", "wider.npz", *OPTIONS, "--json", cwd=zoo).succeeded()
    (row,) = result.result["differences"]
    assert row["nats_per_word"] == pytest.approx(-np.log(0.6))  # the same topics but for the share


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("truth.npz",), "name another one"),
        (("truth.npz", "model.npz", "--certify"), "--certify is not for --method"),
        (("truth.npz", "model.npz", "--target-se", 0.1), "--target-se"),
        (("truth.npz", "model.npz", "--temperatures", 1), "--temperatures must be at least 2"),
        (("truth.npz", "model.npz", "--convention", "bag-and-length"), "bag-and-length"),
    ],
)
def test_settings_that_differences_do_not_have(zoo, argv, message):
    assert message in failed(2, *argv, *OPTIONS, cwd=zoo)
