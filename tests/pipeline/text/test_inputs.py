import os
import shutil
import threading
import time
from dataclasses import replace

import pytest

from corpora import ArticleStore, CorpusFormatError, writer_lock
from pipeline.errors import UsageError
from pipeline.settings import InferSettings, TrainSettings
from pipeline.text import inputs
from pipeline.text.inputs import decide_input, input_at, input_changed, texts_store


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "letters.csv"
    path.write_text("id,year,text\na,1900,one text\nb,1901,another text\n")
    return path


def named(path, **columns):
    return input_at(str(path), replace(InferSettings(), **columns))


def left_in(directory):
    return sorted(each.name for each in directory.iterdir()) if directory.exists() else None


def test_texts_are_stored_once_with_what_they_come_from(table, tmp_path):
    runs = tmp_path / "runs"
    store = texts_store(named(table), runs)
    assert [article.text for article in ArticleStore(store)] == ["one text", "another text"]
    assert [article.title for article in ArticleStore(store)] == ["a", "b"]
    assert [article.columns["year"] for article in ArticleStore(store)] == ["1900", "1901"]
    assert left_in(runs) == [store.rpartition("/")[2]]
    before = (runs / left_in(runs)[0] / "manifest.jsonl").stat().st_mtime_ns
    assert texts_store(named(table), runs) == store
    assert (runs / left_in(runs)[0] / "manifest.jsonl").stat().st_mtime_ns == before


def test_another_state_or_another_column_is_another_store(table, tmp_path):
    runs = tmp_path / "runs"
    first = texts_store(named(table), runs)
    by_number = texts_store(named(table, id_column="year"), runs)
    with table.open("a") as stream:
        stream.write("c,1902,a third text\n")
    changed = texts_store(named(table), runs)
    assert len({first, by_number, changed}) == 3
    assert len(ArticleStore(changed)) == 3
    assert len(ArticleStore(first)) == 2


def test_files_of_the_same_name_and_size_elsewhere_are_another_input(table, tmp_path):
    (tmp_path / "other").mkdir()
    copy = shutil.copy2(table, tmp_path / "other" / table.name)
    copy.write_text(table.read_text().replace("one", "two"))
    os.utime(copy, ns=(table.stat().st_mtime_ns,) * 2)
    assert named(copy).found.stamp() == named(table).found.stamp()
    assert texts_store(named(copy), tmp_path) != texts_store(named(table), tmp_path)


def test_a_malformed_input_leaves_nothing(table, tmp_path):
    table.write_text("id,text\na,one\na,two\n")
    with pytest.raises(CorpusFormatError, match="line 3"):
        texts_store(named(table), tmp_path / "runs")
    assert left_in(tmp_path / "runs") is None


def test_an_input_without_texts_leaves_nothing_in_a_folder_that_was_there(table, tmp_path):
    (tmp_path / "runs").mkdir()
    table.write_text("id,text\na, \n")
    with pytest.raises(CorpusFormatError, match="holds no text"):
        texts_store(named(table), tmp_path / "runs")
    assert left_in(tmp_path / "runs") == []


@pytest.mark.parametrize("stage", ["atomic_write_text", "_counted"])
def test_a_reader_that_is_interrupted_leaves_nothing(table, tmp_path, monkeypatch, stage):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, stage, interrupt)
    with pytest.raises(KeyboardInterrupt):
        texts_store(named(table), tmp_path / "runs")
    assert left_in(tmp_path / "runs") is None


def test_an_input_that_changes_while_it_is_read_leaves_nothing(table, tmp_path, monkeypatch):
    def counted_while_written(found, _):
        yield from found.articles()
        with table.open("a") as stream:
            stream.write("c,1902,a third text\n")

    monkeypatch.setattr(inputs, "_counted", counted_while_written)
    found = named(table)
    with pytest.raises(CorpusFormatError, match="changed while it was read"):
        texts_store(found, tmp_path / "runs")
    assert left_in(tmp_path / "runs") is None
    monkeypatch.undo()
    assert len(ArticleStore(texts_store(named(table), tmp_path / "runs"))) == 3


def test_what_killed_readers_left_is_begun_anew_or_deleted(table, tmp_path):
    runs = tmp_path / "runs"
    store = texts_store(named(table), runs)
    name = store.rpartition("/")[2]
    for partial in (f".{name}.partial", ".texts-0123.partial"):
        shutil.copytree(store, runs / partial / "store")
        (runs / partial / "store" / "manifest.jsonl").write_text("half a li")
    shutil.copytree(runs / ".texts-0123.partial", runs / ".texts-4567.partial")
    assert texts_store(named(table), runs) == store
    assert left_in(runs) == [name]
    shutil.copytree(store, runs / f".{name}.partial" / "store")
    shutil.rmtree(store)
    assert texts_store(named(table), runs) == store
    assert len(ArticleStore(store)) == 2
    assert left_in(runs) == [name]


def test_what_another_process_is_reading_is_waited_for(table, tmp_path):
    runs = tmp_path / "runs"
    store = texts_store(named(table), runs)
    name = store.rpartition("/")[2]
    kept, partial = tmp_path / "kept", runs / f".{name}.partial"
    shutil.move(store, kept)
    partial.mkdir()
    found = []
    waiting = threading.Thread(target=lambda: found.append(texts_store(named(table), runs)))
    with writer_lock(partial):
        waiting.start()
        time.sleep(3 * inputs.WAIT_SECONDS)
        assert waiting.is_alive()
        assert left_in(runs) == [partial.name]
        marked = kept / "mark"
        marked.touch()
        shutil.move(kept, store)
    waiting.join(30)
    assert found == [store]
    assert "mark" in left_in(runs / name)


def test_a_change_is_noticed_but_not_that_the_input_is_gone(table):
    about = named(table).about
    assert not input_changed(about)
    os.utime(table, (1, 1))
    assert input_changed(about)
    table.write_text("neither text nor table")
    assert input_changed(about)
    table.unlink()
    assert not input_changed(about)


def test_an_input_that_is_a_store_is_articles(table, tmp_path):
    store = texts_store(named(table), tmp_path)
    settings, found = decide_input(TrainSettings(input=store))
    assert (settings, found) == (TrainSettings(articles=store), None)


def test_texts_stay_an_input(table):
    settings, found = decide_input(TrainSettings(input=f"{table.parent}/./{table.name}"))
    assert settings == TrainSettings(input=str(table))
    assert found.kind == "texts"


def test_counts_refuse_what_is_for_texts(tmp_path):
    path = tmp_path / "bags.jsonl"
    path.write_text('{"id": "a", "counts": {"word": 2}}\n')
    settings, _ = decide_input(TrainSettings(input=str(path)))
    assert settings == TrainSettings(counts=str(path))
    assert decide_input(TrainSettings(counts=str(path)))[0] == settings
    for given in ({"no_below": 1}, {"bigrams": "none"}, {"documents": "article"}):
        name = next(iter(given)).replace("_", "-")
        with pytest.raises(UsageError, match=f"--{name} is for texts"):
            decide_input(TrainSettings(input=str(path), **given))


def test_texts_are_no_counts(table):
    with pytest.raises(UsageError, match="name it without --counts"):
        decide_input(TrainSettings(counts=str(table)))


def test_columns_without_an_input_are_refused():
    with pytest.raises(UsageError, match="--text-column says how INPUT is read"):
        decide_input(TrainSettings(text_column="body"))
