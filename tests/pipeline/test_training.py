"""What training settings lead to, and that a seed fixes the model to the bit."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

import pipeline.commands.train as training
from corpora import part_of
from corpora.tokens import filling
from models import OnlineLDA
from pipeline.commands.train import LOOK_EVERY_SECONDS
from pipeline.interrupts import Deferred
from tests.pipeline.support import TINY, Outcome, arrays_of, call, files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from corpora.tokens.annotated import AnnotatedArticles

PATIENT = ("--early-stopping", "none", "--max-passes", 12)


def train(run: str, *argv: object, cwd: Path) -> Outcome:
    return call("train", "--run", run, *TINY, *argv, cwd=cwd)


def model_of(run: str, cwd: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return arrays_of(cwd / "runs" / run / "model.npz")


def metrics_of(run: str, cwd: Path) -> list[dict[str, Any]]:
    path = cwd / "runs" / run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def signalled_at(step: int, *numbers: signal.Signals) -> Callable[..., Iterator[Any]]:
    """`OnlineLDA.iterate` in the course of whose step a signal, or several, arrive."""
    iterate = OnlineLDA.iterate

    def iterate_with_signals(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, each in enumerate(iterate(*args, **kwargs), start=1):
            if number == step:
                for signal_number in numbers:
                    os.kill(os.getpid(), signal_number)
            yield each

    return iterate_with_signals


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_no_bit(tiny: Path, threads: int) -> None:
    assert train("more", "--threads", threads, cwd=tiny).code == 0
    assert model_of("more", tiny) == model_of("tiny", tiny)


@pytest.mark.parametrize("option", ["--alpha", "--eta"])
def test_learned_priors_are_the_same_to_the_bit_too(tiny: Path, option: str) -> None:
    for threads in (1, 2):
        assert train(f"run{threads}", option, "learned", "--threads", threads, cwd=tiny).code == 0
    assert model_of("run1", tiny) == model_of("run2", tiny)
    assert model_of("run1", tiny) != model_of("tiny", tiny)


def test_another_seed_is_another_model(tiny: Path) -> None:
    assert train("other", "--seed", 6, cwd=tiny).code == 0
    assert model_of("other", tiny) != model_of("tiny", tiny)


@pytest.mark.slow
def test_processes_of_the_text_stage_change_no_bit(untouched: Path) -> None:
    assert train("two", "--threads", 2, cwd=untouched).code == 0
    tokens = files_of(untouched / "articles/tokens")
    two = model_of("two", untouched)
    for path in (untouched / "articles/tokens").glob("*/*.npz"):
        path.unlink()
    assert train("one", "--threads", 1, cwd=untouched).code == 0
    assert files_of(untouched / "articles/tokens") == tokens
    assert model_of("one", untouched) == two


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", [1, 7, 60])
def test_interrupted_in_training_and_resumed(tiny: Path, number: signal.Signals, step: int) -> None:
    assert train("whole", *PATIENT, cwd=tiny).code == 0
    with mock.patch.object(OnlineLDA, "iterate", signalled_at(step, number)):
        outcome = train("parts", *PATIENT, cwd=tiny)
    assert outcome.code == 128 + number
    assert outcome.out == ""
    assert "checkpoint at " in outcome.err
    assert outcome.error.endswith("give the same command again to go on")
    assert (tiny / "runs/parts/checkpoints/latest.npz").exists()
    assert not (tiny / "runs/parts/model.npz").exists()

    outcome = call("train", "--run", "parts", cwd=tiny)
    assert outcome.code == 0
    assert "going on after " in outcome.err
    assert model_of("parts", tiny) == model_of("whole", tiny)


def test_interrupted_again_and_again_with_early_stopping(tiny: Path) -> None:
    codes = []
    for _ in range(50):
        with mock.patch.object(OnlineLDA, "iterate", signalled_at(9, signal.SIGINT)):
            codes.append(call("train", *TINY, cwd=tiny).code)
        if codes[-1] == 0:
            break
    assert len(codes) > 2
    assert codes == [130] * (len(codes) - 1) + [0]

    def looks(run: str) -> list[dict[str, Any]]:
        lines = metrics_of(run, tiny)
        return [{n: v for n, v in line.items() if n != "seconds"} for line in lines]

    assert looks("online-3") == looks("tiny")
    assert model_of("online-3", tiny) == model_of("tiny", tiny)


def test_a_signal_at_the_last_step_is_not_lost(tiny: Path) -> None:
    before = training.Checkpoint.save

    def save(self: training.Checkpoint, path: Path) -> None:
        before(self, path)
        if self.stopped:
            os.kill(os.getpid(), signal.SIGTERM)

    with mock.patch.object(training.Checkpoint, "save", save):
        assert train("parts", cwd=tiny).code == 143
    assert train("parts", cwd=tiny).code == 0
    assert model_of("parts", tiny) == model_of("tiny", tiny)


def test_a_second_signal_does_not_wait_for_the_step(tiny: Path) -> None:
    with mock.patch.object(OnlineLDA, "iterate", signalled_at(5, signal.SIGINT, signal.SIGINT)):
        outcome = train("parts", cwd=tiny)
    assert outcome.code == 130
    assert "checkpoint at" not in outcome.err
    assert train("parts", cwd=tiny).code == 0
    assert model_of("parts", tiny) == model_of("tiny", tiny)


def test_deferred_notes_the_first_signal() -> None:
    deferred = Deferred()
    deferred(signal.SIGTERM, None)
    assert deferred.signal_number == signal.SIGTERM
    with pytest.raises(KeyboardInterrupt):
        deferred(signal.SIGINT, None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_the_text_stage_and_resumed(
    untouched: Path, tiny_finished: Path, number: signal.Signals
) -> None:
    save, n_saved = filling.save_annotated, 0

    def save_and_signal(articles: AnnotatedArticles, path: Path, shard_sha256: str) -> None:
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
    outcome = train("parts", cwd=untouched)
    assert outcome.code == 0, outcome.err
    assert model_of("parts", untouched) == model_of("tiny", tiny_finished)
    assert files_of(untouched / "articles") == files_of(tiny_finished / "articles")


def test_early_stopping_by_documents_stops_early(tiny_finished: Path) -> None:
    lines = metrics_of("tiny", tiny_finished)
    assert 4 <= len(lines) < 100
    scores = [line["log_likelihood"] for line in lines]
    assert scores[-1] <= (scores[-2] + scores[-3]) / 2 + 1e-4 * abs(scores[-1])


def test_without_early_stopping_every_pass_is_made(tiny: Path) -> None:
    outcome = train("all", "--json", *PATIENT, cwd=tiny)
    assert outcome.result["validation"] is None
    assert metrics_of("all", tiny) == []
    provenance = json.loads((tiny / "runs/all/provenance.json").read_text())
    assert provenance["documents_seen"] == 12 * 43


def test_early_stopping_by_time(tiny: Path) -> None:
    with mock.patch.object(training, "LOOK_EVERY_SECONDS", 1e-4):
        assert train("timed", "--early-stopping", "time", cwd=tiny).code == 0
    seconds = [line["seconds"] for line in metrics_of("timed", tiny)]
    assert len(seconds) >= 4
    assert seconds == sorted(seconds)
    assert LOOK_EVERY_SECONDS > 1


def test_no_validation_documents(tiny: Path) -> None:
    outcome = train("none", "--validation", 0, "--max-passes", 3, cwd=tiny)
    assert outcome.code == 0
    assert "0 to validate" in outcome.err
    assert "validation" not in outcome.out
    assert call("train", "--run", "none", "--json", cwd=tiny).result["validation"] is None
    assert call("evaluate", "none", cwd=tiny).code == 0


def test_one_validation_document_gives_json_without_nan(tiny: Path) -> None:
    outcome = train("one", "--validation", share_of_one("validation"), "--json", cwd=tiny)
    assert ", 1 to validate" in outcome.err
    assert outcome.result["validation"]["perplexity_standard_error"] is None
    assert "NaN" not in (tiny / "runs/one/metrics.jsonl").read_text()


def test_one_test_document_gives_json_without_nan(tiny: Path) -> None:
    outcome = train("one", "--test", share_of_one("test"), cwd=tiny)
    assert ", 1 to test" in outcome.err
    result = call("evaluate", "one", "--json", cwd=tiny).result
    assert (result["articles"], result["perplexity_standard_error"]) == (1, None)
    assert "±" not in call("evaluate", "one", cwd=tiny).out


@pytest.mark.slow
def test_sections_or_articles_as_documents(finished: Path, real: Path) -> None:
    small = json.loads((finished / "runs/small/provenance.json").read_text())
    assert small["corpus"]["documents"] > 12  # sections, as the store is small
    argv = ("--articles", "articles", "--documents", "article", "--topics", 2, "--no-below", 1)
    result = call("train", *argv, "--threads", 1, "--json", cwd=real).result
    provenance = json.loads((real / result["path"] / "provenance.json").read_text())
    assert provenance["corpus"]["documents"] == 12
    # The run has seen them all, so that there is nothing held out to score.
    outcome = call("evaluate", result["run"], "--articles", "articles", "--threads", 1, cwd=real)
    assert (outcome.code, "training did not see" in outcome.error) == (2, True)


@pytest.mark.parametrize(
    ("argv", "joined"),
    [
        (("--bigrams", "none"), set()),
        (("--bigrams", "npmi", "--bigram-threshold", 0.5), {"solar_panel"}),
        (("--bigrams", "classic"), {"solar_panel"}),
        (("--bigrams", "classic", "--bigram-min-count", 1000), set()),
    ],
)
def test_bigrams(tiny: Path, argv: tuple[object, ...], joined: set[str]) -> None:
    assert train("run", *argv, cwd=tiny).code == 0
    lines = (tiny / "runs/run/bigrams.tsv").read_text().splitlines()
    assert {"_".join(line.split("\t")[:2]) for line in lines} == joined
    vocabulary = arrays_of_vocabulary(tiny / "runs/run/model.npz")
    assert {word for word in vocabulary if "_" in word} == joined
    assert ("panel" in vocabulary) == (not joined)
    result = call("infer", "run", "-", "--json", cwd=tiny, stdin="It is the solar panel.").result
    assert result["texts"][0]["tokens"] == (1 if joined else 2)


@pytest.mark.parametrize("score", ["npmi", "classic"])
def test_each_score_of_bigrams_has_a_threshold_of_its_own(tiny: Path, score: str) -> None:
    argv = [each for each in TINY if each not in ("--bigram-threshold", "0.1")]
    assert call("train", "--run", "run", *argv, "--bigrams", score, cwd=tiny).code == 0
    scores = [
        float(line.split("\t")[2])
        for line in (tiny / "runs/run/bigrams.tsv").read_text().splitlines()
    ]
    assert all(each > (0.5 if score == "npmi" else 100) for each in scores)
    assert bool(scores) == (score == "npmi")


def test_stop_words_minimum_length_and_parts_of_speech(tiny: Path) -> None:
    argv = ("--stop-words", "Piano, opera", "--min-length", 6, "--parts-of-speech", "NOUN")
    assert train("run", *argv, cwd=tiny).code == 0
    vocabulary = arrays_of_vocabulary(tiny / "runs/run/model.npz")
    assert "guitar" in vocabulary
    assert not {"piano", "opera", "solar", "laser", "solar_panel"} & set(vocabulary)


def test_keep_n_and_word_budget(tiny: Path) -> None:
    assert train("run", "--keep-n", 9, "--word-budget", 5, cwd=tiny).code == 0
    assert len(arrays_of_vocabulary(tiny / "runs/run/model.npz")) == 9
    assert call("evaluate", "run", cwd=tiny).code == 0


def test_the_sample_is_taken_where_no_articles_are_named(finished: Path, real: Path) -> None:
    # Were there no store of that name, all of the sample would be downloaded to it.
    (real / "articles").rename(real / "articles-sample")
    argv = ("train", "--topics", 2, "--threads", 1, "--seed", 1)
    with mock.patch.object(training, "download") as download:
        assert call(*argv, cwd=real).code == 0
    assert download.call_args.args[0].output == "articles-sample"
    again = call(*argv, cwd=real)
    assert "run online-2 is done" in again.err
    assert call("train", "--articles", "articles-sample", *argv[1:], cwd=real).err == again.err


def share_of_one(part: str) -> float:
    """The share that puts one of the sixty articles in this part."""
    for share in (n / 1000 for n in range(1, 900)):
        shares = {"validation": share} if part == "validation" else {"test": share}
        parts = [part_of(f"en:{i}", **shares) for i in range(1, 61)]
        if parts.count(part) == 1:  # type: ignore[arg-type]
            return share
    raise AssertionError(part)


def arrays_of_vocabulary(model: Path) -> list[str]:
    return arrays_of(model)["vocabulary"][2].decode().split("\n")
