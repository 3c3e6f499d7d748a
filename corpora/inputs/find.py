"""Content of a path, found from its bytes: articles, texts or counts, and how they are read."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal

from corpora.articles.article import Article
from corpora.articles.remote import is_url, path_of, read_bytes
from corpora.articles.store import ArticleStore
from corpora.corpus import Corpus
from corpora.corpus_files import HEADER
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, is_unicode
from corpora.formats import compression
from corpora.formats.compression import without_suffix
from corpora.formats.lines import BYTE_ORDER_MARK, LineReader, shown
from corpora.formats.registry import FORMATS, UnknownFormatError, format_of, read_corpus
from corpora.formats.vocabulary_file import NUMBERS, find_vocabulary
from corpora.inputs.csv_file import ENDINGS as CSV_ENDINGS
from corpora.inputs.csv_file import CsvTable
from corpora.inputs.folder_files import input_names, is_run
from corpora.inputs.h5ad import MAGIC as HDF5_MAGIC
from corpora.inputs.h5ad import read_h5ad, size_of
from corpora.inputs.json_lines import ENDINGS as JSON_ENDINGS
from corpora.inputs.json_lines import JsonTable
from corpora.inputs.parquet_file import ENDINGS as PARQUET_ENDINGS
from corpora.inputs.parquet_file import MAGIC as PARQUET_MAGIC
from corpora.inputs.parquet_file import ParquetTable
from corpora.inputs.rows import RowReader, is_of_wikipedia
from corpora.inputs.table_files import table_files
from corpora.inputs.text_files import ENDING as TEXT_ENDING
from corpora.inputs.text_files import text_articles, text_files

Kind = Literal["store", "texts", "counts"]

STORE, FOLDER, JSON, CSV, TSV, PARQUET = "store", "folder", "jsonl", "csv", "tsv", "parquet"
H5AD = "h5ad"
TEXT_FORMATS = {
    STORE: "article store",
    FOLDER: "folder of .txt files",
    JSON: "JSON lines",
    CSV: "CSV",
    TSV: "TSV",
    PARQUET: "Parquet",
}
"""Formats of texts, and how a line calls them; a name that is also one of counts is told by the
content."""

COUNT_FORMATS = {name: each.title for name, each in FORMATS.items()} | {H5AD: "AnnData"}
"""Formats of counts, and how a line calls them."""

MAGICS = {b"%%MatrixMarket": "mtx", PARQUET_MAGIC: PARQUET, HDF5_MAGIC: H5AD}
"""First bytes of files, and their formats."""

NAME_ENDS = {
    ".csv": CSV,
    ".tsv": TSV,
    ".tab": TSV,
    ".h5ad": H5AD,
    **dict.fromkeys(PARQUET_ENDINGS, PARQUET),
}
"""Ends of the names of files, and their formats."""

TABLE_ENDINGS = {PARQUET: PARQUET_ENDINGS, JSON: JSON_ENDINGS, CSV: CSV_ENDINGS, TSV: CSV_ENDINGS}
"""Formats of tables, and how the names of their files in a folder end."""

NPZ_END = ".npz"  # A zip archive, whose first bytes tell no more
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
FIRST_BYTES = 1 << 16


@dataclass(frozen=True)
class Input:
    """Content of a path, and how it is read. `find_input` makes one."""

    path: Path
    format: str  #: Name of the format, as `--format` takes it.
    kind: Kind
    text_column: str = ""
    id_column: str = ""
    vocabulary: str = ""
    language: str = ""  #: Language of texts that do not say theirs; empty for English.
    files: tuple[Path, ...] = field(default=(), repr=False)  #: Files of a folder, in order.

    def describe(self) -> str:
        """Say in a line what was found."""
        if self.format == H5AD:
            n_cells, n_genes = size_of(self.path)
            return f"{self.path}: AnnData, counts of {n_cells} cells × {n_genes} genes"
        if self.kind == "counts":
            return f"{self.path}: counts, {COUNT_FORMATS[self.format]}"
        if self.kind == "store":
            return f"{self.path}: {TEXT_FORMATS[STORE]}"
        if self.format == FOLDER:
            n_files = len(self.files)
            return f"{self.path}: folder of {n_files} text{'s' if n_files != 1 else ''}"
        if len(self.files) > 1:
            title = f"{len(self.files)} files of {TEXT_FORMATS[self.format]}"
            return f"{self.path}: {title}, {self.reader().describe()}"
        return f"{self.path}: {TEXT_FORMATS[self.format]}, {self.reader().describe()}"

    def stamp(self) -> str:
        """SHA-256, in hexadecimal, of the names of the files, their sizes and times of change; of a
        store, of its manifest.
        """
        if self.kind == "store":
            return sha256(read_bytes(self.path / "manifest.jsonl")).hexdigest()
        digest = sha256()
        for file in self._stamped:
            state = file.stat()
            name = file.relative_to(self.path).as_posix() if self.path.is_dir() else file.name
            digest.update(f"{name}\n{state.st_size} {state.st_mtime_ns}\n".encode(errors="replace"))
        return digest.hexdigest()

    @property
    def n_bytes(self) -> int:
        """Size of its files."""
        return sum(file.stat().st_size for file in self._stamped)

    def articles(self) -> Iterator[Article]:
        """Yield the articles, or texts. Raises ValueError if there are counts; OSError if a file
        cannot be read; CorpusFormatError, naming file and line, if one is malformed, after the
        articles before.
        """
        if self.kind == "counts":
            raise ValueError(f"{self.path} holds counts, no texts")
        if self.kind == "store":
            return iter(ArticleStore(self.path))
        if self.format == FOLDER:
            return text_articles(self.path, self.language)
        return _TABLES[self.format](self.path).articles(self.reader())

    def corpus(self) -> Corpus:
        """Read the counts. Raises ValueError if there are texts; OSError if a file cannot be read;
        CorpusFormatError, naming file and line, if one is malformed.
        """
        if self.kind != "counts":
            raise ValueError(f"{self.path} holds texts, no counts")
        if self.format == H5AD:
            return read_h5ad(self.path)
        return read_corpus(self.path, self.format, self.vocabulary or None)

    @property
    def _stamped(self) -> tuple[Path, ...]:
        if self.files:
            return self.files
        if self.path.is_dir():
            names = sorted(input_names(self.path))
            return tuple(self.path / name for name in names)
        words = self.vocabulary
        if not words and self.format in FORMATS and FORMATS[self.format].vocabulary == "needed":
            words = str(find_vocabulary(self.path))
        return (self.path, Path(words)) if words and words != NUMBERS else (self.path,)

    @property
    def has_ids(self) -> bool:
        """Whether texts have ids of their own, not numbers of rows or names of files."""
        return self.format != FOLDER and bool(self.reader().id_column)

    @property
    def has_page_ids(self) -> bool:
        """Whether ids are those of pages of a Wikipedia, as the column `page_id`, an export of a
        store, a structured snapshot or the address in the first row say, and not the table's own.
        """
        if self.format == FOLDER:
            return False
        reader = self.reader()
        if reader.id_column == "page_id" or reader.is_exported or reader.is_structured:
            return True
        first = next(self.articles(), None) if reader.url_column else None
        return first is not None and is_of_wikipedia(first)

    def reader(self) -> RowReader:
        """Return what makes articles of the rows of a table. Raises as `find_input`."""
        table = _TABLES[self.format](self.path)
        return table.reader(self.text_column, self.id_column, self.language)


def find_input(
    path: PathLike,
    format: str = "",  # noqa: A002 - the name of the option
    text_column: str = "",
    id_column: str = "",
    vocabulary: str = "",
    language: str = "",
) -> Input:
    """Return what `path` holds, in `format` or the format that its content tells. Raises
    FileNotFoundError if nothing is there; UnknownFormatError if there is no such format, or it has
    no columns and one is named; CorpusFormatError if no format can be told, a column is not there,
    or a store, folder or file is none of its format.
    """
    place = path_of(path)
    known = dict.fromkeys((*TEXT_FORMATS, *COUNT_FORMATS))
    if format and format not in known:
        raise UnknownFormatError(f"there is no format {format!r}, only {', '.join(known)}")
    if not is_url(place) and not place.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not is_unicode(str(path)):
        raise CorpusFormatError(f"the name {shown(str(path))} is not UTF-8: rename it")
    if not is_url(place) and not (place.is_file() or place.is_dir()):
        raise CorpusFormatError(
            f"{path}: no regular file but a pipe, a device or the like, and input is read more than"
            " once; store it in a file"
        )
    name, kind = _found(place, format, vocabulary)
    asked = text_column or id_column
    if asked and (kind != "texts" or name == FOLDER):
        raise UnknownFormatError(f"{path}: {_title(name)} has no columns, so none can be {asked!r}")
    if vocabulary:
        _check_vocabulary(path, name, kind)
    files: tuple[Path, ...] = ()
    if kind == "texts":
        files = _files_of(place, name)
    if name == FOLDER and not files:
        raise CorpusFormatError(
            f"{path}: no file in this folder ends in .txt, .csv, .tsv, .parquet or .jsonl"
        )
    found = Input(place, name, kind, text_column, id_column, vocabulary, language, files)
    if kind == "texts" and name != FOLDER:
        found.reader()  # raises now if a column is not there
    return found


def _check_vocabulary(path: PathLike, name: str, kind: Kind) -> None:
    """Raise UnknownFormatError if a format takes no vocabulary."""
    if kind != "counts":
        raise UnknownFormatError(f"{path}: {_title(name)} takes no vocabulary")
    if name in FORMATS and not FORMATS[name].vocabulary:
        raise UnknownFormatError(
            f"{path}: {_title(name)} holds its own words: leave the vocabulary out"
        )


def _found(path: Path, asked: str, vocabulary: str) -> tuple[str, Kind]:
    """Return name and kind of the format that is asked for, or that the content tells."""
    if not is_url(path) and path.is_file() and path.name.lower().endswith(SPREADSHEETS):
        raise CorpusFormatError(f"{path}: spreadsheets are not read; save the table as CSV")
    if not asked and not is_url(path) and path.is_file() and path.name.lower().endswith(NPZ_END):
        return "npz", "counts"
    if asked == JSON or (not asked and _is_json(path)):
        is_counts = bool(vocabulary) or (path.is_file() and _has_counts(path))
        return JSON, "counts" if is_counts else "texts"
    if asked:
        kinds: dict[str, Kind] = {STORE: "store"}
        return asked, kinds.get(asked, "texts" if asked in TEXT_FORMATS else "counts")
    if is_url(path) or (path / "manifest.jsonl").is_file():
        return STORE, "store"
    return _found_in_folder(path) if path.is_dir() else _found_file(path)


def _found_in_folder(path: Path) -> tuple[str, Kind]:
    """Return name and kind of a folder: a corpus, else files of Parquet, JSON lines, text or CSV,
    in this order, as a list of the texts may lie beside them.
    """
    if (path / HEADER).is_file():
        return "corpus", "counts"
    if is_run(path):
        raise CorpusFormatError(f"{path}: a run is no input; its counts are in {path / 'corpus'}")
    names = (name for name in (PARQUET, JSON, FOLDER, CSV) if _files_of(path, name))
    return next(names, FOLDER), "texts"


def _files_of(path: Path, name: str) -> tuple[Path, ...]:
    """Files of a folder in a format of texts; a table of one file is that file."""
    return text_files(path) if name == FOLDER else table_files(path, TABLE_ENDINGS[name])


def _found_file(path: Path) -> tuple[str, Kind]:
    """Return name and kind of a file, by its first bytes, else by its name, else by its lines."""
    start = _start(path)
    name = next((name for magic, name in MAGICS.items() if start.startswith(magic)), "")
    file = without_suffix(path.name).lower()
    name = name or next((name for end, name in NAME_ENDS.items() if file.endswith(end)), "")
    if not name:
        try:
            name = format_of(path).name
        except UnknownFormatError:
            name = CSV if _looks_like_table(start) else ""
    if not name:
        if file.endswith(TEXT_ENDING):
            raise CorpusFormatError(
                f"{path}: one file of text is one document; name the folder that holds your texts,"
                " or a table with a text in each row"
            )
        if start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"["):
            raise CorpusFormatError(f"{path}: a list of JSON; write an object a line, without [ ]")
        raise CorpusFormatError(
            f"{path}: neither its name nor its content tells what it is; name its format, one of"
            f" {', '.join(dict.fromkeys((*TEXT_FORMATS, *COUNT_FORMATS)))}"
        )
    return name, "texts" if name in TEXT_FORMATS else "counts"


def _start(path: Path) -> bytes:
    """The first bytes of a file, decompressed."""
    data = bytearray()
    for chunk in compression.read_bytes(path):
        data += chunk
        if len(data) >= FIRST_BYTES:
            break
    return bytes(data)


def _is_json(path: Path) -> bool:
    """Whether the first line that is not blank is a JSON object, or the name says so."""
    if is_url(path) or path.is_dir():
        return False
    if without_suffix(path.name).lower().endswith(JSON_ENDINGS):
        return True
    return _start(path).removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")


def _has_counts(path: Path) -> bool:
    """Whether the first lines are documents of `tokens` or `counts`, rather than of texts."""
    for _, line in islice(LineReader(path).lines(), 100):
        if line.strip():
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError):
                return False
            return (
                isinstance(fields, dict)
                and ("tokens" in fields) != ("counts" in fields)
                and "text" not in fields
            )
    return False


def _looks_like_table(start: bytes) -> bool:
    """Whether lines of text have the same number of separators, and at least one."""
    lines = [line for line in start.split(b"\n")[:20] if line.strip()]
    return any(
        len({line.count(mark) for line in lines[:-1]}) == 1 and lines[0].count(mark)
        for mark in (b",", b"\t", b";")
        if len(lines) > 2 and b"\0" not in start
    )


def _title(name: str) -> str:
    return TEXT_FORMATS[name] if name in TEXT_FORMATS else COUNT_FORMATS[name]


_TABLES: dict[str, Callable[[Path], CsvTable | JsonTable | ParquetTable]] = {
    CSV: CsvTable,
    TSV: CsvTable,
    JSON: JsonTable,
    PARQUET: ParquetTable,
}
