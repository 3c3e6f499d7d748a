"""The protocol of a family's likelihoods: the estimators of its topics, and what depends on them.

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

    from evaluation.document_blocks import DocumentBlock
    from evaluation.estimate import LikelihoodEstimate
    from models.topics import TopicWords, WeightedTopics

    Floats = NDArray[np.float64]

WHOLE_DOCUMENTS = "whole documents"

Refusable = Literal["certify", "completion", "restriction", "smoothing"]
"""Features that a family can refuse: simulation of documents with exact draws of their topics;
prediction of a part of a document from the rest; models of some of the words; smoothed topics."""


@dataclass(frozen=True)
class Method:
    """An estimator of how probable documents are."""

    name: str
    score: Callable[..., LikelihoodEstimate]
    """Function of (topics, `DocumentBlock`, *, n_samples, seed, n_jobs), and of `max_memory` if
    there is a `check_cost`."""
    meaning: str
    """Meaning of its figure, and the side on which the truth lies, in a few sentences for
    newcomers."""
    is_sampled: bool = True
    is_unbiased: bool = False
    """Whether more samples bring it to the truth, with a standard error that says how far."""
    is_quotable: bool = True
    """Whether its perplexity is one to read out."""
    scored: str = WHOLE_DOCUMENTS
    """Part of documents that it scores."""
    is_conditional: bool = False
    """Whether only a part of each document is scored, given the rest."""
    sample: str = "sample"
    """Name of one of its samples."""
    caveat: str = ""
    """A sentence on an error that its figure does not show."""
    default_samples: int | None = None
    """Samples a document if none are asked for, where estimates do not tell them."""
    check_cost: Callable[[Any, DocumentBlock, int, int | None], object] | None = None
    """Function of (topics, documents, max_memory, n_jobs) that raises the ExactCostError that
    `score` would, and scores nothing; None if nothing is too costly."""


@dataclass(frozen=True)
class Validation:
    """Validation of topics during training."""

    method: str
    measure: str
    """Description of the measure."""
    has_bound: bool = False
    """Whether the variational bound of some documents is measured besides."""


@dataclass(frozen=True)
class AsLDA:
    """A model's likelihood as that of LDA with weighted topics."""

    topics: WeightedTopics
    log_factor: Callable[[sparse.csr_array], Floats] | None = None
    """Function of counts (D, V) to what is added (D,) to the log-probability that LDA gives to
    tokens in order, so that it is the model's; None for nothing."""


@dataclass(frozen=True)
class Scoring:
    """Scoring of topics of one kind."""

    topics: type[TopicWords]
    methods: tuple[Method, ...]
    """Those whose figure is rather read out come first."""
    default: str
    """The method if none is asked for."""
    shown: tuple[str, ...]
    """Methods that cost little and between them show what differs, for a report."""
    validation: Validation
    refuses: Mapping[Refusable, str] = field(default_factory=dict)
    """Reasons for what these topics do not have, each the end of a sentence."""
    caveat: str = ""
    """A sentence on an error of all figures that no figure shows."""
    as_lda: Callable[[Any], AsLDA] | None = None
    """Function of topics to how LDA sees them."""
    log_length: Callable[[Any, NDArray[np.int64]], Floats] | None = None
    """Function of topics and numbers of tokens (D,) to the log-probability (D,) of these; None for
    families that say nothing of how long documents are."""
    simulate: (
        Callable[
            [Any, NDArray[np.int64], np.random.Generator],
            tuple[sparse.csr_array, NDArray[np.int32]],
        ]
        | None
    ) = None
    """Function of topics, wanted lengths and a generator to documents (D, V) with tokens, and
    topics of their tokens, an exact draw from the posterior."""
    scores_given: Callable[..., Floats] | None = None
    """Function of (topics, seen counts (D, V), hidden (V,), task, n_jobs) to the posterior mean of
    the topics' scores (D, K), for plug-in predictions; see `evaluation.prediction`."""
    restricted: Callable[[Any, NDArray[np.intp]], TopicWords | None] | None = None
    """Function of topics and some of their words to topics of documents without other words; None
    of topics that have none of them."""
    advice: Mapping[type, str] = field(default_factory=dict)
    """Classes that are no topics but nearly, and what to make of them."""

    def method(self, name: str) -> Method:
        """The method of that name.

        Raises
        ------
        ValueError
            If the family has none.
        """
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
        """The reason why the family has no such method, if it gives one."""
        return self.refuses.get("completion", "") if name == "completion" else ""
