"""Articles of a category and of its subcategories."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from corpora.files import is_unicode
from downloader.answer import one_line
from downloader.errors import RefusedError, SourceError, UnusableAnswerError
from downloader.live import (
    BATCH_SIZE,
    Batch,
    PageReader,
    TextForm,
    check_named,
    resumed,
    saved_continuation,
)
from downloader.mediawiki_api import (
    PAGE_MARGIN,
    MediaWikiApi,
    QueryBatch,
    check_page,
    count_of,
    malformed,
    member,
    whole_number,
)
from downloader.titles import is_impossible

LIST_SIZE = 500  # Members a request: MediaWiki's maximum for users who are not bots
MAX_CATEGORIES = 500_000  # Limit of memory; a dump suits more than that


class Category:
    """The articles of a category and, breadth first, of its subcategories down to a depth.

    Each category is listed once, also if several contain it. First ids are listed, 500 a request;
    then the texts of unknown articles are requested.

    Parameters
    ----------
    api
        API of the wiki.
    name : str
        Name with or without `Category:`.
    depth : int
        0 is the category alone, 1 adds its subcategories.
    text : "wikitext" or "html"
        Form of the pages from which articles are made.
    batch_size : int
        Pages a request.

    Raises SourceError if no category can have that name.
    """

    def __init__(
        self,
        api: MediaWikiApi,
        name: str,
        depth: int = 0,
        text: TextForm = "wikitext",
        batch_size: int = BATCH_SIZE,
    ) -> None:
        if depth < 0:
            raise ValueError(f"depth must be at least 0, not {depth}")
        check_name(name)
        self.api = api
        self.name = name.strip()
        self.depth = depth
        self.batch_size = batch_size
        self.reader = PageReader(api, text)
        self._found: tuple[str, int] | None = None

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others."""
        return {
            "source": "category",
            "api": self.api.url,
            "text": self.reader.text,
            "category": self.name,
            "depth": self.depth,
        }

    @property
    def language(self) -> str:
        """Language of the wiki."""
        return self.api.site().site.language

    def total(self) -> int | None:
        """Return the number of pages in the category; None if there are subcategories to read."""
        return self._look_up()[1] if self.depth == 0 else None

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield batches of articles; see `LiveSource`.

        Raises RefusedError if the wiki has no such category; UnusableAnswerError if the categories,
        or the members of one, seem endless.
        """
        cursor = self._valid(cursor) or {"queue": [[self._look_up()[0], 0]], "seen": []}
        queue = deque((title, depth) for title, depth in cursor["queue"])
        # All categories so far, in order; the last of them are the queue.
        seen = dict.fromkeys([*cursor["seen"], *(title for title, _ in queue)])
        while queue:
            title, depth = queue[0]
            params = {
                "list": "categorymembers",
                "cmtitle": title,
                "cmtype": "page|subcat",
                "cmprop": "ids|title",
                "cmlimit": str(LIST_SIZE),
            }
            n_members = cursor["members"] if isinstance(cursor.get("members"), int) else 0
            for answer in resumed(self.api, params, saved_continuation(cursor), check_members):
                before = cursor
                members = answer.answers.get("categorymembers", [])
                n_members += len(members)
                self._check_count(title, n_members)
                for entry in members:
                    if entry["ns"] == 14 and depth < self.depth and entry["title"] not in seen:
                        seen[entry["title"]] = None
                        queue.append((entry["title"], depth + 1))
                if len(seen) > MAX_CATEGORIES:
                    raise UnusableAnswerError(
                        f"there are more than {MAX_CATEGORIES} categories below {self.name!r};"
                        " choose a smaller depth, or use a dump"
                    )
                if answer.continuation is None:
                    queue.popleft()
                cursor = {
                    "queue": [list(entry) for entry in queue],
                    "seen": list(seen)[: len(seen) - len(queue)],
                    "continue": answer.continuation,
                    "members": n_members if answer.continuation else 0,
                }
                ids = [entry["pageid"] for entry in members if entry["ns"] == 0]
                yield from self._articles(ids, known, before, cursor)

    def _articles(
        self,
        ids: list[int],
        known: Callable[[int], bool],
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> Iterator[Batch]:
        wanted = [page_id for page_id in dict.fromkeys(ids) if not known(page_id)]
        n_known = len(ids) - len(wanted)
        for start in range(0, len(wanted), self.batch_size):
            chunk = wanted[start : start + self.batch_size]
            params = {"pageids": "|".join(map(str, chunk)), **self.reader.params}

            def check(answer: QueryBatch, chunk: list[int] = chunk) -> None:
                if {page.get("pageid") for page in answer.pages} != set(chunk):
                    raise malformed("other pages than those requested")
                check_named(answer)

            for answer in self.api.query(params, None, check):
                yield from self.reader.batches(
                    answer.pages, known, before, Batch([], before, finished=False)
                )
        yield Batch([], after, finished=not after["queue"], already_there=n_known)

    def _check_count(self, title: str, n_members: int) -> None:
        """Raise `UnusableAnswerError` if a category has far more members than its wiki pages."""
        n_pages = self.api.site().n_pages
        if n_members > 2 * n_pages + PAGE_MARGIN:
            raise UnusableAnswerError(
                f"{self.api.url} lists {n_members} members of {one_line(title, 200)!r},"
                f" but says that it has only {n_pages} pages: its lists seem endless"
            )

    def _look_up(self) -> tuple[str, int]:
        """Return the category's full title and its number of pages; requested once."""
        if self._found is not None:
            return self._found
        site = self.api.site().site
        prefix, colon, _ = self.name.partition(":")
        has_prefix = colon and prefix.strip().lower() in site.category_namespaces
        title = self.name if has_prefix else f"Category:{self.name}"
        params = {"titles": title, "prop": "info|categoryinfo"}
        for answer in self.api.query(params, None, check_category):
            page = answer.pages[0]
            info = member(page, "categoryinfo")
            if page.get("ns") == 14 and (info or not page.get("missing")):
                self._found = page["title"], info.get("pages", 0)
                return self._found
        raise RefusedError(f"{self.api.url}: there is no category {self.name!r} in this wiki")

    @staticmethod
    def _valid(cursor: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the cursor, or None if it is malformed."""
        if cursor is None:
            return None
        queue, seen = cursor.get("queue"), cursor.get("seen")
        if not isinstance(queue, list) or not isinstance(seen, list):
            return None
        entries = all(
            isinstance(entry, list) and [type(part) for part in entry] == [str, int]
            for entry in queue
        )
        return cursor if entries and all(isinstance(title, str) for title in seen) else None


def check_name(name: str) -> None:
    """Raise `SourceError` if no category can have the name `name`."""
    if not name.strip() or is_impossible(name):
        raise SourceError(
            f"{one_line(name, 200)!r} is not the name of a category: give one name without"
            " | and control characters"
        )


def check_category(answer: QueryBatch) -> None:
    """Raise `BadAnswer` unless the answer has one page with a title and valid counts."""
    if answer.continuation is not None:
        raise malformed("it continues after all that was requested")
    if len(answer.pages) != 1 or not answer.pages[0].get("title"):
        raise malformed("another page than the requested one")
    page = answer.pages[0]
    if not is_unicode(page["title"]):
        raise malformed("half a surrogate pair in a title")
    if "pages" in (info := member(page, "categoryinfo")):
        count_of(info, "pages")


def check_members(answer: QueryBatch) -> None:
    """Raise `BadAnswer` if one of a category's members is malformed."""
    members = answer.answers.get("categorymembers")
    if members is None or len(members) > LIST_SIZE:
        raise malformed("no list of members, or a longer one than requested")
    for entry in members:
        check_page(entry)
        whole_number(entry, "pageid", 1)
        whole_number(entry, "ns", -2)
        if not entry.get("title") or not is_unicode(entry["title"]):
            raise malformed("a member without a title")
