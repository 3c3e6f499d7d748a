"""All articles of a wiki in random order.

`generator=random` goes through the pages by a random number that each has for life, from a random
one up, then from zero to where it began. So following it lists every page once, and its
continuation is all that there is to remember.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from downloader.mediawiki_api import FEW_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from downloader.mediawiki_api import MediaWikiApi


class RandomPages:
    """Every article of the main namespace, redirects left out, from a random one on.

    Parameters
    ----------
    api
        Of the wiki.
    text : "wikitext" or "html"
        What articles are made from.
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
        """Tells this source from others."""
        return {"source": "random", "api": self.api.url, "text": self.reader.text}

    @property
    def language(self) -> str:
        """That of the wiki."""
        return self.api.site().site.language

    def total(self) -> int | None:
        """How many articles the wiki counts."""
        return self.api.site().n_articles or None

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Batches of articles; see `LiveSource`.

        Raises
        ------
        UnusableAnswerError
            If the wiki gives more than twice as many pages as it says it has.
        """
        cursor = cursor or {}
        if cursor.get("finished"):
            return
        n_seen = cursor.get("pages", 0) if isinstance(cursor.get("pages"), int) else 0
        most = 2 * self.api.site().n_pages + FEW_PAGES
        params = {
            "generator": "random",
            "grnnamespace": "0",
            "grnfilterredir": "nonredirects",
            "grnlimit": str(self.batch_size),
            **self.reader.params,
        }
        for answer in resumed(self.api, params, saved_continuation(cursor), check_pages):
            n_seen += len(answer.pages)
            if n_seen > most:
                raise UnusableAnswerError(
                    f"{self.api.url} gave {n_seen} pages, more than twice what it says it has;"
                    " random pages cannot be listed there: use --source category or titles"
                )
            finished = answer.continuation is None
            before = cursor
            cursor = {"continue": answer.continuation, "pages": n_seen, "finished": finished}
            yield from self.reader.batches(answer.pages, known, before, Batch([], cursor, finished))
