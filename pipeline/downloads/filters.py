"""Filters of the pages of a dump, from the settings."""

import logging
from pathlib import Path
from typing import Any

from corpora.articles.page_filter import PageFilter
from downloader.titles import read_lines, title_in
from pipeline.downloads.job import Status
from pipeline.errors import UsageError
from pipeline.settings import DownloadSettings

logger = logging.getLogger(__name__)


def page_filter(settings: DownloadSettings) -> PageFilter | None:
    """Return the filter for `titles` and `category`; None if every article is taken.

    Raises OSError or CorpusFormatError if the file of titles cannot be read; UsageError if it names
    no title, or the category is empty.
    """
    titles = [title for line in _lines(settings.titles) if (title := title_in(line))]
    if settings.titles and not titles:
        raise UsageError(f"--titles {settings.titles}: there is no title in this file")
    categories = [name.strip() for name in settings.category.split("|") if name.strip()]
    if settings.category and not categories:
        raise UsageError(f"--category names no category: {settings.category!r}")
    return PageFilter.of(titles, categories) if titles or categories else None


def warn_if_nothing_passed(
    settings: DownloadSettings, result: dict[str, Any], status: Status
) -> None:
    """Warn if files were read to their end, and the filters let no page through, in no run."""
    given = {"title": settings.titles, "category": settings.category}
    names = " and ".join(name for name, value in given.items() if value)
    files = status.files
    if not names or files is None or not result.get("finished", True):
        return
    has_read = files.fetched_bytes or files.read_bytes
    if has_read and not status.fields["added"] and not result["already_there"]:
        logger.warning("no page has such a %s: is it spelled as in the wiki?", names)


def _lines(path: str) -> list[str]:
    return list(read_lines(Path(path))) if path else []
