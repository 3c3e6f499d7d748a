"""Peers whose training cannot be looked at: a fit of its own for each look, longer each time.

topica's and pyrmallet's callbacks are told a likelihood, but the model is locked meanwhile, and
poismf has none. So each look is a whole fit from the same seed, with its own start and nothing
counted of the fits before it: what a user waits for that perplexity.

The input that is made before the clock starts is the package's own corpus (poismf: a COO matrix).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lda_trainers.settings import ETA, PRIOR_INTERVAL, Settings
from models import LDATopics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scipy import sparse

    from benchmarks.lda_trainers.recorder import Recorder

TOPICA_SAMPLERS = ("sparse", "warp", "lightlda", "cvb0")
GROWTH = 4.0
"""Of the seconds, from one fit to the next."""
LEAST_GROWTH = 2.0
"""Of the seconds, from the fit of two sweeps to the next."""
CLOSE = 0.8
"""A fit that took this share of the limit is the last."""
MOST_GROWTH = 16
"""Of the sweeps, however fast the last ones were."""
L2 = 1.0
"""Of poismf: a weak prior, as eta is. With its defaults factors of documents as short vanish."""


def fit_repeatedly(
    fit: Callable[[int], Any], topics: Callable[[Any], LDATopics], recorder: Recorder
) -> None:
    """Fit with growing numbers of sweeps, and look at each, until one fills the time."""
    lengths = growing_lengths(recorder.limit)
    n_sweeps = next(lengths)
    while True:
        recorder.start_anew()
        model = fit(n_sweeps)
        seconds = recorder.look_at(n_sweeps, lambda model=model: topics(model))
        try:
            n_sweeps = lengths.send(seconds)
        except StopIteration:
            return


def growing_lengths(limit: float) -> Iterator[int] | Any:
    """Yield numbers of sweeps of fits; the seconds that each took are sent back.

    One sweep and two tell the seconds of a sweep and of the start. Then the last fit is to take
    about `limit`, and each before it a quarter of the next.
    """
    seconds = yield 1
    before, n_sweeps = (1, seconds), 2
    while seconds < CLOSE * limit:
        seconds = yield n_sweeps
        per_sweep = (seconds - before[1]) / (n_sweeps - before[0])
        if per_sweep <= 0:
            per_sweep = seconds / n_sweeps
        goal = limit
        while goal >= LEAST_GROWTH * GROWTH * seconds:
            goal /= GROWTH
        more = int((goal - seconds) / per_sweep)
        if more < 1:
            return
        before = (n_sweeps, seconds)
        n_sweeps = min(n_sweeps + more, MOST_GROWTH * n_sweeps)


def topica_corpus(counts: sparse.csr_array) -> Any:
    """Make topica's `Corpus` of counts (D, V), the word of a column named by its number."""
    from topica import Corpus  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer

    names = word_names(counts.shape[1])
    return Corpus.from_documents(word_lists(counts, names), vocabulary=names.tolist())


def topica(
    train: sparse.csr_array, settings: Settings, recorder: Recorder, *, sampler: str
) -> None:
    """A sample is a sweep beyond `iters`, but for cvb0; no trace of likelihoods is kept."""
    from topica import LDA  # noqa: PLC0415 - a peer

    corpus = topica_corpus(train)

    def fit(n_sweeps: int) -> Any:
        return LDA(
            settings.n_topics,
            alpha_sum=settings.alpha * settings.n_topics,
            beta=ETA,
            optimize_interval=0 if settings.fixed_priors else PRIOR_INTERVAL,
            burn_in=PRIOR_INTERVAL,
            seed=settings.seed,
            num_threads=settings.threads,
            sampler=sampler,
        ).fit(
            corpus,
            iters=n_sweeps - (sampler != "cvb0"),
            num_samples=1,
            sample_interval=1,
            keep_theta_draws=False,
            check_every=0,
        )

    recorder.start()
    fit_repeatedly(
        fit,
        lambda model: LDATopics.from_weights(np.asarray(model.topic_word), np.asarray(model.alpha)),
        recorder,
    )


def pyrmallet(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    from pyrmallet import _rust_mallet  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer

    n_words = train.shape[1]
    documents = [" ".join(words) for words in word_lists(train, word_names(n_words))]
    corpus = _rust_mallet.Corpus.from_strings(documents, token_regex="[0-9]+")  # noqa: S106

    def fit(n_sweeps: int) -> Any:
        return _rust_mallet.train(
            corpus,
            num_topics=settings.n_topics,
            iterations=n_sweeps - 1,
            burn_in=PRIOR_INTERVAL,
            optimize_interval=0 if settings.fixed_priors else PRIOR_INTERVAL,
            num_samples=1,
            sample_interval=1,
            alpha_sum=settings.alpha * settings.n_topics,
            beta=ETA,
            seed=settings.seed,
        )

    def topics(model: Any) -> LDATopics:
        columns = [int(name) for name in model.vocabulary]
        shares = np.asarray(model.topic_word_matrix())
        # Words that occur in no document are not in its vocabulary: as improbable as the least.
        weights = np.repeat(shares.min(axis=1, keepdims=True), n_words, axis=1)
        weights[:, columns] = shares
        return LDATopics.from_weights(weights, np.asarray(model.alpha))

    recorder.start()
    fit_repeatedly(fit, topics, recorder)


def poismf(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    """Non-negative Poisson factors by conjugate gradients; expected counts of words are smoothed.

    A maximum of the likelihood, as that of fastTopics, has words of probability 0 in topics, and it
    has no prior of documents: they are scored with eta and the alpha that others begin with.
    """
    from poismf import PoisMF  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer

    counts = train.astype(float).tocoo()

    def fit(n_iter: int) -> Any:
        return PoisMF(
            k=settings.n_topics,
            method="cg",
            l2_reg=L2,
            niter=n_iter,
            random_state=settings.seed,
            use_float=False,
            produce_dicts=False,
            nthreads=settings.threads,
        ).fit(counts)

    def topics(model: Any) -> LDATopics:
        expected = np.asarray(model.B).T * np.asarray(model.A).sum(axis=0)[:, None]
        return LDATopics.from_weights(expected + ETA, settings.alpha)

    recorder.start()
    fit_repeatedly(fit, topics, recorder)


def word_names(n_words: int) -> Any:
    """(V,) numbers as strings of one length."""
    return np.array([f"{w:06d}" for w in range(n_words)])


def word_lists(counts: sparse.csr_array, names: Any) -> list[list[str]]:
    """The tokens of each document."""
    parts = [slice(*pair) for pair in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)]
    return [np.repeat(names[counts.indices[part]], counts.data[part]).tolist() for part in parts]
