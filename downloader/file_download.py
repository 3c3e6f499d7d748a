"""A file on its way: what has come of it, and how to get the rest.

    NAME.partial        the bytes so far
    NAME.partial.json   where they come from: URL, entity tag or date of change, size

The rest is asked for with Range, on the condition (If-Range) that the file is still the one that
has been begun. A server that has another one, or does not know of ranges, sends it all.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corpora.files import atomic_write_text, sync_directory
from downloader.answer import BadAnswer
from downloader.errors import UnusableAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from downloader.wire import Reply

KEEP_FREE = 2**30
"""Bytes of the disk that a download leaves to others."""
LOOK_EVERY = 2**24
"""Bytes after which to look at the disk again: others fill it too."""
PROGRESS = 2**18
"""Bytes that count as a success."""
_VALIDATOR = re.compile(r'"[\x21\x23-\x7e]{0,200}"|[A-Z][A-Za-z0-9:, +-]{1,60}')
"""An entity tag or a date; no weak tag (W/"…"), which does not vouch for every byte."""


class FileDownload:
    """The state of one download, on disk but for what concerns the attempt under way.

    Parameters
    ----------
    url
        Where the file is.
    path
        Where it shall be.
    max_bytes
        The size that it may have.
    progress
        Told how many bytes are there.
    """

    def __init__(
        self,
        url: str,
        path: Path,
        max_bytes: int,
        progress: Callable[[int], None] | None,
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
        """What to add to the next request."""
        headers = {"Accept-Encoding": "identity"}
        origin = self._known_origin()
        n_bytes = self._n_bytes()
        if origin and n_bytes:
            headers["Range"] = f"bytes={n_bytes}-"
            headers["If-Range"] = origin["validator"]
        return headers

    def receive(self, reply: Reply) -> None:
        """Write what has been sent, the rest or all of it."""
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
                raise BadAnswer("the rest of another file than the one begun: beginning anew")
        elif reply.status == 200:
            n_bytes = 0
            origin = self._new_origin(reply)
        else:
            self._discard()
            raise BadAnswer(f"HTTP {reply.status} instead of the file: beginning anew")
        _check_encoding(reply, self._url)
        self._check_size(origin["size"] or 0)
        make_sure_of_space(self._path, (origin["size"] or n_bytes) - n_bytes)
        self._write(reply, n_bytes)
        if origin["size"] is None:
            origin["size"] = self._n_bytes()
            self._save(origin)

    def finish_if_complete(self) -> bool:
        """Give the file its name if all of it is there."""
        origin = self._known_origin(even_without_validator=True)
        if not self._partial.exists():
            return False
        if not origin or origin["size"] is None or origin["size"] != self._n_bytes():
            return False
        with self._partial.open("rb") as stream:
            os.fsync(stream.fileno())
        self._partial.replace(self._path)
        self._origin.unlink(missing_ok=True)
        sync_directory(self._path.parent)
        return True

    def has_progressed(self) -> bool:
        """Whether the last attempt brought enough more than ever before to count as a success."""
        return self._has_progressed

    def _write(self, reply: Reply, n_bytes: int) -> None:
        looked_at = prolonged_at = n_bytes
        with self._partial.open("r+b" if n_bytes else "wb") as stream:
            stream.seek(n_bytes)
            for piece in reply.pieces():
                n_bytes += len(piece)
                self._check_size(n_bytes)
                stream.write(piece)
                if n_bytes >= self._longest + PROGRESS:
                    self._longest = n_bytes
                    self._has_progressed = True
                if n_bytes - prolonged_at >= PROGRESS:
                    reply.prolong()
                    prolonged_at = n_bytes
                if n_bytes - looked_at >= LOOK_EVERY:
                    make_sure_of_space(self._path, 0)
                    looked_at = n_bytes
                self._progress(n_bytes)

    def _new_origin(self, reply: Reply) -> dict[str, Any]:
        """Where the file comes from that now begins; the former one is given up."""
        self._discard()
        length = reply.headers.get("Content-Length", "").strip()
        chunked = "chunked" in reply.headers.get("Transfer-Encoding", "").lower()
        if not chunked and not re.fullmatch(r"[0-9]{1,18}", length):
            raise UnusableAnswerError(
                f"{self._url}: the server does not say how long the file is, so that nobody could"
                " tell whether all of it has come"
            )
        size = None if chunked else int(length)
        origin = {"url": self._url, "validator": _validator(reply.headers), "size": size}
        self._save(origin)
        return origin

    def _save(self, origin: Mapping[str, Any]) -> None:
        atomic_write_text(self._origin, json.dumps(origin) + "\n")

    def _known_origin(self, *, even_without_validator: bool = False) -> dict[str, Any] | None:
        """What is known of the bytes that are there, if that is enough to go on from them."""
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
                f"{self._url} is larger than the {self.max_bytes} bytes that it may have"
            )


def _validator(headers: Mapping[str, str]) -> str:
    """What If-Range may name to tell this state of the file from others; empty if nothing."""
    for name in ("ETag", "Last-Modified"):
        if _VALIDATOR.fullmatch(value := headers.get(name, "").strip()):
            return value
    return ""


def _check_encoding(reply: Reply, url: str) -> None:
    encoding = reply.headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return
    if encoding in {"gzip", "x-gzip"} and urlsplit(url).path.endswith(".gz"):
        return  # the packed file itself, by a server that says too much
    raise UnusableAnswerError(f"{url} comes packed although that was not asked for")


def make_sure_of_space(path: Path, n_bytes: int) -> None:
    """Raise `OSError` (no space) if so many more bytes at `path` would leave too few free.

    `path` is a directory, or a file that need not be there yet.
    """
    free = shutil.disk_usage(path if path.is_dir() else path.parent).free
    if free - n_bytes < KEEP_FREE:
        raise OSError(
            errno.ENOSPC,
            f"{n_bytes} more bytes would leave less than {KEEP_FREE} of the {free} that are free",
            str(path),
        )
