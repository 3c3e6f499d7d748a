import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from benchmarks.lda_trainers import process_tree, separate_fits
from benchmarks.lda_trainers.plot import plot_results
from benchmarks.lda_trainers.recombined import recombined
from benchmarks.lda_trainers.recorder import Recorder, TimeUpError, snapshots
from benchmarks.lda_trainers.results import Look, Run, append_run, judge, load_runs
from benchmarks.lda_trainers.separate_fits import growing_lengths
from benchmarks.lda_trainers.settings import Settings
from benchmarks.lda_trainers.table import short_table, tables
from benchmarks.lda_trainers.trainers import TRAINERS, run_trainer
from models import LDATopics

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def run_of(trainer, *, is_ours, curve, seed=1, failed="", ended=True):
    looks = tuple(Look(i, s, 2 * s, 10**6, p) for i, (s, p) in enumerate(curve))
    settings = Settings(25, seed, 1000, 0.1, 4, 40.0, fixed_priors=False, start="online")
    return Run(trainer, is_ours, 2, settings, 10**6, ended, 1800.0, looks, failed)


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
    assert "reached by 0 of 1, best 101.0" in tables([ours, peer])


def test_at_equal_time_our_last_look_before_the_peers_last_counts():
    peer = run_of("peer", is_ours=False, curve=[(1, 150.0), (5, 100.0)])
    ours = run_of("ours", is_ours=True, curve=[(1, 120.0), (4, 90.0), (5.1, 80.0)])
    judgement = judge(ours, peer)
    assert judgement.ours_then is not None
    assert judgement.ours_then.perplexity == 90.0
    assert judge(run_of("late", is_ours=True, curve=[(6, 1.0)]), peer).ours_then is None


def test_the_short_table_has_a_row_for_each_peer_and_seeds_in_common():
    runs = [
        run_of(name, is_ours=name == "ours", curve=[(1, 30.0), (end, 20.0)], seed=seed)
        for name, ends in (("ours", (2, 4)), ("peer", (5, 7)))
        for seed, end in enumerate(ends, 1)
    ]
    runs.append(run_of("slow", is_ours=False, curve=[(8, 25.0)], ended=False))
    runs.append(run_of("best", is_ours=False, curve=[(8, 19.0)], seed=2))
    rows = [[cell.strip() for cell in line.split("|")] for line in short_table(runs).splitlines()]
    found = {row[2]: row[3:] for row in rows[2:]}
    assert found["peer"][:3] == ["20.0 ± 0.0", "6 ± 1", "3.0 ± 1.0 s, 2.0 times sooner"]
    assert found["slow"][:4] == ["25.0", "8, stopped", "2.0 s, 4.0 times sooner", "20.0"]
    assert found["best"][:4] == ["19.0", "8", "not reached", "20.0"]


def test_runs_of_other_numbers_of_threads_are_not_compared():
    runs = [run_of(name, is_ours=name == "ours", curve=[(1, 9.0)]) for name in ("ours", "peer")]
    alone = replace(runs[0], n_threads=1, settings=replace(runs[0].settings, threads=1))
    text = tables([*runs, alone])
    assert text.index("1 thread, alpha") < text.index("2 threads, alpha")
    assert text.count("to the last of") == 1
    assert len({run.key for run in [*runs, alone]}) == 3
    slow = replace(runs[1], settings=replace(runs[1].settings, threads=1))
    short = short_table([*runs, alone, slow])
    assert "| 25, 1 thread" in short
    assert "| 25, 2 threads |" in short


def test_the_table_has_the_mean_over_seeds_its_standard_error_and_what_failed():
    runs = [
        run_of("ours", is_ours=True, curve=[(1, 100.0 + 3 * seed)], seed=seed) for seed in (1, 2, 3)
    ]
    runs.append(run_of("peer", is_ours=False, curve=[], failed="exit code -6, out of memory"))
    text = tables(runs)
    assert "106.0 ± 1.7" in text  # a deviation of 3, of three seeds
    assert "peer, seed 1: exit code -6, out of memory" in text
    assert "to the last of" not in text


def test_runs_are_kept_read_back_not_asked_for_again_and_plotted(tmp_path):
    first = run_of("a", is_ours=True, curve=[(1, 9.0), (2, 8.0)])
    append_run(first, tmp_path)
    append_run(run_of("b", is_ours=False, curve=[(1, 9.0)]), tmp_path)
    again = run_of("b", is_ours=False, curve=[(1, 9.0), (2, 7.0)], ended=False)
    append_run(again, tmp_path)
    assert load_runs(tmp_path) == [first, again]  # of two of one key the last
    assert first.answers("a", first.settings, limit=900.0)
    assert not first.answers("b", first.settings, limit=1800.0)
    assert not first.answers("a", run_of("a", is_ours=True, curve=[], seed=2).settings, 1800.0)
    assert again.answers("b", again.settings, limit=1800.0)
    assert not again.answers("b", again.settings, limit=900.0)  # it was stopped by its limit
    paths = plot_results(load_runs(tmp_path), tmp_path)
    assert [path.name for path in paths] == ["lda_trainers.svg", "lda_trainers.png"]
    svg = paths[0].read_text()
    for text in ("K = 25", "held-out perplexity", "a", "b"):
        assert f"<!-- {text} -->" in svg


def test_runs_that_all_failed_are_told_and_not_plotted(tmp_path):
    runs = [run_of("peer", is_ours=False, curve=[], failed="no look in 60 s")]
    assert "peer, seed 1: no look in 60 s" in tables(runs)
    assert plot_results(runs, tmp_path) == []


def lengths_of(limit, *, start, per_sweep):
    lengths, taken = growing_lengths(limit), []
    n_sweeps = next(lengths)
    while True:
        taken.append((n_sweeps, start + per_sweep * n_sweeps))
        try:
            n_sweeps = lengths.send(taken[-1][1])
        except StopIteration:
            return taken


def test_fits_take_four_times_as_long_each_and_the_last_fills_the_time():
    taken = lengths_of(60.0, start=3.0, per_sweep=0.5)
    seconds = np.array([each for _, each in taken])
    assert [n for n, _ in taken[:2]] == [1, 2]
    assert (np.diff(seconds) > 0).all()
    assert (seconds[2:] <= 8.0 * seconds[1:-1]).all()
    assert 0.8 * 60 <= seconds[-1] <= 60
    assert seconds.sum() <= 1.5 * 60
    assert [n for n, _ in lengths_of(10.0, start=0.0, per_sweep=30.0)] == [1]  # one sweep: too long
    assert [n for n, _ in lengths_of(100.0, start=0.0, per_sweep=30.0)] == [1, 2, 3]


@linux_only
@pytest.mark.parametrize("name", ["topica-sparse", "topica-warp", "pyrmallet", "poismf"])
def test_a_peer_finds_planted_topics_in_their_columns_and_all_its_fits_are_looks(
    name, tmp_path, monkeypatch
):
    if not TRAINERS[name].is_installed:
        pytest.skip(f"{name} is not installed")
    rng = np.random.default_rng(3)
    counts = np.zeros((300, 41), dtype=np.int32)  # no document has the word in the middle
    for d in range(300):
        words = np.arange(20) if d % 2 else np.arange(21, 41)
        counts[d, words] = rng.multinomial(30, np.full(20, 0.05))
    settings = Settings(2, 1, 300, 0.1, 0, 60.0, fixed_priors=False, start="")
    monkeypatch.setattr(separate_fits, "growing_lengths", lambda _: (n for n in (1, 5, 40)))
    recorder = Recorder(tmp_path, 1.0, 1.5, settings.seconds)
    run_trainer(TRAINERS[name], sparse.csr_array(counts), settings, recorder)
    seen = list(snapshots(tmp_path))
    assert [snapshot.n_steps for snapshot, _ in seen] == [1, 5, 40]
    first, second = sorted(seen[-1][1].topic_word, key=lambda topic: -topic[:20].sum())
    assert first[:20].sum() > 0.95
    assert second[21:].sum() > 0.95


@linux_only
def test_a_fit_of_its_own_begins_at_no_time(tmp_path):
    recorder = Recorder(tmp_path, first=1.0, growth=2.0, limit=60.0)
    topics = LDATopics(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([0.1, 0.2]))
    recorder.start()
    time.sleep(0.2)
    taken = []
    for seconds in (0.2, 0.01):
        recorder.start_anew()
        time.sleep(seconds)
        taken.append(recorder.look_at(5, lambda: topics))
    assert taken[1] < taken[0]
    assert [snapshot.seconds for snapshot, _ in snapshots(tmp_path)] == taken


def test_recombined_documents_begin_with_the_documents_and_hold_halves_of_two():
    rng = np.random.default_rng(1)
    counts = sparse.csr_array(rng.poisson(4.0, (50, 40)).astype(np.int32))
    more = recombined(counts, 2050)
    assert more.shape == (2050, 40)
    assert (more[:50] != counts).nnz == 0
    # Halves of two: as many tokens as one, whatever the word.
    expected, found = counts.mean(axis=0), more[50:].mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=0.1)
    assert len({row.tobytes() for row in more[50:].toarray()}) == 2000
    assert (recombined(counts, 2050) != more).nnz == 0
    assert (recombined(counts, 20) != counts[:20]).nnz == 0


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
