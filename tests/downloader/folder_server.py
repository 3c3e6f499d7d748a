"""Folders of files on a server of dumps, with its faults; `hostile_server.serving` runs it."""

import time
import zlib
from contextlib import contextmanager
from threading import Lock
from urllib.parse import unquote

from tests.downloader.hostile_server import http


class FolderServer:
    """Answers to requests for files, from the start of their Range on, and for folders."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.pages: dict[str, bytes] = {}  # listings that are not those of the files
        self.empty: set[str] = set()  # folders
        self.instead: dict[str, list[bytes]] = {}  # bodies that are sent before a file's own
        self.asked: list[tuple[str, str]] = []  # path, Range
        self.cut_after: list[int] = []  # bytes of the next files that arrive
        self.pause = 0.0  # after each piece of 16 KiB
        self.n_sent = 0  # pieces
        self.n_open = self.most_open = 0  # files on their way
        self._lock = Lock()

    def list_folder(self, folder, extra=""):
        below = [path[len(folder) :] for path in self.files if path.startswith(folder)]
        names = sorted({path.split("/")[0] + "/" * ("/" in path) for path in below})
        links = "".join(
            f'<a href="{name}">{name}</a>  16-Aug-2026 05:11  {self.size_of(folder + name)}\n'
            for name in names
        )
        self.pages[folder] = (
            f'<html><h1>Index of {folder}</h1><pre><a href="../">../</a>\n{links}{extra}</pre>'
        ).encode()

    def size_of(self, path):
        return len(self.files[path]) if path in self.files else "-"

    def n_fetches(self, name=".bz2"):
        return sum(name in path for path, _ in self.asked)

    def body_of(self, path):
        if self.instead.get(path):
            return self.instead[path].pop(0)
        if path in self.files or path in self.pages:
            return self.pages.get(path, self.files.get(path))
        if path in self.empty:
            return b'<html><pre><a href="../">../</a></pre>'
        return None

    def __call__(self, request, sock):
        path, asked = unquote(request.target), request.headers.get("range", "")
        self.asked.append((path, asked))
        body = self.body_of(path)
        status = "404 Not Found" if body is None else "200 OK"
        body = body or b""
        headers = {"etag": f'"{zlib.crc32(body)}"', "content_length": str(len(body))}
        if asked and path in self.files and request.headers.get("if-range") == headers["etag"]:
            start = int(asked.removeprefix("bytes=").split("-")[0])
            status = "206 Partial Content" if start < len(body) else "416 Range Not Satisfiable"
            unit = f"{start}-{len(body) - 1}" if start < len(body) else "*"
            headers["content_range"] = f"bytes {unit}/{len(body)}"
            body = body[start:]
            headers["content_length"] = str(len(body))
        cut = self.cut_after.pop(0) if path in self.files and self.cut_after else len(body)
        sock.sendall(http(b"", status, **headers))
        with self.counted(path):
            for place in range(0, min(cut, len(body)), 1 << 14):
                sock.sendall(body[place : min(place + (1 << 14), cut)])
                self.n_sent += 1
                time.sleep(self.pause)
        return cut >= len(body)

    @contextmanager
    def counted(self, path):
        n = 1 if path in self.files else 0
        with self._lock:
            self.n_open += n
            self.most_open = max(self.most_open, self.n_open)
        try:
            yield
        finally:
            with self._lock:
                self.n_open -= n
