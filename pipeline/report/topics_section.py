"""The topics of a run, as the report shows them: map, words, clouds, articles, search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from corpora.errors import CorpusFormatError
from corpora.row_blocks import tokens_of_documents
from evaluation import (
    relevance,
    relevant_words,
    topic_distances,
    topic_map,
    topics_of_words,
)
from pipeline.report.article_names import names_of
from pipeline.report.most_of_topics import MostOfTopics
from pipeline.report.sections import TopicRow, TopicsSection, TypicalArticle
from pipeline.report.word_clouds import MOST_WORDS, word_cloud
from pipeline.training.prevalence import PrevalenceSum, shares_in_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from models import SavedModel
    from pipeline.report.article_names import ArticleName
    from pipeline.report.sections import CloudWord
    from pipeline.runs.loaded_run import LoadedRun

    Names = Callable[[Iterable[str]], Mapping[str, ArticleName]]

LABEL_WEIGHT: Final = 0.6
"""λ of the words that name a topic, at which people know topics best (Sievert & Shirley 2014)."""
LABEL_WORDS: Final = 3
WITHOUT_WORDS: Final = "no words"
"""Label of a topic without any weight, as Gamma-Poisson models may have."""

TOPICS_OF_A_WORD: Final = 3
LEAST_SHARE: Final = 0.01
"""Topics that a word is less probably from are not listed, nor documents with less of a topic."""


def topics_section(
    run: LoadedRun,
    names: Names | None = None,
    *,
    n_words: int = 30,
    n_typical: int = 10,
    most_searched: int = 25_000,
    n_threads: int | None = None,
) -> TopicsSection:
    """All about the topics of a model of any family.

    p(word) is Σ_k prevalence_k p(word | k), what the model says of the training tokens, for lift
    and for the choice of searched words. `topics.word_share`, which is of documents drawn from the
    prior, gives rare topics as much weight as frequent ones where the prior does.
    Typical articles are documents of the training part: those of the test part are not looked at
    before they are scored. Documents that have less than one in a hundred of a topic are not
    typical of it.

    Parameters
    ----------
    run
        If its model knows no prevalence, that is taken from the training part.
    names
        Called once, with the ids of all typical documents, for what they are called. By default
        they are looked up in the store that the run learned from, by `names_of`.
    n_words
        Shown at each weight of the relevance slider.
    n_typical
        Most typical articles of a topic.
    most_searched
        Most words that can be searched for: the most frequent under the model.
    n_threads
        For the topics of documents and distances. They change no bit.

    Raises
    ------
    CorpusFormatError
        If model and corpus are over different words.
    """
    model, corpus = run.model, run.corpus
    if tuple(model.vocabulary) != corpus.vocabulary:
        raise CorpusFormatError(
            f"{run.directory.path}: the model has {len(model.vocabulary):,} words, the corpus "
            f"{corpus.n_words:,} or others: they are not of one run"
        )
    topics, train = model.topics, run.parts.train
    most = MostOfTopics(tokens_of_documents(train.counts), topics.n_topics, n_typical)
    total = PrevalenceSum(topics.n_topics)
    blocks = shares_in_blocks(topics, train.counts, n_threads, "topics of documents")
    for first, n_tokens, shares in blocks:
        most.add(first, shares)
        total.add(n_tokens, shares)
    prevalence = total.prevalence if model.prevalence is None else model.prevalence
    order = [int(k) for k in np.argsort(-prevalence, kind="stable")]

    sums = topics.topic_word.sum(axis=1, keepdims=True)
    probability = topics.topic_word / np.where(sums > 0, sums, 1.0)
    # Summed in order, not by BLAS, whose sums depend on the number of cores. Shares that have
    # underflown are taken for the smallest number, as they are compared with.
    share = np.zeros(topics.n_words)
    for of_topic, each in zip(prevalence, probability, strict=True):
        share += of_topic * each
    share = np.maximum(share, np.finfo(np.float64).tiny)
    relevant = relevant_words(probability, share, n_words)
    shown = np.unique(np.concatenate(relevant)) if relevant else np.zeros(0, dtype=np.intp)
    place = np.empty(topics.n_words, dtype=np.int64)
    place[shown] = np.arange(len(shown))

    is_typical = [shares >= LEAST_SHARE for shares in most.shares]
    typical = [d[kept] for d, kept in zip(most.documents, is_typical, strict=True)]
    typical_shares = [s[kept].tolist() for s, kept in zip(most.shares, is_typical, strict=True)]
    doc_ids = [[train.doc_ids[int(d)] for d in documents] for documents in typical]
    if names is None:
        names = names_of(run)
    name_of = names(doc_id for k in order for doc_id in doc_ids[k])

    where = topic_map(topic_distances(probability, n_jobs=n_threads))
    searched = _searched(model.vocabulary, share, most_searched)
    return TopicsSection(
        topics=tuple(
            TopicRow(
                number=k,
                prevalence=float(prevalence[k]),
                label=_label(model.vocabulary, probability[k], share, relevant[k]),
                place=(float(where.position[k, 0]), float(where.position[k, 1])),
                words=tuple(place[relevant[k]].tolist()),
                probabilities=tuple(probability[k, relevant[k]].tolist()),
                typical=tuple(
                    TypicalArticle(name_of[i].title, name_of[i].url, share)
                    for i, share in zip(doc_ids[k], typical_shares[k], strict=True)
                ),
            )
            for k in order
        ),
        words=tuple(model.vocabulary[w] for w in shown),
        word_share=tuple(share[shown].tolist()),
        searched=tuple(model.vocabulary[w] for w in searched),
        topics_of_word=_topics_of(probability[:, searched], prevalence),
        n_not_searched=topics.n_words - len(searched),
        n_words=n_words,
        map_share=where.share,
        clouds=_clouds(model, probability, order),
    )


def _label(
    vocabulary: tuple[str, ...],
    probability: NDArray[np.float64],
    share: NDArray[np.float64],
    words: NDArray[np.intp],
) -> str:
    """The most relevant of a topic's words, as its name."""
    found = relevance(probability[words], share[words] / share.sum(), LABEL_WEIGHT)
    named = words[np.argsort(-found, kind="stable")][:LABEL_WORDS]
    return ", ".join(vocabulary[w] for w in named) or WITHOUT_WORDS


def _searched(vocabulary: tuple[str, ...], word_share: NDArray[np.float64], n: int) -> list[int]:
    """The most frequent words, alphabetical."""
    most: list[int] = np.argsort(-word_share, kind="stable")[:n].tolist()
    return sorted(most, key=lambda w: vocabulary[w])


def _topics_of(
    probability: NDArray[np.float64], prevalence: NDArray[np.float64]
) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Of each word of `probability` (K, …) the topics that it is most probably from."""
    if not probability.size:
        return ()
    # p(k) p(w | k) = p(k, w is one of these) p(w | k, w is one of these), whose rows sum to 1.
    found, share = topics_of_words(
        probability, prevalence * probability.sum(axis=1), TOPICS_OF_A_WORD
    )
    return tuple(
        tuple((k, p) for k, p in zip(topics, of_word, strict=True) if p >= LEAST_SHARE)
        for topics, of_word in zip(found.tolist(), share.tolist(), strict=True)
    )


def _clouds(
    model: SavedModel, probability: NDArray[np.float64], order: list[int]
) -> tuple[tuple[CloudWord, ...], ...]:
    top = model.topics.top_words(MOST_WORDS)
    return tuple(
        word_cloud([model.vocabulary[w] for w in top[k]], probability[k, top[k]].tolist(), seed=k)
        for k in order
    )
