import gzip
import io
import pickle
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corpora import ArticleStore, CorpusFormatError, MissingExtraError
from corpora.articles import remote
from tests.corpora.articles.test_store import files_of, some, stored


class Server(ThreadingHTTPServer):
    n_failures = 0
    status = 503
    says_compressed = False
    """Whether it says of a .gz file that it is a compressed transfer, as some servers do."""
    n_requests = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.n_requests += 1
        if self.server.n_failures:
            self.server.n_failures -= 1
            self.send_error(self.server.status)
        else:
            super().do_GET()

    def end_headers(self):
        if self.server.says_compressed and self.path.endswith(".gz"):
            self.send_header("Content-Encoding", "gzip")
        super().end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def local(tmp_path):
    return stored(tmp_path)


@pytest.fixture
def server(local, monkeypatch):
    monkeypatch.setattr(remote, "PAUSES", (0.0, 0.0))
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(local.path))) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def same(store, local):
    store.verify()
    return (
        (list(store), store.entries, len(store), store.keys(), store.sites(), store.exists)
        == (list(local), local.entries, len(local), local.keys(), local.sites(), True)
    )  # fmt: skip


def test_a_store_by_http_is_the_store(server, local):
    store = ArticleStore(server.url)
    assert len(store.entries) == 3
    assert same(store, local)
    assert same(ArticleStore(f"{server.url}/"), local)
    assert same(pickle.loads(pickle.dumps(store)), local)


def test_a_store_at_other_urls_is_the_store(local):
    fsspec = pytest.importorskip("fsspec")
    assert same(ArticleStore(local.path.as_uri()), local)
    memory = fsspec.filesystem("memory")
    for name, data in files_of(local.path).items():
        memory.pipe_file(f"/bucket/store/{name}", data)
    assert same(ArticleStore("memory://bucket/store"), local)


def test_shards_arrive_as_they_are_whatever_the_server_calls_them(server, local):
    server.says_compressed = True
    assert same(ArticleStore(server.url), local)


def test_a_store_without_attribution_is_read(server, local):
    (local.path / "ATTRIBUTION").unlink()
    assert ArticleStore(server.url).sites() == set()


def test_a_url_without_a_store(server):
    store = ArticleStore(f"{server.url}/elsewhere")
    assert not store.exists
    with pytest.raises(
        CorpusFormatError, match=r"no article store at http://.*/elsewhere: .*manifest\.jsonl"
    ):
        len(store)


def test_a_failure_that_passes_is_passed_over(server, local):
    server.n_failures = 2
    assert ArticleStore(server.url).entries == local.entries
    assert server.n_requests == 3


def test_a_failure_that_stays_names_the_url(server):
    server.n_failures = 3
    with pytest.raises(OSError, match=r"http://.*/manifest\.jsonl cannot be read \(503.*network"):
        len(ArticleStore(server.url))


def test_a_refusal_is_not_tried_again(server):
    server.n_failures, server.status = 2, 403
    with pytest.raises(OSError, match=r"http://.*\(403.*check the credentials"):
        len(ArticleStore(server.url))
    assert server.n_requests == 1


def test_a_host_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(remote, "PAUSES", ())
    store = ArticleStore("http://127.0.0.1:9/store")
    with pytest.raises(OSError, match=r"Cannot connect.*check the address"):
        len(store)
    with pytest.raises(OSError, match="Cannot connect"):
        _ = store.exists


@pytest.mark.parametrize("fault", ["missing", "changed", "short"])
def test_a_damaged_shard_is_refused(fault, server, local):
    shard = local.path / "shards" / local.entries[1].shard
    data = shard.read_bytes()
    if fault == "missing":
        shard.unlink()
    else:
        changed = gzip.compress(b"something else".ljust(len(data)))
        shard.write_bytes(data[:-1] if fault == "short" else changed)
    with pytest.raises(CorpusFormatError, match=r"http://.*/shards/000002\.pkl\.gz"):
        ArticleStore(server.url).verify()


def test_a_damaged_manifest_is_refused(server, local):
    manifest = local.path / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes().replace(b'"articles": 3', b'"articles": 4'))
    with pytest.raises(CorpusFormatError, match=r"http://.*/manifest\.jsonl, line 2"):
        len(ArticleStore(server.url))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        *(("https://host/a/", "https://host/a"), ("s3://bucket/a", "s3://bucket/a")),
        *(("./a//b/", "a/b"), ("/a/../b", "/b")),
    ],
)
def test_paths_are_compared_in_one_form(path, expected):
    assert remote.normalized(path) == expected


def test_nothing_is_written_to_a_url(server, local):
    before = files_of(local.path)
    for url in (server.url, local.path.as_uri(), "memory://nowhere/store"):
        with pytest.raises(io.UnsupportedOperation, match="read, never written"):
            ArticleStore(url).append(some(7, 9))
    assert files_of(local.path) == before
    assert not ArticleStore("memory://nowhere/store").exists


def test_without_the_extra_the_command_is_named(local, monkeypatch):
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wikitopics\[cluster\]'"):
        ArticleStore("https://host/store")
    assert len(ArticleStore(local.path)) == 7


def test_without_the_package_of_the_scheme_its_command_is_named(monkeypatch):
    monkeypatch.delitem(pytest.importorskip("fsspec.registry")._registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtraError, match=r"s3://bucket/dir .*pip install s3fs"):
        ArticleStore("s3://bucket/dir")


def test_a_scheme_that_nobody_knows():
    with pytest.raises(CorpusFormatError, match=r"zzz://host/dir: .*zzz"):
        ArticleStore("zzz://host/dir")


@pytest.mark.slow
def test_a_store_in_a_bucket_is_the_store(local, monkeypatch):
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    bucket = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    bucket.start()
    try:
        host, port = bucket.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        import s3fs

        s3 = s3fs.S3FileSystem()
        s3.mkdir("bucket")
        for name, data in files_of(local.path).items():
            s3.pipe_file(f"bucket/some/store/{name}", data)
        assert same(ArticleStore("s3://bucket/some/store"), local)
        elsewhere = ArticleStore("s3://bucket/other")
        assert not elsewhere.exists
        with pytest.raises(CorpusFormatError, match="no article store at s3://bucket/other"):
            len(elsewhere)
    finally:
        bucket.stop()


@pytest.mark.parametrize(
    "url",
    [
        *("https://user:secret@host/articles", "http://host/articles?sig=secret"),
        *("https://host/articles#secret", "simplecache::http://host/articles", "s3://"),
        "memory://",
    ],
)
def test_addresses_that_name_no_directory_or_hold_a_secret(url):
    with pytest.raises(CorpusFormatError) as caught:
        ArticleStore(url)
    assert "secret" not in str(caught.value)


def test_the_scheme_may_have_capitals(tmp_path):
    assert str(ArticleStore(f"FILE://{tmp_path}/").path) == f"file://{tmp_path}"
