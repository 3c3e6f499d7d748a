from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.convergence import (
    ConvergenceSettings,
    convergence,
    held_out,
    train,
)
from pipeline.reproduce.capdevila2018.documents import TooFewDocumentsError
from pipeline.reproduce.capdevila2018.scores import Cell, Score, score

SMALL = ConvergenceSettings(
    n_topics=4,
    n_documents=20,
    sizes={"DS": (20, 500), "HM": (20, 200), "L2R": (10,), REFINED: (10, 100)},
    n_sweeps=30,
    burn_in=10,
    seed=1,
)


def drawn_counts() -> sparse.csr_array:
    """200 documents of four topics over 60 words, of about 30 tokens; the last words are unused."""
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(60, 0.1), 4)
    counts = rng.poisson(rng.gamma(1.0, 8.0, (200, 4)) @ topic_word)
    counts[:, 57:] = 0
    counts[:3] = 0
    return sparse.csr_array(counts.astype(np.int32))


def test_documents_that_are_held_out() -> None:
    counts = drawn_counts()
    split = held_out(counts, SMALL)
    used = np.flatnonzero(counts.toarray().any(axis=0))
    assert len(used) < 60
    rows = [tuple(row) for row in counts.toarray()[:, used]]
    scored = [tuple(row) for row in split.documents.toarray()]
    rest = [tuple(row) for row in split.training.toarray()]
    assert len(scored) == 20
    assert sorted(rows) == sorted(scored + rest)
    assert all(any(row) for row in scored)
    assert split.n_tokens == sum(map(sum, scored))
    other = held_out(counts, replace(SMALL, seed=2))
    assert (other.documents != split.documents).nnz > 0


def test_at_most_a_fifth_is_held_out() -> None:
    counts = drawn_counts()
    split = held_out(counts, replace(SMALL, n_documents=1000))
    n_usable = int(counts.toarray().any(axis=1).sum())
    assert split.documents.shape[0] == n_usable // 5
    with pytest.raises(TooFewDocumentsError, match="of 9 documents"):
        held_out(counts[3:12], SMALL)


def test_arrays_by_hand() -> None:
    rng = np.random.default_rng(0)
    scores = {
        cell: Score(rng.normal(-9, 1, 3), rng.random(3), float(i))
        for i, cell in enumerate(SMALL.cells)
    }
    split = held_out(drawn_counts(), SMALL)
    found = convergence("x", SMALL, split, scores)
    for name, sizes in SMALL.sizes.items():
        for s, size in enumerate(sizes):
            given = scores[Cell(name, size)]
            assert found.total[name][s] == pytest.approx(sum(given.log_likelihood))
            error = math.sqrt(sum(each**2 for each in given.standard_error))
            assert found.total_standard_error[name][s] == pytest.approx(error)
            assert found.seconds[name][s] == given.seconds
    assert found.reference == found.total[REFINED][1]
    with pytest.raises(ValueError, match="not those of the settings"):
        convergence("x", SMALL, split, scores | {Cell("DS", 7): scores[Cell("DS", 20)]})


def test_estimators_come_from_both_sides() -> None:
    split = held_out(drawn_counts(), SMALL)
    topics = train(split, SMALL)
    again = train(split, SMALL, 2)
    assert (again.topic_word == topics.topic_word).all()
    scores = {cell: score(topics, split.documents, cell, SMALL.seed) for cell in SMALL.cells}
    total = convergence("drawn", SMALL, split, scores).total
    assert total["DS"][0] < total[REFINED][1] < total["HM"][1] < total["HM"][0]
    distance = {name: np.abs(each - total[REFINED][1]) for name, each in total.items()}
    assert distance["DS"][1] < distance["DS"][0] / 2
    assert distance[REFINED][0] < distance["DS"][0] / 4
    assert distance["L2R"][0] < distance["DS"][0] / 2


def test_the_paper_has_these_sizes() -> None:
    settings = ConvergenceSettings()
    assert (settings.n_topics, settings.n_documents) == (100, 1000)
    assert (settings.n_sweeps, settings.burn_in) == (1000, 500)
    assert list(settings.sizes) == ["DS", "HM", "L2R", REFINED]


@pytest.mark.parametrize(
    "bad",
    [
        {"n_topics": 0},
        {"n_documents": 1},
        {"burn_in": -1},
        {"n_sweeps": 500},
        {"sizes": {}},
        {"sizes": {"DS": (1,)}},
    ],
)
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ConvergenceSettings(**bad)  # type: ignore[arg-type]
