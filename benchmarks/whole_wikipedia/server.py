"""A server of a folder, as that of Wikimedia's dumps: listings, and files from a byte on."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = ".port"
"""Name of the file that keeps a folder's port; a listing has no names that start with a dot."""


class Handler(SimpleHTTPRequestHandler):
    """Sends folders as lists of links, and files."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request."""
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            names = sorted(each.name + "/" * each.is_dir() for each in path.iterdir())
            links = "".join(
                f'<a href="{name}">{name}</a>  01-Sep-2026 05:11  {size_of(path / name)}\n'
                for name in names
                if not name.startswith(".")
            )
            page = f'<html><h1>Index</h1><pre><a href="../">../</a>\n{links}</pre></html>'.encode()
            self.send_head_of(200, len(page), {"Content-Type": "text/html"})
            self.wfile.write(page)
        elif path.is_file():
            self.send_file(path)
        else:
            self.send_head_of(404, 0, {})

    def send_file(self, path: Path) -> None:
        """Send a file, from the byte on that the request names."""
        size = path.stat().st_size
        tag = f'"{size}-{path.stat().st_mtime_ns}"'
        asked = re.fullmatch(r"bytes=([0-9]+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked and self.headers.get("If-Range", tag) == tag else 0
        if start and start >= size:
            self.send_head_of(416, 0, {"Content-Range": f"bytes */{size}"})
            return
        headers = {"ETag": tag, "Content-Type": "application/x-bzip2"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        self.send_head_of(206 if start else 200, size - start, headers)
        with path.open("rb") as stream:
            stream.seek(start)
            shutil.copyfileobj(stream, self.wfile, 1 << 18)

    def send_head_of(self, status: int, length: int, headers: dict[str, str]) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        """Keep silent."""
        del format, args


def size_of(path: Path) -> str:
    """Size of a file, as a listing shows it."""
    return str(path.stat().st_size) if path.is_file() else "-"


@contextmanager
def folder_server(directory: Path) -> Iterator[str]:
    """Serve a folder at the address that is yielded. The first time takes a free port, and later
    times the same one, as a download remembers where its files are from.
    """
    kept = directory / PORT
    port = int(kept.read_text()) if kept.exists() else 0
    server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(directory)))
    port = server.server_port
    kept.write_text(f"{port}\n")
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.shutdown()
        server.server_close()
