"""Topics of a run for its report: map, words, clouds, typical articles, search."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusFormatError
from corpora.row_blocks import tokens_of_documents
from evaluation import relevance, relevant_words, topic_distances, topic_map, topics_of_words
from evaluation.arrays import Floats, Ints
from evaluation.topics.typical_documents import SHORT
from pipeline.report.article_names import ArticleName
from pipeline.report.sections import TopicRow, TopicsSection, TypicalArticle
from pipeline.report.word_clouds import MAX_WORDS, word_cloud
from pipeline.runs.chain_stability import found_again
from pipeline.runs.loaded_run import LoadedRun
from pipeline.training.prevalence import PrevalenceSum, shares_in_blocks

Names = Callable[[Iterable[str]], Mapping[str, ArticleName]]

LABEL_WEIGHT: Final = 0.6
"""λ of the words of a label, at which readers recognise topics best (Sievert & Shirley 2014)."""
LABEL_WORDS: Final = 3
NO_WORDS: Final = "no words"  # Label of a topic of weight 0, as Gamma-Poisson models can have

MAX_SEARCHED: Final = 25_000
"""Words that readers can search for, at most: the most frequent under the model."""
TOPICS_OF_A_WORD: Final = 3
MIN_SHARE: Final = 0.01
"""Smallest listed p(topic | word), and smallest share of a topic in its typical documents."""


def topics_section(
    run: LoadedRun, names: Names, n_words: int, n_typical: int, n_threads: int | None = None
) -> TopicsSection:
    """Describe the topics of a model of any family.

    Lift and the choice of searched words use p(word) = Σ_k prevalence_k p(word | k), the model's
    share of a word in the training tokens. `topics.word_share` is not used: it averages over the
    prior, which may give rare topics as much weight as frequent ones. Typical articles are
    documents of the training part, as the test part is only for scoring. `names` is called once,
    with the ids of all typical documents. `n_words` are shown at each weight of the relevance
    slider. Threads change no bit.

    Raises CorpusFormatError if model and corpus have different vocabularies.
    """
    model, corpus = run.model, run.corpus
    if tuple(model.vocabulary) != corpus.vocabulary:
        raise CorpusFormatError(
            f"{run.directory.path}: the vocabularies of the model ({len(model.vocabulary):,} words)"
            f" and of the corpus ({corpus.n_words:,} words) differ: they are not of one run"
        )
    topics, train = model.topics, run.parts.train
    most = TypicalDocuments(tokens_of_documents(train.counts), topics.n_topics, n_typical)
    total = PrevalenceSum(topics.n_topics)
    blocks = shares_in_blocks(topics, train.counts, n_threads, "topics of documents")
    for first, n_tokens, shares in blocks:
        most.add(first, shares)
        total.add(n_tokens, shares)
    prevalence = total.prevalence if model.prevalence is None else model.prevalence
    order = [int(k) for k in np.argsort(-prevalence, kind="stable")]

    sums = topics.topic_word.sum(axis=1, keepdims=True)
    probability = topics.topic_word / np.where(sums > 0, sums, 1.0)
    # Summed in order: BLAS sums depend on the number of cores. Lift divides by shares, so those
    # that underflow become the smallest positive number.
    share = np.zeros(topics.n_words)
    for of_topic, each in zip(prevalence, probability, strict=True):
        share += of_topic * each
    share = np.maximum(share, np.finfo(np.float64).tiny)
    relevant = relevant_words(probability, share, n_words)
    shown = np.unique(np.concatenate(relevant)) if relevant else np.zeros(0, dtype=np.intp)
    place = np.empty(topics.n_words, dtype=np.int64)
    place[shown] = np.arange(len(shown))

    typical = [
        [
            (train.doc_ids[int(d)], float(s))
            for d, s in zip(documents, shares, strict=True)
            if s >= MIN_SHARE
        ]
        for documents, shares in zip(most.documents, most.shares, strict=True)
    ]
    name_of = names(doc_id for k in order for doc_id, _ in typical[k])

    where = topic_map(topic_distances(probability, n_jobs=n_threads))
    frequent: list[int] = np.argsort(-share, kind="stable")[:MAX_SEARCHED].tolist()
    searched = sorted(frequent, key=lambda w: model.vocabulary[w])
    top = model.topics.top_words(MAX_WORDS)
    again = found_again(model)
    return TopicsSection(
        topics=tuple(
            TopicRow(
                number=k,
                prevalence=float(prevalence[k]),
                label=_label(model.vocabulary, probability[k], share, relevant[k]),
                place=tuple(where.position[k].tolist()),
                words=tuple(place[relevant[k]].tolist()),
                probabilities=tuple(probability[k, relevant[k]].tolist()),
                typical=tuple(
                    TypicalArticle(name_of[i].title, name_of[i].url, s) for i, s in typical[k]
                ),
                found=None if again is None else again[k].found,
            )
            for k in order
        ),
        words=tuple(model.vocabulary[w] for w in shown),
        word_share=tuple(share[shown].tolist()),
        searched=tuple(model.vocabulary[w] for w in searched),
        topics_of_word=_topics_of(probability[:, searched], prevalence),
        n_not_searched=topics.n_words - len(searched),
        n_words=n_words,
        n_chains=0 if again is None else again[0].chains,
        map_share=where.share,
        clouds=tuple(
            word_cloud(
                [model.vocabulary[w] for w in top[k]], probability[k, top[k]].tolist(), seed=k
            )
            for k in order
        ),
    )


class TypicalDocuments:
    """`evaluation.typical_documents` of documents of `n_tokens` (D,), without keeping all shares.

    They come block by block; `n_documents` are found for each topic.
    """

    def __init__(self, n_tokens: Ints, n_topics: int, n_documents: int) -> None:
        known = n_tokens[n_tokens > 0]
        self._least = int(np.quantile(known, SHORT, method="lower")) if len(known) else 1
        self._n_tokens, self._n = n_tokens, n_documents
        self.documents = [np.zeros(0, dtype=np.int64) for _ in range(n_topics)]
        """Typical documents of each topic, those with the largest share of it first."""
        self.shares = [np.zeros(0) for _ in range(n_topics)]  # Share of the topic in each of them

    def add(self, first: int, shares: Floats) -> None:
        """Add the shares (n, K) of the documents from number `first` on."""
        n_tokens = self._n_tokens[first : first + len(shares)]
        considered = np.flatnonzero(n_tokens >= max(self._least, 1))
        for k, of_topic in enumerate(shares[considered].T):
            known, best = self.documents[k], self.shares[k]
            # A document with an equal share may be longer.
            is_near = of_topic >= (best[-1] if 0 < len(known) == self._n else -np.inf)
            if not is_near.any():
                continue
            found = np.concatenate((known, first + considered[is_near]))
            share = np.concatenate((best, of_topic[is_near]))
            order = np.lexsort((found, -self._n_tokens[found], -share))[: self._n]
            self.documents[k], self.shares[k] = found[order], share[order]


def _label(
    vocabulary: tuple[str, ...], probability: Floats, share: Floats, words: NDArray[np.intp]
) -> str:
    found = relevance(probability[words], share[words] / share.sum(), LABEL_WEIGHT)
    named = words[np.argsort(-found, kind="stable")][:LABEL_WORDS]
    return ", ".join(vocabulary[w] for w in named) or NO_WORDS


def _topics_of(
    probability: Floats, prevalence: Floats
) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Return the most probable topics, with probabilities, of each word of `probability` (K, …)."""
    if not probability.size:
        return ()
    # With S the set of these words: p(k) p(w | k) = p(k, w in S) p(w | k, w in S); rows sum to 1.
    found, share = topics_of_words(
        probability, prevalence * probability.sum(axis=1), TOPICS_OF_A_WORD
    )
    return tuple(
        tuple((k, p) for k, p in zip(topics, of_word, strict=True) if p >= MIN_SHARE)
        for topics, of_word in zip(found.tolist(), share.tolist(), strict=True)
    )
