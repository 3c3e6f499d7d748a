"""Made-up exports of real size: texts of reference articles in the markup of real pages.

    python -m benchmarks.whole_wikipedia pages --pages 20000 --folder DIR [--seed 0] [--threads 2]

A page is made of paragraphs of a reference article, and of others that share a category with it,
up to a length that is drawn: log-normal, 700 words on average, median 340. Links, references,
templates, tables and pictures are put in as often as real pages have them for each word of text,
infoboxes, notes and categories as often as for each page, all of them cut from real pages: those of
gensim's excerpt of a dump and of the reference wikitext. The texts repeat themselves, and new words
would come to an end; so some are replaced by names that are made up, as often as words are new in
English Wikipedia. Beside each article are redirects, talk and user pages of such a number and size
that an article takes as many bytes of the export as in that of English Wikipedia.

The files have the layout of MediaWiki content exports, `SHA256SUMS` and `_SUCCESS` included. A file
is made by a seed and its number alone, and appears whole: a killed run goes on where it was.
"""

from __future__ import annotations

import base64
import bz2
import hashlib
import json
import lzma
import math
import os
import random
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from benchmarks.reference_counts import FOLDER
from benchmarks.whole_wikipedia.markup import OF_TEXT, Markup
from corpora.articles.mediawiki_xml import read_pages
from corpora.files import atomic_write, atomic_write_text
from downloader.sources import sample_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIKI, DATE = "enwiki", "2026-09-01"
WIKI_FOLDER = f"other/mediawiki_content_current/{WIKI}/"
LAYOUT = f"{WIKI_FOLDER}{DATE}/xml/bzip2"
FILE_ARTICLES = 10_000
MEAN_WORDS, SPREAD = 700, 1.2
"""Words of an article: the mean, and the standard deviation of their logarithm."""
LEAST_WORDS, MOST_WORDS = 20, 15_000
MARKUP_SPREAD = 0.5  # Standard deviation of the logarithm of a page's share of markup
NEW_NAMES = 0.003
"""Share of words that no article before had, on average over 7 million articles: the n words of the
25,000 reference articles have 407,917 different forms, and their number grows as n to the 0.615."""
REDIRECTS, OTHERS = 1.6, 6.0
"""Redirects, and pages of other namespaces, for each article."""
OTHER_CHARACTERS, OTHER_SPREAD = 1800, 1.0
LINK_TRIALS = 5  # Words that a link is tried at: it stands around one without other markup
BOILERPLATE, SHARE_OF_BOILERPLATE = 20, 0.75
OTHER_NAMESPACES = ((1, "Talk"), (3, "User talk"), (2, "User"), (14, "Category"), (10, "Template"))
SYLLABLES = [c + v for c in "bdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "el", "or")]
RELATED = 40  # Articles of a category that paragraphs are taken from, at most
QUALITY = ((0.001, "{{Featured article}}"), (0.007, "{{Good article}}"))
INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold."""
SHORT, STUB = 250, "{{History-stub}}"

HEAD = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <base>https://en.wikipedia.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.45.0-wmf.1</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="2" case="first-letter">User</namespace>
      <namespace key="3" case="first-letter">User talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
PAGE = """\
  <page>
    <title>{title}</title>
    <ns>{namespace}</ns>
    <id>{page_id}</id>
{redirect}    <revision>
      <id>{revision_id}</id>
      <parentid>{parent_id}</parentid>
      <timestamp>2026-{month:02d}-{day:02d}T{hour:02d}:17:{second:02d}Z</timestamp>
      <contributor>
        <username>{user}</username>
        <id>{user_id}</id>
      </contributor>
      <comment>{comment}</comment>
      <origin>{revision_id}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{n_bytes}" sha1="{sha1}" xml:space="preserve">{text}</text>
      <sha1>{sha1}</sha1>
    </revision>
  </page>
"""


class Reference(NamedTuple):
    """What pages are made from."""

    titles: list[str]
    paragraphs: list[list[tuple[bool, list[str]]]]  # Of each article: is it a heading, its words
    related: list[list[int]]  # Of each article: some that share a category with it
    markup: Markup


@cache
def reference() -> Reference:
    """Read the reference articles and the markup of real pages, once in a process."""
    titles: list[str] = []
    paragraphs: list[list[tuple[bool, list[str]]]] = []
    categories: list[list[str]] = []
    with lzma.open(FOLDER / "train_25000.jsonl.xz", "rt") as lines:
        for line in lines:
            article = json.loads(line)
            titles.append(INVALID.sub("", article["title"]))
            paragraphs.append([
                (is_heading(each), each.split()) for each in article["text"].split("\n\n") if each
            ])  # fmt: skip
            categories.append(article["categories"])
    members: dict[str, list[int]] = {}
    for i, names in enumerate(categories):
        for name in names:
            members.setdefault(name, []).append(i)
    related = [
        sorted({j for name in names for j in members[name][:RELATED]} - {i})
        for i, names in enumerate(categories)
    ]
    return Reference(titles, paragraphs, related, Markup.of(real_pages()))


def real_pages() -> Iterator[str]:
    """Wikitext of gensim's excerpt of a dump, and of the reference data."""
    for page in read_pages(sample_path()):
        yield page.wikitext
    for file in sorted((FOLDER.parent / "mediawiki-fixtures/wikitext/wtf").iterdir()):
        if file.is_file():
            yield file.read_text(encoding="utf-8", errors="replace")


def is_heading(paragraph: str) -> bool:
    """Whether a paragraph of a reference article is the title of a section."""
    return len(paragraph) < 80 and paragraph[-1] not in '.,:;!?)"'


def name_of(number: int) -> str:
    """A name that no other number has."""
    syllables = []
    while number >= 0:
        number, which = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[which])
        number -= 1
    return "".join(syllables).capitalize()


class Maker:
    """Pages of one file."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
        self.reference = reference()

    def words_of(self, mean: float, spread: float) -> float:
        """Draw from a log-normal distribution of this mean."""
        return self.random.lognormvariate(math.log(mean) - spread**2 / 2, spread)

    def number(self, expected: float) -> int:
        """Round to one of the two next whole numbers, so that it is expected."""
        return int(expected + self.random.random())

    def article(self, number: int) -> tuple[str, str]:
        """Return title and wikitext of an article."""
        random, known = self.random, self.reference
        primary = random.randrange(len(known.titles))
        own = name_of(number)
        n_words = min(max(self.words_of(MEAN_WORDS, SPREAD), LEAST_WORDS), MOST_WORDS)
        title = f"{known.titles[primary]} ({own})"
        blocks = self.blocks(primary, int(n_words))
        self.put_names(blocks, own)
        share = self.words_of(1.0, MARKUP_SPREAD)
        for kind in OF_TEXT:
            self.put_markup(blocks, kind, self.number(known.markup.a_word(kind) * n_words * share))
        parts = self.of_page("note", share) + self.of_page("box", share)
        parts += [p for share, p in QUALITY if random.random() < share]
        first = f"'''{known.titles[primary]}'''"
        for i, (is_title, words) in enumerate(blocks):
            line = " ".join(words)
            parts.append(f"\n== {line} ==" if is_title else line if i else f"{first} {line}")
            if not is_title:
                parts.append("")
        parts += ["== References ==", "{{reflist}}", "", "== External links =="]
        parts += [f"* [http://www.{own.lower()}.org/ {known.titles[primary]}]", ""]
        parts += self.of_page("category", share)
        if n_words < SHORT:
            parts.append(STUB)
        return title, "\n".join(parts)

    def blocks(self, primary: int, n_words: int) -> list[tuple[bool, list[str]]]:
        """Draw paragraphs and headings of so many words, the last one cut."""
        known, order = self.reference, self.random.sample
        found: list[tuple[bool, list[str]]] = []
        articles = [primary, *order(known.related[primary], len(known.related[primary]))]
        while n_words > 0:
            article = articles.pop(0) if articles else self.random.randrange(len(known.titles))
            paragraphs = known.paragraphs[article]
            if article != primary:
                paragraphs = order(paragraphs, len(paragraphs))
            for is_title, words in paragraphs:
                if n_words > 0 and not (is_title and not found):
                    found.append((is_title, words[:n_words]))
                    n_words -= len(words)
        return found

    def put_names(self, blocks: list[tuple[bool, list[str]]], own: str) -> None:
        """Replace some words by names that are made up; each stands there about twice."""
        random = self.random
        for _, words in blocks:
            for _ in range(self.number(NEW_NAMES * len(words))):
                name = own[: random.randrange(2, len(own) + 1)] + random.choice(SYLLABLES)
                name += random.choice(SYLLABLES)
                for _ in range(random.randrange(1, 4)):
                    words[random.randrange(len(words))] = name

    def put_markup(self, blocks: list[tuple[bool, list[str]]], kind: str, n_pieces: int) -> None:
        """Put pieces of markup of a kind into paragraphs, links around words of the text."""
        random, pieces = self.random, self.reference.markup.pieces[kind]
        places = [words for is_title, words in blocks if not is_title and words]
        if not places:
            return
        for words in random.choices(places, [len(words) for words in places], k=n_pieces):
            i = random.randrange(len(words))
            if kind in ("link", "piped link"):
                for _ in range(LINK_TRIALS):
                    if words[i].isalnum():  # not within other markup
                        target = random.choice(pieces).partition("|")[0] + "|"
                        words[i] = f"{target if 'p' in kind else '[['}{words[i]}]]"
                        break
                    i = random.randrange(len(words))
            elif kind in ("table", "file"):
                words[-1] += "\n\n" + random.choice(pieces) + "\n\n"
            else:
                words[i] += random.choice(pieces)

    def of_page(self, kind: str, share: float) -> list[str]:
        """Draw pieces of a kind of which a page has a number."""
        markup = self.reference.markup
        return self.random.choices(markup.pieces[kind], k=self.number(share * markup.a_page(kind)))

    def other(self) -> str:
        """Wikitext of a page of another namespace: remarks with signatures."""
        random, known = self.random, self.reference
        left = int(self.words_of(OTHER_CHARACTERS, OTHER_SPREAD))
        parts = random.choices(known.markup.pieces["note"], k=2)
        while left > 0:
            # Warnings, welcomes and banners are the same on many pages.
            is_boilerplate = random.random() < SHARE_OF_BOILERPLATE
            n = len(known.paragraphs)
            paragraphs = known.paragraphs[
                random.randrange(min(BOILERPLATE, n) if is_boilerplate else n)
            ]
            text = " ".join(random.choice(paragraphs)[1])[: min(left, 600)]
            user = name_of(random.randrange(10**6))
            when = f"{random.randrange(24):02d}:{random.randrange(60):02d}, 5 May 2019 (UTC)"
            signature = f"[[User:{user}|{user}]] ([[User talk:{user}|talk]]) {when}"
            parts.append(f"== {text[:30].strip()} ==\n:{text} {signature}")
            left -= len(text) + 120
        return "\n".join(parts)

    def comment(self) -> str:
        """Some words on a revision."""
        words = self.random.choice(self.random.choice(self.reference.paragraphs))[1]
        return INVALID.sub("", " ".join(words[:9]))

    def page(
        self, page_id: int, title: str, text: str, namespace: int = 0, redirect: str = ""
    ) -> bytes:
        """Return a page in the form of an export."""
        random = self.random
        text = INVALID.sub("", text)
        encoded = text.encode()
        digest = base64.b32encode(hashlib.sha1(encoded, usedforsecurity=False).digest()).decode()
        revision = 10**9 + random.randrange(3 * 10**8)
        return PAGE.format(
            title=escape(title),
            namespace=namespace,
            page_id=page_id,
            redirect=f"    <redirect title={quoteattr(redirect)} />\n" if redirect else "",
            revision_id=revision,
            parent_id=revision - random.randrange(1, 10**8),
            month=random.randrange(1, 9),
            day=random.randrange(1, 29),
            hour=random.randrange(24),
            second=random.randrange(60),
            user=name_of(random.randrange(10**5)),
            user_id=random.randrange(10**7),
            comment=escape(self.comment()),
            n_bytes=len(encoded),
            sha1=digest.lower()[:31],
            text=escape(text),
        ).encode()

    def pages(self, first: int, n_articles: int, first_id: int) -> Iterator[bytes]:
        """Yield articles, and redirects and pages of other namespaces between them."""
        page_id = first_id
        for number in range(first, first + n_articles):
            title, text = self.article(number)
            yield self.page(page_id, title, text)
            page_id += 1
            for i in range(self.number(REDIRECTS)):
                source = f"{name_of(number)} {i}"
                yield self.page(page_id, source, f"#REDIRECT [[{title}]]", 0, title)
                page_id += 1
            for i in range(self.number(OTHERS)):
                namespace, name = OTHER_NAMESPACES[i % len(OTHER_NAMESPACES)]
                yield self.page(page_id, f"{name}:{title} {i}", self.other(), namespace)
                page_id += 1


def ids_of(first: int, n_articles: int) -> tuple[int, int]:
    """Return the first page id of a file, and the one after its last."""
    each = math.ceil(REDIRECTS) + math.ceil(OTHERS) + 1
    return 1 + first * each, 1 + (first + n_articles) * each


def make_file(folder: Path, seed: int, first: int, n_articles: int) -> Path:
    """Make the file of these articles, unless it is there."""
    start, end = ids_of(first, n_articles)
    path = folder / f"{WIKI}-{DATE}-p{start}p{end - 1}.xml.bz2"
    if not path.exists():
        compressor = bz2.BZ2Compressor()
        with atomic_write(path) as stream:
            stream.write(compressor.compress(HEAD.encode()))
            for page in Maker(seed, first).pages(first, n_articles, start):
                stream.write(compressor.compress(page))
            stream.write(compressor.compress(b"</mediawiki>\n") + compressor.flush())
    return path


def make_pages(folder: Path, n_articles: int, seed: int = 0, n_processes: int = 1) -> list[Path]:
    """Make an export of so many articles in `folder`, in the layout of MediaWiki's; return files.
    What is there is left.
    """
    directory = folder / LAYOUT
    directory.mkdir(parents=True, exist_ok=True)
    starts = range(0, n_articles, FILE_ARTICLES)
    sizes = [min(FILE_ARTICLES, n_articles - first) for first in starts]
    make = partial(make_file, directory, seed)
    if (directory / "_SUCCESS").exists():
        return [make(first, size) for first, size in zip(starts, sizes, strict=True)]
    reference()  # before processes are forked
    with ProcessPoolExecutor(n_processes, mp_context=get_context("fork")) as pool:
        files = list(pool.map(make, starts, sizes))
    sums = []
    for file in files:
        with file.open("rb") as stream:
            sums.append(f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {file.name}\n")
    atomic_write_text(directory / "SHA256SUMS", "".join(sums))
    atomic_write_text(directory / "_SUCCESS", "")
    return files


def export_files(folder: Path) -> list[Path]:
    """Files of the export that was made in `folder`, by their articles."""
    files = (folder / LAYOUT).glob("*.xml.bz2")
    return sorted(files, key=lambda file: int(re.sub(r".*-p(\d+)p.*", r"\1", file.name)))


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
