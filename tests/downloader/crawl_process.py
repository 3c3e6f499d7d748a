"""A crawl as a process of its own, to be killed at any moment; see `main` for its arguments."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from corpora import ArticleStore
from downloader.category import Category
from downloader.crawl import crawl
from downloader.errors import TryLaterError
from downloader.http_client import PoliteClient, user_agent
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.rate_limit import RateLimiter
from downloader.titles import Titles
from tests.downloader.impatient_client import SmallJitter

CONTACT = "wikitopics-tests@posteo.net"
COMMAND = (sys.executable, "-m", "tests.downloader.crawl_process")


def polite_api(url, pace, per_minute, per_second, *, impatient):
    """An API behind a client with deadlines that suit tests."""
    client = PoliteClient(
        user_agent(CONTACT),
        RateLimiter(pace, per_minute, per_second),
        patience=120,
        deadline=60,
        connect_timeout=5,
        read_timeout=1.0 if impatient else 2.5,
        rng=SmallJitter() if impatient else None,
    )
    return MediaWikiApi(client, url)


def source_of(api, name, what, text, batch):
    if name == "random":
        return RandomPages(api, text, batch)
    if name == "titles":
        return Titles(api, what, text, batch)
    category, _, depth = what.partition("@")
    return Category(api, category, int(depth or 0), text, batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--source", default="random")
    parser.add_argument("--what", default="", help="a file of titles, or a category@depth")
    parser.add_argument("--text", default="wikitext")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--shard-size", type=int, default=250)
    parser.add_argument("--per-minute", type=float, default=6000)
    parser.add_argument("--per-second", type=int, default=100)
    parser.add_argument("--impatient", action="store_true", help="next to no backoff")
    options = parser.parse_args()
    pace = options.directory / "pace"
    options.directory.mkdir(exist_ok=True)
    api = polite_api(
        options.url, pace, options.per_minute, options.per_second, impatient=options.impatient
    )
    store = ArticleStore(options.directory / "articles", options.shard_size)
    source = source_of(api, options.source, options.what, options.text, options.batch_size)

    def show(report, batch):
        sys.stdout.write(json.dumps({"report": asdict(report), "skipped": batch.skipped}) + "\n")
        sys.stdout.flush()

    try:
        report = crawl(store, source, options.directory / "state", options.limit, show)
    except TryLaterError as error:
        sys.stderr.write(f"{error}\n")
        return 75
    sys.stdout.write(json.dumps(asdict(report)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
