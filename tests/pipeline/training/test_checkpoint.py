import tracemalloc
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from models import GibbsLDA, LDATopics, OnlineLDA, OnlineLDAState
from models.saved import ModelFormatError, read_arrays, write_arrays
from pipeline.training import train as training
from pipeline.training.checkpoint import KIND, Checkpoint

COUNTS = np.random.default_rng(0).poisson(0.5, size=(30, 12))
TRAINED = (
    OnlineLDA(3, alpha="learned", word_budget=9, batch_size=7, random_state=1, n_passes=2),
    GibbsLDA(3, n_iter=4, word_budget=9, random_state=1),
    GibbsLDA(3, n_iter=4, burn_in=4, random_state=1),
)
OLD_FIELDS = ("excess", "scale", "excess_sum", "alpha", "eta", "frozen", "n_batches")


def same(one, other):
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.shape == other.shape and (one == other).all())
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("estimator", TRAINED)
def test_a_state_comes_back_as_it_was(tmp_path, estimator):
    state, path = estimator.fit(COUNTS).state_, tmp_path / "latest.npz"
    metrics = [{"documents": 30, "seconds": 0.1, "passes": 1.0, "log_likelihood": -1 / 3}]
    saved = Checkpoint("abc", state, metrics, 0.3, True, ["d"], estimator.topics_, 0)
    saved.save(path)
    found = Checkpoint.load(path, "abc")
    assert type(found.state) is type(state)
    for each in fields(state):
        assert same(getattr(found.state, each.name), getattr(state, each.name)), each.name
    assert found.best is not None
    assert same(found.best.topic_word, estimator.topics_.topic_word)
    assert same(found.best.alpha, estimator.topics_.alpha)
    for name in ("metrics", "seconds", "stopped", "shards", "best_look"):
        assert getattr(found, name) == getattr(saved, name)


def test_assigned_topics_take_two_bytes_a_token(tmp_path):
    n_tokens, path = 1_000_000, tmp_path / "latest.npz"
    state = GibbsLDA(3, n_iter=1, random_state=1).fit(COUNTS).state_
    Checkpoint("abc", replace(state, topic_of=np.zeros(n_tokens, dtype=np.uint16))).save(path)
    assert 2 * n_tokens < path.stat().st_size < 2 * n_tokens + 10_000
    tracemalloc.start()
    assert Checkpoint.load(path, "abc").best is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2 * n_tokens < peak < 3 * n_tokens  # the file and its arrays are not both in memory


@pytest.mark.parametrize(("seconds", "n_saved"), [(0.1, 33), (6.0, 8)])
def test_checkpoints_that_take_long_are_rarer(tmp_path, monkeypatch, seconds, n_saved):
    clock, saved = [0.0], []

    def save(_path):
        saved.append(clock[0])
        clock[0] += seconds

    monkeypatch.setattr(training.time, "monotonic", lambda: clock[0])
    keeping = training._Keeping(SimpleNamespace(stopped=False, save=save), tmp_path, None)
    while clock[0] < 1000.0:
        clock[0] += 1.0
        keeping.after_step(0, 0.0)
    assert saved[0] == 31.0
    assert len(saved) == pytest.approx(n_saved, abs=1)


def old(path, without="", **more):
    state = OnlineLDA(3, random_state=1, n_passes=1).fit(COUNTS).state_
    names = (*OLD_FIELDS, "n_documents", "seed")
    arrays = {n: np.asarray(getattr(state, n)) for n in names if n != without}
    header = {"corpus_hash": "abc", "metrics": [], "seconds": 1.5, "stopped": False, **more}
    write_arrays(path, KIND, header, arrays)
    return state


def test_a_checkpoint_of_an_older_version(tmp_path):
    path = tmp_path / "latest.npz"
    state, found = old(path), Checkpoint.load(path, "abc")
    assert isinstance(found.state, OnlineLDAState)
    for each in fields(state):
        if not each.name.startswith("n_stream_"):  # not counted then; see OnlineLDAState
            assert same(getattr(found.state, each.name), getattr(state, each.name)), each.name
    assert (found.state.n_stream_documents, found.state.is_started) == (0, True)
    assert (found.shards, found.best, found.best_look, found.seconds) == ([], None, None, 1.5)


def test_a_field_of_another_name(tmp_path):
    path, state = tmp_path / "latest.npz", GibbsLDA(3, n_iter=1, random_state=1).fit(COUNTS).state_
    Checkpoint("abc", state).save(path)
    header, arrays = read_arrays(path, KIND)
    arrays["n_kw_before"] = arrays.pop("n_wk_before")
    write_arrays(path, KIND, {**header, "format": KIND}, arrays)
    assert same(Checkpoint.load(path, "abc").state.n_wk_before, state.n_wk_before)


def test_a_state_from_before_final_topics_can_be_finished(tmp_path):
    path, model = tmp_path / "latest.npz", GibbsLDA(3, n_iter=4, random_state=1)
    for _ in model.iterate(COUNTS):
        pass
    Checkpoint("abc", model.state_).save(path)
    header, arrays = read_arrays(path, KIND)
    del arrays["expected_n_wk"]
    write_arrays(path, KIND, header, arrays)
    resumed = GibbsLDA(3, n_iter=4).resume(COUNTS, Checkpoint.load(path, "abc").state)
    assert same(resumed.topics_.topic_word, model.topics_.topic_word)
    assert resumed.finish()
    assert model.finish()
    assert same(resumed.topics_.topic_word, model.topics_.topic_word)


@pytest.mark.parametrize("without", [*OLD_FIELDS, "n_documents", "seed"])
def test_a_field_that_is_needed(tmp_path, without):
    old(tmp_path / "latest.npz", without)
    with pytest.raises(ModelFormatError, match=without):
        Checkpoint.load(tmp_path / "latest.npz", "abc")


def test_a_state_of_no_trainer(tmp_path):
    old(tmp_path / "latest.npz", state="VaguelyLDAState")
    with pytest.raises(ModelFormatError, match="VaguelyLDAState"):
        Checkpoint.load(tmp_path / "latest.npz", "abc")


def test_best_topics_that_cannot_be(tmp_path):
    path, best = tmp_path / "latest.npz", LDATopics(np.full((2, 4), 0.25), np.ones(2))
    Checkpoint("abc", old(path), best=best, best_look=0).save(path)
    assert Checkpoint.load(path, "abc").best_look == 0
    object.__setattr__(best, "alpha", -np.ones(2))
    Checkpoint("abc", old(path), best=best, best_look=0).save(path)
    with pytest.raises(ModelFormatError, match="alpha must be"):
        Checkpoint.load(path, "abc")
