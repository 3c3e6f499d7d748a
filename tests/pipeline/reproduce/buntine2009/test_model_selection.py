from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
    DATASETS,
    Cell,
    Dataset,
    SelectionSettings,
    cell,
    planned,
    problem,
    selection,
)

if TYPE_CHECKING:
    from models import LDATopics
    from pipeline.reproduce.buntine2009.model_selection import Problem

SMALL = SelectionSettings(
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
def small() -> Problem:
    return problem(SMALL)


def test_documents_are_of_the_truth(small: Problem) -> None:
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


def test_smaller_sets_are_the_beginning_of_larger_ones(small: Problem) -> None:
    larger = small.training_documents(BLOCK + 30)
    smaller = small.training_documents(BLOCK - 10)
    assert smaller.shape == (BLOCK - 10, 60)
    assert (larger[: BLOCK - 10] != smaller).nnz == 0
    assert (larger[:30] != larger[BLOCK : BLOCK + 30]).nnz > 0
    assert (larger[:30] != small.held_out).nnz > 0
    more = problem(replace(SMALL, n_held_out=50))
    assert (more.held_out[:30] != small.held_out).nnz == 0


def test_a_cell_is_the_best_start_scored_by_every_estimator(small: Problem) -> None:
    found = cell(small, 40, 2)
    counts = small.training_documents(40)

    def learned(start: int, n_sweeps: int) -> LDATopics:
        rng = np.random.default_rng([1, 3, 40, 2, start])
        settings = {"alpha": 1 / 3, "eta": 0.1, "learn_priors": "none", "n_iter": n_sweeps}
        return GibbsLDA(2, **settings, start="random", random_state=rng).fit(counts).topics_

    bounds = [
        variational_bound(learned(start, 5), DocumentBlock(counts)).nats_per_word
        for start in range(3)
    ]
    assert found.bounds.tolist() == bounds
    assert len(set(bounds)) == 3
    best = learned(int(np.argmin(bounds)), 15)
    expected = {
        "MFI 1st": ESTIMATORS["MFI 1st"](best, DocumentBlock(small.held_out), n_samples=10, seed=1),
        "LR": ESTIMATORS["LR"](best, DocumentBlock(small.held_out), n_samples=2, seed=1),
        REFINED: ESTIMATORS[REFINED](best, DocumentBlock(small.held_out), n_samples=2, seed=1),
        "completion": completion(best, DocumentBlock(small.held_out), seed=1),
    }
    assert set(found.estimates) == set(expected)
    for name, estimate in expected.items():
        assert (found.estimates[name].log_likelihood == estimate.log_likelihood).all()


def test_the_true_model_is_scored_as_it_is(small: Problem) -> None:
    found = cell(small, 0, 3)
    expected = completion(small.truth, DocumentBlock(small.held_out), seed=1)
    assert (found.estimates["completion"].log_likelihood == expected.log_likelihood).all()
    assert found.bounds.size == 0


def test_the_same_bits_whatever_the_threads(small: Problem) -> None:
    first = cell(small, 80, 3)
    for n_jobs in (1, 2, 3):
        again = cell(problem(SMALL), 80, 3, n_jobs)
        assert (again.bounds == first.bounds).all()
        for name, estimate in first.estimates.items():
            assert (again.estimates[name].log_likelihood == estimate.log_likelihood).all()
    other = problem(replace(SMALL, seed=2))
    assert (other.truth.topic_word != small.truth.topic_word).any()


def made_up(values: np.ndarray) -> LikelihoodEstimate:
    n = len(values)
    return LikelihoodEstimate(values, np.zeros(n), np.full(n, 7), "made up", "sequence", "unbiased")


def made_up_cells() -> list[Cell]:
    rng = np.random.default_rng(0)
    return [
        Cell(i, k, {name: made_up(rng.normal(-20, 1, 9)) for name in SMALL.n_samples}, {}, rng)  # type: ignore[arg-type]
        for i, k in planned(SMALL)
    ]


def test_the_table_by_hand() -> None:
    cells = made_up_cells()
    found = selection(SMALL, cells[::-1])
    of = {(each.n_train, each.n_topics): each.estimates for each in cells}
    assert found.estimators == ("MFI 1st", "LR", REFINED, "completion")
    for m, name in enumerate(found.estimators):
        assert found.true_perplexity[m] == of[0, 3][name].perplexity
        for i, n_train in enumerate((40, 80)):
            perplexities = {k: of[n_train, k][name].perplexity for k in (2, 3, 4)}
            assert found.perplexity[m, i].tolist() == list(perplexities.values())
            assert found.chosen[m, i] == min(perplexities, key=lambda k: perplexities[k])
            for k, n_topics in enumerate((2, 3, 4)):
                difference = paired_difference(of[n_train, n_topics][name], of[n_train, 3][name])
                assert found.loss[m, i, k] == difference.nats_per_word
                assert found.loss_standard_error[m, i, k] == difference.standard_error
    assert (found.loss[:, :, 1] == 0).all()
    assert len(np.unique(found.chosen)) > 1


@pytest.mark.parametrize("change", ["missing", "twice", "another"])
def test_other_cells_are_refused(change: str) -> None:
    cells = made_up_cells()
    changed = {
        "missing": cells[1:],
        "twice": [*cells, cells[0]],
        "another": [*cells[1:], replace(cells[0], n_topics=99)],
    }[change]
    with pytest.raises(ValueError, match="not those of the settings"):
        selection(SMALL, changed)


def test_the_paper_has_these_sizes() -> None:
    settings = SelectionSettings()
    assert settings.training_sizes == (1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000)
    assert settings.n_held_out == 10_000
    assert settings.n_samples == {"MFI 1st": 200, "LR": 100, REFINED: 100, "completion": None}
    assert DATASETS["s10s"] == (10, 5000, (5, 8, 9, 10, 11, 12, 20, 40))
    assert DATASETS["s10"][:2] == (10, 28_251)
    assert DATASETS["s40"] == (40, 28_251, (20, 32, 35, 38, 40, 45, 50, 60))
    assert len(planned(settings)) == 1 + 7 * 8


@pytest.mark.parametrize(
    "bad",
    [
        {"n_held_out": 1},
        {"left_to_right_samples": 0},
        {"mean_field_samples": 0},
        {"n_starts": 0},
        {"start_sweeps": 0},
        {"n_sweeps": 4},
        {"training_sizes": ()},
        {"training_sizes": (10, 0)},
    ],
)
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        replace(SMALL, **bad)  # type: ignore[arg-type]


def test_the_true_number_must_be_tried() -> None:
    with pytest.raises(ValueError, match="true number"):
        replace(SMALL, dataset=Dataset(3, 60, (2, 4)))


@pytest.mark.slow
def test_estimators_choose_the_true_number() -> None:
    settings = SelectionSettings(
        Dataset(10, 5000, (8, 10, 12)),
        training_sizes=(1000,),
        n_held_out=300,
        left_to_right_samples=10,
        n_sweeps=100,
    )
    drawn = problem(settings)
    found = selection(settings, [cell(drawn, *each) for each in planned(settings)])
    for name in ("MFI 1st", REFINED, "completion"):
        m = found.estimators.index(name)
        assert found.chosen[m, 0] == 10
        # The truth is better than what a thousand documents teach.
        assert (found.perplexity[m, 0] > found.true_perplexity[m]).all()
    for name in ("MFI 1st", REFINED):
        m = found.estimators.index(name)
        assert (found.loss[m, 0, [0, 2]] > 4 * found.loss_standard_error[m, 0, [0, 2]]).all()
