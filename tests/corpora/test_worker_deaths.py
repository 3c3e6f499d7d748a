import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing import active_children, resource_tracker
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from corpora.worker_pool import WorkerDiedError, ordered_map
from tests.corpora.test_worker_pool import wait_until_dead
from tests.corpora.worker_tasks import (
    FatalToUnpickle,
    Task,
    die_while_sending,
    fatal_initializer,
    greet_and_survive,
    one_death_fewer,
    process_id,
    process_id_while_another_waits,
    set_greeting,
    slow_square,
    survive,
    write_notes_until_killed,
)


def recorded(deaths):
    def on_death(task, note, n_deaths):
        deaths.append((task.number, note, n_deaths))
        return one_death_fewer(task, note, n_deaths)

    return on_death


@pytest.mark.slow
@given(
    deadly=st.dictionaries(st.integers(0, 11), st.integers(1, 3), max_size=5),
    n_processes=st.integers(2, 4),
)
@settings(max_examples=15, phases=[Phase.generate])
def test_all_results_come_once_and_in_order(deadly, n_processes, tmp_path_factory):
    log, taken = tmp_path_factory.mktemp("deaths") / "log", []

    def tasks():
        for number in range(12):
            taken.append(number)
            yield Task(number, deadly.get(number, 0), f"number {number}", log)

    deaths = []
    results = ordered_map(survive, tasks(), n_processes, on_death=recorded(deaths))
    for number, result in enumerate(results):
        assert result == number
        assert len(taken) <= number + 2 * n_processes
    assert len(taken) == 12
    assert sorted(deaths) == sorted(
        (number, f"number {number}", n_deaths)
        for number, n in deadly.items()
        for n_deaths in range(1, n + 1)
    )
    ran = [int(line) for line in log.read_text().splitlines()]
    assert sorted(ran) == sorted([*range(12), *(number for number, *_ in deaths)])


@pytest.mark.slow
def test_all_workers_may_die_at_once_and_their_successors_are_initialized():
    tasks = [Task(0, 1), Task(1, 1), Task(2)]
    assert list(
        ordered_map(greet_and_survive, tasks, 2, set_greeting, ("hello",), on_death=one_death_fewer)
    ) == ["hello 0", "hello 1", "hello 2"]


def test_the_note_is_of_the_item_at_which_the_worker_died():
    tasks = [*(Task(number, note="another article") for number in range(8)), Task(8, 1)]
    deaths = []
    assert list(ordered_map(survive, tasks, 2, on_death=recorded(deaths))) == list(range(9))
    assert deaths == [(8, "", 1)]


@pytest.mark.slow
def test_what_on_death_raises_comes_in_place_of_the_result():
    def give_up(task, note, n_deaths):
        if note:
            raise LookupError(f"{note} was death number {n_deaths}")
        return replace(task, note="the second try")

    results = ordered_map(survive, [Task(0, 9)], 2, on_death=give_up)
    with pytest.raises(LookupError, match="the second try was death number 2"):
        next(results)


def test_without_on_death_it_is_a_named_error_after_the_results_before_it():
    results = ordered_map(survive, [Task(0), Task(1), Task(2, 1, "Zürich")], 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(
        WorkerDiedError,
        match=r"unexpectedly \(Killed\) while it was at Zürich; .* fewer than 2 processes",
    ):
        next(results)


def never(item, note, n_deaths):
    raise AssertionError("no item was taken")


def test_death_before_the_first_item_ends_all():
    with pytest.raises(WorkerDiedError, match=r"first item \(exit code 3\) while .* at the model"):
        list(ordered_map(slow_square, [1], 2, fatal_initializer, on_death=never))
    with pytest.raises(WorkerDiedError, match=r"first item \(exit code 4\); if the system ran"):
        list(ordered_map(FatalToUnpickle(), [1], 2, on_death=never))


@pytest.mark.slow
def test_death_while_a_large_result_is_sent(tmp_path):
    log, deaths = tmp_path / "pid", []
    tasks = [Task(0, log=log), Task(1, 1, log=log)]
    results = ordered_map(die_while_sending, tasks, 2, on_death=recorded(deaths))
    assert next(results) == b""
    wait_until_dead([int(log.read_text())])
    assert len(next(results)) == 50_000_000
    assert deaths == [(1, "", 1)]


@pytest.mark.slow
def test_the_death_of_an_idle_worker_costs_nothing(tmp_path):
    log = tmp_path / "log"
    results = ordered_map(process_id_while_another_waits, [Task(0, log=log), Task(1, log=log)], 2)
    killed = next(results)
    os.kill(killed, signal.SIGKILL)
    wait_until_dead([killed])
    threading.Timer(0.3, log.unlink).start()
    (other,) = results
    assert other != killed


@pytest.mark.slow
def test_a_worker_killed_while_nobody_listens():
    deaths = []

    def on_death(x, note, n_deaths):
        deaths.append(n_deaths)
        return x

    results = ordered_map(process_id, range(9), 2, on_death=on_death)
    killed = next(results)
    time.sleep(0.1)
    os.kill(killed, signal.SIGKILL)
    wait_until_dead([killed])
    others = list(results)
    assert len(others) == 8
    assert others[-1] != killed
    assert deaths in ([], [1])  # it may have had one, or none


@pytest.mark.slow
def test_a_note_outlives_a_kill_at_any_moment():
    wanted, found = ["a" * 900, "ü" * 300], []

    def on_death(notes, note, n_deaths):
        found.append(note)
        return notes if len(found) < 2 else []

    assert list(ordered_map(write_notes_until_killed, [wanted], 2, on_death=on_death)) == ["alive"]
    assert len(found) == 2
    assert set(found) <= {*wanted, ""}  # empty if it was just being written
    assert any(found)


@pytest.mark.slow
def test_deaths_leave_nothing_open():
    def open_streams():
        return sum(file.is_fifo() or file.is_socket() for file in Path("/proc/self/fd").iterdir())

    resource_tracker.ensure_running()  # which has a pipe for good
    before = open_streams()
    results = ordered_map(survive, [Task(0, 1)], 2, on_death=one_death_fewer)
    assert next(results) == 0
    assert open_streams() > before
    assert len(active_children()) == 1  # no more workers than items
    assert list(results) == []
    assert open_streams() == before
