import gzip
import logging
import time

import pytest

from downloader.errors import TryLaterError, UnusableAnswerError
from downloader.http_client import BadAnswer, user_agent
from tests.downloader.hostile_server import GOOD, at_most, chunked, cut, http, serving
from tests.downloader.impatient_client import PATIENT, UNHURRIED, body, new_client

CLIENT = PATIENT
HTML = http(b"<html>hello</html>", content_type="text/html")


def test_a_json_object_arrives(client):
    with serving(GOOD) as server:
        assert client.get_json(f"{server.url}/api.php?x=1", {"q": "ä b&c"}) == {"a": [1, 2]}
        assert client.get(f"{server.url}/api.php", None, body) == b'{"a": [1, 2]}'
    request = server.requests[0]
    assert request.target == "/api.php?x=1&q=%C3%A4+b%26c"
    assert request.headers["user-agent"] == user_agent("ada@lovelace.org.uk")
    assert request.headers["accept-encoding"] == "gzip"
    assert (client.n_requests, client.n_retries, client.last_error) == (2, 0, "")
    assert server.n_connections == 1  # kept open
    assert client.n_bytes == 2 * len(GOOD)


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"hello"),
        gzip.compress(b"hel") + gzip.compress(b"") + gzip.compress(b"lo"),
        gzip.compress(b"hello") + b"\0" * 70_000,
    ],
    ids=["one member", "three members", "zeros at the end"],
)
def test_gzip_is_undone(client, packed):
    with serving(http(packed, content_encoding="gzip")) as server:
        assert client.get(server.url, None, body) == b"hello"


def test_what_packs_well_is_not_taken_for_cut_short(client):
    for n_bytes in (2**16 - 1, 2**16, 2**16 + 1, 10**6, 2**20, 5 * 2**20 + 7):
        with serving(http(gzip.compress(b"x" * n_bytes), content_encoding="gzip")) as server:
            assert len(client.get(server.url, None, body)) == n_bytes


def test_bodies_in_chunks_and_until_the_connection_ends(client):
    with serving(chunked(b"hel", b"lo", trailer=b"X-Sum: 1\r\n")) as server:
        for _ in range(3):
            assert client.get(server.url, None, body) == b"hello"
    assert server.n_connections == 1

    def answer(request, sock):
        sock.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello")
        return False

    with serving(answer) as server:
        assert client.get(server.url, None, body) == b"hello"


def test_no_content_is_an_answer_but_no_json(tmp_path):
    client = new_client(tmp_path, **UNHURRIED)
    with serving(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        assert client.get(server.url, None, lambda answer: (answer.status, answer.body)) == (
            *(204, b""),
        )
        with pytest.raises(UnusableAnswerError, match="empty"):
            client.get_json(server.url)


def test_a_byte_order_mark_is_passed_over(client):
    with serving(http(b'\xef\xbb\xbf{"a": 1}')) as server:
        assert client.get_json(server.url) == {"a": 1}


def test_nobody_listens(tmp_path):
    client = new_client(tmp_path)
    with serving(GOOD) as server:
        pass
    start = time.time()
    with at_most(10), pytest.raises(TryLaterError, match=r"refused.*try again after") as caught:
        client.get_json(server.url)
    assert caught.value.retry_at is not None
    assert start <= caught.value.retry_at < start + 10


def test_a_name_that_leads_nowhere(tmp_path):
    client = new_client(tmp_path)
    with at_most(60), pytest.raises(TryLaterError):
        client.get_json("http://wiki.invalid/api.php")


def test_a_check_may_ask_for_another_answer(client):
    seen = []

    def check(answer):
        seen.append(answer)
        if len(seen) < 3:
            raise BadAnswer("lagged: 5 s", retry_after=0.05)
        return len(seen)

    with serving(GOOD) as server:
        assert client.get(server.url, None, check) == 3
    gaps = [
        b.arrived - a.arrived for a, b in zip(server.requests, server.requests[1:], strict=False)
    ]
    assert min(gaps) >= 0.05
    assert (client.n_retries, client.last_error) == (2, "lagged: 5 s")


def test_a_wait_in_the_header_of_a_success_is_obeyed(client):
    def check(answer):
        if b"error" in answer.body:
            raise BadAnswer("maxlag")

    with serving(http(b'{"error": 1}', retry_after="1"), GOOD) as server:
        client.get(server.url, None, check)
    first, second = server.requests
    assert second.arrived - first.arrived >= 1


@pytest.mark.parametrize("wait", [float("nan"), float("-inf"), -1.0])
def test_a_check_may_ask_for_nonsense(client, wait):
    def check(answer):
        if client.n_retries < 1:
            raise BadAnswer("odd", retry_after=wait)

    with serving(GOOD) as server, at_most(5):
        client.get(server.url, None, check)


def test_an_error_of_a_check_is_not_ours_to_mend(client):
    def check(answer):
        raise ZeroDivisionError

    with serving(GOOD) as server:
        with pytest.raises(ZeroDivisionError):
            client.get(server.url, None, check)
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert len(server.requests) == 2


def test_a_wrong_address_is_noticed_before_patience_ends(tmp_path):
    client = new_client(tmp_path, **(PATIENT | {"patience": 1e6}))
    with (
        serving(HTML) as server,
        at_most(10),
        pytest.raises(UnusableAnswerError, match=r"text/html instead.*check the address"),
    ):
        client.get_json(server.url)
    assert 3 <= len(server.requests) <= 20


def test_what_once_worked_gets_all_our_patience(tmp_path):
    client, faults = new_client(tmp_path, **(PATIENT | {"patience": 1e6})), [HTML] * 9
    with serving(GOOD, *faults, GOOD) as server, at_most(20):
        for _ in range(2):
            client.get_json(server.url)
    assert client.n_retries == 9


def test_trouble_is_told_and_logged_once_for_each_kind(client, caplog):
    told = []
    client.on_trouble = lambda reason, wait: told.append((reason, wait))
    fault = http(b"busy\x1b[31m\nmore", "503 Unavailable")
    caplog.set_level(logging.DEBUG)
    with serving(fault, fault, cut(b""), fault, GOOD) as server:
        client.get_json(server.url)
    assert [reason for reason, _ in told].count("HTTP 503: busy [31m") == 3
    assert all(0 <= wait <= 0.05 for _, wait in told)
    levels = [record.levelname for record in caplog.records if record.name.startswith("downloader")]
    assert (levels.count("WARNING"), len(levels)) == (2, 4)
    assert not [r for r in caplog.records if r.name.startswith("urllib3") and r.levelno >= 30]


def test_a_connection_in_doubt_is_not_used_again(client):
    def answer(request, sock):
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"a":')
        time.sleep(0.15)
        sock.sendall(http(b'{"stale": 1}'))

    with serving(answer, GOOD) as server:
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert server.n_connections == 2
