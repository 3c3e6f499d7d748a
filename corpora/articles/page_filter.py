"""Filter of pages by title and category, applied before a page is parsed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from corpora.articles.page import Page, categories_of
from corpora.articles.wikitext import CATEGORY_NAMESPACES
from corpora.files import sha256_of


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
        capital that most wikis give to the first letter, categories with or without `Category:`.
        """
        categories = map(without_namespace, categories)
        names = ([usual_name(name) for name in given] for given in (titles, categories))
        return cls(*(frozenset(each) | frozenset(map(capitalized, each)) for each in names))

    def __call__(self, page: Page) -> bool:
        """Whether the page is wanted."""
        if self.titles and page.title not in self.titles:
            return False
        return not self.categories or not self.categories.isdisjoint(categories_of(page))

    def stamp(self) -> str:
        """Return 16 hexadecimal digits that other filters do not have."""
        fields = [sorted(self.titles), sorted(self.categories)]
        return sha256_of(json.dumps(fields).encode())[:16]


def usual_name(name: str) -> str:
    """Return a name with single spaces in the place of underscores."""
    return " ".join(name.replace("_", " ").split())


def without_namespace(category: str) -> str:
    """Return the name of a category without the namespace."""
    namespace, _, name = category.partition(":")
    return name if name and namespace.strip().lower() in CATEGORY_NAMESPACES else category


def capitalized(name: str) -> str:
    """Return a name with a capital first letter, as most wikis store it."""
    return name[:1].upper() + name[1:]
