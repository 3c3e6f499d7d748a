from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from evaluation import log_likelihood
from models import GammaPoissonTopics
from pipeline.reproduce.capdevila2018.scores import ESTIMATORS, Cell, planned, score, steps, warm_up


def small() -> tuple[GammaPoissonTopics, sparse.csr_array]:
    rng = np.random.default_rng(0)
    topics = GammaPoissonTopics(rng.dirichlet(np.ones(8), 3), np.ones(3), np.full(3, 0.6))
    return topics, sparse.csr_array(rng.poisson(0.5, (6, 8)).astype(np.int64))


def test_shorter_runs_come_first() -> None:
    cells = planned({"DS": (10, 40), "L2R": (20,)}, 2)
    assert cells == [
        *(Cell("DS", 10, 0), Cell("DS", 10, 1)),
        *(Cell("L2R", 20, 0), Cell("L2R", 20, 1)),
        *(Cell("DS", 40, 0), Cell("DS", 40, 1)),
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_cell_is_one_call(name: str) -> None:
    topics, documents = small()
    m = list(ESTIMATORS).index(name)
    found = score(topics, documents, Cell(name, 15, 2), 7)
    seed = int(np.random.default_rng([7, m, 15, 2]).integers(2**32))
    expected = log_likelihood(
        topics, documents, ESTIMATORS[name], n_samples=15, random_state=seed, n_jobs=2
    )
    assert expected.convention == "bag-and-length"
    np.testing.assert_array_equal(found.log_likelihood, expected.log_likelihood)
    np.testing.assert_array_equal(found.standard_error, expected.standard_error)
    assert found.seconds > 0


def test_cells_have_random_numbers_of_their_own() -> None:
    topics, documents = small()
    cells = [Cell("DS", 15), Cell("DS", 15, 1), Cell("DS", 16), Cell("L2R", 15)]
    found = [score(topics, documents, cell, 1).log_likelihood.sum() for cell in cells]
    found.append(score(topics, documents, cells[0], 2).log_likelihood.sum())
    assert len(set(found)) == 5
    assert score(topics, documents, cells[0], 1).log_likelihood.sum() == found[0]


def test_no_warnings_of_known_bad_estimators(caplog: pytest.LogCaptureFixture) -> None:
    topics, documents = small()
    warm_up(topics, documents, tuple(ESTIMATORS))
    score(topics, documents, Cell("DS", 6), 0)
    assert not caplog.records


def test_what_takes_longer_has_more_steps() -> None:
    _, documents = small()
    mean_words = np.mean([(row > 0).sum() for row in documents.toarray()])
    assert steps(Cell("DS", 50), documents) == 50
    assert steps(Cell("L2R exact", 50), documents) == pytest.approx(50 * mean_words)
