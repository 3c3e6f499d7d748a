"""Check that a store holds one wiki for each language: page ids of two wikis would collide."""

from pathlib import Path

from corpora import ArticleStore
from corpora.articles.attribution import site_of_address
from corpora.articles.mediawiki_xml import read_pages
from downloader.sources import export_files
from pipeline.errors import UsageError


def refuse_another_wiki(store: ArticleStore, language: str, address: str) -> None:
    """Refuse a store that holds articles of this language from another wiki.

    Raises UsageError if it holds such articles.
    """
    site = site_of_address(address)
    for there, other in store.sites() if store.exists and site else ():
        if there == language and other != site:
            raise UsageError(
                f"{store.path} holds the {language} articles of {other}, whose page ids are not "
                f"those of {site}: choose another --output"
            )


def refuse_file_of_another_wiki(source: str, store: ArticleStore, path: str) -> None:
    """Refuse a dump of another wiki, by its first page; other files name no wiki."""
    if source == "dump" and Path(path).is_dir():
        path = str(export_files(Path(path))[0])
    if not store.exists or not Path(path).is_file() or source == "jsonl":
        return
    if source == "cirrus":
        from downloader.cirrus import site_of_file  # noqa: PLC0415 - it brings the network along

        refuse_another_wiki(store, *site_of_file(path))
    elif (first := next(read_pages(path), None)) is not None:
        refuse_another_wiki(store, first.site.language, first.site.article_path)
