"""`log_likelihood_difference`: how much more probable documents are under one model than another.

By annealing from one model to the other (Foulds & Smyth 2014, "Annealing paths for the evaluation
of topic models"), in both directions: where models are near each other, the ratio of a document's
probabilities is far easier to estimate than either of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.document_blocks import DocumentBlock, check_possible
from evaluation.estimate import MIN_EFFECTIVE_SAMPLES, allowed_errors, error_of_ratio
from evaluation.lda.annealing import document_of
from evaluation.lda.annealing_between import anneal_chains, burn_in_of, paired_document, path_of
from evaluation.lda.topic_pairs import TopicPairs, topic_pairs
from evaluation.methods import fitted_topics, scoring_of
from evaluation.monte_carlo.acceptance_ratio import acceptance_ratio
from evaluation.monte_carlo.by_document import for_documents
from evaluation.monte_carlo.log_mean import log_mean_of
from models.checks import check_whole
from models.counts import checked_counts
from models.html_table import html_table
from models.parallel import effective_n_jobs
from models.seed import seed_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import sparse

    from evaluation.arrays import Bools, Floats, Ints, Ints32, Rng
    from evaluation.family import AsLDA
    from models.topics import WeightedTopics

DEFAULT_CHAINS = 10
DEFAULT_TEMPERATURES = 100
METHOD = "annealing-between"
STANDARD_ERRORS = 3.0  # by which `lower` may be above `upper`, of many documents


@dataclass(frozen=True, eq=False)
class LikelihoodDifference:
    """log p of each document under model a, less that under model b, in nats.

    `difference` is consistent: it converges to the truth with more chains if these start from the
    posterior of a document's topics under a model. They start from the ends of short Markov chains
    instead, so that no number of chains makes it exact; `lower` and `upper` tell whether that
    matters. From exact starts, exp(lower) and exp(-upper) would be unbiased for the ratio and its
    inverse, so that `lower` is below the truth and `upper` above in expectation, and the truth is
    between them up to chance.
    """

    difference: Floats  #: (D,), by Bennett's acceptance ratio; 0 for documents without tokens.
    standard_error: Floats
    """(D,), Monte Carlo standard error of `difference`, to first order; NaN for documents whose
    effective sample size is below 5, as it is far too small there."""
    lower: Floats  #: (D,), log-mean weight of the chains from b to a.
    upper: Floats  #: (D,), minus the log-mean inverse weight of the chains from a to b.
    effective_sample_size: Floats
    """(D,), of the direction with the smaller one; NaN for documents without tokens."""
    n_tokens: Ints  #: (D,)
    n_samples: int  #: Chains of each document in each direction.
    n_temperatures: int
    n_pairs: int  #: Pairs of topics over which both models are written.
    method: str = METHOD

    @property
    def total(self) -> float:
        """Sum of `difference` over documents: positive if a is better."""
        return float(self.difference.sum())

    @property
    def total_standard_error(self) -> float:
        """Standard error of `total` from sampling alone, of these documents; NaN, with the reason
        in `warnings`, if a document has none, or the two directions contradict each other.
        """
        return float("nan") if self.warnings else float(np.sqrt((self.standard_error**2).sum()))

    @property
    def gap(self) -> float:
        """Sum of `upper` - `lower`: above 0 but for chance, and wide where chains are too few."""
        return float((self.upper - self.lower).sum())

    @property
    def gap_standard_error(self) -> float:
        """Standard error of `gap` over documents; NaN for fewer than two."""
        gap = (self.upper - self.lower)[self.n_tokens > 0]
        return float(gap.std(ddof=1) * np.sqrt(len(gap))) if len(gap) > 1 else float("nan")

    @property
    def nats_per_word(self) -> float:
        """`total` / tokens: positive if a is better; NaN without tokens."""
        n_tokens = int(self.n_tokens.sum())
        return self.total / n_tokens if n_tokens else float("nan")

    @property
    def nats_per_word_standard_error(self) -> float:
        """Standard error of `nats_per_word` over documents, which includes the Monte Carlo error.

        NaN for fewer than two documents with tokens, and where `total_standard_error` is.
        """
        scored = self.n_tokens > 0
        if scored.sum() < 2 or np.isnan(self.total_standard_error):
            return float("nan")
        n_tokens = self.n_tokens[scored]
        return error_of_ratio(self.difference[scored] - self.nats_per_word * n_tokens, n_tokens)

    @property
    def has_low_ess(self) -> Bools:
        """(D,), whether chains are too few for paths so steep: such documents have no error."""
        return np.isnan(self.standard_error)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on why totals have no standard error, and what to do; none if they have."""
        found = []
        n_low_ess, n_scored = int(self.has_low_ess.sum()), int((self.n_tokens > 0).sum())
        if n_low_ess and self.n_samples < MIN_EFFECTIVE_SAMPLES:
            found.append(
                f"of fewer than {MIN_EFFECTIVE_SAMPLES:g} samples no standard error can be "
                "trusted; take more"
            )
        elif n_low_ess:
            found.append(
                f"{n_low_ess:,} of {n_scored:,} documents have an effective sample size below "
                f"{MIN_EFFECTIVE_SAMPLES:g}: the models differ too much there for "
                f"{self.n_temperatures} temperatures, and no standard error can be trusted; take "
                "more temperatures, or the difference of two left-to-right-sequential estimates"
            )
        if self.gap < -allowed_errors(STANDARD_ERRORS, n_scored) * self.gap_standard_error:
            found.append(
                f"the two directions contradict each other: the lower value is above the upper one "
                f"by {-self.gap:.3g} ± {self.gap_standard_error:.2g} nats, so that chains did not "
                "start from the posterior; take the difference of two left-to-right-sequential "
                "estimates"
            )
        return tuple(found)

    def by_group(self, groups: Sequence[str]) -> LikelihoodDifference:
        """Return the estimate with documents of a group summed, such as the sections of an article.

        `groups` (D,) are in order of first appearance; effective sample sizes are not kept, and a
        group with a document that has no standard error has none. Raises ValueError if there is not
        one for each document.
        """
        if len(groups) != len(self.n_tokens):
            raise ValueError(f"groups must name {len(self.n_tokens)} documents, not {len(groups)}")
        position: dict[str, int] = {}
        group_of = np.array([position.setdefault(group, len(position)) for group in groups], int)

        def summed(values: Floats) -> Floats:
            return np.bincount(group_of, values, len(position)).astype(np.float64)

        return LikelihoodDifference(
            difference=summed(self.difference),
            standard_error=np.sqrt(summed(self.standard_error**2)),
            lower=summed(self.lower),
            upper=summed(self.upper),
            effective_sample_size=np.full(len(position), np.nan),
            n_tokens=summed(self.n_tokens.astype(np.float64)).astype(np.int64),
            n_samples=self.n_samples,
            n_temperatures=self.n_temperatures,
            n_pairs=self.n_pairs,
        )

    def _repr_html_(self) -> str:
        """Return a plain table of the totals, for notebooks."""
        rows = [
            ("nats", f"{self.total:,.3f}", f"{self.total_standard_error:,.3f} (sampling alone)"),
            (
                "nats a word",
                f"{self.nats_per_word:.5f}",
                f"{self.nats_per_word_standard_error:.5f}",
            ),
            ("lower", f"{self.lower.sum():,.3f}", ""),
            ("upper", f"{self.upper.sum():,.3f}", ""),
        ]
        return html_table(
            ("log p of a less that of b", "value", "standard error"),
            rows,
            "; ".join((self.method, *self.warnings)),
        )


def log_likelihood_difference(
    a: Any,
    b: Any,
    counts: Any,
    *,
    n_samples: int | None = None,
    n_temperatures: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LikelihoodDifference:
    """Return log p of documents under model a, less that under model b.

    Chains of topics are annealed from b to a, and others from a to b, on the path of
    `evaluation.lda.annealing_between`. Near models gain the most: a few more sweeps, another prior,
    some topics more. For models that were learned from different starts, two estimates by
    "left-to-right-sequential" are the better choice.

    Parameters
    ----------
    a, b : LDATopics or GammaPoissonTopics, or estimators with fitted `topics_`
        Models of the same words; numbers of topics may differ, and so may the families.
    counts : sparse or dense (D, V)
        How often each word occurs in each document; whole numbers, none negative.
    n_samples : int, optional
        Chains of each document in each direction, 10 by default.
    n_temperatures : int, optional
        Models on the path, both ends included, 100 by default. Time is in proportion to it; the
        variance of log-weights falls with it.
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.

    The probability is of the tokens in order, given their number ("sequence"); the difference is
    the same for counts given their number ("bag").

    Raises ZeroProbabilityError, a ValueError, if a document holds a word that no topic of a model
    has; ValueError if the models do not have the same number of words, or `counts` does not fit
    them; TypeError for families that are not LDA with other weights; NotFittedError.
    """
    n_samples = DEFAULT_CHAINS if n_samples is None else n_samples
    n_temperatures = DEFAULT_TEMPERATURES if n_temperatures is None else n_temperatures
    check_whole("n_samples", n_samples, 1)
    check_whole("n_temperatures", n_temperatures, 2)
    seed, n_threads = seed_from(random_state), effective_n_jobs(n_jobs)
    end, start = _as_lda("a", a), _as_lda("b", b)
    n_words = end.topics.n_words
    if start.topics.n_words != n_words:
        raise ValueError(
            f"a and b must have the same words, found {n_words} and {start.topics.n_words}: bring "
            "both to the words that they share by with_words"
        )
    documents = checked_counts(counts, n_words)
    for model in (a, b):
        check_possible(fitted_topics(model), documents)
    pairs = topic_pairs(start.topics, end.topics, n_threads)
    n_docs = documents.shape[0]
    found, lower, upper = np.zeros((n_docs, 3)), np.zeros(n_docs), np.zeros(n_docs)
    found[:, 2] = np.nan

    def work(d: int, words: Ints32, n: Ints, rng: Rng) -> None:
        forwards, backwards = _log_weights(
            (start.topics, end.topics), pairs, (words, n), (n_samples, n_temperatures), rng
        )
        found[d] = acceptance_ratio(forwards, backwards)
        lower[d] = log_mean_of(forwards).log_mean
        upper[d] = -log_mean_of(-backwards).log_mean

    for_documents(DocumentBlock(documents), seed, n_threads, work)
    constant = _factor(end, documents) - _factor(start, documents)
    has_low_ess = found[:, 2] < MIN_EFFECTIVE_SAMPLES  # never for documents without tokens
    return LikelihoodDifference(
        difference=found[:, 0] + constant,
        standard_error=np.where(has_low_ess, np.nan, found[:, 1]),
        lower=lower + constant,
        upper=upper + constant,
        effective_sample_size=found[:, 2],
        n_tokens=DocumentBlock(documents).n_tokens,
        n_samples=int(n_samples),
        n_temperatures=int(n_temperatures),
        n_pairs=len(pairs.first),
    )


def _as_lda(name: str, model: Any) -> AsLDA:
    topics = fitted_topics(model)
    as_lda = scoring_of(model).as_lda
    if as_lda is None:
        raise TypeError(
            f"{name}: a {type(topics).__name__} is not LDA with other weights, so that no path "
            "leads to or from it; compare estimates of log_likelihood instead"
        )
    return as_lda(topics)


def _factor(model: AsLDA, documents: sparse.csr_array) -> Floats:
    if model.log_factor is None:
        return np.zeros(documents.shape[0])
    return model.log_factor(documents)


def _log_weights(
    ends: tuple[WeightedTopics, WeightedTopics],
    pairs: TopicPairs,
    document: tuple[Ints32, Ints],
    size: tuple[int, int],
    rng: Rng,
) -> tuple[Floats, Floats]:
    """Return the log-weights (N,) of the chains forwards and of those backwards."""
    paired = paired_document(*ends, pairs, *document)
    path = path_of(paired, size[1])
    of_ends = ((pairs.first, pairs.first_prior), (pairs.second, pairs.second_prior))
    found = []
    for backwards, topics, copies in zip((False, True), ends, of_ends, strict=True):
        own, _ = document_of(topics, *document)
        chains = (own, burn_in_of(own), *copies, size[0], rng)
        found.append(anneal_chains(paired, path, backwards, *chains))
    return found[0], found[1]
