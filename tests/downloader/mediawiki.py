"""Debian's MediaWiki on loopback with the sample; a supervisor kills it with this process."""

import bz2
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from downloader.sources import sample_path

CODE = Path("/usr/share/mediawiki")
PHP_MODULES = frozenset({"pdo_sqlite", "mbstring", "xml", "intl"})
NEEDED = "needs apt-get install mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl"

SETTINGS = """<?php
$wgSitename = 'Loopback';
$wgServer = 'http://127.0.0.1:{port}';
$wgScriptPath = '';
$wgArticlePath = '/wiki/$1';
$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = '{directory}/data';
$wgCacheDirectory = '{directory}/cache';
$wgTmpDirectory = '{directory}/cache';
$wgMainCacheType = $wgParserCacheType = $wgMessageCacheType = CACHE_NONE;
$wgLocalisationCacheConf['store'] = 'files';
$wgLanguageCode = 'en';
$wgSecretKey = 'of no use to anyone';
$wgRightsText = 'CC BY-SA 4.0';
$wgRightsUrl = 'https://creativecommons.org/licenses/by-sa/4.0/';
$wgArticleCountMethod = 'any';
$wgUseDatabaseMessages = false;
$wgJobRunRate = 0;
$wgSearchType = 'SearchEngineDummy';
$wgDisableSearchUpdate = true;
$wgAPIMaxResultSize = {largest_answer};
wfLoadExtension( 'Cite' );
wfLoadExtension( 'ParserFunctions' );
wfLoadExtension( 'TextExtracts' );
"""

LARGEST_ANSWER = 700_000
"""Bytes; MediaWiki's own limit is 8 MB. The lower one makes it cut batches into parts."""

SUPERVISOR = """
import os, signal, subprocess, sys
with open(sys.argv[1], "ab") as log:
    subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""
STRANGE_TITLES = (
    *("Alpha/Beta/Gamma", "AC/DC", "C++", "1 + 1 = 2", "AT&T", "R&B? & more; yes", "100% wool"),
    *("50%-rule", "Fish 🐟 and 👩‍👩‍👧‍👦 families", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "مرحبا بالعالم", 'שלום "עולם"'),
    *("Mixed עברית and English", 'The "Quoted" Title', "It's 'single' and ’curly’"),
    *("Ünïcödé — dashes – everywhere", "东京 (東京)", "Was ist das?"),
    *("$100 @home ~tilde~ ^hat^ `tick`", "\\Backslash\\ and !bang! *star*"),
    *("Q&A?action=raw&title=Other", "..dots", "İstanbul ışığı", "É" * 120),
)
GONE = ("Deleted page", "Deleted / too")
REDIRECTS = {
    "Old name": "C++",
    "Older name": "Old name",
    "Circle": "Circle",
    "Broken": "No such page at all",
    "Far away": "mw:Somewhere",
    "Anchor": "AT&T#History",
}
EMPTY = "Empty page"
TEMPLATE_ONLY = "Only a template"
JSON_PAGE = "Data.json"


@dataclass(frozen=True)
class NewPage:
    title: str
    text: str
    namespace: int = 0
    model: str = "wikitext"


@dataclass
class MediaWiki:
    directory: Path
    port: int
    supervisor: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/api.php"

    def install(self):
        for name in ("data", "cache", "unused"):
            (self.directory / name).mkdir()
        self.php(
            *("install.php", "--dbtype", "sqlite", "--dbname", "wiki"),
            *("--dbpath", self.directory / "data", "--confpath", self.directory / "unused"),
            *("--pass", "a long enough one", "--server", "http://127.0.0.1", "--scriptpath", ""),
            *("Loopback", "Admin"),
        )
        self.settings.write_text(
            SETTINGS.format(port=self.port, directory=self.directory, largest_answer=LARGEST_ANSWER)
        )

    @property
    def settings(self):
        return self.directory / "LocalSettings.php"

    @property
    def environment(self):
        return {
            **os.environ,
            "MW_CONFIG_FILE": str(self.settings),
            "MW_INSTALL_PATH": str(CODE),
            "PHP_CLI_SERVER_WORKERS": "4",
        }

    def php(self, script, *arguments):
        path = CODE / "maintenance" / script
        done = subprocess.run(
            ["php", "-d", "opcache.enable_cli=1", path, *map(str, arguments)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            pytest.fail(f"{script}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        return done.stdout

    def import_dump(self, path, *arguments):
        self.php("importDump.php", *arguments, path)

    def import_pages(self, pages):
        path = self.directory / "pages.xml"
        path.write_text(export_of(pages))
        self.import_dump(path)

    def delete(self, titles):
        path = self.directory / "deleted.txt"
        path.write_text("".join(f"{title}\n" for title in titles))
        self.php("deleteBatch.php", path)

    def execute(self, *statements):
        """Change the database in a way that no script of MediaWiki offers."""
        with closing(sqlite3.connect(self.directory / "data" / "wiki.sqlite")) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    def select(self, statement):
        with closing(sqlite3.connect(self.directory / "data" / "wiki.sqlite")) as database:
            return database.execute(statement).fetchall()

    def start(self):
        self.supervisor = subprocess.Popen(
            [
                *(sys.executable, "-c", SUPERVISOR, str(self.directory / "server.log")),
                *("php", "-d", "output_buffering=0"),  # else MediaWiki leaves gzip to it
                *("-S", f"127.0.0.1:{self.port}", "-t", str(CODE)),
            ],
            stdin=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        self.stop()
        pytest.fail(f"MediaWiki does not start: {(self.directory / 'server.log').read_text()}")

    def stop(self):
        if self.supervisor is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.supervisor.pid, signal.SIGKILL)
        assert self.supervisor.stdin is not None
        self.supervisor.stdin.close()
        self.supervisor.wait(120)
        self.supervisor = None


def export_of(pages):
    lines = ['<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">']
    formats = {"json": "application/json", "css": "text/css"}
    lines += (
        f"<page><title>{escape(page.title)}</title><ns>{page.namespace}</ns><id>{number}</id>"
        f"<revision><id>{number}</id><timestamp>2021-03-04T05:06:{number % 60:02}Z</timestamp>"
        "<contributor><username>Tester</username></contributor>"
        f"<model>{page.model}</model><format>{formats.get(page.model, 'text/x-wiki')}</format>"
        f'<text xml:space="preserve">{escape(page.text)}</text></revision></page>'
        for number, page in enumerate(pages, start=1)
    )
    return "\n".join([*lines, "</mediawiki>"])


def text_of(title, categories=()):
    return (
        f"'''{title}''' is a page with a [[C++|link]] and a sentence.<ref>A source.</ref>\n\n"
        "== History ==\nIt was imported by the tests, and nobody has changed it since.\n\n"
        "== References ==\n<references/>\n"
        + "".join(f"[[Category:{name}]]\n" for name in categories)
    )


def strange_pages():
    tree = {
        "Strange": (),
        "Half": ("Strange",),
        "A in B": ("Half", "B in A"),
        "B in A": ("A in B",),
        "Deep": ("B in A",),
        "Self": ("Self", "Half"),
    }
    names = tuple(tree)
    pages = [
        NewPage(title, text_of(title, {"Strange", names[i % len(names)]}))
        for i, title in enumerate(STRANGE_TITLES)
    ]
    pages += (NewPage(title, text_of(title, ["Strange"])) for title in GONE)
    pages += (
        NewPage(title, f"#REDIRECT [[{target}]]\n[[Category:Strange]]")
        for title, target in REDIRECTS.items()
    )
    pages += [
        NewPage(EMPTY, ""),
        NewPage(TEMPLATE_ONLY, "{{Nothing|but=this}}\n[[Category:Strange]]"),
        NewPage(JSON_PAGE, '{"no": "article"}', model="json"),
        NewPage("Talk:C++", "Is this an article? [[Category:Strange]]", 1),
        NewPage("User:Tester", text_of("Tester", ["Strange"]), 2),
    ]
    pages += (
        NewPage(f"Category:{name}", "".join(f"[[Category:{parent}]]" for parent in parents), 14)
        for name, parents in tree.items()
    )
    return pages


def missing_packages():
    if shutil.which("php") is None or not (CODE / "api.php").exists():
        return True
    listed = subprocess.run(["php", "-m"], capture_output=True, text=True, check=False).stdout
    return not PHP_MODULES.issubset(line.strip().lower() for line in listed.splitlines())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def running_mediawiki(directory):
    """A wiki with the sample and the strange pages, stopped at the end."""
    if missing_packages():
        pytest.skip(NEEDED)
    wiki = MediaWiki(directory, free_port())
    wiki.install()
    sample = directory / "sample.xml"
    sample.write_bytes(bz2.decompress(sample_path().read_bytes()))
    wiki.import_dump(sample, "--no-updates")
    wiki.import_pages(strange_pages())
    wiki.delete(GONE)
    wiki.execute(
        # What parsing all pages would come to, a quarter of a minute later.
        "INSERT INTO categorylinks"
        " (cl_from, cl_to, cl_sortkey, cl_timestamp, cl_collation, cl_type)"
        " SELECT page_id, 'Everything', upper(page_title), '20210304050607', 'uppercase', 'page'"
        " FROM page WHERE page_namespace = 0",
        "INSERT INTO category (cat_title, cat_pages) SELECT 'Everything', count(*) FROM page"
        " WHERE page_namespace = 0",
    )
    wiki.php("initSiteStats.php", "--update")
    wiki.start()
    try:
        yield wiki
    finally:
        wiki.stop()
