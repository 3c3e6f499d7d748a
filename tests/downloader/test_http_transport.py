import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import suppress

import pytest

from downloader.errors import DownloadError, RefusedError, TryLaterError
from tests.downloader.hostile_server import (
    GOOD,
    at_most,
    cut,
    drip,
    dripping,
    flood,
    http,
    send_and_reset,
    serving,
    stall,
)
from tests.downloader.impatient_client import FAULTY, new_client

CLIENT = FAULTY | {"deadline": 0.5, "read_timeout": 0.5}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
FAULTS = {
    "never answers": stall(b""),
    "drips the head": dripping(b"HTTP/1.1 200 OK\r\n", b"X-Slow: " + b"x" * 1000),
    "drips the body": dripping(HEAD, b" " * 100),
    "stalls in the body": stall(HEAD + b"{"),
    "reset in the body": send_and_reset(HEAD + b"{"),
    "cut in the body": cut(HEAD + b"{"),
}


def test_cookies_are_not_kept_and_netrc_is_not_read(client, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ada password secret\ndefault login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(http(b"{}", set_cookie="a=b")) as server:
        for _ in range(2):
            client.get_json(server.url)
    for request in server.requests:
        assert not {"cookie", "authorization"} & request.headers.keys()


def test_a_proxy_of_the_environment_is_used(client, monkeypatch):
    with serving(GOOD) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert client.get_json("http://wiki.invalid/api.php") == {"a": [1, 2]}
    assert proxy.requests[0].target == "http://wiki.invalid/api.php"


def test_a_proxy_that_never_ends_its_answer_is_left(tmp_path, monkeypatch):
    client = new_client(tmp_path, max_bytes=2**16)

    def answer(request, sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\n")
        flood(sock, b"X-Header: " + b"x" * 1000 + b"\r\n")
        return False

    with serving(answer) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with at_most(10), pytest.raises(DownloadError):
            client.get_json("https://wiki.invalid/api.php")
    assert proxy.requests[0].method == "CONNECT"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    path = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    files = ["-keyout", str(path / "key"), "-out", str(path / "cert")]
    names = ["-subj", "/CN=wiki", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *files, *names], check=True, capture_output=True)
    return path


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert", certificate / "key")
    return context


@pytest.fixture
def trusted(certificate, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate / "cert"))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_tls_changes_nothing(client, tls, trusted, fault):
    with serving(fault, GOOD, tls=tls) as server, at_most(10):
        assert client.get_json(server.url) == {"a": [1, 2]}
    assert 1 <= client.n_retries <= 3


def test_a_handshake_that_drips_is_given_up(tmp_path):
    client = new_client(tmp_path, patience=0.3)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                with suppress(OSError):
                    drip(sock, b"\x16\x03\x03\x40\x00\x02" + b"\0" * 1000, 0.02)

    threading.Thread(target=serve, daemon=True).start()
    with at_most(10), pytest.raises(TryLaterError):
        client.get_json(f"https://127.0.0.1:{listener.getsockname()[1]}/")
    listener.close()


def test_a_stranger_is_not_talked_to(tmp_path, tls):
    client = new_client(tmp_path, patience=1e6)
    refused = pytest.raises(RefusedError, match="certificate")
    with serving(GOOD, tls=tls) as server, at_most(10), refused:
        client.get_json(server.url)
    assert not server.requests


def test_from_http_to_https_of_the_same_host(client, tls, trusted):
    with (
        serving(GOOD, tls=tls) as safe,
        serving(http(b"", "301 Moved", location=f"{safe.url}/w")) as plain,
    ):
        for _ in range(3):
            assert client.get_json(f"{plain.url}/w") == {"a": [1, 2]}
        assert len(plain.requests) == 1  # it has moved for good
        assert len(safe.requests) == 3
    refused = pytest.raises(RefusedError, match="moved to")
    with serving(http(b"", "301 Moved", location=plain.url), tls=tls) as safe, refused:
        client.get_json(safe.url)
