"""Score documents: `log_likelihood` at once, `Scorer` in blocks."""

import logging
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np

from evaluation.convention import CONVENTIONS, in_convention
from evaluation.document_blocks import DocumentBlock, check_possible
from evaluation.estimate import Convention, LikelihoodEstimate
from evaluation.exact_cost import MAX_MEMORY
from evaluation.family import Method, Scoring
from evaluation.methods import fitted_topics, scoring_of
from evaluation.monte_carlo.target_error import sample_to_target
from models.checks import check_number, check_whole
from models.counts import checked_counts
from models.parallel import effective_n_jobs
from models.seed import seed_from

logger = logging.getLogger(__name__)


def log_likelihood(
    model: Any,
    counts: Any,
    method: str | None = None,
    *,
    n_samples: int | None = None,
    target_standard_error: float | None = None,
    smoothing: float = 0.0,
    convention: Convention | None = None,
    max_memory: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """Return one log-probability a document, in nats, under a model.

    Parameters
    ----------
    model : LDATopics, GammaPoissonTopics, LPMRFTopics or LPMRFClusters
        Or an estimator with a fitted `topics_`.
    counts : sparse or dense (D, V)
        How often each word occurs in each document; whole numbers, none negative.
    method : str, optional
        For LDA "exact" (short documents, few topics), "left-to-right-sequential" (the best of those
        that sample), "annealing-from-mean" (the best for documents of 1,000 tokens under 1,000
        topics), "annealed-importance-sampling", "mean-field-is-1", "mean-field-is-2",
        "left-to-right-particle", "harmonic-mean" (known to be bad), "variational-bound", or
        "completion", the default, which is of half of each document. For Gamma-Poisson models these
        but for "left-to-right-particle", and "left-to-right", "left-to-right-exact" and
        "direct-sampling" (Capdevila et al. 2018). For topic models of Poisson MRFs
        "annealed-importance-sampling", the default, or "exact", the default for mixtures of them,
        given their estimates of partition functions; and "best-split", with which Inouye et al.
        (2015) compare, and which is no probability.
    n_samples : int, optional
        Monte Carlo samples of a document; each method has a default.
    target_standard_error : float, optional
        Nats: each document gets enough samples for a Monte Carlo error of about this; `n_samples`
        is then the first number tried. For unbiased methods.
    smoothing : float
        Share of each topic that is spread evenly over all words before documents are scored, so
        that no document is impossible (see `smoothed` of the topics).
    convention : {"sequence", "bag", "bag-and-length"}, optional
        Event whose log p is estimated: tokens in order or counts, given their number, or counts and
        their number (see `evaluation.convention`). By default "sequence" for LDA and Poisson MRFs,
        "bag" for "best-split", and for Gamma-Poisson models "bag-and-length", except "sequence" for
        "completion". Only the first two compare between families.
    max_memory : int, optional
        Bytes that "exact" may take, 2 GiB by default; more is refused.
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.

    Raises ZeroProbabilityError, a ValueError, if a document holds a word that no topic has;
    ExactCostError, a ValueError, if the exact likelihood would take too much memory or time;
    ValueError if the method is not one of the model's, or `counts` does not fit the model, or holds
    a value that is no count; TypeError if the model is of no known family;
    sklearn.exceptions.NotFittedError if the model is an estimator that has not been fitted.
    """
    sampling = (n_samples, target_standard_error)
    scorer = Scorer.of(model, method, *sampling, smoothing, convention, max_memory, random_state)
    estimate = scorer.score(scorer.checked(counts), n_jobs)
    for warning in estimate.warnings:
        logger.warning("%s", warning)
    return estimate


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model with the settings of its scores, which can be sent to another process.

    Make one by `of`, which checks all settings. The scores of a block of documents have the same
    bits as among all documents, in any order.
    """

    topics: Any
    method: str
    n_samples: int | None
    target_standard_error: float | None
    convention: Convention | None
    max_memory: int | None
    seed: int

    @classmethod
    def of(
        cls,
        model: Any,
        method: str | None = None,
        n_samples: int | None = None,
        target_standard_error: float | None = None,
        smoothing: float = 0.0,
        convention: Convention | None = None,
        max_memory: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Return the scorer of a model; see `log_likelihood` for parameters and errors."""
        topics = fitted_topics(model)
        scoring = scoring_of(model)
        method = scoring.default if method is None else method
        chosen = scoring.method(method)
        if n_samples is not None:
            check_whole("n_samples", n_samples, 1)
        if target_standard_error is not None:
            check_number("target_standard_error", target_standard_error)
            if not 0 < target_standard_error < np.inf:
                raise ValueError(
                    f"target_standard_error must be positive, found {target_standard_error}"
                )
            if chosen.is_sampled and not chosen.is_unbiased:
                unbiased = sorted(each.name for each in scoring.methods if each.is_unbiased)
                raise ValueError(
                    f"target_standard_error: more samples do not bring {method} to the truth; use "
                    f"one of {', '.join(unbiased)}"
                )
        check_number("smoothing", smoothing)
        if convention is not None and convention not in CONVENTIONS:
            raise ValueError(f"convention must be one of {CONVENTIONS}, found {convention!r}")
        return cls(
            topics.smoothed(smoothing) if smoothing else topics,
            method,
            n_samples,
            target_standard_error,
            convention,
            max_memory,
            seed_from(random_state),
        )

    def checked(self, counts: Any) -> DocumentBlock:
        """Return all documents (D, V) in the form that `score` takes, or raise its errors."""
        documents = checked_counts(counts, self.topics.n_words)
        check_possible(self.topics, documents)
        return DocumentBlock(documents)

    def score(self, documents: DocumentBlock, n_jobs: int | None = None) -> LikelihoodEstimate:
        """Score the documents of a block, whose counts are not checked again (see `checked`).

        A block with fewer words than the model has the model's first words.
        """
        effective_n_jobs(n_jobs)  # also for methods with a single thread
        documents, score = documents.widened(self.topics.n_words), self._chosen.score
        settings: dict[str, Any] = {"n_samples": self.n_samples, "seed": self.seed}
        settings["n_jobs"] = n_jobs
        if self._chosen.check_cost is not None and self.max_memory is not None:
            settings["max_memory"] = self.max_memory
        target = self.target_standard_error if self._chosen.is_sampled else None
        if target is None:
            estimate = score(self.topics, documents, **settings)
        else:
            estimate = sample_to_target(score, self.topics, documents, target, **settings)
        if self.convention is None:
            return estimate
        log_length = self._scoring.log_length
        return in_convention(estimate, self.topics, documents, self.convention, log_length)

    def check_cost(self, documents: DocumentBlock, n_jobs: int | None = None) -> None:
        """Raise the ExactCostError of `score` without scoring."""
        check = self._chosen.check_cost
        if check is not None:
            limit = MAX_MEMORY if self.max_memory is None else self.max_memory
            check(self.topics, documents.widened(self.topics.n_words), limit, n_jobs)

    @property
    def has_cost(self) -> bool:
        """Whether documents can be too costly, so that `check_cost` is useful."""
        return self._chosen.check_cost is not None

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Pickle the fields only; another process looks the method up again."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def _scoring(self) -> Scoring:
        return scoring_of(self.topics)

    @cached_property
    def _chosen(self) -> Method:
        return self._scoring.method(self.method)
