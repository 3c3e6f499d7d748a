"""State of training of Poisson MRFs, and the report of a round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from scipy import sparse

from models.poisson_mrf.node_regressions import NodeRegressions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.arrays import Floats, Ints
    from models.poisson_mrf.field_fitting import FittedMRFs
    from models.poisson_mrf.topics import LPMRFModel

Kind = TypeVar("Kind", bound="LPMRFModel")
Stage = Literal["mixture", "lda", "multinomial", "fields", "done"]
"""Clusters of documents, topics of tokens or likeliest splits without interactions, then with."""
MODEL_ARRAYS = (
    *("topic_word", "edge_topic", "edge_words", "edge_weight"),
    *("half_length", "log_partition", "prior"),
)


def _no_floats() -> Floats:
    return np.empty(0)


def _no_ints() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass
class PoissonMRFState:
    """A run's state, from which it continues to the same bits. Arrays are replaced, not changed."""

    assignment: NDArray[Any]
    """Cluster of each document with a token (D,), split of each entry of the counts (nnz, K), or
    topic of each token (n_tokens,), by stage."""
    stage: str
    seed: int
    objective: float = -np.inf
    """Log-probability of the documents given the assignment; it never falls within a stage.
    -infinity before the first round, and by sampling."""
    stage_rounds: int = 0
    n_rounds: int = 0
    n_documents: int = 0  #: Documents with a token visited, counted once a round.
    eta: float = 0.0  #: Prior of words in topics, in the stage "lda".
    topic_word: Floats = field(default_factory=_no_floats)
    """This and the next six arrays are the model's; empty before there is one."""
    edge_topic: Ints = field(default_factory=_no_ints)
    edge_words: Ints = field(default_factory=_no_ints)
    edge_weight: Floats = field(default_factory=_no_floats)
    half_length: Floats = field(default_factory=_no_floats)
    log_partition: Floats = field(default_factory=_no_floats)
    prior: Floats = field(default_factory=_no_floats)
    intercept: Floats = field(default_factory=_no_floats)
    """(K, V); this and the next three are the regressions, for a warm start."""
    coefficient_start: Ints = field(default_factory=_no_ints)  #: (K V + 1,).
    coefficient_word: Ints = field(default_factory=_no_ints)
    coefficient: Floats = field(default_factory=_no_floats)

    def model(self, kind: type[Kind]) -> Kind:
        """The model that the arrays are of."""
        return kind(*(getattr(self, name) for name in MODEL_ARRAYS))

    def keep_model(self, model: LPMRFModel) -> None:
        """Take over the arrays of a model."""
        for name in MODEL_ARRAYS:
            setattr(self, name, getattr(model, name))

    def keep_regressions(self, fitted: FittedMRFs) -> None:
        """Take over the regressions of fields."""
        rows = [each.coefficients for each in fitted.regressions]
        self.intercept = np.stack([each.intercept for each in fitted.regressions])
        n_entries = np.concatenate([np.diff(each.indptr) for each in rows])
        self.coefficient_start = np.concatenate([[0], np.cumsum(n_entries)]).astype(np.int64)
        self.coefficient_word = np.concatenate([each.indices for each in rows]).astype(np.int64)
        self.coefficient = np.concatenate([each.data for each in rows])

    def regressions(self, penalty: float, smoothing: float) -> list[NodeRegressions] | None:
        """Those of each topic; None before the first."""
        if not self.intercept.size:
            return None
        n_topics, n_words = self.intercept.shape
        found = []
        for k in range(n_topics):
            start = self.coefficient_start[k * n_words : (k + 1) * n_words + 1]
            entries = slice(start[0], start[-1])
            arrays = (self.coefficient[entries], self.coefficient_word[entries], start - start[0])
            phi = sparse.csr_array(arrays, shape=(n_words, n_words))
            residual = np.full(n_words, np.nan)
            found.append(NodeRegressions(self.intercept[k], phi, penalty, smoothing, residual))
        return found


@dataclass(frozen=True)
class PoissonMRFStep:
    """Report of one round."""

    stage: str
    n_rounds: int
    n_documents: int
    n_passes: float
    objective: float
