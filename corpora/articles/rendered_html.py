"""Rendered HTML → main text: what a reader of the article reads, without the apparatus around it.

For all that MediaWiki serves: the text of `action=parse`, whole pages, Parsoid's HTML of the REST
interface, and the pages for its applications. What is not main text is known by element, class,
role or id, names of MediaWiki itself and of the templates of many wikis.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

from corpora.articles.main_sections import (
    CUT,
    joined,
    tidy_blocks,
    without_apparatus,
    without_invisible,
)
from corpora.articles.shallow_html import shallow
from corpora.articles.wikitext import FILE_NAMESPACES

MAX_CHARACTERS = 1 << 24
"""Characters that are looked at. The longest pages of Wikipedia have some 5 million."""

CONTENT = ("#mw-content-text", "#bodyContent", "#bodycontent", "#mw_contentholder")
"""Selectors of the article in old and new skins; other HTML is taken as a whole."""

DROPPED_TAGS = """
table figure figcaption figure-inline header footer nav aside head code audio video img map
object form button input label
"""
UNSEEN_TAGS = "script style link meta template noscript title"
DROPPED_ROLES = """
navigation note complementary banner search contentinfo dialog button doc-noteref doc-endnotes
"""
DROPPED_IDS = """
toc catlinks coordinates siteSub siteNotice contentSub contentSub2 jump-to-nav mw-navigation
firstHeading mw-page-base mw-head-base mw-head mw-panel footer authority-control normdaten
pcs-edit-section-title-description pcs-edit-section-add-title-description
Vorlage_Begriffsklärungshinweis Vorlage_Dieser_Artikel
"""
DROPPED_TYPE = re.compile(
    r"\bmw:(?:Extension/(?:ref|references|gallery|math|chem|ce|score|timeline|imagemap|graph"
    r"|syntaxhighlight|source|mapframe|maplink|indicator|phonos)\b|(?:File|Image|Video|Audio|Error"
    r"|DisplaySpace/none)\b)"
)
DROPPED_CLASSES = """
mw-editsection editsection pcs-edit-section-header-title
reference references reflist mw-references mw-references-wrap mw-ref mw-cite-backlink
mw-reflink-text need_ref_tag Inline-Template Template-Fact
infobox infobox_v2 infobox_v3 infobox_v1 sinottico taxobox biota
navbox navbox-styles navbox-container navigation-box vertical-navbox NavFrame NavContent sidebar
BoxenVerschmelzen Vorlage_Navigationsleiste noprint navigation-not-searchable
hatnote dablink rellink homonymie hauptartikel sieheauch vedi-anche nota-disambigua dabhide disambig
bandeau-container bandeau-article bandeau-section bandeau-portail bandeau-niveau-detail avviso
ambox tmbox ombox cmbox fmbox imbox dmbox mbox-small mbox-inside metadata stub asbox
portal portalbox portal-bar boîte-liste-portails liste-portail autres-projets
sistersitebox sister-box side-box sisterproject sister-bar sister-wikipedia
authority-control mw-authority-control catlinks mw-normal-catlinks
thumb thumbinner thumbcaption tright tleft floatright floatleft floatnone tmulti tsingle
gallery gallerybox mw-gallery-traditional
mw-halign-left mw-halign-right mw-halign-center mw-kartographer-container mw-kartographer-link
free image mw-file-description mw-tmh-player mediaContainer locmap timeline
toc toctitle mw-indicators mw-indicator mw-jump-link
coordinates geo geo-default geo-nondefault geo-dms geo-dec geo-multi-punct latitude longitude
mwe-math-element mwe-math-mathml-inline mwe-math-mathml-display mwe-math-fallback-image-inline
mwe-math-fallback-image-display mwe-math-fallback-source-inline
mwe-math-fallback-source-display tex texhtml chemf mvar
mw-highlight mw-code mw-parser-output-error
IPA ext-phonos haudio unicode-audio listen-file-header noexcerpt ilh-comment
mw-empty-elt mw-hidden shortdescription printfooter visualClear siteSub subpages mw-redirectedfrom
redirectMsg mw-contentSub mw-warning-with-logexcerpt mw-userconfigpublic error mw-ext-cite-error
sr-only visualhide
pcs-edit-section-link-container pcs-edit-section-title-description pcs-collapse-table-container
pcs-collapse-table-content pcs-footer-container pcs-ref pcs-ref-container pcs-fold-hr
pcs_edit_section_link_container pcs-collapse-table-collapsed-bottom pcs-collapse-table-collapsed
pcs-section-control languageicon noteTA switcher-label mw-collapsible-toggle zhwiki-search-aux
"""
SHOWN_TABLES = "cquote pullquote quotebox multicol multicol-begin col-begin"
"""Tables that only lay out quotations, or columns of a list."""

PARAGRAPH_TAGS = """
p div section article main body blockquote center ul ol dl hr h1 h2 h3 h4 h5 h6 address details
fieldset pre table tbody thead tfoot
"""
LINE_TAGS = "li dt dd br tr td th caption summary"

DROPPED_TAG = frozenset(DROPPED_TAGS.split())
UNSEEN = frozenset(UNSEEN_TAGS.split())
DROPPED_ROLE = frozenset(DROPPED_ROLES.split())
DROPPED_ID = frozenset(DROPPED_IDS.split())
DROPPED_CLASS = frozenset(DROPPED_CLASSES.split())
SHOWN_TABLE = frozenset(SHOWN_TABLES.split())
PARAGRAPH = frozenset(PARAGRAPH_TAGS.split())
LINE = frozenset(LINE_TAGS.split())
LISTS = frozenset(["ul", "ol", "dl"])
HEADINGS = {f"h{level}": max(level, 2) for level in range(1, 7)}

BREAKS = PARAGRAPH | LINE
TEMPLATE_NAMES = """
template vorlage modèle plantilla predefinição sjabloon mall mal szablon šablona şablon шаблон
テンプレート 模板 틀 قالب תבנית
"""
NAMESPACES_OF_THE_MISSING = FILE_NAMESPACES.union(TEMPLATE_NAMES.split())

HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
BLANKS = re.compile(r"[ \t\n\f\r]+")


def main_text(html: str) -> str:
    """The main text of a rendered article, in the form of `Article.text`; empty if there is none.
    The rules are those of `corpora.articles.wikitext.main_text`, but templates in a sentence stay.
    Malformed or hostile HTML raises nothing and takes linear time.
    """
    html = without_invisible(html[:MAX_CHARACTERS]).encode("utf-8", "replace").decode()
    document = LexborHTMLParser(shallow(html))
    root = content_of(document)
    if root is None:
        return ""
    blocks = without_apparatus(blocks_of(root))
    return joined(tidy_blocks(blocks))


def content_of(document: LexborHTMLParser) -> LexborNode | None:
    """The element that holds the article."""
    for selector in CONTENT:
        content = document.css_first(selector)
        if content is not None:
            return content
    return document.body


def blocks_of(root: LexborNode) -> Iterator[tuple[int, str]]:
    """Headings as (level, title) and paragraphs as (0, lines), less what is not main text."""
    pieces: list[str] = []
    level = 0  # of the heading that is open
    n_lists = 0  # that are open: a list is one paragraph, whatever its items hold
    for tag, ends, text in shown(root):
        n_outer = n_lists
        if tag in LISTS:
            n_lists += -1 if ends else 1
        if not tag:
            pieces.append(text)
        elif level and tag not in HEADINGS:
            pieces.append(" ")
        elif tag in LINE or (tag not in HEADINGS and n_outer and n_lists):
            pieces.append("\n")
        else:
            if pieces:
                yield level, "".join(pieces)
                pieces = []
            level = 0 if ends else HEADINGS.get(tag, 0)
    if pieces:
        yield level, "".join(pieces)


def shown(root: LexborNode) -> Iterator[tuple[str, bool, str]]:
    """Yield the visible text as ("", False, text), with `CUT` for dropped parts, and the tags of
    paragraphs, lines and headings as (tag, whether it ends, "").
    """
    open_elements: list[LexborNode] = []
    node = root.first_child
    while node is not None or open_elements:
        if node is None:
            node = open_elements.pop()
            if (tag := node.tag) in BREAKS:
                yield tag, True, ""
        elif (tag := node.tag) == "-text":
            yield "", False, BLANKS.sub(" ", node.text_content or "")
        elif tag not in UNSEEN and tag != "-comment":
            if is_dropped(node):
                yield "", False, CUT
            else:
                if tag in BREAKS:
                    yield tag, False, ""
                open_elements.append(node)
                node = node.first_child
                continue
        node = node.next


def is_dropped(node: LexborNode) -> bool:
    """Whether an element is not main text, and nothing in it is."""
    tag = node.tag or ""
    attributes = node.attributes
    classes = attributes.get("class") or ""
    if tag in DROPPED_TAG:
        return tag != "table" or SHOWN_TABLE.isdisjoint(classes.split())
    if not attributes:
        return False
    return (
        (bool(classes) and is_dropped_class(classes))
        or attributes.get("id") in DROPPED_ID
        or attributes.get("role") in DROPPED_ROLE
        or ("hidden" in attributes and tag != "section")
        or ("typeof" in attributes and DROPPED_TYPE.search(attributes["typeof"] or "") is not None)
        # Applications fold sections away, to be opened by the reader.
        or (
            "style" in attributes
            and tag != "section"
            and HIDDEN.search(attributes["style"] or "") is not None
        )
        or (tag == "a" and "new" in classes.split() and is_missing(attributes.get("title") or ""))
    )


@lru_cache(maxsize=10_000)
def is_dropped_class(classes: str) -> bool:
    """Whether any of the classes is one of what is not main text."""
    return not DROPPED_CLASS.isdisjoint(classes.split())


def is_missing(title: str) -> bool:
    """Whether a link to no page stands for a template or a picture that the wiki does not have."""
    namespace, colon, _ = title.partition(":")
    return bool(colon) and namespace.lower() in NAMESPACES_OF_THE_MISSING
