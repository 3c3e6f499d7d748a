from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evaluation import ExactCostError, log_likelihood
from models import GammaPoissonTopics
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018.documents import TooFewDocumentsError
from pipeline.reproduce.capdevila2018.kl import (
    EXACT_BLOCK,
    KLComparison,
    KLSettings,
    Selected,
    comparison,
    selected,
    train,
    truth,
)
from pipeline.reproduce.capdevila2018.scores import ESTIMATORS, Cell, Score, score

SMALL = KLSettings(
    n_topics=3,
    n_words=12,
    n_documents=30,
    max_tokens=14,
    sizes=(10, 40),
    n_repeats=3,
    n_sweeps=20,
    burn_in=5,
    seed=1,
)


def drawn_counts(n_docs: int = 200, seed: int = 0) -> sparse.csr_array:
    """Documents of three topics over 30 words, of about eight tokens of the most frequent ones."""
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(30, 0.2), 3)
    scores = rng.gamma(1.0, 4.0, (n_docs, 3))
    return sparse.csr_array(rng.poisson(scores @ topic_word).astype(np.int32))


# --- documents ------------------------------------------------------------------------------------


def test_which_documents_are_scored() -> None:
    counts = drawn_counts()
    found = selected(counts, SMALL)
    dense = counts.toarray()
    tokens_of = dense.sum(axis=0)
    order = sorted(range(30), key=lambda w: (-tokens_of[w], w))[:12]
    cut = dense[:, sorted(order)]
    assert found.counts.toarray().tolist() == cut.tolist()
    few = [d for d in range(200) if sum(cut[d] > 0) <= 1]
    long = [d for d in range(200) if d not in few and sum(cut[d]) > 14]
    assert (found.n_few_words, found.n_too_long) == (len(few), len(long))
    assert len(few) > 0
    assert len(long) > 0
    assert len(found.rows) == 30
    assert not set(found.rows.tolist()) & {*few, *long}
    assert found.documents.toarray().tolist() == cut[found.rows].tolist()
    assert found.mean_length == pytest.approx(cut[found.rows].sum() / 30)
    everything = selected(counts, replace(SMALL, n_documents=1000))
    assert len(everything.rows) == 200 - len(few) - len(long)
    assert (selected(counts, SMALL).rows == found.rows).all()
    assert (selected(counts, replace(SMALL, seed=2)).rows != found.rows).any()


def test_too_few_documents() -> None:
    counts = sparse.csr_array(np.array([[9, 9, 0], [1, 1, 0], [0, 3, 0]]))
    with pytest.raises(TooFewDocumentsError, match=r"^1 documents have more than one of the 3"):
        selected(counts, replace(SMALL, max_tokens=17))
    assert len(selected(counts, replace(SMALL, max_tokens=18)).rows) == 2


def test_the_exact_values() -> None:
    chosen = selected(drawn_counts(), replace(SMALL, n_documents=EXACT_BLOCK + 5))
    topics = train(chosen, SMALL)
    done: list[int] = []
    found = truth(topics, chosen, 1, done.append)
    assert done == [EXACT_BLOCK, 5]
    expected = log_likelihood(topics, chosen.documents, "exact")
    assert expected.convention == "bag-and-length"
    # But for the order in which log y! are added up.
    np.testing.assert_allclose(found, expected.log_likelihood, rtol=1e-13)


def test_what_cannot_be_afforded_is_refused() -> None:
    counts = sparse.csr_array(np.full((3, 12), 20))
    chosen = selected(counts, replace(SMALL, max_tokens=1000))
    rng = np.random.default_rng(0)
    topics = GammaPoissonTopics(rng.dirichlet(np.ones(12), 40), np.ones(40), np.full(40, 0.5))
    with pytest.raises(ExactCostError):
        truth(topics, chosen)


# --- measures -------------------------------------------------------------------------------------


def made_up() -> KLComparison:
    rng = np.random.default_rng(3)
    chosen = Selected(sparse.csr_array(np.ones((4, 3), np.int64)), np.arange(4), 0, 0)
    exact = rng.normal(-20, 2, 4)
    estimate = exact + rng.normal(0, 0.5, (len(ESTIMATORS), 2, 3, 4))
    return KLComparison(
        "made up", SMALL, chosen, tuple(ESTIMATORS), exact, estimate, np.ones(estimate.shape[:3])
    )


def test_measures_by_hand() -> None:
    found = made_up()
    p = [math.exp(value) for value in found.exact]
    entropy = -sum(each / sum(p) * math.log(each / sum(p)) for each in p)
    assert found.effective_documents == pytest.approx(math.exp(entropy))
    for m in range(len(ESTIMATORS)):
        for s in range(2):
            kls, ratios, logs, squares = [], [[] for _ in p], [[] for _ in p], []
            for repeat in range(3):
                q = [math.exp(value) for value in found.log_likelihood[m, s, repeat]]
                kls.append(
                    sum(
                        a / sum(p) * math.log2((a / sum(p)) / (b / sum(q)))
                        for a, b in zip(p, q, strict=True)
                    )
                )
                for d, (a, b) in enumerate(zip(p, q, strict=True)):
                    ratios[d].append(b / a - 1)
                    logs[d].append(math.log(b / a))
                    squares.append(math.log(b / a) ** 2)
            assert found.kl[m, s] == pytest.approx(kls)
            expected = {
                "kl": (np.mean(kls), np.std(kls, ddof=1) / math.sqrt(3)),
                "ratio": of_documents(ratios),
                "log": of_documents(logs),
            }
            assert found.kl_mean[m, s] == pytest.approx(expected["kl"][0])
            assert found.kl_standard_error[m, s] == pytest.approx(expected["kl"][1])
            for name, values in (("ratio", found.ratio_error), ("log", found.mean_log_error)):
                assert [each[m, s] for each in values] == pytest.approx(expected[name])
            root = math.sqrt(sum(squares) / len(squares))
            assert found.root_mean_square_log_error[m, s] == pytest.approx(root)


def of_documents(values: list[list[float]]) -> tuple[float, float]:
    means = [sum(each) / len(each) for each in values]
    return float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(len(means)))


def test_kl_is_blind_to_a_common_factor_and_other_measures_are_not() -> None:
    found = made_up()
    common = replace(found, log_likelihood=np.broadcast_to(found.exact + 3.0, (5, 2, 3, 4)))
    assert common.kl == pytest.approx(0.0, abs=1e-12)
    assert common.ratio_error[0] == pytest.approx(math.exp(3) - 1)
    assert common.mean_log_error[0] == pytest.approx(3.0)
    assert (found.kl > 0).all()


def test_one_repeat_has_no_standard_error() -> None:
    found = made_up()
    one = replace(found, log_likelihood=found.log_likelihood[:, :, :1])
    assert np.isnan(one.kl_standard_error).all()
    assert np.isfinite(one.ratio_error[1]).all()


def test_scores_come_to_their_places() -> None:
    rng = np.random.default_rng(0)
    scores = {
        cell: Score(rng.normal(-9, 1, 4), np.ones(4), float(i))
        for i, cell in enumerate(SMALL.cells)
    }
    exact = np.full(4, -9.0)
    found = comparison("x", SMALL, made_up().selected, exact, dict(reversed(scores.items())))
    for m, name in enumerate(found.estimators):
        for s, size in enumerate(SMALL.sizes):
            for repeat in range(3):
                given = scores[Cell(name, size, repeat)]
                assert (found.log_likelihood[m, s, repeat] == given.log_likelihood).all()
                assert found.seconds[m, s, repeat] == given.seconds
    del scores[SMALL.cells[0]]
    with pytest.raises(ValueError, match="not those of the settings"):
        comparison("x", SMALL, made_up().selected, exact, scores)


# --- the whole ------------------------------------------------------------------------------------


def compared(settings: KLSettings, n_jobs: int = 1) -> KLComparison:
    chosen = selected(drawn_counts(), settings)
    topics = train(chosen, settings, n_jobs)
    scores = {
        cell: score(topics, chosen.documents, cell, settings.seed, n_jobs)
        for cell in settings.cells
    }
    return comparison("drawn", settings, chosen, truth(topics, chosen, n_jobs), scores)


def test_what_the_paper_finds() -> None:
    found = compared(replace(SMALL, sizes=(10, 150), n_documents=80, n_repeats=3))
    of = {name: m for m, name in enumerate(found.estimators)}
    mean, error = found.ratio_error
    t = mean / error
    for name in ("DS", "L2R", "L2R exact", REFINED):
        assert abs(t[of[name], 1]) < 4
        assert found.kl_mean[of[name], 1] < 0.5 * found.kl_mean[of[name], 0]
    assert t[of["HM"], 1] > 4  # what is biased is seen to be
    assert (found.mean_log_error[0] / found.mean_log_error[1])[of["HM"], 1] > 4
    root = found.root_mean_square_log_error[:, 1]
    assert root[of["L2R"]] < root[of["DS"]] < root[of["HM"]]
    assert root[of[REFINED]] < root[of["L2R exact"]]


def test_the_same_bits_whatever_the_threads() -> None:
    first = compared(SMALL)
    for n_jobs in (2, 3):
        again = compared(SMALL, n_jobs)
        assert (again.exact == first.exact).all()
        assert (again.log_likelihood == first.log_likelihood).all()


def test_the_paper_has_these_sizes() -> None:
    settings = KLSettings()
    assert (settings.n_topics, settings.n_words, settings.n_documents) == (5, 100, 1000)
    assert (max(settings.sizes), settings.n_repeats) == (10_000, 10)
    assert (settings.n_sweeps, settings.burn_in) == (1000, 500)
    assert len(settings.cells) == 5 * 10 * 10


@pytest.mark.parametrize(
    "bad",
    [
        {"n_topics": 0},
        {"n_words": 1},
        {"n_documents": 1},
        {"max_tokens": 1},
        {"n_repeats": 0},
        {"burn_in": -1},
        {"n_sweeps": 500},
        {"sizes": ()},
        {"sizes": (10, 1)},
    ],
)
def test_bad_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        KLSettings(**bad)  # type: ignore[arg-type]
