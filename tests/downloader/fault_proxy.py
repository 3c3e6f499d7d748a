"""Proxy before a wiki that serves faults, and records every request."""

import http.client
import json
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import cast
from urllib.parse import parse_qs, urlsplit

FAULTS = (
    *("429", "429 with Retry-After", "503 with Retry-After", "maxlag", "ratelimited", "HTML"),
    *("truncated JSON", "truncated gzip", "reset before", "reset inside", "stall"),
    *("length too long", "length too short", "latency", "redirect", "500"),
)
MAXLAG = {
    "error": {
        "code": "maxlag",
        "info": "Waiting for a database server: 7 seconds lagged.",
        "lag": 7,
    }
}
RATELIMITED = {"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}
REDIRECTED = "&was_redirected=1"


@dataclass(frozen=True)
class Settings:
    rate: float = 0.0
    faults: Sequence[str] = FAULTS
    seed: int = 0
    retry_after: int = 1
    stall: float = 3.0
    """Seconds of silence inside a body; the client is expected to go before."""
    latency: float = 1.0
    """Seconds before an answer that is late."""


@dataclass(frozen=True)
class Request:
    arrived: float
    ended: float
    """Just before the last bytes went out, or when the client was gone."""
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    fault: str
    retry_after: int | None
    n_bytes: int = 0


class FaultProxy:
    """Proxy in a thread before the wiki at `upstream`; its `settings` may be exchanged."""

    def __init__(self, upstream, settings=None):
        self.upstream = urlsplit(upstream)
        self.settings = settings or Settings()
        self._requests: list[Request] = []
        self._n_open = 0
        self.next_faults: list[str] = []
        """Served first, one a request; "" is none."""
        self._random = random.Random(self.settings.seed)
        self._lock = threading.Condition()
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.proxy = self
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.05,), daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.upstream.path}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, error, traceback):
        self._server.shutdown()
        self._server.server_close()

    def next_fault(self):
        with self._lock:
            if self.next_faults:
                return self.next_faults.pop(0)
            if self._random.random() >= self.settings.rate:
                return ""
            return self._random.choice(self.settings.faults)

    @property
    def requests(self):
        with self._lock:
            assert self._lock.wait_for(lambda: self._n_open == 0, 30)
            return sorted(self._requests, key=lambda one: one.arrived)

    def note_arrival(self):
        with self._lock:
            self._n_open += 1

    def write_down(self, request):
        with self._lock:
            self._requests.append(request)
            self._n_open -= 1
            self._lock.notify_all()

    def ask_upstream(self, path, headers):
        connection = http.client.HTTPConnection(self.upstream.netloc, timeout=120)
        try:
            names = ("User-Agent", "Accept-Encoding")
            passed = {name: headers[name] for name in names if name in headers}
            connection.request("GET", path.replace(REDIRECTED, ""), headers=passed)
            answer = connection.getresponse()
            body = answer.read()
            kept = ("content-type", "content-encoding", "retry-after", "mediawiki-api-error")
            return answer.status, {k: v for k, v in answer.getheaders() if k.lower() in kept}, body
        finally:
            connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: FaultProxy

    def handle_error(self, request, client_address):
        """Say nothing of clients that are gone; tests kill them."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, format, *args):  # noqa: A002
        """Nothing on stderr."""

    def do_GET(self):
        arrived = time.monotonic()
        self.ended, self.n_bytes = 0.0, 0
        proxy = cast("Server", self.server).proxy
        proxy.note_arrival()
        fault = proxy.next_fault()
        promise = proxy.settings.retry_after if "Retry" in fault or fault == "maxlag" else None
        try:
            self.serve(fault, proxy, promise)
        finally:
            parts = urlsplit(self.path)
            proxy.write_down(
                Request(
                    arrived=arrived,
                    ended=self.ended or time.monotonic(),
                    path=parts.path,
                    params={name: values[-1] for name, values in parse_qs(parts.query).items()},
                    headers=dict(self.headers.items()),
                    fault=fault,
                    retry_after=promise,
                    n_bytes=self.n_bytes,
                )
            )

    def serve(self, fault, proxy, promise):
        waits = {} if promise is None else {"Retry-After": str(promise)}
        kind = {"Content-Type": "application/json; charset=utf-8"}
        if fault[:3] in ("429", "503", "500"):
            self.reply(int(fault[:3]), {**waits, "Content-Type": "text/plain"}, b"Too much\n")
        elif fault == "maxlag":
            self.reply(200, {**waits, **kind, "X-Database-Lag": "7"}, json.dumps(MAXLAG).encode())
        elif fault == "ratelimited":
            self.reply(200, kind, json.dumps(RATELIMITED).encode())
        elif fault == "HTML":
            self.reply(200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><p>We are busy")
        elif fault == "redirect":
            self.reply(302, {"Location": self.path + REDIRECTED}, b"")
        elif fault == "reset before":
            self.reset()
        elif fault == "latency" and self.wait_while_connected(proxy.settings.latency):
            self.close_connection = True
        else:
            wants_gzip = "truncated JSON" not in fault
            headers = dict(self.headers.items()) if wants_gzip else {"Accept-Encoding": "identity"}
            self.spoil(fault, proxy, *proxy.ask_upstream(self.path, headers))

    def spoil(self, fault, proxy, status, headers, body):
        half = len(body) // 2
        if fault in ("truncated JSON", "truncated gzip"):
            self.reply(status, headers, body[:half])
        elif fault == "length too short":
            self.reply(status, headers, body, length=half)  # the rest looks like the next answer
        elif fault == "length too long":
            self.reply(status, headers, body, length=len(body) + 10)
            self.close_connection = True
        elif fault in ("stall", "reset inside"):
            self.reply(status, headers, body[:half], length=len(body))
            if fault == "stall":
                self.wait_while_connected(proxy.settings.stall)
                self.ended = time.monotonic()
            self.reset()
        else:
            self.reply(status, headers, body)

    def reply(self, status, headers, body, length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        buffered = cast("list[bytes]", self.__dict__["_headers_buffer"])
        buffered += [b"\r\n", body]
        self.ended = time.monotonic()
        self.n_bytes += len(body)
        self.flush_headers()

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.ended = self.ended or time.monotonic()
        self.close_connection = True
        self.connection.close()

    def wait_while_connected(self, seconds):
        return bool(select.select([self.connection], [], [], seconds)[0])


def check_manners(requests, *, per_second, per_minute, contact="", one_in_flight=True):
    requests = sorted(requests, key=lambda one: one.arrived)
    arrivals = [one.arrived for one in requests]
    assert most_within(arrivals, 1.0) <= per_second
    assert most_within(arrivals, 60.0) <= per_minute
    for before, after in pairwise(requests):
        if one_in_flight:
            assert after.arrived >= before.ended, (before, after)
        if before.retry_after is not None:
            assert after.arrived >= before.ended + before.retry_after, (before, after)
    for one in requests:
        assert contact in one.headers["User-Agent"]
        assert "gzip" in one.headers["Accept-Encoding"]
        assert one.params["maxlag"] == "5"


def most_within(times, seconds):
    """The most of some ascending times that any window of this length holds."""
    most = first = 0
    for last, moment in enumerate(times):
        while moment - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most
