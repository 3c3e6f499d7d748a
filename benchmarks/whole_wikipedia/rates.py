"""What each step takes on one core, of the pages and the corpus of a run that is done.

    python -m benchmarks.whole_wikipedia rates --folder DIR     # of `run`; writes DIR/rates.json

Processor seconds of one thread, the best of three rounds (one at 1,000 topics): on a machine with
other work beside, decompression took up to 2.3 times as many. Steps of reading are measured on the
first articles of the export, training and scoring on the run's training and test documents.
"""

from __future__ import annotations

import gc
import json
import logging
import tempfile
import threading
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.whole_pipeline import memory_of
from benchmarks.whole_wikipedia.pages import FILE_ARTICLES, export_files
from corpora import ArticleStore, Corpus, split
from corpora.articles.compressed import read_chunks
from corpora.articles.mediawiki_xml import read_pages
from corpora.articles.page import page_to_article
from corpora.files import atomic_write_text
from evaluation import log_likelihood
from models import GibbsLDA, OnlineLDA
from models.gibbs.collapsed_gibbs import auto_sampler
from pipeline.training.prevalence import prevalence_in
from pipeline.training.validation import validation_of, validation_sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.whole_wikipedia.run import Folder
    from corpora import Split

TOPICS = (100, 1000)
ROUNDS = {"reading": 3, "100": 3, "1000": 1}
READ, SWEEPS, BATCHES, INFERRED, SCORED = 2000, 3, 10, 2000, 200


class Seconds(dict[str, float]):
    """Processor seconds of this process by name."""

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Add what the block takes."""
        gc.collect()
        before = time.process_time()
        yield
        self[name] = self.get(name, 0.0) + time.process_time() - before
        print(f"{name:24s} {self[name]:8.2f} s", flush=True)


@contextmanager
def peak_memory(found: dict[str, int], name: str) -> Iterator[None]:
    """Put the bytes that the block took at most above what was taken before into `found`."""
    pid, stopped = Path("/proc/self").resolve().name, threading.Event()
    before = memory_of(int(pid))
    found[name] = 0

    def watch() -> None:
        while not stopped.wait(0.02):
            found[name] = max(found[name], memory_of(int(pid)) - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def reading(file: Path, n_articles: int) -> dict[str, float]:
    """Milliseconds an article, and sizes, of the steps from the first part of a file to a store.
    The file has so many articles in all.
    """
    seconds, n_bytes, n_read = Seconds(), 0, [0]
    share = READ / n_articles * file.stat().st_size
    with seconds.of("decompress"):
        for chunk in read_chunks(file, lambda n: n_read.__setitem__(0, n)):
            n_bytes += len(chunk)
            if n_read[0] >= share:
                break
    with seconds.of("decompress, XML"):
        pages = list(islice(read_pages(file), READ))
    with seconds.of("extraction"):
        articles = [article for page in pages if (article := page_to_article(page))]
    with tempfile.TemporaryDirectory() as folder:
        store = ArticleStore(Path(folder) / "articles")
        with seconds.of("store"), store.writer() as writer:
            for article in articles:
                writer.add(article)
    wikitext = sum(len(page.wikitext.encode()) for page in pages)
    return {
        "decompress": 1000 * seconds["decompress"] / READ,
        "decompress, XML": 1000 * seconds["decompress, XML"] / READ,
        "extraction": 1000 * seconds["extraction"] / READ,
        "store": 1000 * seconds["store"] / READ,
        "bytes of bzip2": n_read[0] / READ,
        "bytes of XML": n_bytes / READ,
        "bytes of wikitext": wikitext / len(pages),
        "words of text": sum(len(each.text.split()) for each in articles) / len(articles),
        "extraction, MB a second": wikitext / 1e6 / seconds["extraction"],
    }


def learning(parts: Split, n_topics: int) -> dict[str, float]:
    """Rates of training and scoring with so many topics."""
    seconds, peaks, counts = Seconds(), {}, parts.train.counts
    n_tokens, n_docs = parts.train.n_tokens, parts.train.n_docs
    sampler = auto_sampler(n_topics, n_tokens, n_docs)
    GibbsLDA(n_topics, n_iter=2, sampler=sampler, random_state=0).fit(counts[:200])  # compiles
    gibbs = GibbsLDA(n_topics, n_iter=SWEEPS, sampler=sampler, random_state=0)
    with peak_memory(peaks, "gibbs"):
        with seconds.of(f"gibbs start {n_topics}"):
            gibbs.resume(counts, None)
        with seconds.of(f"gibbs sweeps {n_topics}"):
            for _ in gibbs.iterate(counts, state=gibbs.state_):
                pass
    topics = gibbs.topics_
    sample = validation_sample(parts.validation.counts)
    validation_of(topics, sample[:10], 1)
    with seconds.of(f"validation {n_topics}"):
        validation_of(gibbs.topics_, sample, 1)
    with seconds.of(f"prevalence {n_topics}"):
        prevalence_in(topics, counts[:INFERRED], 1, "prevalence")
    held_out = parts.test.counts[:SCORED]
    for method, n_samples in (("completion", None), ("left-to-right-sequential", 10)):
        log_likelihood(topics, held_out[:4], method, n_samples=n_samples, random_state=0)
        with seconds.of(f"{method} {n_topics}"):
            log_likelihood(topics, held_out, method, n_samples=n_samples, random_state=0)
    del gibbs, topics
    online = OnlineLDA(n_topics, n_passes=3, random_state=0)
    steps = online.iterate(counts)
    for _ in range(2):
        next(steps)
    first = online.state_.n_documents
    with seconds.of(f"online {n_topics}"):
        for _ in range(BATCHES):
            step = next(steps)
    n_scored = held_out.shape[0]
    return {
        "gibbs start, tokens a second": n_tokens / seconds[f"gibbs start {n_topics}"],
        "gibbs sweeps, tokens a second": SWEEPS * n_tokens / seconds[f"gibbs sweeps {n_topics}"],
        "gibbs peak, bytes": peaks["gibbs"],
        "validation, seconds": seconds[f"validation {n_topics}"],
        "prevalence, documents a second": min(INFERRED, n_docs) / seconds[f"prevalence {n_topics}"],
        "online, documents a second": (step.n_documents - first) / seconds[f"online {n_topics}"],
        "completion, documents a second": n_scored / seconds[f"completion {n_topics}"],
        "left-to-right, documents a second": n_scored
        / seconds[f"left-to-right-sequential {n_topics}"],
    }


def best(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the largest of each rate, and the smallest of each time and size."""
    return {
        name: (max if "second" in name.split(", ")[-1].split() else min)(
            each[name] for each in rounds
        )
        for name in rounds[0]
    }


def measure_rates(folder: Folder) -> dict[str, Any]:
    """Measure all steps, and write them down."""
    logging.getLogger("evaluation").setLevel(logging.ERROR)  # few samples are for their time
    run = json.loads(folder.results.read_text())
    files = export_files(folder.path / "server")
    n_articles = min(run["articles"], FILE_ARTICLES)
    found: dict[str, Any] = {
        "reading": best([reading(files[0], n_articles) for _ in range(ROUNDS["reading"])])
    }
    settings = folder.run.settings()
    corpus = Corpus.load(folder.run.corpus_path, mmap=True)
    parts = split(corpus, settings.validation, settings.test)
    for name in ("articles", "tokens", "training_tokens", "training_documents", "words", "entries"):
        found[name] = run[name]
    for n_topics in TOPICS:
        found[str(n_topics)] = best(
            [learning(parts, n_topics) for _ in range(ROUNDS[str(n_topics)])]
        )
    atomic_write_text(folder.rates, json.dumps(found, indent=1) + "\n")
    return found
