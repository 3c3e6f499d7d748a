"""Tables of one file, or of all files of a folder that end so, in the order of their names."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from corpora.articles.article import Article
from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.compression import without_suffix
from corpora.inputs.folder_files import input_names
from corpora.inputs.rows import Row, RowReader


def table_files(path: PathLike, endings: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the file, or those of a folder and its subfolders that end so, compressed or not."""
    place = Path(path)
    if not place.is_dir():
        return (place,)
    names = sorted(n for n in input_names(place) if without_suffix(n).lower().endswith(endings))
    return tuple(place / name for name in names)


def check_columns(reader: RowReader, file: Path, columns: Sequence[str], first: Path) -> None:
    """Raise CorpusFormatError if a file lacks a column that is used, which the `first` has."""
    needed = {*reader.text_columns, *filter(None, [reader.id_column])}
    if missing := needed - set(columns):
        raise CorpusFormatError(
            f"{file}: there is no column {min(missing)!r}, which {first.name} has"
        )


def articles_of_files(
    reader: RowReader, path: Path, rows: Iterable[tuple[Path, int, Row]], unit: str
) -> Iterator[Article]:
    """Yield the articles of rows, each with its file and its number there, which counts `unit`s,
    rows or lines; then log what was left out.
    """
    for i, (file, number, row) in enumerate(rows, 1):
        if file != path:
            place = f"row {i} ({unit} {number} of {file.relative_to(path)})"
            article = reader.article(i, row, place)
        else:
            article = reader.article(i, row, line=number if unit == "line" else 0)
        if article is not None:
            yield article
    reader.log_left_out()
