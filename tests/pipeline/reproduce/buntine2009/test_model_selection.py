from dataclasses import replace

import numpy as np
import pytest

from evaluation import paired_difference
from evaluation.completion import completion
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.variational_bound import variational_bound
from models import GibbsLDA
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.model_selection import (
    BLOCK,
    BOUNDS,
    DATASETS,
    Dataset,
    SelectionBudget,
    as_json,
    problem,
    scored,
)

SMALL = SelectionBudget(
    Dataset(3, 60, (2, 3, 4)),
    training_sizes=(40, 80),
    n_held_out=30,
    left_to_right_samples=2,
    mean_field_samples=10,
    n_starts=3,
    start_sweeps=5,
    n_sweeps=15,
    seed=1,
)


@pytest.fixture(scope="module")
def small():
    return problem(SMALL)


def test_documents_are_of_the_truth(small):
    assert small.truth.topic_word.shape == (3, 60)
    assert (small.truth.alpha == 1 / 3).all()
    assert small.held_out.shape == (30, 60)
    documents = small.training_documents(3 * BLOCK)
    n_tokens = documents.sum(axis=1)
    assert abs(n_tokens.mean() - 151) < 4 * n_tokens.std() / np.sqrt(len(n_tokens))
    share = documents.sum(axis=0) / documents.sum()
    # All topics are as frequent: θ_dk has variance (1/3)(2/3)/2 over documents.
    expected = small.truth.topic_word.mean(axis=0)
    error = small.truth.topic_word.std(axis=0) * np.sqrt(3 / 9 / len(n_tokens)) * 1.3 + 1e-3
    assert (np.abs(share - expected) < 4 * error).all()
    assert (np.abs(share - small.truth.topic_word[0]) > 4 * error).any()


def test_smaller_sets_are_the_beginning_of_larger_ones(small):
    larger = small.training_documents(BLOCK + 30)
    smaller = small.training_documents(BLOCK - 10)
    assert smaller.shape == (BLOCK - 10, 60)
    assert (larger[: BLOCK - 10] != smaller).nnz == 0
    assert (larger[:30] != larger[BLOCK : BLOCK + 30]).nnz > 0
    assert (larger[:30] != small.held_out).nnz > 0
    more = problem(replace(SMALL, n_held_out=50))
    assert (more.held_out[:30] != small.held_out).nnz == 0


def test_a_cell_is_the_best_start_scored_by_every_estimator(small):
    found = scored(small, 40, 2)
    counts = small.training_documents(40)

    def learned(start, n_sweeps):
        rng = np.random.default_rng([1, 3, 40, 2, start])
        settings = {"alpha": 1 / 3, "eta": 0.1, "learn_priors": "none", "n_iter": n_sweeps}
        settings["topics_from"] = "samples"
        return GibbsLDA(2, **settings, start="random", random_state=rng).fit(counts).topics_

    bounds = [
        variational_bound(learned(start, 5), DocumentBlock(counts)).nats_per_word
        for start in range(3)
    ]
    assert found[BOUNDS] == bounds
    assert len(set(bounds)) == 3
    best = learned(int(np.argmin(bounds)), 15)
    expected = {
        "MFI 1st": ESTIMATORS["MFI 1st"](best, DocumentBlock(small.held_out), n_samples=10, seed=1),
        "LR": ESTIMATORS["LR"](best, DocumentBlock(small.held_out), n_samples=2, seed=1),
        REFINED: ESTIMATORS[REFINED](best, DocumentBlock(small.held_out), n_samples=2, seed=1),
        "completion": completion(best, DocumentBlock(small.held_out), seed=1),
    }
    assert set(expected) == set(SMALL.n_samples)
    for name, estimate in expected.items():
        for each, values in estimate.to_arrays(f"{name}/").items():
            np.testing.assert_array_equal(found[each], values)


def test_the_true_model_is_scored_as_it_is(small):
    found = scored(small, 0, 3)
    expected = completion(small.truth, DocumentBlock(small.held_out), seed=1)
    assert (found["completion/log_likelihood"] == expected.log_likelihood).all()
    assert found[BOUNDS] == []


def test_the_same_bits_whatever_the_threads(small):
    first = scored(small, 80, 3)
    for n_jobs in (1, 2, 3):
        again = scored(problem(SMALL), 80, 3, n_jobs)
        for name, values in first.items():
            if not name.startswith("seconds"):
                np.testing.assert_array_equal(again[name], values)
    other = problem(replace(SMALL, seed=2))
    assert (other.truth.topic_word != small.truth.topic_word).any()


def test_the_table_by_hand():
    rng, n = np.random.default_rng(0), 9
    kinds = ("made up", "sequence", "unbiased")
    of = {
        model: {
            name: LikelihoodEstimate(rng.normal(-20, 1, n), np.zeros(n), np.full(n, 7), *kinds)
            for name in SMALL.n_samples
        }
        for model in SMALL.models
    }
    models = {}
    for model, estimates in of.items():
        models[model] = {"bounds": np.arange(3.0), "seconds of training": np.asarray(2.0)}
        for name, estimate in estimates.items():
            models[model] |= estimate.to_arrays(f"{name}/")
            models[model][f"seconds of {name}"] = np.asarray(1.0)
    result = as_json("s10s", SMALL, models)
    assert list(result["samples"]) == ["MFI 1st", "LR", REFINED, "completion"]
    rows = {(r["training_documents"], r["topics"], r["estimator"]): r for r in result["rows"]}
    assert len(rows) == 2 * 3 * 4
    for name in SMALL.n_samples:
        assert result["true_perplexity"][name] == of[0, 3][name].perplexity
        for i in (40, 80):
            perplexities = {k: of[i, k][name].perplexity for k in (2, 3, 4)}
            best = min(perplexities, key=lambda k: perplexities[k])
            chosen = {"training_documents": i, "estimator": name, "topics": best}
            assert chosen in result["chosen"]
            for k in (2, 3, 4):
                difference = paired_difference(of[i, k][name], of[i, 3][name])
                row = rows[i, k, name]
                assert row["perplexity"] == perplexities[k]
                assert row["loss"] == difference.nats_per_word
                assert row["loss_standard_error"] == difference.standard_error
            assert rows[i, 3, name]["loss"] == 0
    assert len({each["topics"] for each in result["chosen"]}) > 1
    assert len(result["chosen"]) == 8


def test_the_paper_has_these_sizes():
    budget = SelectionBudget()
    assert budget.training_sizes == (1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000)
    assert budget.n_held_out == 10_000
    assert budget.n_samples == {"MFI 1st": 200, "LR": 100, REFINED: 100, "completion": None}
    assert DATASETS["s10s"] == (10, 5000, (5, 8, 9, 10, 11, 12, 20, 40))
    assert DATASETS["s10"][:2] == (10, 28_251)
    assert DATASETS["s40"] == (40, 28_251, (20, 32, 35, 38, 40, 45, 50, 60))
    assert len(budget.models) == 1 + 7 * 8


@pytest.mark.slow
def test_estimators_choose_the_true_number():
    budget = SelectionBudget(
        Dataset(10, 5000, (8, 10, 12)),
        training_sizes=(1000,),
        n_held_out=300,
        left_to_right_samples=10,
        n_sweeps=100,
    )
    drawn = problem(budget)
    result = as_json("s10s", budget, {each: scored(drawn, *each) for each in budget.models})
    chosen = {each["estimator"]: each["topics"] for each in result["chosen"]}
    for row in result["rows"]:
        name = row["estimator"]
        if name != "LR":
            assert chosen[name] == 10
            # The truth is better than what a thousand documents teach.
            assert row["perplexity"] > result["true_perplexity"][name]
        if name in ("MFI 1st", REFINED) and row["topics"] != 10:
            assert row["loss"] > 4 * row["loss_standard_error"]
