"""Where collapsed Gibbs sampling starts: anywhere, or at topics from a short online run."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.kernel import kernel
from models.lda.online_lda import OnlineLDA
from models.lda.variational import infer_doc_topic
from models.parallel import effective_n_jobs, for_blocks

if TYPE_CHECKING:
    from scipy import sparse

    from models.lda.gibbs_tokens import Tokens

Floats = NDArray[np.float64]

ONLINE_PASSES = 1
ONLINE_CAP = 5
"""E-step iterations a document, in the online run and when its topics are handed over."""


def random_start(n_tokens: int, n_topics: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Topics (n_tokens,), each as likely as the other."""
    return rng.integers(0, n_topics, size=n_tokens, dtype=np.uint16)


def online_start(
    counts: sparse.csr_array,
    tokens: Tokens,
    alpha: Floats,
    eta: Floats,
    seed: int,
    n_jobs: int | None,
) -> NDArray[np.uint16]:
    """Topics (n_tokens,) drawn from θ_dk φ_kw of one pass of `OnlineLDA` over counts (D, V)."""
    n_topics = len(alpha)
    model = OnlineLDA(
        n_topics,
        alpha=alpha,
        eta=eta,
        n_passes=ONLINE_PASSES,
        max_e_iterations=ONLINE_CAP,
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(counts)
    word_topic = np.ascontiguousarray(model.topics_.topic_word.T)
    word_topic_32 = word_topic.astype(np.float32)
    topic_of = np.empty(len(tokens.doc_of), dtype=np.uint16)
    for block, (first, last) in enumerate(pairwise(tokens.block_start)):  # to bound memory
        doc_topic = infer_doc_topic(
            counts[first:last],
            word_topic,
            alpha,
            max_iterations=ONLINE_CAP,
            tolerance=1e-3,
            n_jobs=n_jobs,
        ).astype(np.float32)

        def draw(
            word_range: int,
            _: int,
            block: int = block,
            first: int = first,
            doc_topic: NDArray[np.float32] = doc_topic,
        ) -> None:
            runs = tokens.runs(block, word_range)
            n_tokens = int(tokens.run_start[runs[1]] - tokens.run_start[runs[0]])
            rng = np.random.default_rng([seed, 4, block, word_range])
            uniforms = rng.random(n_tokens, dtype=np.float32)
            draw_topics(tokens, *runs, first, doc_topic, word_topic_32, uniforms, topic_of)

        for_blocks(draw, tokens.n_blocks, 1, effective_n_jobs(n_jobs))
    return topic_of


@kernel
def draw_topics(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    first_doc: int,
    doc_topic: NDArray[np.float32],
    word_topic: NDArray[np.float32],
    uniforms: NDArray[np.float32],
    topic_of: NDArray[np.uint16],
) -> None:
    """Draw topics with probability ∝ θ_dk φ_kw for the tokens of the runs `first_run:last_run`.

    Mutates their entries of `topic_of`. `doc_topic` has K columns, and a row for each document from
    `first_doc` on; `word_topic` is (V, K); `uniforms` holds a number in [0, 1) for each token.
    """
    n_topics = doc_topic.shape[1]
    p = np.empty(n_topics, dtype=np.float32)
    first_token = tokens.run_start[first_run]
    for run in range(first_run, last_run):
        of_word = word_topic[tokens.word_of_run[run]]
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            of_doc = doc_topic[tokens.doc_of[t] - first_doc]
            total = np.float32(0.0)
            for k in range(n_topics):
                p[k] = of_doc[k] * of_word[k]
                total += p[k]
            rest = uniforms[t - first_token] * total
            k = 0
            while k < n_topics - 1 and rest >= p[k]:
                rest -= p[k]
                k += 1
            topic_of[t] = k
