"""The rate limit holds: in any window, for any number of processes, across kills and restarts."""

import itertools
import math
import os
import random
import select
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from socket import MSG_PEEK

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from downloader.errors import SourceError, TryLaterError
from downloader.rate_limit import RateLimiter
from downloader.rate_limit_state import FORMER_MAGIC, FORMER_SIZE, MAX_PAUSE, SIZE, RateLimitState
from downloader.service import rate_limit_path
from tests.downloader.fault_proxy import most_within
from tests.downloader.hostile_server import http, serving

START = 1_900_000_000.0
events = st.lists(
    st.tuples(
        st.sampled_from(["request"] * 8 + ["kill", "restart", "clock back", "idle"]),
        st.floats(0, 3),
        st.floats(0, 1),
    ),
    max_size=50,
)
ASK = """
import sys
from http.client import HTTPConnection
from pathlib import Path
from downloader.rate_limit import RateLimiter

path, port, name, per_second = sys.argv[1:]
limiter = RateLimiter(Path(path), 100 * int(per_second), int(per_second))
connection = HTTPConnection("127.0.0.1", int(port))
while True:
    with limiter.request():
        connection.request("GET", name)
        connection.getresponse().read()
"""


class World:
    def __init__(self):
        self.now = START
        self.set_back = 0.0
        self.n_sleeps = 0

    def clock(self):
        return self.now - self.set_back

    def sleep(self, seconds):
        assert 0 < seconds < 100
        self.n_sleeps += 1
        assert self.n_sleeps < 100_000
        self.now += seconds

    def limiter(self, path, per_minute=200, per_second=4):
        return RateLimiter(path, per_minute, per_second, clock=self.clock, sleep=self.sleep)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def limiter(world, tmp_path):
    return world.limiter(tmp_path / "file")


def kill_in_flight(limiter):
    os.close(limiter._acquire(math.inf).descriptor)


def test_windows_are_counted_right():
    assert most_within([0.0, 0.5, 0.99, 1.0, 5.0], 1.0) == 3
    assert most_within([0.0, 0.5, 0.99, 0.999, 5.0], 1.0) == 4


@given(events, st.integers(1, 30) | st.integers(60, 1200), st.integers(1, 6))
@example([("request", 0.0, 1.0)] * 50, 30, 5)
@example([("request", 3.0, 0.0), ("kill", 0.0, 0.0)] * 20, 20, 2)
@example([("request", 0.0, 1.0)] * 20, 1200, 3)
@example([("request", 3.0, 1.0), *[("request", 0.0, 1.0)] * 40], 15, 6)
@example([("request", 1.9, 1.0), *[("request", 0.0, 1.0)] * 40], 1200, 3)
def test_no_window_of_the_server_has_more_than_the_limit(
    tmp_path_factory, story, per_minute, per_second
):
    path, world = tmp_path_factory.mktemp("limit") / "file", World()
    limiter, arrivals = world.limiter(path, per_minute, per_second), []
    for what, latency, part in story:
        if what == "clock back":
            world.set_back += 100 * latency
        elif what == "idle":
            world.now += 20 * latency
        elif what == "restart":
            limiter = world.limiter(path, per_minute, per_second)
        elif what == "kill":
            kill_in_flight(limiter)
            arrivals.append(world.now + latency + part / 4)  # after its process has died
            world.now += latency
            limiter = world.limiter(path, per_minute, per_second)
        else:
            with limiter.request():
                arrivals.append(world.now + part * latency)
                world.now += latency
    if arrivals:
        assert most_within(sorted(arrivals), 1.0) <= per_second
        assert most_within(sorted(arrivals), 60.0) <= per_minute


@pytest.mark.parametrize("late", [0, 9])
@pytest.mark.parametrize(("limit", "window"), [(3, 60.0), (20, 60.0), (2048, 60.0), (4, 1.0)])
def test_one_late_arrival_before_quick_ones_breaks_no_limit(world, tmp_path, limit, window, late):
    limits = (limit, 10**9) if window > 1 else (10**9, limit)
    limiter, arrivals = world.limiter(tmp_path / "file", *limits), []
    for i in range(limit + late + 10):
        with limiter.request():
            world.now += 1.9 if i == late else 0.0
            arrivals.append(world.now)
    assert min(b - a for a, b in zip(arrivals, arrivals[limit:], strict=False)) >= window


@pytest.mark.parametrize(
    ("per_minute", "per_second", "latency", "least"),
    [(200, 5, 0.01, 198), (200, 5, 0.25, 198), (200, 4, 0.01, 179), (6, 4, 0.3, 5.8)],
)
def test_most_of_the_limit_is_used(world, tmp_path, per_minute, per_second, latency, least):
    limiter = world.limiter(tmp_path / "file", per_minute, per_second)
    for _ in range(401):
        with limiter.request():
            world.now += latency
    assert 400 / (world.now - START) * 60 > least


def test_after_a_slow_answer_the_next_request_waits_as_long(world, limiter, tmp_path):
    with limiter.request():
        world.now += 7.0
    end = world.now
    with world.limiter(tmp_path / "file").request():
        assert world.now - end == pytest.approx(7.0, abs=1e-3)
        world.now += 1.9
    end = world.now
    with limiter.request():
        assert world.now - end < 0.5


def test_our_own_work_on_an_answer_is_not_the_servers_time(world, limiter):
    with limiter.request():
        world.now += 1.0
        limiter.answered()
        world.now += 50.0
    assert limiter.paused_until == 0.0


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_pause_outlives_the_process_and_a_longer_one_stays(world, tmp_path, *, in_flight):
    limiter = world.limiter(tmp_path / "file")
    request = limiter._acquire(math.inf) if in_flight else None
    limiter.pause(30)
    if request:
        os.close(request.descriptor)  # killed
    world.limiter(tmp_path / "file").pause(5)
    later = world.limiter(tmp_path / "file")
    assert later.paused_until == START + 30
    with later.request():
        assert 30 <= world.now - START < 31


@pytest.mark.parametrize(
    ("seconds", "paused_until"),
    [(math.nan, 0), (-5.0, 0), (-math.inf, 0), (0.0, 0)]
    + [(seconds, START + MAX_PAUSE) for seconds in (1e300, math.inf)],
)
def test_a_pause_is_positive_and_at_most_a_year(limiter, seconds, paused_until):
    limiter.pause(seconds)
    assert limiter.paused_until == paused_until


def test_a_clock_set_back_prolongs_no_wait(world, limiter):
    with limiter.request():
        pass
    limiter.pause(30)
    world.set_back = 1e6
    with limiter.request():
        assert 30 <= world.now - START < 32


def test_a_pause_beyond_patience_is_not_waited_for(world, limiter):
    limiter.pause(600)
    with pytest.raises(TryLaterError, match="before") as caught, limiter.request(patience=599):
        pytest.fail("a request was sent")
    assert (caught.value.retry_at, world.now) == (START + 600, START)
    with limiter.request(patience=601):
        pass


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:10],
        lambda data: data + b"x",
        lambda data: b"\0" * len(data),
        lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
        lambda data: b"\xff" * 10**6,  # noqa: ARG005
        lambda data: b"{}",  # noqa: ARG005
    ],
)
def test_a_damaged_file_counts_as_a_limit_used_up(world, limiter, damage):
    with limiter.request():
        pass
    limiter.path.write_bytes(damage(limiter.path.read_bytes()))  # type: ignore[operator]
    assert limiter.paused_until == 0.0
    with limiter.request():
        assert 60 <= world.now - START < 62
    assert limiter.path.stat().st_size == SIZE


@given(st.binary(max_size=2 * SIZE))
def test_no_bytes_crash_the_reader(data):
    assert RateLimitState.unpack(data) is None


def test_the_pause_in_a_file_of_the_first_version_is_obeyed(world, limiter):
    data = FORMER_MAGIC + struct.pack("<4d", 7, START - 9, START - 5, START + 30)
    data = data.ljust(FORMER_SIZE - 4, b"\0")
    limiter.path.write_bytes(data + struct.pack("<I", zlib.crc32(data)))
    assert limiter.paused_until == START + 30
    with limiter.request():
        assert 30 <= world.now - START < 31
    assert limiter.path.stat().st_size == SIZE


def test_a_request_within_a_request_is_our_mistake(limiter):
    with limiter.request(), pytest.raises(RuntimeError, match="in flight"), limiter.request():
        pass
    with limiter.request():
        pass


def test_the_request_of_a_killed_process_may_still_be_on_its_way(world, limiter, tmp_path):
    kill_in_flight(limiter)
    world.now += 100
    with world.limiter(tmp_path / "file").request():
        assert 100.25 <= world.now - START < 101


def test_an_error_in_flight_ends_the_flight(world, limiter, tmp_path):
    with pytest.raises(KeyboardInterrupt), limiter.request():
        raise KeyboardInterrupt
    with world.limiter(tmp_path / "file").request():
        assert world.now - START < 1


def test_another_process_in_flight_is_waited_for_within_patience(world, limiter, tmp_path):
    second = world.limiter(tmp_path / "file")
    with limiter.request():
        with pytest.raises(TryLaterError, match="another process"), second.request(patience=3):
            pass
        assert 3 <= world.now - START < 4


def test_an_emptied_cache_is_made_again(world, tmp_path):
    path = tmp_path / "cache" / "pace" / "file"
    limiter = world.limiter(path)
    for _ in range(3):
        with limiter.request():
            pass
        path.unlink()
        path.parent.rmdir()


def test_a_file_deleted_before_it_is_locked_is_not_used(limiter):
    opened = []

    def open_and_lose():
        opened.append(RateLimiter._open(limiter))
        if len(opened) == 1:
            limiter.path.unlink()
        return opened[-1]

    limiter._open = open_and_lose
    with limiter.request():
        state = RateLimitState.unpack(limiter.path.read_bytes())
        assert state
        assert state.last_answer == math.inf


@pytest.mark.parametrize(("per_minute", "per_second"), [(0, 4), (200, 0), (-1, 4)])
def test_a_limit_below_one_is_refused(tmp_path, per_minute, per_second):
    with pytest.raises(ValueError, match="at least 1"):
        RateLimiter(tmp_path / "file", per_minute, per_second)


def test_high_limits_cost_next_to_nothing(tmp_path):
    limiter, start = RateLimiter(tmp_path / "file", 10**9, 10**9), time.perf_counter()
    for _ in range(500):
        with limiter.request():
            pass
    assert (time.perf_counter() - start) / 500 < 0.005  # 0.00004 on an idle machine


def test_wikimedia_is_one_service_and_others_are_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = rate_limit_path("https://en.wikipedia.org/w/api.php")
    assert one == tmp_path / "wikitopics" / "pace" / "wikimedia"
    for url in ("https://DE.Wiktionary.org./w/api.php", "http://dumps.wikimedia.org/other"):
        assert rate_limit_path(url) == one
    others = [
        *("https://notwikipedia.org/", "https://wikipedia.org.evil.net/"),
        *("http://notwikipedia.org/", "http://notwikipedia.org:8080/"),
        *("http://[::1]:8080/", "http://[::2]:8080/"),
        *(f"http://{'a' * 60}.{'b' * 60}.net/", f"http://{'a' * 60}.{'c' * 60}.net/"),
        *("http://..%2f..%2fetc/", "http://../"),
    ]
    paths = {rate_limit_path(url) for url in others}
    assert len(paths) == len(others)
    assert {path.parent for path in paths} == {one.parent}
    assert rate_limit_path("https://notwikipedia.org:443/x") == rate_limit_path(others[0])


@pytest.mark.parametrize(
    "url",
    [
        *("http://a.net:99999/api.php", "http://a.net:-1/", "http://a.net:eighty/"),
        *("http://a.net:8\x1b0/", "http://[::1/", "http://[a.net]/", "http:///api.php"),
        *("http://:80/", "a.net", ""),
    ],
)
def test_what_is_no_address_is_named(tmp_path, monkeypatch, url):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SourceError, match="is no address") as caught:
        rate_limit_path(url)
    assert url.replace("\x1b", " ") in str(caught.value)
    assert str(caught.value).isprintable()
    assert not list(tmp_path.rglob("*"))


def test_a_relative_cache_is_not_obeyed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert rate_limit_path("http://a.net/").parent == tmp_path / ".cache" / "wikitopics" / "pace"


def test_without_a_cache_the_caller_names_a_place(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    path = rate_limit_path("http://a.net/", fallback=tmp_path / "store")
    assert path.parent == tmp_path / "store"
    with RateLimiter(path).request():
        pass
    with pytest.raises(NotADirectoryError):
        rate_limit_path("http://a.net/")


def is_gone(sock):
    readable, _, _ = select.select([sock], [], [], 0)
    try:
        return bool(readable) and not sock.recv(1, MSG_PEEK)
    except OSError:
        return True


@pytest.mark.slow
def test_two_processes_take_turns_and_kills_change_nothing(tmp_path):
    per_second, rng = 8, random.Random(5)
    flights = []

    def answer(request, sock):
        time.sleep(rng.random() * 0.06)
        if not is_gone(sock):
            flights.append((request.arrived, time.monotonic()))
            sock.sendall(http(b"ok"))

    with serving(answer) as server:

        def start(name):
            arguments = [str(tmp_path / "limit"), str(server.port), name, str(per_second)]
            command = [sys.executable, "-c", ASK, *arguments]
            return subprocess.Popen(command, cwd=Path(__file__).parents[2])

        def count(name):
            return sum(request.target == name for request in server.requests)

        end = time.monotonic() + 60
        steady, killed = start("/steady"), start("/0")
        n_kills = 0
        while (n_kills < 3 or count("/steady") < 10) and time.monotonic() < end:
            successor = start(f"/{n_kills + 1}")
            while count(f"/{n_kills}") < 3 and time.monotonic() < end:
                time.sleep(rng.random() * 0.05)
            killed.kill()
            killed.wait(120)
            killed = successor
            n_kills += 1
        for process in (steady, killed):
            process.kill()
            process.wait(120)
        time.sleep(0.1)
    assert all(count(f"/{i}") >= 3 for i in range(n_kills))
    assert count("/steady") >= 10
    flights.sort()
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(flights))
    arrivals = [request.arrived for request in server.requests]
    assert most_within(sorted(arrivals), 1.0) <= per_second
    assert most_within(sorted(arrivals), 60.0) <= 60 * per_second
    assert len(arrivals) > 2 * per_second  # so the limit was in force
