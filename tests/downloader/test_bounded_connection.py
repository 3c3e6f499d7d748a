import io
import socket
import time
from types import SimpleNamespace

import pytest

from downloader.bounded_connection import DeadlineError, EndlessAnswerError, Limits, _BoundedStream
from tests.downloader.hostile_server import at_most


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(60)
        yield ours, theirs


def reader(ours, limits):
    return io.BufferedReader(_BoundedStream(ours.makefile("rb", buffering=0), ours, limits), 100)


@pytest.mark.parametrize(("read_timeout", "seconds"), [(0.05, 60.0), (60.0, 0.05)])
def test_silence_is_borne_for_the_shorter_of_both_times(ends, monkeypatch, read_timeout, seconds):
    """The clock goes on from when the first bytes have come, however late that is."""
    limits, beginning = Limits(read_timeout), 0.0

    def monotonic():
        nonlocal beginning
        if limits.n_bytes == 0:
            return 0.0
        beginning = beginning or time.monotonic()
        return time.monotonic() - beginning

    monkeypatch.setattr("downloader.bounded_connection.time", SimpleNamespace(monotonic=monotonic))
    limits.start(seconds, 1000)
    ends[1].sendall(b"abc")
    with at_most(10), pytest.raises(TimeoutError):
        reader(ends[0], limits).read(4)
    assert (limits.too_late, limits.n_bytes) == (seconds < 1, 3)


def test_time_does_not_begin_anew_with_each_byte(ends, monkeypatch):
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("downloader.bounded_connection.time", clock)
    limits = Limits(60)
    limits.start(0.05, 1000)
    ends[1].sendall(b"abc" * 20)
    stream = _BoundedStream(ends[0].makefile("rb", buffering=0), ends[0], limits)
    stream.read(3)
    now += 0.06
    with pytest.raises(DeadlineError):
        stream.read(3)
    limits.prolong(10)
    assert stream.read(3) == b"abc"


def test_the_last_byte_may_come_but_none_after_it(ends):
    limits = Limits(10)
    limits.start(10, 5)
    stream = reader(ends[0], limits)
    ends[1].sendall(b"abcde")
    assert stream.read(5) == b"abcde"
    assert not limits.too_large
    ends[1].sendall(b"f")
    with pytest.raises(EndlessAnswerError):
        stream.read(-1)
    assert limits.too_large
