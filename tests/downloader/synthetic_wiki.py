"""Wiki of made-up pages; also `python -m tests.downloader.synthetic_wiki 100000 PORT`."""

import gzip
import json
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import gcd
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, urlsplit

TIMESTAMP = "2024-05-06T07:08:09Z"
N_PIECES = 64
N_CATEGORIES = 20


def made_up_pieces(seed=7):
    """Bodies of about 3 kB each."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bdfghklmnprstvz" for b in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(3000)]
    pieces = []
    for _ in range(N_PIECES):
        first, *others = [
            " ".join(rng.choices(words, k=rng.randint(100, 160))).capitalize() + "."
            for _ in range(4)
        ]
        named = (f"== Section {i} ==\n{text}" for i, text in enumerate(others, start=1))
        pieces.append("\n\n".join([first, *named]))
    return pieces


class SyntheticWiki:
    def __init__(self, n_pages):
        self.n_pages = n_pages
        self.pieces = made_up_pieces()
        # Joined into answers as they are: JSON of a string, less its quotes.
        self.escaped = [json.dumps(piece, ensure_ascii=False)[1:-1] for piece in self.pieces]
        steps = range(n_pages * 5 // 8 + 1, 2 * n_pages + 2)
        self.step = next(step for step in steps if gcd(step, n_pages) == 1)

    def wikitext(self, number):
        return f"'''Page {number}''' begins here. {self.pieces[number % N_PIECES]}"

    def answer(self, params):  # noqa: PLR0911
        if params.get("action") == "parse":
            return self.rendered(int(params["oldid"]))
        if params.get("meta") == "siteinfo":
            return self.site_info()
        if params.get("generator") == "random":
            return self.random_pages(params)
        if params.get("list") == "categorymembers":
            return self.members(params)
        if "pageids" in params:
            return self.listed(map(int, params["pageids"].split("|")), params)
        if params.get("titles", "").startswith("Category:"):
            return complete({"pages": [{"pageid": 10**9, "ns": 14, "title": params["titles"]}]})
        if "titles" in params:
            return self.listed((number_of(t) for t in params["titles"].split("|")), params)
        return json.dumps({"error": {"code": "unknown", "info": "not of this wiki"}})

    def page(self, number, *, content):
        if not 1 <= number <= self.n_pages:
            gone = {"ns": 0, "title": f"Page {number}", "pageid": number, "missing": True}
            return json.dumps(gone)
        text = (
            f""","content":"'''Page {number}''' begins here. {self.escaped[number % N_PIECES]}\""""
            if content
            else ""
        )
        return (
            f'{{"pageid":{number},"ns":0,"title":"Page {number}","contentmodel":"wikitext",'
            f'"lastrevid":{number + 10**7},"length":3000,'
            f'"pageprops":{{"wikibase_item":"Q{number}"}},"revisions":[{{"revid":{number + 10**7},'
            f'"parentid":0,"timestamp":"{TIMESTAMP}","slots":{{"main":{{"contentmodel":"wikitext"'
            f',"contentformat":"text/x-wiki"{text}}}}}}}]}}'
        )

    def listed(self, numbers, params, continuation=""):
        content = "content" in params.get("rvprop", "").split("|")
        pages = ",".join(self.page(number, content=content) for number in numbers)
        return f'{{"batchcomplete":true,{continuation}"query":{{"pages":[{pages}]}}}}'

    def random_pages(self, params):
        position = int(params.get("grncontinue", "0"))
        end = min(position + int(params["grnlimit"]), self.n_pages)
        numbers = (k * self.step % self.n_pages + 1 for k in range(position, end))
        more = f'"continue":{{"grncontinue":"{end}","continue":"grncontinue||"}},'
        return self.listed(numbers, params, more if end < self.n_pages else "")

    def members(self, params):
        if params["cmtitle"] == "Category:All":
            subcategories = [
                {"pageid": 10**9 + k, "ns": 14, "title": f"Category:Part {k}"}
                for k in range(N_CATEGORIES)
            ]
            return complete({"categorymembers": subcategories})
        numbers = range(number_of(params["cmtitle"]) + 1, self.n_pages + 1, N_CATEGORIES)
        position = int(params.get("cmcontinue", "0"))
        end = position + int(params["cmlimit"])
        found = [
            {"pageid": number, "ns": 0, "title": f"Page {number}"}
            for number in numbers[position:end]
        ]
        more = {"cmcontinue": str(end), "continue": "-||"} if end < len(numbers) else None
        return complete({"categorymembers": found}, more)

    def rendered(self, revision):
        number = revision - 10**7
        paragraphs = self.wikitext(number).replace("'''", "").split("\n")
        html = "".join(
            f'<h2><span class="mw-headline">{line.strip("= ")}</span></h2>'
            if line.startswith("==")
            else f"<p>{line}</p>"
            for line in paragraphs
            if line
        )
        text = f'<div class="mw-parser-output">{html}</div>'
        categories = [
            {"sortkey": "", "category": f"Part_{number % N_CATEGORIES}"},
            {"sortkey": "", "category": "Pages_to_check", "hidden": True},
        ]
        parse = {"title": f"Page {number}", "pageid": number, "revid": revision, "text": text}
        parse["categories"] = categories
        return json.dumps({"parse": parse})

    def site_info(self):
        return complete(
            {
                "general": {
                    "sitename": "Synthetic",
                    "generator": "MediaWiki 1.43.0-synthetic",
                    "lang": "en",
                    "wikiid": "synthetic",
                    "server": "http://127.0.0.1",
                    "articlepath": "/wiki/$1",
                },
                "namespaces": {"14": {"id": 14, "name": "Category", "canonical": "Category"}},
                "namespacealiases": [],
                "rightsinfo": {"text": "CC0", "url": ""},
                "statistics": {"articles": self.n_pages, "pages": self.n_pages},
            }
        )


def complete(query, continuation=None):
    more = {} if continuation is None else {"continue": continuation}
    return json.dumps({"batchcomplete": True, **more, "query": query})


def number_of(title):
    last = title.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format, *args):  # noqa: A002
        """Nothing on stderr."""

    def do_GET(self):
        params = {k: v[-1] for k, v in parse_qs(urlsplit(self.path).query).items()}
        body = cast("Server", self.server).wiki.answer(params).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 1000:
            body = gzip.compress(body, compresslevel=1)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        cast("list[bytes]", self.__dict__["_headers_buffer"]).extend([b"\r\n", body])
        self.flush_headers()


class Scripted:
    """Answers by a function of the parameters, and remembers them."""

    def __init__(self, function):
        self.function = function
        self.asked: list[dict[str, str]] = []

    def answer(self, params):
        self.asked.append(params)
        said = self.function(params)
        return said if isinstance(said, str) else json.dumps(said)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, wiki, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.wiki = wiki

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/api.php"

    def handle_error(self, request, client_address):
        """Say nothing of clients that are gone; tests kill them."""


@contextmanager
def serving(wiki):
    with Server(wiki) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server.url
        finally:
            server.shutdown()


@contextmanager
def synthetic_wiki(n_pages):
    """The wiki in a process of its own; the address of its API."""
    command = [sys.executable, "-m", "tests.downloader.synthetic_wiki", str(n_pages), "0"]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main():
    server = Server(SyntheticWiki(int(sys.argv[1])), int(sys.argv[2]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    sys.stdin.read()  # ends with the process that started this one


if __name__ == "__main__":
    main()
