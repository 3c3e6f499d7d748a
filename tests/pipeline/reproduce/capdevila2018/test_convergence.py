import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pipeline.errors import UsageError
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.convergence import CLAIMS, FULL, held_out, rows_of
from pipeline.reproduce.capdevila2018.runs import Budget, Run, findings, score, trainer_of
from pipeline.reproduce.counts import Named

SMALL = Budget(
    n_topics=4,
    n_documents=20,
    sizes={"DS": (20, 500), "HM": (20, 200), "L2R": (10,), REFINED: (10, 100)},
    n_sweeps=30,
    burn_in=10,
    seed=1,
)
ABOUT = {"corpus": "x", "tokens": 40}


@pytest.fixture(scope="module")
def corpus():
    """200 documents of four topics over 60 words, of about 30 tokens; the last words are unused."""
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(60, 0.1), 4)
    counts = rng.poisson(rng.gamma(1.0, 8.0, (200, 4)) @ topic_word)
    counts[:, 57:] = 0
    counts[:3] = 0
    return Named("x", sparse.csr_array(counts.astype(np.int64)))


def test_documents_that_are_held_out(corpus):
    training, documents = held_out(corpus, SMALL)
    used = np.flatnonzero(corpus.counts.toarray().any(axis=0))
    assert len(used) < 60
    rows = [tuple(row) for row in corpus.counts.toarray()[:, used]]
    scored = [tuple(row) for row in documents.toarray()]
    rest = [tuple(row) for row in training.toarray()]
    assert len(scored) == 20
    assert sorted(rows) == sorted(scored + rest)
    assert all(any(row) for row in scored)
    _, other = held_out(corpus, replace(SMALL, seed=2))
    assert (other != documents).nnz > 0


def test_at_most_a_fifth_is_held_out(corpus):
    _, documents = held_out(corpus, replace(SMALL, n_documents=1000))
    n_usable = int(corpus.counts.toarray().any(axis=1).sum())
    assert documents.shape[0] == n_usable // 5
    with pytest.raises(UsageError, match="x: of 9 documents"):
        held_out(Named("x", corpus.counts[3:12]), SMALL)


def test_rows_by_hand():
    rng = np.random.default_rng(0)
    scores = {
        run: {
            "log_likelihood": rng.normal(-9, 1, 3),
            "standard_error": rng.random(3),
            "seconds": float(i),
        }
        for i, run in enumerate(SMALL.runs)
    }
    reference = scores[Run(REFINED, 100)]["log_likelihood"].sum()
    rows = rows_of(ABOUT, SMALL, scores)
    assert [(row["estimator"], row["samples"]) for row in rows] == [
        (name, size) for name, sizes in SMALL.sizes.items() for size in sizes
    ]
    for row in rows:
        given = scores[Run(row["estimator"], row["samples"])]
        total = sum(given["log_likelihood"])
        assert row["log_likelihood"] == pytest.approx(total)
        error = math.sqrt(sum(each**2 for each in given["standard_error"]))
        assert row["standard_error"] == pytest.approx(error)
        assert row["above_reference"] == pytest.approx((total - reference) / 40)
        assert row["seconds"] == given["seconds"]


def test_estimators_come_from_both_sides(corpus):
    training, documents = held_out(corpus, SMALL)
    topics = trainer_of(SMALL).fit(training).topics_
    scores = {run: score(topics, documents, run, SMALL.seed) for run in SMALL.runs}
    rows = rows_of(ABOUT, SMALL, scores)
    above = {(row["estimator"], row["samples"]): row["above_reference"] for row in rows}
    assert above["DS", 20] < 0 < above["HM", 200] < above["HM", 20]
    assert abs(above["DS", 500]) < abs(above["DS", 20]) / 2
    assert abs(above[REFINED, 10]) < abs(above["DS", 20]) / 4
    assert abs(above["L2R", 10]) < abs(above["DS", 20]) / 2


def test_findings_are_those_of_most_samples():
    good, bad = {"DS": -12.0, "L2R": -9.0, "HM": -5.0}, {"DS": -9.0, "L2R": -12.0, "HM": -15.0}
    rows = [
        {"corpus": corpus, "estimator": name, "samples": size}
        | {"log_likelihood": total, "above_reference": total + 8.0}
        for corpus, size, totals in (("x", 30, good), ("x", 4, bad), ("y", 4, good), ("y", 30, bad))
        for name, total in totals.items()
    ]
    assert [each.fails_at for each in findings({"rows": rows}, CLAIMS)] == [["y"]] * 3


def test_the_paper_has_these_sizes():
    assert (FULL.n_topics, FULL.n_documents) == (100, 1000)
    assert (FULL.n_sweeps, FULL.burn_in) == (1000, 500)
    assert list(FULL.sizes) == ["DS", "HM", "L2R", REFINED]
