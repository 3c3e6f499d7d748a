"""The whole of English Wikipedia on paper, from measured rates; and a simulation that checks it.

    python -m benchmarks.whole_wikipedia rates --articles DIR --json rates.json
    python -m benchmarks.whole_wikipedia paper rates.json [--articles 7000000] [--words 700]
    python -m benchmarks.whole_wikipedia check rates.json --articles DIR --share 0.01 0.1

`rates` takes a store whose articles are annotated: it annotates some of them anew, makes the passes
that count them, trains and scores, each on one core, and writes down seconds, bytes and sizes an
article. `paper` multiplies: every stage but the vocabulary is linear in the articles.

`check` makes corpora of 1 % and 10 % of the articles, and what the paper says of them it says
beside what is measured: the counting passes on the articles of the store again and again, under
other ids, and drawing, training and scoring by `benchmarks.million_documents`.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import ArticleStore, Corpus, TextSettings, split
from corpora.corpus import build_corpus_of_bags
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotation_file import load_annotated, save_annotated
from corpora.tokens.annotators import load_annotator
from corpora.tokens.selection import select
from corpora.tokens.spacy_model import find_model, stop_words_of
from corpora.vocabulary import Pruning, vocabulary_from
from evaluation import log_likelihood
from models import OnlineLDA
from models.lda.e_step import words_of
from pipeline.settings import TrainSettings
from pipeline.text.counting import CountingPasses, TrainingPart, bigrams_of
from pipeline.text.documents import token_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from corpora import TokenBlock, TokenStore

ARTICLES, WORDS = 7_000_000, 700
"""Of English Wikipedia, about: articles, and words of each in running text, on average."""
WARMING, ANNOTATED_ANEW = 10, 20
"""Shards: an annotator remembers forms, and is slower with the first articles."""
TOPICS = (25, 100, 500)
BATCHES = 20
SCORED = 500
SETTINGS = TrainSettings(documents="article")
TRAINING = TrainingPart(SETTINGS.validation, SETTINGS.test)
PRUNING = Pruning(SETTINGS.no_below, SETTINGS.no_above, SETTINGS.keep_n)


class Repeated:
    """The tokens of a store again and again, under other ids, up to so many articles."""

    def __init__(self, tokens: TokenStore, n_articles: int) -> None:
        self._tokens = tokens
        self.entries = []
        while n_articles > 0:
            for entry in tokens.entries:
                if n_articles > 0:
                    self.entries.append(entry)
                    n_articles -= entry.articles
        self.n_articles = sum(entry.articles for entry in self.entries)

    def map(self, step: Callable[[TokenBlock], Any], *_: object) -> Iterator[Any]:
        """`step` of each block."""
        for i, entry in enumerate(self.entries):
            path = self._tokens.directory / f"{entry.sha256}.npz"
            block = select(load_annotated(path, entry.sha256), self._tokens.settings)
            round_ = i // len(self._tokens.entries)
            ids = tuple(f"{doc_id}{round_:04d}" for doc_id in block.doc_ids)
            yield step(replace(block, doc_ids=ids))


@contextmanager
def clocked(into: dict[str, float], name: str) -> Iterator[None]:
    """Processor seconds of this process, by name."""
    before = time.process_time()
    yield
    into[name] = time.process_time() - before
    print(f"{name:24s} {into[name]:10.1f} s", flush=True)


def peak() -> int:
    """The largest that this process has been, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def count(tokens: Any, folder: Path, seconds: dict[str, float]) -> Corpus:
    """The three passes from tokens to a corpus."""
    passes = CountingPasses(tokens)
    with clocked(seconds, "bigrams"):
        bigrams = bigrams_of(passes.pairs, TRAINING, SETTINGS, folder)
    with clocked(seconds, "vocabulary"):
        frequencies = passes.frequencies(bigrams, TRAINING)
        vocabulary = vocabulary_from(frequencies, PRUNING, directory=folder)
    with clocked(seconds, "counts"):
        bags = passes.bags(bigrams, vocabulary)
        return build_corpus_of_bags(folder / "corpus", bags, vocabulary)


def bytes_of(paths: Iterator[Path]) -> int:
    """Of all files."""
    return sum(path.stat().st_size for path in paths if path.is_file())


def rates(arguments: argparse.Namespace) -> dict[str, Any]:
    """What an article takes, of each kind of resource."""
    store = ArticleStore(arguments.articles)
    model = find_model("")
    settings = TextSettings(spacy_model=model)
    tokens = token_store(store, settings)
    n_articles = len(store)
    seconds: dict[str, float] = {}
    result: dict[str, Any] = {"measured_on": n_articles}

    annotator = load_annotator(model, noun_chunks=False, warn=print)
    stop_words = stop_words_of(model)
    some = store.entries[WARMING : WARMING + ANNOTATED_ANEW]
    n_some = sum(entry.articles for entry in some)
    n_words = sum(len(a.text.split()) for entry in some for a in store.read_shard(entry))
    for entry in store.entries[:WARMING]:
        annotate_articles(store.read_shard(entry), annotator, stop_words)
    with tempfile.TemporaryDirectory() as temporary, clocked(seconds, "text"):
        for entry in some:
            annotated = annotate_articles(store.read_shard(entry), annotator, stop_words)
            save_annotated(annotated, Path(temporary) / entry.shard, entry.sha256)
    result["words"] = n_words / n_some
    per_article = {"text": seconds.pop("text") / n_some}
    del annotator

    with tempfile.TemporaryDirectory() as temporary:
        corpus = count(tokens, Path(temporary), seconds)
        corpus_bytes = bytes_of((Path(temporary) / "corpus").iterdir())
        per_article |= {name: value / n_articles for name, value in seconds.items()}
        counts = split(corpus).train.counts
        result |= {
            "articles_bytes": bytes_of((store.path / "shards").iterdir()) / n_articles,
            "annotation_bytes": bytes_of(tokens.directory.glob("*.npz")) / n_articles,
            "corpus_bytes": corpus_bytes / n_articles,
            "different_words": counts.nnz / counts.shape[0],
            "vocabulary": corpus.n_words,
        }
        for n_topics in TOPICS:
            learn_and_score(n_topics, corpus, per_article, result)
    return result | {"seconds": per_article}


def learn_and_score(
    n_topics: int, corpus: Corpus, per_article: dict[str, float], result: dict[str, Any]
) -> None:
    """A pass of training, and scores by two estimators, with so many topics."""
    parts = split(corpus)
    learner = OnlineLDA(n_topics, n_passes=3, random_state=0)
    steps = learner.iterate(parts.train.counts)
    for _ in range(2):
        next(steps)  # kernels are loaded
    seconds: dict[str, float] = {}
    before = learner.state_.n_documents
    with clocked(seconds, f"train {n_topics}"):
        for _ in range(BATCHES):
            step = next(steps)
    per_article[f"train {n_topics}"] = seconds.popitem()[1] / (step.n_documents - before)
    held_out = parts.test.counts[:SCORED]
    for method, n_samples in (("completion", None), ("left-to-right-sequential", 10)):
        log_likelihood(learner, held_out[:8], method, n_samples=n_samples, random_state=0)
        with clocked(seconds, f"{method} {n_topics}"):
            log_likelihood(learner, held_out, method, n_samples=n_samples, random_state=0)
        per_article[f"{method} {n_topics}"] = seconds.popitem()[1] / held_out.shape[0]
    for batch_size in (1000, 16_000):
        rows = np.random.default_rng(0).permutation(parts.train.n_docs)[:batch_size]
        result[f"words of {batch_size}"] = len(words_of(parts.train.counts[rows]))


def on_paper(measured: dict[str, Any], n_articles: int, words: float) -> dict[str, float]:
    """Bytes, and processor seconds, of so many articles of so many words each."""
    longer = words / measured["words"]
    seconds = measured["seconds"]
    texts = {name: seconds[name] for name in ("text", "bigrams", "vocabulary", "counts")}
    found = {f"{name}, s": n_articles * longer * value for name, value in texts.items()}
    for name in ("articles", "annotation", "corpus"):
        found[f"{name}, bytes"] = n_articles * longer * measured[f"{name}_bytes"]
    for n_topics in TOPICS:
        name = f"train {n_topics}"
        found[f"{name}, a pass, s"] = 0.8 * n_articles * longer * seconds[name]
        for method in ("completion", "left-to-right-sequential"):
            name = f"{method} {n_topics}"
            found[f"{name}, s"] = 0.1 * n_articles * longer * seconds[name]
    return found


def print_paper(measured: dict[str, Any], n_articles: int, words: float) -> None:
    """The table."""
    print(f"{n_articles:,} articles of {words:.0f} words\n")
    for name, value in on_paper(measured, n_articles, words).items():
        what, _, unit = name.rpartition(", ")
        shown = (
            f"{value / 1e9:10,.1f} GB" if unit == "bytes" else f"{value / 3600:10,.2f} core-hours"
        )
        print(f"{what:34s} {shown}")
    print()
    vocabulary = SETTINGS.keep_n
    for n_topics in TOPICS:
        of_words = 8 * n_topics / 1e6
        print(
            f"{n_topics:4d} topics: lambda of {vocabulary:,} words "
            f"{vocabulary * of_words:,.0f} MB; "
            f"to a worker and back a batch of 1,000: "
            f"{measured['words of 1000'] * of_words:,.0f} MB, "
            f"of 16,000: {measured['words of 16000'] * of_words:,.0f} MB"
        )


def check(arguments: argparse.Namespace, measured: dict[str, Any]) -> None:
    """What the paper says of a part of Wikipedia, beside what that took."""
    store = ArticleStore(arguments.articles)
    tokens = token_store(store, TextSettings(spacy_model=find_model("")))
    for share in arguments.share:
        wanted = Repeated(tokens, round(share * ARTICLES))
        n_articles = wanted.n_articles
        print(f"\n{share:.0%}: {n_articles:,} articles", flush=True)
        paper = on_paper(measured, n_articles, measured["words"])
        with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
            folder = Path(temporary)
            seconds: dict[str, float] = {}
            count(wanted, folder, seconds)
            disk = bytes_of((folder / "corpus").iterdir())
            lines = [(f"{name}, s", value) for name, value in seconds.items()]
            lines.append(("corpus, bytes", disk))
            print(f"largest so far {peak() / 1e6:,.0f} MB")
            for name, value in lines:
                print(
                    f"{name:24s} paper {paper[name]:16,.1f}   measured {value:16,.1f}"
                    f"   {value / paper[name]:6.2f}",
                    flush=True,
                )
        command = ["benchmarks.million_documents", "--documents", str(n_articles)]
        command += ["--model", str(arguments.model)]
        if arguments.folder:
            command += ["--folder", str(arguments.folder / f"drawn-{n_articles}")]
        subprocess.run([sys.executable, "-m", *command], check=True)
        print(
            f"paper: a pass {paper['train 100, a pass, s']:,.0f} s, completion "
            f"{paper['completion 100, s']:,.0f} s, corpus {paper['corpus, bytes'] / 1e6:,.0f} MB"
        )


def main() -> None:
    logging.getLogger("evaluation").setLevel(logging.ERROR)  # few samples are for their time
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest="what", required=True)
    each = what.add_parser("rates")
    each.add_argument("--articles", type=Path, required=True, help="an annotated store")
    each.add_argument("--json", type=Path, required=True)
    each = what.add_parser("paper")
    each.add_argument("rates", type=Path)
    each.add_argument("--articles", type=int, default=ARTICLES)
    each.add_argument("--words", type=float, default=WORDS)
    each = what.add_parser("check")
    each.add_argument("rates", type=Path)
    each.add_argument("--articles", type=Path, required=True, help="an annotated store")
    each.add_argument("--model", type=Path, required=True, help="a run of 100 topics to draw from")
    each.add_argument("--share", type=float, nargs="+", default=[0.01])
    each.add_argument("--folder", type=Path, help="where there is room; a temporary one by default")
    arguments = parser.parse_args()
    if arguments.what == "rates":
        found = rates(arguments)
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")
        return
    measured = json.loads(arguments.rates.read_text())
    if arguments.what == "paper":
        print_paper(measured, arguments.articles, arguments.words)
    else:
        check(arguments, measured)


if __name__ == "__main__":
    main()
