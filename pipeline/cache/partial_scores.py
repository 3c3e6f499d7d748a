"""Scores of documents by models, those known from before and those that a command adds.

They are cached by all that they depend on (`pipeline.cache.keys.score_key`): what is known so far
every 30 seconds, so that the same command goes on where an interrupted one was, with other threads
or another cluster too, and the whole when the command is done. `evaluate` and `report` share them.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from evaluation import LikelihoodEstimate
from evaluation.partial_estimate import PartialEstimate
from models import SavedModel
from pipeline.cache.keys import SCORES, score_key
from pipeline.cache.results import Arrays, ResultCache
from pipeline.errors import UsageError
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut

SAVE_SECONDS = 30.0  # Seconds between two times that scores are saved


class Scored(NamedTuple):
    """Likelihoods of documents under a model, and the time that they took."""

    estimate: LikelihoodEstimate
    seconds: float  # Time spent on scoring, in all commands that had a part in it


class PartialScores:
    """Scores of `words` of documents by several models, as far as they are known or cached."""

    def __init__(
        self,
        settings: EvaluateSettings,
        models: Sequence[SavedModel],
        documents: HeldOut,
        words: Sequence[str],
    ) -> None:
        self._cache, n_docs = ResultCache(), documents.corpus.n_docs
        self._keys = keys = [score_key(settings, each, documents, words) for each in models]
        found = [self._cache.get(SCORES, key, partial(_read, n_docs)) for key in keys]
        known = [each or (PartialEstimate(n_docs), 0.0) for each in found]
        self.scores = [scores for scores, _ in known]  # Scores by each model
        self.seconds = [seconds for _, seconds in known]  # Seconds spent on each model
        self._n_saved = self._n_known()
        self._was_complete = self._are_complete()
        self._last_added = time.monotonic()
        self._next_save = self._last_added + SAVE_SECONDS

    @property
    def n_known(self) -> int:
        """Scores that are known, by all models."""
        return sum(self._n_known())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to score."""
        return all(self._are_complete())

    def scored(self, number: int) -> Scored:
        """The whole estimate by the model of that number.

        Raises ValueError if some documents are not scored.
        """
        return Scored(self.scores[number].estimate(), self.seconds[number])

    def add(self, number: int, first_document: int, part: LikelihoodEstimate) -> None:
        """Add the scores of a block by the model of that number; save them now and then.

        The time since the last block came, or since the work began, is this block's.
        """
        now = time.monotonic()
        self.scores[number].add(first_document, part)
        self.seconds[number] += now - self._last_added
        self._last_added = now
        if now >= self._next_save:
            self._save()
            self._next_save = time.monotonic() + SAVE_SECONDS

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Save what is known when the block ends, with an exception too.

        A UsageError is an exception to that, as the same command would end with it again: only what
        was complete before is left in the cache then.
        """
        self._last_added = time.monotonic()
        try:
            yield
        except UsageError:
            for key, was_complete in zip(self._keys, self._was_complete, strict=True):
                if not was_complete:
                    self._cache.remove(SCORES, key)
            raise
        except BaseException:
            self._save()
            raise
        self._save()

    def _save(self) -> None:
        n_known = self._n_known()
        for i, (key, scores) in enumerate(zip(self._keys, self.scores, strict=True)):
            if n_known[i] > self._n_saved[i]:
                seconds = {"seconds": np.asarray(self.seconds[i])}
                self._cache.put(SCORES, key, scores.to_arrays() | seconds)
                self._n_saved[i] = n_known[i]

    def _n_known(self) -> list[int]:
        return [int(np.count_nonzero(each.is_known)) for each in self.scores]

    def _are_complete(self) -> list[bool]:
        return [bool(each.names) and bool(each.is_known.all()) for each in self.scores]


def _read(n_docs: int, arrays: Arrays) -> tuple[PartialEstimate, float]:
    scores = PartialEstimate.from_arrays(arrays)
    if len(scores.is_known) != n_docs:
        raise ValueError(f"of {len(scores.is_known)} documents, expected {n_docs}")
    return scores, float(arrays["seconds"])
