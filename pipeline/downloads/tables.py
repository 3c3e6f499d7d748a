"""Tables and folders of texts as sources of a store, and the record of what was read.

    DIR/download/input-<12 hexadecimal digits of the stamp>.json

holds the path, the columns that were taken, the files with their sizes and the number of articles.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from corpora import ArticleStore, CorpusFormatError
from corpora.files import atomic_write_text
from pipeline.errors import UsageError
from pipeline.settings import DEFAULT_LANGUAGE, DownloadSettings

if TYPE_CHECKING:
    from pathlib import Path

    from corpora.inputs import Input

SOURCES = ("csv", "parquet", "folder")
RECORD = "input-"


@dataclass(frozen=True)
class InputRecord:
    """Record of what was read into a store."""

    source: str
    input: str  # Absolute path
    describe: str
    stamp: str
    files: list[tuple[str, int]]  # Name and bytes of each
    is_numbered: bool  # Whether the ids are the numbers of the rows
    articles_read: int | None = None  # None until all were read


def table_of(settings: DownloadSettings) -> Input:
    """Return the table or folder that the settings name. Raises what `find_input` does."""
    # Not at the top, as other sources do not need it, nor scipy.sparse, which it imports.
    from corpora.inputs import find_input  # noqa: PLC0415

    language = "" if settings.language == DEFAULT_LANGUAGE else settings.language
    return find_input(
        settings.input, settings.source, settings.text_column, settings.id_column, language=language
    )


def begin_record(found: Input, store: ArticleStore) -> InputRecord:
    """Write what is about to be read into a store.

    Raises UsageError if the rows are numbered and the store holds something else: their numbers
    could be the page ids of other articles, which would be taken for the same.
    """
    path = str(found.path.resolve())
    is_numbered = found.format in ("csv", "tsv", "parquet") and not found.reader().id_column
    directory = store.path / "download"
    if is_numbered and store.exists and len(store):
        others = [each for each in _records(directory) if each["input"] == path]
        if not others:
            raise UsageError(
                f"{found.path} has no ids, so that its rows are numbered, and {store.path} holds"
                " articles with such numbers: name --id-column, or choose another --output"
            )
    record = InputRecord(
        found.format,
        path,
        found.describe(),
        found.stamp(),
        [(file.name, file.stat().st_size) for file in found.files or (found.path,)],
        is_numbered,
    )
    directory.mkdir(parents=True, exist_ok=True)
    _write(record, directory)
    return record


def end_record(record: InputRecord, store: ArticleStore, n_read: int) -> None:
    """Write how many articles were read."""
    _write(InputRecord(**asdict(record) | {"articles_read": n_read}), store.path / "download")


def _write(record: InputRecord, directory: Path) -> None:
    text = json.dumps(asdict(record), ensure_ascii=False, indent=1) + "\n"
    file = directory / f"{RECORD}{record.stamp[:12]}.json"
    atomic_write_text(file, text.encode(errors="replace").decode())


def _records(directory: Path) -> list[dict[str, object]]:
    records = []
    for file in sorted(directory.glob(f"{RECORD}*.json")):
        try:
            record = json.loads(file.read_text("utf-8"))
        except (ValueError, RecursionError) as error:
            raise CorpusFormatError(f"{file}: damaged ({error}); delete it") from error
        if isinstance(record, dict) and "input" in record:
            records.append(record)
    return records
