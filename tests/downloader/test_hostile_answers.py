"""Whatever a server does: bounded time, bounded memory, a named error or a retry that recovers."""

import gzip
import tracemalloc

import pytest

from downloader.errors import TryLaterError, UnusableAnswerError
from tests.downloader.hostile_server import (
    GOOD,
    at_most,
    chunked,
    cut,
    dripping,
    flood,
    http,
    send_and_reset,
    serving,
    stall,
)
from tests.downloader.impatient_client import FAULTY, body, new_client

CLIENT = FAULTY
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PASSING = {
    "408": http(b"late", "408 Request Timeout"),
    "425": http(b"", "425 Too Early"),
    "429": http(b"slow down", "429 Too Many Requests"),
    "500": http(b"<html><title>Oops</title>", "500 Internal Server Error"),
    "503 packed": http(gzip.compress(b"x"), "503 Unavailable", content_encoding="gzip"),
    "503 badly packed": http(b"xxxx", "503 Unavailable", content_encoding="gzip"),
    "503 endless": lambda _, sock: flood(sock, b"HTTP/1.1 503 No\r\n\r\n" + b"x" * 2**16),
    "999": http(b"", "999 What"),
    "nothing": cut(b""),
    "reset": send_and_reset(b""),
    "reset in the head": send_and_reset(HEAD),
    "reset in the body": send_and_reset(HEAD + b'Content-Length: 100\r\n\r\n{"a": '),
    "cut in the head": cut(HEAD + b"Content-Le"),
    "cut in the body": cut(HEAD + b'Content-Length: 14\r\n\r\n{"a": [1, 2'),
    "cut in a chunk": cut(HEAD + b'Transfer-Encoding: chunked\r\n\r\nff\r\n{"a": 1}'),
    "cut between chunks": cut(HEAD + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"a": 1}\r\n'),
    "bad chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nhuge\r\n{}\r\n0\r\n\r\n",
    "endless chunk size": cut(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 200_000),
    "never answers": stall(b""),
    "stalls in the head": stall(HEAD),
    "stalls in the body": stall(HEAD + b'Content-Length: 100\r\n\r\n{"a": '),
    "drips the head": dripping(b"HTTP/1.1 200 OK\r\n", b"X-Slow: " + b"x" * 1000),
    "drips the body": dripping(HEAD + b"Content-Length: 1000\r\n\r\n", b" " * 1000),
    "drips chunks": dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 300),
    "drips trailers": dripping(
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-T: 1\r\n" * 200
    ),
    "drips interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    "early hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" + GOOD,
    "too long": HEAD + b'Content-Length: 5\r\n\r\n{"a": [1, 2]}',
    "cut by a wrong length": HEAD + b'Content-Length: 7\r\n\r\n{"a": 1}',
    "negative length": cut(HEAD + b'Content-Length: -5\r\n\r\n{"a": '),
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "no http": cut(b"220 ftp ready\r\n"),
    "http 0.9": cut(b"<html>hello</html>"),
    "no status": cut(b"HTTP/1.1 twenty OK\r\n\r\n"),
    "many headers": HEAD + b"A: b\r\n" * 150 + b"Content-Length: 2\r\n\r\n{}",
    "a long header": HEAD + b"A: " + b"x" * 70_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "brotli": http(b"{}", content_encoding="br"),
    "packed twice": http(gzip.compress(gzip.compress(b"{}")), content_encoding="gzip, gzip"),
    "unknown packing": http(b"{}", content_encoding="\x7fevil"),
    "packed twice, named once": http(gzip.compress(gzip.compress(b"{}")), content_encoding="gzip"),
    "cut gzip": http(gzip.compress(b'{"a": 1}' * 99)[:-9], content_encoding="gzip"),
    "no gzip": http(b'{"a": 1}', content_encoding="gzip"),
    "gzip with a wrong sum": http(gzip.compress(b"{}")[:-8] + b"\1" * 8, content_encoding="gzip"),
    "gzip and garbage": http(gzip.compress(b"{}") + b"garbage", content_encoding="gzip"),
    "partial": http(b"{}", "206 Partial Content"),
    "not modified": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "multiple choices": http(b"{}", "300 Multiple Choices"),
    "a redirect to nowhere": http(b"", "302 Found"),
    "a redirect to no address": http(b"", "302 Found", location="http://[1:2/"),
    "html": http(b"<html>hello</html>", content_type="text/html"),
    "cut json": http(b'{"a": [1, 2', content_type="application/json"),
    "two objects": http(b"{} {}"),
    "a list": http(b"[1, 2]"),
    "a number": http(b"1"),
    "deep json": http(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "deep lists": http(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a huge integer": http(b'{"a": ' + b"9" * 100_000 + b"}"),
    "a huge number": http(b'{"a": 1e999}'),
    "not a number": http(b'{"a": NaN}'),
    "infinity": http(b'{"a": -Infinity}'),
    "no utf-8": http(b'{"a": "\xff\xfe"}'),
    "utf-16": http('{"a": 1}'.encode("utf-16")),
    "surrogates": http(b'{"a": "\xed\xa0\x80"}'),
    "many items": http(b'{"a": [' + b"[]," * 2_100_000 + b"[]]}"),
    "blank": http(b" \n "),
    "zeros": http(b"\0" * 1000),
}
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_fault_that_passes_is_got_over(client, fault):
    with serving(fault, GOOD) as server, at_most(10):
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert 1 <= client.n_retries <= 3  # one, unless the machine is too busy for the short deadline
    assert client.last_error.isprintable()
    assert 0 < len(client.last_error) < 400
    assert len(server.requests) == client.n_requests == client.n_retries + 1


@pytest.mark.parametrize("fault", ["nothing", "503 badly packed", "drips interim answers", "html"])
def test_a_fault_that_stays_ends_in_a_named_error(tmp_path, fault):
    client = new_client(tmp_path, patience=0.3, deadline=0.2)
    named = pytest.raises((TryLaterError, UnusableAnswerError))
    with serving(PASSING[fault]) as server, at_most(10), named as caught:
        client.get_json(server.url)
    assert client.n_retries >= 1
    assert str(caught.value).isprintable()


def flooding(head, data):
    def answer(request, sock):
        sock.sendall(head)
        flood(sock, data)
        return False

    return answer


BOMBS = {
    "announced": http(content_length=str(10**15)),
    "beyond measure": http(content_length="9" * 40),
    "until the end": flooding(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 2**16),
    "chunks": flooding(CHUNKED, b"10000\r\n" + b"x" * 2**16 + b"\r\n"),
    "small chunks": flooding(CHUNKED, (b"32\r\n" + b"x" * 50 + b"\r\n") * 1000),
    "a huge chunk": flooding(CHUNKED + b"f" * 12 + b"\r\n", b"x" * 2**16),
    "a negative chunk": flooding(CHUNKED + b"-1\r\n", b"x" * 2**16),
    "interim answers": flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "trailers": flooding(CHUNKED + b"0\r\n", b"X-T: 1\r\n" * 1000),
    "gzip": http(gzip.compress(b"\0" * 2**26, 9), content_encoding="gzip"),
    "gzip members": http(gzip.compress(b"\0" * 2**19, 9) * 100, content_encoding="gzip"),
    "chunked gzip": chunked(gzip.compress(b"\0" * 2**26, 9), Content_Encoding="gzip"),
}


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused_at_once(tmp_path, traced, bomb):
    client = new_client(tmp_path, max_bytes=2**18, deadline=20)
    with serving(bomb) as server, at_most(15), pytest.raises(UnusableAnswerError):
        client.get(server.url, None, body)
    _, peak = tracemalloc.get_traced_memory()
    assert len(server.requests) == 1
    assert peak < 2**22  # of 2**18 that may come and 2**26 that would


def test_the_cap_is_exact(tmp_path):
    client = new_client(tmp_path, max_bytes=1000)
    for packed in (False, True):
        for n_bytes in (1000, 1001):
            data = gzip.compress(b"x" * n_bytes) if packed else b"x" * n_bytes
            with serving(http(data, **{"content_encoding": "gzip"} if packed else {})) as server:
                if n_bytes > 1000:
                    with pytest.raises(UnusableAnswerError, match="1000"):
                        client.get(server.url, None, body)
                else:
                    assert len(client.get(server.url, None, body)) == n_bytes
