"""The likelihood of documents under a mixture of Poisson MRFs: a sum over its components.

    log p(j | L) = log Σ_k π_k exp(θ^k·x + ω_k(L) x·Φ^k x - Ã^k_L)

of tokens in order, which is the bag probability of the counts x divided by L! / ∏ x_s!; Ã_L = A_L +
log L! is the model's table (Inouye et al. 2015, eq. 1 and Sec. 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from evaluation.estimate import LikelihoodEstimate

if TYPE_CHECKING:
    from evaluation.document_blocks import DocumentBlock
    from models.poisson_mrf.topics import LPMRFClusters


def mixture_exact(topics: LPMRFClusters, documents: DocumentBlock, **_: Any) -> LikelihoodEstimate:
    """Return the log-probability of each document's tokens in order; settings change nothing.

    It is exact given the model's table of partition functions, which are estimates themselves.
    """
    n_tokens = documents.n_tokens
    log_p = np.where(n_tokens > 0, logsumexp(topics.log_joint(documents.counts), axis=1), 0.0)
    return LikelihoodEstimate.deterministic(log_p, n_tokens, "exact", "exact")
