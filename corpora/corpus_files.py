"""Header and arrays of a corpus on disk; `corpora.corpus` describes the layout."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.array_file import ArrayFile
from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import (
    atomic_write_text,
    remove_partial_files,
    remove_unused,
    sha256_of,
    sync_directory,
)
from corpora.string_column import StringColumn

FORMAT = "wikitopics corpus"
FORMAT_VERSION = 2
HEADER = "header.json"
PARTS = "parts-"


def build_corpus_on_disk_files(
    directory: Path, arrays: dict[str, ArrayFile], about: dict[str, Any], content_hash: str
) -> None:
    """Replace the corpus in `directory` by `arrays`, atomically with the new header; processes that
    have the former files open can still read them.
    """
    files: dict[str, dict[str, str | int]] = {}
    for name, array in arrays.items():
        file = directory / f"{content_hash[:16]}-{name}.npy"
        array.finish(file)
        files[name] = {
            "name": file.name,
            "bytes": file.stat().st_size,
            "sha256": sha256_of_file(file),
        }
    sync_directory(directory)
    header = {"format": FORMAT, "version": FORMAT_VERSION, **about}
    header |= {"content_hash": content_hash, "files": files}
    header["check"] = check_of(header)
    atomic_write_text(directory / HEADER, json.dumps(header, indent=2) + "\n")

    remove_partial_files(directory)
    named = {entry["name"] for entry in files.values()}
    for file in directory.iterdir():
        if re.fullmatch(r"[0-9a-f]{16}-[a-z_]+\.npy", file.name) and file.name not in named:
            remove_unused(file)
        elif file.name.startswith(PARTS) and not file.name.startswith(parts_name(content_hash)):
            shutil.rmtree(file, ignore_errors=True)


def parts_name(content_hash: str) -> str:
    """Prefix of the directories of parts of the corpus with this hash."""
    return f"{PARTS}{content_hash[:16]}-"


def read_header(directory: Path) -> dict[str, Any]:
    """Read the header and verify its checksum. Raises FileNotFoundError if it is missing;
    CorpusFormatError if it was changed or is of something else; UnsupportedVersionError if a newer
    version of this software wrote it.
    """
    path = directory / HEADER
    try:
        header: dict[str, Any] = json.loads(path.read_bytes())
        if header["format"] != FORMAT:
            raise CorpusFormatError(f"{path} is not the header of a corpus")
        if header["version"] > FORMAT_VERSION:
            raise UnsupportedVersionError(
                f"{path} is of format version {header['version']}, and this software reads up to "
                f"{FORMAT_VERSION}; upgrade it"
            )
        if header["check"] != check_of(header):
            raise CorpusFormatError(f"{path} was changed: its check does not fit")
    except CorpusFormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorpusFormatError(f"{path} is not the header of a corpus: {error}") from error
    return header


def read_array(
    directory: Path, header: dict[str, Any], name: str, *, mmap: bool = False, checked: bool = False
) -> NDArray[Any]:
    """Read or map the array that the header calls `name`, after verifying the file; with `mmap` and
    without `checked` only its size. Raises CorpusFormatError if the file is missing or was changed.
    """
    entry = header["files"][name]
    path = directory / entry["name"]
    if not path.is_file():
        raise CorpusFormatError(f"{path} is missing")
    if path.stat().st_size != entry["bytes"]:
        raise CorpusFormatError(
            f"{path} was changed: expected {entry['bytes']} bytes, found {path.stat().st_size}"
        )
    if (checked or not mmap) and sha256_of_file(path) != entry["sha256"]:
        raise CorpusFormatError(f"{path} was changed: its SHA-256 is not the one in header.json")
    try:
        array = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    except ValueError as error:
        raise CorpusFormatError(f"{path} is not an array: {error}") from error
    # Not np.memmap, whose every slice costs microseconds.
    return np.asarray(array)


def read_strings(
    directory: Path, header: dict[str, Any], name: str, *, mmap: bool = False, checked: bool = False
) -> StringColumn:
    """Read or map the strings that the header calls `name`, verified as in `read_array`; raises
    ValueError if the arrays are not strings.
    """
    if f"{name}_start" not in header["files"]:
        # The vocabulary, and in version 1 all strings: JSON, which can only be read as a whole.
        listed = json.loads(read_array(directory, header, name).tobytes())
        return StringColumn.of(listed)
    start = read_array(directory, header, f"{name}_start", mmap=mmap, checked=checked)
    data = read_array(directory, header, name, mmap=mmap, checked=checked)
    is_column = start.dtype == np.int64 and data.dtype == np.uint8 and start.ndim == data.ndim == 1
    if not is_column or not len(start) or start[0] != 0 or start[-1] != len(data):
        raise ValueError(f"{name} are not strings, or do not fit {name}_start")
    column = StringColumn(start, data)
    return column.check() if checked or not mmap else column


def check_of(header: dict[str, Any]) -> str:
    """SHA-256 of a header, or of a run's provenance, without its check."""
    rest = {key: value for key, value in header.items() if key != "check"}
    return sha256_of(json.dumps(rest, sort_keys=True).encode())


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
