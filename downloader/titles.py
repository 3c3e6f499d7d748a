"""Articles whose titles a file lists."""

import hashlib
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from corpora.errors import CorpusFormatError
from corpora.files import is_unicode
from downloader.live import BATCH_SIZE, Batch, PageReader, Skipped, TextForm, check_named, shown
from downloader.mediawiki_api import MediaWikiApi, QueryBatch, malformed

MAX_LINE = 1024  # Bytes of a line. A title has at most 255, and may have a namespace and an anchor.
LISTS = {
    "normalized": ("from", "to"),
    "converted": ("from", "to"),
    "redirects": ("from", "to"),
    "interwiki": ("title",),
}
"""Lists of an answer beside its pages, and the string fields of their members."""
MAX_ADDRESS = 6000
"""Bytes of the titles in the address of a request; servers accept 8,000 for all of it."""


class Titles:
    """Articles whose titles are in a UTF-8 file, one a line; redirects are followed.

    Blank lines are skipped, and lines that begin with `#`, which no title does. The cursor has the
    number and a hash of the lines that are done: a file that has grown continues at its former end;
    a file that was changed before it starts again.

    Parameters
    ----------
    api
        API of the wiki.
    path
        File of titles.
    text : "wikitext" or "html"
        Form of the pages from which articles are made.
    batch_size : int
        Titles a request.
    """

    def __init__(
        self,
        api: MediaWikiApi,
        path: str | os.PathLike[str],
        text: TextForm = "wikitext",
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.api = api
        self.path = Path(path)
        self.batch_size = batch_size
        self.reader = PageReader(api, text)

    @property
    def identity(self) -> dict[str, str | int]:
        """Fields that distinguish this source from others."""
        return {
            "source": "titles",
            "api": self.api.url,
            "text": self.reader.text,
            "file": str(self.path.resolve()),
        }

    @property
    def language(self) -> str:
        """Language of the wiki."""
        return self.api.site().site.language

    def total(self) -> int | None:
        """Return the number of titles in the file.

        Raises CorpusFormatError if a line is not UTF-8 or too long for a title.
        """
        return sum(1 for line in read_lines(self.path) if title_in(line))

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Yield batches of articles; see `LiveSource`.

        Raises OSError if the file cannot be read; CorpusFormatError if a line is not UTF-8 or too
        long for a title.
        """
        n_done = self._lines_done(cursor or {})
        digest = hashlib.sha256()
        titles: list[str] = []
        before = cursor if cursor and n_done else {}
        n_lines = n_bytes = 0
        for line in chain(read_lines(self.path), [None]):
            title = "" if line is None or n_lines < n_done else title_in(line)
            n_bytes += len(quote(f"{title}|")) if title else 0
            full = len(titles) >= self.batch_size or n_bytes > MAX_ADDRESS
            if titles and (line is None or (title and full)):
                after = {"lines": n_lines, "sha256": digest.hexdigest()}
                yield from self._articles(titles, known, before, after, finished=line is None)
                before, titles, n_bytes = after, [], len(quote(f"{title}|"))
            if line is not None:
                n_lines += 1
                digest.update(line.encode() + b"\n")
                if title:
                    titles.append(title)

    def _lines_done(self, cursor: Mapping[str, Any]) -> int:
        """Return how many lines are done; 0 if the file was changed there."""
        n_done, expected = cursor.get("lines"), cursor.get("sha256")
        if not isinstance(n_done, int) or n_done < 1:
            return 0
        digest = hashlib.sha256()
        for number, line in enumerate(read_lines(self.path), start=1):
            digest.update(line.encode() + b"\n")
            if number == n_done:
                return n_done if digest.hexdigest() == expected else 0
        return 0

    def _articles(
        self,
        titles: Sequence[str],
        known: Callable[[int], bool],
        before: dict[str, Any],
        after: dict[str, Any],
        *,
        finished: bool,
    ) -> Iterator[Batch]:
        impossible = [title for title in titles if is_impossible(title)]
        found = Lookup()
        possible = [title for title in titles if not is_impossible(title)]
        if possible:
            self._ask(possible, found)
        skipped = found.skipped
        if impossible:
            skipped.setdefault("invalid", []).extend(map(shown, impossible))
        last = Batch([], after, finished, skipped)
        yield from self.reader.batches(list(found.pages.values()), known, before, last)

    def _ask(self, titles: Sequence[str], found: "Lookup") -> None:
        params = {"titles": "|".join(titles), "redirects": "1", **self.reader.params}
        for answer in self.api.query(params, None, check_titles):
            for title in titles:
                if found.match(title, answer, alone=len(titles) == 1):
                    continue
                if len(titles) == 1:
                    found.skip("missing", title)
                else:  # the answer has it under an unknown name: request it alone
                    self._ask([title], found)


class Lookup:
    """Pages of titles, each once, and titles that led to no page."""

    def __init__(self) -> None:
        self.pages: dict[object, dict[str, Any]] = {}
        self.skipped: Skipped = {}

    def skip(self, reason: str, title: str) -> None:
        """Note that a title led to no article of its own."""
        self.skipped.setdefault(reason, []).append(shown(title))

    def match(self, title: str, answer: QueryBatch, *, alone: bool) -> bool:
        """Find the page of a title in an answer; return whether the answer mentions the title."""
        redirects = pairs_in(answer, "redirects")
        name = follow(pairs_in(answer, "normalized") | pairs_in(answer, "converted"), title)
        target = follow(redirects, name)
        pages = {page.get("title"): page for page in answer.pages}
        page = answer.pages[0] if alone and len(answer.pages) == 1 else pages.get(target)
        is_elsewhere = target in names_in(answer, "interwiki")
        if name in redirects:
            self.skip("redirect", title)
        elif is_elsewhere:
            self.skip("other wiki", title)
        if page is not None:
            self.pages[page.get("pageid", target)] = page
        return page is not None or is_elsewhere or name in redirects


def pairs_in(answer: QueryBatch, name: str) -> dict[str, str]:
    """Return a list of renamed titles as a mapping."""
    pairs: dict[str, str] = {}
    for entry in answer.answers.get(name, []):
        former = unquote(entry["from"]) if entry.get("fromencoded") else entry["from"]
        pairs[former] = entry["to"]
    return pairs


def names_in(answer: QueryBatch, name: str) -> set[str]:
    """Return the titles in a list."""
    entries = answer.answers.get(name, [])
    return {entry["title"] for entry in entries}


def check_titles(answer: QueryBatch) -> None:
    """Raise `BadAnswer` if an answer about titles is malformed."""
    for name, fields in LISTS.items():
        for entry in answer.answers.get(name, []):
            if not isinstance(entry, dict):
                raise malformed(f"`{name}` has a member that is no object")
            if not all(isinstance(entry.get(field), str) for field in fields):
                raise malformed(f"a member of `{name}` has no title")
    check_named(answer)


def follow(pairs: Mapping[str, str], title: str) -> str:
    """Return the last title of a chain of renamings; `title` itself if that is a loop."""
    target = title
    for _ in pairs:
        if target not in pairs:
            break
        target = pairs[target]
    return target


def is_impossible(title: str) -> bool:
    """Whether a title cannot be requested: `|` separates titles, control characters are lost."""
    return not is_unicode(title) or any(c == "|" or c < " " or c == "\x7f" for c in title)


def title_in(line: str) -> str:
    """Return the title on a line in Unicode normal form C; empty if there is none."""
    title = unicodedata.normalize("NFC", line.strip())
    return "" if title.startswith("#") else title


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, without their ends."""
    with path.open("rb") as file:
        for number in count(1):
            line = file.readline(MAX_LINE + 1)
            if not line:
                return
            if len(line) > MAX_LINE:
                raise CorpusFormatError(
                    f"{path}, line {number}: longer than any title; expected one title a line"
                )
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise CorpusFormatError(
                    f"{path}, line {number}: not valid UTF-8 (byte {error.start})"
                ) from error
            yield text.rstrip("\r\n")
