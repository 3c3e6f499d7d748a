"""Cells of the league: a trained model, and its figures, each a file that is made once."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.league.trainers import TRAINERS
from corpora import Corpus
from corpora.files import atomic_write_text
from evaluation import log_likelihood
from evaluation.figure import Figure, figure_of, groups_of
from evaluation.topics.labels import accuracy, best_topics, cluster_agreement, label_folds
from evaluation.topics.quality import exclusivity_figure
from evaluation.topics.word_coherence import word_coherence
from evaluation.topics.word_diversity import word_diversity
from models import ModelFormatError, SavedModel, load_model, save_model
from models.described.topics import DescribedTopics

if TYPE_CHECKING:
    from pathlib import Path

    from scipy import sparse

    from benchmarks.league.corpora import Parts
    from models.topics import TopicWords

METHOD = "completion"
SIZES = ("training_documents", "training_tokens", "words", "documents")
DAMAGE = (ValueError, TypeError, KeyError, AttributeError)  # What content that is no cell raises


class LeagueFileError(ValueError):
    """A file of the league is damaged or incomplete; the message says what to do."""


@dataclass(frozen=True)
class Cell:
    """A corpus, a number of topics, a trainer and a seed."""

    corpus: str
    n_topics: int
    trainer: str
    seed: int

    def folder(self, output: Path) -> Path:
        """Return the folder of its files."""
        return output / self.corpus / str(self.n_topics)

    def model(self, output: Path) -> Path:
        """Return the file of its model."""
        return self.folder(output) / f"{self.trainer}-{self.seed}.npz"

    def figures(self, output: Path) -> Path:
        """Return the file of its figures."""
        return self.folder(output) / f"{self.trainer}-{self.seed}.json"


def fill(cell: Cell, parts: Parts, output: Path) -> bool:
    """Train and score a cell; whether something was left to do."""
    if cell.figures(output).exists():
        return False
    cell.folder(output).mkdir(parents=True, exist_ok=True)
    seconds = 0.0
    if not cell.model(output).exists():
        began = time.process_time()
        topics = TRAINERS[cell.trainer](parts.train, cell.n_topics, cell.seed)
        seconds = time.process_time() - began
        header = {"cell": asdict(cell), "seconds": seconds}
        save_model(cell.model(output), SavedModel(topics, parts.words, header))
    saved = read_model(cell.model(output))
    figures = figures_of(saved.topics, parts)
    content = {
        **asdict(cell),
        "cpu_seconds": saved.header["seconds"],
        "documents": parts.test.shape[0],
        "training_documents": parts.train.shape[0],
        "training_tokens": int(parts.train.sum()),
        "words": len(parts.words),
        "figures": {name: _stored(each) for name, each in figures.items()},
    }
    atomic_write_text(cell.figures(output), json.dumps(content))
    return True


def figures_of(topics: TopicWords, parts: Parts) -> dict[str, Figure]:
    """Return the figures of a model on the test part."""
    n_docs = parts.test.shape[0]
    ids = tuple(map(str, range(n_docs)))
    corpus = Corpus(parts.test, parts.words, ids)
    group_of = groups_of(ids)
    described = DescribedTopics.of(SavedModel(topics, parts.words))
    figures = {
        "nats a word": _likelihood(topics, parts.test, group_of),
        "c_npmi": word_coherence(described.words, corpus, group_of).jackknifed,
        "diversity": word_diversity(described.words),
        "exclusivity": exclusivity_figure(topics),
    }
    if parts.labels is not None:
        shares = topics.proportions(parts.test)
        figures |= cluster_agreement(best_topics(shares), parts.labels, group_of)
        folds = label_folds(parts.labels, ids)
        figures["accuracy"] = accuracy(shares, parts.labels, folds, group_of)
    return figures


def _likelihood(topics: TopicWords, counts: sparse.csr_array, group_of: Any) -> Figure:
    smoothed: Any = topics.smoothed(1e-6)  # a peer may have words without a topic
    found = log_likelihood(
        smoothed, counts, METHOD, random_state=0, n_jobs=1, convention="sequence"
    )
    loss, n_tokens = -found.log_likelihood, found.n_tokens
    return figure_of(lambda kept: float(loss[kept].sum() / n_tokens[kept].sum()), group_of)


def _stored(figure: Figure) -> dict[str, Any]:
    replicates = None if figure.replicates is None else figure.replicates.tolist()
    return {**asdict(figure), "replicates": replicates}


def read_cell(path: Path) -> dict[str, Any]:
    """Return the content of a cell's file, with a `Figure` for each measure.

    Raises LeagueFileError if it is damaged, lacks something, or is not the cell of its name.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        corpus, trainer = content["corpus"], content["trainer"]
        cell = Cell(corpus, int(content["n_topics"]), trainer, int(content["seed"]))
        if cell.trainer not in TRAINERS or cell.figures(path.parents[2]) != path:
            raise ValueError(f"it is of {cell}")
        figures = {name: _figure(each) for name, each in content["figures"].items()}
        sizes = {name: int(content[name]) for name in SIZES}
        seconds = float(content["cpu_seconds"])
        return {**asdict(cell), "cpu_seconds": seconds, **sizes, "figures": figures}
    except DAMAGE as error:
        raise LeagueFileError(
            f"{path}: damaged, or no cell of the league ({type(error).__name__}: {error}): delete "
            "it, and give the same command without --show to make it again"
        ) from error


def _figure(stored: dict[str, Any]) -> Figure:
    replicates = None if stored["replicates"] is None else np.array(stored["replicates"])
    return Figure(**{**stored, "value": float(stored["value"]), "replicates": replicates})


def read_model(path: Path) -> SavedModel:
    """Return the model of a cell. Raises LeagueFileError if it is missing or damaged."""
    try:
        return load_model(path)
    except (ModelFormatError, OSError) as error:
        raise LeagueFileError(
            f"{error}: delete {path} and the .json beside it, and give the same command without "
            "--show to train it again"
        ) from error
