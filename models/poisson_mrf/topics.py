"""Models of fixed-length Poisson MRFs: a field for each topic, as mixtures or topic models.

Two kinds: a mixture, in which a document has one topic, and a topic model, in which each of its
tokens has one. With Φ = 0 they are the mixture of multinomials and LDA (Inouye et al. 2015,
Sec. 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from models.counts import whole_numbers
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.edges import Neighbours, checked_edges
from models.poisson_mrf.field_scores import field_scores
from models.poisson_mrf.topic_matrices import map_assignment
from models.topics import Edges, TopicWords, checked_topic_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from models.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class LPMRFModel(TopicWords):
    """K fixed-length Poisson MRFs over V words, with what their likelihoods take.
    `topic_word` is exp θ, in rows that sum to 1; all of it is positive.
    Raises ValueError if shapes disagree or a value is out of its range.
    """

    edge_topic: Ints  #: (E,), ascending: topic of each pair of dependent words.
    edge_words: Ints  #: (E, 2), the first below the second; no pair twice in a topic.
    edge_weight: Floats  #: (E,), Φ of the pair.
    half_length: Floats  #: (K,), number of tokens at which ω is a half.
    log_partition: Floats  #: (K, M + 1), A_L + log L! for L = 0..M, an estimate; 0 where Φ is.
    prior: Floats  #: (K,), positive; see the classes.

    def __post_init__(self) -> None:
        topic_word, vectors = checked_topic_word(
            self.topic_word, half_length=self.half_length, prior=self.prior
        )
        n_topics = len(topic_word)
        if not (topic_word > 0).all():
            raise ValueError("topic_word must be positive: it is exp θ of finite θ")
        sums = topic_word.sum(axis=1, keepdims=True)
        # Rows that sum to 1 stay as they are, to the bit, when a model is read back.
        topic_word /= np.where(np.abs(sums - 1.0) > 1e-12, sums, 1.0)
        if not (vectors["half_length"] > 0).all():
            raise ValueError("half_length must be positive")
        prior = vectors["prior"]
        if not np.isfinite(prior).all() or (prior <= 0).any():
            raise ValueError(f"prior must be positive and finite, found {prior.min():g}")
        edges = checked_edges(self.edge_topic, self.edge_words, self.edge_weight, topic_word.shape)
        table = np.array(self.log_partition, dtype=np.float64, ndmin=2, order="C")
        if table.shape[0] != n_topics or table.shape[1] < 2 or not np.isfinite(table).all():
            raise ValueError(
                f"log_partition must be finite, ({n_topics}, lengths from 0 to 1 or more), found "
                f"shape {table.shape}"
            )
        self._freeze(
            {"topic_word": topic_word, "edge_topic": edges[0], "edge_words": edges[1]}
            | {"edge_weight": edges[2], "log_partition": table, **vectors}
        )

    @classmethod
    def of_fields(
        cls, fields: Sequence[FixedLengthPoissonMRF], log_partition: Any, prior: Any
    ) -> Self:
        """The model of K fields, their tables (K, M + 1) of `partition_table`, and a prior (K,)."""
        upper = [sparse.triu(field.interactions, k=1).tocoo() for field in fields]
        sizes = [pairs.nnz for pairs in upper]
        return cls(
            np.stack([field.word_probability for field in fields]),
            np.repeat(np.arange(len(fields)), sizes),
            np.concatenate([np.stack([p.row, p.col], axis=1) for p in upper]),
            np.concatenate([pairs.data for pairs in upper]),
            np.array([field.half_length for field in fields]),
            log_partition,
            prior,
        )

    @cached_property
    def fields(self) -> tuple[FixedLengthPoissonMRF, ...]:
        """The distribution of each topic."""
        found = []
        for k in range(self.n_topics):
            of_topic = slice(*np.searchsorted(self.edge_topic, [k, k + 1]))
            rows, columns = self.edge_words[of_topic].T
            half = sparse.coo_array(
                (self.edge_weight[of_topic], (rows, columns)), shape=(self.n_words, self.n_words)
            )
            whole = (half + half.T).tocsr()
            node = np.log(self.topic_word[k])
            found.append(FixedLengthPoissonMRF(node, whole, float(self.half_length[k])))
        return tuple(found)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Φ of all topics."""
        rows = [field.interactions for field in self.fields]
        n_entries = np.concatenate([np.diff(phi.indptr) for phi in rows])
        return Neighbours(
            np.concatenate([[0], np.cumsum(n_entries)]).astype(np.int64),
            np.concatenate([phi.indices for phi in rows]).astype(np.int32),
            np.concatenate([phi.data for phi in rows]),
        )

    def log_partition_to(self, longest: int) -> Floats:
        """(K, longest + 1), A_L + log L! from L = 0; beyond the table as ω(L) L² grows."""
        known = self.log_partition.shape[1] - 1
        if longest <= known:
            return np.ascontiguousarray(self.log_partition[:, : longest + 1])
        lengths = np.arange(known, longest + 1, dtype=np.float64)
        growth = lengths**2 / (1.0 + (lengths / self.half_length[:, None]) ** 2)
        beyond = self.log_partition[:, -1:] * growth / growth[:, :1]
        return np.concatenate([self.log_partition, beyond[:, 1:]], axis=1)

    @property
    def edges(self) -> Edges:
        """Pairs of words that depend on each other, weighted by Φ."""
        return Edges(self.edge_topic, self.edge_words, self.edge_weight)

    def transform(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Return topic proportions (D, K) of documents (D, V); rows sum to 1.

        Fractions are rounded up with the probability of their remainder (see `models.counts`).
        Raises ValueError if `counts` has another number of words, or a value that is no count.
        """
        raise NotImplementedError

    def proportions(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """The same: expected shares (D, K) of the topics in the tokens of documents."""
        return self.transform(counts, n_jobs=n_jobs)

    def _rounded(self, counts: Any) -> sparse.csr_array:
        """`counts` (D, V) as int64 CSR in order, without zeros."""
        documents = whole_numbers(self._check_counts(counts), None).astype(np.int64, copy=True)
        documents.eliminate_zeros()
        return documents

    @property
    def word_share(self) -> Floats:
        """(V,), share of words in tokens as if they did not depend on each other; sums to 1."""
        share: Floats = self.prior @ self.topic_word / self.prior.sum()
        return share

    def with_words(self, order: NDArray[np.intp]) -> Self:
        """The same model over its words in another order (V,); ValueError if it lacks a word."""
        order = np.asarray(order)
        if not np.array_equal(np.sort(order), np.arange(self.n_words)):
            raise ValueError(
                f"a Poisson MRF keeps all of its {self.n_words} words: what is left of it when "
                "some are left out is no Poisson MRF"
            )
        place = np.argsort(order)[self.edge_words]
        return type(self)(
            self.topic_word[:, order],
            self.edge_topic,
            np.sort(place, axis=1),
            self.edge_weight,
            self.half_length,
            self.log_partition,
            self.prior,
        )

    def smoothed(self, share: float) -> Self:
        """Raise ValueError unless `share` is 0: in a field no word is impossible."""
        if share == 0:
            return self
        raise ValueError("a Poisson MRF is not smoothed: no word is impossible in it")


class LPMRFClusters(LPMRFModel):
    """A document is of one field: p(x | L) = Σ_k π_k p(x | θ^k, Φ^k, L), π ∝ `prior`.
    One component is the single distribution.
    """

    has_one_topic_per_document = True

    @property
    def component_share(self) -> Floats:
        """(K,), π."""
        share: Floats = self.prior / self.prior.sum()
        return share

    def log_joint(self, counts: sparse.csr_array) -> Floats:
        """(D, K), log of π_k times the probability of the tokens in order, given component k."""
        return np.log(self.component_share) + field_scores(self, counts)

    def transform(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Probability of each component given a document (D, K); errors as `LPMRFModel`'s."""
        del n_jobs
        return softmax(self.log_joint(self._rounded(counts)), axis=1)


class LPMRFTopics(LPMRFModel):
    """Tokens of a document are shared out among fields.

        x = Σ_k z^k,  m_k = Σ_s z^k_s
        π ~ Dirichlet(alpha),  m ~ Multinomial(π, L),  z^k ~ LPMRF(θ^k, Φ^k; m_k)

    (Inouye et al. 2015, Sec. 3). LDA if Φ = 0. `prior` is alpha.
    """

    @property
    def alpha(self) -> Floats:
        """(K,), the prior of topics in a document."""
        return self.prior

    def transform(self, counts: Any, *, n_jobs: int | None = None) -> Floats:
        """Expected shares (D, K) for the topic matrices of `map_assignment`: (m_k + alpha_k) / (L +
        Σ alpha).
        Errors as `LPMRFModel`'s.
        """
        split = map_assignment(self, self._rounded(counts), n_jobs=n_jobs)
        shares: Floats = split.lengths + self.alpha
        shares /= shares.sum(axis=1, keepdims=True)
        return shares
