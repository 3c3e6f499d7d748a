"""Files of a dump into a store, in a process of its own that is killed; see `run_with_kills`."""

import json
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from corpora import ArticleStore
from downloader.cirrus import CirrusShards
from downloader.content import ContentFiles, place_of
from downloader.http_client import PoliteClient
from downloader.rate_limit import RateLimiter


def run_with_kills(site, url, tmp_path, n_kills, seed):
    """Download with `n_kills` SIGKILLs, the first within a body; return the ids in the store."""
    rng = random.Random(seed)
    command = [sys.executable, "-m", "tests.downloader.killed_download", url, str(tmp_path)]
    root = Path(__file__).parents[2]
    files = tmp_path / ("cirrus" if "cirrus" in url else "content")
    for n_pieces in (10, *(rng.randrange(30) for _ in range(n_kills - 1))):
        target = site.n_sent + n_pieces
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
        assert process.stdout is not None
        process.stdout.readline()
        while process.poll() is None and (
            site.n_sent < target or (n_pieces == 10 and not has_bytes(files))
        ):
            time.sleep(0.002)
        time.sleep(rng.choice((0, 0.01, 0.1)))
        process.kill()
        process.wait()
        process.stdout.close()
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=240, cwd=root
    )
    assert done.stdout == "begun\ndone\n", done.stderr
    store = ArticleStore(tmp_path / "store")
    store.verify()
    assert list(files.iterdir()) == []
    return [article.page_id for article in store]


def has_bytes(directory):
    with suppress(FileNotFoundError):
        return any(file.stat().st_size for file in directory.glob("*.partial"))


def main(url, place):
    store, state = ArticleStore(place / "store", 20), place / "state.json"
    cursor = json.loads(state.read_text()) if state.exists() else None
    known = {page_id for _, page_id in store.keys()} if store.exists else set()  # noqa: SIM118
    client = PoliteClient("tests", RateLimiter(place / "pace", 60_000, 10_000), patience=20)
    source = (
        CirrusShards(client, url, place)
        if "cirrus" in url
        else ContentFiles([client], place_of(url), place)
    )
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    for batch in source.batches(cursor, known.__contains__):
        store.append(batch.articles)
        state.with_suffix(".new").write_text(json.dumps(batch.cursor))
        state.with_suffix(".new").replace(state)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
