import json
import os
import random
import shutil
import signal
import sys
import time
from itertools import product
from unittest import mock

import pytest

import pipeline.training.follow as following
from corpora import Article, ArticleStore, Corpus, part_of, writer_lock
from models import OnlineLDA
from pipeline.errors import UsageError
from pipeline.setting_sources import as_table, from_table, resolve
from pipeline.settings import TrainSettings
from tests.pipeline.conftest import fill_store
from tests.pipeline.support import (
    TINY,
    arrays_of,
    call,
    finish,
    looks_of,
    made_up_texts,
    spawn,
    wait_until,
)

N_ARTICLES = 120
FOLLOW = ("train", "--follow", "--follow-after", "45", *TINY)

FEEDER = """
import sys, time
from itertools import islice
from pathlib import Path
from corpora import ArticleStore, writer_lock

articles, path = iter(ArticleStore(sys.argv[1])), Path("articles")
(path / "download").mkdir(parents=True)
with writer_lock(path / "download"):
    print("downloading", flush=True)
    time.sleep(float(sys.argv[2]))
    (path / "download").rename("download")
    ArticleStore(path).append([])
    Path("download").rename(path / "download")
    for size in map(int, sys.argv[3].split(",")):
        ArticleStore(path, shard_size=7).append(islice(articles, size))
        print(size, flush=True)
        time.sleep(float(sys.argv[2]))
    time.sleep(float(sys.argv[4]))
"""
DRIVER = """
import sys, time
import pipeline.training.follow as following
import pipeline.training.train as training
from models import OnlineLDA
from pipeline.errors import UsageError
from pipeline.setting_sources import as_table, from_table, resolve
from pipeline.settings import TrainSettings
from pipeline.cli import main

if __name__ == "__main__":
    following.CHECKPOINT_SECONDS = training.CHECKPOINT_SECONDS = 0.0  # at each step, and these slow
    partial_fit = OnlineLDA.partial_fit

    def slow(*args, **kwargs):
        time.sleep(0.05)
        return partial_fit(*args, **kwargs)

    OnlineLDA.partial_fit = slow
    sys.exit(main())
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed")
    fill_store(directory / "articles", N_ARTICLES)
    call(*FOLLOW, "--run", "x", cwd=directory).succeeded()
    return directory


@pytest.fixture
def there(undisturbed, tmp_path):
    shutil.copytree(undisturbed / "articles", tmp_path / "articles")
    return tmp_path


def model_of(directory, run="x"):
    return arrays_of(directory / "runs" / run / "model.npz")


def feed(directory, source, pieces, pause=0.0, hold=0.0):
    """A process that brings the articles of `source`, downloading as far as others can see."""
    program = [sys.executable, "-c", FEEDER, str(source / "articles"), str(pause), pieces]
    process = spawn(str(hold), cwd=directory, program=program)
    assert process.stdout is not None
    assert process.stdout.readline() == "downloading\n"
    return process


def drive(directory, *argv):
    (directory / "driver.py").write_text(DRIVER)
    return spawn(*argv, cwd=directory, program=[sys.executable, str(directory / "driver.py")])


def is_at_work(directory, process):
    """Whether the process has the run for itself, or has ended."""
    lock = directory / "runs/x/lock"
    begun = lock.exists() and lock.read_text() == f"{process.pid}\n"
    return begun or process.poll() is not None


def check_the_end(directory, undisturbed):
    assert list(ArticleStore(directory / "articles")) == list(
        ArticleStore(undisturbed / "articles")
    )
    assert model_of(directory) == model_of(undisturbed)
    assert looks_of(directory, "x") == looks_of(undisturbed, "x")


@pytest.mark.slow
def test_fed_while_it_learns_terminated_and_the_download_killed(tmp_path, undisturbed):
    feeder = feed(tmp_path, undisturbed, "20,9,1,30,60", pause=0.3, hold=300)
    checkpoint = tmp_path / "runs/x/checkpoints/latest.npz"
    trainer = drive(tmp_path, *FOLLOW, "--run", "x")
    wait_until(checkpoint.exists, 120, "it does not begin to learn")
    trainer.send_signal(signal.SIGTERM)
    outcome = finish(trainer)
    assert outcome.code == 143, outcome
    assert "following a download: " in outcome.err
    assert "checkpoint at " in outcome.err
    assert outcome.error.endswith("give the same command again to go on")
    trainer = drive(tmp_path, "train", "--run", "x")
    store = ArticleStore(tmp_path / "articles")
    wait_until(lambda: len(store) == N_ARTICLES, 120, "the feeder is slow")
    wait_until(lambda: len(looks_of(tmp_path, "x")) >= 2, 120, "it does not go on")
    assert trainer.poll() is None  # there could be more
    feeder.kill()
    feeder.communicate()
    outcome = finish(trainer).succeeded()
    assert "going on after " in outcome.err
    assert "the download has ended: 120 articles" in outcome.err
    check_the_end(tmp_path, undisturbed)


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path, undisturbed):
    feeder = feed(tmp_path, undisturbed, "10," * 11 + "10", pause=2.5)
    rng, n_killed = random.Random(11), 0
    while n_killed < 10:
        trainer = drive(tmp_path, *FOLLOW, "--run", "x")
        wait_until(lambda process=trainer: is_at_work(tmp_path, process), 120, "it does not begin")
        time.sleep(rng.random() * 2.5)
        trainer.kill()
        if finish(trainer).code == 0:
            break
        n_killed += 1
    assert n_killed >= 5
    finish(drive(tmp_path, *FOLLOW, "--run", "x")).succeeded()
    assert finish(feeder).code == 0
    check_the_end(tmp_path, undisturbed)
    assert not [*tmp_path.rglob("*.partial")]


@pytest.mark.slow
@pytest.mark.parametrize("pieces", ["120", "1,1,1,1,1,40,75", "44,1,1,74", "50,70"])
def test_fed_in_any_pieces(tmp_path, undisturbed, pieces):
    feeder = feed(tmp_path, undisturbed, pieces, pause=0.7)
    finish(drive(tmp_path, *FOLLOW, "--run", "x")).succeeded()
    assert finish(feeder).code == 0
    check_the_end(tmp_path, undisturbed)


def signalled_at(step, *numbers):
    partial_fit, n_calls = OnlineLDA.partial_fit, 0

    def partial_fit_with_signals(self, counts):
        nonlocal n_calls
        n_calls += 1
        if n_calls == step:
            for number in numbers[:-1]:
                os.kill(os.getpid(), number)
        fitted = partial_fit(self, counts)
        if n_calls == step:
            os.kill(os.getpid(), numbers[-1])
        return fitted

    return partial_fit_with_signals


@pytest.mark.parametrize(
    ("number", "step"),
    [
        *((signal.SIGINT, 1), (signal.SIGTERM, 9)),
        *(
            pytest.param(number, step, marks=pytest.mark.slow)
            for number, step in product((signal.SIGINT, signal.SIGTERM), (1, 4, 9))
            if (number, step) not in ((signal.SIGINT, 1), (signal.SIGTERM, 9))
        ),
    ],
)
def test_interrupted_in_the_stream_and_resumed(there, undisturbed, number, step):
    with mock.patch.object(OnlineLDA, "partial_fit", signalled_at(step, number)):
        outcome = call(*FOLLOW, "--run", "x", cwd=there)
    assert outcome.code == 128 + number
    assert "checkpoint at " in outcome.err
    assert "going on after " in call("train", "--run", "x", cwd=there).succeeded().err
    check_the_end(there, undisturbed)


def test_interrupted_at_each_step_and_in_the_passes(there, undisturbed):
    codes = []
    for _ in range(40):
        with mock.patch.object(OnlineLDA, "partial_fit", signalled_at(2, signal.SIGINT)):
            codes.append(call(*FOLLOW, "--run", "x", cwd=there).code)
        if codes[-1] == 0:
            break
    assert codes == [130] * (len(codes) - 1) + [0]
    assert len(codes) > 3
    check_the_end(there, undisturbed)


def test_a_step_that_was_cut_short_leaves_no_checkpoint(there, undisturbed):
    with mock.patch.object(OnlineLDA, "partial_fit", signalled_at(3, signal.SIGINT, signal.SIGINT)):
        outcome = call(*FOLLOW, "--run", "x", cwd=there)
    assert outcome.code == 130
    assert "checkpoint at" not in outcome.err
    assert call(*FOLLOW, "--run", "x", cwd=there).code == 0
    check_the_end(there, undisturbed)


def test_what_comes_after_the_end_changes_nothing(there, undisturbed):
    before = following.DocumentStream.take

    def take_last(self, n_docs):
        taken = before(self, n_docs)
        if not self.n_waiting:
            os.kill(os.getpid(), signal.SIGTERM)
        return taken

    with mock.patch.object(following.DocumentStream, "take", take_last):
        assert call(*FOLLOW, "--run", "x", cwd=there).code == 143
    fill_store(there / "articles", N_ARTICLES + 30)
    call(*FOLLOW, "--run", "x", cwd=there).succeeded()
    assert model_of(there) == model_of(undisturbed)
    assert "its articles have changed since" in call(*FOLLOW, "--run", "x", cwd=there).err


def test_a_download_that_ends_while_nobody_follows(there, undisturbed):
    (there / "articles/download").mkdir()
    with (
        writer_lock(there / "articles/download"),
        mock.patch.object(OnlineLDA, "partial_fit", signalled_at(4, signal.SIGTERM)),
    ):
        assert call(*FOLLOW, "--run", "x", cwd=there).code == 143
    assert not json.loads((there / "runs/x/provenance.json").read_text())["articles"]["settled"]
    outcome = call(*FOLLOW, "--run", "x", cwd=there).succeeded()
    assert "the download has ended: 120 articles" in outcome.err
    provenance = json.loads((there / "runs/x/provenance.json").read_text())
    assert (provenance["articles"]["number"], provenance["articles"]["settled"]) == (120, True)
    check_the_end(there, undisturbed)


def test_a_lost_checkpoint_costs_time_only(there, undisturbed):
    shutil.copytree(undisturbed / "runs", there / "runs")
    for name in ("model.npz", "checkpoints/latest.npz", "metrics.jsonl"):
        (there / "runs/x" / name).unlink()
    assert call("train", "--run", "x", cwd=there).code == 0
    check_the_end(there, undisturbed)


def test_articles_that_were_replaced_are_noticed(there):
    with mock.patch.object(OnlineLDA, "partial_fit", signalled_at(4, signal.SIGINT)):
        assert call(*FOLLOW, "--run", "x", cwd=there).code == 130
    shutil.rmtree(there / "articles")
    fill_store(there / "articles", N_ARTICLES, n_words=42)
    error = call(*FOLLOW, "--run", "x", cwd=there).failed(3)
    assert "bring them back, or choose another --run" in error


@pytest.mark.parametrize("argv", [("--threads", "2"), ("--batch-size", "10")])
def test_threads_change_no_bit(there, undisturbed, argv):
    assert call(*FOLLOW, *argv, "--run", "x", cwd=there).code == 0
    check_the_end(there, undisturbed)


def test_words_come_from_the_first_articles_alone(there, undisturbed):
    fill_store(there / "first", 45)
    argv = ("train", *TINY, "--articles", "first", "--run", "first", "--max-passes", 1)
    assert call(*argv, cwd=there).code == 0
    first = Corpus.load(there / "runs/first/corpus")
    corpus = Corpus.load(undisturbed / "runs/x/corpus")
    assert corpus.vocabulary == first.vocabulary
    for name in ("vocabulary.txt", "bigrams.tsv"):
        assert (undisturbed / "runs/x" / name).read_text()
    bigrams = [(each / "bigrams.tsv").read_bytes() for each in (there / "runs/first",)]
    assert bigrams == [(undisturbed / "runs/x/bigrams.tsv").read_bytes()]
    assert corpus.doc_ids == tuple(f"en:{i + 1}" for i in range(N_ARTICLES))
    assert (corpus.counts[:45] != first.counts).nnz == 0


def test_held_out_articles_are_not_learned_from(there, undisturbed):
    del undisturbed
    argv = (*FOLLOW, "--early-stopping", "none", "--max-passes", 3)
    assert call(*argv, "--run", "x", cwd=there).code == 0
    originals = list(ArticleStore(there / "articles"))
    shutil.rmtree(there / "articles")
    others = made_up_texts(N_ARTICLES, 60, seed=9)

    def changed(article, text):
        held_out = part_of(article.document_id) != "train"
        return Article(article.page_id, 0, "", "", "", "en", "", text if held_out else article.text)

    pairs = zip(originals, others, strict=True)
    ArticleStore(there / "articles", 10).append(changed(*pair) for pair in pairs)
    assert call(*argv, "--run", "y", cwd=there).code == 0
    assert model_of(there, "x") == model_of(there, "y")
    assert Corpus.load(there / "runs/x/corpus").n_tokens < (
        Corpus.load(there / "runs/y/corpus").n_tokens
    )


def test_the_stream_is_the_first_pass(there):
    for run, n_passes in (("one", 1), ("three", 3)):
        argv = ("--run", run, "--max-passes", n_passes, "--early-stopping", "none")
        assert call(*FOLLOW, *argv, cwd=there).code == 0
        provenance = json.loads((there / "runs" / run / "provenance.json").read_text())
        n_training = sum(part_of(f"en:{i + 1}") == "train" for i in range(N_ARTICLES))
        assert provenance["documents_seen"] == n_passes * n_training
        assert not (there / "runs" / run / "metrics.jsonl").exists()
    assert model_of(there, "one") != model_of(there, "three")


def test_looks_along_the_way(undisturbed):
    lines = looks_of(undisturbed, "x")
    stream = [line for line in lines if "passes" not in line]
    assert len(stream) >= 2
    assert lines[: len(stream)] == stream
    n_documents = [line["validation_documents"] for line in stream]
    assert n_documents == sorted(n_documents)
    assert n_documents[0] < n_documents[-1]
    passes = [line["passes"] for line in lines[len(stream) :]]
    assert passes[0] == 1.0
    assert passes == sorted(passes)
    assert len(passes) >= 4  # as early stopping needs
    assert all(("best_perplexity" in line) == ("passes" in line) for line in lines)


def test_a_followed_run_is_a_run_like_any_other(undisturbed, tmp_path):
    directory = shutil.copytree(undisturbed, tmp_path / "copy")
    assert "perplexity" in call("evaluate", "x", cwd=directory).out
    assert call("topics", "x", "--json", cwd=directory).result["topics"]
    text = "It is the guitar of a piano."
    result = call("infer", "x", "-", "--json", cwd=directory, stdin=text).result
    assert result["texts"][0]["tokens"] == 2
    assert "run x is done" in call(*FOLLOW, "--run", "x", cwd=directory).err
    error = call(*FOLLOW, "--run", "x", "--topics", 5, cwd=directory).failed()
    assert "was begun with topics = 3" in error


def test_fewer_articles_than_wanted_will_do(tmp_path):
    fill_store(tmp_path / "articles", 30)
    outcome = call(*FOLLOW, "--run", "x", cwd=tmp_path).succeeded()
    assert "no download is running: learning from the 30 articles in articles" in outcome.err
    provenance = json.loads((tmp_path / "runs/x/provenance.json").read_text())
    assert (provenance["articles"]["number"], provenance["articles"]["settled"]) == (30, True)


@pytest.mark.parametrize(
    "argv",
    [
        ("--alpha", "learned", "--eta", "learned"),
        pytest.param(("--word-budget", 9), marks=pytest.mark.slow),
    ],
)
def test_other_priors_are_resumed_to_the_same_bits(there, argv):
    assert call(*FOLLOW, *argv, "--run", "whole", cwd=there).code == 0
    with mock.patch.object(OnlineLDA, "partial_fit", signalled_at(4, signal.SIGINT)):
        assert call(*FOLLOW, *argv, "--run", "parts", cwd=there).code == 130
    assert call("train", "--run", "parts", cwd=there).code == 0
    assert model_of(there, "parts") == model_of(there, "whole")


def test_each_step_takes_as_many_documents(there):
    sizes, partial_fit = [], OnlineLDA.partial_fit

    def noted(self, counts):
        sizes.append(counts.shape[0])
        return partial_fit(self, counts)

    with mock.patch.object(OnlineLDA, "partial_fit", noted):
        call(*FOLLOW, "--run", "x", cwd=there).succeeded()
    assert sizes[:-1] == [10] * (len(sizes) - 1)
    assert 0 < sizes[-1] <= 10
    assert sum(sizes) == sum(part_of(f"en:{i + 1}") == "train" for i in range(N_ARTICLES))


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        (("--follow",), 2, "--follow needs the store that is being filled: --articles DIR"),
        (("--follow", "--articles", "x", "--follow-after", 0), 2, "--follow-after must be"),
        (("--follow", "--articles", "nosuch"), 3, "no article store at nosuch"),
        (("--follow", "--model", "gibbs"), 2, "--follow is for --model online, not gibbs"),
    ],
)
def test_mistakes(tmp_path, argv, code, complaint):
    assert complaint in call("train", *argv, cwd=tmp_path).failed(code)


def test_settings_can_be_mended_until_the_words_are_fixed(there):
    assert call(*FOLLOW, "--run", "x", "--no-below", 10_000, cwd=there).code == 3
    call("train", "--run", "x", "--no-below", 1, cwd=there).succeeded()


@pytest.mark.parametrize("text", ["true", "True", "false", "maybe", "1"])
def test_following_can_be_asked_for_in_the_file_and_the_environment(tmp_path, text):
    file, missing = tmp_path / "pipeline.toml", tmp_path / "nosuch.toml"
    file.write_text(f'[train]\nfollow = "{text}"\n')
    for sources in (({}, file), ({"WIKITOPICS_FOLLOW": text}, missing)):
        if text in ("maybe", "1"):
            with pytest.raises(UsageError, match=f"must be true or false, found '{text}'"):
                resolve(TrainSettings, "train", {}, *sources)
        else:
            settings = resolve(TrainSettings, "train", {}, *sources)
            assert settings.follow is (text.lower() == "true")
    file.write_text("[train]\nfollow = true\n")
    settings = resolve(TrainSettings, "train", {}, {}, file)
    assert settings.follow is True
    assert from_table(TrainSettings, as_table(settings), "here") == settings
