"""Topics of LDA from an allocation model whose graph is LDA's.

In a graph of a document, a topic and a word, the topic hidden and between the other two, the tokens
of a document are of topics in its own proportions, and their words are of the topic alone: this is
LDA, and Poisson factorisation of a matrix (Cemgil et al. 2019, fig. 7a). It does not matter which
way the arrows point, as long as they do not meet in the topic.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.allocation.model import AllocationModel
from models.arrays import Floats
from models.lda.topics import LDATopics


def is_lda_graph(model: AllocationModel) -> bool:
    """Whether the graph is i ← k → j, i → k → j or i ← k ← j, with k hidden and no shared table."""
    if len(model.indices) != 3 or len(model.hidden) != 1 or model.tied:
        return False
    (topic,) = model.hidden
    edges = {frozenset((of, name)) for name in model.indices for of in model.parents[name]}
    joined = {frozenset((name, topic)) for name in model.visible}
    return edges == joined and len(model.parents[topic]) < 2


def lda_topics(
    model: AllocationModel, tables: Mapping[str, Any], *, word: str | None = None
) -> LDATopics:
    """The model as LDA: p(word | topic), and the pseudo-counts of p(topic | document) as alpha.

    With the flat prior alpha is a / (J K) for each topic, J the number of documents. `tables` has
    the conditional probability table of each index, of `model.table_shape(name)`, whose last axis
    sums to 1; where the arrow points from the word to the topic, they are turned around by Bayes'
    rule. `word` is the visible index that is the word: by default "word", or the other one of
    "doc", or "i" beside "j" (as in `nmf`), or that which depends on the topic if the other does
    not.

    Raises ValueError if the graph is not LDA's, it is not clear which index is the word, a table is
    missing or is none of probabilities, or documents have no prior of their topics that they share.
    """
    if not is_lda_graph(model):
        raise ValueError(
            "the graph is not LDA's: it needs two visible indices and a hidden one that separates "
            f"them, found {_arrows(model)}"
        )
    (topic,) = model.hidden
    word = _word_of(model, topic, word)
    (document,) = set(model.visible) - {word}
    alpha = _shared_prior(_prior_of_topics(model, topic, document), document)
    if topic in model.parents[word]:
        return LDATopics(_table(model, tables, word), alpha)
    # p(word | topic) ∝ p(word) p(topic | word)
    joint = _table(model, tables, word)[:, None] * _table(model, tables, topic)
    empty = np.flatnonzero(joint.sum(axis=0) == 0)
    if empty.size:
        raise ValueError(
            f"tables: {topic!r} {empty[0]} has probability 0, and so no words of its own: "
            "leave it out"
        )
    return LDATopics.from_weights(joint.T, alpha)


def _word_of(model: AllocationModel, topic: str, given: str | None) -> str:
    visible = model.visible
    if given is not None:
        if given not in visible:
            raise ValueError(
                f"word must be one of the visible indices {', '.join(visible)}, found {given!r}"
            )
        return given
    if "word" in visible:
        return "word"
    if "doc" in visible:
        return next(name for name in visible if name != "doc")
    if set(visible) == {"i", "j"}:
        return "i"
    children = [name for name in visible if topic in model.parents[name]]
    if len(children) > 1:
        raise ValueError(
            f"which of {' and '.join(visible)} is the word? Say so with word=, "
            'or call it "word" in the model'
        )
    return children[0]


def _prior_of_topics(model: AllocationModel, topic: str, document: str) -> Floats:
    """Dirichlet parameters (J, K) of the topics of each document.
    Where topics do not depend on documents, those of documents and topics together, which are the
    prior of p(topic | document) if all tables have been given the same counts of topics in advance.
    """
    if document in model.parents[topic]:
        return model.pseudo_counts(topic)
    joint = model.pseudo_counts(document)
    of_topic = model.pseudo_counts(topic)
    totals = {
        topic: of_topic.reshape(-1, of_topic.shape[-1]).sum(axis=0),
        **{
            name: model.pseudo_counts(name).sum(axis=-1)
            for name in model.visible
            if topic in model.parents[name]
        },
    }
    for name, total in totals.items():
        if not np.allclose(total, totals[document], rtol=1e-9, atol=0.0):
            raise ValueError(
                f"prior: {topic!r} has other pseudo-counts in the table of {name!r} than in that "
                f"of {document!r}, so that the topics of a document have no Dirichlet prior: "
                f"let {topic!r} depend on {document!r}, as in AllocationModel.lda"
            )
    return joint.T


def _shared_prior(prior: Floats, document: str) -> Floats:
    if not np.allclose(prior, prior[0], rtol=1e-9, atol=0.0):
        raise ValueError(
            f"prior: values of {document!r} have different pseudo-counts of topics, LDA has the "
            "same alpha for all documents"
        )
    first: Floats = prior[0]
    return first


def _table(model: AllocationModel, tables: Mapping[str, Any], name: str) -> Floats:
    if name not in tables:
        raise ValueError(
            f"tables must have one of {name!r}, found {', '.join(map(str, tables)) or 'none'}"
        )
    table = np.asarray(tables[name], dtype=np.float64)
    if table.shape != model.table_shape(name):
        raise ValueError(
            f"tables: that of {name!r} must have the shape {model.table_shape(name)} of "
            f"({', '.join(model.family(name))}), found {table.shape}"
        )
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError(f"tables: that of {name!r} must be of finite, non-negative numbers")
    if not np.allclose(table.sum(axis=-1), 1.0, rtol=0.0, atol=1e-5):
        raise ValueError(f"tables: that of {name!r} must sum to 1 over its last axis")
    return table


def _arrows(model: AllocationModel) -> str:
    """The graph in words."""
    each = [f"{', '.join(of)} → {name}" if of else name for name, of in model.parents.items()]
    return f"{'; '.join(each)}, hidden {', '.join(model.hidden) or 'none'}" + (
        f", tied {'; '.join(', '.join(group) for group in model.tied)}" if model.tied else ""
    )
