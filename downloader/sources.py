"""Where articles come from, one name each."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.articles.json_lines import read_json_lines
from corpora.articles.mediawiki_xml import read_pages
from corpora.articles.page import page_to_article
from corpora.worker_pool import ordered_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from corpora.articles.article import Article

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
"""The built-in sample: 106 articles of English Wikipedia, in gensim's wheel."""


class SampleMissingError(FileNotFoundError):
    """The installed gensim does not ship the sample; the message says what to install."""


def sample_path() -> Path:
    """The MediaWiki dump excerpt that the gensim wheel ships in its test data."""
    spec = find_spec("gensim")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / SAMPLE
        if path.exists():
            return path
    raise SampleMissingError(
        "the built-in sample is part of the gensim wheel, which is not installed or came without "
        "its test data: pip install --force-reinstall 'gensim>=4.4'"
    )


def read_source(
    source: str,
    path: str,
    *,
    limit: int | None = None,
    language: str = "en",
    n_processes: int = 1,
    progress_bytes: Callable[[int], None] | None = None,
) -> Iterator[Article]:
    """Articles of a source, in its order.

    Parameters
    ----------
    source : "sample", "dump", "jsonl" or "cirrus"
    path : str
        The file, for all but the sample.
    limit : int, optional
        At most so many articles.
    language : str
        Of a jsonl file that does not say.
    n_processes : int
        Processes that parse wikitext; the articles are the same for any number.
    progress_bytes : callable, optional
        Told how many bytes of the file have been read so far.
    """
    if source == "jsonl":
        articles = read_json_lines(path, language=language, progress_bytes=progress_bytes)
    elif source == "cirrus":
        from downloader.cirrus import read_cirrus  # noqa: PLC0415 - it brings the network along

        articles = read_cirrus(path, progress_bytes, n_processes=n_processes)
    else:
        dump = sample_path() if source == "sample" else Path(path)
        pages = read_pages(dump, progress_bytes=progress_bytes)
        found = ordered_map(page_to_article, pages, n_processes)
        articles = (article for article in found if article is not None)
    return islice(articles, limit)
