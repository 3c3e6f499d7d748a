"""Agreement with labels as columns of the table of `evaluate --measures`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from corpora import Corpus
from evaluation.arrays import Bools, Floats, Ints
from evaluation.figure import Figure
from evaluation.topics.labels import (
    CLUSTER_MEASURES,
    accuracy,
    best_topics,
    cluster_agreement,
    label_folds,
)
from models.described.document_shares import only_number_rows
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.runs.any_model import AnyModel
from pipeline.scoring.blocks import WordBlocks
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut

ACCURACY = "accuracy"
LEAST_DOCUMENTS = 10  # With labels and shares, below which a model is not compared


@dataclass(frozen=True, eq=False)
class LabelFigures:
    """Agreement of models with labels, on the documents that have both labels and shares."""

    by_model: dict[str, dict[str, Figure]]
    on_words: Figure  # Accuracy of the classifier on words
    n_documents: int
    n_labels: int


def label_figures(
    settings: EvaluateSettings,
    models: Sequence[AnyModel],
    documents: HeldOut,
    group_of: Ints,
    names: Sequence[tuple[str, ...]],
    labels: Sequence[str | None],
) -> LabelFigures:
    """Score the shares of topics in documents by labels (D,), on the same documents for all models.

    Documents without a label, or without shares in one of the models, are left out; a model that
    has shares of fewer than ten labelled documents is left out itself, and its figures say so.
    """
    n_threads = effective_n_jobs(settings.threads)
    is_labelled = np.array([label is not None for label in labels])
    measures = (*CLUSTER_MEASURES, ACCURACY)
    by_model: dict[str, dict[str, Figure]] = {}
    shares: dict[str, Floats] = {}
    kept = is_labelled
    for each in models:
        found, is_known, why = shares_of(each, documents.corpus, names, n_threads)
        n_both = int((is_labelled & is_known).sum())
        if found is None or n_both < LEAST_DOCUMENTS:
            why = why or f"shares of {n_both:,} labelled documents: do the ids fit?"
            by_model[each.name] = dict.fromkeys(measures, Figure.none(why))
        else:
            shares[each.name] = found
            kept = kept & is_known
    rows = np.flatnonzero(kept)
    if len(rows) < LEAST_DOCUMENTS:
        raise UsageError(
            f"--labels: {len(rows):,} documents have a label and shares of topics in every model: "
            f"give at least {LEAST_DOCUMENTS}"
        )
    own = [str(labels[d]) for d in rows.tolist()]
    groups = np.unique(group_of[rows], return_inverse=True)[1]
    article_of = documents.article_of
    articles = [article_of[d] for d in rows.tolist()]
    try:
        folds = label_folds(own, articles, seed=settings.seed)
    except ValueError as error:
        folds, no_accuracy = None, Figure.none(str(error))
    counts = sparse.csr_array(documents.corpus.counts)[rows]
    on_words = (
        no_accuracy if folds is None else accuracy(counts, own, folds, groups, are_words=True)
    )
    for name, own_shares in shares.items():
        figures = cluster_agreement(best_topics(own_shares[rows]), own, groups)
        figures[ACCURACY] = (
            no_accuracy if folds is None else accuracy(own_shares[rows], own, folds, groups)
        )
        by_model[name] = figures
    return LabelFigures(by_model, on_words, len(rows), len(set(own)))


def shares_of(
    model: AnyModel, corpus: Corpus, names: Sequence[tuple[str, ...]], n_threads: int
) -> tuple[Floats | None, Bools, str]:
    """Return shares (D, K) of topics in the documents, whether each has them, and else why not.

    Models of documents infer them. Others have those that they were saved with, by the ids of
    documents; without ids, or where these only number rows and not all documents have one, by their
    order, if there are as many.
    """
    n_docs = corpus.n_docs
    likely, described = model.likely, model.described
    if likely is not None:
        blocks = WordBlocks(corpus, likely.vocabulary)
        parts = [likely.topics.proportions(each.counts, n_jobs=n_threads) for each in blocks]
        return np.concatenate(parts), np.ones(n_docs, dtype=bool), ""
    none = np.zeros(n_docs, dtype=bool)
    if described.doc_topic is None:
        return None, none, "no shares of topics in documents: give MODEL,SHARES"
    rows = none.astype(np.int64) - 1
    if described.doc_ids is not None:
        row_of = {each: d for d, each in enumerate(described.doc_ids)}
        rows = np.array([next((row_of[n] for n in some if n in row_of), -1) for some in names])
    # Numbers of rows that are not ids of all documents are no ids.
    if described.doc_ids is None or (only_number_rows(described.doc_ids) and (rows < 0).any()):
        if len(described.doc_topic) == n_docs:
            return described.doc_topic, np.ones(n_docs, dtype=bool), ""
        n_rows = len(described.doc_topic)
        why = f"shares of {n_rows:,} documents without ids, and {n_docs:,} are scored: give ids"
        return None, none, why
    shares = np.zeros((n_docs, described.n_topics))
    shares[rows >= 0] = described.doc_topic[rows[rows >= 0]]
    return shares, rows >= 0, ""
