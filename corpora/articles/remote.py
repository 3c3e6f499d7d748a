"""Stores at a URL, read by fsspec: https://…, s3://…, file:///… and what else it knows.

Their paths are of `upath.UPath`, which has the methods of `pathlib.Path`. They are only read.
"""

import io
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from corpora.errors import CorpusFormatError, MissingExtraError
from corpora.files import PathLike

MARK = "://"
EXTRA = "pip install 'wikitopics[cluster]'"
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs"}
"""Packages that fsspec needs in addition to the extra, by scheme."""

VERBATIM: dict[str, Any] = {
    "client_kwargs": {"auto_decompress": False},
    "headers": {"Accept-Encoding": "identity"},
}
"""Headers of HTTP: some servers declare a .gz file as a compressed transfer of another one."""

PAUSES: Sequence[float] = (1.0, 4.0)  # Seconds after which a failed request is made again


def is_url(path: PathLike) -> bool:
    """Whether `path` is the URL of something rather than a place in the file system."""
    return MARK in str(path)


def path_of(path: PathLike) -> Path:
    """`path` as a `Path`; of a URL a `UPath`. Raises MissingExtraError if the package that reads
    the URL is not installed; CorpusFormatError if nothing reads such URLs.
    """
    if not is_url(path):
        return Path(path)
    try:
        from upath import UPath  # noqa: PLC0415 - optional, and for URLs alone
    except ImportError as error:
        raise MissingExtraError(f"reading {path} takes another package; run: {EXTRA}") from error
    url = normalized(str(path))
    check_url(url)
    scheme = url.partition(MARK)[0]
    options = VERBATIM if scheme in ("http", "https") else {}
    try:
        found = UPath(url, **options)
        found.fs  # noqa: B018 - imports what the scheme needs
    except ImportError as error:
        package = f"pip install {PACKAGES[scheme]}" if scheme in PACKAGES else EXTRA
        raise MissingExtraError(
            f"reading {path} takes another package ({error}); run: {package}"
        ) from error
    except ValueError as error:
        raise CorpusFormatError(
            f"{path}: {error}; give a directory, or a URL such as https://HOST/DIR or "
            "s3://BUCKET/DIR"
        ) from error
    return cast("Path", found)


def check_url(url: str) -> None:
    """Raise CorpusFormatError, not repeating the URL, if it is no directory's or holds a secret."""
    scheme, _, rest = url.partition(MARK)
    if "@" in rest.partition("/")[0] and scheme in ("http", "https", "ftp", "sftp"):
        raise CorpusFormatError(
            "an address with a password would be written down in the run: leave it out, and give "
            "it where fsspec looks, in its configuration (FSSPEC_<SCHEME>_… in the environment)"
        )
    if "::" in url or "?" in rest or "#" in rest:
        raise CorpusFormatError(
            f"an address with '::', '?' or '#' ({scheme}{MARK}…) names no directory of files: give "
            "one such as https://HOST/DIR or s3://BUCKET/DIR"
        )
    if not rest.strip("/") and scheme != "file":
        raise CorpusFormatError(f"{url}{'' if rest else '…'} names no directory")


def normalized(path: str) -> str:
    """`path` as it is compared and kept: without what does not tell it from others."""
    if not is_url(path):
        return os.path.normpath(path)
    scheme, _, rest = path.partition(MARK)
    return f"{scheme.lower()}{MARK}{rest.rstrip('/')}"


def absolute(path: Path) -> str:
    """Return a path that is valid in any directory, and on any machine with the same files."""
    return str(path) if is_url(path) else str(path.absolute())


def is_of_this_process(path: Path) -> bool:
    """Whether no other process sees it."""
    return str(path).startswith(f"memory{MARK}")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, wherever it is. Raises FileNotFoundError if it is missing; OSError if it
    cannot be read, with advice if it is at a URL.
    """
    if not is_url(path):
        return path.read_bytes()
    remote: Any = path
    for pause in (*PAUSES, None):
        try:
            return bytes(remote.fs.cat_file(remote.path))  # one request, whatever the file's size
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise
        # Each file system of fsspec has errors of the library beneath it.
        except Exception as error:
            if pause is None or _is_refused(error):
                raise OSError(_why_unread(path, error)) from error
            time.sleep(pause)
    raise AssertionError


def refuse_writing(path: Path) -> None:
    """Raise io.UnsupportedOperation, an OSError, if `path` is a URL."""
    if is_url(path):
        raise io.UnsupportedOperation(
            f"{path}: a store at a URL is read, never written; write to a directory and copy that"
        )


def _is_refused(error: Exception) -> bool:
    """Whether a permission is missing, so that a retry is of no use."""
    status = getattr(error, "status", None)  # aiohttp's
    named = "Credentials" in type(error).__name__  # botocore's
    return named or isinstance(error, PermissionError) or status in (401, 403)


def _why_unread(path: Path, error: Exception) -> str:
    what = " ".join(str(error).split()) or type(error).__name__
    if _is_refused(error):
        advice = (
            "check the credentials, for S3 those in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
            "for a public bucket set FSSPEC_S3_ANON=true"
        )
    else:
        advice = "check the address and the network, and give the same command again"
    return f"{path} cannot be read ({what}): {advice}"
