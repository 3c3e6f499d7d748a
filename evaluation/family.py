"""Protocol of a family's likelihoods: the estimators of its topics, and their properties.

Each folder of a family has a module `scoring` with `SCORINGS`, one for each of the family's kinds
of topics; `evaluation.methods.SCORINGS` lists them. See `models.family` for the rest of a family.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from scipy import sparse

    from evaluation.arrays import Floats, Ints, Ints32, Rng
    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models.topics import TopicWords, WeightedTopics

    Simulate = Callable[[Any, Ints, Rng], tuple[sparse.csr_array, Ints32]]

WHOLE_DOCUMENTS = "whole documents"

Refusable = Literal["certify", "completion", "restriction", "smoothing"]
"""Simulation of documents with exact draws of their topics, prediction of a part of a document
from the rest, models of some of the words, and smoothed topics."""


@dataclass(frozen=True)
class Method:
    """An estimator of the probability of documents."""

    name: str
    score: Callable[..., LikelihoodEstimate]
    """Function of (topics, `DocumentBlock`, *, n_samples, seed, n_jobs), and of `max_memory` if
    there is a `check_cost`."""
    meaning: str  # Meaning of its figure, and the side on which the truth lies, for newcomers
    is_sampled: bool = True
    is_unbiased: bool = False
    """Whether estimates converge to the truth with more samples, with a valid standard error."""
    is_quotable: bool = True
    scored: str = WHOLE_DOCUMENTS
    is_conditional: bool = False  # Whether only a part of each document is scored, given the rest
    sample: str = "sample"  # Name of one of its samples
    caveat: str = ""  # Sentence on an error that its figure does not show
    default_samples: int | None = None
    """Default samples of a document, where estimates do not report them."""
    check_cost: Callable[[Any, DocumentBlock, int, int | None], object] | None = None
    """Function of (topics, documents, max_memory, n_jobs) that raises an ExactCostError."""


@dataclass(frozen=True)
class Validation:
    """Validation of topics during training."""

    method: str
    measure: str
    has_bound: bool = False  # Whether the variational bound of some documents is measured too


@dataclass(frozen=True)
class AsLDA:
    """A model's likelihood, expressed by LDA with weighted topics."""

    topics: WeightedTopics
    log_factor: Callable[[sparse.csr_array], Floats] | None = None
    """Function from counts (D, V) to the difference (D,) of the model's log-probability from LDA's
    log-probability of tokens in order; None for 0."""


@dataclass(frozen=True)
class Scoring:
    """Scoring of topics of one kind."""

    topics: type[TopicWords]
    methods: tuple[Method, ...]  # Methods, those whose figure is preferred first
    default: str
    shown: tuple[str, ...]  # Cheap methods that together show the differences, for a report
    validation: Validation
    refuses: Mapping[Refusable, str] = field(default_factory=dict)
    """Reasons for refusals, each the end of a sentence."""
    caveat: str = ""  # Sentence on an error of all figures that no figure shows
    as_lda: Callable[[Any], AsLDA] | None = None
    log_length: Callable[[Any, Ints], Floats] | None = None
    """Function from topics and numbers of tokens (D,) to their log-probability (D,); None for
    families that do not model lengths."""
    simulate: Simulate | None = None
    """Function from topics, lengths and a generator to documents (D, V) with tokens, and topics of
    their tokens, an exact draw from the posterior."""
    scores_given: Callable[..., Floats] | None = None
    """Function of (topics, seen counts (D, V), hidden (V,), task, n_jobs) to the posterior mean of
    the topics' scores (D, K), for plug-in predictions; see `evaluation.prediction`."""
    restricted: Callable[[Any, NDArray[np.intp]], TopicWords | None] | None = None
    """Function from topics and some of their words to topics of documents with these words only;
    None for topics that have none of them."""
    advice: Mapping[type, str] = field(default_factory=dict)
    """Classes that are no topics, with advice for an error message."""

    def method(self, name: str) -> Method:
        """Return the method of that name; ValueError if the family has none."""
        for each in self.methods:
            if each.name == name:
                return each
        raise ValueError(
            f"method = {name!r} is not an estimator for {self.topics.__name__}: use one of "
            + ", ".join(self.names)
            + (f"; {why}" if (why := self.why_not(name)) else "")
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the methods, sorted."""
        return tuple(sorted(each.name for each in self.methods))

    def why_not(self, name: str) -> str:
        """Return the family's reason for not having this method, if any."""
        return self.refuses.get("completion", "") if name == "completion" else ""
