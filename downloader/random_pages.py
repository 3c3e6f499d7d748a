"""All articles of a wiki in random order.

MediaWiki's `generator=random` sorts the pages by a random number that each page keeps. It starts at
a random one, goes up, and continues from zero to its start. So its continuations list every page
once, and the continuation is all of the cursor.
"""

from collections.abc import Callable, Iterator
from typing import Any

from downloader.errors import UnusableAnswerError
from downloader.live import (
    BATCH_SIZE,
    Batch,
    PageReader,
    TextForm,
    check_pages,
    resumed,
    saved_continuation,
)
from downloader.mediawiki_api import PAGE_MARGIN, MediaWikiApi


class RandomPages:
    """Every article of the main namespace in random order, without redirects.

    Parameters
    ----------
    api
        API of the wiki.
    text : "wikitext" or "html"
        Form of the pages from which articles are made.
    batch_size : int
        Pages a request.
    """

    def __init__(
        self, api: MediaWikiApi, text: TextForm = "wikitext", batch_size: int = BATCH_SIZE
    ) -> None:
        self.api = api
        self.batch_size = batch_size
        self.reader = PageReader(api, text)

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others."""
        return {"source": "random", "api": self.api.url, "text": self.reader.text}

    @property
    def language(self) -> str:
        """Language of the wiki."""
        return self.api.site().site.language

    def total(self) -> int | None:
        """Return the wiki's own count of its articles."""
        return self.api.site().n_articles or None

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield batches of articles; see `LiveSource`.

        Raises UnusableAnswerError if the wiki gives more than twice as many pages as it says it
        has.
        """
        cursor = cursor or {}
        if cursor.get("finished"):
            return
        n_seen = cursor.get("pages", 0) if isinstance(cursor.get("pages"), int) else 0
        max_pages = 2 * self.api.site().n_pages + PAGE_MARGIN
        params = {
            "generator": "random",
            "grnnamespace": "0",
            "grnfilterredir": "nonredirects",
            "grnlimit": str(self.batch_size),
            **self.reader.params,
        }
        for answer in resumed(self.api, params, saved_continuation(cursor), check_pages):
            n_seen += len(answer.pages)
            if n_seen > max_pages:
                raise UnusableAnswerError(
                    f"{self.api.url} gave {n_seen} pages, more than twice its own count:"
                    " random pages do not work there; use --source category or titles"
                )
            finished = answer.continuation is None
            before = cursor
            cursor = {"continue": answer.continuation, "pages": n_seen, "finished": finished}
            yield from self.reader.batches(answer.pages, known, before, Batch([], cursor, finished))
