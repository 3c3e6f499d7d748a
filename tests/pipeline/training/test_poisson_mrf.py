import shutil
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from corpora import Corpus, split
from evaluation import log_likelihood, methods
from models import FixedLengthPoissonMRF, LDATopics, LPMRFMixture, LPMRFTopicModel, PoissonMRFState
from models.poisson_mrf.field_estimator import LPMRFTrainer
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from models.saved import SavedModel, load_model, save_model
from pipeline.settings import TrainSettings
from pipeline.training.checkpoint import Checkpoint
from pipeline.training.trainers import estimator_of
from pipeline.training.validation import validation_of
from tests.pipeline.support import (
    MADE_UP,
    THEMES,
    arrays_of,
    call,
    finish,
    looks_of,
    metrics_of,
    signalled_at,
    spawn,
)

KINDS = {"gibbs": LPMRFTopics, "moves": LPMRFTopics, "mixture": LPMRFClusters}
TRAIN = ("train", *MADE_UP, "--model", "poisson-mrf", "--penalty", "0.05", "--max-passes", "4")
LDA_ROUNDS = 10
DRIVER = """
import os, signal, sys
import pipeline.training.train as training
from models import LPMRFMixture, LPMRFTopicModel
from models.poisson_mrf.field_estimator import LPMRFTrainer
from pipeline.cli import main

if __name__ == "__main__":
    training.CHECKPOINT_SECONDS = 0.0
    for kind in (LPMRFTopicModel, LPMRFMixture):
        kind.__init__.__kwdefaults__.update(n_samples=10, n_temperatures=10)
    kill_at, iterate = int(sys.argv.pop(1)), LPMRFTrainer.iterate

    def deadly(*args, **kwargs):
        for number, step in enumerate(iterate(*args, **kwargs), start=1):
            if number == kill_at:  # the checkpoint is that of the round before
                os.kill(os.getpid(), signal.SIGKILL)
            yield step

    LPMRFTrainer.iterate = deadly
    sys.exit(main())
"""


@pytest.fixture(autouse=True, scope="module")
def briefly_annealed():
    """Partition functions by few chains: seconds for each run would go into them."""
    with ExitStack() as stack:
        for kind in (LPMRFTopicModel, LPMRFMixture):
            defaults = kind.__init__.__kwdefaults__
            stack.enter_context(mock.patch.dict(defaults, n_samples=10, n_temperatures=10))
        yield


@pytest.fixture(scope="module")
def trained_once(briefly_annealed, tiny_finished, tmp_path_factory):
    """Made-up articles, an LDA run `tiny`, and a run for each way to assign topics, by its name."""
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("poisson-mrf") / "tiny")
    for name in KINDS:
        call(*TRAIN, "--run", name, "--assignments", name, cwd=directory).succeeded()
    return directory


@pytest.fixture
def trained(trained_once, tmp_path):
    return shutil.copytree(trained_once, tmp_path / "trained")


@pytest.mark.parametrize(
    "name",
    [pytest.param(kind, marks=[] if kind == "gibbs" else pytest.mark.slow) for kind in KINDS],
)
def test_a_run_like_any_other(trained_once, name):
    topics = load_model(trained_once / "runs" / name / "model.npz").topics
    assert type(topics) is KINDS[name]
    assert len(topics.edge_weight)  # type: ignore[union-attr]
    rows = call("topics", name, "--json", cwd=trained_once).result["topics"]
    themes = {theme for row in rows for theme in range(3) if row["words"][0] in THEMES[theme]}
    assert themes == {0, 1, 2}
    assert sum(row["prevalence"] for row in rows) == pytest.approx(1.0)
    assert any(row["positive"] or row["negative"] for row in rows)
    table = (trained_once / "runs" / name / "topics.txt").read_text()
    assert any(line.startswith(("           +  ", "           -  ")) for line in table.splitlines())
    text = "It is the guitar of a piano."
    found = call("infer", name, "-", "--json", cwd=trained_once, stdin=text).result["texts"][0]
    assert sum(row["proportion"] for row in found["topics"]) == pytest.approx(1.0)
    assert set(found["topics"][0]["words"]) & set(THEMES[1].split())


@pytest.mark.parametrize("name", KINDS)
def test_rounds_with_dependencies_are_looked_at(trained_once, name):
    lines = metrics_of(trained_once, name)
    passes = [line["passes"] for line in lines]
    assert passes == list(range(int(passes[0]), int(passes[0]) + len(passes)))  # each of them
    assert len(passes) <= 4
    if name == "gibbs":
        assert passes[0] == LDA_ROUNDS + 1
    else:
        assert passes[0] > 1
    parts = split(Corpus.load(trained_once / "runs" / name / "corpus"), 0.1, 0.1)
    assert all(line["tokens"] == parts.validation.counts.sum() for line in lines)  # not half
    topics = load_model(trained_once / "runs" / name / "model.npz").topics
    best = max(line["log_likelihood"] for line in lines)
    assert validation_of(topics, parts.validation.counts, 1)["log_likelihood"] == best


@pytest.mark.parametrize(("name", "n_steps"), [("gibbs", 12), ("moves", 2)])
def test_interrupted_and_resumed_at_other_threads(trained, name, n_steps):
    argv = (*TRAIN, "--run", "parts", "--assignments", name)
    interrupted = signalled_at(LPMRFTrainer.iterate, n_steps, signal.SIGINT)
    with mock.patch.object(LPMRFTrainer, "iterate", interrupted):
        assert call(*argv, cwd=trained).code == 130
    corpus = Corpus.load(trained / "runs/parts/corpus")
    path = trained / "runs/parts/checkpoints/latest.npz"
    state = Checkpoint.load(path, corpus.content_hash).state
    assert isinstance(state, PoissonMRFState)
    assert state.n_rounds == n_steps
    outcome = call("train", "--run", "parts", "--threads", 2, cwd=trained).succeeded()
    assert "going on after " in outcome.err
    whole, parts = (arrays_of(trained / "runs" / run / "model.npz") for run in (name, "parts"))
    assert parts == whole
    assert looks_of(trained, "parts") == looks_of(trained, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rounds"), [("gibbs", (2, 7, 3, 2, 3)), ("moves", (2, 2)), ("mixture", (2,))]
)
def test_killed_in_one_round_after_another(trained, name, rounds):
    (trained / "driver.py").write_text(DRIVER)
    argv = (*TRAIN, "--run", "x", "--assignments", name)
    for kill_at in rounds:
        program = [sys.executable, str(trained / "driver.py"), str(kill_at)]
        outcome = finish(spawn(*argv, cwd=trained, program=program))
        assert outcome.code == -signal.SIGKILL, outcome.err
    call(*argv, cwd=trained).succeeded()
    whole, parts = (arrays_of(trained / "runs" / run / "model.npz") for run in (name, "x"))
    assert parts == whole
    assert looks_of(trained, "x") == looks_of(trained, name)


def test_settings_reach_the_trainers():
    common = {"model": "poisson-mrf", "topics": 7, "max_passes": 11, "seed": 4}
    own = {"penalty": 0.02, "length_scale": 1.25}
    wanted = own | {"n_topics": 7, "n_iter": 11, "random_state": 4, "n_jobs": 2}
    for name in ("gibbs", "moves"):
        found = estimator_of(TrainSettings(**common, **own, assignments=name), 2)
        assert isinstance(found, LPMRFTopicModel)
        assert found.get_params() == found.get_params() | wanted | {"assignments": name}
    mixture = estimator_of(TrainSettings(**common, **own, assignments="mixture"), 2)
    assert isinstance(mixture, LPMRFMixture)
    assert mixture.get_params() == mixture.get_params() | wanted
    found = estimator_of(TrainSettings(**common), 1)
    assert isinstance(found, LPMRFTopicModel)
    assert (found.assignments, found.penalty, found.length_scale) == ("gibbs", 0.03, 1.5)


def test_the_most_rounds_there_can_be():
    assert {
        name: most_passes(TrainSettings(model="poisson-mrf", assignments=name, max_passes=7))
        for name in KINDS
    } == {"gibbs": LDA_ROUNDS + 7, "moves": 21, "mixture": 14}
    assert most_passes(TrainSettings(model="online", max_passes=7)) == 7


def most_passes(settings):
    return estimator_of(settings, 1).schedule.max_passes


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--alpha", "1"), "--alpha is for --model online or gibbs, not poisson-mrf"),
        (("--eta", "1"), "--eta is for --model online or gibbs or gamma-poisson, not poisson-mrf"),
        (("--burn-in", "2"), "--burn-in is for --model gibbs or gamma-poisson"),
        (("--follow",), "--follow is for --model online, not poisson-mrf"),
        (("--penalty", "0"), "--penalty must be positive and finite, found 0.0"),
        (("--penalty", "nan"), "--penalty must be positive and finite, found nan"),
        (("--length-scale", "-1"), "--length-scale must be positive and finite, found -1.0"),
        (("--length-scale", "inf"), "--length-scale must be positive and finite, found inf"),
        (("--assignments", "none"), "--assignments must be one of gibbs, moves, mixture"),
        (("--model", "gibbs"), "--penalty is for --model poisson-mrf, not gibbs"),
    ],
)
def test_settings_that_cannot_be(trained, argv, message):
    assert message in call(*TRAIN, "--run", "other", *argv, cwd=trained).failed()
    assert not (trained / "runs/other").exists()


def test_more_topics_than_documents(trained):
    for _ in range(2):  # a second time it goes on with the corpus
        error = call(*TRAIN, "--run", "other", "--topics", 100000, cwd=trained).failed()
        assert "--topics 100000: --model poisson-mrf needs as many documents" in error


@pytest.mark.slow
def test_numbers_of_topics_are_chosen_by_the_likelihood(trained):
    argv = ("select", *TRAIN[1:], "--assignments", "mixture", "--early-stopping", "none")
    argv = tuple(each for each in argv if each not in ("--topics", "3"))
    outcome = call(*argv, "--topics", "2,3", "--json", cwd=trained).succeeded()
    result = outcome.result
    assert (result["method"], [row["topics"] for row in result["rows"]]) == ("exact", [2, 3])
    assert result["recommended"] in (2, 3)
    assert not any("completion" in line for line in outcome.out.splitlines())


def test_what_converts(trained):
    argv = ("convert", "runs/gibbs", "keys.txt", "--to", "mallet-topic-keys")
    error = call(*argv, cwd=trained).failed()
    assert "gibbs is no LDA" in error
    call(
        "convert", "runs/gibbs", "topics.tsv", "--to", "mallet-doc-topics", cwd=trained
    ).succeeded()


@pytest.mark.slow
def test_the_default_method(trained_once):
    methods = {
        name: call("evaluate", name, "--json", "--threads", 1, cwd=trained_once).result["method"]
        for name in ("tiny", *KINDS)
    }
    annealing = "annealed-importance-sampling"
    assert methods == {
        "tiny": "completion",
        "gibbs": annealing,
        "moves": annealing,
        "mixture": "exact",
    }
    outcome = call("evaluate", "tiny", "gibbs", "moves", "--json", "--threads", 1, cwd=trained_once)
    assert outcome.result["method"] == annealing
    lda, *_ = outcome.result["models"]
    exact = call("evaluate", "tiny", "--method", "exact", "--json", cwd=trained_once).result
    error = exact["tokens_scored"] * lda["nats_per_word_monte_carlo_standard_error"]
    assert abs(lda["log_likelihood"] - exact["log_likelihood"]) < 4 * error + 1e-6


@pytest.mark.parametrize(
    ("models", "method"),
    [
        ("tied-mixture.npz tied.npz", "exact"),
        ("lda.npz tied-mixture.npz", "exact"),
        ("lda.npz tied.npz", "annealed-importance-sampling"),
        ("tied-mixture.npz same-mixture.npz", "exact"),
    ],
)
def test_the_default_method_of_several(small, models, method):
    assert evaluated(small, *models.split())["method"] == method


def test_no_method_in_common(small):
    changed = tuple(
        replace(each, methods=each.methods[-1:], default="best-split")
        if each.topics is LPMRFClusters
        else each
        for each in methods.SCORINGS
    )
    with mock.patch.object(methods, "SCORINGS", changed):
        outcome = call("evaluate", "lda.npz", "same-mixture.npz", "--counts", "docs", cwd=small)
    assert outcome.code == 2
    assert "; same-mixture.npz has best-split" in outcome.error
    assert "lda.npz has annealed-importance-sampling, annealing-from-mean, " in outcome.error


@pytest.fixture
def small(tmp_path):
    rng, words = np.random.default_rng(0), tuple(f"word{w}" for w in range(9))
    topic_word, alpha = rng.dirichlet(np.full(9, 0.9), 2), np.array([0.4, 0.9])
    phi = np.zeros((9, 9))
    phi[1, 7] = phi[7, 1] = -0.3
    phi[2, 4] = phi[4, 2] = 0.1
    made = {"lda": LDATopics(topic_word, alpha)}
    for name, edges in (("same", 0.0 * phi), ("tied", phi)):
        fields = [FixedLengthPoissonMRF(np.log(row), edges, 20.0) for row in topic_word]
        table = np.zeros((2, 40))
        made[name] = LPMRFTopics.of_fields(fields, table, alpha)
        made[f"{name}-mixture"] = LPMRFClusters.of_fields(fields, table, alpha)
    for name, model in made.items():
        save_model(tmp_path / f"{name}.npz", SavedModel(model, words))
    counts = rng.poisson(rng.gamma(alpha, 9.0, size=(20, 2)) @ topic_word)
    counts[3] = 0
    Corpus(counts, words, tuple(f"doc{d}" for d in range(20))).save(tmp_path / "docs")
    return tmp_path


def evaluated(directory, *argv):
    counts = ("--counts", "docs", "--threads", 1, "--json")
    return call("evaluate", *argv, *counts, cwd=directory).succeeded().result


@pytest.mark.parametrize("convention", ["sequence", "bag"])
def test_without_edges_they_are_lda(small, convention):
    argv = ("--method", "exact", "--convention", convention)
    result = evaluated(small, "lda.npz", "same.npz", "tied.npz", *argv)
    lda, same, tied = result["models"]
    assert same["log_likelihood"] == pytest.approx(lda["log_likelihood"], rel=1e-10)
    assert abs(tied["log_likelihood"] - lda["log_likelihood"]) > 0.1
    assert (result["convention"], same["family"]) == (convention, "poisson-mrf")


@pytest.mark.parametrize(
    ("model", "method"),
    [
        *(("tied", "annealed-importance-sampling"), ("tied", "best-split"), ("tied", "exact")),
        *(("tied-mixture", "best-split"), ("tied-mixture", "exact")),
    ],
)
def test_each_method(small, model, method):
    result = evaluated(small, f"{model}.npz", "--method", method, "--convention", "bag")
    topics = load_model(small / f"{model}.npz").topics
    counts = Corpus.load(small / "docs").counts
    expected = log_likelihood(topics, counts, method, convention="bag", random_state=0)
    assert result["log_likelihood"] == pytest.approx(expected.total, rel=1e-12)
    assert result["perplexity"] == pytest.approx(expected.perplexity, rel=1e-12)
    assert (result["method"], result["documents"]) == (method, expected.n_documents)
    argv = ("--method", method, "--convention", "bag", "--counts", "docs")
    out = call("evaluate", f"{model}.npz", *argv, cwd=small).out
    n_documents = expected.n_documents
    empty, first, second, *_ = out.splitlines()
    assert empty == f"left out: {20 - n_documents} documents without a token to score"
    assert first.startswith(f"{method} (")
    assert f" of counts, given how many tokens, on {n_documents} documents" in first
    assert second == (
        "Partition functions of Poisson MRFs are estimates, whose error is in no figure here."
    )


def test_words_that_another_model_does_not_know(small):
    saved, kept = load_model(small / "lda.npz"), np.array([7, 1, 3, 4, 2])
    words = tuple(saved.vocabulary[w] for w in kept)
    topics = LDATopics.from_weights(saved.topics.topic_word[:, kept], [0.4, 0.9])
    save_model(small / "some.npz", SavedModel(topics, words))
    some, tied = evaluated(small, "some.npz", "tied.npz", "--method", "exact")["models"]
    counts = Corpus.load(small / "docs").counts.toarray()
    counts[:, np.setdiff1d(np.arange(9), kept)] = 0
    expected = log_likelihood(load_model(small / "tied.npz").topics, counts, "exact").total
    assert tied["log_likelihood"] == pytest.approx(expected, rel=1e-12)
    assert tied["probability_of_scored_words"] < some["probability_of_scored_words"]


def test_a_corpus_that_lacks_words(small):
    counts, words = Corpus.load(small / "docs").counts, Corpus.load(small / "docs").vocabulary
    kept = [5, 1, 7, 2]
    few = Corpus(counts[:, kept], tuple(words[w] for w in kept), tuple(map(str, range(20))))
    few.save(small / "few")
    argv = ("evaluate", "tied.npz", "--counts", "few", "--method", "exact", "--json")
    found, dense = call(*argv, cwd=small).result["log_likelihood"], counts.toarray()
    dense[:, np.setdiff1d(np.arange(9), kept)] = 0
    expected = log_likelihood(load_model(small / "tied.npz").topics, dense, "exact").total
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            "tied.npz --method completion",
            "of family poisson-mrf: use one of annealed-importance-sampling, best-split, exact; a",
        ),
        (
            "tied-mixture.npz --method left-to-right",
            "of family poisson-mrf-mixture: use one of best-split, exact",
        ),
        ("lda.npz tied.npz --method best-split", "no estimator for lda.npz, of family lda"),
        (
            "tied.npz --convention bag-and-length",
            "tied.npz is of family poisson-mrf, which does not say how long documents are",
        ),
        ("tied.npz --smoothing 0.1", "--smoothing: tied.npz is of family poisson-mrf"),
        ("tied.npz --certify", "--certify: tied.npz is of family poisson-mrf; from a Poisson MRF"),
        ("tied.npz --method best-split --certify", "--certify: tied.npz"),
        ("tied-mixture.npz lda.npz --method exact --certify", "--certify: tied-mixture.npz"),
    ],
)
def test_what_the_family_has_not(small, argv, message):
    assert message in call("evaluate", *argv.split(), "--counts", "docs", cwd=small).failed()


@pytest.mark.slow
def test_a_target_is_reached_by_annealing(small):
    argv = ("--method", "annealed-importance-sampling", "--target-se", 0.5)
    result = evaluated(small, "tied.npz", *argv)
    per_document = result["nats_per_word_monte_carlo_standard_error"] * result["tokens_scored"]
    assert per_document / np.sqrt(result["documents"]) < 0.5
