"""First topics of collapsed Gibbs sampling: random, or from a short run of online LDA, which begins
at random topics or at those of anchor words.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora.array_file import release
from corpora.row_blocks import taken_rows, tokens_of_documents, total_of
from models.arrays import Bools, Floats, Ints, Ints32
from models.counts import frozen_words
from models.gibbs.tokens import Tokens
from models.kernel import kernel
from models.lda.anchor_words import anchor_topics
from models.lda.merging import merge_topics
from models.lda.online_lda import OnlineLDA
from models.lda.online_lda_state import OnlineLDAState
from models.parallel import effective_n_jobs, for_blocks
from models.variational.cvb0 import infer_by_cvb0
from models.variational.fixed_topics import infer_given_topics
from models.variational.halved_weights import HalvedWeights, halved_weights
from models.variational.inference import infer_doc_topic
from models.variational.likely_topics import LikelyTopics, likely_topics

MAX_ALPHA = 5.0
"""Upper limit of the sum of alpha in the online run. With 0.1 for each of many topics, the E-step
would spread every document over all topics, and these would stay alike: at K = 1000 the perplexity
of 600 test articles after 20 sweeps was 1273 without the limit and 1207 with it."""
ONLINE_STEPS = {"n_passes": 1}
MIN_CAP, MAX_CAP, CAP_TIMES_TOPICS = 3, 10, 500
"""E-step iterations of a document in the online run: 500 / K, within 3 to 10. Few topics must be
distinct before sampling begins. With many topics iterations cost more, and a document keeps the
topics that it has converged to for a long time."""
LEAST_LEARNED, MOST_LEARNED, LEARNED_ENTRIES = 25_000, 250_000, 25_000_000
"""Documents that the online run takes of more, at least and at most; between, as many as have
this many shares of topics. With many topics it costs more than sweeps. At K = 1000 on 130,000
documents the perplexity of test articles was 1043 after 67 s and 1022 after 91 s; with a run over
all documents the first sweep ended after 114 s, at 1070. At K = 100 a run over 25,000 of them is
behind one over all after 42 s (1225, 1213) and 60 s (1213, 1201). (By hand, a seed each.)"""
PASSES, LEAST_SHARE = 3, 0.001
"""Passes of CVB0 over a document, and the tokens of a topic in it that may be drawn, as a part of
those of its largest topic."""
MANY_TOPICS, DOCUMENTS_EACH = 2000, 16
"""Topics beyond which, and documents a topic up to which, tokens draw among the topics that the
mean field finds in their documents, in the place of CVB0. Of 4,000 topics of 25,000 documents CVB0
begins 226 with less than a tenth of the mean number of tokens, the mean field 11. With 130,000
documents such topics regain theirs. (By hand, seed 1.)"""
STARTS = ("auto", "online", "anchors", "random")
ANCHORED_STEPS, ANCHORED_ENTRIES = 3, 4_000_000
"""Steps of the run that begins at topics of anchor words, at least if it has several passes, and
shares of topics in a batch's documents. Steps of few documents would bring differences between
seeds back: at K = 50, on 25,000 articles, models of two seeds have 90 % of topics in common after a
pass of 25 batches, and 99 % after three of all documents."""
ANCHORED_SHARE = 0.1
"""Tokens that the topics of anchor words stand for at first, as a share of the corpus."""


def random_start(n_tokens: int, n_topics: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Return uniformly random topics (n_tokens,)."""
    return rng.integers(0, n_topics, size=n_tokens, dtype=np.uint16)


def online_start(
    counts: sparse.csr_array,
    tokens: Tokens,
    alpha: Floats,
    eta: Floats,
    word_budget: int | None,
    seed: int,
    n_jobs: int | None,
    warm: tuple[Ints32, Bools] | None = None,
    surplus: float = 1.0,
    *,
    is_anchored: bool = False,
) -> NDArray[np.uint16]:
    """Draw topics (n_tokens,) from θ_dk φ_kw after a pass of `OnlineLDA` over counts (D, V).

    Of many documents the pass takes a random part. It learns `surplus` times as many topics, which
    are then merged into K. `warm` holds counts n_wk (V, K) of earlier documents and the frozen
    words (V,), for a warm start: the pass begins at the topics of these counts, takes all
    documents, and has no surplus. An anchored run begins at topics of anchor words, and has few
    steps of many documents, in up to three passes.
    """
    n_topics, learned = len(alpha), counts
    if warm is None:
        learned = _some_documents(counts, n_topics, seed)
    alpha = alpha * min(1.0, MAX_ALPHA / alpha.sum())
    n_learned = n_topics if warm is not None else round(surplus * n_topics)
    online = OnlineLDA(
        n_learned,
        alpha=np.resize(alpha, n_learned) * (n_topics / n_learned),
        eta=eta,
        max_e_iterations=_cap(n_learned),
        word_budget=word_budget,
        random_state=seed,
        n_jobs=n_jobs,
        **(_anchored_steps(learned.shape[0], n_learned) if is_anchored else ONLINE_STEPS),
    ).resume(learned, None)
    online.state_.frozen = frozen_words(counts, word_budget)  # of all, not of those learned from
    if warm is not None:
        n_wk, online.state_.frozen = warm
        share = online.documents_stood_for(counts) / counts.shape[0]
        online.state_.learn_from(np.multiply(n_wk, share, dtype=np.float64))
    elif is_anchored:
        _begin_at_anchors(online.state_, learned)
    for _ in online.iterate(learned, state=online.state_):
        pass
    if n_learned > n_topics:
        word_topic = _merged(online.topic_word_dirichlet_, n_topics)
    else:
        word_topic = online.topics_.word_topic
    has_few = n_topics > MANY_TOPICS and counts.shape[0] <= DOCUMENTS_EACH * n_topics
    return topics_given(word_topic, counts, tokens, alpha, seed, n_jobs, by_mean_field=has_few)


def _some_documents(counts: sparse.csr_array, n_topics: int, seed: int) -> sparse.csr_array:
    """Return documents (n, V) to learn the first topics from: all, or a random part in memory."""
    n_docs = min(max(LEAST_LEARNED, LEARNED_ENTRIES // n_topics), MOST_LEARNED)
    has_words = np.flatnonzero(np.diff(counts.indptr))
    if len(has_words) <= n_docs:
        return counts
    chosen = np.random.default_rng([seed, 7]).permutation(has_words)[:n_docs]
    return taken_rows(counts, np.sort(chosen))


def _anchored_steps(n_docs: int, n_topics: int) -> dict[str, Any]:
    batch_size = min(max(1000, ANCHORED_ENTRIES // n_topics), n_docs)
    return {
        "batch_size": batch_size,
        "n_passes": max(1, round(ANCHORED_STEPS * batch_size / n_docs)),
        "learning_decay": 0.5,
        "learning_offset": 0.0,
    }


def _begin_at_anchors(state: OnlineLDAState, counts: sparse.csr_array) -> None:
    """Set topics to those of anchor words in counts (D, V); if these are fewer, the rest stays."""
    topics = anchor_topics(counts, state.excess.shape[1])
    expected = state.excess * state.scale
    n_tokens = ANCHORED_SHARE * total_of(counts) / len(state.alpha)
    expected[:, : topics.shape[1]] = topics * n_tokens
    state.learn_from(expected)


def _merged(topic_word_dirichlet: Floats, n_topics: int) -> Floats:
    """Return topics (V, K) that merge those of λ (M, V), weighted by their pseudo-counts."""
    n_tokens = topic_word_dirichlet.sum(axis=1)
    label = merge_topics(topic_word_dirichlet / n_tokens[:, None], n_tokens, n_topics)
    total = np.zeros((n_topics, topic_word_dirichlet.shape[1]))
    np.add.at(total, label, topic_word_dirichlet)
    return np.ascontiguousarray((total / total.sum(axis=1, keepdims=True)).T)


def topics_given(
    word_topic: Floats,
    counts: sparse.csr_array,
    tokens: Tokens,
    alpha: Floats,
    seed: int,
    n_jobs: int | None,
    *,
    by_mean_field: bool = False,
) -> NDArray[np.uint16]:
    """Draw topics (n_tokens,) for the tokens of counts (D, V) from θ_dk φ_kw, given φ (V, K).
    Those of a document are among the topics of which its words say something: what it has of others
    by its prior alone is left out. For this alpha is scaled down to a sum of at most `MAX_ALPHA`.
    CVB0 finds them, or a few iterations of the mean field.
    """
    alpha = alpha * min(1.0, MAX_ALPHA / alpha.sum())
    phi = word_topic.astype(np.float32)
    layout = (halved_weights if by_mean_field else likely_topics)(word_topic, n_jobs)
    topic_of = np.empty(len(tokens.doc_of), dtype=np.uint16)
    for block, (first, last) in enumerate(pairwise(tokens.block_start)):  # to bound memory
        lists = _document_topics(counts[first:last], word_topic, layout, alpha, n_jobs)
        release(counts.data, counts.indices)

        def draw(
            word_range: int,
            _: int,
            block: int = block,
            first: int = first,
            lists: DocumentTopics = lists,
        ) -> None:
            runs = tokens.runs(block, word_range)
            n_tokens = int(tokens.run_start[runs[1]] - tokens.run_start[runs[0]])
            rng = np.random.default_rng([seed, 4, block, word_range])
            uniforms = rng.random(n_tokens, dtype=np.float32)
            draw_topics(tokens, *runs, first, lists, phi, uniforms, topic_of)

        for_blocks(draw, tokens.n_blocks, 1, effective_n_jobs(n_jobs))
    return topic_of


class DocumentTopics(NamedTuple):
    """Topics of which each document has some share."""

    start: Ints  # (D + 1,), those of document d are `start[d]:start[d+1]`
    topic: NDArray[np.uint16]
    share: NDArray[np.float32]  # up to a factor of each document


def _document_topics(
    counts: sparse.csr_array,
    word_topic: Floats,
    layout: LikelyTopics | HalvedWeights,
    alpha: Floats,
    n_jobs: int | None,
) -> DocumentTopics:
    """Return topics of documents (D, V), by the inference whose `layout` of weights is given.

    Documents that CVB0 leaves have those of the plain mean field.
    """
    cap, tolerance = _cap(len(alpha)), 1e-3
    if isinstance(layout, HalvedWeights):
        dirichlet = infer_given_topics(
            counts, word_topic, layout, alpha, cap, tolerance, n_jobs=n_jobs
        )
        return _listed(dirichlet, dirichlet - alpha)
    passes = np.full(counts.shape[0], PASSES)
    doc_topic, is_inferred = infer_by_cvb0(
        counts,
        word_topic,
        layout,
        alpha,
        passes,
        tolerance,
        leaves_unexplained=False,
        n_jobs=n_jobs,
    )
    if not is_inferred.all():
        dirichlet = infer_doc_topic(
            counts[~is_inferred],
            word_topic,
            alpha,
            max_iterations=cap,
            tolerance=tolerance,
            n_jobs=n_jobs,
        )
        doc_topic[~is_inferred] = dirichlet / dirichlet.sum(axis=1, keepdims=True)
    expected = doc_topic * (tokens_of_documents(counts) + alpha.sum())[:, None]
    expected -= alpha
    return _listed(doc_topic, expected)


def _listed(doc_topic: Floats, expected: Floats) -> DocumentTopics:
    """Return the topics of which documents have enough `expected` tokens (D, K), with their shares
    in `doc_topic` (D, K).
    """
    largest = expected.max(axis=1, keepdims=True)
    is_listed = expected >= np.minimum(LEAST_SHARE * largest, largest)
    start = np.concatenate(([0], np.cumsum(is_listed.sum(axis=1))))
    rows, topic = np.nonzero(is_listed)
    share = doc_topic[rows, topic].astype(np.float32)
    return DocumentTopics(start, topic.astype(np.uint16), share)


def _cap(n_topics: int) -> int:
    return min(MAX_CAP, max(MIN_CAP, CAP_TIMES_TOPICS // n_topics))


@kernel
def draw_topics(
    tokens: Tokens,
    first_run: int,
    last_run: int,
    first_doc: int,
    lists: DocumentTopics,
    word_topic: NDArray[np.float32],
    uniforms: NDArray[np.float32],
    topic_of: NDArray[np.uint16],
) -> None:
    """Draw topics with probability ∝ θ_dk φ_kw for the tokens of the runs `first_run:last_run`.
    Mutates their entries of `topic_of`. `lists` has the documents from `first_doc` on, `word_topic`
    (V, K) all words. `uniforms` holds a number in [0, 1) for each token.
    """
    p = np.empty(word_topic.shape[1], dtype=np.float32)
    first_token = tokens.run_start[first_run]
    for run in range(first_run, last_run):
        of_word = word_topic[tokens.word_of_run[run]]
        for t in range(tokens.run_start[run], tokens.run_start[run + 1]):
            d = tokens.doc_of[t] - first_doc
            start, stop = lists.start[d], lists.start[d + 1]
            topic, share, total = lists.topic[start:stop], lists.share[start:stop], np.float32(0.0)
            for i in range(topic.shape[0]):
                p[i] = share[i] * of_word[topic[i]]
            for i in range(topic.shape[0]):
                total += p[i]
            rest, i = uniforms[t - first_token] * total, 0
            while i < topic.shape[0] - 1 and rest >= p[i]:
                rest -= p[i]
                i += 1
            topic_of[t] = topic[i]
