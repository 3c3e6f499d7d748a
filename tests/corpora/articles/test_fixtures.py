"""Both routes to the main text, on pages and wikitext as wikis served them."""

import html
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from corpora.articles import rendered_html, wikitext
from tests.shared_data import SHARED, shared_file

pytestmark = pytest.mark.shared

FIXTURES = "mediawiki-fixtures"
EXPECTATIONS = json.loads((Path(__file__).parent / "expectations" / "pages.json").read_text())
"""Phrases that are in the main text of a page, and phrases of the page that are not."""

RENDERED = "api/pymediawiki/enwiki_extracts_random_rvparse.json"
NO_ARTICLES = {"User_talk-Koavf.html", "expected.html", "anarchism.txt"}
"""A talk page, what another program makes of the pages, and wikitext that was escaped twice."""
DEBRIS = re.compile(
    r"\[\d+\]|\[edit\]|\[edit source\]|\[citation needed\]|^\s*[\^↑]|\bRetrieved (?:on )?\d"
    r"|\{\{|\}\}|\]\]|\[\[|displaystyle|mw-parser-output|[.#][\w-]+ ?\{|\bmargin:|</?\w+>|�|https?://"
    r"|^(?:Main articles?|Further information|Part of a series on|Jump to navigation)\b|\(,|\( \)"
    r"|\n\n\n|  ",
    re.MULTILINE,
)
CITATION_MARK = re.compile(r"\[[^\[\]]{1,20}\]")


@cache
def rendered_pages():
    answers = json.loads(shared_file(f"{FIXTURES}/{RENDERED}").read_text()).values()
    answers = [answer for answer in answers if isinstance(answer, dict)]
    return {
        page["title"]: revision["*"]
        for answer in answers
        for page in answer.get("query", {}).get("pages", {}).values()
        for revision in page.get("revisions", [])
        if "*" in revision
    }


@cache
def source(name):
    if name.startswith(RENDERED):
        return rendered_pages()[name.partition("#")[2]]
    return shared_file(f"{FIXTURES}/{name}").read_text()


@cache
def extracted(name):
    return (wikitext if name.startswith("wikitext/") else rendered_html).main_text(source(name))


def letters(text):
    return re.sub(r"[\W_]+", "", html.unescape(text)).lower()


def html_names():
    folder = SHARED / FIXTURES
    if not folder.exists():
        return []
    files = sorted(folder.glob("html/**/*.htm*"))
    names = [path.relative_to(folder).as_posix() for path in files if path.name not in NO_ARTICLES]
    return names + [f"{RENDERED}#{title}" for title in rendered_pages()]


def wikitext_names():
    folder = SHARED / FIXTURES
    files = sorted(folder.glob("wikitext/**/*.txt"))
    return [path.relative_to(folder).as_posix() for path in files if path.name not in NO_ARTICLES]


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_expectations(name):
    text = letters(extracted(name))
    page = letters(source(name)) + letters(re.sub(r"<[^<>]*>", "", source(name)))
    for phrase in EXPECTATIONS[name]["kept"]:
        assert letters(phrase) in text, phrase
    for phrase in EXPECTATIONS[name]["dropped"]:
        assert letters(phrase) in page, phrase
        assert letters(phrase) not in text, phrase


@pytest.mark.parametrize("name", html_names() + wikitext_names())
def test_nothing_of_the_page_around_it_is_left(name):
    text = extracted(name)
    assert not [text[max(0, m.start() - 40) : m.end() + 40] for m in DEBRIS.finditer(text)]


class Sentences(HTMLParser):
    """An oracle: the sentences of paragraphs and lists outside the containers named here."""

    EXCLUDED = re.compile(
        r"(?:^|\s)(?:infobox|navbox|hatnote|reflist|reference|references|thumb|gallery|ambox|toc|mbox"
        r"|metadata|noprint|portal|sister|mwe-math|texhtml|mvar|chemf|IPA|geo|coordinates|mw-editsection"
        r"|noexcerpt|catlinks|printfooter|mw-ref|pcs-ref|pcs-collapse|Inline-Template|Template-Fact|error"
        r"|shortdescription|sidebar|haudio|dmbox|authority|mw-empty-elt|stub|rellink|dablink|noteTA"
        r"|languageicon|ilh-comment|mw-jump|NavFrame|mw-indicator|mf-icon|minerva|wot_shield|free"
        r"|refbegin|image|languagelist)"
    )
    TAGS = re.compile("table|figure|style|script|math|svg|nav|footer|header|head|code|audio")
    VOID = re.compile("br|img|hr|input|link|meta|wbr|source|area|col|track")
    BLOCKS = re.compile("p|li|dd|dt|div|ul|ol|dl|br|h[1-6]|blockquote|section")
    APPARATUS = frozenset(
        """see also|notes|references|external links|further reading|footnotes|citations|bibliography
        |sources|references and sources|notes and references|gallery|注释|參考文獻|參考資料|外部連結
        |外部链接|参考文献|参考資料|延伸阅读|備注|延伸閱讀|參見|相關條目|另見
        |مراجع|المراجع|انظر أيضاً|وصلات خارجية|هوامش
        |reference""".replace("\n        ", "").split("|")
    )

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.n_excluded = 0
        self.chunks = [""]
        self.heading = None
        self.in_apparatus = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        if self.BLOCKS.fullmatch(tag):
            self.chunks.append("")
        if self.VOID.fullmatch(tag):
            return
        hidden = "display:none" in attributes.get("style", "").replace(" ", "")
        excluded = (
            self.TAGS.fullmatch(tag) is not None
            or self.EXCLUDED.search(attributes.get("class", "")) is not None
            or "mw:Extension/" in attributes.get("typeof", "")
            or attributes.get("role") in {"navigation", "note"}
            or attributes.get("id") in {"catlinks", "toc", "siteSub", "coordinates"}
            or (hidden and tag != "section")
        ) and tag not in {"body", "html", "section"}
        self.open.append((tag, excluded))
        self.n_excluded += excluded
        if tag in {"h2", "h3"} and not self.n_excluded:
            self.heading = ""

    def handle_endtag(self, tag):
        if self.BLOCKS.fullmatch(tag):
            self.chunks.append("")
        if not any(name == tag for name, _ in self.open):
            return
        while self.open:
            name, excluded = self.open.pop()
            self.n_excluded -= excluded
            if name == tag:
                break
        if tag in {"h2", "h3"} and self.heading is not None:
            apparatus = self.heading.strip().lower() in self.APPARATUS
            self.in_apparatus = apparatus or (self.in_apparatus and tag == "h3")
            self.heading = None

    def handle_data(self, data):
        if self.n_excluded:
            return
        if self.heading is not None:
            self.heading += data
        elif not self.in_apparatus and any(tag in {"p", "li", "dd"} for tag, _ in self.open):
            self.chunks[-1] += data

    def sentences(self):
        found = (part for chunk in self.chunks for part in re.split(r"(?<=[.!?。])\s+", chunk))
        return [" ".join(sentence.split()) for sentence in found if len(letters(sentence)) > 8]


@pytest.mark.parametrize("name", html_names())
def test_no_sentence_of_the_body_is_lost(name):
    text, page = letters(CITATION_MARK.sub("", extracted(name))), source(name)
    content = re.search(
        r"<div[^<>]* id=\"mw-content-text\".*?(?=<div id=\"catlinks|\Z)", page, re.DOTALL
    )
    sentences = Sentences(content[0] if content else page).sentences()
    if len(page) > 30_000 and "/avere" not in name and "/kuulua" not in name:
        assert sentences
    lost = [s for s in sentences if letters(CITATION_MARK.sub("", s)) not in text]
    assert [sentence for sentence in lost if not sentence.startswith("Template:")] == []
