"""Rows of JSON lines: one object a line, its keys the columns; one file or a folder of them.

`revision_id`, `timestamp`, `language` and `license` are those of the article too, as in
`corpora.articles.json_lines`; they and all other keys come along.
"""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from corpora.articles.article import Article
from corpora.articles.json_lines import json_object
from corpora.errors import CorpusFormatError
from corpora.formats.lines import LineReader
from corpora.inputs.rows import RowReader
from corpora.inputs.table_files import articles_of_files, table_files

ENDINGS = (".jsonl", ".ndjson")
LINES_ASKED = 200  # Lines by which it is told which columns there are


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield line number and object of each line that is not blank. Raises CorpusFormatError, naming
    the line, if one is malformed.
    """
    for number, line in LineReader(path).lines():
        if not line.strip():
            continue
        try:
            yield number, json_object(line, "utf-8")
        except ValueError as error:
            raise CorpusFormatError(
                f"{path}, line {number}: {error}; each line must hold one whole object"
            ) from error


class JsonTable:
    """Rows of one file or of all files of a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = table_files(path, ENDINGS)

    def reader(self, text_column: str, id_column: str, language: str) -> RowReader:
        """Return what makes articles of the rows; the first ones tell which columns there are."""
        kinds: dict[str, set[type]] = {}
        for _, row in islice(chain.from_iterable(map(json_rows, self.files)), LINES_ASKED):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(type(value))
        strings, source = [name for name, found in kinds.items() if str in found], str(self.path)
        columns = (list(kinds), text_column, id_column)
        return RowReader(*columns, language, source, strings=strings, is_articles=True)

    def articles(self, reader: RowReader) -> Iterator[Article]:
        """Yield the articles of all files."""
        rows = ((file, line, row) for file in self.files for line, row in json_rows(file))
        yield from articles_of_files(reader, self.path, rows, "line")
