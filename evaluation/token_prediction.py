"""Prediction of held-out tokens of documents: plug-in or exact.

Two tasks, each of held-out tokens in order, given their number:

    completion        a random ⌊n/2⌋ of a document's n tokens are seen
    word prediction   the vocabulary is cut at random into `FOLDS` parts; tokens of each part in
                      turn are held out, and those of the other parts are seen (Capdevila et al.
                      2018, Sec. 4, after Zhou et al. 2012)

The log-probability of the held-out tokens b given the seen tokens a is

    log p(b | a) = log E[∏_a π·q_w ∏_b π·q_w] - log E[∏_a π·q_w (π·Q)^m]

over π ~ Dirichlet, with m tokens in b, and Q_k = Σ q_kw over all words that b can have: the second
term is that of a document with m tokens of one more word. In LDA q are the topics, in Gamma-Poisson
models the tilted ones (`TiltedTopics`). So any estimator of likelihoods gives the exact prediction,
and the error of the plug-in estimate ∏_b s·φ_w / s·Φ, with the posterior mean s of the scores.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from evaluation.arrays import Bools, Floats
from evaluation.document_blocks import DocumentBlock, check_possible
from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.exact import exact
from evaluation.lda.left_to_right_sequential import left_to_right_sequential
from evaluation.methods import fitted_topics, scoring_of
from models.completion import DEFAULT_SPLITS, split_tokens, with_data
from models.counts import checked_counts
from models.gamma_poisson.tilted import TiltedTopics
from models.seed import seed_from
from models.topics import TopicWords, WeightedTopics
from models.variational.word_probability import log_word_probability

FOLDS = 5
TASKS = ("completion", "word-prediction")
PLUG_IN = "plug-in"
LIKELIHOODS = {"exact": exact, "left-to-right-sequential": left_to_right_sequential}


class Part(NamedTuple):
    """Documents with held-out tokens."""

    seen: sparse.csr_array
    scored: sparse.csr_array
    hidden: Bools  # (V,), whether held-out tokens can be of each word


def prediction(
    model: Any,
    counts: Any,
    task: str = "completion",
    method: str = PLUG_IN,
    *,
    n_samples: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """Return log p of held-out tokens of documents, given the other tokens and their number.

    The same `random_state` holds out the same tokens, whatever the method.

    Parameters
    ----------
    model : LDATopics or GammaPoissonTopics, or an estimator with fitted `topics_`
    counts : sparse or dense (D, V)
        Whole numbers, none negative.
    task : {"completion", "word-prediction"}
        For completion the result is the mean over 4 splits, with its standard error over them; for
        word prediction the sum over the parts of the vocabulary, in which each token is scored
        once, with a standard error of 0 for "exact", NaN for "plug-in", else that of sampling.
    method : {"plug-in", "exact", "left-to-right-sequential"}
        "plug-in" is the usual one. "exact" is for short documents and few topics. The last, by
        `n_samples` particles, is the difference of two logarithms of unbiased estimates.

    Other settings are those of `log_likelihood`. Raises ValueError if there is no such task or
    method, or `counts` cannot be scored under the model; TypeError if the model's family cannot
    predict a part of a document from the rest.
    """
    topics = fitted_topics(model)
    scoring = scoring_of(model)
    if scoring.scores_given is None or scoring.as_lda is None:
        why = f": {scoring.refuses['completion']}" if "completion" in scoring.refuses else ""
        raise TypeError(
            f"no prediction by a {type(model).__name__}{why}; whole documents are scored by "
            "log_likelihood"
        )
    methods = (PLUG_IN, *LIKELIHOODS)
    for name, value, allowed in (("task", task, TASKS), ("method", method, methods)):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, found {value!r}")
    documents = checked_counts(counts, topics.n_words)
    check_possible(topics, documents)
    seed = seed_from(random_state)
    values, variances = [], []
    for number, part in enumerate(parts_of(documents, task, seed)):
        if method == PLUG_IN:
            scores = scoring.scores_given(topics, part.seen, part.hidden, task, n_jobs)
            values.append(plug_in(topics, scores, part, n_jobs))
            variances.append(np.full(documents.shape[0], np.nan))
        else:
            weighted = scoring.as_lda(topics).topics
            seeds = [seed, number]
            found, variance = by_likelihood(weighted, part, method, n_samples, seeds, n_jobs)
            values.append(found)
            variances.append(variance)
    n_tokens = np.asarray(documents.sum(axis=1), dtype=np.int64).ravel()
    if task == "completion":
        n_scored = n_tokens - n_tokens // 2
        log_likelihood = np.mean(values, axis=0)
        error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    else:
        n_scored = n_tokens
        log_likelihood, error = np.sum(values, axis=0), np.sqrt(np.sum(variances, axis=0))
    directions = {PLUG_IN: "plug-in", "exact": "exact"}
    return LikelihoodEstimate(
        log_likelihood=log_likelihood,
        standard_error=np.where(n_tokens > 0, error, 0.0),
        n_tokens=n_scored,
        method=f"{task}, {method}",
        convention="sequence",
        direction=directions.get(method, "biased"),  # type: ignore[arg-type]
    )


def parts_of(counts: sparse.csr_array, task: str, seed: int) -> Iterator[Part]:
    """Yield the documents `counts` (D, V) with each held-out part."""
    n_words = counts.shape[1]
    if task == "completion":
        for split in range(DEFAULT_SPLITS):
            seen, scored = split_tokens(counts, np.random.default_rng([seed, split]))
            yield Part(seen, scored, np.ones(n_words, dtype=np.bool_))
        return
    fold_of = np.random.default_rng([seed, 0]).permutation(n_words) % FOLDS
    for fold in range(FOLDS):
        hidden = fold_of == fold
        data = np.where(hidden[counts.indices], counts.data, 0)
        yield Part(with_data(counts, counts.data - data), with_data(counts, data), hidden)


def plug_in(topics: TopicWords, scores: Floats, part: Part, n_jobs: int | None) -> Floats:
    """Return the plug-in estimate (D,), by posterior means (D, K) of scores or proportions."""
    of_all = scores @ topics.topic_word[:, part.hidden].sum(axis=1)
    log_weight = log_word_probability(part.scored, scores, topics.word_topic, n_jobs)
    n_scored = np.asarray(part.scored.sum(axis=1)).ravel()
    of_all[n_scored == 0] = 1.0  # nothing is held out
    result: Floats = log_weight - n_scored * np.log(of_all)
    return result


def by_likelihood(
    weighted: WeightedTopics,
    part: Part,
    method: str,
    n_samples: int | None,
    seeds: list[int],
    n_jobs: int | None,
) -> tuple[Floats, Floats]:
    """Return the difference (D,) of the two terms and its variance; both are independent."""
    any_hidden = weighted.topic_word[:, part.hidden].sum(axis=1, keepdims=True)
    wider = TiltedTopics(np.hstack([weighted.topic_word, any_hidden]), weighted.alpha, 0.0)
    n_scored = np.asarray(part.scored.sum(axis=1), dtype=np.int64).reshape(-1, 1)
    hiding = sparse.csr_array(sparse.hstack([part.seen, sparse.csr_array(n_scored)]))
    whole = sparse.csr_array(part.seen + part.scored)
    settings: dict[str, Any] = {"n_samples": n_samples, "n_jobs": n_jobs}
    first, second = np.random.SeedSequence(seeds).generate_state(2).tolist()
    both = LIKELIHOODS[method](weighted, DocumentBlock(whole), seed=first, **settings)
    seen = LIKELIHOODS[method](wider, DocumentBlock(hiding), seed=second, **settings)
    return (
        both.log_likelihood - seen.log_likelihood,
        both.standard_error**2 + seen.standard_error**2,
    )
