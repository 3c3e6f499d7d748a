import errno
import json
import shutil
import threading

import pytest

from corpora import ArticleStore, CorpusFormatError
from corpora.articles.page_filter import PageFilter
from downloader import dump_files, file_download
from downloader.content import BASE as WIKIMEDIA
from downloader.content import ContentFiles, Place, place_of
from downloader.crawl import crawl
from downloader.errors import (
    ChangingDumpError,
    RefusedError,
    SourceError,
    TryLaterError,
    UnusableAnswerError,
)
from downloader.http_client import PoliteClient
from tests.downloader.content_dump import (
    BASE,
    DATE,
    WIKI,
    add_dump,
    articles_of,
    export,
    exports,
    folder_of,
    list_dump,
    remove_dump,
    sample,
    sums_of,
)
from tests.downloader.folder_server import FolderServer
from tests.downloader.hostile_server import serving
from tests.downloader.impatient_client import PATIENT, new_client
from tests.downloader.killed_download import run_with_kills

CLIENT = PATIENT | {"patience": 20}
OLD, NEW = "2026-08-01", "2026-10-01"


@pytest.fixture
def site():
    return FolderServer()


@pytest.fixture
def base(site):
    with serving(site) as server:
        yield server.url


@pytest.fixture
def files(site):
    files = exports(4)
    add_dump(site, files)
    return files


@pytest.fixture
def source(base, client, tmp_path):
    def new(date="", wiki=WIKI, directory=tmp_path / "download", **options):
        place = place_of(f"{base}{BASE}{wiki}/")
        return ContentFiles([client], place, directory, date, **options)

    return new


def unknown(_):
    return False


def articles_in(batches):
    return [article for batch in batches for article in batch.articles]


def left_in(tmp_path):
    return sorted(path.name for path in (tmp_path / "download").rglob("*") if path.is_file())


def cursor_of(batches):
    return json.loads(json.dumps(list(batches)[-1].cursor))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("simplewiki", Place(f"{WIKIMEDIA}simplewiki/", "simplewiki")),
        ("https://a.org/x/dewiki", Place("https://a.org/x/dewiki/", "dewiki")),
        ("https://a.org/x/dewiki/?a=b#c", Place("https://a.org/x/dewiki/", "dewiki")),
        ("https://a.org/dewiki/2026-09-01/", Place("https://a.org/dewiki/", "dewiki", DATE)),
        ("http://a.org/dewiki/2026-09-01/xml/bzip2", Place("http://a.org/dewiki/", "dewiki", DATE)),
    ],
)
def test_a_wiki_by_its_name_or_address(name, expected):
    assert place_of(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "English",
            "en wiki",
            "../enwiki",
            "ftp://a.org/enwiki/",
            WIKIMEDIA,
            "https://a.org/",
        ),
        *("https://a.org/2026-09-01/", "https://a.org/en-wiki/", "file:///enwiki"),
    ],
)
def test_what_names_no_wiki(name):
    with pytest.raises(SourceError, match="database"):
        place_of(name)


@pytest.mark.parametrize("n_ahead", [0, 1, 3])
def test_all_articles_come_in_order_and_nothing_stays_on_disk(
    site, files, source, tmp_path, n_ahead
):
    found = source(n_ahead=n_ahead)
    assert (found.language, found.site) == ("en", "https://en.wikipedia.org/wiki/")
    assert site.asked == []
    batches = list(found.batches(None, unknown))
    assert articles_in(batches) == list(articles_of(*files.values()))
    assert len(articles_in(batches)) > 30
    assert [batch.finished for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert left_in(tmp_path) == []
    assert site.n_fetches() == 4
    n_bytes = sum(map(len, files.values()))
    progress = found.file_progress
    assert (progress.n_files, progress.n_done) == (4, 4)
    assert (progress.n_bytes, progress.done_bytes, progress.fetched_bytes) == (n_bytes,) * 3
    # Finished: nothing is fetched again.
    [again] = source().batches(cursor_of(batches), unknown)
    assert (again.articles, again.finished) == ([], True)
    assert site.n_fetches() == 4


def test_files_come_by_their_first_page(site, source, client):
    pages = [sample()[1][number] for number in sorted(sample()[1])]
    files = {
        f"{WIKI}-{DATE}-p1000p2000.xml.bz2": export(pages[2:3]),
        f"{WIKI}-{DATE}-p900p999.xml.bz2": export(pages[1:2]),
        f"{WIKI}-{DATE}-p9p899.xml.bz2": export(pages[:1]),
    }
    add_dump(site, files)
    listed, about = source().files({})
    assert [file.name.split("-")[-1].partition("p")[2][:3] for file in listed] == [
        "9p8",
        "900",
        "100",
    ]
    assert about == {"date": DATE, "files": 3}


@pytest.mark.parametrize(("told", "n_bytes"), [("1.5M", 6 << 20), ("-", None)])
def test_sizes_that_a_listing_rounds_or_does_not_tell(site, files, source, told, n_bytes):
    site.size_of = lambda _: told
    list_dump(site)
    found = source()
    batches = found.batches(None, unknown)
    next(batches)
    assert found.file_progress.n_bytes == n_bytes
    list(batches)
    assert found.file_progress.n_bytes == (n_bytes and sum(map(len, files.values())))


def test_a_file_is_fetched_while_the_one_before_is_read(site, files, source):
    batches = source(n_ahead=1).batches(None, unknown)
    next(batches)
    deadline = threading.Event()
    for _ in range(500):
        if site.n_fetches() >= 2:
            break
        deadline.wait(0.01)
    assert site.n_fetches() == 2
    deadline.wait(0.1)
    assert site.n_fetches() == 2  # and no more
    batches.close()


def test_connections_fetch_at_the_same_time(site, files, base, tmp_path):
    site.pause = 0.1
    clients = [new_client(tmp_path / str(i), **CLIENT) for i in range(3)]
    for i in range(3):
        (tmp_path / str(i)).mkdir()
    place = place_of(f"{base}{BASE}{WIKI}/")
    found = ContentFiles(clients, place, tmp_path, n_ahead=3)
    assert articles_in(found.batches(None, unknown)) == list(articles_of(*files.values()))
    assert 2 <= site.most_open <= 3
    for client in clients:
        client.close()


def test_the_newest_complete_dump_is_taken(site, files, source, caplog):
    older, newer = exports(2, date=OLD), exports(1, date=NEW)
    add_dump(site, older, date=OLD)
    add_dump(site, newer, date=NEW, is_complete=False)
    assert cursor_of(source().batches(None, unknown))["date"] == DATE
    assert "2026-10-01 is not complete" in caplog.text
    assert cursor_of(source(OLD).batches(None, unknown))["date"] == OLD
    add_dump(site, newer, date=NEW)
    assert cursor_of(source().batches(None, unknown))["date"] == NEW


def refusal(source, cursor=None, error=RefusedError):
    with pytest.raises(error) as caught:
        list(source.batches(cursor, unknown))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_date_that_cannot_be_had(site, files, source):
    add_dump(site, exports(2, date=OLD), date=OLD)
    said = refusal(source("2026-07-01"))
    assert "2026-07-01 is not there; complete is --date 2026-09-01; also 2026-08-01" in said
    add_dump(site, exports(1, date=NEW), date=NEW, is_complete=False)
    said = refusal(source(NEW))
    assert "no SHA256SUMS and no _SUCCESS; complete is --date 2026-09-01" in said
    remove_dump(site, date=DATE)
    list_dump(site)
    remove_dump(site, date=OLD)
    list_dump(site, date=OLD)
    assert "no complete dump: 2026-10-01 is not complete" in refusal(source())


def test_a_closed_wiki_and_one_that_never_was(site, source):
    site.empty.add(f"{BASE}aawiki/")
    assert "aawiki/ is empty" in refusal(source(wiki="aawiki"))
    add_dump(site, {}, "aawiki")
    assert "aawiki has no pages" in refusal(source(wiki="aawiki"))
    site.pages[folder_of("aawiki")] = b'<pre><a href="../">../</a></pre>'
    assert "2026-09-01 is empty" in refusal(source(wiki="aawiki"))
    assert "is zzwiki the name of a wiki's database" in refusal(source(wiki="zzwiki"))


def test_another_layout_is_told(site, files, source):
    folder = folder_of()
    for wrong in (f"{WIKI}-{DATE}-part1.xml.zst", f"{WIKI}-20260901-p774p999.xml.bz2"):
        site.files[folder + wrong] = b""
        list_dump(site)
        said = refusal(source(), error=UnusableAnswerError)
        assert f"files such as {WIKI}-{DATE}-p1p1000.xml.bz2 were expected, found {wrong}" in said
        del site.files[folder + wrong]
    site.files[f"{BASE}{WIKI}/{NEW}/json/x.json"] = b""
    list_dump(site)
    site.list_folder(f"{BASE}{WIKI}/{NEW}/")
    assert "has no xml/bzip2/ in it, but json/" in refusal(source(NEW))
    site.files = {f"{BASE}{WIKI}/latest/x": b""}
    list_dump(site)
    said = refusal(source(), error=UnusableAnswerError)
    assert "folders such as 2026-09-01/ were expected, found latest/" in said


def test_checksums_that_do_not_fit_the_folder(site, files, source):
    path = f"{folder_of()}SHA256SUMS"
    first = next(iter(files))
    site.files[path] = sums_of({name: data for name, data in files.items() if name != first})
    assert f"do not name the same files, such as {first}" in refusal(
        source(), error=ChangingDumpError
    )
    site.files[path] = b"<html>no sums"
    site.asked.clear()
    assert "another layout than expected: line 1" in refusal(source(), error=UnusableAnswerError)
    assert site.n_fetches("SHA256SUMS") == 1  # it would be the same after an hour of patience


def test_a_file_with_wrong_bytes_is_fetched_once_more(site, files, source, tmp_path, caplog):
    names = list(files)
    path = folder_of() + names[1]
    site.instead[path] = [files[names[1]][:-9] + b"x" * 9]
    assert articles_in(source().batches(None, unknown)) == list(articles_of(*files.values()))
    assert site.n_fetches(names[1]) == 2
    assert "another SHA-256" in caplog.text
    # Twice wrong: an error, and what was read before is kept.
    site.files[path] = files[names[1]][:-9] + b"x" * 9
    list_dump(site)
    found = []
    with pytest.raises(ChangingDumpError, match="downloaded twice") as caught:
        found.extend(source(directory=tmp_path / "b").batches(None, unknown))
    assert names[1] in str(caught.value)
    assert site.n_fetches(names[1]) == 4  # two of each
    assert not (tmp_path / "b" / "content" / names[1]).exists()
    assert articles_in(found) == list(articles_of(files[names[0]]))
    assert found[-1].cursor["done"] == [f"{names[0]} {sums_of(files).decode()[:64]}"]


def test_a_copy_that_was_damaged_on_disk_is_fetched_again(site, files, source, tmp_path):
    name = next(iter(files))
    (tmp_path / "download" / "content").mkdir(parents=True)
    copy = tmp_path / "download" / "content" / name
    copy.write_bytes(files[name][:-4] + b"xxxx")
    assert articles_in(source().batches(None, unknown)) == list(articles_of(*files.values()))
    assert site.n_fetches(name) == 1


def test_cut_connections_are_resumed_by_range(site, files, source):
    site.cut_after = [10**6, 5_000, 0, 9_000]  # the first is that of SHA256SUMS
    assert articles_in(source(n_ahead=0).batches(None, unknown)) == list(
        articles_of(*files.values())
    )
    assert any(asked for path, asked in site.asked if path.endswith(".bz2"))


def test_a_file_that_changes_on_its_way_is_begun_anew(site, files, source):
    name = list(files)[2]
    site.instead[folder_of() + name] = [files[name][:-9] + b"x" * 9]
    site.cut_after = [10**6] * 3 + [20_000]
    found = source(n_ahead=0).batches(None, unknown)
    assert articles_in(found) == list(articles_of(*files.values()))
    ranges = [asked for path, asked in site.asked if path.endswith(name)]
    assert ranges == ["", "bytes=20000-"]


def test_a_file_that_vanishes(site, files, source):
    add_dump(site, exports(2, date=OLD), date=OLD)
    third = list(files)[2]
    del site.files[folder_of() + third]
    found = []
    with pytest.raises(RefusedError, match="no longer") as caught:
        found.extend(source(n_ahead=3).batches(None, unknown))
    assert third in str(caught.value)
    assert str(caught.value).endswith("complete is --date 2026-08-01")  # not the one that failed
    assert articles_in(found) == list(articles_of(*list(files.values())[:2]))


def begun(source, n_files):
    """The cursor when so many files are done."""
    for batch in source.batches(None, unknown):
        if len(batch.cursor["done"]) == n_files:
            return json.loads(json.dumps(batch.cursor))
    return None


def test_a_dump_that_was_begun_is_continued_until_it_is_finished(site, files, source, caplog):
    cursor = begun(source(), 2)
    newer = exports(3, date=NEW)
    add_dump(site, newer, date=NEW)
    rest = list(source().batches(cursor, unknown))
    assert articles_in(rest) == list(articles_of(*list(files.values())[2:]))
    assert rest[-1].cursor["date"] == DATE
    newest = list(source().batches(cursor_of(rest), unknown))
    assert newest[-1].cursor["date"] == NEW
    assert len(newest[-1].cursor["done"]) == 3
    remove_dump(site)
    list_dump(site)
    assert cursor_of(source().batches(cursor, unknown)) == cursor_of(newest)
    assert f"the dump of {DATE} is not there, of which 2 files were read: dumps are" in caplog.text
    assert "complete is --date 2026-10-01" in refusal(source(date=DATE), cursor)
    # A finished one is not missed.
    assert cursor_of(source().batches(cursor_of(rest), unknown))["date"] == NEW


def test_a_dump_that_was_made_anew_is_read_where_it_differs(site, files, source):
    cursor = begun(source(), 2)
    changed = dict(files)
    first, second = list(files)[:2]
    changed[second] = export([sample()[1][max(sample()[1])]])
    add_dump(site, changed)
    site.asked.clear()
    rest = list(source().batches(cursor, unknown))
    assert site.n_fetches(first) == 0
    assert articles_in(rest) == list(articles_of(*list(changed.values())[1:]))


def test_known_pages_are_not_parsed(files, source, tmp_path):
    expected = [article.page_id for article in articles_of(*files.values())]
    known = set(expected[::2])
    batches = list(source().batches(None, known.__contains__))
    assert [article.page_id for article in articles_in(batches)] == expected[1::2]
    assert sum(batch.already_there for batch in batches) == len(known)


def test_an_interrupted_file_stays_and_is_not_fetched_again(site, files, source, tmp_path):
    batches = source(n_ahead=0).batches(None, unknown)
    next(batches)
    batches.close()
    assert left_in(tmp_path) == [next(iter(files))]
    (tmp_path / "download" / "content" / "given-up.xml.bz2.partial").write_bytes(b"x")
    second = source()
    assert articles_in(second.batches({"done": 5, "date": 7}, unknown)) == list(
        articles_of(*files.values())
    )
    assert site.n_fetches() == 4
    assert left_in(tmp_path) == []


def test_files_can_be_kept(site, files, source, tmp_path):
    kept = tmp_path / "files"
    list(source(keep_in=kept).batches(None, unknown))
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == files
    again = source(keep_in=kept, wanted=PageFilter.of(["Allan Dwan"]))
    assert len(articles_in(again.batches(None, unknown))) == 1
    assert site.n_fetches() == 4
    assert len(list(kept.iterdir())) == 4


def test_files_are_kept_before_they_are_done(files, source, tmp_path):
    kept = tmp_path / "files"
    for batch in source(keep_in=kept).batches(None, unknown):  # a kill may follow each
        assert {path.name for path in kept.glob("*")} >= {
            key.split()[0] for key in batch.cursor["done"]
        }
    assert len(list(kept.iterdir())) == 4


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), TryLaterError("busy")])
def test_what_fails_ahead_may_succeed_when_it_is_needed(files, source, base, monkeypatch, error):
    fetch, passing, found = PoliteClient.fetch_file, dump_files.is_passing, []
    has_failed, is_noted = threading.Event(), threading.Event()

    def fail_ahead(self, url, path, *rest):
        if not url.endswith(next(iter(files))) and not has_failed.is_set():
            has_failed.set()
            raise error
        fetch(self, url, path, *rest)

    def note(outcome):  # before the next file can be taken
        if has_failed.is_set():
            is_noted.set()
        return passing(outcome)

    monkeypatch.setattr(PoliteClient, "fetch_file", fail_ahead)
    monkeypatch.setattr(dump_files, "is_passing", note)
    for batch in source(n_ahead=1).batches(None, unknown):
        assert is_noted.wait(10)
        found.append(batch)
    assert articles_in(found) == list(articles_of(*files.values()))


def test_what_fails_when_it_is_needed_is_not_tried_again(files, source, monkeypatch):
    def fail(self, url, path, *rest):
        tried.append(url)
        raise TryLaterError("busy")

    tried = []
    monkeypatch.setattr(PoliteClient, "fetch_file", fail)
    with pytest.raises(TryLaterError, match="busy"):
        list(source(n_ahead=1).batches(None, unknown))
    assert len(set(tried)) == len(tried) <= 2


def test_the_disk_is_not_filled(files, source, tmp_path, monkeypatch):
    monkeypatch.setattr(file_download, "MIN_FREE_BYTES", shutil.disk_usage(tmp_path).total)
    with pytest.raises(OSError, match="would leave fewer"):
        list(source().batches(None, unknown))
    assert not any(name.endswith(".bz2") for name in left_in(tmp_path))


def test_a_file_that_is_no_export(site, source, tmp_path):
    name = f"{WIKI}-{DATE}-p1p9.xml.bz2"
    add_dump(site, {name: b"BZh9 this is not compressed"})
    with pytest.raises(CorpusFormatError, match=rf"{name}: .*has been deleted"):
        list(source().batches(None, unknown))
    assert left_in(tmp_path) == []


def test_another_wiki_is_refused_once_it_is_known(files, source):
    def refuse(language, address):
        raise KeyError(language, address)

    with pytest.raises(KeyError, match=r"en.*https://en\.wikipedia\.org/wiki/"):
        list(source(on_site=refuse).batches(None, unknown))


def test_the_language_is_that_of_the_files(site, source, tmp_path):
    head = sample()[0].replace('xml:lang="en"', 'xml:lang="nb"').replace("enwiki", "nowiki")
    pages = [sample()[1][number] for number in sorted(sample()[1])][-8:]
    add_dump(site, {f"nowiki-{DATE}-p1p999.xml.bz2": export(pages, head)}, "nowiki")
    found = source(wiki="nowiki")
    assert found.language == "no"
    store = ArticleStore(tmp_path / "store")
    report = crawl(store, found, tmp_path / "state")
    assert found.language == "nb"
    assert report.added == len(store) > 1
    assert crawl(store, source("2026-09-01", "nowiki"), tmp_path / "state").added == 0


def test_a_file_is_deleted_only_when_its_articles_are_stored(files, source, tmp_path):
    store, noted = ArticleStore(tmp_path / "store", 10_000), []

    def look(_, batch):
        if batch.commit:
            [state] = (tmp_path / "state").glob("crawl-*.json")
            done = json.loads(state.read_text())["cursor"]["done"]
            copy = tmp_path / "download" / "content" / list(files)[len(done) - 1]
            noted.append((len(done), len(store), copy.exists()))

    crawl(store, source(n_ahead=0), tmp_path / "state", None, look)
    counts = [len(articles_of(*list(files.values())[:n])) for n in (1, 2, 3, 4)]
    assert noted == [(n, counts[n - 1], True) for n in (1, 2, 3, 4)]
    assert left_in(tmp_path) == []


def test_a_limit_takes_the_first_and_goes_on(files, source, tmp_path):
    store = ArticleStore(tmp_path / "store", 10)
    expected = [article.page_id for article in articles_of(*files.values())]
    for limit in (3, 20, None):
        report = crawl(store, source(n_ahead=0), tmp_path / "state", limit)
        assert [article.page_id for article in store] == expected[:limit]
    assert report.finished
    assert [article.page_id for article in store] == expected


def test_hostile_listings_name_no_other_file(site, files, source, base):
    extra = "".join(
        f'<a href="{link}">x</a>'
        for link in ("../../x", "//evil.example/x.xml.bz2", "%2e%2e/x-p1p2.xml.bz2", "a/b.xml.bz2")
    )
    site.list_folder(folder_of(), extra)
    listed, _ = source().files({})
    assert [file.url for file in listed] == [f"{base}{folder_of()}{name}" for name in files]


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_and_double_nothing(site, base, tmp_path):
    files = exports(6, max_page=200_000)
    add_dump(site, files)
    site.pause = 0.02
    found = run_with_kills(site, f"{base}{BASE}{WIKI}/", tmp_path, n_kills=100, seed=3)
    assert found == [article.page_id for article in articles_of(*files.values())]
    assert [asked for path, asked in site.asked if path.endswith(".bz2") and asked]
