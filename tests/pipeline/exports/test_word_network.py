import networkx as nx
import numpy as np
import pytest

from models import LDATopics, SavedModel
from pipeline.exports import topic_words, word_network, write_graphml
from tests.pipeline.exports.made_up_run import made_up_run, run_of
from tests.small_models import TOPICS


@pytest.mark.parametrize("kind", TOPICS.values())
def test_the_file_has_what_the_table_has(kind, tmp_path):
    run = made_up_run(kind)
    sizes = write_graphml(run, tmp_path / "g.graphml", 3)
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert nx.is_bipartite(graph)
    label = nx.get_node_attributes(graph, "label")
    edges = {
        (graph.nodes[topic]["topic"], about["rank"], label[word], about["weight"])
        for topic, word, about in graph.edges(data=True)
    }
    rows = list(topic_words(run.model, 3))
    assert edges == {(k, rank, word, probability) for k, _, rank, word, probability in rows}
    topics = {n: about for n, about in graph.nodes(data=True) if about["kind"] == "topic"}
    assert {(n, about["share"], about["bipartite"]) for n, about in topics.items()} == {
        (f"topic {k}", share, 0) for k, share, *_ in rows
    }
    words = {about["label"]: about for _, about in graph.nodes(data=True) if about["bipartite"]}
    share = dict(zip(run.model.vocabulary, run.model.topics.word_share.tolist(), strict=True))
    assert {word: about["share"] for word, about in words.items()} == {
        row[3]: share[row[3]] for row in rows
    }
    assert sizes == {"topics": 3, "words": len(words), "edges": 9}
    write_graphml(run, tmp_path / "again.graphml", 3)
    assert (tmp_path / "again.graphml").read_bytes() == (tmp_path / "g.graphml").read_bytes()


def test_any_word_can_be_in_a_file_and_a_share_may_be_unknown(tmp_path):
    words = ("a\x00b", "<&>", "\ud800", "topic 0", "\U0001f600")
    topics = LDATopics(np.array([[0.3, 0.25, 0.2, 0.15, 0.1]]), np.ones(1))
    run = run_of(SavedModel(topics, words), None)
    write_graphml(run, tmp_path / "g.graphml", 9)
    graph = nx.read_graphml(tmp_path / "g.graphml")
    found = [about["label"] for _, about in graph.nodes(data=True)]
    assert found == ["0: a\ufffdb <&> \ufffd", "a\ufffdb", "<&>", "\ufffd", "topic 0", "\U0001f600"]
    assert "share" not in graph.nodes["topic 0"]
    assert len(word_network(run.model, 2)) == 3
