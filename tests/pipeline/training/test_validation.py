import math
import os
import signal
import time
from itertools import accumulate, count, pairwise
from unittest import mock

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from scipy import sparse

from corpora import Corpus, split
from evaluation import log_likelihood
from models import GammaPoissonTopics, LDATopics, load_model
from pipeline.runs.run_directory import RunDirectory
from pipeline.settings import TrainSettings
from pipeline.training import train as train_command
from pipeline.training import validation as learning
from pipeline.training.train import train
from pipeline.training.validation import (
    BOUND_SAMPLE_RATIO,
    MAX_CHECKED_DOCUMENTS,
    MIN_BOUND_SAMPLE,
    bound_of,
    evenly_spaced,
    validation_of,
    validation_sample,
)
from tests.pipeline.support import TINY, TINY_GIBBS, arrays_of, call, inside, looks_of, metrics_of

TINY_OF = {"online": TINY, "gibbs": TINY_GIBBS}


def validation_counts(run):
    return split(Corpus.load(run / "corpus"), 0.1, 0.1).validation.counts


@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_what_a_look_says(tiny_gibbs, model):
    run = "gibbs" if model == "gibbs" else "tiny"
    lines = metrics_of(tiny_gibbs, run)
    assert len(lines) >= 4
    validation = validation_counts(tiny_gibbs / "runs" / run)
    n_scored = sum(n - n // 2 for n in validation.sum(axis=1))
    for line in lines:
        assert line["tokens"] == n_scored
        assert line["perplexity"] == pytest.approx(math.exp(-line["log_likelihood"] / n_scored))
        assert line["perplexity_standard_error"] > 0
        assert line["passes"] == pytest.approx(line["documents"] / 43)
    best = accumulate((line["perplexity"] for line in lines), min)
    assert [line["best_perplexity"] for line in lines] == list(best)
    for before, line in pairwise([{"documents": 0, "seconds": 0.0}, *lines]):
        n_documents, seconds = (line[n] - before[n] for n in ("documents", "seconds"))
        if line.get("finished"):  # of other topics, after no more documents
            assert line["documents_per_second"] is None
            continue
        assert line["documents_per_second"] * seconds == pytest.approx(n_documents)


def test_gibbs_sampling_is_looked_at_from_its_first_sample_on(tiny):
    for burn_in, first in ((0, 4.0), (3, 4.0), (4, 5.0), (20, 21.0)):
        argv = ("--run", f"after{burn_in}", *TINY_GIBBS, "--burn-in", burn_in)
        assert call("train", *argv, cwd=tiny).code == 0
        assert metrics_of(tiny, f"after{burn_in}")[0]["passes"] == first


@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_the_end_is_looked_at_too(tiny, model):
    argv = ("--max-passes", 12, "--stopping-patience", 50)
    with mock.patch.object(learning, "check_interval", return_value=10_000):
        assert call("train", "--run", "x", *TINY_OF[model], *argv, cwd=tiny).code == 0
    passes = [line["passes"] for line in metrics_of(tiny, "x") if "finished" not in line]
    assert passes[-1] == 12.0
    assert len(passes) == len(set(passes))


def test_at_most_so_many_documents_are_looked_at():
    few = sparse.csr_array(np.arange(MAX_CHECKED_DOCUMENTS, dtype=np.int32)[:, None])
    assert validation_sample(few) is few
    for n_docs in (
        *(MAX_CHECKED_DOCUMENTS + 1, 2 * MAX_CHECKED_DOCUMENTS, 7 * MAX_CHECKED_DOCUMENTS + 3),
    ):
        rows = np.arange(n_docs, dtype=np.int32)
        taken = validation_sample(sparse.csr_array(rows[:, None])).toarray().ravel()
        assert len(taken) == MAX_CHECKED_DOCUMENTS
        shortest, longest = n_docs // MAX_CHECKED_DOCUMENTS, -(-n_docs // MAX_CHECKED_DOCUMENTS)
        assert set(np.diff(taken)) <= {shortest, longest}
        assert taken[0] == 0
        assert taken[-1] >= n_docs - longest


@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_a_look_has_the_bound_too(tiny_gibbs, model):
    run = RunDirectory(tiny_gibbs / "runs" / ("gibbs" if model == "gibbs" else "tiny"))
    lines, validation = run.metrics(), validation_counts(run.path)
    assert validation.shape[0] <= MIN_BOUND_SAMPLE  # all are in the bound
    best = lines[run.provenance()["best_look"]]
    bound = log_likelihood(load_model(run.model_path).topics, validation, "variational-bound")
    assert best["bound_perplexity"] == bound.perplexity
    assert best["bound_tokens"] == bound.total_tokens == validation.sum()
    assert len({line["bound_perplexity"] for line in lines}) > 1


def made_up_topics():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(50, 0.3), 3)
    counts = sparse.csr_array(
        rng.poisson(0.4, size=(MIN_BOUND_SAMPLE * BOUND_SAMPLE_RATIO + 16, 50))
    )
    lda = LDATopics(words, np.full(3, 0.4))
    return lda, GammaPoissonTopics(words, np.full(3, 0.4), np.full(3, 0.9)), counts


def test_the_bound_is_of_some_documents_and_of_tokens_in_order():
    lda, gamma_poisson, counts = made_up_topics()
    number = counts.shape[0] // BOUND_SAMPLE_RATIO
    assert number == MIN_BOUND_SAMPLE + 2
    some = counts[evenly_spaced(counts.shape[0], number)]
    for topics in (lda, gamma_poisson):
        line = bound_of(topics, counts, 1)
        assert line["bound_tokens"] == some.sum() < counts.sum() / 4
        sampled = log_likelihood(
            topics, some, "left-to-right-sequential", convention="sequence", random_state=0
        )
        # An upper bound of the perplexity of the same tokens, and within 20 % of it.
        error = 4 * sampled.monte_carlo_standard_error / sampled.total_tokens
        assert sampled.perplexity * math.exp(-error) < line["bound_perplexity"]
        assert line["bound_perplexity"] < 1.2 * sampled.perplexity


def test_no_bound_is_no_number():
    lda, _, counts = made_up_topics()
    nothing = sparse.csr_array(counts.shape, dtype=counts.dtype)
    assert bound_of(lda, nothing, 1) == {"bound_perplexity": None, "bound_tokens": 0}


def test_the_bound_changes_no_training(tiny):
    found = []
    for run in ("with", "without"):
        with mock.patch.object(learning, "bound_of", bound_of if run == "with" else lambda *_: {}):
            assert call("train", "--run", run, *TINY, "--max-passes", 4, cwd=tiny).code == 0
        lines = [
            {n: v for n, v in line.items() if not n.startswith("bound")}
            for line in looks_of(tiny, run)
        ]
        found.append((arrays_of(tiny / "runs" / run / "model.npz"), lines))
        assert ("bound_perplexity" in metrics_of(tiny, run)[0]) == (run == "with")
    assert found[0] == found[1]


@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_the_model_is_that_of_the_best_look(tiny_gibbs, model):
    name = "gibbs" if model == "gibbs" else "tiny"
    run = RunDirectory(tiny_gibbs / "runs" / name)
    scores = [line["log_likelihood"] for line in run.metrics()]
    best = int(np.argmax(scores))
    assert model == "gibbs" or best < len(scores) - 1  # the last would be another
    topics = load_model(run.model_path).topics
    assert validation_of(topics, validation_counts(run.path), 1)["log_likelihood"] == scores[best]
    outcome = call("train", "--run", name, cwd=tiny_gibbs)
    assert f": check {best + 1} of {len(scores)}\n" in outcome.out
    result = call("train", "--run", name, "--json", cwd=tiny_gibbs).result["validation"]
    assert result == run.metrics()[best] | {"look": best + 1, "looks": len(scores)}


def scripted(scores, seen):
    def completion(topics, counts, n_threads):
        found = validation_of(topics, counts, n_threads)
        seen.append(topics)
        return found | {"log_likelihood": scores[len(seen) - 1]}

    return completion


@pytest.mark.parametrize(
    ("model", "final", "best"), [("online", -1.0, 2), ("gibbs", -340.0, 2), ("gibbs", -1.0, 6)]
)
def test_where_validation_worsens_the_best_is_kept(tiny, model, final, best):
    scores, seen = [-500.0, -400.0, -300.0, -310.0, -320.0, -330.0, final], []
    with mock.patch.object(learning, "validation_of", scripted(scores, seen)):
        assert call("train", "--run", "x", *TINY_OF[model], cwd=tiny).code == 0
    n_looks = 6 + (model == "gibbs")  # three after the best, which is the patience, and the final
    assert len(seen) == n_looks
    kept = load_model(tiny / "runs/x/model.npz")
    assert np.array_equal(kept.topics.topic_word, seen[best].topic_word)
    assert np.array_equal(kept.topics.alpha, seen[best].alpha)
    assert not np.array_equal(kept.topics.topic_word, seen[5].topic_word)
    assert kept.prevalence is not None
    parts = split(Corpus.load(tiny / "runs/x/corpus"), 0.1, 0.1)
    n_tokens = parts.train.counts.sum(axis=1)
    shares = (seen[best].transform(parts.train.counts) * n_tokens[:, None]).sum(axis=0)
    assert kept.prevalence == pytest.approx(shares / n_tokens.sum())
    validation = call("train", "--run", "x", "--json", cwd=tiny).result["validation"]
    assert (validation["look"], validation["looks"]) == (best + 1, n_looks)
    assert validation["log_likelihood"] == scores[best]
    lines = metrics_of(tiny, "x")
    assert [n for n, line in enumerate(lines) if "finished" in line] == list(range(6, n_looks))
    assert all(line["seconds"] > before["seconds"] for before, line in pairwise(lines))
    spent = RunDirectory(tiny / "runs/x").provenance()["seconds"]["training"]
    assert spent == lines[-1]["seconds"]  # those of the final topics are booked


@pytest.mark.slow
@pytest.mark.parametrize("n_before", range(1, 7))
@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_the_best_outlives_an_interruption(tiny, model, n_before):
    scores = [-500.0, -400.0, -300.0, -310.0, -320.0, -330.0, -340.0]
    with mock.patch.object(learning, "validation_of", scripted(scores, [])):
        assert call("train", "--run", "whole", *TINY_OF[model], cwd=tiny).code == 0
    seen = []
    completion = scripted(scores, seen)

    def completion_and_signal(*args):
        if len(seen) == n_before - 1:
            os.kill(os.getpid(), signal.SIGINT)
        return completion(*args)

    with mock.patch.object(learning, "validation_of", completion_and_signal):
        assert call("train", "--run", "parts", *TINY_OF[model], cwd=tiny).code == 130
        assert len(seen) == n_before
        assert call("train", "--run", "parts", cwd=tiny).code == 0
    assert len(seen) == 6 + (model == "gibbs")
    assert looks_of(tiny, "parts") == looks_of(tiny, "whole")
    one, other = (arrays_of(tiny / "runs" / run / "model.npz") for run in ("parts", "whole"))
    assert one == other


@pytest.mark.parametrize("argv", [("--early-stopping", "none"), ("--validation", 0)])
def test_without_looks_the_last_model_is_kept(tiny, argv):
    found = set()
    for n_passes in (5, 6):
        run = f"run{n_passes}"
        argv = (*argv, "--max-passes", n_passes)
        assert call("train", "--run", run, *TINY, *argv, cwd=tiny).code == 0
        assert metrics_of(tiny, run) == []
        found.add(str(arrays_of(tiny / "runs" / run / "model.npz")["topic_word"]))
        assert "validation perplexity" not in call("train", "--run", run, cwd=tiny).out
    assert len(found) == 2


WORSE_IN_THE_END = [-500.0, -400.0, -300.0, *[-310.0] * 9]
# Each of six checks is better by 0.1 %: within the patience of three by 0.3 %.
SLOWLY_BETTER = [-1000.0, *(-999.0 + i for i in range(5)), *[-994.0] * 10]


@pytest.mark.parametrize(
    ("scores", "setting", "value", "n_looks"),
    [
        *((WORSE_IN_THE_END, "patience", value, n) for value, n in ((1, 4), (2, 5), (5, 8))),
        *((SLOWLY_BETTER, "tolerance", value, n) for value, n in ((0.0, 10), (2e-3, 9))),
        *((SLOWLY_BETTER, "tolerance", value, 4) for value in (5e-3, 0.5)),
    ],
)
def test_patience_and_tolerance(tiny, scores, setting, value, n_looks):
    seen = []
    with mock.patch.object(learning, "validation_of", scripted(scores, seen)):
        argv = (f"--stopping-{setting}", value)
        assert call("train", "--run", "x", *TINY, *argv, cwd=tiny).code == 0
    assert len(seen) == n_looks


def ticking(seconds):
    times = count()
    return lambda: next(times) * seconds


def settings_of(run, model, **more):
    return TrainSettings(
        articles="articles",
        run=run,
        model=model,
        topics=3,
        seed=5,
        threads=1,
        documents="article",
        no_below=1,
        no_above=1.0,
        bigram_threshold=0.1,
        early_stopping="time",
        **(({"batch_size": 10} if model == "online" else {}) | more),
    )


def test_compiling_is_no_training(tiny):
    steps = train_command._steps

    def compiled_first(*arguments):
        with global_compiler_lock:  # what numba holds while it compiles, and while it loads
            time.sleep(1.5)
        yield from steps(*arguments)

    with inside(tiny), mock.patch.object(train_command, "_steps", compiled_first):
        seconds = train(settings_of("x", "online", max_passes=2), {})["seconds"]
    assert seconds["compiling"] >= 1.5
    assert 0 < seconds["training"] < 1.5


def due(first, n):
    last = first
    for _ in range(n):
        yield last
        last = math.ceil(max(1.1 * last, last + learning.CHECK_SECONDS))


@pytest.mark.parametrize(("model", "first"), [("online", 5), ("gibbs", 5)])
def test_looks_by_the_clock_that_is_brought(tiny, model, first):
    with inside(tiny):
        for run in ("one", "two"):
            result = train(settings_of(run, model, stopping_patience=9), {}, clock=ticking(1.0))
            assert result["seconds"]["training"] == metrics_of(tiny, run)[-1]["seconds"]
    seconds = [line["seconds"] for line in metrics_of(tiny, "one")]
    assert len(seconds) >= 10
    expected = list(due(first, len(seconds)))
    assert seconds[:-1] == expected[:-1]
    assert seconds[-1] <= expected[-1]  # the end, if training did not stop before
    assert metrics_of(tiny, "one") == metrics_of(tiny, "two")
    one, two = (arrays_of(tiny / "runs" / run / "model.npz") for run in ("one", "two"))
    assert one == two


def test_a_slower_clock_is_looked_at_less_often(tiny):
    with inside(tiny):
        train(settings_of("slow", "online", max_passes=8), {}, clock=ticking(0.5))
        train(settings_of("quick", "online", max_passes=8), {}, clock=ticking(5.0))
    slow, quick = (metrics_of(tiny, run) for run in ("slow", "quick"))
    assert (quick[0]["seconds"], slow[0]["seconds"]) == (5.0, 5.0)
    assert quick[0]["documents"] <= 10  # one step
    assert 70 < slow[0]["documents"] <= 100


def test_a_stream_is_timed_by_the_same_clock(tiny):
    with inside(tiny):
        for run in ("one", "two"):
            settings = settings_of(run, "online", follow=True, follow_after=20, max_passes=4)
            train(settings, {}, clock=ticking(2.0))
    lines = metrics_of(tiny, "one")
    assert lines == metrics_of(tiny, "two")
    assert "validation_documents" in lines[0]
    assert all(line["seconds"] % 2 == 0 for line in lines)
