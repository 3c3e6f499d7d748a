"""One wiki of each language in a store: another's page ids would be taken for the same articles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.articles.attribution import site_of_address
from corpora.articles.mediawiki_xml import read_pages
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from corpora import ArticleStore


def refuse_another_wiki(store: ArticleStore, language: str, address: str) -> None:
    """See to it that `store` holds no articles of this language from another wiki.

    Raises
    ------
    UsageError
        If it does.
    """
    site = site_of_address(address)
    for there, other in store.sites() if store.exists and site else ():
        if there == language and other != site:
            raise UsageError(
                f"{store.path} holds the {language} articles of {other}, whose page ids are not "
                f"those of {site}: choose another --output"
            )


def refuse_file_of_another_wiki(source: str, store: ArticleStore, path: str) -> None:
    """The same for a dump or a search-index dump, by its first page; other files name no wiki."""
    if not store.exists or not Path(path).is_file() or source == "jsonl":
        return
    if source == "cirrus":
        from downloader.cirrus import site_of_file  # noqa: PLC0415 - it brings the network along

        refuse_another_wiki(store, *site_of_file(path))
    elif (first := next(read_pages(path), None)) is not None:
        refuse_another_wiki(store, first.site.language, first.site.article_path)
