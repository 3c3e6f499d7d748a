"""Sources of articles that need no live wiki: the sample, dumps, JSON Lines and search indices."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from corpora.articles.article import Article
from corpora.articles.json_lines import read_json_lines
from corpora.articles.mediawiki_xml import read_articles

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
"""Built-in sample in gensim's wheel: 106 articles of English Wikipedia."""


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
        Path of the file; ignored for the sample.
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
        found = read_articles(dump, n_processes=n_processes, progress_bytes=progress_bytes)
        articles = (article for article in found if isinstance(article, Article))
    return islice(articles, limit)
