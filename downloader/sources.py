"""Sources of articles that need no live wiki: the sample, dumps, JSON Lines and search indices."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from corpora.articles.article import Article
from corpora.articles.compressed import progress_from
from corpora.articles.json_lines import read_json_lines
from corpora.articles.mediawiki_xml import read_articles, read_pages
from corpora.articles.page import Page, Skipped
from corpora.errors import CorpusFormatError

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
"""Built-in sample in gensim's wheel: 106 articles of English Wikipedia."""

EXPORT = re.compile(r".+\.xml(?:-p[0-9]{1,12}p[0-9]{1,12})?(?:\.(?:bz2|gz|xz))?")
FIRST_PAGE = re.compile(r"-p([0-9]{1,12})p[0-9]{1,12}\b")


class SampleMissingError(FileNotFoundError):
    """The installed gensim does not ship the sample; the message says what to install."""


def sample_path() -> Path:
    """Return the path of the excerpt of a MediaWiki dump in gensim's test data."""
    spec = find_spec("gensim")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / SAMPLE
        if path.exists():
            return path
    raise SampleMissingError(
        "the built-in sample is part of the gensim wheel, which is not installed or came without "
        "its test data: pip install --force-reinstall 'gensim>=4.4'"
    )


def export_files(path: Path) -> list[Path]:
    """Return the XML exports at `path`: one file, or those of a folder by their first pages.

    A file of Wikimedia names its first and last page: `enwiki-2026-09-01-p1p1000.xml.bz2`. Others
    come first, by name.

    Raises CorpusFormatError if the folder holds no export.
    """
    if not path.is_dir():
        return [path]
    files = [file for file in path.iterdir() if EXPORT.fullmatch(file.name) and file.is_file()]
    if not files:
        raise CorpusFormatError(
            f"{path}: no XML export of a wiki in this folder, .xml, .xml.bz2, .xml.gz or .xml.xz"
        )

    def place(file: Path) -> tuple[int, str]:
        match = FIRST_PAGE.search(file.name)
        return int(match[1]) if match else -1, file.name

    return sorted(files, key=place)


def read_exports(
    path: Path,
    *,
    n_processes: int = 1,
    known: Callable[[str, int], bool] | None = None,
    wanted: Callable[[Page], bool] | None = None,
    progress_bytes: Callable[[int], None] | None = None,
) -> Iterator[Article | Skipped]:
    """Yield what `read_articles` gives of each export at `path`; see `export_files`.

    `known` is asked for the language and the id of a page.
    """
    before = 0
    for file in export_files(path):
        known_here: Callable[[int], bool] | None = None
        if known is not None and file.is_file():
            first = next(read_pages(file), None)
            known_here = partial(known, first.site.language) if first else None
        yield from read_articles(
            file,
            n_processes=n_processes,
            known=known_here,
            wanted=wanted,
            progress_bytes=progress_from(before, progress_bytes),
        )
        before += file.stat().st_size


def read_source(
    source: str,
    path: str,
    *,
    limit: int | None = None,
    language: str = "en",
    n_processes: int = 1,
    progress_bytes: Callable[[int], None] | None = None,
) -> Iterator[Article]:
    """Yield the articles of a source, in its order.

    Parameters
    ----------
    source : "sample", "dump", "jsonl" or "cirrus"
    path : str
        Path of the file, or of a folder of dumps or cirrus files; ignored for the sample.
    limit : int, optional
        Maximal number of articles.
    language : str
        Language of a jsonl file that names none.
    n_processes : int
        Processes that parse wikitext; the articles are the same for any number.
    progress_bytes : callable, optional
        Is called with the number of bytes read so far.
    """
    if source == "jsonl":
        articles = read_json_lines(path, language=language, progress_bytes=progress_bytes)
    elif source == "cirrus":
        from downloader.cirrus import read_cirrus  # noqa: PLC0415 - it imports requests

        articles = read_cirrus(path, progress_bytes, n_processes=n_processes)
    else:
        dump = sample_path() if source == "sample" else Path(path)
        found = read_exports(dump, n_processes=n_processes, progress_bytes=progress_bytes)
        articles = (article for article in found if isinstance(article, Article))
    return islice(articles, limit)
