"""The text stage against plain spaCy: tokens a second at equal results.

    python -m benchmarks.text_stage [--articles 2000] [--repeats 3] [--processes 1 2] [--shared DIR]

Articles of Wikipedia (2019, cut near 600 words, of the reference data). Both annotators get the
same lists of texts, in turn, in the same kind of worker processes, with one BLAS thread each;
spaCy's is `spacy.load(model, exclude=[parser, ner, senter]).pipe(texts)`, whose documents are
dropped where they were made. (`pipe(n_process=2)` sends them all to the parent, and is slower than
what is measured here.) Loading and compiling are not counted. Each repeat is a pair, and the ratio
of each pair is printed. Both start each repeat without any memory of these texts. Every token's
lemma, tag and part of speech is compared.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import resource
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import spacy

from corpora import find_model
from corpora.tokens.fast_annotator import FastAnnotator, decoded
from corpora.worker_pool import ordered_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BATCH = 50
"""Articles in a list of texts."""


def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()

    texts = list(read_texts(options.shared, options.articles))
    batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    n_tokens, differences = compare(batches)
    print(f"{len(texts):,} articles, {n_tokens:,} tokens")
    for line in differences[:20]:
        print("  differs:", line)
    print(f"tokens whose lemma, tag or part of speech differs: {len(differences)}\n")
    print("processes   spaCy, tokens/s   here, tokens/s   ratio, each pair")
    for n_processes in options.processes:
        pairs = [
            (n_tokens / seconds("spacy", batches, n_processes),
             n_tokens / seconds("fast", batches, n_processes))
            for _ in range(options.repeats)
        ]  # fmt: skip
        ratios = [fast / plain for plain, fast in pairs]
        plain, fast = (statistics.median(rates) for rates in zip(*pairs, strict=True))
        print(
            f"{n_processes:9}   {plain:15,.0f}   {fast:14,.0f}   "
            f"{statistics.median(ratios):.2f} ({', '.join(f'{ratio:.2f}' for ratio in ratios)})"
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\npeak memory of any worker: {peak:,.0f} MB")


def read_texts(shared: Path, n_articles: int) -> Iterator[str]:
    """The texts of the first articles."""
    with lzma.open(shared / "wikipedia-2019/train_25000.jsonl.xz", "rt") as lines:
        for line in itertools.islice(lines, n_articles):
            yield json.loads(line)["text"]


def seconds(kind: str, batches: list[list[str]], n_processes: int) -> float:
    """How long it takes to annotate all batches, from when all workers have loaded."""
    tasks: list[Any] = [[] for _ in range(2 * n_processes)]  # these wait for loading
    results = ordered_map(count_tokens, tasks + batches, max(n_processes, 1), prepare, (kind,))
    for _ in tasks:
        next(results)
    started = time.perf_counter()
    for _ in results:
        pass
    return time.perf_counter() - started


_annotators: list[Any] = []


def prepare(kind: str) -> None:
    """Load the annotator of a worker."""
    nlp = spacy.load(find_model(""), exclude=["parser", "ner", "senter"])
    _annotators[:] = [FastAnnotator(nlp) if kind == "fast" else nlp]


def count_tokens(texts: Sequence[str]) -> int:
    """Annotate; the number of tokens."""
    annotator = _annotators[0]
    if isinstance(annotator, FastAnnotator):
        return annotator.annotate(texts).n_tokens
    return sum(map(len, annotator.pipe(texts)))


def compare(batches: list[list[str]]) -> tuple[int, list[str]]:
    """How many tokens there are, and a line for each that the two see differently."""
    nlp = spacy.load(find_model(""), exclude=["parser", "ner", "senter"])
    fast = FastAnnotator(spacy.load(find_model(""), exclude=["parser", "ner", "senter"]))
    n_tokens = 0
    differences = []
    for texts in batches:
        here = zip(*decoded(fast.annotate(texts)), strict=True)
        with nlp.memory_zone():
            there = [
                (token.lemma_, token.pos_, token.tag_, token.text)
                for doc in nlp.pipe(texts)
                for token in doc
            ]
        for mine, (*theirs, text) in zip(here, there, strict=True):
            if mine != tuple(theirs):
                differences.append(f"{text!r}: {mine} here, {tuple(theirs)} in spaCy")
        n_tokens += len(there)
    return n_tokens, differences


if __name__ == "__main__":
    main()
