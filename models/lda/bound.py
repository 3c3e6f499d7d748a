"""Evidence lower bound of LDA, in two parts: documents and topics."""

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from models.arrays import Floats
from models.variational.word_probability import log_word_probability


def document_bound(
    counts: sparse.csr_array,
    word_topic_weight: Floats,
    alpha: Floats,
    doc_topic_dirichlet: Floats,
    n_jobs: int | None = None,
) -> Floats:
    """Return E_q[log p(w, z, θ | φ)] - E_q[log q(z, θ)] (D,), with q(z) at its optimum.

    With q(θ_d) = Dirichlet(γ_d) that is Σ_w n_dw log Σ_k exp(E[log θ_dk]) b_kw + E[log p(θ_d)]
    - E[log q(θ_d)] (Blei, Ng & Jordan 2003, eq. 15). `word_topic_weight` b is (V, K): φ where the
    topics are known, exp E[log φ] where they have a posterior; `doc_topic_dirichlet` γ is (D, K).
    """
    elog = psi(doc_topic_dirichlet) - psi(doc_topic_dirichlet.sum(axis=1, keepdims=True))
    largest = elog.max(axis=1)  # factored out, as all of exp(E[log θ]) may underflow
    scaled = np.exp(elog - largest[:, None])
    words = log_word_probability(counts, scaled, word_topic_weight, n_jobs)
    words += largest * np.asarray(counts.sum(axis=1)).ravel()
    return words + _negative_divergence(alpha, doc_topic_dirichlet, elog)


def topic_bound(topic_word_dirichlet: Floats, eta: Floats) -> float:
    """Return E_q[log p(φ)] - E_q[log q(φ)], q(φ_k) = Dirichlet(λ_k); λ is (K, V), eta (V,)."""
    elog = psi(topic_word_dirichlet) - psi(topic_word_dirichlet.sum(axis=1, keepdims=True))
    return float(_negative_divergence(eta, topic_word_dirichlet, elog).sum())


def _negative_divergence(prior: Floats, posterior: Floats, elog: Floats) -> Floats:
    """Return -KL(Dirichlet(posterior) || Dirichlet(prior)) of each row; `elog` is E[log]."""
    entries = (prior - posterior) * elog + gammaln(posterior) - gammaln(prior)
    divergence: Floats = entries.sum(axis=1) + gammaln(prior.sum()) - gammaln(posterior.sum(axis=1))
    return divergence
