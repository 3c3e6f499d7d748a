"""The articles whose titles a file lists."""

from __future__ import annotations

import hashlib
import unicodedata
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from corpora.errors import CorpusFormatError
from downloader.live import (
    BATCH_SIZE,
    Batch,
    PageReader,
    Skipped,
    TextForm,
    check_named,
    shown,
)
from downloader.mediawiki_api import is_unicode, malformed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from downloader.mediawiki_api import MediaWikiApi, QueryBatch

LONGEST_LINE = 1024
"""Bytes. No title is longer than 255; an anchor or a namespace may come on top."""
LISTS = {
    "normalized": ("from", "to"),
    "converted": ("from", "to"),
    "redirects": ("from", "to"),
    "interwiki": ("title",),
}
"""What an answer holds beside pages, and the strings that the members of each list have."""
LONGEST_ADDRESS = 6000
"""Bytes that the titles of a request may take in its address; servers take 8,000 in all."""


class Titles:
    """The articles whose titles stand in a UTF-8 file, one a line; redirects are followed.

    Blank lines and lines that begin with `#`, which no title does, are passed over. The cursor
    remembers the lines that are done, so that a file which has grown goes on where its former end
    was, while one that was changed before that starts anew.

    Parameters
    ----------
    api
        Of the wiki.
    path
        The file.
    text : "wikitext" or "html"
        What articles are made from.
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
        """Tells this source from others."""
        return {
            "source": "titles",
            "api": self.api.url,
            "text": self.reader.text,
            "file": str(self.path.resolve()),
        }

    @property
    def language(self) -> str:
        """That of the wiki."""
        return self.api.site().site.language

    def total(self) -> int | None:
        """How many titles the file lists.

        Raises
        ------
        CorpusFormatError
            If a line is no UTF-8 or too long for a title.
        """
        return sum(1 for line in read_lines(self.path) if title_in(line))

    def batches(
        self, cursor: dict[str, Any] | None, known: Callable[[int], bool]
    ) -> Iterator[Batch]:
        """Batches of articles; see `LiveSource`.

        Raises
        ------
        OSError
            If the file cannot be read.
        CorpusFormatError
            If a line is no UTF-8 or too long for a title.
        """
        n_done = self._lines_done(cursor or {})
        digest = hashlib.sha256()
        titles: list[str] = []
        before = cursor if cursor and n_done else {}
        n_lines = n_bytes = 0
        for line in chain(read_lines(self.path), [None]):
            title = "" if line is None or n_lines < n_done else title_in(line)
            n_bytes += len(quote(f"{title}|")) if title else 0
            full = len(titles) >= self.batch_size or n_bytes > LONGEST_ADDRESS
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
        """How many lines of the file, as it is now, are done."""
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
        """The articles with these titles."""
        impossible = [title for title in titles if is_impossible(title)]
        fates = Fates()
        possible = [title for title in titles if not is_impossible(title)]
        if possible:
            self._ask(possible, fates)
        skipped = fates.skipped
        if impossible:
            skipped.setdefault("invalid", []).extend(map(shown, impossible))
        last = Batch([], after, finished, skipped)
        yield from self.reader.batches(list(fates.pages.values()), known, before, last)

    def _ask(self, titles: Sequence[str], fates: Fates) -> None:
        """Ask what has become of these titles."""
        params = {"titles": "|".join(titles), "redirects": "1", **self.reader.params}
        for answer in self.api.query(params, None, check_titles):
            for title in titles:
                if fates.settle(title, answer, alone=len(titles) == 1):
                    continue
                if len(titles) == 1:
                    fates.skip("missing", title)
                else:  # the answer has it under another name than is known here: ask for it alone
                    self._ask([title], fates)


class Fates:
    """What has become of titles: pages, each once, and titles that led to none."""

    def __init__(self) -> None:
        self.pages: dict[object, dict[str, Any]] = {}
        self.skipped: Skipped = {}

    def skip(self, reason: str, title: str) -> None:
        """Remember that a title led to no article of its own."""
        self.skipped.setdefault(reason, []).append(shown(title))

    def settle(self, title: str, answer: QueryBatch, *, alone: bool) -> bool:
        """Find what the answer says of a title; False if it does not seem to mention it."""
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
    """A list of renamings as a mapping."""
    pairs: dict[str, str] = {}
    for entry in answer.answers.get(name, []):
        former = unquote(entry["from"]) if entry.get("fromencoded") else entry["from"]
        pairs[former] = entry["to"]
    return pairs


def names_in(answer: QueryBatch, name: str) -> set[str]:
    """The titles in a list."""
    entries = answer.answers.get(name, [])
    return {entry["title"] for entry in entries}


def check_titles(answer: QueryBatch) -> None:
    """Raise `BadAnswer` if an answer about titles is malformed."""
    for name, fields in LISTS.items():
        for entry in answer.answers.get(name, []):
            if not isinstance(entry, dict):
                raise malformed(f"`{name}` holds something else than objects")
            if not all(isinstance(entry.get(field), str) for field in fields):
                raise malformed(f"a member of `{name}` names no titles")
    check_named(answer)


def follow(pairs: Mapping[str, str], title: str) -> str:
    """Where a title leads; itself if that is a circle."""
    target = title
    for _ in pairs:
        if target not in pairs:
            break
        target = pairs[target]
    return target


def is_impossible(title: str) -> bool:
    """Whether a title cannot even be asked for: `|` parts titles, control characters are lost."""
    return not is_unicode(title) or any(c == "|" or c < " " or c == "\x7f" for c in title)


def title_in(line: str) -> str:
    """The title on a line, as wikis have them normalised; empty if there is none."""
    title = unicodedata.normalize("NFC", line.strip())
    return "" if title.startswith("#") else title


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, without their ends."""
    with path.open("rb") as file:
        for number in count(1):
            line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
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
