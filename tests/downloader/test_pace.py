"""The pace holds: in any window, for any number of processes, across kills and restarts."""

from __future__ import annotations

import itertools
import math
import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path
from socket import MSG_PEEK
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from downloader.errors import SourceError, TryLaterError
from downloader.pace import Pace, pace_path
from downloader.pace_state import LONGEST_HOLD, RING, SIZE, PaceState
from tests.downloader.hostile_server import Request, http, serving

if TYPE_CHECKING:
    import socket

START = 1_900_000_000.0


class World:
    """True time, and a wall clock that may be set back."""

    def __init__(self) -> None:
        self.now = START
        self.set_back = 0.0
        self.n_sleeps = 0

    def clock(self) -> float:
        return self.now - self.set_back

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds < 100
        self.n_sleeps += 1
        assert self.n_sleeps < 100_000
        self.now += seconds

    def pace(self, path: Path, per_minute: int = 200, per_second: int = 4) -> Pace:
        return Pace(path, per_minute, per_second, clock=self.clock, sleep=self.sleep)


def kill_in_flight(pace: Pace) -> None:
    """What SIGKILL leaves behind of a process with a request in flight."""
    pace._take_off(math.inf)
    assert pace._flight
    os.close(pace._flight.descriptor)


def most_in_a_window(arrivals: list[float], seconds: float) -> int:
    ordered = sorted(arrivals)
    return max(sum(t <= other < t + seconds for other in ordered) for t in ordered)


def test_the_measure_of_windows_counts_right() -> None:
    assert most_in_a_window([0.0, 0.5, 0.99, 1.0, 5.0], 1.0) == 3
    assert most_in_a_window([0.0, 0.5, 0.99, 0.999, 5.0], 1.0) == 4


events = st.lists(
    st.tuples(
        st.sampled_from(["request"] * 8 + ["kill", "restart", "clock back", "idle"]),
        st.floats(0, 3),
        st.floats(0, 1),
    ),
    max_size=50,
)


@given(events, st.integers(1, 30) | st.integers(60, 1200), st.integers(1, 6))
@example([("request", 0.0, 1.0)] * 50, 30, 5)
@example([("request", 3.0, 0.0), ("kill", 0.0, 0.0)] * 20, 20, 2)
@example([("request", 0.0, 1.0)] * 20, 1200, 3)
def test_no_window_of_the_server_holds_more_than_the_limit(
    tmp_path_factory: pytest.TempPathFactory,
    story: list[tuple[str, float, float]],
    per_minute: int,
    per_second: int,
) -> None:
    path = tmp_path_factory.mktemp("pace") / "file"
    world = World()
    pace = world.pace(path, per_minute, per_second)
    arrivals: list[float] = []
    starts: list[float] = []
    for what, latency, part in story:
        if what == "clock back":
            world.set_back += 100 * latency
        elif what == "idle":
            world.now += 20 * latency
        elif what == "restart":
            pace = world.pace(path, per_minute, per_second)
        elif what == "kill":
            kill_in_flight(pace)
            starts.append(world.now)
            arrivals.append(world.now + latency + part / 4)  # after its process has died
            world.now += latency
            pace = world.pace(path, per_minute, per_second)
        else:
            with pace.request():
                starts.append(world.now)
                arrivals.append(world.now + part * latency)
                world.now += latency
    if arrivals:
        assert most_in_a_window(arrivals, 1.0) <= per_second
        assert most_in_a_window(arrivals, 60.0) <= per_minute
        gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
        assert min(gaps, default=math.inf) >= 60 / per_minute - 1e-5


@pytest.mark.parametrize("late", [0, 9])
@pytest.mark.parametrize("per_minute", [RING, RING + 1, 2 * RING])
def test_limits_beyond_the_ring_hold_too(tmp_path: Path, per_minute: int, late: int) -> None:
    """The worst for them: one request takes a while to arrive, all later ones no time at all."""
    world = World()
    pace = world.pace(tmp_path / "file", per_minute, 10**9)
    arrivals = []
    for i in range(per_minute + late + 10):
        with pace.request():
            world.now += 0.5 if i == late else 0.0
            arrivals.append(world.now)
    windows = [b - a for a, b in zip(arrivals, arrivals[per_minute:], strict=False)]
    assert min(windows) >= 60.0


def test_a_pace_that_was_free_is_used_to_the_full(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file", per_minute=200, per_second=4)
    for _ in range(401):
        with pace.request():
            world.now += 0.01
    assert world.now - START < 121  # 400 requests at 200 a minute


def test_after_a_slow_answer_the_next_request_waits_as_long(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    with pace.request():
        world.now += 7.0
    end = world.now
    with world.pace(tmp_path / "file").request():
        assert world.now - end == pytest.approx(7.0, abs=1e-3)
        world.now += 1.9
    end = world.now
    with pace.request():
        assert world.now - end < 0.5


def test_our_own_work_on_an_answer_is_not_held_against_the_server(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    with pace.request():
        world.now += 1.0
        pace.answered()
        world.now += 50.0
    assert pace.held_until == 0.0


def test_a_hold_outlives_the_process_and_a_longer_one_stays(tmp_path: Path) -> None:
    world = World()
    world.pace(tmp_path / "file").hold_off(30)
    world.pace(tmp_path / "file").hold_off(5)
    later = world.pace(tmp_path / "file")
    assert later.held_until == START + 30
    with later.request():
        assert 30 <= world.now - START < 31


def test_a_hold_set_in_flight_is_written_before_the_request_ends(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    pace._take_off(math.inf)
    pace.hold_off(30)
    assert pace._flight
    os.close(pace._flight.descriptor)  # killed
    with world.pace(tmp_path / "file").request():
        assert world.now - START >= 30


@pytest.mark.parametrize("seconds", [math.nan, -5.0, -math.inf, 0.0])
def test_nonsense_holds_nobody_off(tmp_path: Path, seconds: float) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    pace.hold_off(seconds)
    with pace.request():
        assert world.now == START


@pytest.mark.parametrize("seconds", [1e300, math.inf])
def test_no_server_keeps_us_waiting_for_more_than_a_year(tmp_path: Path, seconds: float) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    pace.hold_off(seconds)
    assert pace.held_until == START + LONGEST_HOLD


def test_a_clock_set_back_does_not_prolong_a_hold(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    pace.hold_off(30)
    world.set_back = 1e6
    with pace.request():
        assert 30 <= world.now - START < 32


def test_a_hold_beyond_patience_is_not_waited_for(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    pace.hold_off(600)
    with pytest.raises(TryLaterError, match="before") as caught, pace.request(patience=599):
        pytest.fail("a request went out")
    assert caught.value.retry_at == START + 600
    assert world.now == START
    with pace.request(patience=601):
        pass


def test_a_wait_is_told_while_it_lasts(tmp_path: Path) -> None:
    world = World()
    told: list[float | None] = []
    pace = world.pace(tmp_path / "file")

    def sleep(seconds: float) -> None:
        told.append(pace.waited_until)
        world.sleep(seconds)

    pace._sleep = sleep
    pace.hold_off(5)
    with pace.request():
        assert pace.waited_until is None
    assert told
    assert set(told) == {START + 5}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:100],
        lambda data: data + b"x",
        lambda data: b"\0" * len(data),
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: b"\xff" * 10**6,  # noqa: ARG005
        lambda data: b"{}",  # noqa: ARG005
    ],
)
def test_a_damaged_file_counts_as_an_allowance_used_up(tmp_path: Path, damage: object) -> None:
    world = World()
    path = tmp_path / "file"
    pace = world.pace(path)
    with pace.request():
        pass
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert pace.held_until in {0.0, START}
    damaged_at = world.now
    with pace.request():
        assert 60 <= world.now - damaged_at < 62
    assert path.stat().st_size == SIZE


@given(st.binary(max_size=2 * SIZE))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    assert PaceState.unpack(data) is None


def test_a_state_survives_the_file() -> None:
    state = PaceState()
    for i in range(3000):
        state.begin(START + i)
        state.complete(START + i + 0.5)
    state.hold(START + 3000, 7)
    again = PaceState.unpack(state.pack())
    assert again
    assert again.pack() == state.pack()
    assert again.earliest(60, 1) == state.earliest(60, 1)


def test_a_request_within_a_request_is_our_mistake(tmp_path: Path) -> None:
    pace = World().pace(tmp_path / "file")
    with pace.request(), pytest.raises(RuntimeError, match="in flight"), pace.request():
        pass
    with pace.request():
        pass


def test_the_request_of_a_killed_process_may_still_be_on_its_way(tmp_path: Path) -> None:
    world = World()
    kill_in_flight(world.pace(tmp_path / "file"))
    world.now += 100
    with world.pace(tmp_path / "file").request():
        assert 100.25 <= world.now - START < 101


def test_an_error_in_flight_ends_the_flight(tmp_path: Path) -> None:
    world = World()
    with pytest.raises(KeyboardInterrupt), world.pace(tmp_path / "file").request():
        raise KeyboardInterrupt
    with world.pace(tmp_path / "file").request():
        assert world.now - START < 1


def test_another_process_in_flight_is_waited_for_within_patience(tmp_path: Path) -> None:
    world = World()
    first, second = world.pace(tmp_path / "file"), world.pace(tmp_path / "file")
    with first.request():
        with pytest.raises(TryLaterError, match="another process"), second.request(patience=3):
            pass
        assert 3 <= world.now - START < 4


def test_an_emptied_cache_is_made_anew(tmp_path: Path) -> None:
    world = World()
    path = tmp_path / "cache" / "pace" / "file"
    pace = world.pace(path)
    for _ in range(3):
        with pace.request():
            pass
        path.unlink()
        path.parent.rmdir()


def test_a_file_deleted_before_it_is_locked_is_not_agreed_upon(tmp_path: Path) -> None:
    world = World()
    pace = world.pace(tmp_path / "file")
    opened = []

    def open_and_lose() -> int:
        opened.append(Pace._open(pace))
        if len(opened) == 1:
            pace.path.unlink()
        return opened[-1]

    pace._open = open_and_lose
    with pace.request():
        state = PaceState.unpack(pace.path.read_bytes())
        assert state
        assert state.n == 1


@pytest.mark.parametrize(("per_minute", "per_second"), [(0, 4), (200, 0), (-1, 4)])
def test_a_pace_that_lets_nothing_out_is_refused(
    tmp_path: Path, per_minute: int, per_second: int
) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Pace(tmp_path / "file", per_minute, per_second)


def test_high_rates_cost_next_to_nothing(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "file", 10**9, 10**9)
    start = time.perf_counter()
    for _ in range(500):
        with pace.request():
            pass
    assert (time.perf_counter() - start) / 500 < 0.005  # 0.00004 on an idle machine


def test_wikimedia_is_one_service_and_others_are_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = pace_path("https://en.wikipedia.org/w/api.php")
    assert one == tmp_path / "wikitopics" / "pace" / "wikimedia"
    for url in ("https://DE.Wiktionary.org./w/api.php", "http://dumps.wikimedia.org/other"):
        assert pace_path(url) == one
    others = [
        "https://notwikipedia.org/",
        "https://wikipedia.org.evil.net/",
        "http://notwikipedia.org/",
        "http://notwikipedia.org:8080/",
        "http://[::1]:8080/",
        "http://[::2]:8080/",
        f"http://{'a' * 60}.{'b' * 60}.net/",
        f"http://{'a' * 60}.{'c' * 60}.net/",
        "http://..%2f..%2fetc/",
        "http://../",
    ]
    paths = {pace_path(url) for url in others}
    assert len(paths) == len(others)
    assert {path.parent for path in paths} == {one.parent}
    assert pace_path("https://notwikipedia.org:443/x") == pace_path(others[0])


@pytest.mark.parametrize(
    "url",
    [
        "http://a.net:99999/api.php",
        "http://a.net:-1/",
        "http://a.net:eighty/",
        "http://a.net:8\x1b0/",
        "http://[::1/",
        "http://[a.net]/",
        "http:///api.php",
        "http://:80/",
        "a.net",
        "",
    ],
)
def test_what_is_no_address_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SourceError, match="is no address") as caught:
        pace_path(url)
    assert url.replace("\x1b", " ") in str(caught.value)
    assert str(caught.value).isprintable()
    assert not list(tmp_path.rglob("*"))


def test_a_relative_cache_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert pace_path("http://a.net/").parent == tmp_path / ".cache" / "wikitopics" / "pace"


def test_without_a_cache_the_caller_names_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    path = pace_path("http://a.net/", fallback=tmp_path / "store")
    assert path.parent == tmp_path / "store"
    with Pace(path).request():
        pass
    with pytest.raises(NotADirectoryError):
        pace_path("http://a.net/")


ASK = """
import sys
from http.client import HTTPConnection
from pathlib import Path
from downloader.pace import Pace

path, port, name, per_second = sys.argv[1:]
pace = Pace(Path(path), 100 * int(per_second), int(per_second))
connection = HTTPConnection("127.0.0.1", int(port))
while True:
    with pace.request():
        connection.request("GET", name)
        connection.getresponse().read()
"""


def is_gone(sock: socket.socket) -> bool:
    """Whether the client has closed the connection, as the death of its process does."""
    readable, _, _ = select.select([sock], [], [], 0)
    try:
        return bool(readable) and not sock.recv(1, MSG_PEEK)
    except OSError:
        return True


@pytest.mark.slow
def test_two_processes_take_turns_and_kills_change_nothing(tmp_path: Path) -> None:
    """Measured at the server: never two in flight, never above the limits, nobody starves."""
    per_second, rng = 8, random.Random(5)
    flights: list[tuple[float, float]] = []

    def answer(request: Request, sock: socket.socket) -> None:
        time.sleep(rng.random() * 0.06)
        if not is_gone(sock):
            flights.append((request.arrived, time.monotonic()))
            sock.sendall(http(b"ok"))

    with serving(answer) as server:

        def start(name: str) -> subprocess.Popen[bytes]:
            arguments = [str(tmp_path / "pace"), str(server.port), name, str(per_second)]
            command = [sys.executable, "-c", ASK, *arguments]
            return subprocess.Popen(command, cwd=Path(__file__).parents[2])

        def count(name: str) -> int:
            return sum(request.target == name for request in server.requests)

        end = time.monotonic() + 60
        steady, killed = start("/steady"), start("/0")
        n_kills = 0
        while (n_kills < 3 or count("/steady") < 10) and time.monotonic() < end:
            successor = start(f"/{n_kills + 1}")
            while count(f"/{n_kills}") < 3 and time.monotonic() < end:
                time.sleep(rng.random() * 0.05)
            killed.kill()
            killed.wait(10)
            killed = successor
            n_kills += 1
        for process in (steady, killed):
            process.kill()
            process.wait(10)
        time.sleep(0.1)
    assert all(count(f"/{i}") >= 3 for i in range(n_kills))
    assert count("/steady") >= 10
    flights.sort()
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(flights))
    arrivals = [request.arrived for request in server.requests]
    assert most_in_a_window(arrivals, 1.0) <= per_second
    assert len(arrivals) > 2 * per_second  # so the limit was in force
