"""Download of a file that continues after an interruption.

    NAME.partial        the bytes so far
    NAME.partial.json   their origin: URL, entity tag or date of change, size

The rest is requested with Range, on the condition (If-Range) that the server still has the same
file. A server that has another file, or does not support ranges, sends all of it.
"""

from __future__ import annotations

import errno
import json
import re
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corpora.files import atomic_write_text, replace, sync_directory, sync_file
from downloader.answer import BadAnswer
from downloader.errors import UnusableAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from downloader.http_transport import Reply

MIN_FREE_BYTES = 2**30  # Bytes of the disk that a download leaves free
SPACE_CHECK_BYTES = 2**24
"""Bytes between two checks of the free space, which other programs use too."""
PROGRESS_BYTES = 2**18  # Bytes that count as a success
_VALIDATOR = re.compile(r'"[\x21\x23-\x7e]{0,200}"|[A-Z][A-Za-z0-9:, +-]{1,60}')
"""Entity tag or date; no weak tag (W/"…"), which does not guarantee equal bytes."""


class FileDownload:
    """One download, with its state on disk except that of the current attempt.

    `progress` is called with the number of bytes that have arrived, first before a request; an
    error that it raises ends the download.
    """

    def __init__(
        self, url: str, path: Path, max_bytes: int, progress: Callable[[int], None] | None
    ) -> None:
        self.max_bytes = max_bytes
        self._url = url
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._origin = path.with_name(f"{path.name}.partial.json")
        self._progress = progress or (lambda _: None)
        self._longest = 0
        self._has_progressed = False

    def headers(self) -> dict[str, str]:
        """Return the headers to add to the next request."""
        headers = {"Accept-Encoding": "identity"}
        origin = self._known_origin()
        n_bytes = self._n_bytes()
        self._progress(n_bytes)
        if origin and n_bytes:
            headers["Range"] = f"bytes={n_bytes}-"
            headers["If-Range"] = origin["validator"]
        return headers

    def receive(self, reply: Reply) -> None:
        """Write the body of an answer, which is the rest of the file or all of it."""
        self._has_progressed = False
        origin = self._known_origin()
        n_bytes = self._n_bytes()
        if reply.status == 206 and origin and n_bytes:
            span = re.fullmatch(
                r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})",
                reply.headers.get("Content-Range", "").strip(),
            )
            expected = (n_bytes, origin["size"])
            is_same = _validator(reply.headers) in {origin["validator"], ""}
            if not span or (int(span[1]), int(span[3])) != expected or not is_same:
                self._discard()
                raise BadAnswer("the rest of another file: the download starts again")
        elif reply.status == 200:
            n_bytes = 0
            origin = self._new_origin(reply)
        else:
            self._discard()
            raise BadAnswer(f"HTTP {reply.status} instead of the file: the download starts again")
        _check_encoding(reply, self._url)
        self._check_size(origin["size"] or 0)
        check_free_space(self._path, (origin["size"] or n_bytes) - n_bytes)
        self._write(reply, n_bytes)
        if origin["size"] is None:
            origin["size"] = self._n_bytes()
            self._save(origin)

    def finish_if_complete(self) -> bool:
        """Give the file its name if it is complete."""
        origin = self._known_origin(even_without_validator=True)
        if not self._partial.exists():
            return False
        if not origin or origin["size"] is None or origin["size"] != self._n_bytes():
            return False
        sync_file(self._partial)
        replace(self._partial, self._path)
        self._origin.unlink(missing_ok=True)
        sync_directory(self._path.parent)
        return True

    def has_progressed(self) -> bool:
        """Whether the last attempt added enough bytes to count as a success."""
        return self._has_progressed

    def _write(self, reply: Reply, n_bytes: int) -> None:
        checked_at = prolonged_at = n_bytes
        with self._partial.open("r+b" if n_bytes else "wb") as stream:
            stream.seek(n_bytes)
            for piece in reply.pieces():
                n_bytes += len(piece)
                self._check_size(n_bytes)
                stream.write(piece)
                if n_bytes >= self._longest + PROGRESS_BYTES:
                    self._longest = n_bytes
                    self._has_progressed = True
                if n_bytes - prolonged_at >= PROGRESS_BYTES:
                    reply.prolong()
                    prolonged_at = n_bytes
                if n_bytes - checked_at >= SPACE_CHECK_BYTES:
                    check_free_space(self._path, 0)
                    checked_at = n_bytes
                self._progress(n_bytes)

    def _new_origin(self, reply: Reply) -> dict[str, Any]:
        """Return the origin of a new file; the former one is deleted."""
        self._discard()
        length = reply.headers.get("Content-Length", "").strip()
        chunked = "chunked" in reply.headers.get("Transfer-Encoding", "").lower()
        if not chunked and not re.fullmatch(r"[0-9]{1,18}", length):
            raise UnusableAnswerError(
                f"{self._url}: the server does not tell the length of the file, so that nobody"
                " could check that it is complete"
            )
        size = None if chunked else int(length)
        origin = {"url": self._url, "validator": _validator(reply.headers), "size": size}
        self._save(origin)
        return origin

    def _save(self, origin: Mapping[str, Any]) -> None:
        atomic_write_text(self._origin, json.dumps(origin) + "\n")

    def _known_origin(self, *, even_without_validator: bool = False) -> dict[str, Any] | None:
        """Return the origin of the bytes so far, if the download can continue from them."""
        try:
            origin = json.loads(self._origin.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(origin, dict) or origin.get("url") != self._url:
            return None
        validator, size = origin.get("validator"), origin.get("size")
        if not isinstance(validator, str) or not (size is None or isinstance(size, int)):
            return None
        if even_without_validator:
            return origin
        is_usable = _VALIDATOR.fullmatch(validator) and size and self._n_bytes() < size
        return origin if is_usable else None

    def _n_bytes(self) -> int:
        try:
            return self._partial.stat().st_size
        except FileNotFoundError:
            return 0

    def _discard(self) -> None:
        self._partial.unlink(missing_ok=True)
        self._origin.unlink(missing_ok=True)

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self.max_bytes:
            self._discard()
            raise UnusableAnswerError(
                f"{self._url} is larger than the allowed {self.max_bytes} bytes"
            )


def _validator(headers: Mapping[str, str]) -> str:
    """Return the entity tag or date of the file for If-Range; empty if there is none."""
    for name in ("ETag", "Last-Modified"):
        if _VALIDATOR.fullmatch(value := headers.get(name, "").strip()):
            return value
    return ""


def _check_encoding(reply: Reply, url: str) -> None:
    encoding = reply.headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return
    if encoding in {"gzip", "x-gzip"} and urlsplit(url).path.endswith(".gz"):
        return  # the server describes the .gz file itself
    raise UnusableAnswerError(f"{url} arrives with an encoding that was not requested")


def check_free_space(path: Path, n_bytes: int) -> None:
    """Raise `OSError` (no space) if `n_bytes` more at `path` would leave too few free.

    `path` is a directory, or a file that may be missing yet.
    """
    free = shutil.disk_usage(path if path.is_dir() else path.parent).free
    if free - n_bytes < MIN_FREE_BYTES:
        raise OSError(
            errno.ENOSPC,
            f"{n_bytes} more bytes would leave fewer than {MIN_FREE_BYTES} of the {free} free ones",
            str(path),
        )
