from functools import partial

import pytest

from downloader.errors import RefusedError, UnusableAnswerError
from tests.downloader.hostile_server import GOOD, at_most, flood, http, serving
from tests.downloader.impatient_client import UNHURRIED, new_client

CLIENT = UNHURRIED


@pytest.mark.parametrize(
    "status", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone"]
)
def test_a_refusal_is_final_and_quoted(client, status):
    page = b"<!DOCTYPE html>\n<html><head><title>No\nhere</title></head><body>more"
    with serving(http(page, status), http(b"\n plain\x07 words \nmore", status)) as server:
        with pytest.raises(RefusedError, match=f"HTTP {status[:3]}: No$") as caught:
            client.get_json(server.url)
        assert caught.value.status == int(status[:3])
        with pytest.raises(RefusedError, match=r"plain words$"):
            client.get_json(server.url)
    assert len(server.requests) == 2


def test_wikimedia_refusing_is_a_matter_of_contact(client, monkeypatch):
    with serving(http(b"Please set a user-agent", "403 Forbidden")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        with pytest.raises(RefusedError, match=r"Please set a user-agent.*--contact"):
            client.get_json("http://en.wikipedia.org/w/api.php")


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://a.net/", "api.php", "", "javascript:alert(1)"),
        *("http://", "http://[1:2/", "http://a.net:port/", "http://ada:secret@a.net/"),
    ],
)
def test_not_everything_can_be_asked_for(client, url):
    with at_most(5), pytest.raises(RefusedError) as caught:
        client.get_json(url)
    assert "secret" not in str(caught.value)


def elsewhere(location, status="301 Moved"):
    return http(b"x" * 100, status, location=location)


@pytest.mark.parametrize(
    "place", ["/w/api.php", "w/api.php", "?x=1", "//127.0.0.1:{port}/x", "{url}/x#y"]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_on_the_same_server_are_followed(client, place, status):
    with serving(GOOD) as server:
        location = place.format(port=server.port, url=server.url)
        server.answers = (elsewhere(location, f"{status} Moved"), GOOD)
        assert client.get_json(f"{server.url}/api.php", {"a": "b"}) == {"a": [1, 2]}
    assert client.n_requests == 2
    assert "#" not in server.requests[1].target


@pytest.mark.parametrize(
    "place",
    [
        *("http://127.0.0.2:{port}/", "http://127.0.0.1:1/", "http://localhost:{port}/"),
        *("//evil.invalid/", "https://evil.invalid/", "http://ada:secret@127.0.0.1:{port}/"),
        *("ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/", "javascript:alert(1)"),
        "file:///etc/passwd",
    ],
)
def test_redirects_to_other_places_are_named_and_refused(client, place):
    with serving(GOOD) as server, at_most(5):
        location = place.format(port=server.port)
        server.answers = (elsewhere(location),)
        with pytest.raises(RefusedError, match="moved to") as caught:
            client.get_json(server.url)
    assert location in str(caught.value)
    assert len(server.requests) == 1


def test_a_redirect_loop_ends(client):
    endless = pytest.raises(UnusableAnswerError, match="without end")
    with serving(elsewhere("/again", "302 Found")) as server, at_most(5), endless:
        client.get_json(server.url)
    assert len(server.requests) == 6


def test_the_endless_body_of_a_redirect_is_not_read(tmp_path):
    client = new_client(tmp_path, deadline=20)
    head = b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"
    bomb = partial(lambda _, sock: flood(sock, head + b"x" * 2**20))
    with serving(bomb, GOOD) as server, at_most(10):
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert client.n_bytes < 2**20
