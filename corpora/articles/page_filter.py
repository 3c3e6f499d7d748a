"""Filter of pages by title and category, applied before a page is parsed."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from corpora.articles.page import Page
from corpora.files import sha256_of

LINK = re.compile(r"\[\[\s*([^\[\]|:\n]{1,60}):([^\[\]|\n]{1,255})[|\]]")


@dataclass(frozen=True)
class PageFilter:
    """Whether a page is wanted: by its title, if titles are given, and by the categories that its
    wikitext names, if categories are given. An instance can be pickled.
    """

    titles: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()

    @classmethod
    def of(cls, titles: Iterable[str] = (), categories: Iterable[str] = ()) -> "PageFilter":
        """The filter for titles and categories as people write them: with underscores, without the
        capital that most wikis give to the first letter.
        """
        titles = [usual_name(title) for title in titles]
        return cls(
            frozenset(titles) | frozenset(map(capitalized, titles)),
            frozenset(capitalized(usual_name(category)) for category in categories),
        )

    def __call__(self, page: Page) -> bool:
        """Whether the page is wanted."""
        if self.titles and page.title not in self.titles:
            return False
        return not self.categories or not self.categories.isdisjoint(categories_of(page))

    def stamp(self) -> str:
        """Return 16 hexadecimal digits that other filters do not have."""
        fields = [sorted(self.titles), sorted(self.categories)]
        return sha256_of(json.dumps(fields).encode())[:16]


def categories_of(page: Page) -> set[str]:
    """Return the names of the categories that the wikitext of a page names, without their
    namespace. Categories that a template adds are not in the wikitext.
    """
    return {
        capitalized(usual_name(name))
        for namespace, name in LINK.findall(page.wikitext)
        if usual_name(namespace).lower() in page.site.category_namespaces
    }


def usual_name(name: str) -> str:
    """Return a name with single spaces in the place of underscores."""
    return " ".join(name.replace("_", " ").split())


def capitalized(name: str) -> str:
    """Return a name with a capital first letter, as MediaWiki stores names of categories."""
    return name[:1].upper() + name[1:]
