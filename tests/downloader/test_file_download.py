import errno
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from downloader.errors import RefusedError, TryLaterError, UnusableAnswerError
from tests.downloader.hostile_server import at_most, chunked, http, reset, send_and_reset, serving
from tests.downloader.impatient_client import UNHURRIED, new_client

CLIENT = UNHURRIED
DATA = random.Random(3).randbytes(1_000_000)
OTHER = random.Random(4).randbytes(900_000)
TAG = '"v1"'
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
MAX_BYTES = 2**24
FETCH = """
import sys
from pathlib import Path
from downloader.http_client import PoliteClient
from downloader.rate_limit import RateLimiter

directory = Path(sys.argv[1])
client = PoliteClient("test", RateLimiter(directory / "pace", 6000, 100))
client.fetch_file(sys.argv[2], directory / "a", 2**24)
"""


class FileServer:
    """Sends a file, by ranges if asked to; cuts the first answers off after so many bytes."""

    def __init__(self, *cuts, data=DATA, ranges=True, **headers):
        self.data = data
        self.ranges = ranges
        self.headers = headers or {"etag": TAG}
        self.cuts = list(cuts)
        self.statuses: list[int] = []

    def __call__(self, request, sock):
        start, asked = 0, re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        same = request.headers.get("if-range") in {
            *(self.headers.get("etag"), self.headers.get("last_modified"))
        }
        if asked and self.ranges and same:
            start = int(asked[1])
            of = f"bytes {start}-{len(self.data) - 1}/{len(self.data)}"
            headers = self.headers | {"content_range": of}
            answer = http(self.data[start:], "206 Partial Content", **headers)
        else:
            answer = http(self.data, **self.headers)
        self.statuses.append(int(answer[9:12]))
        if self.cuts:
            sock.sendall(answer[: (answer.index(b"\r\n\r\n") + 4) + self.cuts.pop(0)])
            time.sleep(0.05)  # let it be read: a reset discards what has not been
            reset(sock)
            return False
        sock.sendall(answer)
        return None


def names(directory):
    return {path.name for path in directory.iterdir()} - {"pace"}


def fetched(client, directory, *answers):
    with serving(*answers) as server, at_most(20):
        client.fetch_file(server.url, directory / "a", MAX_BYTES)
    assert names(directory) == {"a"}
    return (directory / "a").read_bytes()


def test_a_file_arrives_whole_and_alone(client, tmp_path):
    told = []
    with serving(FileServer()) as server:
        client.fetch_file(f"{server.url}/a.bz2", tmp_path / "a.bz2", MAX_BYTES, told.append)
    assert (tmp_path / "a.bz2").read_bytes() == DATA
    assert names(tmp_path) == {"a.bz2"}
    assert told == sorted(told)
    assert told[-1] == len(DATA)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [0, 1])
def test_small_files_arrive_too(client, tmp_path, size):
    assert fetched(client, tmp_path, FileServer(data=b"x" * size)) == b"x" * size


def test_chunks_are_a_whole_when_the_last_one_has_come(client, tmp_path):
    answer = chunked(DATA[:1000], DATA[1000:2000])
    with serving(send_and_reset(answer[:-700]), answer) as server:
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert (tmp_path / "a").read_bytes() == DATA[:2000]
    assert names(tmp_path) == {"a"}


@pytest.mark.parametrize(
    ("headers", "next_status"),
    [
        *(({"etag": TAG}, 206), ({"last_modified": DATE}, 206)),
        ({"etag": f"W/{TAG}", "last_modified": DATE}, 206),
        *(({"etag": f"W/{TAG}"}, 200), ({"x_nothing": "at all"}, 200)),
    ],
)
def test_a_cut_download_continues_if_there_is_a_validator(client, tmp_path, headers, next_status):
    files = FileServer(400_000, 300_000, **headers)
    assert fetched(client, tmp_path, files) == DATA
    assert files.statuses == [200, next_status, next_status]
    assert next_status == 200 or client.n_bytes < 1.2 * len(DATA)


def test_a_server_that_ignores_ranges(client, tmp_path):
    with serving(FileServer(400_000, ranges=False)) as server:
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert (tmp_path / "a").read_bytes() == DATA
    assert "range" in server.requests[1].headers


def test_a_file_that_changed_meanwhile(client, tmp_path):
    before, after = FileServer(400_000), FileServer(data=OTHER, etag='"v2"')
    assert fetched(client, tmp_path, before, after) == OTHER


def part(body, content_range, etag=TAG):
    return http(body, "206 Partial Content", content_range=content_range, etag=etag)


@pytest.mark.parametrize(
    "answer",
    [
        part(DATA[400_001:], "bytes 400001-999999/1000000"),
        part(DATA, "bytes 0-999999/1000000"),
        part(DATA[400_000:], "bytes 400000-999999/1000001"),
        part(DATA[400_000:], "bytes 400000-999999/*"),
        part(b"x" * 600_000, "bytes 400000-999999/1000000", etag='"v2"'),
        part(DATA[400_000:], "chapters 1-2/3"),
        part(DATA[400_000:], "bytes -1--1/-1"),
        part(DATA[400_000:], f"bytes {'9' * 5000}-1/1"),
        http(DATA[400_000:], "206 Partial Content"),
        http(b"", "416 Range Not Satisfiable", content_range="bytes */5"),
        http(b"", "204 No Content"),
        part(DATA[400_000:] + b"more than the file has", "bytes 400000-999999/1000000"),
        part(DATA[400_000:900_000], "bytes 400000-899999/1000000"),
    ],
)
def test_parts_that_do_not_fit_are_not_put_together(client, tmp_path, answer):
    last = FileServer()
    assert fetched(client, tmp_path, FileServer(400_000), answer, last) == DATA
    assert last.statuses == [206 if b"899999" in answer else 200]  # the former bytes are deleted


@pytest.mark.parametrize(
    "origin",
    [
        *(b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe"),
        b'{"url": 1, "validator": 2, "size": "x"}',
        b'{"url": "URL", "validator": "\\"v1\\"", "size": "many"}',
        b'{"url": "URL", "validator": null, "size": 1000000}',
        b'{"url": "URL", "validator": "\\"v1\\"", "size": -1}',
        b'{"url": "URL", "validator": "\\"v1\\"", "size": 10}',
        b'{"url": "URL", "validator": "a\\r\\nX-Evil: 1", "size": 1000000}',
    ],
)
def test_damaged_notes_are_ignored(client, tmp_path, origin):
    (tmp_path / "a.partial").write_bytes(b"wrong" * 100)
    with serving(FileServer()) as server, at_most(10):
        (tmp_path / "a.partial.json").write_bytes(origin.replace(b"URL", server.url.encode()))
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert (tmp_path / "a").read_bytes() == DATA
    assert not any("x-evil" in request.headers for request in server.requests)


def test_the_beginning_of_another_address_is_not_used(client, tmp_path):
    gone = http(b"", "404 Not Found")
    with serving(FileServer(400_000), gone) as server, pytest.raises(RefusedError):
        client.fetch_file(f"{server.url}/one", tmp_path / "a", MAX_BYTES)
    assert names(tmp_path) == {"a.partial", "a.partial.json"}
    with serving(FileServer()) as server:
        client.fetch_file(f"{server.url}/two", tmp_path / "a", MAX_BYTES)
    assert "range" not in server.requests[0].headers
    assert (tmp_path / "a").read_bytes() == DATA


@pytest.mark.parametrize(
    "answer",
    [
        *(http(content_length=str(10**15)), http(content_length="9" * 30), http(b"x" * 10_001)),
        *(chunked(*[b"x" * 1000] * 11), b"HTTP/1.0 200 OK\r\n\r\nno length at all"),
        *(http(content_length="-1"), http(b"x", content_encoding="gzip")),
        http(b"x", content_encoding="br"),
    ],
)
def test_files_too_large_or_of_unknown_size_are_refused(client, tmp_path, answer):
    with serving(answer) as server, at_most(5), pytest.raises(UnusableAnswerError):
        client.fetch_file(f"{server.url}/a", tmp_path / "a", 10_000)
    assert not (tmp_path / "a").exists()
    assert sum((tmp_path / name).stat().st_size for name in names(tmp_path)) < 1000


def test_a_packed_file_stays_packed(client, tmp_path):
    with serving(http(b"packed", content_encoding="gzip")) as server:
        client.fetch_file(f"{server.url}/a.json.gz?x", tmp_path / "a", MAX_BYTES)
    assert (tmp_path / "a").read_bytes() == b"packed"


def test_a_missing_file_leaves_nothing(client, tmp_path):
    with serving(http(b"", "404 Not Found")) as server, pytest.raises(RefusedError):
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert names(tmp_path) == set()


def test_the_former_file_stays_until_the_new_one_is_whole(tmp_path):
    client = new_client(tmp_path, patience=0.2)
    (tmp_path / "a").write_bytes(b"former")
    with serving(FileServer(*[1000] * 1000)) as server, at_most(20), pytest.raises(TryLaterError):
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert (tmp_path / "a").read_bytes() == b"former"


def test_progress_is_success_but_beginning_anew_is_not(tmp_path):
    client = new_client(tmp_path, patience=0.2)
    versions = [FileServer(400_000, etag=f'"{i}"', ranges=False) for i in range(1000)]
    with serving(*versions) as server, at_most(20), pytest.raises(TryLaterError):
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)


def test_a_slow_file_may_take_longer_than_a_deadline(tmp_path, monkeypatch):
    client, now = new_client(tmp_path, deadline=0.5), 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("downloader.bounded_connection.time", clock)
    monkeypatch.setattr("downloader.rate_limit.SLOW_ANSWER", 0.6)

    def answer(request, sock):
        nonlocal now
        data = http(DATA, etag=TAG)
        for i in range(0, len(data), 50_000):
            sock.sendall(data[i : i + 50_000])
            while client.n_bytes < min(i + 50_000, len(data)):
                time.sleep(0.001)
            time.sleep(0.05)
            now += 0.05

    with serving(answer) as server:
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES)
    assert ((tmp_path / "a").read_bytes(), len(server.requests)) == (DATA, 1)
    assert now > 0.9  # almost twice the deadline
    assert client.limiter.paused_until == 0


@pytest.mark.parametrize("at_first", [True, False])
def test_the_disk_is_not_filled(client, tmp_path, monkeypatch, at_first):
    class Usage(NamedTuple):
        free: int

    calls = []

    def disk_usage(path):
        calls.append(path)
        return Usage(2**30 + (0 if at_first or len(calls) > 1 else MAX_BYTES * 4) - 1)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    full = pytest.raises(OSError, match="free")
    with serving(FileServer(data=DATA * 40)) as server, at_most(10), full as caught:
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES * 4)
    assert (caught.value.errno, len(server.requests)) == (errno.ENOSPC, 1)
    with client.limiter.request():  # nothing is left in flight
        pass
    monkeypatch.undo()
    with serving(FileServer(data=DATA * 40)) as server:
        client.fetch_file(server.url, tmp_path / "a", MAX_BYTES * 4)
    assert (tmp_path / "a").stat().st_size == 40 * len(DATA)


def test_kills_do_not_start_it_over(tmp_path):
    sent = 0

    def answer(request, sock):
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        of = f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"
        status = "206 Partial Content" if start else "200 OK"
        data = http(DATA[start:], status, etag=TAG, content_range=of)
        nonlocal sent
        for i in range(0, len(data), 10_000):
            sock.sendall(data[i : i + 10_000])
            sent += 10_000
            if not start:
                time.sleep(0.01)

    partial = tmp_path / "a.partial"
    with serving(answer) as server:
        command = [sys.executable, "-c", FETCH, str(tmp_path), f"{server.url}/a"]
        for goal in (300_000, None):
            process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
            end = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < end:
                if goal and partial.exists() and partial.stat().st_size >= goal:
                    process.kill()
                time.sleep(0.01)
            process.kill()
            assert process.wait(120) == (-9 if goal else 0)
    assert (tmp_path / "a").read_bytes() == DATA
    assert names(tmp_path) == {"a"}
    assert [("range" in request.headers) for request in server.requests] == [False, True]


def test_an_error_of_the_progress_gives_a_download_up_before_its_request(client, tmp_path):
    def give_up(n_bytes):
        raise KeyError(n_bytes)

    (tmp_path / "a.partial").write_bytes(b"123")
    with pytest.raises(KeyError, match="3"):
        client.fetch_file("http://127.0.0.1:9/a", tmp_path / "a", MAX_BYTES, give_up)
    assert client.n_requests == 0
