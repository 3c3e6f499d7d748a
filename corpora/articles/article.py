"""One Wikipedia article: its main text and its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | int | float | bool | None | tuple[str, ...]
"""Value of a column that came along with a text; a tuple holds several, as categories are."""


@dataclass(frozen=True, slots=True)
class Article:
    """One article as it is stored. `text` is the main text alone: paragraphs separated by blank
    lines, and headings on lines of their own, such as `== History ==`. Text of Wikipedia is CC
    BY-SA: `url` and `revision_id` name the revision to attribute.
    """

    page_id: int  #: MediaWiki's page id; negative if it was made from the title.
    revision_id: int  #: MediaWiki's revision id; 0 if the source has none.
    title: str
    url: str
    timestamp: str  #: Time of the revision, ISO 8601 in UTC; empty if the source does not say.
    language: str
    license: str
    text: str
    columns: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Other columns of the row that the text came from, in their order; of a wiki's page those of
    `corpora.articles.page_columns`."""

    @property
    def document_id(self) -> str:
        """Unique name of the article, with the language of its wiki: `en:12`."""
        return f"{self.language}:{self.page_id}"

    def sections(self) -> list[tuple[str, str]]:
        """Return the top-level sections with text as (heading, text), first the lead with an empty
        heading. Deeper headings stay in the text of their section.
        """
        sections: list[tuple[str, list[str]]] = [("", [])]
        for line in self.text.split("\n"):
            level, title = heading_of(line)
            if level == 2:
                sections.append((title, []))
            else:
                sections[-1][1].append(line)
        texts = [(title, "\n".join(lines).strip()) for title, lines in sections]
        return [(title, text) for title, text in texts if text]


def heading_of(line: str) -> tuple[int, str]:
    """Return level (2 to 6) and title of a heading, `== History ==`; level 0 for other lines."""
    line = line.strip()
    left, right = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    level = min(left, right, 6)
    title = line[level:-level].strip() if level >= 2 else ""
    return (level, title) if title else (0, "")


def without_headings(text: str) -> str:
    """Return `text` with its heading lines made empty: a heading is a label, not a sentence."""
    lines = text.split("\n")
    return "\n".join("" if heading_of(line)[0] else line for line in lines)
