"""The floor of the text stage: its matrix products at the processor's peak, and all else free.

    python -m benchmarks.text_floor [--articles 1000] [--shared DIR]

One core, the articles of `benchmarks.text_stage`, the least of some rounds. The peak is that of a
product of two large matrices in single precision by the same BLAS. The products of a tile are
counted as the tagger makes them, with the rows that it adds to each side.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import spacy
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.text_stage import BATCH, read_texts
from benchmarks.whole_wikipedia.paper import ARTICLES, CORES, WORDS
from corpora import find_model
from corpora.tokens.fast.convolution import GROUP, TILE
from corpora.tokens.fast_annotator import FastAnnotator

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
SIDE = 1536  # of the large matrices


def least(work: Callable[[], Any]) -> float:
    """Processor seconds of a call, the least of the rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def peak() -> float:
    """Operations a second of a product of large matrices."""
    x, y = np.random.default_rng(0).random((2, SIDE, SIDE), dtype=np.float32)
    return 2 * SIDE**3 / least(lambda: x @ y)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=1000)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    texts = list(read_texts(options.shared, options.articles))
    batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    annotator = FastAnnotator(spacy.load(find_model(""), exclude=["parser", "ner", "senter"]))
    tagger, lexicon = annotator._tagger, annotator._lexicon  # noqa: SLF001

    def annotate() -> None:
        annotator._forget()  # noqa: SLF001 - each round reads all words anew
        for batch in batches:
            annotator.annotate(batch)

    with threadpool_limits(1, "blas"):
        whole = least(annotate)
        rows = [lexicon.rows_of(batch) for batch in batches]
        n_tokens = sum(len(of_batch) for of_batch, _ in rows)
        embedding = lexicon.embedding
        tagging = least(lambda: [tagger.tag(*each, embedding) for each in rows])
        # Rows of all tiles, and the same products of one tile as often
        n_rows = sum(len(x) for each in rows for _, _, x in tagger._tiles(*each, embedding))  # noqa: SLF001
        fours, width = TILE // GROUP, tagger.width
        filters = [layer.filters for layer in tagger.layers]
        d = np.ones((6, fours, width), dtype=np.float32)
        m = np.empty((6, fours, filters[0].shape[2]), dtype=np.float32)
        x = np.ones((TILE, width), dtype=np.float32)
        scores = np.empty((TILE, tagger._weights.shape[1]), dtype=np.float32)  # noqa: SLF001

        def multiply() -> None:
            for _ in range(n_rows // TILE):
                for layer in filters:
                    for k in range(6):
                        np.dot(d[k], layer[k], out=m[k])
                np.dot(x, tagger._weights, out=scores)  # noqa: SLF001

        products = least(multiply)
        highest = peak()
    of_tile = 2 * (len(filters) * 6 * fours * width * m.shape[2] + TILE * width * scores.shape[1])
    n_operations = n_rows / TILE * of_tile
    n_all = ARTICLES * WORDS * n_tokens / sum(len(text.split()) for text in texts)
    print(f"{len(texts):,} articles, {n_tokens:,} tokens; English Wikipedia: {n_all / 1e9:.2f} G")
    print(f"operations of the products: {n_operations / n_tokens / 1e3:.0f} thousand a token")
    print(f"{'':32} GFLOP/s   us a token   core-hours   minutes on {CORES} cores")
    for name, seconds, is_rate in (
        ("annotation", whole, False),
        ("tagger", tagging, False),
        ("its products", products, True),
        ("its products at the peak", n_operations / highest, True),
    ):
        rate = f"{n_operations / seconds / 1e9:7.1f}" if is_rate else f"{'':7}"
        each, hours = 1e6 * seconds / n_tokens, seconds / n_tokens * n_all / 3600
        print(f"{name:32} {rate} {each:12.2f} {hours:12.2f} {60 * hours / CORES:12.1f}")


if __name__ == "__main__":
    main()
