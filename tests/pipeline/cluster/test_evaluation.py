import pickle
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from evaluation import ExactCostError, ZeroProbabilityError
from evaluation.document_blocks import MIN_DOCUMENTS
from evaluation.estimate import MISSED_FROM
from models import LDATopics, SavedModel, load_model, save_model
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.progress import Progress
from pipeline.scoring.blocks import score_item
from pipeline.scoring.score import LoadedModel, log_warnings, score_all
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut
from tests.pipeline.cluster.backwards import Backwards, instead_of_a_cluster
from tests.pipeline.scoring.support import failed, load_documents
from tests.pipeline.support import call

FIELDS = ("log_likelihood", "standard_error", "n_tokens", "effective_sample_size", "n_samples")
SETTINGS = EvaluateSettings(method="completion", samples=5, seed=3)
N_MODELS = 2


def scored(zoo, cluster=None, n_threads=1, **settings):
    models = [
        LoadedModel(name, None, load_model(zoo / name)) for name in ("model.npz", "truth.npz")
    ]
    documents, words = HeldOut("docs", load_documents(zoo), 0), models[0].model.vocabulary
    return score_all(replace(SETTINGS, **settings), models, documents, words, n_threads, cluster)


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, estimate in expected.items():
        for field in FIELDS:
            np.testing.assert_array_equal(
                getattr(found[name], field), getattr(estimate, field), field
            )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "left-to-right-sequential"},
        {"method": "mean-field-is-1", "target_se": 0.5, "convention": "bag"},
        {"method": "variational-bound", "smoothing": 1e-3},
    ],
    ids=lambda settings: settings.get("method", "completion"),
)
def test_the_same_bits_as_here(zoo, settings):
    here, cluster = scored(zoo, **settings), Backwards()
    assert_same(scored(zoo, cluster, **settings), here)
    assert cluster.n_items == N_MODELS * -(-60 // MIN_DOCUMENTS)
    assert_same(scored(zoo, Backwards(ahead=1000), **settings), here)
    assert_same(scored(zoo, n_threads=2, **settings), here)


def test_the_order_of_the_first_arrivals_is_another(zoo):
    estimates = scored(zoo)
    cluster, order = Backwards(), []
    given = cluster._given

    def noted(*args):
        for index, result in given(*args):
            order.append(index)
            yield index, result

    with mock.patch.object(cluster, "_given", noted):
        assert_same(scored(zoo, cluster), estimates)
    assert sorted(order) == list(range(cluster.n_items)) != order


def test_blocks_go_with_the_tasks_and_are_made_when_they_are_needed(zoo):
    taken = []
    cluster = Backwards(ahead=2, spoil=lambda _: taken.append(cluster.n_items))
    scored(zoo, cluster)
    assert taken == sorted(taken)
    assert all(n <= given + 2 for given, n in enumerate(taken))
    assert all(rows <= MIN_DOCUMENTS for rows, _ in cluster.sizes)


def test_progress_tells_of_every_document_and_the_perplexity_so_far(zoo):
    told = []
    with mock.patch.object(Progress, "update", lambda _, n, note=None: told.append((n, note))):
        estimates = scored(zoo, Backwards())
    assert sum(n for n, _ in told) == 60 * N_MODELS
    values = ", ".join(f"{name} {each.perplexity:,.1f}" for name, each in estimates.items())
    assert told[-1][1] == f"perplexity {values}"
    assert told[0][1] is not None
    assert told[0][1].count(".npz") == 1


@pytest.mark.parametrize("error", [Interrupted(2), RuntimeError("lost")])
def test_what_is_under_way_is_cancelled_at_the_end(zoo, error):
    def spoil(index):
        if cluster.n_given == 3:
            raise error

    cluster = Backwards(spoil=spoil)
    with pytest.raises(type(error)):
        scored(zoo, cluster)
    assert cluster.is_closed
    cluster = Backwards()
    with mock.patch.object(Progress, "update", side_effect=error), pytest.raises(type(error)):
        scored(zoo, cluster)
    assert cluster.is_closed
    assert cluster.n_given == 1


def test_nothing_is_sent_that_cannot_be_scored(zoo):
    cluster = Backwards()
    with pytest.raises(ExactCostError, match=r"document 0 has 40 tokens"):
        scored(zoo, cluster, method="exact", max_memory=1e-6)
    saved = load_model(zoo / "model.npz")
    less = saved.topics.topic_word.copy()
    less[:, 7] = 0
    save_model(zoo / "truth.npz", SavedModel(LDATopics.from_weights(less, 1.0), saved.vocabulary))
    with pytest.raises(
        ZeroProbabilityError, match=rf"truth.npz: no topic has '{saved.vocabulary[7]}'"
    ):
        scored(zoo, cluster)
    assert cluster.n_items == 0


def test_a_task_says_nothing_and_the_command_warns_once(zoo, caplog):
    saved = load_model(zoo / "truth.npz")
    sure_of_less = LDATopics(saved.topics.topic_word, np.full(3, 0.01))
    save_model(zoo / "truth.npz", SavedModel(sure_of_less, saved.vocabulary))
    settings = {"method": "mean-field-is-1", "target_se": 1e-6, "samples": 5}
    with (
        caplog.at_level("WARNING", "pipeline.scoring.score"),
        mock.patch("evaluation.monte_carlo.target_error.MAX_SAMPLES", 20),
    ):
        found = scored(zoo, Backwards(), **settings)
        log_warnings(found)
    missed = [text for text in caplog.messages if "standard error above" in text]
    assert [text.split(" documents have ")[0] for text in missed] == [
        f"{name}: {((each.standard_error > MISSED_FROM * 1e-6) & (each.n_tokens > 0)).sum()}"
        for name, each in found.items()
    ]
    unsure = [text for text in caplog.messages if "effective sample size" in text]
    assert [text.split(" documents have ")[0] for text in unsure] == [
        f"{name}: {each.has_low_ess.sum()} of 60" for name, each in found.items()
    ]


def test_the_command(zoo):
    argv = ("evaluate", "model.npz", "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    here = call(*argv, "--json", "--per-document", "here.tsv", cwd=zoo).succeeded().result
    ResultCache().clear()
    more = ("--json", "--per-document", "there.tsv", "--cluster", "local:2")
    cluster = Backwards()
    with instead_of_a_cluster(cluster):
        there = call(*argv, *more, cwd=zoo).succeeded().result
    assert cluster.n_given == cluster.n_items > 2
    assert there == here
    assert (zoo / "there.tsv").read_bytes() == (zoo / "here.tsv").read_bytes()


def test_no_such_address(zoo):
    message = failed(2, "model.npz", "--counts", "docs.jsonl", "--cluster", "somewhere", cwd=zoo)
    assert "--cluster must be tcp://HOST:PORT" in message


def test_a_task_is_a_function_of_its_module():
    assert pickle.loads(pickle.dumps(score_item)) is score_item


@pytest.mark.slow
def test_real_workers(zoo):
    pytest.importorskip("distributed")
    argv = ("evaluate", "model.npz", "truth.npz", "--counts", "docs.jsonl", "--threads", 1)
    argv = (*argv, "--method", "left-to-right-sequential", "--samples", 20, "--json")
    here = call(*argv, "--per-document", "here.tsv", cwd=zoo).succeeded().result
    ResultCache().clear()
    more = ("--per-document", "there.tsv", "--cluster", "local:2")
    assert call(*argv, *more, cwd=zoo).succeeded().result == here
    assert (zoo / "there.tsv").read_bytes() == (zoo / "here.tsv").read_bytes()
