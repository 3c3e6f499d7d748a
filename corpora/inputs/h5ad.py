"""Counts of cells × genes from AnnData's files, `.h5ad`.

The raw counts are taken: whole numbers of X, else of layers['counts'], else of raw.X. Cells are the
documents, called as obs is; genes are the words, called as var is. File format:
https://anndata.readthedocs.io/en/stable/fileformat-prose.html
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from corpora.corpus import Corpus
from corpora.corpus_writer import MAX_INT32
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.optional_module import optional_module

MAGIC = b"\x89HDF\r\n\x1a\n"
PLACES = {"X": ("X", "var"), "layers['counts']": ("layers/counts", "var")}
RAW = {"raw.X": ("raw/X", "raw/var")}
"""Matrices that may hold raw counts, in the order of the search, and the names of their columns."""

NUMBERS = 1 << 22  # Numbers that are checked at a time
ROWS_BYTES = 1 << 26  # Bytes of a dense matrix that are read at a time


def read_h5ad(path: PathLike) -> Corpus:
    """Read the raw counts of a file of AnnData. Raises MissingExtraError if h5py is missing;
    OSError if the file cannot be read; CorpusFormatError if it is cut short, none of AnnData's, has
    no raw counts, or calls two cells or genes the same.
    """
    with _opened(path) as file:
        faults = []
        for name, (place, columns) in (PLACES | RAW).items():
            if place not in file:
                faults.append(f"{name} is not there")
                continue
            counts, fault = _counts(file[place])
            if counts is None:
                faults.append(f"{name} {fault}")
                continue
            cells, genes = _names(file, "obs", path), _names(file, columns, path)
            if counts.shape != (len(cells), len(genes)):
                raise CorpusFormatError(
                    f"{path}: {name} has the shape {counts.shape[0]} × {counts.shape[1]}, but there"
                    f" are {len(cells)} cells and {len(genes)} genes"
                )
            return Corpus(counts, tuple(genes), tuple(cells))
        raise CorpusFormatError(
            f"{path}: no raw counts: {', '.join(faults)}; write the file with the counts before"
            " normalisation in layers['counts']"
        )


def size_of(path: PathLike) -> tuple[int, int]:
    """Return the numbers of cells and genes. Raises as `read_h5ad`."""
    with _opened(path) as file:
        return len(_names(file, "obs", path)), len(_names(file, "var", path))


@contextmanager
def _opened(path: PathLike) -> Iterator[Any]:
    h5py = _h5py()
    with Path(path).open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise CorpusFormatError(f"{path}: this is no .h5ad file, as it does not begin as HDF5")
    try:
        with h5py.File(path, "r") as file:
            if not {"obs", "var"} <= set(file):
                raise CorpusFormatError(
                    f"{path}: this HDF5 file has no obs and var, so it is none of AnnData's"
                )
            yield file
    except (OSError, RuntimeError, KeyError) as error:
        why = (str(error).splitlines() or [""])[0][:200]
        raise CorpusFormatError(
            f"{path}: the .h5ad file is cut short or damaged ({why}); get it again"
        ) from error


def _counts(node: Any) -> tuple[sparse.csr_array[np.int32] | None, str]:
    """Return the matrix as counts; None and the reason if it holds anything else."""
    if isinstance(node, _h5py().Group):
        return _sparse_counts(node)
    if node.shape is None or len(node.shape) != 2:
        return None, "is no matrix"
    step = max(1, ROWS_BYTES // max(1, node.shape[1] * node.dtype.itemsize))
    blocks = []
    for start in range(0, node.shape[0], step):
        block = node[start : start + step]
        if fault := _fault_of(block.ravel()):
            return None, fault
        blocks.append(sparse.csr_array(block.astype(np.int32)))
    if not blocks:
        return sparse.csr_array(node.shape, dtype=np.int32), ""
    return sparse.csr_array(sparse.vstack(blocks, format="csr")), ""


def _sparse_counts(node: Any) -> tuple[sparse.csr_array[np.int32] | None, str]:
    kind = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", ""))
    kind = {"csr": "csr_matrix", "csc": "csc_matrix"}.get(kind, kind)
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    if kind not in ("csr_matrix", "csc_matrix") or shape is None:
        return None, f"is stored as {str(kind) or 'something unknown'!r}, not as a matrix"
    data = node["data"]
    values = np.empty(data.shape, dtype=np.int32)
    for start in range(0, len(data), NUMBERS):
        part = data[start : start + NUMBERS]
        if fault := _fault_of(part):
            return None, fault
        values[start : start + NUMBERS] = part
    make = sparse.csr_array if kind == "csr_matrix" else sparse.csc_array
    try:
        matrix = make(
            (values, node["indices"][:], node["indptr"][:]), shape=(int(shape[0]), int(shape[1]))
        )
        matrix.check_format(full_check=True)  # before a conversion, which trusts the indices
    except ValueError as error:
        return None, f"is malformed ({error})"
    return sparse.csr_array(matrix), ""


def _fault_of(values: Any) -> str:
    """Return why `values` are no counts; empty if they are."""
    if values.dtype.kind not in "biuf":
        return f"holds values of type {values.dtype}"
    if not values.size:
        return ""
    bad = ~((values >= 0) & (values < MAX_INT32 + 1))  # NaN, too; 2³¹ − 1 is no float32
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    if not bad.any():
        return ""
    value = float(values[bad.argmax()])
    return f"holds {value:g}, which is no count"


def _names(file: Any, group: str, path: PathLike) -> list[str]:
    """Names of the cells or genes, each different."""
    node = file[group]
    if isinstance(node, _h5py().Group):
        index = node.attrs.get("_index", "_index")
        if index not in node:
            raise CorpusFormatError(f"{path}: {group} has no index, which holds the names")
        names = _strings(node[index])
    else:  # a table, as anndata wrote it before version 0.7
        fields: list[str] = list(node.dtype.names or ["index"])
        names = _decoded(node["index" if "index" in fields else fields[0]])
    if len(set(names)) != len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        what, call = ("cells", "obs") if group == "obs" else ("genes", "var")
        raise CorpusFormatError(
            f"{path}: two {what} are called {twice!r}; call {call}_names_make_unique() before"
            " writing the file"
        )
    return names


def _strings(node: Any) -> list[str]:
    """Strings of an array, of categories or of an array with missing values."""
    if not isinstance(node, _h5py().Group):
        return _decoded(node[:])
    if "categories" in node:
        categories = _strings(node["categories"])
        return [categories[code] if code >= 0 else "nan" for code in node["codes"][:]]
    return _strings(node["values"])


def _decoded(values: Any) -> list[str]:
    return [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        for value in values.tolist()
    ]


def _h5py() -> Any:
    return optional_module("h5py", "anndata", ".h5ad needs")
