"""Estimated time of a live run, and of a dump instead."""

import math
import re
from dataclasses import dataclass

from corpora.articles.page import WIKIMEDIA_ADDRESS
from downloader.live import BATCH_SIZE, TextForm
from downloader.mediawiki_api import WikiInfo

DUMP_BYTES = 6_600
"""Bytes of a content dump for each article: English Wikipedia's of September 2026 had 46.4 GB, by
its listing, and 7 million articles. The other namespaces are among them."""
ARTICLE_BYTES = 3_200
"""Compressed bytes of an article alone: the `pages-articles` dump had about 22 GB."""
UNPACKED_BYTES = 4.3 * ARTICLE_BYTES
"""Bytes of an article after decompression: the same dump has about 95 GB then."""
RECEIVED_BYTES_PER_SECOND = 5e6  # dumps.wikimedia.org limits downloads to a few MB a second
READ_BYTES_PER_SECOND = 8e6
"""Compressed bytes of an export that one process reads, measured on the built-in sample: 1.7 MB in
0.21 s."""
PARSED_BYTES_PER_SECOND = 10e6
"""Wikitext that one process makes articles of and stores, measured by `download --source content`
on 32 copies of the sample: 184 MB in 18.8 s beside the reading. A live run parses at the same rate,
between its requests."""
SENT_BYTES = 1.3 * ARTICLE_BYTES
"""Bytes that a live wiki sends for an article: gzip compresses less than bzip2. The latency of the
wiki is known from its first answer."""


@dataclass(frozen=True)
class Estimate:
    """Estimated time of a live run, and of a dump instead."""

    n_articles: int
    n_requests: int
    seconds: float  # Time of the live run
    dump_seconds: float | None  # Time to download and read a dump instead; None if there is none
    dump_wiki: str  # Name of the wiki's database, by which its dumps are called

    @property
    def is_dump_faster(self) -> bool:
        """Whether a dump takes less time."""
        return self.dump_seconds is not None and self.dump_seconds < self.seconds

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        text = (
            f"{self.n_articles:,} articles take {self.n_requests:,} requests,"
            f" about {in_words(self.seconds)}"
        )
        if self.dump_seconds is None or not self.is_dump_faster:
            return text
        return (
            f"{text}; a dump would take about {in_words(self.dump_seconds)}:"
            f" --source content {self.dump_wiki}"
        )


def estimate(
    info: WikiInfo,
    n_articles: int,
    text: TextForm = "wikitext",
    *,
    any_articles: bool = True,
    per_minute: float = 200,
    per_second: float = 4,
    batch_size: int = BATCH_SIZE,
    n_processes: int = 1,
) -> Estimate:
    """Estimate the time of a live run, and of reading a dump by `n_processes` instead.

    The latency is that of `info`. HTML takes one request a page. `any_articles` is whether any
    articles of a dump would do, rather than listed ones or those of a category.
    """
    n_lists = math.ceil(n_articles / batch_size)
    n_requests = n_lists + (n_articles if text == "html" else 0)
    pause = max(60 / per_minute, 1 / per_second)
    articles_per_request = n_articles / max(1, n_requests)
    receiving = articles_per_request * SENT_BYTES / RECEIVED_BYTES_PER_SECOND
    work = (
        info.seconds + receiving + articles_per_request * UNPACKED_BYTES / PARSED_BYTES_PER_SECOND
    )
    wiki = dump_wiki(info) if any_articles else ""
    dump_bytes = info.n_articles * DUMP_BYTES
    parsing = n_articles * UNPACKED_BYTES / PARSED_BYTES_PER_SECOND
    reading = (dump_bytes / READ_BYTES_PER_SECOND + parsing) / n_processes
    return Estimate(
        n_articles=n_articles,
        n_requests=n_requests,
        seconds=n_requests * max(pause, work),
        dump_seconds=max(dump_bytes / RECEIVED_BYTES_PER_SECOND, reading) if wiki else None,
        dump_wiki=wiki,
    )


def dump_wiki(info: WikiInfo) -> str:
    """Return the name by which the dumps of a Wikimedia wiki are called; empty for other wikis."""
    if not WIKIMEDIA_ADDRESS.match(info.site.article_path):
        return ""
    name = info.database
    return name if re.fullmatch(r"[a-z][a-z0-9_]{1,60}", name) else ""


def in_words(seconds: float) -> str:
    """Return a duration in words."""
    for name, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(1, seconds):.0f} seconds"
