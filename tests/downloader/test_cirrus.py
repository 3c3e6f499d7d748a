import bz2
import gzip
import json
import os
import random
import shutil
import time
from pathlib import Path
from urllib.parse import unquote

import pytest

from corpora import CorpusFormatError
from downloader import cirrus, dump_files, file_download, folder_listing
from downloader.cirrus import CirrusShards, read_cirrus, site_of_file
from downloader.errors import DownloadError, RefusedError, UnusableAnswerError
from tests.downloader.folder_server import FolderServer
from tests.downloader.hostile_server import serving
from tests.downloader.impatient_client import PATIENT
from tests.downloader.killed_download import run_with_kills

CLIENT = PATIENT | {"patience": 20}
FOLDER = "/other/cirrus_search_index/20260816/index_name=enwiki_content/"
SHARD = "enwiki_content-20260816-{:05}.json.bz2"
HOSTILE_LINKS = [
    *("https://evil.example/other/x-00001.json.bz2", "//evil.example/x-00001.json.bz2"),
    *("http://user@127.0.0.1/x-00001.json.bz2", "http://[::1/x-00001.json.bz2"),
    *("../x-00001.json.bz2", "%2e%2e/x-00001.json.bz2", "..%2fx-00001.json.bz2"),
    *("%2e%2e%2f%2e%2e%2fx-00001.json.bz2", "..\\x-00001.json.bz2"),
    *("a/x-00001.json.bz2", "/x-00001.json.bz2", "x%00-00001.json.bz2", "x%0a-00001.json.bz2"),
    *(".hidden.json.bz2", "-rf.json.bz2", "x-00001.json.bz2?to=https://evil.example/"),
    *("file:///etc/x-00001.json.bz2", "javascript:x-00001.json.bz2", "x" * 5000 + ".json.bz2"),
    *("é-00001.json.bz2", "x-00001.json.bz2.exe", ""),
]


def pair(number, words="", **fields):
    usual = {
        "title": f"Page {number}",
        "namespace": 0,
        "wiki": "enwiki",
        "version": number + 1000,
        "timestamp": "2026-08-16T01:02:03Z",
        "source_text": f"Text {number}. {words}",
    }
    action = {"index": {"_id": number}}
    return f"{json.dumps(action)}\n{json.dumps(usual | fields)}\n"


def noise(seed, n_bytes=300):
    return random.Random(seed).randbytes(n_bytes).hex()


def shard_of(numbers, compress=bz2.compress, n_bytes=0):
    return compress("".join(pair(n, noise(n, n_bytes)) for n in numbers).encode())


@pytest.fixture
def site():
    return FolderServer()


@pytest.fixture
def base(site):
    with serving(site) as server:
        yield server.url


def add_shards(site, *contents):
    site.files |= {FOLDER + SHARD.format(i): content for i, content in enumerate(contents)}
    site.list_folder(FOLDER)


def remote_shards(client, url):
    return [shard for shard, _ in cirrus.remote_shards(client, url)]


def unknown(_):
    return False


def ids(batches):
    return [article.page_id for batch in batches for article in batch.articles]


def test_a_file_and_a_directory(tmp_path):
    (tmp_path / "b.json.bz2").write_bytes(shard_of([3, 4]))
    (tmp_path / "a.json.gz").write_bytes(shard_of([1, 2], gzip.compress))
    (tmp_path / "_SUCCESS").write_bytes(b"")
    told = []
    assert [a.page_id for a in read_cirrus(tmp_path / "a.json.gz")] == [1, 2]
    assert [a.page_id for a in read_cirrus(tmp_path, told.append)] == [1, 2, 3, 4]
    assert told == sorted(told)
    assert told[-1] == sum(file.stat().st_size for file in tmp_path.iterdir())
    with pytest.raises(CorpusFormatError, match=r"no \.json"):
        list(read_cirrus(Path(__file__).parent))


@pytest.mark.slow
def test_articles_before_an_error_come_first_for_any_number_of_processes(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text("".join(map(pair, range(1, 21))) + '{"index": {"_id": 21}}')
    for n_processes in (1, 2):
        found = []
        with pytest.raises(CorpusFormatError, match=r"dump\.json, line 41: .*before its document"):
            found.extend(a.page_id for a in read_cirrus(path, n_processes=n_processes))
        assert found == list(range(1, 21))
    path.write_text(pair(1) + pair(2) + pair(3, namespace=1) + pair(4)[:-9])
    found = []
    with pytest.raises(CorpusFormatError, match="line 8"):
        found.extend(article.page_id for article in read_cirrus(path))
    assert found == [1, 2]


def test_the_choice_of_text_reaches_the_parser(tmp_path):
    path = tmp_path / "dump.json"
    path.write_text(pair(1, "[[Wiki|words]]", text="Search text."))
    assert [article.text for article in read_cirrus(path)] == ["Text 1. words"]
    assert [article.text for article in read_cirrus(path, text="extracted")] == ["Search text."]


def test_shards_are_listed_in_the_order_of_names(site, base, client):
    for number in (10, 2, 0):
        site.files[FOLDER + SHARD.format(number)] = b""
    site.files[FOLDER + "_SUCCESS"] = b""
    site.list_folder(FOLDER)
    expected = [base + FOLDER + SHARD.format(number) for number in (0, 2, 10)]
    for url in (base + FOLDER, base + FOLDER.rstrip("/"), base + FOLDER.replace("=", "%3D")):
        assert list(map(unquote, remote_shards(client, url))) == expected
    assert {path for path, _ in site.asked} == {FOLDER}
    one = base + "/elsewhere/enwiki-20251229-cirrussearch-content.json.gz"
    assert remote_shards(client, one) == [one]
    assert len(site.asked) == 3


def test_a_hostile_listing_leads_nowhere(site, base, client):
    site.files[FOLDER + SHARD.format(0)] = b""
    site.list_folder(
        FOLDER,
        '<base href="https://evil.example/"><a>no link</a>'
        + "".join(f'<a href="{link}">x</a>' for link in HOSTILE_LINKS),
    )
    assert list(map(unquote, remote_shards(client, base + FOLDER))) == [
        base + FOLDER + SHARD.format(0)
    ]


@pytest.mark.parametrize(
    "tag",
    [
        *("<a href={}>", "<A HREF='{}' class=x>", '<a\nclass="name"\thref = "{}"/>'),
        *('<a title="href"href="{}">', "<!-- <a href={}> -->", "<div><p><a href=&#x65;{}>"),
    ],
)
def test_links_in_whatever_form(site, base, client, tag):
    name = SHARD.format(0)
    link = name[1:] if "&#x65;" in tag else name
    site.pages[FOLDER] = b"<a name=x>\xff<abbr href=y.json.gz>" + tag.format(link).encode()
    assert list(map(unquote, remote_shards(client, base + FOLDER))) == [base + FOLDER + name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<a>", "<b>", "<p><i>", "<a ", "<a href=", '<a href="', "<a href=x' ", "<!--"),
        *(' href="', " href='", "<a x=&#", "<a href=../>", "<a href=x>", "<![CDATA[", "<script>"),
        *("<a href=/" + "../" * 600 + ">", "<a href=&#" + "9" * 1900 + ">"),
        "<a href=" + "9" * 99 + ">",
        *("<a href=x>x</a> " + " \t" * 200, "<a href=x>x</a> 16-Aug-2026 05:11 " + "9" * 200),
        *("<table>", "<" + "a" * 99, "<a" + " " * 4000, "<a href" + " " * 4000),
    ],
)
def test_a_listing_as_large_as_may_be_takes_seconds(site, base, client, piece):
    site.pages[FOLDER] = piece.encode() * (folder_listing.MAX_LISTING_BYTES // len(piece))
    began = time.monotonic()
    with pytest.raises((RefusedError, UnusableAnswerError)):
        remote_shards(client, base + FOLDER)
    assert time.monotonic() - began < 30


def test_a_folder_above_is_refused_with_what_is_in_it(site, base, client):
    above = "/other/cirrus_search_index/20260816/"
    links = [
        f"index_name%3D{code}wiki_{kind}/" for code in "abc" for kind in ("content", "general")
    ]
    site.pages[above] = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    with pytest.raises(RefusedError, match=r"index_name=awiki_content/ index_name=bwiki_con") as e:
        remote_shards(client, base + above)
    assert "_general" not in str(e.value)
    site.pages["/empty/"] = b"<html>nothing"
    with pytest.raises(RefusedError, match=r"no \.json\.bz2"):
        remote_shards(client, base + "/empty")
    with pytest.raises(RefusedError, match=r"cirrussearch are gone; choose.*/cirrus_search_index/"):
        remote_shards(client, base + "/other/cirrussearch/current/")


def test_several_wikis_in_one_folder_are_refused(site, base, client):
    for name in ("aawiki-20251229-cirrussearch-content", "enwiki-20251229-cirrussearch-general"):
        site.files[f"/old/{name}.json.gz"] = b""
    site.list_folder("/old/")
    with pytest.raises(RefusedError, match=r"2 indices.*aawiki-20251229-.*enwiki-20251229-"):
        remote_shards(client, base + "/old/")


@pytest.mark.parametrize(
    ("url", "language", "article_path"),
    [
        ("/x/index_name=enwiktionary_content/", "en", "https://en.wiktionary.org/wiki/"),
        ("/x/index_name%3Denwiki_content", "en", "https://en.wikipedia.org/wiki/"),
        (
            "/x/simplewiki_content-20260816-00000.json.bz2",
            "simple",
            "https://simple.wikipedia.org/wiki/",
        ),
        (
            "/x/commonswiki-20251229-cirrussearch-content.json.gz",
            "und",
            "https://commons.wikimedia.org/wiki/",
        ),
        ("/x/articles-20251229-00000.json.gz", "und", ""),
    ],
)
def test_the_wiki_is_told_by_the_names_alone(
    site, client, tmp_path, base, url, language, article_path
):
    source = CirrusShards(client, base + url, tmp_path)
    assert (source.language, source.site) == (language, article_path)
    assert site.asked == []


def test_the_wiki_is_told_by_what_the_listing_names(site, base, client, tmp_path):
    site.files["/old/enwiktionary-20251229-cirrussearch-content.json.gz"] = b""
    site.list_folder("/old/")
    source = CirrusShards(client, base + "/old/", tmp_path)
    assert (source.site, source.language) == ("https://en.wiktionary.org/wiki/", "en")
    assert site.asked == [("/old/", "")]


def test_the_wiki_of_files_is_told_by_the_first_document(tmp_path):
    lines = pair(1, wiki="enwiktionary") + pair(2, wiki="dewiki")
    (tmp_path / "b.json.bz2").write_bytes(bz2.compress(pair(1).encode()))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(lines.encode()))
    assert site_of_file(tmp_path) == ("en", "https://en.wiktionary.org/wiki/")
    assert site_of_file(str(tmp_path / "b.json.bz2")) == ("en", "https://en.wikipedia.org/wiki/")
    path = tmp_path / "c.json"
    path.write_text('{"index": {"_id": "1", "_index": "frwiki_content"}}\n{"title": "T"}\n')
    assert site_of_file(path) == ("fr", "https://fr.wikipedia.org/wiki/")
    path.write_text(pair(1, wiki="our_own", language="de"))
    assert site_of_file(path) == ("de", "")
    path.write_text("")
    assert site_of_file(path) == ("und", "")
    for nonsense in ("nonsense", '{"index": {"_id": 1}}\n[]\n', pair(1, wiki=5), pair(1)[:-9]):
        path.write_text(nonsense)
        with pytest.raises(CorpusFormatError, match=r"c\.json, line [12]: "):
            site_of_file(path)
    with pytest.raises(FileNotFoundError):
        site_of_file(tmp_path / "missing.json")


def test_nothing_is_taken_from_a_pipe_to_tell_its_wiki(tmp_path):
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    assert site_of_file(path) == ("und", "")


@pytest.fixture
def dump(site):
    add_shards(site, *(shard_of(range(first, first + 100)) for first in (1, 101, 201)))


@pytest.mark.usefixtures("dump")
def test_all_articles_come_in_order_and_nothing_stays_on_disk(site, base, client, tmp_path):
    told = []
    source = CirrusShards(client, base + FOLDER, tmp_path / "d", progress=told.append)
    assert source.language == "en"
    assert source.total() is None
    assert not (tmp_path / "d").exists()
    at_once, batches = [], []
    for batch in source.batches(None, unknown):
        at_once.append(len(list((tmp_path / "d" / "cirrus").iterdir())))
        batches.append(batch)
    assert ids(batches) == list(range(1, 301))
    assert [batch.finished for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert (max(at_once), list((tmp_path / "d" / "cirrus").iterdir())) == (1, [])
    assert site.n_fetches() == 3
    assert told
    parallel = CirrusShards(client, base + FOLDER + SHARD.format(1), tmp_path / "p", n_processes=2)
    assert ids(parallel.batches(None, unknown)) == list(range(101, 201))
    # Finished: nothing is fetched again.
    cursor = json.loads(json.dumps(batches[-1].cursor))
    again = CirrusShards(client, base + FOLDER, tmp_path / "d")
    assert [(b.articles, b.finished) for b in again.batches(cursor, unknown)] == [([], True)]
    assert site.n_fetches() == 4
    assert again.identity == source.identity
    json.dumps(source.identity)


@pytest.mark.usefixtures("dump")
def test_what_is_known_is_not_parsed_again(base, client, tmp_path, monkeypatch):
    source, parsed = CirrusShards(client, base + FOLDER, tmp_path), []
    parse = cirrus.read_document
    monkeypatch.setattr(cirrus, "read_document", lambda r, text: parsed.append(r) or parse(r, text))
    batches = list(source.batches(None, lambda page_id: page_id % 10 != 0))
    wanted = set(range(10, 301, 10))
    assert set(ids(batches)) - {1, 101, 201} == wanted  # the first tells the language of a shard
    assert len(parsed) == len(wanted) + 3
    assert sum(batch.already_there for batch in batches) == 300 - len(parsed)


def test_known_ids_of_another_language_do_not_count(site, base, client, tmp_path):
    add_shards(site, bz2.compress("".join(pair(n, wiki="dewiki") for n in range(1, 21)).encode()))
    source = CirrusShards(client, base + FOLDER, tmp_path)
    assert ids(source.batches(None, lambda _: True)) == list(range(1, 21))


def test_batches_are_bounded_and_say_what_is_missing(site, base, client, tmp_path, monkeypatch):
    monkeypatch.setattr(dump_files, "BATCH_CHARACTERS", 2000)
    lines = [pair(n, "word " * 100) for n in range(1, 40)]
    lines += [pair(40, title="R", page_type="redirect"), pair(41, title="T", namespace=1)]
    lines += ['{"index": {"_id": "42"}}\n{"title": 5}\n', pair(43)]
    add_shards(site, gzip.compress("".join(lines).encode()))
    batches = list(CirrusShards(client, base + FOLDER, tmp_path).batches(None, unknown))
    assert ids(batches) == [*range(1, 40), 43]
    assert max(len(batch.articles) for batch in batches) == 4
    skipped = {reason: names for batch in batches for reason, names in batch.skipped.items()}
    assert (skipped["redirect"], skipped["other namespace"]) == (["R"], ["T"])
    assert ["line 84" in name for name in skipped["malformed"]] == [True]


def test_a_long_way_through_known_pages_is_not_silent(site, base, client, tmp_path, monkeypatch):
    for module in (cirrus, dump_files):
        monkeypatch.setattr(module, "BATCH_RECORDS", 10)
    add_shards(site, shard_of(range(1, 101)))
    source = CirrusShards(client, base + FOLDER, tmp_path)
    batches = list(source.batches(None, lambda page_id: page_id > 1))
    assert ids(batches) == [1]
    assert len(batches) > 10


def test_a_shard_of_which_nothing_can_be_read(site, base, client, tmp_path):
    lines = "".join(f'{{"index": {{"_id": {n}}}}}\n{{"title": 5}}\n' for n in range(1, 500))
    add_shards(site, bz2.compress(lines.encode()))
    source = CirrusShards(client, base + FOLDER, tmp_path)
    with pytest.raises(CorpusFormatError, match=r"no document can be read.*line 200"):
        list(source.batches(None, unknown))


def test_a_damaged_shard_is_fetched_again(site, base, client, tmp_path):
    whole = shard_of(range(1, 201), n_bytes=3000)  # more than a block of bzip2
    path = FOLDER + SHARD.format(0)
    site.files[path] = whole[: len(whole) * 4 // 5]
    site.list_folder(FOLDER)
    source, found = CirrusShards(client, base + FOLDER, tmp_path), []
    with pytest.raises(CorpusFormatError, match=r"http://.*end too early.*download it again"):
        found.extend(
            article.page_id for batch in source.batches(None, unknown) for article in batch.articles
        )
    assert found == list(range(1, len(found) + 1)) != []
    assert list((tmp_path / "cirrus").iterdir()) == []
    site.files[path] = whole
    assert ids(source.batches(None, unknown)) == list(range(1, 201))


@pytest.mark.usefixtures("dump")
def test_an_interrupted_shard_stays_and_is_not_fetched_again(site, base, client, tmp_path):
    batches = CirrusShards(client, base + FOLDER, tmp_path).batches(None, unknown)
    assert len(next(batches).articles) == 100
    batches.close()
    assert len(list((tmp_path / "cirrus").iterdir())) == 1
    (tmp_path / "cirrus" / "given-up.json.bz2.partial").write_bytes(b"x")
    second = CirrusShards(client, base + FOLDER, tmp_path)
    assert ids(second.batches({"done": "nonsense"}, unknown)) == list(range(1, 301))
    assert site.n_fetches() == 3
    assert list((tmp_path / "cirrus").iterdir()) == []
    second.clear()
    assert list(tmp_path.glob("cirrus*")) == []


def test_the_same_name_at_another_address_is_another_file(site, base, client, tmp_path):
    for number, folder in enumerate(("/a/enwiki_content/", "/b/enwiki_content/"), start=1):
        site.files[folder + SHARD.format(0)] = shard_of([number])
        site.list_folder(folder)
    first = CirrusShards(client, base + "/a/enwiki_content/", tmp_path).batches(None, unknown)
    next(first)
    first.close()
    second = CirrusShards(client, base + "/b/enwiki_content/", tmp_path)
    assert ids(second.batches(None, unknown)) == [2]


def test_cut_connections_are_resumed_by_range(site, base, client, tmp_path):
    add_shards(site, shard_of(range(1, 201), n_bytes=2000))
    site.cut_after = [100_000, 0, 50_000]
    source = CirrusShards(client, base + FOLDER, tmp_path)
    assert ids(source.batches(None, unknown)) == list(range(1, 201))
    ranges = [asked for path, asked in site.asked if path.endswith(".bz2")]
    assert len(ranges) == 4
    starts = [int(asked[6:].rstrip("-")) for asked in ranges if asked]
    assert starts == sorted(starts)
    assert starts[-1] > 100_000


@pytest.mark.usefixtures("dump")
def test_a_shard_beyond_the_cap_is_not_fetched(site, base, client, tmp_path):
    site.files[FOLDER + SHARD.format(0)] = bytes(200_000)
    source = CirrusShards(client, base + FOLDER, tmp_path, max_shard_bytes=100_000)
    with pytest.raises(UnusableAnswerError):
        list(source.batches(None, unknown))
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.bz2*")) <= 100_000


@pytest.mark.usefixtures("dump")
def test_the_disk_is_not_filled(base, client, tmp_path, monkeypatch):
    monkeypatch.setattr(file_download, "MIN_FREE_BYTES", shutil.disk_usage(tmp_path).total)
    source = CirrusShards(client, base + FOLDER, tmp_path)
    with pytest.raises(OSError, match="would leave fewer") as caught:
        list(source.batches(None, unknown))
    assert not isinstance(caught.value, DownloadError)
    assert [file.name for file in tmp_path.rglob("*.bz2*") if file.suffix != ".json"] == []


def test_a_missing_shard_is_an_error_of_the_download(site, base, client, tmp_path):
    add_shards(site, b"")
    del site.files[FOLDER + SHARD.format(0)]
    with pytest.raises(RefusedError):
        list(CirrusShards(client, base + FOLDER, tmp_path).batches(None, unknown))


def test_nonsense_is_refused_at_once(client, tmp_path):
    with pytest.raises(ValueError, match="extracted"):
        CirrusShards(client, "http://127.0.0.1/", tmp_path, text="html")


@pytest.mark.slow
@pytest.mark.parametrize(("n_kills", "seed"), [(2, 1), (30, 2)])
def test_kills_lose_nothing_and_double_nothing(site, base, tmp_path, n_kills, seed):
    add_shards(site, *(shard_of(range(i, i + 100), n_bytes=3000) for i in (1, 101, 201)))
    site.pause = 0.01  # 20 pieces a shard
    assert sorted(run_with_kills(site, base + FOLDER, tmp_path, n_kills, seed)) == [*range(1, 301)]
    resumed = [asked for path, asked in site.asked if path.endswith(".bz2") and asked]
    assert resumed  # by Range, where a kill came in the middle of a body
