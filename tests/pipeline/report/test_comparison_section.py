import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from corpora import Corpus, split
from evaluation import methods
from evaluation.scorer import Scorer
from models import LDATopics
from pipeline.cache.results import ResultCache
from pipeline.report.comparison_section import comparison_section
from pipeline.scoring.evaluate import evaluate
from pipeline.settings import EvaluateSettings, ReportSettings
from tests.pipeline.report.made_up_runs import (
    WORDS,
    as_gamma_poisson,
    as_poisson_mrf,
    blurred,
    made_up_corpus,
    made_up_run,
    true_topics,
)


def compared(*runs, method=None, n_threads=1, **more):
    return comparison_section(runs, ReportSettings(**more), n_threads, method)


def good_and_bad(directory, blur=0.3):
    bad = made_up_run(directory, "bad", blurred(true_topics(), blur))
    return bad, made_up_run(directory, "good", true_topics())


def run_over(directory, name, topics, words):
    """A run over these words; those that are not in `WORDS` occur nowhere."""
    corpus = made_up_corpus()
    column = dict(zip(WORDS, corpus.counts.toarray().T, strict=True))
    counts = np.array([column.get(word, np.zeros(corpus.n_docs, int)) for word in words]).T
    return made_up_run(directory, name, topics, Corpus(counts, words, corpus.doc_ids), words)


@pytest.mark.parametrize("method", [None, "variational-bound", "completion"])
def test_figures_are_those_of_evaluate(tmp_path, method):
    runs = good_and_bad(tmp_path)
    section = compared(*runs, method=method, seed=2)
    method = method or "left-to-right-sequential"
    settings = EvaluateSettings(method=method, seed=2, runs=str(tmp_path / "runs"), threads=1)
    expected = evaluate(settings, ["bad", "good"])
    assert section.method == expected["method"] == method
    for name in ("direction", "articles", "documents", "tokens"):
        assert getattr(section, name) == expected[name]
    assert [row.model for row in section.rows] == ["good", "bad"]
    of_model = {row["model"]: row for row in expected["models"]}
    for row in section.rows:
        theirs = of_model[row.model]
        for name in ("perplexity", "perplexity_standard_error", "nats_per_word"):
            assert getattr(row, name) == theirs[name]
        assert row.monte_carlo_standard_error == theirs["nats_per_word_monte_carlo_standard_error"]
    best, other = section.rows
    assert (best.difference, best.low, best.high, best.probability_worse) == (None,) * 4
    (difference,) = expected["differences"]
    assert other.difference == difference["nats_per_word"]
    n = section.articles - 1
    half = stats.t.ppf(0.975, n) * difference["standard_error"]
    assert (other.low, other.high) == pytest.approx(
        (difference["nats_per_word"] - half, difference["nats_per_word"] + half)
    )
    assert other.probability_worse == pytest.approx(stats.t.cdf(difference["z"], n))


def test_the_better_model_is_told(tmp_path):
    section = compared(*good_and_bad(tmp_path), method="completion")
    ratio = f"{np.exp(section.rows[1].difference or 0):.3f}"
    assert section.reading.startswith(
        f"Of the two runs, good gives the same {section.articles} articles the higher "
        f"probability. Each word is on average {ratio} times as probable as under bad ("
    )
    assert section.rows[1].low > 0
    assert section.reading.endswith("predicting half of each document from the other half.")


def test_a_difference_that_may_be_chance(tmp_path):
    runs = good_and_bad(tmp_path, 1e-4)
    section = compared(*runs)
    assert section.rows[1].low < 0 < section.rows[1].high
    assert "may be chance: the difference is" in section.reading
    assert "times as probable" not in section.reading


def test_the_same_model_twice(tmp_path):
    runs = [made_up_run(tmp_path, name, true_topics()) for name in ("a", "b")]
    section = compared(*runs)
    row = section.rows[1]
    assert [each.model for each in section.rows] == ["a", "b"]
    assert (row.difference, row.low, row.high, row.probability_worse) == (0.0, 0.0, 0.0, 0.5)
    assert "may be chance" in section.reading
    (alignment,) = section.alignments
    assert [(pair.first, pair.second, pair.distance) for pair in alignment.pairs] == [
        (k, k, 0.0) for k in range(3)
    ]
    assert all(len(pair.shared_words) == 20 for pair in alignment.pairs)


def test_more_than_two(tmp_path):
    more = (("m1", 0.5), ("m2", 1e-5))
    runs = [made_up_run(tmp_path, name, blurred(true_topics(), b)) for name, b in more]
    section = compared(*good_and_bad(tmp_path), *runs, method="variational-bound")
    names = [row.model for row in section.rows]
    assert names[2:] == ["bad", "m1"]
    assert section.reading.startswith(f"Of the 4 runs, {names[0]} gives")
    assert "as probable as under bad (" in section.reading
    assert "; it is further ahead of m1." in section.reading
    assert f"advantage over {names[1]} may be chance" in section.reading
    assert "The comparison is of bounds" in section.reading
    aligned = [(each.first, each.second) for each in section.alignments]
    assert aligned == [("bad", "good"), ("bad", "m1"), ("bad", "m2")]


def test_no_run_has_learned_from_the_documents(tmp_path):
    first = made_up_run(tmp_path, "first", true_topics())
    second = made_up_run(tmp_path, "second", true_topics(), test=0.1)
    parts = split(first.corpus, 0.1, 0.3)
    unseen = set(parts.test.doc_ids) & set(split(first.corpus, 0.1, 0.1).test.doc_ids)
    assert 0 < compared(first, second).documents == len(unseen) < parts.test.n_docs
    other = made_up_run(tmp_path, "other", true_topics())
    assert compared(first, other).documents == parts.test.n_docs


def test_at_most_so_many_documents(tmp_path):
    runs = good_and_bad(tmp_path)
    section = compared(*runs, scored=9)
    assert section.documents == section.articles == 9
    assert section.tokens == 9 * 30
    assert "one article cannot tell" in compared(*runs, scored=1).reading


def test_families_and_vocabularies_may_differ(tmp_path):
    lda = made_up_run(tmp_path, "lda", true_topics())
    # The same model over the words in another order, with one more that is no other's.
    order = np.random.default_rng(0).permutation(len(WORDS))
    wider = np.hstack([0.9 * true_topics().topic_word[:, order], np.full((3, 1), 0.1)])
    words = (*(WORDS[w] for w in order), "other")
    topics = as_gamma_poisson(LDATopics(wider, true_topics().alpha))
    section = compared(lda, run_over(tmp_path, "wide", topics, words), method="variational-bound")
    first, second = section.rows
    assert first.model == "lda"
    # By as much as 10 % of the probability goes to a word that is not scored, and a bound is off.
    assert second.difference == pytest.approx(-np.log(0.9), abs=0.05)
    assert "10 % of wide" in section.reading
    assert "% of lda" not in section.reading
    assert first.scored_share == pytest.approx(1.0)
    assert second.scored_share == pytest.approx(0.9)
    # Without the cost of that word it is the other model again, but for the bounds of the families.
    assert second.conditional_difference == pytest.approx(0.0, abs=0.05)
    (alignment,) = section.alignments
    assert alignment.mean_distance == pytest.approx(0.0, abs=1e-6)
    assert all(pair.first == pair.second for pair in alignment.pairs)


def with_more_words(directory, name, topics, extra):
    """The model as it would be had it two more words, which take a share `extra` of each topic."""
    share = np.array(extra)[:, None]
    wider = np.hstack([(1 - share) * topics.topic_word, 0.25 * share, 0.75 * share])
    return run_over(directory, name, LDATopics(wider, topics.alpha), (*WORDS, "more", "most"))


@pytest.mark.parametrize("method", ["left-to-right-sequential", "variational-bound", "completion"])
@pytest.mark.parametrize("extra", [(0.4, 0.4, 0.4), (0.1, 0.4, 0.6)])
def test_a_model_with_more_words_is_no_worse_for_them(tmp_path, method, extra):
    few = made_up_run(tmp_path, "few", true_topics())
    section = compared(few, with_more_words(tmp_path, "many", true_topics(), extra), method=method)
    first, second = section.rows
    assert (first.model, second.model) == ("few", "many")
    assert second.low > 0.1  # as they stand
    assert second.scored_share == pytest.approx(1 - np.mean(extra))
    assert second.conditional_difference == pytest.approx(0.0, abs=1e-9)
    assert second.conditional_low == pytest.approx(0.0, abs=1e-9)
    assert not section.is_comparable
    assert section.reading.startswith("These runs are not comparable as they are: ")
    assert "few gives the same" in section.reading
    assert f"a cost of {-np.log(second.scored_share):.2f} nats a word" in section.reading
    nothing = " by 0.0000 nats a word (95 % interval 0.0000 to 0.0000, which includes 0)"
    assert nothing in section.reading
    assert not re.search("good|best a|better|Of the two", section.reading.split("scored words.")[1])


def test_a_better_model_with_more_words_is_not_called_worse(tmp_path):
    bad = made_up_run(tmp_path, "bad", blurred(true_topics(), 0.3))
    section = compared(bad, with_more_words(tmp_path, "good", true_topics(), (0.4, 0.4, 0.4)))
    first, second = section.rows
    assert (first.model, second.model) == ("bad", "good")
    # What it costs to have words that are not scored is the same for each token.
    gain = compared(bad, made_up_run(tmp_path, "plain", true_topics())).rows[1].difference
    assert second.difference == pytest.approx(-np.log(0.6) - gain, abs=0.02)
    assert second.conditional_difference == pytest.approx(-gain, abs=0.02)
    assert second.conditional_high < 0
    assert not section.is_comparable
    assert "good is ahead of bad by " in section.reading


def test_what_is_the_best_both_ways_is_called_so(tmp_path):
    good = made_up_run(tmp_path, "good", true_topics())
    bad = with_more_words(tmp_path, "bad", blurred(true_topics(), 0.3), (0.4, 0.4, 0.4))
    section = compared(good, bad)
    assert section.is_comparable
    assert section.reading.startswith("Of the two runs, good gives")
    assert "restricted to the scored words, bad is behind good by " in section.reading


def test_a_poisson_mrf_with_more_words_is_not_ranked(tmp_path):
    few = LDATopics.from_weights(true_topics().topic_word[:, :-1] + 1e-9, true_topics().alpha)
    even = LDATopics(np.full((1, len(WORDS)), 1 / len(WORDS)), [0.3])
    lda = run_over(tmp_path, "lda", few, WORDS[:-1])
    section = compared(lda, made_up_run(tmp_path, "mrf", as_poisson_mrf(even)), scored=4, samples=2)
    assert not section.is_comparable
    assert section.rows[1].conditional_difference is None
    assert section.reading.count("not comparable as they are") == 1
    assert "are not known for Poisson MRFs" in section.reading


def test_poisson_mrfs_without_dependencies_are_lda(tmp_path):
    lda = made_up_run(tmp_path, "lda", true_topics())
    section = compared(lda, made_up_run(tmp_path, "mrf", as_poisson_mrf(true_topics())), scored=10)
    assert section.method == "annealed-importance-sampling"  # which both have
    first, second = section.rows
    assert {first.model, second.model} == {"lda", "mrf"}
    error = np.hypot(first.monte_carlo_standard_error, second.monte_carlo_standard_error)
    assert second.difference < 4 * error < 0.05
    assert "Partition functions of Poisson MRFs are estimates" in section.reading


def test_topics_without_a_partner(tmp_path):
    three = made_up_run(tmp_path, "three", true_topics())
    topics = LDATopics(true_topics().topic_word[[2, 0]], true_topics().alpha[:2])
    two = made_up_run(tmp_path, "two", topics)
    for runs, expected in (
        ((three, two), [(0, 1, 0.0), (2, 0, 0.0), (1, None, None)]),
        ((two, three), [(0, 2, 0.0), (1, 0, 0.0), (None, 1, None)]),
    ):
        (alignment,) = compared(*runs).alignments
        assert [(pair.first, pair.second, pair.distance) for pair in alignment.pairs] == expected


def test_impossible_words_are_smoothed_for_all(tmp_path):
    words = true_topics().topic_word.copy()
    words[:, true_topics().word_share.argmax()] = 0.0
    holes = LDATopics(words / words.sum(axis=1, keepdims=True), true_topics().alpha)
    runs = [made_up_run(tmp_path, "holes", holes), made_up_run(tmp_path, "good", true_topics())]
    section = compared(*runs)
    assert [row.model for row in section.rows] == ["good", "holes"]
    assert np.isfinite([row.perplexity for row in section.rows]).all()
    assert "A share of 1e-06 of each topic was spread over all words" in section.reading
    assert section.rows[1].low > 0


def test_runs_of_one_name_differ_by_path(tmp_path):
    runs = [made_up_run(tmp_path / where, "x", true_topics()) for where in ("here", "there")]
    section = compared(*runs)
    assert {row.model for row in section.rows} == {str(each.directory.path) for each in runs}


def test_a_second_report_computes_nothing(tmp_path):
    runs = good_and_bad(tmp_path)
    first = compared(*runs)
    with mock.patch.object(Scorer, "score", side_effect=ArithmeticError):
        assert compared(*runs) == first
        with pytest.raises(ArithmeticError):
            compared(*runs, seed=1)


def test_threads_change_nothing(tmp_path):
    runs = [good_and_bad(tmp_path / name) for name in ("a", "b")]
    one = compared(*runs[0], n_threads=1)
    ResultCache().clear()
    assert one.rows == compared(*runs[1], n_threads=2).rows


@pytest.mark.parametrize("why", ["no words", "not asked", "no documents", "no method"])
def test_what_cannot_be_compared_has_a_reason(tmp_path, why, monkeypatch):
    first = made_up_run(tmp_path, "first", true_topics())
    second, most, reason = made_up_run(tmp_path, "second", true_topics()), 200, "not asked for"
    if why == "no words":
        second = run_over(tmp_path, "others", true_topics(), tuple(f"<b>{w}" for w in WORDS))
        reason = "no word in common with all models"
    elif why == "no documents":
        second = made_up_run(tmp_path, "none", true_topics(), test=0.0)
        reason = "has no document that is new to the other runs"
    elif why == "no method":
        second = made_up_run(tmp_path, "gp", as_gamma_poisson(true_topics()))
        lda, *others = methods.SCORINGS
        monkeypatch.setattr(methods, "SCORINGS", (replace(lda, default="exact"), *others))
        monkeypatch.setattr(methods, "SHARED_METHODS", ())
        monkeypatch.setattr("pipeline.report.comparison_section.UNBIASED_METHOD", "none")
        reason = "no --method that is chosen by itself"
    else:
        most = 0
    section = compared(first, second, scored=most)
    assert section.rows == ()
    assert re.match(r"The likelihoods of these runs are not compared: .*\.$", section.reading)
    assert reason in section.reading
    assert len(section.alignments) == (why != "no words")
