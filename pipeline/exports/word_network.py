"""Topics and words as a bipartite graph, in GraphML as Gephi, Cytoscape and networkx read it.

A word is joined to the topics that have it among their heaviest words; the weight of an edge is the
word's probability in the topic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from corpora.files import atomic_write
from pipeline.exports.topics_table import topic_words
from pipeline.runs.topic_rows import topic_rows

if TYPE_CHECKING:
    import networkx as nx

    from corpora.files import PathLike
    from models import SavedModel
    from pipeline.runs.loaded_run import LoadedRun

LABEL_WORDS = 3  # Words in the label of a topic
NOT_OF_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def word_network(model: SavedModel, n_words: int) -> nx.Graph[str]:
    """Return the graph of topics and their `n_words` heaviest words.

    Nodes: `kind` "topic" or "word", `bipartite` 0 or 1, `label`, `share` in the tokens (of a topic
    only where it is known), and the number of the `topic`. Edges: `weight` and `rank`.
    """
    import networkx as nx  # noqa: PLC0415 - takes long to import

    graph: nx.Graph[str] = nx.Graph()
    for row in topic_rows(model, LABEL_WORDS, 0):
        label = f"{row['topic']}: {' '.join(row['words'])}"
        share = {} if row["prevalence"] is None else {"share": row["prevalence"]}
        about: dict[str, Any] = {"kind": "topic", "bipartite": 0, "label": _of_xml(label)}
        graph.add_node(f"topic {row['topic']}", **about, topic=row["topic"], **share)
    number_of = {word: w for w, word in enumerate(model.vocabulary)}
    word_share = model.topics.word_share
    for k, _, rank, word, probability in topic_words(model, n_words):
        w = number_of[word]
        about = {"kind": "word", "bipartite": 1, "label": _of_xml(word)}
        graph.add_node(f"word {w}", **about, share=float(word_share[w]))
        graph.add_edge(f"topic {k}", f"word {w}", weight=probability, rank=rank)
    return graph


def write_graphml(run: LoadedRun, path: PathLike, n_words: int) -> dict[str, int]:
    """Write the graph, and return its sizes; the file appears whole or not at all.

    Characters that XML cannot hold become U+FFFD. Raises OSError if the file cannot be written.
    """
    import networkx as nx  # noqa: PLC0415 - takes long to import

    graph = word_network(run.model, n_words)
    with atomic_write(path) as stream:
        nx.write_graphml_xml(graph, stream)
    n_topics = run.model.topics.n_topics
    n_nodes = graph.number_of_nodes()
    return {"topics": n_topics, "words": n_nodes - n_topics, "edges": graph.number_of_edges()}


def _of_xml(text: str) -> str:
    return NOT_OF_XML.sub("\ufffd", text)
