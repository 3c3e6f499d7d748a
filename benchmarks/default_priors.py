"""Default priors over corpora: held-out perplexity, and how many topics starve.

    python -m benchmarks.default_priors [--corpora NAME …] [--topics K …] [--trainers NAME …]

Each trainer's settings are compared on the same documents: perplexity by document completion of at
most 1,000 test documents, and the share of topics that starve, that is, hold less than a tenth of
the average topic's tokens. Corpora are of several kinds and sizes; those of text are counted by the
pipeline as a user's would be, those of reference counts lose the words of fewer than five training
documents. The last row of a table is the mean of log(perplexity / the least of the row).
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from benchmarks.lda_trainers.table import markdown
from benchmarks.reference_counts import FOLDER, SHARED, reference_counts
from corpora import Corpus, read_corpus, split
from evaluation import log_likelihood
from models import GibbsLDA, OnlineLDA
from pipeline.training.prevalence import is_starving, prevalence_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from models import LDATopics

    Counts = sparse.csr_array
    Parts = tuple[Counts, Counts]

OUTPUT = Path("build/benchmarks/default_priors")
PASSES, SWEEPS, SCORED, MIN_DOCUMENTS = 20, 100, 1000, 5
PROPER_NOUNS = ("--parts-of-speech", "NOUN,PROPN,VERB,ADJ,ADV")

SETTINGS: dict[str, dict[str, Callable[..., Any]]] = {
    "online": {
        "eta 0.1, D as published": partial(OnlineLDA, eta=0.1, n_passes=PASSES),
        **{
            f"eta {eta}": partial(OnlineLDA, eta=eta, n_passes=PASSES)
            for eta in (0.1, 0.3, 0.5, 1.0)
        },
        "eta learned": partial(OnlineLDA, eta="learned", n_passes=PASSES),
    },
    "gibbs": {
        f"eta {eta}, {learned}": partial(
            GibbsLDA, eta=eta, learn_priors=learned, n_iter=SWEEPS, start=start
        )
        for eta, learned, start in (
            (0.1, "alpha", "online"),
            (0.05, "alpha", "online"),
            (0.02, "alpha", "online"),
            (0.01, "alpha", "online"),
            (0.05, "both", "online"),
        )
    }
    | {"eta 0.05, alpha, random start": partial(GibbsLDA, eta=0.05, n_iter=SWEEPS, start="random")},
}


def pruned(train: Counts, test: Counts) -> Parts:
    """Without the words of fewer than `MIN_DOCUMENTS` training documents; test cut to `SCORED`."""
    kept = np.flatnonzero(np.bincount(train.indices, minlength=train.shape[1]) >= MIN_DOCUMENTS)
    rows = np.arange(min(SCORED, test.shape[0])) * test.shape[0] // min(SCORED, test.shape[0])
    return sparse.csr_array(train[:, kept]), sparse.csr_array(test[rows][:, kept])


def reference(n_docs: int) -> Parts:
    train, test = reference_counts()
    return pruned(train[:n_docs], test)


def kos() -> Parts:
    counts = read_corpus(SHARED / "data/kos/docword.kos.txt.gz", vocabulary="numbers").counts
    is_test = np.arange(counts.shape[0]) % 10 == 0
    return pruned(counts[~is_test], counts[is_test])


def from_text(folder: Path, name: str, source: Path | None, *arguments: str) -> Parts:
    """Counts of a file of articles, or of the built-in sample, as `train` makes them."""
    run = folder / "runs" / name
    if not (run / "model.npz").exists():
        articles: tuple[str, ...] = ()
        if source is not None:
            command("download", "--source", "jsonl", "--input", source, "--output", source.stem,
                    cwd=folder)  # fmt: skip
            articles = ("--articles", source.stem)
        command("train", *articles, "--run", name, "--model", "online", "--max-passes", 1,
                "--seed", 1, *arguments, cwd=folder)  # fmt: skip
    parts = split(Corpus.load(run / "corpus"), validation=0.1, test=0.1)
    held_out = sparse.vstack([parts.validation.counts, parts.test.counts], format="csr")
    return pruned(sparse.csr_array(parts.train.counts), held_out)


def command(*argv: object, cwd: Path) -> None:
    cwd.mkdir(parents=True, exist_ok=True)
    argv = (sys.executable, "-m", "pipeline", *argv)
    subprocess.run([*map(str, argv)], cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def classic3(folder: Path) -> Parts:
    """Its texts with their numbers as titles, as some have none."""
    source = (folder / "classic3.jsonl").absolute()
    if not source.exists():
        with lzma.open(SHARED / "data" / "classic3" / "classic3.jsonl.xz", "rt") as stream:
            lines = [json.loads(line) for line in stream]
        articles = ({"title": line["id"], "text": line["text"]} for line in lines)
        source.write_text("".join(json.dumps(article) + "\n" for article in articles))
    return from_text(folder, "classic3", source)


def corpora(folder: Path) -> dict[str, Callable[[], Parts]]:
    wikipedia = (FOLDER / "train_25000.jsonl.xz").absolute()
    return {
        "sample": lambda: from_text(folder, "sample", None),
        "KOS": kos,
        "Classic3": lambda: classic3(folder),
        "1,000 articles": lambda: reference(1000),
        "5,000 articles": lambda: reference(5000),
        "25,000 articles": lambda: reference(25000),
        "25,000, with names": lambda: from_text(folder, "names", wikipedia, *PROPER_NOUNS),
    }


def measured(topics: LDATopics, train: Counts, test: Counts) -> dict[str, float]:
    estimate = log_likelihood(topics, test, "completion", n_samples=1, random_state=0, n_jobs=1)
    starving = is_starving(prevalence_in(topics, train, 1, "prevalence"))
    return {"perplexity": estimate.perplexity, "starving": float(starving.mean())}


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Per trainer: perplexity, and in parentheses the percentage of topics that starve."""
    for trainer, settings in SETTINGS.items():
        keys = [key.split("|") for key in results]
        rows = list(dict.fromkeys((c, k) for t, c, k, _ in keys if t == trainer))
        lines, losses = [["corpus, words, tokens", "K", *settings]], []
        for corpus, n_topics in rows:
            found = [results.get(f"{trainer}|{corpus}|{n_topics}|{name}") for name in settings]
            size = next(each["size"] for each in found if each)
            lines.append([f"{corpus}, {size}", n_topics] + [
                f"{each['perplexity']:.0f} ({100 * each['starving']:.0f})" if each else ""
                for each in found
            ])  # fmt: skip
            if all(found):
                figures = np.array([each["perplexity"] for each in found if each])
                losses.append(np.log(figures / figures.min()))
        if losses:
            mean = [f"{100 * loss:.1f} %" for loss in np.mean(losses, axis=0)]
            lines.append(["above the best, mean", "", *mean])
        yield f"{trainer}:\n\n{markdown(lines)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", nargs="+", metavar="NAME")
    parser.add_argument("--topics", type=int, nargs="+", default=[10, 50, 200], metavar="K")
    parser.add_argument("--trainers", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    available = corpora(arguments.output)
    for corpus in arguments.corpora or available:
        train, test = available[corpus]()
        size = f"{train.shape[1]:,}, {train.sum() / 1e6:.2f} M"
        for trainer, n_topics in product(arguments.trainers, arguments.topics):
            for name, make in SETTINGS[trainer].items():
                model = make(n_topics, random_state=1, n_jobs=2)
                if name.endswith("D as published"):
                    model.set_params(total_documents=train.shape[0])
                model.fit(train)
                figures = {"size": size, **measured(model.topics_, train, test)}
                assert math.isfinite(figures["perplexity"])
                results[f"{trainer}|{corpus}|{n_topics}|{name}"] = figures
                print(trainer, corpus, n_topics, name, figures, flush=True)
    print(*tables(results), sep="\n")


if __name__ == "__main__":
    main()
