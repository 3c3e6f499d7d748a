"""The two routes to the main text, wikitext and rendered HTML: how fast, and how far they agree.

    python -m benchmarks.extraction [--api http://127.0.0.1:8080/api.php]

Wikitext is that of the built-in sample. HTML is what the wiki named by `--api` makes of the same
articles, imported there with `importDump.php`; without a wiki, the rendered pages of the reference
data are timed and nothing is compared. One process, one core.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import requests
from selectolax.lexbor import LexborHTMLParser

from corpora.articles import inline_templates, rendered_html, wikitext
from corpora.articles.main_sections import CUT
from corpora.articles.mediawiki_xml import read_pages
from corpora.articles.shallow_html import shallow
from downloader.sources import sample_path
from tests.shared_data import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

PAGES_A_REQUEST = 50


def rate(extract: Callable[[str], object], pages: list[str], seconds: float = 3.0) -> str:
    """How many of the pages are done in a second of the processor, and how many megabytes."""
    n_passes = 0
    started = time.process_time()
    while not n_passes or time.process_time() - started < seconds:
        for page in pages:
            extract(page)
        n_passes += 1
    taken = (time.process_time() - started) / n_passes
    n_bytes = sum(len(page.encode()) for page in pages)
    return f"{len(pages) / taken:7.0f} articles/s  {n_bytes / taken / 1e6:6.1f} MB/s"


def rendered(api: str, titles: list[str]) -> list[str]:
    """What the wiki makes of its pages."""
    session = requests.Session()
    answers = [
        session.get(
            api,
            params={
                "action": "parse", "page": title, "prop": "text", "format": "json",
                "formatversion": 2, "disablelimitreport": 1,
            },
            timeout=60,
        ).json()
        for title in titles
    ]  # fmt: skip
    return [answer["parse"]["text"] for answer in answers]


def reference_pages() -> list[str]:
    """The rendered pages of the reference data; none if it is not there."""
    folder = SHARED / "mediawiki-fixtures"
    files = [path for path in sorted(folder.glob("html/**/*.htm*")) if path.name != "expected.html"]
    pages = [path.read_text() for path in files]
    recorded = folder / "api/pymediawiki/enwiki_extracts_random_rvparse.json"
    if recorded.exists():
        pages += re.findall(r'"(<div class=\\"mw-parser-output.*?[^\\])"', recorded.read_text())
        pages[len(files) :] = [json.loads(f'"{page}"') for page in pages[len(files) :]]
    return [page for page in pages if len(page) > 5000]


def words(text: str) -> Counter[str]:
    """The words of a text, with how often each is there."""
    return Counter(re.findall(r"\w+", text.lower()))


def without_templates(text: str) -> str:
    """The main text if every template went."""
    text = wikitext.cut_opaque(text)
    text = wikitext.cut(text, wikitext.pairs(inline_templates.BRACES, text))
    return wikitext.main_text(text.replace(CUT, ""))


def compare(sources: list[str], pages: list[str]) -> None:
    """Print how many words the two routes have in common."""
    common = only_wikitext = only_html = plain_only_html = plain_only_wikitext = 0
    for source, page in zip(sources, pages, strict=True):
        ours, plain = words(wikitext.main_text(source)), words(without_templates(source))
        theirs = words(rendered_html.main_text(page))
        common += (ours & theirs).total()
        only_wikitext += (ours - theirs).total()
        only_html += (theirs - ours).total()
        plain_only_wikitext += (plain - theirs).total()
        plain_only_html += (theirs - plain).total()
    print(f"words by both routes       {common:9,d}")
    print(f"by wikitext alone          {only_wikitext:9,d}")
    print(f"by HTML alone              {only_html:9,d}")
    print(f"if no template were shown: {plain_only_wikitext:9,d} and {plain_only_html:,d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", help="api.php of a wiki that has the articles of the sample")
    arguments = parser.parse_args()

    sample = list(read_pages(sample_path()))
    sources = [page.wikitext for page in sample]
    pages = rendered(arguments.api, [page.title for page in sample]) if arguments.api else []
    for name, texts in (("wikitext", sources), ("HTML of the same", pages)):
        if texts:
            n_bytes = sum(len(text.encode()) for text in texts)
            print(f"{name}: {len(texts)} articles, {n_bytes / len(texts) / 1000:.1f} kB each")
    requests_needed = -(-len(sample) // PAGES_A_REQUEST)
    print(f"requests an article: wikitext {requests_needed / len(sample):.3f}, HTML", end=" ")
    print(f"{(requests_needed + len(sample)) / len(sample):.3f}\n")

    print(f"wikitext → main text       {rate(wikitext.main_text, sources)}")
    for name, texts in (("HTML", pages), ("HTML of Wikipedia", reference_pages())):
        if texts:
            print(f"{name} → main text".ljust(26), rate(rendered_html.main_text, texts))
            print("  making it shallow".ljust(26), rate(shallow, texts))
            print("  parsing alone".ljust(26), rate(LexborHTMLParser, texts))
    if pages:
        print()
        compare(sources, pages)


if __name__ == "__main__":
    main()
