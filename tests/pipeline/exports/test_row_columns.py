import csv
import logging

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import corpora.row_blocks as row_blocks_module
from corpora import Article, ArticleStore
from corpora.articles.shard_file import shard_path
from models import LDATopics
from pipeline.exports import document_blocks, write_documents
from pipeline.exports.row_columns import RowColumns
from tests.pipeline.exports.made_up_run import made_up_run, run_of

ROWS = [
    {"stars": 5, "price": 1, "good": True, "by": "Ann", "id": "a", "id_": "x", "topic_0": 1.5},
    {"stars": 4, "price": 2.5, "good": False, "by": None, "id": "b", "id_": "y", "topic_0": 2.5},
    {"stars": None, "price": 3, "good": None, "by": "=1", "id": "c", "id_": "\ud800"},
    {"stars": "many", "later": "z"},
]
NAMES = ["stars", "price", "good", "by", "id__", "id_", "topic_0_", "later"]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(row_blocks_module, "MAX_ROWS", 3)


def run_with_rows(directory, ids, rows, **more):
    """A run of documents with these ids; article i of the store has the columns `rows[i]`."""
    ArticleStore(directory / "store", shard_size=2).append(
        Article(i, 0, f"No {i}", "", "", "en", "", "text", row) for i, row in enumerate(rows)
    )
    made = made_up_run(LDATopics, len(ids), ids=tuple(ids))
    return run_of(made.model, made.corpus, articles=str(directory / "store"), **more)


def expected_of(ids):
    rows = [ROWS[int(each.removeprefix("en:").partition("#")[0])] for each in ids]
    found = [[row.get(name) for row in rows] for name in ("stars", "price", "good", "by")]
    found[0] = [None if value is None else str(value) for value in found[0]]
    found[1] = [None if value is None else float(value) for value in found[1]]
    return found + [[row.get(name) for row in rows] for name in ("id", "id_", "topic_0", "later")]


@pytest.mark.parametrize(
    "ids",
    [
        ("en:0", "en:1", "en:2", "en:3"),
        ("en:1", "en:3"),
        ("en:3", "en:0", "en:2", "en:1"),
        ("en:0#1", "en:0#2", "en:1#1", "en:1#2", "en:1#3", "en:1#4", "en:2", "en:3#2"),
    ],
)
def test_columns_of_each_document_in_any_order(ids, tmp_path):
    run = run_with_rows(tmp_path, ids, ROWS)
    columns = RowColumns(run)
    assert list(columns.names) == NAMES
    assert list(columns.kinds.values()) == [str, float, bool, str, str, str, float, str]
    blocks = list(document_blocks(run))
    assert len(blocks) == -(-len(ids) // 3)
    found = [[v for b in blocks for v in b.columns[i]] for i in range(len(NAMES))]
    assert found == expected_of(ids)
    write_documents(run, tmp_path / "d.parquet")
    table = parquet.read_table(tmp_path / "d.parquet")
    assert table.column_names == [
        *("id", "title", "part", "tokens", *NAMES, "topic_0", "topic_1", "topic_2")
    ]
    plain = [[v.replace("\ud800", "?") if isinstance(v, str) else v for v in c] for c in found]
    assert [table[name].to_pylist() for name in NAMES] == plain
    assert table.schema.field("good").type == pa.bool_()
    write_documents(run, tmp_path / "d.csv")
    with (tmp_path / "d.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == list(ids)
    texts = [["" if v is None else str(v).replace("=1", "'=1") for v in c] for c in plain]
    assert [[row[name] for row in rows] for name in NAMES] == texts
    shares = np.array([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows])
    assert np.array_equal(shares, run.model.topics.proportions(run.corpus.counts))


def test_articles_that_are_gone_have_no_values(tmp_path):
    run = run_with_rows(tmp_path, ("en:0", "en:77", "en:1", "en:2"), ROWS)
    (stars, *_), _ = (block.columns for block in document_blocks(run))
    assert stars == ["5", None, "4"]


@pytest.mark.parametrize("what", ["no columns", "no store", "damaged"])
def test_without_columns_the_table_is_as_before(what, tmp_path, caplog):
    ids = ("en:0", "en:1", "en:2", "en:3")
    run = run_with_rows(tmp_path, ids, [{}] * 4 if what == "no columns" else ROWS)
    if what == "no store":
        run = run_of(run.model, run.corpus, articles=str(tmp_path / "gone"))
    if what == "damaged":
        store = ArticleStore(tmp_path / "store")
        shard = shard_path(store.path, store.entries[1])
        shard.write_bytes(shard.read_bytes()[:-9])
    with caplog.at_level(logging.WARNING):
        write_documents(run, tmp_path / "d.csv")
    assert [record.getMessage()[:38] for record in caplog.records] == (
        [] if what == "no columns" else ["documents are without the columns of t"]
    )
    header = (tmp_path / "d.csv").read_text().splitlines()[0]
    assert header == "id,title,part,tokens,topic_0,topic_1,topic_2"


def test_no_article_of_a_store_without_columns_is_read(tmp_path, monkeypatch):
    run, read = run_with_rows(tmp_path, ("en:0", "en:1"), [{}] * 9), []
    whole = ArticleStore.read_shard
    monkeypatch.setattr(
        ArticleStore, "read_shard", lambda self, entry: read.append(1) or whole(self, entry)
    )
    assert RowColumns(run).take(("en:0", "en:1")) == []
    assert read == []


def test_an_old_store_with_new_articles_has_their_columns(tmp_path):
    run = run_with_rows(tmp_path, ("en:0", "en:3"), [{}] * 3 + [{"categories": ("A", "B")}])
    columns = RowColumns(run)
    assert columns.take(("en:0", "en:3")) == [[None, ("A", "B")]]
    write_documents(run, tmp_path / "d.csv")
    with (tmp_path / "d.csv").open(newline="") as stream:
        assert [row["categories"] for row in csv.DictReader(stream)] == ["", "A|B"]
    write_documents(run, tmp_path / "d.parquet")
    found = parquet.read_table(tmp_path / "d.parquet")["categories"]
    assert (found.type, found.to_pylist()) == (pa.list_(pa.string()), [None, ["A", "B"]])


def test_one_shard_and_one_block_are_in_memory(tmp_path):
    ids = [f"en:{i}" for i in range(40)]
    columns = RowColumns(run_with_rows(tmp_path, ids, [{"x": i} for i in range(40)]))
    for first in range(0, 40, 4):
        assert columns.take(ids[first : first + 4]) == [list(range(first, first + 4))]
        assert len(columns._found) <= 4
