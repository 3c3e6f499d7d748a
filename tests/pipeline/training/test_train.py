import json
import os
import shutil
import signal
from unittest import mock

import pytest

import pipeline.training.train as training
from corpora import part_of
from corpora.tokens import filling
from models import GibbsLDA, OnlineLDA
from pipeline.interrupts import Deferred
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of
from tests.pipeline.support import (
    THEMES,
    TINY,
    TINY_GIBBS,
    arrays_of,
    call,
    files_of,
    looks_of,
    metrics_of,
    signalled_at,
)

PATIENT = ("--early-stopping", "none", "--max-passes", 12)
TRAINERS = {"online": OnlineLDA, "gibbs": GibbsLDA}
TINY_OF = {"online": TINY, "gibbs": TINY_GIBBS}


def train(run, *argv, cwd, model="online"):
    return call("train", "--run", run, *TINY_OF[model], *argv, cwd=cwd)


def model_of(run, cwd):
    return arrays_of(cwd / "runs" / run / "model.npz")


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_no_bit(tiny, threads):
    assert train("more", "--threads", threads, cwd=tiny).code == 0
    assert model_of("more", tiny) == model_of("tiny", tiny)


@pytest.mark.parametrize("option", [pytest.param("--alpha", marks=pytest.mark.slow), "--eta"])
def test_learned_priors_are_the_same_to_the_bit_too(tiny, option):
    for threads in (1, 2):
        assert train(f"run{threads}", option, "learned", "--threads", threads, cwd=tiny).code == 0
    assert model_of("run1", tiny) == model_of("run2", tiny)
    assert model_of("run1", tiny) != model_of("tiny", tiny)


def test_threads_change_no_bit_of_parallel_gibbs_sampling(tiny):
    for threads in (1, 2):
        argv = ("--threads", threads, "--sampler", "parallel-sparse")
        assert train(f"run{threads}", *argv, cwd=tiny, model="gibbs").code == 0
    assert model_of("run1", tiny) == model_of("run2", tiny)
    assert looks_of(tiny, "run1") == looks_of(tiny, "run2")


def test_settings_reach_the_gibbs_sampler():
    given = {"alpha": "asymmetric", "learn_priors": "both", "start": "random"}
    given |= {"sampler": "exact-sparse", "burn_in": 3, "word_budget": 9}
    settings = TrainSettings(model="gibbs", topics=7, eta="0.2", max_passes=11, seed=4, **given)
    wanted = given | {"n_topics": 7, "eta": 0.2, "n_iter": 11, "random_state": 4, "n_jobs": 2}
    estimator = estimator_of(settings, 2)
    assert isinstance(estimator, GibbsLDA)
    assert estimator.get_params() == estimator.get_params() | wanted


def test_a_run_of_gibbs_sampling_is_a_run_like_any_other(tiny_gibbs, tiny):
    shutil.copytree(tiny_gibbs / "runs/gibbs", tiny / "runs/gibbs")
    result = call("evaluate", "gibbs", "--json", cwd=tiny).result
    online = call("evaluate", "tiny", "--json", cwd=tiny).result
    assert result["perplexity"] == pytest.approx(online["perplexity"], rel=0.1)
    tops = call("topics", "gibbs", "--json", cwd=tiny).result["topics"]
    themes = {theme for row in tops for theme in range(3) if row["words"][0] in THEMES[theme]}
    assert themes == {0, 1, 2}
    text = "It is the guitar of a piano."
    result = call("infer", "gibbs", "-", "--json", cwd=tiny, stdin=text).result
    assert result["texts"][0]["tokens"] == 2
    assert "run gibbs is done" in train("gibbs", cwd=tiny, model="gibbs").err
    error = call("train", "--run", "gibbs", "--model", "online", cwd=tiny).failed()
    assert "was begun with model = gibbs" in error


def test_another_seed_is_another_model(tiny):
    assert train("other", "--seed", 6, cwd=tiny).code == 0
    assert model_of("other", tiny) != model_of("tiny", tiny)


@pytest.mark.slow
def test_processes_of_the_text_stage_change_no_bit(untouched):
    assert train("two", "--threads", 2, cwd=untouched).code == 0
    tokens, two = files_of(untouched / "articles/tokens"), model_of("two", untouched)
    for path in (untouched / "articles/tokens").glob("*/*.npz"):
        path.unlink()
    assert train("one", "--threads", 1, cwd=untouched).code == 0
    assert files_of(untouched / "articles/tokens") == tokens
    assert model_of("one", untouched) == two


@pytest.mark.parametrize(
    ("model", "step", "number"),
    [
        *(("online", 1, signal.SIGINT), ("online", 7, signal.SIGTERM)),
        *(("online", 60, signal.SIGINT), ("gibbs", 1, signal.SIGTERM)),
        *(("gibbs", 7, signal.SIGINT), ("gibbs", 12, signal.SIGTERM)),
    ],
)
def test_interrupted_in_training_and_resumed(tiny, model, step, number):
    assert train("whole", *PATIENT, cwd=tiny, model=model).code == 0
    with mock.patch.object(
        TRAINERS[model], "iterate", signalled_at(TRAINERS[model].iterate, step, number)
    ):
        outcome = train("parts", *PATIENT, cwd=tiny, model=model)
    assert (outcome.code, outcome.out) == (128 + number, "")
    assert "checkpoint at " in outcome.err
    assert outcome.error.endswith("give the same command again to go on")
    assert (tiny / "runs/parts/checkpoints/latest.npz").exists()
    assert not (tiny / "runs/parts/model.npz").exists()
    assert "going on after " in call("train", "--run", "parts", cwd=tiny).succeeded().err
    assert model_of("parts", tiny) == model_of("whole", tiny)


@pytest.mark.parametrize("model", TRAINERS)
def test_interrupted_again_and_again_with_early_stopping(tiny, model):
    assert train("whole", cwd=tiny, model=model).code == 0
    codes = []
    for _ in range(50):
        with mock.patch.object(
            TRAINERS[model], "iterate", signalled_at(TRAINERS[model].iterate, 9, signal.SIGINT)
        ):
            codes.append(train("parts", cwd=tiny, model=model).code)
        if codes[-1] == 0:
            break
    assert len(codes) > 2
    assert codes == [130] * (len(codes) - 1) + [0]
    assert looks_of(tiny, "parts") == looks_of(tiny, "whole")
    assert model_of("parts", tiny) == model_of("whole", tiny)


def test_a_signal_at_the_last_step_is_not_lost(tiny):
    before = training.Checkpoint.save

    def save(self, path):
        before(self, path)
        if self.stopped:
            os.kill(os.getpid(), signal.SIGTERM)

    with mock.patch.object(training.Checkpoint, "save", save):
        assert train("parts", cwd=tiny).code == 143
    assert train("parts", cwd=tiny).code == 0
    assert model_of("parts", tiny) == model_of("tiny", tiny)


def test_a_second_signal_does_not_wait_for_the_step(tiny):
    with mock.patch.object(
        OnlineLDA, "iterate", signalled_at(OnlineLDA.iterate, 5, signal.SIGINT, signal.SIGINT)
    ):
        outcome = train("parts", cwd=tiny)
    assert outcome.code == 130
    assert "checkpoint at" not in outcome.err
    assert train("parts", cwd=tiny).code == 0
    assert model_of("parts", tiny) == model_of("tiny", tiny)


def test_deferred_notes_the_first_signal():
    deferred = Deferred()
    deferred(signal.SIGTERM, None)
    assert deferred.signal_number == signal.SIGTERM
    with pytest.raises(KeyboardInterrupt):
        deferred(signal.SIGINT, None)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_interrupted_in_the_text_stage_and_resumed(untouched, tiny_finished, number):
    save, n_saved = filling.save_annotated, 0

    def save_and_signal(articles, path, shard_sha256):
        nonlocal n_saved
        save(articles, path, shard_sha256)
        n_saved += 1
        if n_saved == 3:
            os.kill(os.getpid(), number)

    with mock.patch.object(filling, "save_annotated", save_and_signal):
        outcome = train("parts", cwd=untouched)
    assert outcome.code == 128 + number
    assert outcome.error.endswith("give the same command again to go on")
    assert len(list((untouched / "articles/tokens").glob("*/*.npz"))) == 3
    train("parts", cwd=untouched).succeeded()
    assert model_of("parts", untouched) == model_of("tiny", tiny_finished)
    assert files_of(untouched / "articles") == files_of(tiny_finished / "articles")


def test_without_early_stopping_every_pass_is_made(tiny):
    assert train("all", "--json", *PATIENT, cwd=tiny).result["validation"] is None
    assert metrics_of(tiny, "all") == []
    assert json.loads((tiny / "runs/all/provenance.json").read_text())["documents_seen"] == 12 * 43


def test_no_validation_documents(tiny):
    outcome = train("none", "--validation", 0, "--max-passes", 3, cwd=tiny).succeeded()
    assert "0 to validate" in outcome.err
    assert "validation" not in outcome.out
    assert call("train", "--run", "none", "--json", cwd=tiny).result["validation"] is None
    assert call("evaluate", "none", cwd=tiny).code == 0


def test_one_validation_document_gives_json_without_nan(tiny):
    outcome = train("one", "--validation", share_of_one("validation"), "--json", cwd=tiny)
    assert ", 1 to validate" in outcome.err
    assert outcome.result["validation"]["perplexity_standard_error"] is None
    assert "NaN" not in (tiny / "runs/one/metrics.jsonl").read_text()


def test_one_test_document_gives_json_without_nan(tiny):
    assert ", 1 to test" in train("one", "--test", share_of_one("test"), cwd=tiny).err
    result = call("evaluate", "one", "--json", cwd=tiny).result
    assert (result["articles"], result["perplexity_standard_error"]) == (1, None)
    assert "±" not in call("evaluate", "one", cwd=tiny).out


@pytest.mark.slow
def test_sections_or_articles_as_documents(finished, real):
    small = json.loads((finished / "runs/small/provenance.json").read_text())
    assert small["corpus"]["documents"] > 12  # sections, as the store is small
    argv = ("--articles", "articles", "--documents", "article", "--topics", 2, "--no-below", 1)
    result = call("train", *argv, "--threads", 1, "--json", cwd=real).result
    provenance = json.loads((real / result["path"] / "provenance.json").read_text())
    assert provenance["corpus"]["documents"] == 12
    # The run has seen them all, so that there is nothing held out to score.
    error = call(
        "evaluate", result["run"], "--articles", "articles", "--threads", 1, cwd=real
    ).failed()
    assert "training did not see" in error


@pytest.mark.parametrize(
    ("argv", "joined"),
    [
        (("--bigrams", "none"), set()),
        pytest.param(
            ("--bigrams", "npmi", "--bigram-threshold", 0.5),
            {"solar_panel"},
            marks=pytest.mark.slow,
        ),
        (("--bigrams", "classic"), {"solar_panel"}),
        pytest.param(
            ("--bigrams", "classic", "--bigram-min-count", 1000), set(), marks=pytest.mark.slow
        ),
    ],
)
def test_bigrams(tiny, argv, joined):
    assert train("run", *argv, cwd=tiny).code == 0
    lines = (tiny / "runs/run/bigrams.tsv").read_text().splitlines()
    assert {"_".join(line.split("\t")[:2]) for line in lines} == joined
    vocabulary = arrays_of_vocabulary(tiny / "runs/run/model.npz")
    assert {word for word in vocabulary if "_" in word} == joined
    assert ("panel" in vocabulary) == (not joined)
    result = call("infer", "run", "-", "--json", cwd=tiny, stdin="It is the solar panel.").result
    assert result["texts"][0]["tokens"] == (1 if joined else 2)


@pytest.mark.parametrize("score", ["npmi", "classic"])
def test_each_score_of_bigrams_has_a_threshold_of_its_own(tiny, score):
    argv = [each for each in TINY if each not in ("--bigram-threshold", "0.1")]
    assert call("train", "--run", "run", *argv, "--bigrams", score, cwd=tiny).code == 0
    scores = [
        float(line.split("\t")[2])
        for line in (tiny / "runs/run/bigrams.tsv").read_text().splitlines()
    ]
    assert all(each > (0.5 if score == "npmi" else 100) for each in scores)
    assert bool(scores) == (score == "npmi")


def test_stop_words_minimum_length_and_parts_of_speech(tiny):
    argv = ("--stop-words", "Piano, opera", "--min-length", 6, "--parts-of-speech", "NOUN")
    assert train("run", *argv, cwd=tiny).code == 0
    vocabulary = arrays_of_vocabulary(tiny / "runs/run/model.npz")
    assert "guitar" in vocabulary
    assert not {"piano", "opera", "solar", "laser", "solar_panel"} & set(vocabulary)


def test_keep_n_and_word_budget(tiny):
    assert train("run", "--keep-n", 9, "--word-budget", 5, cwd=tiny).code == 0
    assert len(arrays_of_vocabulary(tiny / "runs/run/model.npz")) == 9
    assert call("evaluate", "run", cwd=tiny).code == 0


@pytest.mark.slow
def test_the_sample_is_taken_where_no_articles_are_named(finished, real):
    # Were there no store of that name, all of the sample would be downloaded to it.
    (real / "articles").rename(real / "articles-sample")
    argv = ("train", "--topics", 2, "--threads", 1, "--seed", 1)
    with mock.patch.object(training, "download") as download:
        assert call(*argv, cwd=real).code == 0
    assert download.call_args.args[0].output == "articles-sample"
    again = call(*argv, cwd=real)
    assert "run gibbs-2 is done" in again.err
    assert call("train", "--articles", "articles-sample", *argv[1:], cwd=real).err == again.err


def share_of_one(part):
    for share in (n / 1000 for n in range(1, 900)):
        shares = {"validation": share} if part == "validation" else {"test": share}
        parts = [part_of(f"en:{i}", **shares) for i in range(1, 61)]
        if parts.count(part) == 1:  # type: ignore[arg-type]
            return share
    raise AssertionError(part)


def arrays_of_vocabulary(model):
    return arrays_of(model)["vocabulary"][2].decode().split("\n")
