import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.lda_trainers import process_tree
from benchmarks.lda_trainers.plot import plot_results
from benchmarks.lda_trainers.recorder import Recorder, TimeUpError, snapshots
from benchmarks.lda_trainers.results import Look, Results, Run, judge
from benchmarks.lda_trainers.table import tables
from models import LDATopics

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def run_of(trainer, *, is_ours, curve):
    looks = tuple(Look(i, s, 2 * s, 10**6, p) for i, (s, p) in enumerate(curve))
    return Run(trainer, is_ours, 2, 25, 1, 10**6, ended=True, looks=looks)


def test_the_first_look_that_is_as_good_counts_and_no_ratio_without_one():
    ours = run_of("ours", is_ours=True, curve=[(1, 200.0), (2, 101.0), (4, 99.0), (8, 105.0)])
    peer = run_of("peer", is_ours=False, curve=[(10, 150.0), (20, 99.5), (40, 100.0)])
    judgement = judge(ours, peer)
    assert (judgement.goal, judgement.peer.seconds) == (100.0, 20)
    assert judgement.ours is not None
    assert judgement.ours.seconds == 4
    ours = run_of("ours", is_ours=True, curve=[(1, 101.0)])
    peer = run_of("peer", is_ours=False, curve=[(40, 100.0)])
    assert judge(ours, peer).ours is None
    assert "reached by 0 of 1, best 101.0" in tables(Results({}, {}, [ours, peer]))


def test_results_are_stored_read_back_and_plotted(tmp_path):
    results = Results({"passes": 4}, {"numpy": "2"}, [run_of("a", is_ours=True, curve=[(1, 9.0)])])
    results.save(tmp_path / "results.json")
    assert Results.load(tmp_path / "results.json") == results
    runs = [run_of(name, is_ours=name == "a", curve=[(1, 9.0), (2, 8.0)]) for name in "ab"]
    paths = plot_results(Results({}, {}, runs), tmp_path)
    assert [path.name for path in paths] == ["lda_trainers.svg", "lda_trainers.png"]
    svg = paths[0].read_text()
    for text in ("K = 25", "held-out perplexity", "a", "b"):
        assert f"<!-- {text} -->" in svg


@linux_only
def test_the_cpu_time_of_a_child_counts_while_it_runs_and_after():
    before = process_tree.cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", "while True: pass"], stdout=subprocess.PIPE
    ) as child:
        while (during := process_tree.cpu_seconds() - before) < 0.2:
            time.sleep(0.05)
        child.kill()
    assert process_tree.cpu_seconds() - before >= during - 0.02  # a clock tick


@linux_only
def test_the_recorder_looks_at_growing_distances_and_when_the_time_is_up(tmp_path):
    topics = LDATopics(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([0.1, 0.2]))

    def look():
        time.sleep(0.3)  # far beyond the limit, were it counted
        return topics

    recorder = Recorder(tmp_path, first=0.02, growth=2.0, limit=0.1)

    def train():
        recorder.start()
        while True:
            time.sleep(0.005)
            recorder.step(look)

    with pytest.raises(TimeUpError):
        train()
    seen = list(snapshots(tmp_path))
    seconds = np.array([snapshot.seconds for snapshot, _ in seen])
    assert seconds[0] >= 0.02
    assert seconds[-1] >= 0.1
    # All but the last are a factor apart, so that few fit; looking itself takes none of the time.
    assert (seconds[1:-1] >= 2.0 * seconds[:-2]).all()
    assert (seconds[:-1] < 0.1).all()
    np.testing.assert_allclose(seen[-1][1].topic_word, topics.topic_word, rtol=1e-6)
    np.testing.assert_array_equal(seen[-1][1].alpha, topics.alpha)
