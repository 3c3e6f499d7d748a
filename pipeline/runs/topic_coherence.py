"""Coherence of a run's topics, counted in a reference corpus that `index` made."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation import Coherence, coherence
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.resampling import ResampledValue
from models import SavedModel
from pipeline.errors import UsageError


@dataclass(frozen=True, eq=False)
class TopicCoherence:
    """Coherence of the topics of a model."""

    reference: ReferenceIndex
    found: Coherence
    n_words: int  # Top words of each topic
    unknown: tuple[str, ...]  # Different top words that the index lacks, in alphabetical order
    n_different: int  # Different top words

    @classmethod
    def count(
        cls, model: SavedModel, reference: ReferenceIndex, measure: str, n_words: int
    ) -> "TopicCoherence":
        """Count the top words of all topics.

        Raises UsageError if topics have fewer than two words; CorpusFormatError if the index is
        damaged.
        """
        if min(n_words, model.topics.n_words) < 2:
            raise UsageError("--words must be at least 2 for --reference: coherence is of pairs")
        top = np.unique(model.topics.top_words(n_words)).tolist()
        words = {model.vocabulary[w] for w in top}
        found = coherence(
            model.topics, reference, measure, n_words=n_words, vocabulary=model.vocabulary
        )
        unknown = sorted(words - reference.number_of.keys())
        return cls(reference, found, n_words, tuple(unknown), len(words))

    def row(self, k: int) -> dict[str, Any]:
        """Return the entry of topic `k`."""
        value = float(self.found.per_topic[k])
        return {
            "value": value if np.isfinite(value) else None,
            "pairs": int(self.found.n_pairs[k]),
            **_errors(self.found.by_document.topics[k]),
        }

    @property
    def summary(self) -> dict[str, Any]:
        """Entry of all topics."""
        mean, found = self.found.mean, self.found
        return {
            "reference": str(self.reference.path),
            "reference_identity": self.reference.identity,
            "articles": self.reference.n_articles,
            "measure": found.measure,
            "words": self.n_words,
            "window_size": found.window_size,
            "mean": mean if np.isfinite(mean) else None,
            **_errors(found.by_document.mean),
            "different_words": self.n_different,
            "unknown_words": list(self.unknown),
        }


def _errors(resampled: ResampledValue) -> dict[str, Any]:
    """Return the standard error over documents, or None and the reason."""
    error = resampled.standard_error
    return {
        "standard_error": error if np.isfinite(error) else None,
        "why_no_standard_error": resampled.why_none or None,
    }
