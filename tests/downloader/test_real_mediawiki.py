"""A real MediaWiki, undisturbed, behind a proxy that serves faults, and crawled by the killed."""

import bz2
import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from corpora import ArticleStore
from downloader.category import Category
from downloader.content import ContentFiles, place_of
from downloader.crawl import crawl
from downloader.http_client import PoliteClient, user_agent
from downloader.mediawiki_api import MediaWikiApi
from downloader.random_pages import RandomPages
from downloader.rate_limit import RateLimiter
from downloader.sources import read_source
from downloader.titles import Titles
from tests.downloader.content_dump import BASE, DATE, add_dump, folder_of
from tests.downloader.crawl_process import COMMAND, CONTACT
from tests.downloader.fault_proxy import FAULTS, FaultProxy, Settings, check_manners
from tests.downloader.folder_server import FolderServer
from tests.downloader.hostile_server import serving
from tests.downloader.impatient_client import SmallJitter
from tests.downloader.mediawiki import (
    EMPTY,
    GONE,
    JSON_PAGE,
    REDIRECTS,
    STRANGE_TITLES,
    TEMPLATE_ONLY,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sample():
    return {article.title: article for article in read_source("sample", "")}


@pytest.fixture(scope="module")
def expected(sample):
    return {*sample, *STRANGE_TITLES, "Main Page"}


def new_api(url, directory, per_minute=1e6, per_second=10**6, **more):
    settings = {"patience": 120, "deadline": 60, "connect_timeout": 5, "read_timeout": 30} | more
    return paced_api(url, RateLimiter(directory / "pace", per_minute, per_second), **settings)


def paced_api(url, pace, **settings):
    return MediaWikiApi(PoliteClient(user_agent(CONTACT), pace, rng=SmallJitter(), **settings), url)


def new_source(name, api, directory, titles, text="wikitext", batch_size=50):
    if name == "random":
        return RandomPages(api, text, batch_size)
    if name == "category":
        return Category(api, "Everything", 0, text, batch_size)
    path = directory / "titles.txt"
    path.write_text("".join(f"{title}\n" for title in sorted(titles)))
    return Titles(api, path, text, batch_size)


def crawled(source, directory):
    skipped = {}

    def note(_, batch):
        for reason, names in batch.skipped.items():
            skipped.setdefault(reason, []).extend(names)

    store = ArticleStore(directory / "articles", shard_size=20)
    report = crawl(store, source, directory, None, note)
    assert report.finished
    assert report.total_added == len(store)
    store.verify()
    return list(store), skipped


def categories(article):
    """Those that the page names itself: the wiki adds some of its own, such as of broken links."""
    names = article.columns.get("categories", ())
    return {name for name in names if name != "Everything" and not name.startswith("Pages ")}


def check_articles(articles, expected, sample, wiki, license_name="CC BY-SA 4.0"):
    found = {article.title: article for article in articles}
    assert sorted(article.title for article in articles) == sorted(expected)
    for title, dumped in sample.items():
        live = found[title]
        assert (live.text, live.timestamp) == (dumped.text, dumped.timestamp)
        assert (live.language, live.license) == ("en", license_name)
        assert categories(live) == categories(dumped)
        assert live.columns.get("quality") == dumped.columns.get("quality")
    for title in STRANGE_TITLES:
        assert found[title].text.startswith(f"{title} is a page with a link and a sentence.")
    rows = wiki.select(
        "SELECT page_id, page_latest, page_title FROM page"
        " WHERE page_namespace = 0 AND page_is_redirect = 0"
    )
    ids = {str(title).replace("_", " "): (page, latest) for page, latest, title in rows}
    for title, article in found.items():
        assert (article.page_id, article.revision_id) == ids[title]


def test_a_hundred_kills_lose_nothing(wiki, tmp_path, sample, expected):
    """First, as it takes as long as all others: one process runs it while another runs these."""
    kill_and_check(
        *(wiki, tmp_path, sample, expected),
        n_kills=100,
        kills_each=12,
        fault_rate=0.3,
        longest_life=3.0,
        arguments=("--batch-size", "3"),
    )


@pytest.mark.parametrize("name", ["random", "titles", "category"])
def test_every_article_arrives_once_and_as_the_dump_has_it(wiki, tmp_path, sample, expected, name):
    api = new_api(wiki.url, tmp_path)
    articles, _ = crawled(new_source(name, api, tmp_path, expected), tmp_path)
    check_articles(articles, expected, sample, wiki)
    n_lists = {"random": 0, "titles": 0, "category": 1}[name]
    n_parts = 12  # more than three batches take, because this wiki cuts them into parts
    assert api.client.n_requests <= 1 + n_lists + n_parts
    assert api.client.n_retries == 0


@pytest.mark.parametrize("n_ahead", [0, 2])
def test_its_own_export_arrives_through_the_content_source(
    wiki, tmp_path, sample, expected, n_ahead
):
    [[last]] = wiki.select("SELECT max(page_id) FROM page")
    starts = range(1, last + 1, 60)
    files = {}
    for start in starts:
        end = min(start + 59, last)
        limits = ("--start", start, "--end", end + 1)
        xml = wiki.php("dumpBackup.php", "--current", "--quiet", *limits)
        files[f"loopbackwiki-{DATE}-p{start}p{end}.xml.bz2"] = bz2.compress(xml.encode())
    site = FolderServer()
    add_dump(site, files, "loopbackwiki")
    site.cut_after = [10**6, 10_000, 0]
    site.instead = {folder_of("loopbackwiki") + name: [b"wrong"] for name in list(files)[1:2]}
    with serving(site) as server:
        limiter = RateLimiter(tmp_path / "pace", 1e6, 10**6)
        client = PoliteClient(user_agent(CONTACT), limiter, rng=SmallJitter(), patience=120)
        place = place_of(f"{server.url}{BASE}loopbackwiki/")
        source = ContentFiles([client], place, tmp_path, n_ahead=n_ahead)
        articles, skipped = crawled(source, tmp_path)
        client.close()
    check_articles(articles, expected, sample, wiki, "")  # which exports do not tell
    assert [article.page_id for article in articles] == sorted(a.page_id for a in articles)
    assert TEMPLATE_ONLY in skipped["no text"]
    assert len(files) > 3


def test_the_wiki_describes_itself(wiki, tmp_path):
    info = new_api(wiki.url, tmp_path).site()
    assert info.generator.startswith("MediaWiki 1.")
    assert (info.name, info.site.language) == ("Loopback", "en")
    n_articles = wiki.select(
        "SELECT count(*) FROM page WHERE page_namespace = 0 AND page_is_redirect = 0"
    )[0][0]
    assert info.n_articles == n_articles


@pytest.mark.parametrize("name", ["random", "titles", "category"])
def test_rendered_articles_arrive_once_too(wiki, tmp_path, sample, expected, name):
    api = new_api(wiki.url, tmp_path)
    articles, _ = crawled(new_source(name, api, tmp_path, expected, "html"), tmp_path)
    assert sorted(article.title for article in articles) == sorted(expected)
    found = {article.title: article for article in articles}
    for title, dumped in sample.items():  # MediaWiki's own parser finds the same categories
        assert categories(found[title]) == categories(dumped), title


@pytest.mark.parametrize("depth", [0, 1, 9])
def test_rendered_articles_of_a_category_with_circles(wiki, tmp_path, depth):
    api = new_api(wiki.url, tmp_path)
    articles, skipped = crawled(Category(api, "category:strange", depth, "html"), tmp_path)
    assert sorted(article.title for article in articles) == sorted(STRANGE_TITLES)
    assert sorted(skipped.pop("redirect")) == sorted(REDIRECTS)
    assert skipped == {"no text": [TEMPLATE_ONLY]}
    for article in articles:
        text = article.text
        assert text.startswith(f"{article.title} is a page with a link and a sentence.\n\n==")
        assert text.endswith("nobody has changed it since.")
    assert api.client.n_requests <= 2 + {0: 1, 1: 3, 9: 6}[depth] + 1 + (len(STRANGE_TITLES) + 1)


def test_depth_and_circles_of_categories(wiki, tmp_path):
    found = []
    for depth in range(4):
        directory = tmp_path / str(depth)
        directory.mkdir()
        articles, _ = crawled(Category(new_api(wiki.url, directory), "Half", depth), directory)
        found.append(len(articles))
    half, a_in_b, b_in_a, deep, itself = [len(STRANGE_TITLES[i::6]) for i in range(6)][1:]
    assert (found[0], found[1]) == (half, half + a_in_b + itself)
    assert (found[2], found[3]) == (found[1] + b_in_a, found[2] + deep)


def test_what_is_no_article_is_reported_and_never_stored(wiki, tmp_path):
    asked = [
        *(*REDIRECTS, *GONE, EMPTY, TEMPLATE_ONLY, JSON_PAGE),
        *("Nowhere", "A|b", "A[b", "x" * 300, "_", "%41", "mw:Elsewhere"),
        *("Special:Version", "Talk:C++", "Category:Strange", "User:Tester", "File:X.png"),
    ]
    api = new_api(wiki.url, tmp_path)
    articles, skipped = crawled(new_source("titles", api, tmp_path, asked), tmp_path)
    assert sorted(article.title for article in articles) == ["AT&T", "C++"]  # of redirects
    assert {reason: sorted(titles) for reason, titles in skipped.items()} == {
        "redirect": sorted(REDIRECTS),
        "missing": sorted([*GONE, "Nowhere", "No such page at all", "File:X.png"]),
        "invalid": sorted(["A|b", "A[b", "x" * 300, "_", "%41"]),
        "other wiki": ["mw:Elsewhere"],
        "not an article": ["Category:Strange", "Special:Version", "Talk:C++", "User:Tester"],
        "no text": [EMPTY, TEMPLATE_ONLY],
        "not wikitext": [JSON_PAGE],
    }


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        *(("aT&T", "AT&T"), ("AT&T#History", "AT&T"), (":C++", "C++")),
        ("it's_'single'__and ’curly’", "It's 'single' and ’curly’"),
        ("Alpha/Beta/Gamma", "Alpha/Beta/Gamma"),
        ("\u200fMixed עברית and English", "Mixed עברית and English"),
        ("U\u0308ni\u0308co\u0308de\u0301 — dashes – everywhere", "Ünïcödé — dashes – everywhere"),
        *(("R&amp;B? & more; yes", "R&B? & more; yes"), ("é" + "É" * 119, "É" * 120)),
        *(("Old name", "C++"), ("older name", "C++")),
    ],
)
def test_other_ways_to_write_a_title(wiki, tmp_path, asked, title):
    api = new_api(wiki.url, tmp_path)
    articles, _ = crawled(new_source("titles", api, tmp_path, [asked, "AC/DC"]), tmp_path)
    assert {article.title for article in articles} == {"AC/DC", title}


def with_every_fault(seed):
    """Every fault once in random order, some good answers between them."""
    faults = [*FAULTS, *[""] * 8]
    random.Random(seed).shuffle(faults)
    return faults


@pytest.mark.parametrize(("name", "seed"), [("random", 1), ("titles", 2), ("category", 3)])
def test_no_fault_costs_an_article_or_the_manners(wiki, tmp_path, sample, expected, name, seed):
    # An answer without a fault may take the client's four seconds, on a busy machine.
    with FaultProxy(wiki.url, Settings(rate=0.3, seed=seed, stall=10, latency=0.3)) as proxy:
        if name == "random":
            proxy.next_faults = with_every_fault(seed)
        api = new_api(proxy.url, tmp_path, per_second=12, per_minute=1200, read_timeout=4.0)
        source = new_source(name, api, tmp_path, expected, batch_size=5 if name == "random" else 10)
        articles, _ = crawled(source, tmp_path)
        requests = proxy.requests
    check_articles(articles, expected, sample, wiki)
    if name == "random":
        assert {one.fault for one in requests} >= set(FAULTS)
    assert api.client.n_requests == len(requests)
    failed = [one for one in requests if one.fault not in ("", "latency", "redirect")]
    assert api.client.n_retries == len(failed) > 0
    check_manners(requests, contact=CONTACT, per_second=12, per_minute=1200)


def ask_for_single_pages(wiki, pace, n_requests):
    """Ask for random pages one by one, again and again; the requests as the proxy saw them."""
    with FaultProxy(wiki.url) as proxy:
        api = paced_api(proxy.url, pace)
        while api.client.n_requests < n_requests:
            for _ in RandomPages(api, batch_size=1).batches(None, lambda _: False):
                if api.client.n_requests >= n_requests:
                    break
        return proxy.requests


def test_the_rate_holds_in_any_second(wiki, tmp_path):
    requests = ask_for_single_pages(wiki, RateLimiter(tmp_path / "pace", per_minute=6000), 15)
    check_manners(requests, contact=CONTACT, per_second=4, per_minute=6000)
    assert len(requests) >= 15


def test_the_default_rate_holds_in_any_second_and_any_minute(wiki, tmp_path):
    """Some 75 seconds; a minute at a higher rate would show in the requests beyond 200."""
    requests = ask_for_single_pages(wiki, RateLimiter(tmp_path / "pace"), 250)
    check_manners(requests, contact=CONTACT, per_second=4, per_minute=200)
    assert len(requests) >= 250


def test_thirty_seconds_of_latency_are_waited_out(wiki, tmp_path, expected):
    with FaultProxy(wiki.url, Settings(latency=30)) as proxy:
        proxy.next_faults = ["", "latency"]
        api = new_api(proxy.url, tmp_path, read_timeout=45)
        articles, _ = crawled(new_source("random", api, tmp_path, expected), tmp_path)
        requests = proxy.requests
    assert ({article.title for article in articles}, api.client.n_retries) == (expected, 0)
    late, following = requests[1:3]
    assert late.ended - late.arrived > 30
    assert following.arrived >= late.ended + 25  # after a slow answer it eases off
    check_manners(requests, contact=CONTACT, per_second=10**6, per_minute=1e6)


class Killer:
    """Kills crawls at random moments, within `longest_life` seconds, and starts them again."""

    def __init__(self, url, seed, longest_life, *arguments):
        self.url = url
        self.random = random.Random(seed)
        self.longest_life = longest_life
        self.arguments = arguments
        self.kills: list[float] = []

    def crawl(self, directory, n_kills, *arguments):
        command = [*COMMAND, self.url, str(directory), *arguments, *self.arguments]
        for _ in range(n_kills):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
            try:
                process.wait(self.random.uniform(0.5, self.longest_life))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.kills.append(time.monotonic())
            else:
                assert process.returncode == 0
                return
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["finished"]

    def promises_read(self, requests):
        """The requests less those whose answer the client did not live to write down."""
        for one in requests:
            if not any(-0.1 < kill - one.ended < 0.3 for kill in self.kills):
                yield one


def kill_and_check(
    wiki, directory, sample, expected, *, n_kills, kills_each, fault_rate, longest_life, arguments
):
    """Crawls that are killed up to `kills_each` times, until there were `n_kills` in all."""
    (directory / "titles.txt").write_text("".join(f"{title}\n" for title in sorted(expected)))
    sources = [
        ("--source", "random"),
        ("--source", "titles", "--what", str(directory / "titles.txt")),
        ("--source", "category", "--what", "Everything@0"),
    ]
    settings = Settings(rate=fault_rate, seed=n_kills, stall=3, latency=0.3)
    with FaultProxy(wiki.url, settings) as proxy:
        killer = Killer(proxy.url, n_kills, longest_life, "--shard-size", "5", *arguments)
        n_crawls = 0
        while len(killer.kills) < n_kills:
            crawl_directory = directory / f"crawl-{n_crawls}"
            source = sources[n_crawls % len(sources)]
            killer.crawl(crawl_directory, min(kills_each, n_kills - len(killer.kills)), *source)
            store = ArticleStore(crawl_directory / "articles")
            store.verify()
            check_articles(list(store), expected, sample, wiki)
            (state,) = (crawl_directory / "state").glob("crawl-*.json")
            fields = json.loads(state.read_text())
            assert (fields["added"], fields["pending"]) == (len(expected), None)
            n_crawls += 1
        requests = list(killer.promises_read(proxy.requests))
    check_manners(requests, contact=CONTACT, per_second=100, per_minute=6000, one_in_flight=False)


def test_eight_kills_lose_nothing(wiki, tmp_path, sample, expected):
    kill_and_check(
        *(wiki, tmp_path, sample, expected),
        n_kills=8,
        kills_each=8,
        fault_rate=0.1,
        longest_life=0.9,
        arguments=("--batch-size", "15", "--impatient"),
    )
