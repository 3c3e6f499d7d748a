import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evaluation import ExactCostError, log_likelihood
from models import GammaPoissonTopics
from pipeline.errors import UsageError
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018 import kl, runs
from pipeline.reproduce.capdevila2018.kl import EXACT_BLOCK, FULL, measures, selected, truth
from pipeline.reproduce.capdevila2018.runs import ESTIMATORS, Budget, Run, score, trainer_of
from pipeline.reproduce.counts import Named
from tests.pipeline.reproduce.support import SMALL as SMALL_PROTOCOLS
from tests.pipeline.reproduce.support import few_counts, reproduced

SMALL = Budget(
    n_topics=3,
    n_words=12,
    n_documents=30,
    max_tokens=14,
    sizes=dict.fromkeys(ESTIMATORS, (10, 40)),
    n_repeats=3,
    n_sweeps=20,
    burn_in=5,
    seed=1,
)


@pytest.fixture(scope="module")
def corpus():
    """Documents of three topics over 30 words, of about eight tokens of the most frequent ones."""
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(30, 0.2), 3)
    scores = rng.gamma(1.0, 4.0, (200, 3))
    return Named("x", sparse.csr_array(rng.poisson(scores @ topic_word).astype(np.int64)))


# --- documents ------------------------------------------------------------------------------------


def test_which_documents_are_scored(corpus):
    found = selected(corpus, SMALL)
    dense = corpus.counts.toarray()
    tokens_of = dense.sum(axis=0)
    order = sorted(range(30), key=lambda w: (-tokens_of[w], w))[:12]
    cut = dense[:, sorted(order)]
    assert found.counts.toarray().tolist() == cut.tolist()
    few = [d for d in range(200) if sum(cut[d] > 0) <= 1]
    long = [d for d in range(200) if d not in few and sum(cut[d]) > 14]
    assert (found.n_few_words, found.n_too_long) == (len(few), len(long))
    assert min(len(few), len(long)) > 0
    usable = np.delete(cut, [*few, *long], axis=0)
    everything = selected(corpus, replace(SMALL, n_documents=1000)).documents
    assert everything.toarray().tolist() == usable.tolist()
    assert found.documents.shape == (30, 12)
    assert {*map(tuple, found.documents.toarray())} <= {*map(tuple, usable)}
    assert (selected(corpus, SMALL).documents != found.documents).nnz == 0
    assert (selected(corpus, replace(SMALL, seed=2)).documents != found.documents).nnz > 0


def test_too_few_documents():
    corpus = Named("x", sparse.csr_array(np.array([[9, 9, 0], [1, 1, 0], [0, 3, 0]])))
    with pytest.raises(UsageError, match=r"^x: 1 documents have more than one of the 3"):
        selected(corpus, replace(SMALL, max_tokens=17))
    assert selected(corpus, replace(SMALL, max_tokens=18)).documents.shape[0] == 2


def test_the_exact_values(corpus):
    chosen = selected(corpus, replace(SMALL, n_documents=EXACT_BLOCK + 5))
    topics = trainer_of(SMALL).fit(chosen.counts).topics_
    done = []
    found = truth(topics, chosen.documents, 1, done.append)
    assert done == [EXACT_BLOCK, 5]
    expected = log_likelihood(topics, chosen.documents, "exact")
    assert expected.convention == "bag-and-length"
    # But for the order in which log y! are added up.
    np.testing.assert_allclose(found, expected.log_likelihood, rtol=1e-13)


def test_what_cannot_be_afforded_is_refused():
    rng = np.random.default_rng(0)
    topics = GammaPoissonTopics(rng.dirichlet(np.ones(12), 40), np.ones(40), np.full(40, 0.5))
    with pytest.raises(ExactCostError):
        truth(topics, sparse.csr_array(np.full((3, 12), 20)))


# --- measures -------------------------------------------------------------------------------------


@pytest.fixture
def exact():
    return np.random.default_rng(3).normal(-20, 2, 4)


@pytest.fixture
def estimate(exact):
    return exact + np.random.default_rng(4).normal(0, 0.5, (3, 4))


def test_measures_by_hand(exact, estimate):
    p = [math.exp(value) for value in exact]
    kls, ratios, logs, squares = [], [[] for _ in p], [[] for _ in p], []
    for repeat in range(3):
        q = [math.exp(value) for value in estimate[repeat]]
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
    ratio, ratio_error = of_documents(ratios)
    log_error, log_standard_error = of_documents(logs)
    expected = {
        "kl": np.mean(kls),
        "kl_standard_error": np.std(kls, ddof=1) / math.sqrt(3),
        "ratio_error": ratio,
        "ratio_standard_error": ratio_error,
        "t": ratio / ratio_error,
        "log_error": log_error,
        "log_standard_error": log_standard_error,
        "root_mean_square_log_error": math.sqrt(sum(squares) / len(squares)),
    }
    assert measures(exact, estimate) == pytest.approx(expected)
    entropy = -sum(each / sum(p) * math.log(each / sum(p)) for each in p)
    chosen = kl.Selected(sparse.eye(9), sparse.eye(4), 0, 0)
    found = kl.about("x", chosen, exact)["effective_documents"]
    assert found == pytest.approx(math.exp(entropy))


def of_documents(values):
    means = [sum(each) / len(each) for each in values]
    return float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(len(means)))


def test_kl_is_blind_to_a_common_factor_and_other_measures_are_not(exact, estimate):
    assert measures(exact, estimate)["kl"] > 0
    common = measures(exact, np.broadcast_to(exact + 3.0, (3, 4)))
    assert common["kl"] == pytest.approx(0.0, abs=1e-12)
    assert common["ratio_error"] == pytest.approx(math.exp(3) - 1)
    assert common["log_error"] == pytest.approx(3.0)


def test_one_repeat_has_no_standard_error(exact, estimate):
    one = measures(exact, estimate[:1])
    assert np.isnan(one["kl_standard_error"])
    assert np.isfinite(one["ratio_standard_error"])


# --- the whole ------------------------------------------------------------------------------------


def compared(corpus, budget, n_jobs=1):
    """Exact log-probabilities (D,), and scores by run."""
    chosen = selected(corpus, budget)
    topics = trainer_of(budget, n_jobs).fit(chosen.counts).topics_
    exact = truth(topics, chosen.documents, n_jobs)
    runs = budget.runs
    return exact, {run: score(topics, chosen.documents, run, budget.seed, n_jobs) for run in runs}


def test_what_the_paper_finds(corpus):
    sizes = dict.fromkeys(ESTIMATORS, (10, 150))
    budget = replace(SMALL, sizes=sizes, n_documents=80, n_repeats=3)
    rows = iter(kl.rows_of("x", budget, *compared(corpus, budget)))
    of = {name: (next(rows), next(rows)) for name in ESTIMATORS}
    for name in ("DS", "L2R", "L2R exact", REFINED):
        few, many = of[name]
        assert abs(many["t"]) < 4
        assert many["kl"] < 0.5 * few["kl"]
    too_high = of["HM"][1]
    assert too_high["t"] > 4  # what is biased is seen to be
    assert too_high["log_error"] / too_high["log_standard_error"] > 4
    root = {name: many["root_mean_square_log_error"] for name, (_, many) in of.items()}
    assert root["L2R"] < root["DS"] < root["HM"]
    assert root[REFINED] < root["L2R exact"]


def test_the_same_bits_whatever_the_threads(corpus):
    exact, scores = compared(corpus, SMALL)
    for n_jobs in (2, 3):
        exact_again, again = compared(corpus, SMALL, n_jobs)
        assert (exact_again == exact).all()
        for run in SMALL.runs:
            assert (again[run]["log_likelihood"] == scores[run]["log_likelihood"]).all()


def test_rows_are_those_of_the_experiment(quick, no_pictures, tmp_path):
    sparse.save_npz(tmp_path / "counts.npz", few_counts())
    result = reproduced("l2r-kl", "--counts", "counts.npz", "--seed", 3, cwd=tmp_path)
    budget = Budget(**SMALL_PROTOCOLS[kl]["QUICK"], seed=3)
    chosen = selected(Named("counts", few_counts()), budget)
    exact, scores = compared(Named("counts", few_counts()), budget)
    (about,) = result["corpora"]
    assert (about["documents"], about["scored"]) == (60, chosen.documents.shape[0])
    assert about["left_out_for_length"] == chosen.n_too_long > 0
    assert about["log_likelihood"] == exact.sum()
    assert about["mean_tokens"] == chosen.documents.sum() / about["scored"]
    assert len(result["rows"]) == len(ESTIMATORS) * 2
    row = next(r for r in result["rows"] if (r["estimator"], r["samples"]) == ("L2R", 8))
    estimate = np.array([scores[Run("L2R", 8, repeat)]["log_likelihood"] for repeat in range(2)])
    assert row["log_error"] == pytest.approx(np.mean(estimate - exact))
    assert all(r["kl"] >= 0 for r in result["rows"])


def test_findings_say_where_they_fail():
    def rows(name, errors):
        exact = np.random.default_rng(0).normal(-9, 1, 12)
        signs = np.resize([1.0, -1.0], 12)
        scores = {
            run: {"log_likelihood": exact + errors[run.estimator] * signs, "seconds": 1.0}
            for run in SMALL.runs
        }
        for run, each in scores.items():
            each["log_likelihood"] += errors.get("too high", 1.0) * (run.estimator == "HM")
        return kl.rows_of(name, SMALL, exact, scores)

    good = {"DS": 0.3, "HM": 0.5, "L2R": 0.1, "L2R exact": 0.03, REFINED: 0.003}
    bad = {"DS": 0.003, "HM": 0.5, "L2R": 0.1, "L2R exact": 0.3, REFINED: 0.6, "too high": -1.0}
    result = {"rows": rows("good", good) + rows("bad", bad)}
    found = list(runs.findings(result, kl.CLAIMS))
    assert all("good" not in each.fails_at for each in found)
    failed = {each.name for each in found if each.fails_at == ["bad"]}
    assert len(failed) >= 6
    assert "hm-too-high" in failed


def test_numbers_that_json_cannot_hold():
    impossible = {"log_likelihood": np.full(12, -np.inf), "seconds": 1.0}
    with np.errstate(invalid="ignore"):
        rows = kl.rows_of("x", SMALL, np.full(12, -9.0), dict.fromkeys(SMALL.runs, impossible))
    json.dumps(rows, allow_nan=False)
    names = ("kl", "log_error", "root_mean_square_log_error")
    assert all(row[name] is None for row in rows for name in names)


def test_the_paper_has_these_sizes():
    assert (FULL.n_topics, FULL.n_words, FULL.n_documents) == (5, 100, 1000)
    assert (max(FULL.sizes["DS"]), FULL.n_repeats) == (10_000, 10)
    assert (FULL.n_sweeps, FULL.burn_in) == (1000, 500)
    assert len(FULL.runs) == 5 * 10 * 10
