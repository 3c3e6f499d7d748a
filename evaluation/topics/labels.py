"""Agreement of topics with labels of documents, such as categories.

As clusters, a document being in its best topic: purity (the share of documents with the most
frequent label of their topic), normalised mutual information, the adjusted Rand index and
homogeneity, as scikit-learn defines them. As features: the accuracy of a logistic regression on the
shares of topics, cross-validated, beside that on words (tf-idf).

**Errors** are over documents, by the jackknife that leaves out groups of them, the same for all
models (`evaluation.figure`). That of the accuracy is of the mean over documents of whether the
prediction of the fold was right. It leaves out that other training documents would give another
classifier, which matters in few documents: there other folds give another accuracy as well. So the
figure is the mean over several cross-validations, but the error that of a single one: what the mean
gains makes up for what is left out. Intervals of purity and accuracy, which are shares of
documents, are Wilson's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from evaluation.figure import Figure, bounded, figure_of, jackknife, without_bias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.arrays import Bools, Floats, Ints

N_FOLDS = 5
MAX_REPEATS = 5
REPEATED_DOCUMENTS = 5000
"""Predictions that fewer documents get in all, up to `MAX_REPEATS` each."""
CLUSTER_MEASURES = ("purity", "nmi", "ari", "homogeneity")
BIASED = ("nmi", "homogeneity")
"""Measures of information, which is found in few documents even of independent labels; the more,
the more topics there are. The jackknife's estimate of this bias is taken off, and where documents
are too few for that, there is no error."""


def best_topics(shares: Floats) -> Ints:
    """Return the topic (D,) of the largest share; K for documents without a positive share."""
    best = shares.argmax(axis=1)
    best[shares.max(axis=1, initial=-np.inf) <= 0] = shares.shape[1]
    return np.asarray(best, dtype=np.int64)


def cluster_agreement(topic_of: Ints, labels: Sequence[str], group_of: Ints) -> dict[str, Figure]:
    """Return purity, NMI, ARI and homogeneity of documents' topics (D,), by `CLUSTER_MEASURES`.

    `group_of` (D,) are the groups of documents that the jackknife leaves out. NMI and homogeneity
    are without their bias in few documents; with `bias` they are scikit-learn's.

    Raises ValueError if shapes disagree.
    """
    _check(len(topic_of), labels, group_of)
    label_of = np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]
    n_groups = int(group_of.max(initial=-1)) + 1
    shape = n_groups, int(topic_of.max(initial=0)) + 1, int(label_of.max(initial=0)) + 1
    n_kl = np.zeros(shape, dtype=np.int64)
    np.add.at(n_kl, (group_of, topic_of, label_of), 1)
    whole = n_kl.sum(axis=0)
    values = table_agreement(whole)
    without = [table_agreement(whole - part) for part in n_kl]
    figures = {
        name: jackknife(values[name], np.array([each[name] for each in without]))
        for name in CLUSTER_MEASURES
    }
    figures["purity"] = bounded(figures["purity"])
    for name, pairs in zip(BIASED, _without_pairs(n_kl), strict=True):
        figures[name] = without_bias(figures[name], pairs)
    return figures


def _without_pairs(n_kl: Ints) -> Floats:
    """Return NMI and homogeneity (2, B, B) without each group of documents and each other one.

    Only pairs of topic and label that occur are counted: there are far fewer than K L of them.
    """
    counts = n_kl.sum(axis=2), n_kl.sum(axis=1), n_kl[:, n_kl.any(axis=0)]
    wholes = [each.sum(axis=0) for each in counts]
    found = [
        information(*(whole - each[b] - each for whole, each in zip(wholes, counts, strict=True)))
        for b in range(len(n_kl))
    ]
    return np.stack(found, axis=1) if found else np.zeros((2, 0, 0))


def table_agreement(n_kl: Ints) -> dict[str, float]:
    """Return purity, NMI, ARI and homogeneity by numbers (K, L) of documents of topic and label.

    They are scikit-learn's, NMI with the arithmetic mean of the entropies; NaN without documents.
    """
    n = float(n_kl.sum())
    if not n:
        return dict.fromkeys(CLUSTER_MEASURES, float("nan"))
    of_topic, of_label = n_kl.sum(axis=1), n_kl.sum(axis=0)
    nmi, homogeneity = information(of_topic, of_label, n_kl.ravel()).tolist()
    together, topics, labels = (float((x * (x - 1)).sum()) for x in (n_kl, of_topic, of_label))
    expected = topics * labels / max(1.0, n * (n - 1))
    largest = (topics + labels) / 2
    is_alike = largest == expected  # one topic and one label, or all documents alone in theirs
    return {
        "purity": float(n_kl.max(axis=1).sum()) / n,
        "nmi": nmi,
        "ari": 1.0 if is_alike else (together - expected) / (largest - expected),
        "homogeneity": homogeneity,
    }


def information(of_topic: Ints, of_label: Ints, of_both: Ints) -> Floats:
    """Return NMI and homogeneity (2, ...), as `table_agreement`, by numbers of documents of each
    topic (..., K), of each label (..., L) and of each pair of them (..., C); NaN without documents.
    """
    n = of_topic.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_topics, in_labels, in_both = (
            entr(each / n).sum(axis=-1) for each in (of_topic, of_label, of_both)
        )
        most = np.minimum(in_topics, in_labels)  # which rounding must not exceed
        shared = np.clip(in_topics + in_labels - in_both, 0.0, most)
        parts = [shared / most for most in ((in_topics + in_labels) / 2, in_labels)]
    return np.where((n[..., 0] > 0) & np.isnan(parts), 1.0, parts)


def label_folds(
    labels: Sequence[str], articles: Sequence[str], n_folds: int = N_FOLDS, seed: int = 0
) -> Ints:
    """Return folds (R, D) of documents for R cross-validations, more if documents are few; all
    documents of an article are in one fold, and labels are spread evenly.

    A document is in no fold, -1, if fewer than `n_folds` articles have its label. Raises ValueError
    if fewer than two labels are left.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold  # noqa: PLC0415

    names = np.asarray(labels, dtype=str)
    article_of = np.unique(np.asarray(articles, dtype=str), return_inverse=True)[1]
    n_of = {name: len(np.unique(article_of[names == name])) for name in np.unique(names).tolist()}
    kept = np.flatnonzero([n_of[name] >= n_folds for name in names.tolist()])
    if len(np.unique(names[kept])) < 2:
        raise ValueError(
            f"fewer than two labels have {n_folds} documents each: nothing can be predicted"
        )
    groups = article_of[kept] if len(np.unique(article_of[kept])) < len(kept) else None
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    n_repeats = min(MAX_REPEATS, -(-REPEATED_DOCUMENTS // len(kept)))
    folds = np.full((n_repeats, len(names)), -1, dtype=np.int64)
    for repeat, own in enumerate(folds):
        splitter = kind(n_folds, shuffle=True, random_state=seed + repeat)
        for fold, (_, test) in enumerate(splitter.split(kept, names[kept], groups)):
            own[kept[test]] = fold
    return folds


def accuracy(
    features: Any, labels: Sequence[str], folds: Ints, group_of: Ints, *, are_words: bool = False
) -> Figure:
    """Return the cross-validated accuracy of a logistic regression, with its error over documents.

    `features` (D, F) are shares of topics, which are standardised, or with `are_words` counts of
    words, of which tf-idf is learned in each fold; `folds` (R, D) are those of `label_folds`.
    Raises ValueError if shapes disagree.
    """
    _check(features.shape[0], labels, group_of)
    right = np.array([right_predictions(features, labels, x, are_words=are_words) for x in folds])
    scored = folds[0] >= 0

    def mean(is_right: Bools | Floats) -> Figure:
        return figure_of(lambda kept: float(is_right[kept & scored].mean()), group_of)

    error = float(np.sqrt(np.mean([mean(each).error ** 2 for each in right])))
    figure = mean(right.mean(axis=0))
    larger = error / figure.error if figure.error > 0 else 1.0
    apart = np.asarray(figure.replicates) - figure.value
    return bounded(jackknife(figure.value, figure.value + larger * apart))


def right_predictions(
    features: Any, labels: Sequence[str], folds: Ints, *, are_words: bool = False
) -> Bools:
    """Return whether each document (D,) is predicted right by the classifier of the other folds
    (D,).
    """
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    names = np.asarray(labels, dtype=str)
    is_right = np.zeros(len(names), dtype=bool)
    for fold in range(int(folds.max(initial=-1)) + 1):
        test, train = folds == fold, (folds != fold) & (folds >= 0)
        first = TfidfTransformer(sublinear_tf=True) if are_words else StandardScaler()
        strength = 10.0 if are_words else 1.0  # rows of tf-idf have length 1: weights are large
        classifier = make_pipeline(first, LogisticRegression(C=strength, max_iter=500))
        classifier.fit(features[np.flatnonzero(train)], names[train])
        is_right[test] = classifier.predict(features[np.flatnonzero(test)]) == names[test]
    return is_right


def _check(n_docs: int, labels: Sequence[str], group_of: Ints) -> None:
    if not (n_docs == len(labels) == len(group_of)):
        raise ValueError(
            f"topics, labels and groups must be of the same documents, found {n_docs}, "
            f"{len(labels)} and {len(group_of)}"
        )
