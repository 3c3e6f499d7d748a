"""A server on loopback that sends whatever a test wants it to send, byte by byte."""

import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    arrived: float = field(default_factory=time.monotonic)


def http(body=b"", status="200 OK", **headers):
    lines = {"Content-Length": str(len(body))}
    lines |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def drip(sock, data, pause=0.01):
    for i in range(len(data)):
        sock.sendall(data[i : i + 1])
        time.sleep(pause)


def flood(sock, data, seconds=20.0):
    end = time.monotonic() + seconds
    with suppress(OSError):
        while time.monotonic() < end:
            sock.sendall(data)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class HostileServer:
    """Server of prepared answers: bytes, or calls with request and socket; the last one repeats."""

    def __init__(self, answers, tls=None):
        self.answers = answers
        self._tls = tls
        self._mutex = threading.Lock()
        self.n_connections = 0
        self.requests: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or it goes on in the other thread
        self._listener.close()
        for sock in list(self._open):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        self.n_connections += 1
        self._open.add(sock)
        with suppress(OSError, ValueError):
            sock.settimeout(30)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a body waits 40 ms
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.add(sock)
            stream = sock.makefile("rb")
            while request := self._receive(stream):
                with self._mutex:
                    answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
                    self.requests.append(request)
                if not callable(answer):
                    sock.sendall(answer)
                elif answer(request, sock) is False:
                    break
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    def _receive(self, stream):
        lines = []
        while (line := stream.readline(2**16)) not in {b"\r\n", b"\n", b""}:
            lines.append(line.decode("latin-1").rstrip())
        if not lines:
            return None
        method, target, _ = lines[0].split(" ", 2)
        pairs = (line.split(":", 1) for line in lines[1:])
        return Request(method, target, {k.lower(): v.strip() for k, v in pairs})


@contextmanager
def serving(*answers, tls=None):
    server = HostileServer(answers, tls)
    try:
        yield server
    finally:
        server.close()


GOOD = http(b'{"a": [1, 2]}', content_type="application/json")


@contextmanager
def at_most(seconds):
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def chunked(*chunks, trailer=b"", **headers):
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
    return (
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{lines}\r\n".encode()
        + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (*chunks, b""))[:-2]
        + (trailer + b"\r\n")
    )


def cut(data, then=lambda _: None):
    def answer(request, sock):
        sock.sendall(data)
        then(sock)
        return False

    return answer


def send_and_reset(data):
    return cut(data, reset)


def stall(data):
    return cut(data, lambda _: time.sleep(3))


def dripping(head, tail):
    def answer(request, sock):
        sock.sendall(head)
        with suppress(OSError):
            drip(sock, tail, 0.02)
        return False

    return answer
