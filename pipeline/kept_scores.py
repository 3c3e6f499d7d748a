"""Scores of documents that are kept while `evaluate` is at them.

Those by a model are in `RUNS/.scores/KEY.npz`, where KEY is the hash of all that they depend on, so
the same command goes on where an interrupted one was, with other threads or another cluster too.
The files go when the command is done.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from corpora.files import TEMPORARY_SUFFIX
from evaluation.partial_estimate import PartialEstimate
from models.saved import ModelFormatError, read_arrays, write_arrays
from pipeline.errors import UsageError
from pipeline.score_key import model_hash, score_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from models import SavedModel
    from pipeline.held_out import HeldOut
    from pipeline.settings import EvaluateSettings

logger = logging.getLogger(__name__)

DIRECTORY = ".scores"
KIND = "wikitopics scores of a part"
SAVE_SECONDS = 30.0
"""Between two times that scores are saved."""


class KeptScores:
    """What is known so far of scores by several models, here and in files.

    Parameters
    ----------
    runs
        The directory of all runs; theirs is made in it when there is something to save.
    keys
        Of the scores by each model, see `pipeline.score_key`.
    n_docs
        Documents to score.
    """

    def __init__(self, runs: Path, keys: Sequence[str], n_docs: int) -> None:
        directory = self._directory = runs / DIRECTORY
        self._paths = [directory / f"{key}.npz" for key in keys]
        self.scores = [_read(path, n_docs) for path in self._paths]
        """By each model."""
        self._n_saved = self._n_known()
        self._next = time.monotonic() + SAVE_SECONDS
        self._has_warned = False

    @classmethod
    def of(
        cls,
        settings: EvaluateSettings,
        models: Sequence[SavedModel],
        documents: HeldOut,
        words: Sequence[str],
    ) -> Self:
        """Those of `words` of documents by models."""
        keys = [score_key(settings, model_hash(each), documents, words) for each in models]
        kept = cls(Path(settings.runs), keys, documents.corpus.n_docs)
        if n_known := sum(kept._n_saved):
            logger.info("%s of the scores are there from before", f"{n_known:,}")
        return kept

    @contextmanager
    def saved(self) -> Iterator[None]:
        """If the block ends with an exception, save what is known; else delete the files.

        They are deleted too where the same command would end in the same way.
        """
        try:
            yield
        except UsageError:
            self._delete()  # they could be of no use: the same command would end like this one
            raise
        except BaseException:
            self._save()
            raise
        self._delete()

    def save_now_and_then(self) -> None:
        """Save what is known, if it was not saved for a while."""
        if time.monotonic() >= self._next:
            self._save()
            self._next = time.monotonic() + SAVE_SECONDS

    def _delete(self) -> None:
        with suppress(OSError):  # as long as another command has scores there
            for path in self._paths:
                for each in (path, *self._directory.glob(f".{path.name}.*{TEMPORARY_SUFFIX}")):
                    each.unlink(missing_ok=True)
            self._directory.rmdir()
            self._directory.parent.rmdir()  # if it has no runs

    def _n_known(self) -> list[int]:
        return [int(np.count_nonzero(each.is_known)) for each in self.scores]

    def _save(self) -> None:
        """What cannot be saved has to be scored again: no reason to end the command."""
        n_known = self._n_known()
        try:
            for i, (path, scores) in enumerate(zip(self._paths, self.scores, strict=True)):
                # The same command, given twice at a time, may have deleted what was saved.
                if n_known[i] > self._n_saved[i] or (n_known[i] and not path.exists()):
                    self._directory.mkdir(parents=True, exist_ok=True)
                    write_arrays(path, KIND, {"names": scores.names}, scores.arrays())
                    self._n_saved[i] = n_known[i]
        except (OSError, MemoryError) as error:
            if not self._has_warned:
                logger.warning("scores are not kept, should this command be interrupted: %s", error)
            self._has_warned = True


def _read(path: Path, n_docs: int) -> PartialEstimate:
    """What is kept there; nothing if that cannot be used."""
    try:
        header, arrays = read_arrays(path, KIND)
        found = PartialEstimate.of_arrays(arrays, header["names"])
        if len(found.is_known) == n_docs:
            return found
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (ModelFormatError, OSError, KeyError, TypeError, ValueError) as error:
        logger.warning("%s cannot be used, its documents are scored again: %s", path, error)
    return PartialEstimate(n_docs)
