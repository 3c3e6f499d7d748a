"""Files that `allocate` reads.

    name.csv, .tsv         records or a matrix, see `pipeline.allocation.read_csv`
    name.npy               an array; name.npz: a sparse matrix as SciPy writes it, or one array
    name.mtx               Matrix Market
    docword.name.txt, …    bags of words, in any format that `convert` reads; a directory too

All but arrays may be compressed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora.errors import CorpusFormatError
from corpora.formats.compression import without_suffix
from corpora.formats.registry import UnknownFormatError, format_of, read_corpus
from corpora.formats.vocabulary_file import NUMBERS, find_vocabulary
from models.allocation.cell_counts import CellCounts
from models.saved import DAMAGE
from pipeline.allocation.count_table import CountTable, axis_names
from pipeline.allocation.read_csv import read_csv
from pipeline.errors import UsageError, check_exists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def read_table(path: str, layout: str = "auto", axes: Sequence[str] = ()) -> CountTable:
    """Read the counts in a file; `axes`: columns of records, or names of the axes of other tables.

    Raises OSError if the file is missing or cannot be read; CorpusFormatError if the content does
    not fit the name, or is no count; the message names the place; UsageError if its name gives no
    format, its layout is unclear, or `axes` does not fit.
    """
    check_exists(path)
    suffix = Path(without_suffix(Path(path).name)).suffix.lower()
    if layout != "auto" and suffix not in (".csv", ".tsv"):
        raise UsageError(f"--layout {layout} is for CSV files, {path} is none: leave it out")
    if suffix in (".csv", ".tsv"):
        table = read_csv(path, layout)
    elif suffix in (".npy", ".npz") and not Path(path).is_dir():
        table = _of_array(path, _array_in(path))
    else:
        table = _of_documents(path)
    if axes:
        table = table.of_axes(axes) if table.layout == "records" else table.renamed(axes)
    if not table.counts.n_tokens:
        raise CorpusFormatError(f"{path}: all counts are 0: there is nothing to factorise")
    return table


def _array_in(path: str) -> Any:
    """Return the array of a .npy file, or the one array or sparse matrix of an .npz file."""
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded as archive:
            names = sorted(archive.files)
            if "format" not in names:
                arrays = {name: archive[name] for name in names}
        if "format" in names:
            found: Any = sparse.load_npz(path)
            return sparse.coo_array(found)
    except DAMAGE as error:
        if isinstance(error, PermissionError):
            raise
        raise CorpusFormatError(
            f"{path}: no array of numbers as NumPy or SciPy writes it, or damaged: {error}"
        ) from error
    if len(arrays) != 1:
        raise CorpusFormatError(
            f"{path} must hold one array, found {', '.join(names) or 'none'}: save the one to "
            "factorise in a file of its own"
        )
    return next(iter(arrays.values()))


def _of_array(path: str, array: Any) -> CountTable:
    if array.dtype.kind not in "biuf":
        raise CorpusFormatError(f"{path}: counts must be numbers, found {array.dtype}")
    if not array.ndim or not array.size:
        raise CorpusFormatError(f"{path}: an array needs axes with values, found {array.shape}")
    values: NDArray[Any]
    if isinstance(array, sparse.coo_array):
        values = array.data
        cells = np.stack([np.asarray(each, dtype=np.int64) for each in array.coords], axis=1)
    else:
        cells = np.argwhere(array)  # NaN is not 0
        values = array[tuple(cells.T)]
    bad = ~np.isfinite(values) | (values < 0) | (values % 1 != 0)
    if bad.any():
        entry = int(np.argmax(bad))
        raise CorpusFormatError(
            f"{path}, entry {cells[entry].tolist()}: a count must be a whole number and not "
            f"negative, found {values[entry]}"
        )
    if (values >= 2.0**53).any():
        raise CorpusFormatError(f"{path}: a count is {values.max()}: counts must be below 2⁵³")
    labels = tuple(tuple(map(str, range(size))) for size in array.shape)
    counts = CellCounts(cells, values.astype(np.int64), tuple(array.shape))
    return CountTable(path, "array", axis_names(array.ndim), labels, counts)


def _of_documents(path: str) -> CountTable:
    """Read bags of words; a Matrix Market file without words beside it is a matrix."""
    try:
        kind = format_of(path)
    except UnknownFormatError as error:
        raise UsageError(f"{error}; or .csv, .tsv, .npy, .npz") from error
    vocabulary: Any = None
    if kind.vocabulary:
        try:
            vocabulary = find_vocabulary(path)
        except FileNotFoundError:
            vocabulary = NUMBERS if kind.vocabulary == "needed" else None
    corpus = read_corpus(path, kind.name, vocabulary)
    is_matrix = kind.name == "mtx" and vocabulary == NUMBERS
    if 0 in corpus.counts.shape:
        raise CorpusFormatError(f"{path}: there is no document or no word in it")
    entries: Any = corpus.counts.tocoo()
    cells = np.stack(entries.coords, axis=1).astype(np.int64)
    return CountTable(
        path,
        "matrix" if is_matrix else "documents",
        axis_names(2) if is_matrix else ("doc", "word"),
        (tuple(corpus.doc_ids), tuple(corpus.vocabulary)),
        CellCounts(cells, entries.data.astype(np.int64), tuple(corpus.counts.shape)),
    )
