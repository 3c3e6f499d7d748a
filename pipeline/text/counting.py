"""Passes over tokens that make a corpus: bigrams, vocabulary, counts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from corpora import Bigrams, TokenBlock, TokenStore, part_of
from corpora.corpus_writer import Bags
from corpora.counting import BagsOfBlock
from corpora.tokens.bigrams import Joined, PairsOfBlock
from corpora.tokens.block_pairs import BlockPairs
from corpora.tokens.running_words import RunningWords, RunningWordsOfBlock
from corpora.tokens.workers import Workers
from corpora.vocabulary import Frequencies, FrequenciesOfBlock
from pipeline.progress import Progress
from pipeline.settings import TrainSettings
from pipeline.text.settings import bigram_patterns

Result = TypeVar("Result")

WORTH_A_POOL = 20_000
"""Articles for each process from which processes pay: counting them takes about 4 s."""


@dataclass(frozen=True)
class TrainingPart:
    """Predicate of training documents by id; can be pickled."""

    validation: float
    test: float

    def __call__(self, document_id: str) -> bool:
        """Whether the document belongs to the training part."""
        return part_of(document_id, self.validation, self.test) == "train"


class CountingPasses:
    """Passes over a complete store of tokens that make a corpus, each with its progress bar.

    Processes or workers count, see `TokenStore.map`; few articles are counted in this process.
    """

    def __init__(
        self, tokens: TokenStore, n_processes: int = 1, workers: Workers | None = None
    ) -> None:
        n_articles = sum(entry.articles for entry in tokens.entries)
        is_worth_it = n_articles >= WORTH_A_POOL * n_processes
        self._tokens, self._workers = tokens, workers
        self._n_processes = n_processes if is_worth_it else 1

    def pairs(self, step: PairsOfBlock) -> Iterator[BlockPairs]:
        """Count words and adjacent pairs of each block."""
        return self._pass("bigrams", step, lambda counted: counted.n_docs)

    def frequencies(
        self, bigrams: Bigrams, learn_from: Callable[[str], bool]
    ) -> Iterator[Frequencies]:
        """Count the training documents of each block that contain each word."""
        step = Joined(bigrams, FrequenciesOfBlock(learn_from))
        return self._pass("vocabulary", step, lambda counted: counted.n_docs)

    def bags(self, bigrams: Bigrams, vocabulary: tuple[str, ...]) -> Iterator[Bags]:
        """Count the words of the documents of each block."""
        step = Joined(bigrams, BagsOfBlock(vocabulary))
        return self._pass("counts", step, lambda bags: len(bags.doc_ids))

    def running_words(
        self, bigrams: Bigrams, vocabulary: tuple[str, ...]
    ) -> Iterator[RunningWords]:
        """Number the words of the documents of each block, in their order."""
        step = Joined(bigrams, RunningWordsOfBlock(vocabulary))
        return self._pass("index", step, lambda words: words.n_docs)

    def _pass(
        self, stage: str, step: Callable[[TokenBlock], Result], n_docs_of: Callable[[Result], int]
    ) -> Iterator[Result]:
        with Progress(stage, None, "documents") as progress:
            for counted in self._tokens.map(step, self._n_processes, self._workers):
                yield counted
                progress.update(n_docs_of(counted))


def bigrams_of(
    counted_by: Callable[[PairsOfBlock], Iterable[BlockPairs]],
    is_training: Callable[[str], bool],
    settings: TrainSettings,
    directory: Path | None = None,
) -> Bigrams:
    """Learn the pairs to join by the settings' score and rule; empty if they ask for none.

    `counted_by` applies a step to each block, `is_training` tells whether the document of an id
    belongs to the training part, and temporary files go to `directory`.
    """
    if settings.bigrams == "none":
        return Bigrams({})
    usual = 0.5 if settings.bigrams == "npmi" else 100.0
    rule = Bigrams({}, bigram_patterns(settings), settings.noun_chunks)
    return rule.from_counts(
        counted_by(PairsOfBlock(rule, is_training)),
        min_count=settings.bigram_min_count,
        threshold=usual if settings.bigram_threshold is None else settings.bigram_threshold,
        scoring=settings.bigrams,
        directory=directory,
    )
