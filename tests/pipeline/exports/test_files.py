import csv
import os

import networkx as nx
import numpy as np
import pytest
from pyarrow import parquet

from corpora import Corpus
from models import load_model
from tests.pipeline.support import call, refused

ALL = ("--csv", "t.csv", "--documents", "d.parquet", "--graphml", "g.graphml")


def files(directory):
    return {each.name for each in directory.iterdir()} - {"articles", "runs"}


def test_topics_writes_them(tiny):
    outcome = call("topics", "tiny", *ALL, "--words", 4, "--threads", 1, cwd=tiny).succeeded()
    assert files(tiny) == {"t.csv", "d.parquet", "g.graphml"}
    with (tiny / "t.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    model, corpus = load_model(tiny / "runs/tiny/model.npz"), Corpus.load(tiny / "runs/tiny/corpus")
    assert len(rows) == 12
    table = parquet.read_table(tiny / "d.parquet")
    shares = np.array([table[f"topic_{k}"] for k in range(3)]).T
    assert np.array_equal(shares, model.topics.proportions(corpus.counts))
    n_words = len({row["word"] for row in rows})
    assert len(nx.read_graphml(tiny / "g.graphml")) == 3 + n_words
    shown = call("topics", "tiny", "--words", 4, cwd=tiny).succeeded().out
    assert outcome.out == (
        f"{shown}t.csv: 3 topics, 12 rows\nd.parquet: 60 documents, 3 topics\n"
        f"g.graphml: 3 topics, {n_words} words, 12 edges\n"
    )
    result = call("topics", "tiny", *ALL, "--force", "--json", cwd=tiny).succeeded().result
    assert result["files"][1] == {"file": "d.parquet", "documents": 60, "topics": 3}
    assert "files" not in call("topics", "tiny", "--json", cwd=tiny).succeeded().result


@pytest.mark.parametrize("option", ["csv", "documents", "graphml"])
def test_nothing_is_replaced_without_force(option, tiny):
    (tiny / "mine.csv").write_text("precious")
    argv = ("topics", "tiny", f"--{option}", "mine.csv")
    error = call(*argv, cwd=tiny).failed(2)
    assert error == "wikitopics: mine.csv exists: choose another name, or --force"
    assert (tiny / "mine.csv").read_text() == "precious"
    call(*argv, "--force", cwd=tiny).succeeded()
    assert (tiny / "mine.csv").read_text() != "precious"
    (tiny / "folder.csv").mkdir()
    for force in ((), ("--force",)):
        error = call("topics", "tiny", f"--{option}", "folder.csv", *force, cwd=tiny).failed(2)
        assert "folder.csv is a directory" in error
        assert error.endswith(": choose another name")


@pytest.mark.parametrize(
    ("code", "argv", "message"),
    [
        (2, "--csv t.parquet", "--csv t.parquet: the name must end in .csv or .tsv, also with .gz"),
        (2, "--documents d", "the name d does not give the format: it must end in .parquet, or"),
        (2, "--csv a.csv --documents ./a.csv", "--csv and --documents are both ./a.csv"),
        (3, "--csv t.csv --graphml none/g.graphml", "No such file or directory: 'none'"),
        (2, "--csv t.csv --words 0", "--words must be at least 1"),
        (2, "--documents t.csv --threads 0", "--threads must not be 0"),
        (2, "--runs none --csv t.csv", "no run 'tiny' in none"),
    ],
)
def test_what_fails_says_why_and_leaves_nothing(code, argv, message, tiny):
    refused(code, message, "topics", "tiny", *argv.split(), cwd=tiny).failed(code)


def test_the_environment_makes_no_files(tiny):
    names = {f"WIKITOPICS_{option}": "x.csv" for option in ("CSV", "DOCUMENTS", "GRAPHML")}
    assert not names.keys() & os.environ.keys()
    call("topics", "tiny", cwd=tiny, **names).succeeded()
    assert files(tiny) == set()
