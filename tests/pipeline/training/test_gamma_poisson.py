import shutil
import signal
from unittest import mock

import numpy as np
import pytest

from corpora import Corpus
from evaluation import log_likelihood
from models import KLNMF, BetaGammaPFA, GammaPoissonTopics, GaP, LDATopics
from models.saved import SavedModel, load_model, save_model
from pipeline.settings import TrainSettings
from pipeline.training.trainers import estimator_of
from tests.pipeline.support import MADE_UP, THEMES, arrays_of, call, looks_of, signalled_at

TRAINERS = {"beta-gamma-pfa": BetaGammaPFA, "gap": GaP, "kl-nmf": KLNMF}
TRAIN = ("train", *MADE_UP, "--model", "gamma-poisson")


@pytest.fixture(scope="module")
def trained_once(tiny_finished, tmp_path_factory):
    """Made-up articles, an LDA run `tiny`, and a run of each trainer, by its name."""
    directory = shutil.copytree(tiny_finished, tmp_path_factory.mktemp("gamma-poisson") / "tiny")
    for trainer in TRAINERS:
        call(*TRAIN, "--run", trainer, "--trainer", trainer, cwd=directory).succeeded()
    return directory


@pytest.fixture
def trained(trained_once, tmp_path):
    return shutil.copytree(trained_once, tmp_path / "trained")


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_run_like_any_other(trained_once, trainer):
    topics = load_model(trained_once / "runs" / trainer / "model.npz").topics
    assert isinstance(topics, GammaPoissonTopics)
    rows = call("topics", trainer, "--json", cwd=trained_once).result["topics"]
    themes = {theme for row in rows for theme in range(3) if row["words"][0] in THEMES[theme]}
    assert themes == {0, 1, 2}
    assert sum(row["prevalence"] for row in rows) == pytest.approx(1.0)
    result = call("evaluate", trainer, "--json", cwd=trained_once).result
    online = call("evaluate", "tiny", "--json", cwd=trained_once).result
    assert (result["family"], online["family"]) == ("gamma-poisson", "lda")
    assert result["tokens_scored"] == online["tokens_scored"]
    assert result["perplexity"] == pytest.approx(online["perplexity"], rel=0.1)
    text = "It is the guitar of a piano."
    found = call("infer", trainer, "-", "--json", cwd=trained_once, stdin=text).result["texts"][0]
    assert sum(row["proportion"] for row in found["topics"]) == pytest.approx(1.0)
    assert set(found["topics"][0]["words"]) & set(THEMES[1].split())


@pytest.mark.parametrize("trainer", TRAINERS)
def test_interrupted_and_resumed_at_other_threads(trained, trainer):
    argv = (*TRAIN, "--run", "parts", "--trainer", trainer)
    interrupted = signalled_at(TRAINERS[trainer].iterate, 3, signal.SIGINT)
    with mock.patch.object(TRAINERS[trainer], "iterate", interrupted):
        assert call(*argv, cwd=trained).code == 130
    assert (trained / "runs/parts/checkpoints/latest.npz").exists()
    assert call("train", "--run", "parts", "--threads", 2, cwd=trained).code == 0
    whole, parts = (arrays_of(trained / "runs" / run / "model.npz") for run in (trainer, "parts"))
    assert parts == whole
    assert looks_of(trained, "parts") == looks_of(trained, trainer)


def test_settings_reach_the_trainers():
    common = {"model": "gamma-poisson", "topics": 7, "max_passes": 11, "seed": 4}
    sampled = {"eta": "0.2", "sampler": "exact-sparse", "start": "random", "burn_in": 3}
    found = estimator_of(TrainSettings(**common, **sampled, shape=0.3), 2)
    wanted = sampled | {"n_topics": 7, "n_iter": 11, "random_state": 4, "n_jobs": 2}
    wanted |= {"eta": 0.2, "shape": 0.3, "learn_shape": False}
    assert isinstance(found, BetaGammaPFA)
    assert found.get_params() == found.get_params() | wanted
    learning = estimator_of(TrainSettings(**common), 1).get_params()
    assert (learning["shape"], learning["learn_shape"]) == (1.0, True)
    gap = estimator_of(TrainSettings(**common, trainer="gap", shape=1.7), 2)
    assert isinstance(gap, GaP)
    assert gap.get_params()["shape"] == 1.7
    nmf = estimator_of(TrainSettings(**common, trainer="kl-nmf"), 2)
    assert isinstance(nmf, KLNMF)
    assert nmf.get_params() == nmf.get_params() | {"n_topics": 7, "n_iter": 11, "random_state": 4}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--alpha", "1"), "--alpha is for --model online or gibbs, not gamma-poisson"),
        (("--word-budget", "5"), "--word-budget is for --model online or gibbs"),
        (("--trainer", "gap", "--burn-in", "2"), "--burn-in has no meaning for --trainer gap"),
        (("--trainer", "kl-nmf", "--shape", "2"), "--shape has no meaning for --trainer kl-nmf"),
        (("--shape", "0"), "shape must be positive"),
        (("--trainer", "gap", "--shape", "0.5"), "shape"),
        (("--eta", "learned"), 'eta must be a number, one for each word, or "symmetric"'),
        (("--model", "gibbs", "--shape", "1"), "--shape is for --model gamma-poisson, not gibbs"),
        (("--burn-in", "100"), "--burn-in must be less than the 100 of --max-passes"),
    ],
)
def test_settings_of_others_are_refused(trained, argv, message):
    assert message in call(*TRAIN, "--run", "other", *argv, cwd=trained).failed()
    assert not (trained / "runs/other").exists()


@pytest.fixture
def small(tmp_path):
    rng, words = np.random.default_rng(0), tuple(f"word{w}" for w in range(12))
    topic_word, alpha = rng.dirichlet(np.full(12, 0.5), 2), np.array([0.4, 0.9])
    same = GammaPoissonTopics.from_lda(topic_word, alpha, 0.9)
    other = GammaPoissonTopics(3 * rng.dirichlet(np.full(12, 0.5), 2), [0.7, 0.2], [0.6, 0.9])
    for name, model in (("lda", LDATopics(topic_word, alpha)), ("same", same), ("other", other)):
        save_model(tmp_path / f"{name}.npz", SavedModel(model, words))
    counts = rng.poisson(rng.gamma(alpha, 9.0, size=(20, 2)) @ topic_word)
    counts[3] = 0
    Corpus(counts, words, tuple(f"doc{d}" for d in range(20))).save(tmp_path / "docs")
    return tmp_path


def evaluated(directory, *argv):
    counts = ("--counts", "docs", "--threads", 1, "--json")
    return call("evaluate", *argv, *counts, cwd=directory).succeeded().result


@pytest.mark.parametrize("convention", ["sequence", "bag"])
def test_families_compare_given_the_length(small, convention):
    argv = ("lda.npz", "same.npz", "other.npz", "--method", "exact", "--convention", convention)
    result = evaluated(small, *argv)
    lda, same, other = result["models"]
    assert same["log_likelihood"] == pytest.approx(lda["log_likelihood"], abs=1e-9)
    assert other["log_likelihood"] < lda["log_likelihood"]
    assert (result["convention"], result["documents"]) == (convention, 19)


def test_a_model_and_what_it_says_of_some_words_are_a_tie(small):
    saved, kept = load_model(small / "other.npz"), np.array([7, 1, 3, 4, 10])
    words = tuple(saved.vocabulary[w] for w in kept)
    save_model(small / "some.npz", SavedModel(saved.topics.with_words(kept), words))
    argv = ("other.npz", "some.npz", "--method", "exact", "--convention", "bag-and-length")
    whole, some = evaluated(small, *argv)["models"]
    assert whole["log_likelihood"] == pytest.approx(some["log_likelihood"], abs=1e-9)
    assert whole["probability_of_scored_words"] == some["probability_of_scored_words"] == 1.0
    whole, some = evaluated(small, *argv[:-1], "sequence")["models"]
    assert whole["log_likelihood"] < some["log_likelihood"] - 10
    assert whole["probability_of_scored_words"] < 0.9


def test_lengths_are_scored_where_asked_for(small):
    argv = ("other.npz", "--method", "exact", "--convention", "bag-and-length")
    result, topics = evaluated(small, *argv), load_model(small / "other.npz").topics
    expected = log_likelihood(topics, Corpus.load(small / "docs").counts, "exact").total
    assert result["log_likelihood"] == pytest.approx(expected, rel=1e-12)
    assert result["documents"] == 20  # an empty one says something, too
    outcome = call("evaluate", *argv, "--counts", "docs", cwd=small)
    assert "exact (exact) of counts and lengths on 20 documents" in outcome.out


@pytest.mark.parametrize(
    "method", ["direct-sampling", "harmonic-mean", "left-to-right", "left-to-right-exact"]
)
def test_the_estimators_of_the_paper(small, method):
    result = evaluated(small, "other.npz", "--method", method, "--samples", 200)
    exact = evaluated(small, "other.npz", "--method", "exact")
    assert result["log_likelihood"] == pytest.approx(exact["log_likelihood"], rel=0.05)
    assert result["method"] == method


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ("same.npz", "--method", "left-to-right-particle"),
            "of family gamma-poisson: use one of annealed-importance-sampling, annealing-from-mean",
        ),
        (("lda.npz", "--method", "left-to-right"), "no estimator for lda.npz, of family lda"),
        (
            ("lda.npz", "--method", "exact", "--convention", "bag-and-length"),
            "lda.npz is of family lda, which does not say how long documents are",
        ),
        (("same.npz", "--convention", "bag"), "completion scores half of each"),
    ],
)
def test_what_a_family_has_not(small, argv, message):
    assert message in call("evaluate", *argv, "--counts", "docs", cwd=small).failed()


def test_topic_keys_are_of_lda_only(trained):
    argv = ("convert", "runs/gap", "keys.txt", "--to", "mallet-topic-keys")
    error = call(*argv, cwd=trained).failed()
    assert "gap is no LDA" in error
    call("convert", "runs/gap", "topics.tsv", "--to", "mallet-doc-topics", cwd=trained).succeeded()
