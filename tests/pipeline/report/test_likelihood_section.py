import logging
import math
import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from evaluation.methods import SCORINGS, scoring_of
from evaluation.scorer import Scorer, log_likelihood
from models import LDATopics
from pipeline.cache import keys
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.report.likelihood_reading import half_width, meaning_of, probability_positive
from pipeline.report.likelihood_section import likelihood_section
from pipeline.settings import ReportSettings
from tests.pipeline.report.made_up_runs import (
    WORDS,
    as_gamma_poisson,
    as_poisson_mrf,
    blurred,
    loaded,
    made_up_corpus,
    made_up_run,
    true_topics,
)

QUICK = ("left-to-right-sequential", "variational-bound", "completion")


def section_of(run, methods=QUICK, n_threads=1, **more):
    return likelihood_section(run, ReportSettings(**more), n_threads, methods)


@pytest.fixture
def lda(tmp_path):
    return made_up_run(tmp_path, "a", true_topics())


def test_figures_are_those_of_the_estimators_on_the_test_part(lda):
    test = lda.parts.test
    assert 0 < test.n_docs < lda.corpus.n_docs
    section = section_of(lda, seed=3)
    assert (section.articles, section.documents) == (test.n_docs, test.n_docs)
    assert (section.of_documents, section.tokens) == (test.n_docs, 30 * test.n_docs)
    assert section.unknown_share == pytest.approx(0.25)  # 10 of 40
    assert [row.method for row in section.rows] == list(QUICK)
    for row in section.rows:
        expected = log_likelihood(lda.model.topics, test.counts, row.method, random_state=3)
        for name in ("perplexity", "nats_per_word", "direction"):
            assert getattr(row, name) == getattr(expected, name)
        for name in ("nats_per_word_standard_error", "perplexity_standard_error"):
            assert getattr(row, name) == getattr(expected, name)
        assert row.low_ess_documents == expected.has_low_ess.sum()
        error = expected.monte_carlo_standard_error / expected.total_tokens
        assert row.monte_carlo_standard_error == error
        assert row.seconds > 0


def test_errors_are_over_articles(tmp_path):
    corpus = made_up_corpus(40, n_sections=6)
    opened = made_up_run(tmp_path, "a", true_topics(), corpus, documents="section")
    section, test = section_of(opened, ["variational-bound"]), opened.parts.test
    assert section.documents == test.n_docs == 6 * section.articles
    estimate = log_likelihood(true_topics(), test.counts, "variational-bound")
    articles = [document.partition("#")[0] for document in test.doc_ids]
    by_article = estimate.by_group(articles).nats_per_word_standard_error
    (row,) = section.rows
    assert row.nats_per_word_standard_error == by_article
    # Sections of an article are alike here: over sections the error would be too small.
    assert by_article > 1.2 * estimate.nats_per_word_standard_error


def test_at_most_so_many_documents_evenly_spaced(lda):
    test, section = lda.parts.test, section_of(lda, ["variational-bound"], scored=7)
    assert (section.documents, section.of_documents) == (7, test.n_docs)
    rows = np.arange(7) * test.n_docs // 7
    expected = log_likelihood(true_topics(), test.counts[rows], "variational-bound")
    assert section.rows[0].perplexity == expected.perplexity


def test_documents_without_tokens_are_skipped(tmp_path):
    corpus = made_up_corpus()
    counts = corpus.counts.toarray()
    counts[::2] = 0
    opened = made_up_run(tmp_path, "a", true_topics(), replace(corpus, counts=counts))
    test = opened.parts.test
    n_with_tokens = int((test.counts.sum(axis=1) > 0).sum())
    section = section_of(opened, ["variational-bound"])
    assert 0 < section.documents == n_with_tokens < test.n_docs == section.of_documents


def test_every_family_has_its_estimators(tmp_path):
    for number, topics in enumerate((true_topics(), as_gamma_poisson(true_topics()))):
        opened = made_up_run(tmp_path, f"run{number}", topics)
        section = section_of(opened, None, scored=5, samples=20)
        assert tuple(row.method for row in section.rows) == scoring_of(topics).shown
        bound, sampled = (
            next(row for row in section.rows if row.method == method)
            for method in ("variational-bound", "left-to-right-sequential")
        )
        assert bound.perplexity > sampled.perplexity
        # Tokens in order for both, so that a word's perplexity is at most about that of chance.
        assert 5 < sampled.perplexity < 1.2 * len(WORDS)


def test_poisson_mrfs_are_scored_given_their_partition_functions(tmp_path):
    opened = made_up_run(tmp_path, "a", as_poisson_mrf(true_topics()))
    section = section_of(opened, None, scored=5, samples=5)
    annealed, split_up = section.rows
    assert annealed.direction == "unbiased"
    assert "partition functions" in annealed.meaning
    assert split_up.meaning.startswith("Not a perplexity")
    assert "annealed-importance-sampling; 95 % interval" in section.reading
    assert section.reading.endswith("estimates, whose error is in no figure here.")


def test_how_many_samples_a_document_has(lda):
    for n_samples, expected in (
        *((None, ("100 samples", "4 divisions")), (7, ("7 samples", "7 div"))),
    ):
        sequential, bound, completion = section_of(lda, scored=5, samples=n_samples).rows
        assert sequential.n_samples == float(expected[0].split()[0])
        assert f" {expected[0]} per document." in sequential.meaning
        assert bound.n_samples is None
        assert "per document." not in bound.meaning.replace("of a document.", "")
        assert completion.n_samples == float(expected[1].split()[0])
        assert f" {expected[1]}" in completion.meaning
    of_lda = scoring_of(true_topics())
    assert meaning_of(of_lda.method("exact"), n_samples=1.0).endswith(" 1 sample per document.")
    assert " 12.5 samples per" in meaning_of(of_lda.method("harmonic-mean"), n_samples=12.5)


def test_a_seed_fixes_it_whatever_the_threads(tmp_path):
    found = []
    for run, n_threads, seed in (("a", 1, 0), ("b", 2, 0), ("c", 1, 1)):
        opened = made_up_run(tmp_path, run, true_topics())
        section = section_of(opened, QUICK[:1], scored=6, n_threads=n_threads, seed=seed)
        found.append(section.rows[0].nats_per_word)
        ResultCache().clear()
    assert found[0] == found[1] != found[2]


def test_words_without_a_topic_are_smoothed(tmp_path):
    words = true_topics().topic_word.copy()
    words[:, 3] = 0.0
    topics = LDATopics(words / words.sum(axis=1, keepdims=True), true_topics().alpha)
    opened = made_up_run(tmp_path, "a", topics)
    assert opened.parts.test.counts[:, [3]].sum() > 0
    section = section_of(opened)
    assert all(math.isfinite(row.perplexity) for row in section.rows)
    assert "A share of 1e-06 of each topic was spread over all words" in section.reading
    assert "spread" not in section_of(made_up_run(tmp_path, "b", true_topics())).reading


@pytest.mark.parametrize("nothing", ["no test part", "no words"])
def test_nothing_to_score(tmp_path, nothing, caplog):
    corpus, test = made_up_corpus(), 0.3
    if nothing == "no words":
        corpus = replace(corpus, counts=np.zeros((corpus.n_docs, corpus.n_words), dtype=np.int32))
    else:
        test = 0.0
    opened = made_up_run(tmp_path, "a", true_topics(), corpus, test=test)
    with caplog.at_level(logging.INFO, "pipeline.report.likelihood_section"):
        found = section_of(opened, ())
    assert found is None
    reason = "no test part" if nothing == "no test part" else "has a word of the vocabulary"
    assert reason in caplog.text


def test_every_estimator_has_a_meaning():
    for scoring in SCORINGS:
        assert {*scoring.shown, scoring.default, scoring.validation.method} <= set(scoring.names)
        for method in scoring.methods:
            meaning = meaning_of(method)
            assert meaning.endswith(".")
            is_half = method.name == "completion"
            assert method.scored.startswith("second half" if is_half else "whole documents")
            if method.name in {"completion", "harmonic-mean", "best-split"}:
                assert re.search(r"^Not a perplexity|not a perplexity|^Not the perplexity", meaning)
            is_of_mrf = bool(scoring.caveat) and method.name != "best-split"
            assert ("partition functions" in meaning) == is_of_mrf
            assert ("upper bound" in meaning) == (method.name == "variational-bound")


def test_the_reading_is_of_the_best_estimator(lda):
    section = section_of(lda, ("completion", "harmonic-mean", "left-to-right-sequential"))
    row = section.rows[-1]
    shown = f"{row.perplexity:.1f}"
    assert section.reading.startswith(
        "On average the model gives each word of an unseen article the probability "
        f"1/{shown}, as if it had to choose among {shown} equally likely words "
        "(left-to-right-sequential; 95 % interval "
    )
    low, high = (
        float(x) for x in re.findall(r"interval ([\d.]+) to ([\d.]+)\)", section.reading)[0]
    )
    half = stats.t.ppf(0.975, section.articles - 1) * row.nats_per_word_standard_error
    assert (low, high) == pytest.approx(row.perplexity * np.exp([-half, half]), abs=0.051)
    assert "is negligible" in section.reading


def test_readings_say_what_is_biased(lda):
    half = section_of(lda, ["completion"]).reading
    assert half.startswith("Given half of an article that is new to it, the model gives")
    assert "That is not the perplexity of whole articles" in half
    bound = section_of(lda, ["variational-bound"]).reading
    assert "at least the probability" in bound
    assert "no more than" in bound
    assert "Nothing is sampled." in bound
    assert section_of(lda, ["harmonic-mean"]).reading == (
        "None of these numbers is a perplexity to quote: harmonic-mean is shown alone."
    )
    biased = section_of(lda, ["left-to-right-particle"], scored=4, samples=5).reading
    assert "by a biased estimate" in biased


def test_a_large_monte_carlo_error_is_not_called_negligible(tmp_path):
    corpus = made_up_corpus(30)  # of articles that are all alike, so that they differ by little
    counts = np.tile(corpus.counts[[0]].toarray(), (30, 1))
    opened = made_up_run(tmp_path, "a", true_topics(), replace(corpus, counts=counts))
    reading = section_of(opened, ["mean-field-is-1"], samples=2).reading
    assert "negligible" not in reading
    assert "more samples would make it narrower" in reading


def test_one_article_has_no_interval(lda):
    section = section_of(lda, ["left-to-right-sequential"], scored=1)
    assert section.rows[0].nats_per_word_standard_error is None
    assert "one article gives no interval" in section.reading
    assert "nan" not in section.reading


def test_intervals_are_those_of_student():
    for n in (2, 5, 30):
        assert half_width(0.2, n) == pytest.approx(0.2 * stats.t.ppf(0.975, n - 1))
        assert probability_positive(0.3, 0.2, n) == pytest.approx(stats.t.cdf(1.5, n - 1))
    assert half_width(0.2, 1) is half_width(math.nan, 9) is None
    assert probability_positive(1.0, math.nan, 9) is None
    assert [probability_positive(x, 0.0, 9) for x in (-1.0, 0.0, 1.0)] == [0.0, 0.5, 1.0]


def test_intervals_hold_the_truth_as_often_as_they_say():
    # Of means of 5 normal numbers. Standard error of the share of 4,000: 0.0034; the normal
    # distribution's 1.96 holds 87.8 %.
    sample = np.random.default_rng(0).normal(size=(4000, 5))
    errors = sample.std(axis=1, ddof=1) / math.sqrt(5)
    t_ratio = np.abs(sample.mean(axis=1)) / errors
    assert abs((t_ratio < half_width(1.0, 5)).mean() - 0.95) < 4 * 0.0034
    assert abs((t_ratio < 1.96).mean() - 0.95) > 4 * 0.0034


def is_cached(opened, methods=QUICK, **more):
    with mock.patch.object(Scorer, "score", side_effect=ArithmeticError):
        try:
            section_of(opened, methods, **more)
        except ArithmeticError:
            return False
    return True


def test_a_second_report_computes_nothing(lda):
    assert not is_cached(lda)
    first = section_of(lda)
    assert is_cached(lda)
    assert section_of(lda) == first  # seconds are those of the first time
    assert is_cached(lda, QUICK[:1])
    assert not (lda.directory.path / "report").exists()


def test_what_a_score_depends_on(lda):
    method = QUICK[:1]
    section_of(lda, method)
    assert is_cached(lda, method)
    assert not is_cached(lda, QUICK[1:2])
    for other in ({"seed": 1}, {"samples": 7}, {"scored": 5}):
        assert not is_cached(lda, method, **other)
    changed = replace(lda.model, topics=blurred(true_topics(), 1e-9))
    assert not is_cached(loaded(lda.directory, model=changed), method)
    assert not is_cached(loaded(lda.directory, corpus=made_up_corpus(seed=1)), method)
    with mock.patch.object(keys, "code_hash", return_value="of other code"):
        assert not is_cached(lda, method)
    assert is_cached(lda, method)


def test_an_interrupted_report_goes_on(lda):
    score, n_scored = Scorer.score, []

    def until_the_second(scorer, block, n_jobs):
        if len(n_scored) == 1:
            raise Interrupted(2)
        n_scored.append(block.n_documents)
        return score(scorer, block, n_jobs)

    method = QUICK[:1]
    with mock.patch.object(Scorer, "score", until_the_second), pytest.raises(Interrupted):
        section_of(lda, method)
    with mock.patch.object(Scorer, "score", autospec=True, side_effect=score) as rest:
        section_of(lda, method)
    n_rest = sum(each.args[1].n_documents for each in rest.call_args_list)
    assert 0 < n_rest == lda.parts.test.n_docs - n_scored[0]


def test_warnings_of_estimators_are_left_to_the_page(tmp_path, caplog):
    corpus = made_up_corpus(20)
    counts = 40 * corpus.counts.toarray()
    topics = LDATopics(np.tile(true_topics().topic_word, (4, 1)), np.full(12, 0.05))
    opened = made_up_run(tmp_path, "a", topics, replace(corpus, counts=counts))
    section = section_of(opened, ["mean-field-is-2"], samples=8)
    assert section.rows[0].low_ess_documents > 0
    n_unsure = section.rows[0].low_ess_documents
    assert re.search(
        rf"(There are|That holds apart from) {n_unsure} documents that are hard to sample: their",
        section.reading,
    )
    assert "effective sample size" not in caplog.text
