import logging
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from models import OnlineLDA
from models.lda.e_step import LEAF
from pipeline.training import e_step_on_cluster as e_step_module
from pipeline.training.e_step_on_cluster import ClusterEStep, _Places
from tests.pipeline.cluster.workers import threads_as_workers

N_DOCS = 9 * LEAF + 17
CASES = [{}, {"alpha": "learned", "eta": "learned"}, {"staleness": 3, "alpha": "learned"}]


@pytest.fixture(scope="module", params=[1, 2, 4])
def cluster(request):
    with threads_as_workers(request.param) as cluster:
        assert cluster.n_threads == request.param
        yield cluster


def counts(seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.poisson(rng.gamma(0.1, 1.0, size=(N_DOCS, 60)))
    dense[7] = 0
    return sparse.csr_array(dense.astype(np.int32))


def trained(settings, submit=None):
    model = OnlineLDA(
        4, **{"batch_size": 5 * LEAF, "n_passes": 2, "random_state": 3, "n_jobs": 1} | settings
    )
    for _ in model.iterate(counts(), submit_e_step=submit):
        pass
    return model.topics_


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_the_same_topics_as_here(cluster, settings):
    here = trained(settings)
    there = trained(settings, ClusterEStep(cluster, 1, settings.get("staleness", 0), "workers"))
    assert there.topic_word.tobytes() == here.topic_word.tobytes()
    assert there.alpha.tobytes() == here.alpha.tobytes()
    assert len({trained(each).topic_word.tobytes() for each in CASES}) == len(CASES)


def test_wherever_batches_are_made(two):
    places, n_there = iter(["here", "workers"] * 20), 0

    def following(_):
        nonlocal n_there
        n_there += (place := next(places)) == "workers"
        return place

    with mock.patch.object(_Places, "next", following):
        topics = trained({}, ClusterEStep(two, 1, 0))
    assert n_there > 1
    assert topics.topic_word.tobytes() == trained({}).topic_word.tobytes()


def test_a_batch_is_parted_and_added_up_by_the_workers(two):
    with mock.patch.object(two, "submit", wraps=two.submit) as submit:
        trained({"n_passes": 1, "batch_size": N_DOCS}, ClusterEStep(two, 1, 0, "workers"))
    called = [call.args[0].__name__ for call in submit.call_args_list]
    assert called.count("expected_of_part") == 5  # 10 leaves, 2 to a part
    assert called.count("combined") == 4


@pytest.mark.parametrize(("here", "there", "best"), [(0.1, 0.2, "here"), (0.2, 0.1, "workers")])
def test_the_faster_place_is_gone_on_at(here, there, best, caplog, monkeypatch):
    monkeypatch.setattr(e_step_module, "WORTH_LOADING", here)
    places, took = _Places("faster", mock.Mock(addresses=())), {"here": here, "workers": there}
    with caplog.at_level(logging.INFO, "pipeline"):
        chosen = []
        places.took("here", here)
        for _ in range(2 * e_step_module.TRY_EVERY + 1):
            chosen.append(places.next())
            places.took(chosen[-1], took[chosen[-1]])
    other = "here" if best == "workers" else "workers"
    assert chosen.count(other) == 2 + (best == "here")  # the try at the beginning
    assert (set(chosen[2:100]), len(caplog.messages)) == ({best}, 1)
    assert caplog.messages[0].startswith(
        "E-steps are made " + ("here: 100 ms" if best == "here" else "by the workers: 100 ms")
    )


def test_workers_load_once_it_may_be_worth_it_and_meanwhile_batches_are_made_here():
    cluster = mock.Mock(addresses=("one", "two"))
    loading = cluster.submit_to.return_value
    loading.status = "pending"
    places = _Places("faster", cluster)
    for n_batches in range(15):
        assert places.next() == "here"
        assert cluster.submit_to.call_count == 2 * (n_batches >= e_step_module.WORTH_LOADING)
        places.took("here", 1.0)
    loading.status = "finished"
    assert places.next() == "workers"


def test_the_default_is_the_faster_place(two):
    with mock.patch.object(two, "submit_to") as loading:
        places = ClusterEStep(two, 1, 0)._places
        places.took("here", e_step_module.WORTH_LOADING)
        places.next()
        assert loading.call_count == two.n_workers
        with mock.patch.object(e_step_module, "DEFAULT_PLACE", "workers"):
            assert ClusterEStep(two, 1, 0)._places.next() == "workers"
        assert loading.call_count == two.n_workers
