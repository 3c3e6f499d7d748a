import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from downloader.answer import BadAnswer
from downloader.errors import TryLaterError, UnusableAnswerError
from downloader.http_client import PoliteClient
from downloader.rate_limit import RateLimiter
from downloader.retry import Retry
from tests.downloader.hostile_server import GOOD, at_most, http, serving
from tests.downloader.impatient_client import UNHURRIED, new_client

CLIENT = UNHURRIED
DAY = 86_400.0
ASK_ONCE = """
import sys
from pathlib import Path
from downloader.http_client import PoliteClient
from downloader.rate_limit import RateLimiter

client = PoliteClient("test", RateLimiter(Path(sys.argv[1]), 6000, 100))
client.get_json(sys.argv[2])
"""


def date(seconds):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))


def test_retry_after_is_obeyed(client):
    with serving(http(b"", "429 Too Many Requests", retry_after="1"), GOOD) as server:
        waits = []
        client.on_trouble = lambda _, wait: waits.append(wait)
        client._retry._patience = 30
        client.get_json(server.url)
    first, second = server.requests
    assert second.arrived - first.arrived >= 1
    assert waits == [1.0]


@pytest.mark.parametrize(
    "value",
    [
        *("0", "-1", "-99999999999999999999", "NaN", "nan", "inf", "1e3", "0x10", "soon", ""),
        *("١٢", "1; 2", "1000000.5", "1 Jan", ",,,,", "x" * 60_000),
        *("Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 0001 00:00:00 GMT"),
        *("Thu, 01 Jan 0001 00:00:00 +2359", "Thu, 32 Jan 2026 25:00:00 GMT"),
        "Thu, 01 Jan 99999 00:00:00 GMT",
    ],
)
def test_retry_after_that_says_nothing_is_no_reason_to_wait(client, value):
    head = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nRetry-After: " + value.encode() + b"\r\n\r\n"
    with serving(head, GOOD) as server, at_most(5):
        client.get_json(server.url)
    assert client.n_retries == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("2", 2.0), ("86400", DAY), (str(366 * 86400), 366 * DAY), ("9" * 30, 366 * DAY)),
        *(("9" * 5000, 366 * DAY), ("Fri, 31 Dec 9999 23:59:59 GMT", 366 * DAY)),
    ],
)
def test_a_wait_beyond_patience_is_left_to_the_caller(client, value, seconds):
    answer, start = http(b"", "429 Too Many Requests", retry_after=value), time.time()
    with serving(answer, GOOD) as server:
        with at_most(5), pytest.raises(TryLaterError, match="asks to wait until") as caught:
            client.get_json(server.url)
        with at_most(5), pytest.raises(TryLaterError):  # and again, without a request
            client.get_json(server.url)
        assert len(server.requests) == 1
    assert caught.value.retry_at is not None
    assert start + seconds <= caught.value.retry_at <= time.time() + seconds
    assert client.limiter.paused_until == caught.value.retry_at


def test_a_date_beyond_tomorrow_is_kept_to(client):
    with serving(http(b"", "503 No", retry_after=date(3 * DAY)), GOOD) as server:
        with at_most(5), pytest.raises(TryLaterError, match="asks to wait until"):
            client.get_json(server.url)
        assert 3 * DAY - 2 <= client.limiter.paused_until - time.time() <= 3 * DAY
        client.limiter = RateLimiter(
            client.limiter.path, 6000, 100, clock=lambda: time.time() + 2 * DAY
        )
        with at_most(5), pytest.raises(TryLaterError, match="no request may start"):
            client.get_json(server.url)
        client.limiter = RateLimiter(
            client.limiter.path, 6000, 100, clock=lambda: time.time() + 3 * DAY + 1
        )
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [http(b"", "503 No"), http(b"", "503 No", retry_after="0"), http(b"<html>")],
    ids=["no header", "a header that asks for nothing", "malformed"],
)
def test_a_wait_that_is_ours_alone_is_not_said_to_be_the_servers(tmp_path, fault):
    client = new_client(tmp_path, patience=1e-6)  # any backoff is longer
    named = pytest.raises(
        (TryLaterError, UnusableAnswerError), match=r"^(no success|only malformed)"
    )
    with serving(fault) as server, at_most(5), named:
        client.get_json(server.url)
    assert len(server.requests) == 1


def test_a_process_that_starts_anew_waits_too(tmp_path):
    """Killed while it waits for a Retry-After; a successor has only the file of the limit."""
    limiter = RateLimiter(tmp_path / "limit")
    with serving(http(b"", "429 Too Many Requests", retry_after="1"), GOOD) as server:
        command = [sys.executable, "-c", ASK_ONCE, str(limiter.path), server.url]
        first = subprocess.Popen(command, cwd=Path(__file__).parents[2])
        end = time.monotonic() + 30
        while limiter.paused_until < time.time() and time.monotonic() < end:
            time.sleep(0.01)
        first.kill()
        first.wait(120)
        assert len(server.requests) == 1
        PoliteClient("test", RateLimiter(limiter.path, 6000, 100)).get_json(server.url)
    before, after = server.requests
    assert 1 <= after.arrived - before.arrived < 30


@pytest.mark.parametrize("progresses", [True, False])
def test_patience_is_for_attempts_that_bring_nothing(tmp_path, progresses):
    clock = count(0.0, 1.0)
    retry = Retry(RateLimiter(tmp_path / "pace"), 10.0, None, lambda: next(clock))
    attempts = iter(range(40))

    def attempt(_left, _backoff):
        if (number := next(attempts)) < 30:
            raise BadAnswer("cut short", retry_after=1e-9)
        return number

    retry._rng = SimpleNamespace(random=lambda: 0.0)
    if progresses:
        assert retry.until_success(attempt, lambda: True) == 30
    else:
        with pytest.raises(TryLaterError, match="cut short"):
            retry.until_success(attempt, lambda: False)
