"""One Wikipedia article: its main text and where it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1$", re.MULTILINE)
"""A heading line in `Article.text`: `== History ==`, as MediaWiki's plain-text extracts have it."""


@dataclass(frozen=True, slots=True)
class Article:
    """One article as it is stored.

    `text` is the main text alone: paragraphs parted by blank lines, headings on lines of their own
    in the form `== History ==` where the source has them. Text of Wikipedia is CC BY-SA: `url` and
    `revision_id` name the revision to attribute, `license` its licence.
    """

    page_id: int
    """MediaWiki's page id; negative where the source has none and one was made from the title."""
    revision_id: int
    """MediaWiki's revision id; 0 where the source has none."""
    title: str
    url: str
    timestamp: str
    """When the revision was made, ISO 8601 in UTC; empty where the source does not say."""
    language: str
    license: str
    text: str

    @property
    def document_id(self) -> str:
        """Name of the article that no other wiki shares: `en:12`."""
        return f"{self.language}:{self.page_id}"

    def sections(self) -> list[tuple[str, str]]:
        """The top-level sections as (heading, text), the lead first with an empty heading.

        Deeper headings stay inside the text of their section. Sections without text are left out.
        """
        sections: list[tuple[str, str]] = []
        heading, start = "", 0
        for match in HEADING.finditer(self.text):
            if len(match[1]) == 2:
                sections.append((heading, self.text[start : match.start()].strip()))
                heading, start = match[2], match.end()
        sections.append((heading, self.text[start:].strip()))
        return [(heading, text) for heading, text in sections if text]


def without_headings(text: str) -> str:
    """`text` less its heading lines: a heading is a label, not a sentence."""
    return HEADING.sub("", text)
