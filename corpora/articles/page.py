"""A page as a wiki gives it, with the wiki it is of, and the article that comes of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from corpora.articles.article import Article, Value
from corpora.articles.page_columns import categories_in, page_columns, quality_in
from corpora.articles.wikitext import CATEGORY_NAMESPACES, FILE_NAMESPACES, main_text

WIKIMEDIA_LICENSE = "CC BY-SA 4.0"
WIKIMEDIA_ADDRESS = re.compile(
    r"https?://([\w-]+\.)*(wikipedia|wiktionary|wikibooks|wikiquote|wikisource|wikiversity"
    r"|wikivoyage|wikimedia)\.org/"
)
UNKNOWN_LANGUAGE = "und"

REDIRECT = re.compile(
    r"\s*#\s*(redirect|weiterleitung|redirection|redirección|rinvia|redirecionamento|doorverwijzing"
    r"|omdirigering|omdiriger|ohjaus|patrz|przekieruj|перенаправление|перенаправлення|転送|重定向"
    r"|넘겨주기|تحويل|הפניה)\s*:?\s*\[\[",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki, as it describes itself: in the head of an export, or in answer to a question."""

    language: str = UNKNOWN_LANGUAGE
    article_path: str = ""  # Address to which a title is appended; empty if the wiki does not say
    license: str = ""
    file_namespaces: frozenset[str] = FILE_NAMESPACES
    category_namespaces: frozenset[str] = CATEGORY_NAMESPACES
    own_category_namespaces: frozenset[str] = CATEGORY_NAMESPACES
    """Those of this wiki alone: its own names and the English one; all, where it tells none."""
    other_namespaces: frozenset[str] = frozenset()
    """Lower-case names of all namespaces but the main one."""
    is_capitalized: bool = True  # Whether titles begin with a capital, whatever links write

    @classmethod
    def described(
        cls,
        language: str,
        database: str,
        article_path: str,
        namespaces: Iterable[tuple[int, str]],
        own_license: str = "",
        case: str = "",
    ) -> "Site":
        """The wiki of these particulars, each empty if not known: code of its language, name of its
        database such as `enwiki`, `article_path` as above, numbers with names and aliases of its
        namespaces, its own word on its licence, which for wikis of Wikimedia is known, and on the
        case of titles, "first-letter" or "case-sensitive".
        """
        if not language or database == "simplewiki":  # which says "en", as enwiki does
            language = database.removesuffix("wiki").replace("_", "-")
        names = [(number, name.lower()) for number, name in namespaces if name]
        of_categories = frozenset(name for number, name in names if number == 14)
        return cls(
            language=language or UNKNOWN_LANGUAGE,
            article_path=article_path,
            license=WIKIMEDIA_LICENSE if WIKIMEDIA_ADDRESS.match(article_path) else own_license,
            file_namespaces=FILE_NAMESPACES.union(n for i, n in names if i in (-2, 6)),
            category_namespaces=CATEGORY_NAMESPACES | of_categories,
            own_category_namespaces=of_categories | {"category"} if names else CATEGORY_NAMESPACES,
            other_namespaces=frozenset(name for number, name in names if number != 0),
            is_capitalized=case != "case-sensitive",
        )

    def address_of(self, title: str) -> str:
        """The address of an article; empty if the wiki's own is not known."""
        if not self.article_path:
            return ""
        return self.article_path + quote(title.replace(" ", "_"), safe="/:;@$!*(),~'")


@dataclass(frozen=True, slots=True)
class Page:
    """The latest revision of a page, not yet parsed."""

    site: Site
    page_id: int
    revision_id: int
    title: str
    timestamp: str
    wikitext: str
    wikidata: str = ""  # Item of Wikidata, where the source tells it


@dataclass(frozen=True, slots=True)
class Skipped:
    """Page that gives no article, and the reason."""

    reason: Literal["other namespace", "redirect", "not wikitext", "no text", "known"]
    page: str  # Title of the page, or its id if it has none


def page_to_article(page: Page) -> Article | None:
    """Parse a page; None if it has no main text. Almost all of the time of reading goes here."""
    site = page.site
    text = main_text(page.wikitext, site.file_namespaces, site.category_namespaces)
    return article_of(page, text, columns_of(page)) if text else None


def columns_of(page: Page) -> dict[str, Value]:
    """Columns of a page's article, as its wikitext tells them."""
    return page_columns(
        categories_of(page),
        page.wikidata,
        len(page.wikitext),
        quality_in(page.wikitext, page.site.language),
    )


def categories_of(page: Page) -> list[str]:
    """Categories that a page's wikitext names, without their namespace; quick, parses nothing."""
    site = page.site
    return categories_in(
        page.wikitext, site.own_category_namespaces, capitalized=site.is_capitalized
    )


def article_of(page: Page, text: str, columns: Mapping[str, Value]) -> Article | None:
    """The article of a page with this main text; None if the text is empty."""
    if not text:
        return None
    site = page.site
    return Article(
        page_id=page.page_id,
        revision_id=page.revision_id,
        title=page.title,
        url=site.address_of(page.title),
        timestamp=page.timestamp,
        language=site.language,
        license=site.license,
        text=text,
        columns=columns,
    )
