"""Connections with limits of seconds and bytes for each answer.

The limits apply between the HTTP parser and the socket, where every byte of an answer passes:
status line, interim answers, headers, chunk sizes, trailers, body, and the answers of a proxy. So
no framing of an answer avoids them. No thread watches the clock: the remaining time is the timeout
of every single receive.
"""

from __future__ import annotations

import http.client
import io
import time
from typing import TYPE_CHECKING, Any, cast

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer
    from urllib3 import PoolManager, ProxyManager


class DeadlineError(TimeoutError):
    """An answer exceeded its deadline."""


class EndlessAnswerError(OSError):
    """An answer exceeded its maximal number of bytes."""


class Limits:
    """Remaining time and bytes of the answer that is being received."""

    def __init__(self, read_timeout: float) -> None:
        self.read_timeout = read_timeout  # Maximal seconds between two bytes
        self.n_bytes = 0  # Bytes of all answers so far
        self.too_large = False  # Whether the answer exceeded its maximal number of bytes
        self._ends = 0.0
        self._bytes_left = 0

    def start(self, seconds: float, n_bytes: int) -> None:
        """Set the seconds from now and the bytes of the next answer."""
        self.too_large = False
        self._bytes_left = n_bytes
        self.prolong(seconds)

    def prolong(self, seconds: float) -> None:
        """Set the remaining seconds of the answer."""
        self._ends = time.monotonic() + seconds

    @property
    def too_late(self) -> bool:
        """Whether the deadline of the answer has passed."""
        return time.monotonic() >= self._ends - 0.001

    def timeout(self) -> float:
        """Return the timeout of the next receive."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise DeadlineError("the answer took too long")
        return min(left, self.read_timeout)

    def received(self, n_bytes: int) -> None:
        """Count received bytes."""
        self.n_bytes += n_bytes
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            self.too_large = True
            raise EndlessAnswerError("the answer is larger than it may be")


class _BoundedStream(io.RawIOBase):
    """Received bytes of a socket, within limits."""

    def __init__(self, stream: io.RawIOBase, sock: socket.socket, limits: Limits) -> None:
        self._stream = stream
        self._sock = sock
        self._limits = limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._sock.settimeout(self._limits.timeout())
        n_bytes = cast("int | None", self._stream.readinto(buffer))
        self._limits.received(n_bytes or 0)
        return n_bytes

    def close(self) -> None:
        self._stream.close()
        super().close()


def _bounded_response(limits: Limits) -> type[http.client.HTTPResponse]:
    class BoundedResponse(http.client.HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **settings: Any) -> None:
            super().__init__(sock, *args, **settings)
            stream = _BoundedStream(self.fp.detach(), sock, limits)
            self.fp = io.BufferedReader(stream, 2**16)

    return BoundedResponse


class BoundedAdapter(HTTPAdapter):
    """Adapter of a `requests.Session` whose answers have limits."""

    def __init__(self, limits: Limits) -> None:
        response = _bounded_response(limits)

        class BoundedHTTPConnection(HTTPConnection):
            response_class = response

        class BoundedHTTPSConnection(HTTPSConnection):
            response_class = response

        class BoundedHTTPPool(HTTPConnectionPool):
            ConnectionCls = BoundedHTTPConnection

        class BoundedHTTPSPool(HTTPSConnectionPool):
            ConnectionCls = BoundedHTTPSConnection

        self._pools = {"http": BoundedHTTPPool, "https": BoundedHTTPSPool}
        super().__init__(pool_connections=4, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **settings: Any) -> None:
        """Use pools with limits for direct connections."""
        super().init_poolmanager(*args, **settings)
        manager = cast("PoolManager", self.poolmanager)
        manager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **settings: Any) -> ProxyManager:
        """Use pools with limits for connections through a proxy."""
        manager = cast("ProxyManager", super().proxy_manager_for(proxy, **settings))
        manager.pool_classes_by_scheme = self._pools
        return manager
