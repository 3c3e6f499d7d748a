"""A folder of texts: each `.txt` file a document, its path in the folder the id and the title."""

from collections.abc import Iterator
from pathlib import Path

from corpora.articles.article import Article
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, is_unicode
from corpora.formats.lines import BYTE_ORDER_MARK, shown
from corpora.formats.text_folder import file_content
from corpora.inputs.folder_files import input_names
from corpora.inputs.rows import RowReader

ENDING = ".txt"


def text_files(folder: PathLike) -> tuple[Path, ...]:
    """Paths of the texts of a folder and its subfolders, in the order of their names. Raises
    OSError if a folder cannot be read.
    """
    names = (name for name in input_names(Path(folder)) if name.lower().endswith(ENDING))
    return tuple(Path(folder, name) for name in sorted(names))


def text_articles(folder: PathLike, language: str) -> Iterator[Article]:
    """Yield the texts of a folder and its subfolders. Raises OSError if one cannot be read;
    CorpusFormatError, naming file and line, if one is not UTF-8.
    """
    folder = Path(folder)
    reader = RowReader(("id", "text"), "text", "id", language, str(folder))
    for i, file in enumerate(text_files(folder), 1):
        name = file.relative_to(folder).as_posix()
        if not is_unicode(name):
            raise CorpusFormatError(f"{folder}: the name of the file {shown(name)} is not UTF-8")
        article = reader.article(i, {"id": name, "text": read_text(file)}, f"file {name}")
        if article is not None:
            yield article
    reader.log_left_out()


def read_text(file: Path) -> str:
    """Return the text of a file. Raises CorpusFormatError, naming the line, if it is not UTF-8."""
    data = file_content(file)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CorpusFormatError(f"{file}: this is UTF-16 text; convert it to UTF-8")
    try:
        return data.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CorpusFormatError(
            f"{file}, line {line}: not UTF-8 (a byte is 0x{error.object[error.start]:02x});"
            " convert the file to UTF-8"
        ) from error
