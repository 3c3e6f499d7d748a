"""A wiki's content dump on a `FolderServer`, of real pages: those of the built-in sample."""

import bz2
import hashlib
import re
import tempfile
from functools import cache
from itertools import accumulate
from pathlib import Path

from corpora.articles.article import Article
from corpora.articles.mediawiki_xml import read_articles
from downloader.sources import sample_path

WIKI, DATE = "enwiki", "2026-09-01"
BASE = "/other/mediawiki_content_current/"
TALK = (
    "<page><title>Talk:Anarchism</title><ns>1</ns><id>{}</id><revision><id>5</id>"
    "<timestamp>2016-01-01T00:00:00Z</timestamp><model>wikitext</model>"
    "<text>Is this an article?</text></revision></page>"
)
MAX_PAGE = 20_000  # Characters: larger pages of the sample would take the tests too long


@cache
def sample(max_page=MAX_PAGE):
    """Head of the export, and page id → page, those that are not too long."""
    text = bz2.decompress(sample_path().read_bytes()).decode()
    pages = re.findall(r"<page>.*?</page>", text, re.DOTALL)
    found = {int(re.search(r"<id>(\d+)", page)[1]): page for page in pages}
    head = text[: text.index("<page>")]
    return head, {number: page for number, page in found.items() if len(page) < max_page}


def export(pages, head=None):
    return bz2.compress(f"{head or sample()[0]}{''.join(pages)}</mediawiki>".encode())


@cache
def exports(n_files, wiki=WIKI, date=DATE, max_page=MAX_PAGE):
    """Name → content of the files of a dump of the sample, each with a talk page."""
    page_of, files = sample(max_page)[1], {}
    ends = list(accumulate(len(page_of[number]) for number in sorted(page_of)))
    share_of = [min(n_files * end // (ends[-1] + 1), n_files - 1) for end in ends]
    for i in range(n_files):  # of about equal sizes
        some = [n for n, share in zip(sorted(page_of), share_of, strict=True) if share == i]
        pages = [page_of[number] for number in some] + [TALK.format(some[-1] + 1)]
        files[f"{wiki}-{date}-p{some[0]}p{some[-1] + 1}.xml.bz2"] = export(pages)
    return files


def folder_of(wiki=WIKI, date=DATE):
    return f"{BASE}{wiki}/{date}/xml/bzip2/"


def add_dump(site, files, wiki=WIKI, date=DATE, *, is_complete=True):
    folder = folder_of(wiki, date)
    for path in [path for path in site.files if path.startswith(folder)]:
        del site.files[path]
    site.files |= {folder + name: content for name, content in files.items()}
    if is_complete:
        site.files[f"{folder}SHA256SUMS"] = sums_of(files)
        site.files[f"{folder}_SUCCESS"] = b""
    list_dump(site, wiki, date)


def remove_dump(site, wiki=WIKI, date=DATE):
    """Delete the files; `list_dump` tells of it."""
    for path in [path for path in site.files if path.startswith(f"{BASE}{wiki}/{date}/")]:
        del site.files[path]


def list_dump(site, wiki=WIKI, date=DATE):
    for folder in (f"{BASE}{wiki}/", f"{BASE}{wiki}/{date}/", folder_of(wiki, date)):
        if any(path.startswith(folder) for path in site.files):
            site.list_folder(folder)
        else:
            site.pages.pop(folder, None)


def sums_of(files):
    lines = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    return "".join(lines).encode()


@cache
def articles_of(*contents):
    """The articles in exports, by the reader of a single file."""
    return tuple(article for content in contents for article in _read(content))


def _read(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.xml.bz2"
        path.write_bytes(content)
        return [each for each in read_articles(path) if isinstance(each, Article)]
