import hashlib
import re
import time
import urllib.request

import pytest

from benchmarks.whole_wikipedia import pages, paper
from benchmarks.whole_wikipedia.markup import Markup
from benchmarks.whole_wikipedia.run import Folder
from benchmarks.whole_wikipedia.server import folder_server
from benchmarks.whole_wikipedia.watch import Watch
from corpora import Article
from corpora.articles.mediawiki_xml import read_articles

PAGE = """{{Short description|A town}}
{{Infobox place
| name = [[Bodmin]]
}}
'''Bodmin''' is a town in [[Cornwall]] of [[England|the English]].<ref>{{cite|a=1}}</ref>
<ref name=a/>
{| class="wikitable"
| a || [[b]]
|}
[[File:Bodmin.jpg|thumb|A [[town]]]] It has {{convert|3|mi}} of streets.<!-- many -->
[[Category:Towns]]
[[de:Bodmin]]
"""


@pytest.fixture
def reference(monkeypatch):
    words = [f"word{i}" for i in range(300)]
    paragraphs = [(False, words), (True, ["History"]), (False, words[:50])]
    known = pages.Reference(
        ['The "A" & B', "C"], [paragraphs, paragraphs], [[1], []], Markup.of([PAGE, PAGE])
    )
    monkeypatch.setattr(pages, "reference", lambda: known)
    monkeypatch.setattr(pages, "FILE_ARTICLES", 20)


def test_outermost_pieces_of_markup_have_kinds():
    markup = Markup.of([PAGE])
    assert {kind: len(found) for kind, found in markup.pieces.items()} == {
        "box": 1, "note": 1, "category": 1, "ref": 2, "link": 1, "piped link": 1, "template": 1,
        "file": 1, "table": 1, "comment": 1,
    }  # fmt: skip
    assert markup.pieces["file"] == ["[[File:Bodmin.jpg|thumb|A [[town]]]]"]
    assert markup.n_words == 15
    assert markup.a_page("ref") == 2


@pytest.mark.usefixtures("reference")
def test_made_up_exports_are_read_and_made_once(tmp_path):
    files = pages.make_pages(tmp_path / "one", 30)
    assert [file.name for file in files] == [
        "enwiki-2026-09-01-p1p180.xml.bz2", "enwiki-2026-09-01-p181p270.xml.bz2",
    ]  # fmt: skip
    assert pages.export_files(tmp_path / "one") == files
    articles = [a for file in files for a in read_articles(file) if isinstance(a, Article)]
    assert len({article.title for article in articles}) == len(articles) == 30
    assert all(1 <= article.page_id <= 270 for article in articles)
    text = "\n".join(article.text for article in articles)
    assert "word7" in text
    assert not set("{}[]|<>") & set(text)
    sums = (files[0].parent / "SHA256SUMS").read_text().split()
    assert sums[0] == hashlib.sha256(files[0].read_bytes()).hexdigest()
    # A run that was killed makes what is missing, to the same bytes.
    content = files[1].read_bytes()
    files[1].unlink()
    before = files[0].stat().st_mtime_ns
    pages.make_pages(tmp_path / "one", 30)
    assert files[1].read_bytes() == content
    assert files[0].stat().st_mtime_ns == before
    assert pages.make_pages(tmp_path / "two", 20, seed=1)[0].read_bytes() != files[0].read_bytes()


def test_names_of_numbers_are_different():
    assert len({pages.name_of(number) for number in range(20_000)}) == 20_000


def test_the_server_lists_folders_and_sends_files_from_a_byte_on(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"0123456789")
    with folder_server(tmp_path) as address:
        with urllib.request.urlopen(f"{address}a/") as answer:
            assert b'<a href="file">file</a>' in answer.read()
        request = urllib.request.Request(f"{address}a/file", headers={"Range": "bytes=7-"})
        with urllib.request.urlopen(request) as answer:
            assert (answer.status, answer.read()) == (206, b"789")
            assert answer.headers["Content-Range"] == "bytes 7-9/10"
    with folder_server(tmp_path) as again:
        assert again == address
        with urllib.request.urlopen(again) as answer:
            assert re.findall('href="(.*?)"', answer.read().decode()) == ["../", "a/"]


MODULE = """
import sys, time
from pathlib import Path
if Path("killed").exists():
    sum(i * i for i in range(3_000_000))
    Path("done").touch()
Path("killed").touch()
time.sleep(0.5 if Path("done").exists() else 60)
"""


def test_a_stage_is_killed_once_and_given_again(tmp_path, monkeypatch):
    (tmp_path / "command.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    watch = Watch()

    def run():
        return watch.run(["command"], lambda: "stage", lambda _: 0.5, tmp_path / "log")

    started = time.monotonic()
    assert not run()
    assert run()
    stage = watch.stages["stage"]
    assert stage.kills == 1
    assert 1.0 < stage.seconds < time.monotonic() - started
    assert 0.0 < stage.cpu_main < stage.seconds
    assert stage.cpu_workers == 0.0
    assert stage.peak_bytes > 1_000_000
    (tmp_path / "command.py").write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit, match="command failed with 3"):
        run()


def test_a_stage_of_one_process_is_not_spread_over_cores():
    assert paper.Line("spread", 16 * 600.0).minutes == pytest.approx(10.0)
    assert paper.Line("not spread", 16 * 600.0, 1200.0).minutes == pytest.approx(20.0)


def test_paper_takes_the_passes_that_were_repeated(tmp_path):
    folder = Folder(tmp_path)
    folder.results.write_text('{"pages": 9, "stages": {"text": {"cpu_main": 5}, "counts": {}}}')
    assert folder.taken() == {"pages": 9, "stages": {"text": {"cpu_main": 5}, "counts": {}}}
    folder.counted.write_text('{"pages": 8, "stages": {"counts": {"cpu_main": 7}}}')
    assert folder.taken()["pages"] == 9
    assert folder.taken()["stages"] == {"text": {"cpu_main": 5}, "counts": {"cpu_main": 7}}


def test_validations_of_a_hundred_sweeps_become_rarer():
    assert 20 < paper.n_validations() < 40


def test_memory_of_gibbs_is_that_of_the_docstring():
    n_tokens, n_docs = 1.4e9, 5.6e6
    tables = (6 + 43) * 100_000  # of words, for each topic
    of_documents = 6 * 112 * n_docs
    expected = 6 * n_tokens + of_documents + 100 * tables
    assert paper.gibbs_bytes(100) == pytest.approx(expected, rel=1e-9)
    assert paper.gibbs_bytes(1000) == pytest.approx(12 * n_tokens + 1000 * tables, rel=1e-9)
