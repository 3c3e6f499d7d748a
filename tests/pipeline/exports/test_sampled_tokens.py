import gzip
import shutil
from collections import Counter

import numpy as np
import pytest

from corpora import Corpus
from corpora.formats import read_mallet_state, write_mallet_state
from models import GibbsLDA, SavedModel
from models.saved import ModelFormatError
from pipeline.errors import UsageError
from pipeline.exports import mallet_state
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.model_files import read_model
from pipeline.runs.run_directory import RunDirectory
from pipeline.training.checkpoint import Checkpoint
from pipeline.training.trainers import estimator_of
from tests.pipeline.exports.made_up_run import run_of
from tests.pipeline.support import TINY_GIBBS, call, flip
from tests.small_models import documents


@pytest.fixture
def run(tiny_gibbs, tmp_path):
    shutil.copytree(tiny_gibbs, tmp_path / "tiny")
    return LoadedRun.find(str(tmp_path / "tiny/runs"), "gibbs")


def lines_of(path):
    """Tokens of a state as MALLET reads them: six fields between single blanks."""
    head, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert head == "#doc source pos typeindex type topic"
    priors = dict(line[1:].split(" : ") for line in lines[:2])
    return priors, [line.split(" ") for line in lines[2:]]


def test_each_token_has_the_topic_of_the_last_sweep(run, tmp_path):
    write_mallet_state(mallet_state(run), tmp_path / "state.gz")
    priors, tokens = lines_of(tmp_path / "state.gz")
    assert {len(token) for token in tokens} == {6}
    train = run.parts.train
    found = Counter((int(doc), int(kind)) for doc, _, _, kind, _, _ in tokens)
    counts = train.counts.tocoo()
    cells = zip(counts.row.tolist(), counts.col.tolist(), counts.data.tolist(), strict=True)
    assert found == {(d, w): n for d, w, n in cells}
    assert all(source == train.doc_ids[int(doc)] for doc, source, *_ in tokens)
    assert all(word == train.vocabulary[int(kind)] for *_, kind, word, _ in tokens)
    places = Counter(doc for doc, *_ in tokens)
    assert [int(token[2]) for token in tokens] == [i for n in places.values() for i in range(n)]
    # The sampler itself, which is made fitted by the same checkpoint, counts the same topics.
    state = Checkpoint.load(run.directory.checkpoint_path, run.corpus.content_hash).state
    sampler = estimator_of(run.settings, 1).resume(train.counts, state)
    n_wk = np.zeros((train.n_words, 3), dtype=int)
    for *_, kind, _, topic in tokens:
        n_wk[int(kind), int(topic)] += 1
    assert np.array_equal(n_wk, sampler._sweeps.n_wk)
    n_dk = np.zeros((train.n_docs, 3), dtype=int)
    for doc, *_, topic in tokens:
        n_dk[int(doc), int(topic)] += 1
    assert np.array_equal(n_dk, sampler._sweeps._n_dk[:, :3])
    assert [float(x) for x in priors["alpha"].split()] == state.alpha.tolist()
    assert float(priors["beta"]) == state.eta[0] == 0.05


def test_convert_writes_it_and_ours_reads_it(run, tmp_path):
    argv = ("convert", "runs/gibbs", "tokens.gz", "--to", "mallet-state")
    outcome = call(*argv, cwd=tmp_path / "tiny").succeeded()
    state = read_mallet_state(tmp_path / "tiny/tokens.gz")
    train = run.parts.train
    assert outcome.out == (
        f"tokens.gz: {train.n_docs} documents, {train.n_words} words, {train.n_tokens:,} tokens, "
        "3 topics\n"
    )
    assert np.array_equal(state.corpus().counts.toarray(), train.counts.toarray())
    assert state.corpus().vocabulary == train.vocabulary
    assert state.sources == tuple(train.doc_ids)
    assert "tokens.gz exists" in call(*argv, cwd=tmp_path / "tiny").failed(2)
    call(*argv, "--force", cwd=tmp_path / "tiny").succeeded()
    model = read_model(tmp_path / "tiny/tokens.gz")
    sample = (state.n_kw + 0.05) / (state.n_kw + 0.05).sum(axis=1, keepdims=True)
    assert model.topics.topic_word == pytest.approx(sample, rel=1e-12)
    call("convert", "runs/gibbs", "state.gz", cwd=tmp_path / "tiny").succeeded()
    again = (tmp_path / "tiny/state.gz").read_bytes()
    assert again == (tmp_path / "tiny/tokens.gz").read_bytes()


def refused(directory, name, tmp_path):
    argv = ("convert", directory / "runs" / name, tmp_path / "out.gz", "--to", "mallet-state")
    error = call(*argv, cwd=tmp_path).failed(2)
    assert not (tmp_path / "out.gz").exists()
    return error


def test_runs_without_topics_of_tokens_are_refused(tiny_gibbs, run, tmp_path):
    error = refused(tiny_gibbs, "tiny", tmp_path)
    assert "tiny has no topics of tokens: --model online gives a token proportions" in error
    directory = tmp_path / "tiny"
    few = ("--no-above", "1", "--max-passes", "3", "--run")
    for model in ("gamma-poisson", "poisson-mrf"):
        call("train", *TINY_GIBBS, "--model", model, *few, model, cwd=directory).succeeded()
        error = refused(directory, model, tmp_path)
        assert f"{model} is no LDA, and MALLET's state is of LDA alone" in error
    call("train", *TINY_GIBBS, "--word-budget", "20", *few, "frozen", cwd=directory).succeeded()
    n_frozen = LoadedRun.find(str(directory / "runs"), "frozen").corpus.n_words - 20
    assert n_frozen > 0
    error = refused(directory, "frozen", tmp_path)
    assert f"frozen has a word budget: the tokens of its {n_frozen} most frequent" in error
    run.directory.checkpoint_path.unlink()
    assert "gibbs has no checkpoint any more" in refused(directory, "gibbs", tmp_path)


def test_a_checkpoint_that_does_not_fit_is_named(run, monkeypatch):
    path = run.directory.checkpoint_path
    checkpoint = Checkpoint.load(path, run.corpus.content_hash)
    checkpoint.state.topic_of = checkpoint.state.topic_of[1:]
    checkpoint.save(path)
    with pytest.raises(ModelFormatError, match="the state is of"):
        mallet_state(run)
    flip(path, path.stat().st_size // 2)
    with pytest.raises(ModelFormatError, match=str(path)):
        mallet_state(run)


@pytest.mark.parametrize("what", ["prior", "stream"])
def test_what_a_state_cannot_say_is_refused(run, what):
    path = run.directory.checkpoint_path
    checkpoint = Checkpoint.load(path, run.corpus.content_hash)
    if what == "prior":
        checkpoint.state.eta[1] = 1.0
    else:
        checkpoint.state.n_wk_before = np.zeros((run.corpus.n_words, 3), np.int32)
    checkpoint.save(path)
    with pytest.raises(UsageError, match="of earlier documents, or a prior for each word"):
        mallet_state(run)


def test_documents_and_words_without_tokens(tmp_path):
    counts = documents(40, 6, mean=2.0).toarray()
    counts[:, 2] = 0
    words = ("ant", "bee", "cat", "doe", "eel", "fox")
    corpus = Corpus(counts, words, tuple(f"en:{d}" for d in range(40)))
    run = run_of(None, corpus)
    train = run.parts.train.counts
    is_empty = train.sum(axis=1) == 0
    assert 0 < is_empty.sum() < len(is_empty)
    lda = GibbsLDA(3, n_iter=2, random_state=0).fit(train)
    run.directory = RunDirectory(tmp_path)
    run.directory.checkpoint_path.parent.mkdir()
    Checkpoint(corpus.content_hash, lda.state_).save(run.directory.checkpoint_path)
    vars(run)["model"] = SavedModel(lda.topics_, words)
    write_mallet_state(mallet_state(run), tmp_path / "state.gz")
    _, tokens = lines_of(tmp_path / "state.gz")
    found = np.zeros(train.shape, dtype=int)
    for doc, _, _, kind, word, _ in tokens:
        found[int(doc), int(kind)] += 1
        assert word == words[int(kind)]
    assert np.array_equal(found, train.toarray())
    assert {word for *_, word, _ in tokens} == {*words} - {"cat"}
