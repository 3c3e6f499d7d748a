"""The trainers: each takes its own input format, and says after each step how it is going.

The input that is made before the clock starts: for ours and scikit-learn, CSR counts; for tomotopy,
each document's list of words; for gensim, each document's list of (word, count); for `lda`, a dense
array, which it lays out sooner than a sparse one. `separate_fits` has those that cannot be looked
at while they train.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lda_trainers import separate_fits
from benchmarks.lda_trainers.recorder import TimeUpError
from benchmarks.lda_trainers.separate_fits import word_lists, word_names
from benchmarks.lda_trainers.settings import BATCH, DECAY, ETA, OFFSET, PRIOR_INTERVAL, Settings
from models import GibbsLDA, LDATopics, OnlineLDA
from models.gibbs.collapsed_gibbs import auto_sampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scipy import sparse

    from benchmarks.lda_trainers.recorder import Recorder

STREAM_SWEEPS = 50
"""`n_iter` of GibbsLDA on a stream, which it passes once."""
FOREVER = 1_000_000
"""Sweeps: more than there is time for."""


@dataclass(frozen=True)
class Trainer:
    """How to train, and what is to be known of it."""

    train: Callable[[sparse.csr_array, Settings, Recorder], None]
    samples: bool
    """Whether it samples for some time; otherwise it makes some passes."""
    threaded: bool = True
    """Whether it can have several threads or processes."""
    package: str | None = None
    """What has to be installed; None if it is ours."""
    has_start: bool = False
    """Whether it heeds `Settings.start`."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported."""
        return self.package is None or find_spec(self.package) is not None

    def settings(self, settings: Settings) -> Settings:
        """Those that it heeds."""
        return settings.used_by(samples=self.samples, has_start=self.has_start)


def gibbs_lda(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    arguments: dict[str, Any] = {
        "n_topics": settings.n_topics,
        "alpha": settings.alpha,
        "eta": ETA,
        "learn_priors": "none" if settings.fixed_priors else "alpha",
        "sampler": auto_sampler(settings.n_topics, int(train.sum()), train.shape[0]),
        "start": settings.start,
        "random_state": settings.seed,
        "n_jobs": settings.threads,
    }
    GibbsLDA(**arguments, n_iter=10).fit(train[:300])  # compile
    model = GibbsLDA(**arguments, n_iter=FOREVER)
    recorder.start()
    for _ in model.iterate(train):
        recorder.step(lambda: model.topics_)


def online_lda(
    train: sparse.csr_array, settings: Settings, recorder: Recorder, **more: Any
) -> None:
    arguments: dict[str, Any] = {
        "n_topics": settings.n_topics,
        "alpha": settings.alpha,
        "eta": ETA,
        "batch_size": BATCH,
        "learning_decay": DECAY,
        "learning_offset": OFFSET,
        "random_state": settings.seed,
        "n_jobs": settings.threads,
        **more,
    }
    OnlineLDA(**arguments, n_passes=1).fit(train[:300])  # compile
    model = OnlineLDA(**arguments, n_passes=settings.passes)
    recorder.start()
    for _ in model.iterate(train):
        recorder.step(lambda: model.topics_)
    recorder.finish(lambda: model.topics_)


def online_lda_stream(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    arguments: dict[str, Any] = {"alpha": settings.alpha, "eta": ETA, "random_state": settings.seed}
    arguments |= {"learning_decay": DECAY, "learning_offset": OFFSET, "n_jobs": settings.threads}
    arguments |= {"batch_size": BATCH}
    OnlineLDA(settings.n_topics, **arguments).partial_fit(train[:300])  # compile
    model = OnlineLDA(settings.n_topics, **arguments)
    recorder.start()
    for chunk in _chunks(train, settings.passes):
        model.partial_fit(chunk)
        recorder.step(lambda: model.topics_)
    recorder.finish(lambda: model.topics_)


def gibbs_lda_stream(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    arguments: dict[str, Any] = {"alpha": settings.alpha, "eta": ETA, "random_state": settings.seed}
    arguments |= {
        "learn_priors": "none" if settings.fixed_priors else "alpha",
        "n_jobs": settings.threads,
    }
    arguments |= {"sampler": auto_sampler(settings.n_topics, int(train.sum()), train.shape[0])}
    warm = GibbsLDA(settings.n_topics, **arguments, n_iter=10)
    warm.partial_fit(train[:300]).partial_fit(train[300:330]).partial_fit(train[:200])  # compile
    model = GibbsLDA(settings.n_topics, **arguments, n_iter=STREAM_SWEEPS)
    recorder.start()
    for chunk in _chunks(train, 1):
        model.partial_fit(chunk)
        recorder.step(lambda: model.topics_)
    recorder.finish(lambda: model.topics_)


def tomotopy(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    from tomotopy import LDAModel  # type: ignore[import-untyped]  # noqa: PLC0415 - a peer

    n_topics, n_words = settings.n_topics, train.shape[1]
    documents = word_lists(train, word_names(n_words))
    recorder.start()
    model = LDAModel(k=n_topics, alpha=settings.alpha, eta=ETA, seed=settings.seed)
    model.optim_interval = 0 if settings.fixed_priors else PRIOR_INTERVAL
    for document in documents:
        model.add_doc(document)

    def topics() -> LDATopics:
        column = np.array([int(word) for word in model.used_vocabs])
        weight = np.full((n_topics, n_words), ETA)
        total = np.asarray(model.get_count_by_topics(), dtype=float) + ETA * len(column)
        for k in range(n_topics):
            weight[k, column] = model.get_topic_word_dist(k) * total[k]
        return LDATopics.from_weights(weight, np.asarray(model.alpha))

    while True:
        model.train(1, workers=settings.threads)
        recorder.step(topics)


def scikit_learn(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    """Passes by `partial_fit`: what `fit` does, without the bound that `fit` ends with."""
    from sklearn.decomposition import LatentDirichletAllocation  # noqa: PLC0415

    class Looked(LatentDirichletAllocation):  # type: ignore[misc]
        def _em_step(self, *arguments: Any, **named: Any) -> None:
            super()._em_step(*arguments, **named)
            recorder.step(topics)

    model = Looked(
        settings.n_topics,
        doc_topic_prior=settings.alpha,
        topic_word_prior=ETA,
        learning_method="online",
        learning_decay=DECAY,
        learning_offset=OFFSET,
        batch_size=BATCH,
        total_samples=train.shape[0],
        n_jobs=settings.threads,
        random_state=settings.seed,
    )

    def topics() -> LDATopics:
        return LDATopics.from_sklearn(model)

    # Its worker processes start and import, as our kernels are compiled.
    LatentDirichletAllocation(2, total_samples=300, n_jobs=settings.threads).partial_fit(
        train[:300]
    )
    recorder.start()
    for _ in range(settings.passes):
        model.partial_fit(train)
    recorder.finish(topics)


def scikit_learn_stream(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    """Its own default for how many documents there are, 1,000,000."""
    from sklearn.decomposition import LatentDirichletAllocation  # noqa: PLC0415

    model = LatentDirichletAllocation(
        settings.n_topics,
        doc_topic_prior=settings.alpha,
        topic_word_prior=ETA,
        learning_decay=DECAY,
        learning_offset=OFFSET,
        batch_size=BATCH,
        n_jobs=settings.threads,
        random_state=settings.seed,
    )
    LatentDirichletAllocation(2, n_jobs=settings.threads).partial_fit(train[:300])
    recorder.start()
    for chunk in _chunks(train, settings.passes):
        model.partial_fit(chunk)
        recorder.step(lambda: LDATopics.from_sklearn(model))
    recorder.finish(lambda: LDATopics.from_sklearn(model))


def gensim_stream(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    """By `update`, as `LdaModel` has no `partial_fit`."""
    from gensim.models import LdaModel  # noqa: PLC0415

    chunks = [
        [list(zip(words.tolist(), counts.tolist(), strict=True)) for words, counts in _rows(chunk)]
        for chunk in _chunks(train, 1)
    ]
    recorder.start()
    model = LdaModel(
        num_topics=settings.n_topics,
        id2word={w: str(w) for w in range(train.shape[1])},
        chunksize=BATCH,
        alpha=np.full(settings.n_topics, settings.alpha),
        eta=ETA,
        decay=DECAY,
        offset=OFFSET,
        eval_every=None,
        random_state=settings.seed,
    )
    for _ in range(settings.passes):
        for chunk in chunks:
            model.update(chunk)
            recorder.step(lambda: LDATopics.from_gensim(model))
    recorder.finish(lambda: LDATopics.from_gensim(model))


def gensim(
    train: sparse.csr_array, settings: Settings, recorder: Recorder, *, multicore: bool
) -> None:
    from gensim.models import LdaModel, LdaMulticore  # noqa: PLC0415

    # How its workers start where nothing else is asked for; a spawned process hands on its own way.
    multiprocessing.set_start_method("fork", force=True)

    class Looked(LdaMulticore if multicore else LdaModel):  # type: ignore[misc]
        def do_mstep(self, *arguments: Any, **named: Any) -> None:
            super().do_mstep(*arguments, **named)
            recorder.step(topics)

    documents = [
        list(zip(words.tolist(), counts.tolist(), strict=True)) for words, counts in _rows(train)
    ]
    recorder.start()
    model = Looked(
        num_topics=settings.n_topics,
        id2word={w: str(w) for w in range(train.shape[1])},
        chunksize=BATCH,
        passes=settings.passes,
        alpha=np.full(settings.n_topics, settings.alpha),
        eta=ETA,
        decay=DECAY,
        offset=OFFSET,
        eval_every=None,
        random_state=settings.seed,
        **({"workers": settings.threads} if multicore else {}),
    )

    def topics() -> LDATopics:
        return LDATopics.from_gensim(model)

    model.update(documents)
    recorder.finish(topics)


def lda(train: sparse.csr_array, settings: Settings, recorder: Recorder) -> None:
    from lda import LDA  # type: ignore[import-untyped]  # noqa: PLC0415

    class Looked(LDA):  # type: ignore[misc]
        def _sample_topics(self, *arguments: Any) -> None:
            super()._sample_topics(*arguments)
            recorder.step(lambda: LDATopics.from_weights(self.nzw_ + ETA, settings.alpha))

    counts = train.toarray()
    recorder.start()
    Looked(settings.n_topics, FOREVER, settings.alpha, ETA, settings.seed).fit(counts)


def run_trainer(
    trainer: Trainer, train: sparse.csr_array, settings: Settings, recorder: Recorder
) -> None:
    """Train until the passes are made or the time is up."""
    try:
        trainer.train(train, settings, recorder)
    except TimeUpError:
        return


def _chunks(counts: sparse.csr_array, n_passes: int) -> Iterator[sparse.csr_array]:
    """A stream of unknown length: `BATCH` documents at a time, in order."""
    for _ in range(n_passes):
        for first in range(0, counts.shape[0], BATCH):
            yield counts[first : first + BATCH]


def _rows(counts: sparse.csr_array) -> list[tuple[Any, Any]]:
    """The words and their counts of each document."""
    parts = [slice(*pair) for pair in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)]
    return [(counts.indices[part], counts.data[part]) for part in parts]


OURS = {
    "GibbsLDA": Trainer(gibbs_lda, samples=True, has_start=True),
    "OnlineLDA": Trainer(online_lda, samples=False),
    "OnlineLDA-cap-5": Trainer(partial(online_lda, max_e_iterations=5), samples=False),
    "OnlineLDA-stream": Trainer(online_lda_stream, samples=False),
    "GibbsLDA-stream": Trainer(gibbs_lda_stream, samples=False),
}
PEERS = {
    "tomotopy": Trainer(tomotopy, samples=True, package="tomotopy"),
    **{
        f"topica-{sampler}": Trainer(
            partial(separate_fits.topica, sampler=sampler), samples=True, package="topica"
        )
        for sampler in separate_fits.TOPICA_SAMPLERS
    },
    "pyrmallet": Trainer(
        separate_fits.pyrmallet, samples=True, threaded=False, package="pyrmallet"
    ),
    "poismf": Trainer(separate_fits.poismf, samples=True, package="poismf"),
    "lda": Trainer(lda, samples=True, threaded=False, package="lda"),
    "scikit-learn": Trainer(scikit_learn, samples=False, package="sklearn"),
    "scikit-learn-stream": Trainer(scikit_learn_stream, samples=False, package="sklearn"),
    "gensim-stream": Trainer(gensim_stream, samples=False, threaded=False, package="gensim"),
    "gensim-LdaModel": Trainer(
        partial(gensim, multicore=False), samples=False, threaded=False, package="gensim"
    ),
    "gensim-LdaMulticore": Trainer(
        partial(gensim, multicore=True), samples=False, package="gensim"
    ),
}
TRAINERS = OURS | PEERS
