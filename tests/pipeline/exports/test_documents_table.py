import csv
import logging

import numpy as np
import pytest
from pyarrow import parquet

import corpora.row_blocks as row_blocks_module
import pipeline.exports.documents_table as table_module
from corpora import Corpus
from corpora.errors import MissingExtraError
from models import LDATopics
from pipeline.errors import UsageError
from pipeline.exports import document_blocks, write_documents
from pipeline.exports.documents_table import check_documents_path
from tests.pipeline.exports.made_up_run import made_up_run, run_of
from tests.small_models import TOPICS


@pytest.fixture
def _small_blocks(monkeypatch):
    monkeypatch.setattr(row_blocks_module, "MAX_ROWS", 7)


def rows_of_csv(path):
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    return header, rows


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("kind", TOPICS.values())
def test_shares_of_topics_in_all_documents(kind, tmp_path):
    run = made_up_run(kind)
    assert write_documents(run, tmp_path / "d.csv") == {"documents": 40, "topics": 3}
    header, rows = rows_of_csv(tmp_path / "d.csv")
    assert header == ["id", "title", "part", "tokens", "topic_0", "topic_1", "topic_2"]
    assert [row[0] for row in rows] == list(run.corpus.doc_ids)
    assert [row[1] for row in rows] == list(run.corpus.titles)
    assert [int(row[3]) for row in rows] == run.corpus.counts.sum(axis=1).tolist()
    part_of = {
        each: name for name in run.parts._fields for each in getattr(run.parts, name).doc_ids
    }
    assert [row[2] for row in rows] == [part_of[row[0]] for row in rows]
    assert set(part_of.values()) == {"train", "validation", "test"}
    shares = np.array([row[4:] for row in rows], dtype=float)
    assert np.array_equal(shares, run.model.topics.proportions(run.corpus.counts))
    write_documents(run, tmp_path / "d.parquet", n_jobs=2)
    table = parquet.read_table(tmp_path / "d.parquet")
    assert table.column_names == header
    assert [table[name].to_pylist() for name in header[:3]] == [
        [row[i] for row in rows] for i in range(3)
    ]
    assert np.array_equal(np.array([table[name] for name in header[4:]]).T, shares)
    assert parquet.ParquetFile(tmp_path / "d.parquet").num_row_groups == 6


@pytest.mark.usefixtures("_small_blocks")
def test_one_block_is_read_at_a_time(monkeypatch):
    run, read = made_up_run(LDATopics), []
    proportions = LDATopics.proportions
    monkeypatch.setattr(
        LDATopics, "proportions", lambda *a, **more: read.append(1) or proportions(*a, **more)
    )
    for number, block in enumerate(document_blocks(run), start=1):
        assert len(read) == number
        assert len(block.ids) <= 7


def test_texts_are_safe_in_csv_and_as_they_are_in_parquet(tmp_path, caplog):
    titles = ("=1+1", "half \ud800", "C++", 'a "b", c\nd')
    ids = ("-1", "@me", "x", "y")
    run = made_up_run(LDATopics, 4, ids=ids, titles=titles)
    with caplog.at_level(logging.WARNING):
        write_documents(run, tmp_path / "d.csv")
    _, rows = rows_of_csv(tmp_path / "d.csv")
    assert [row[0] for row in rows] == ["-1", "'@me", "x", "y"]
    assert [row[1] for row in rows] == ["'=1+1", "half ?", "C++", 'a "b", c\nd']
    (record,) = caplog.records
    assert "d.csv: an apostrophe stands before 2 texts that" in record.getMessage()
    write_documents(run, tmp_path / "d.parquet")
    table = parquet.read_table(tmp_path / "d.parquet")
    assert table["id"].to_pylist() == list(ids)
    assert table["title"].to_pylist() == ["=1+1", "half ?", "C++", 'a "b", c\nd']


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.tsv.gz"])
def test_it_appears_whole_or_not_at_all(name, tmp_path, monkeypatch):
    run = made_up_run(LDATopics)
    first = next(document_blocks(run))

    def broken(*_):
        yield first
        raise OSError(28, "No space left on device")

    (tmp_path / name).write_text("before")
    monkeypatch.setattr(table_module, "document_blocks", broken)
    with pytest.raises(OSError, match="No space"):
        write_documents(run, tmp_path / name)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


@pytest.mark.parametrize("name", ["d.csv", "d.parquet"])
def test_no_documents(name, tmp_path):
    run = made_up_run(LDATopics)
    empty = Corpus(run.corpus.counts[:0], run.corpus.vocabulary, ())
    sizes = write_documents(run_of(run.model, empty), tmp_path / name)
    assert sizes == {"documents": 0, "topics": 3}
    if name == "d.csv":
        assert rows_of_csv(tmp_path / name)[1] == []
    else:
        assert parquet.read_table(tmp_path / name).num_rows == 0


def test_names_and_packages_are_checked(tmp_path, monkeypatch):
    run = made_up_run(LDATopics)
    with pytest.raises(UsageError, match=r"d\.txt does not give the format: .*\.parquet.*\.csv"):
        write_documents(run, tmp_path / "d.txt")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wikitopics\[parquet\]'"):
        check_documents_path(tmp_path / "d.parquet")
    assert list(tmp_path.iterdir()) == []
