import shutil

import pytest

from corpora import ArticleStore, Bigrams, CorpusFormatError, part_of, writer_lock
from pipeline.settings import TrainSettings
from pipeline.text.documents import token_store, tokens_of
from pipeline.text.settings import text_settings
from pipeline.training.stream import DocumentStream, GrowingStore
from tests.pipeline.conftest import fill_store

SETTINGS = TrainSettings(documents="article", validation=0.2, test=0.2)


def test_a_store_is_waited_for_while_a_download_runs(tmp_path):
    store = GrowingStore(ArticleStore(tmp_path / "articles"))
    (tmp_path / "articles/download").mkdir(parents=True)
    with writer_lock(tmp_path / "articles/download"):
        store.refresh()
        assert (store.entries, store.is_settled) == ((), False)
    shutil.rmtree(tmp_path / "articles/download")
    fill_store(tmp_path / "articles", 30)
    with writer_lock(tmp_path / "articles"):
        store.refresh()
        assert (store.n_articles, len(store.entries), store.is_settled) == (30, 3, False)
    fill_store(tmp_path / "articles", 40)
    store.refresh()
    assert (store.n_articles, store.is_settled) == (40, True)


def test_once_settled_nothing_is_added(tmp_path):
    fill_store(tmp_path / "articles", 20)
    store = GrowingStore(ArticleStore(tmp_path / "articles"))
    store.refresh()
    assert store.is_settled
    fill_store(tmp_path / "articles", 30)
    known = [entry.sha256 for entry in store.entries]
    again = GrowingStore(ArticleStore(tmp_path / "articles"), known, is_settled=True)
    with writer_lock(tmp_path / "articles"):
        for each in (store, again):
            each.refresh()
            assert (each.n_articles, each.is_settled) == (20, True)


def test_no_store_and_one_with_other_articles_are_refused(tmp_path):
    with pytest.raises(CorpusFormatError, match="no article store"):
        GrowingStore(ArticleStore(tmp_path / "nosuch")).refresh()
    assert not list(tmp_path.iterdir())
    fill_store(tmp_path / "articles", 20)
    fill_store(tmp_path / "others", 20, n_words=42)
    known = [entry.sha256 for entry in ArticleStore(tmp_path / "others").entries]
    with pytest.raises(CorpusFormatError, match="bring them back, or choose another --run"):
        GrowingStore(ArticleStore(tmp_path / "articles"), known).refresh()


@pytest.mark.parametrize("n_taken", [0, 1, 17])
def test_training_documents_come_in_order_and_held_out_ones_never(tiny, n_taken):
    articles = ArticleStore(tiny / "articles")
    vocabulary = ("atom", "guitar", "panel", "river")
    stream = DocumentStream(
        GrowingStore(articles), SETTINGS, Bigrams({}), vocabulary, n_taken, n_processes=1
    )
    expected, held_out, n_before = [], [], []
    for block in tokens_of(articles, text_settings(SETTINGS), 1):
        for d, name in enumerate(block.doc_ids):
            words = [word for run in block.runs(d) for word in run]
            row, part = [words.count(word) for word in vocabulary], part_of(name, 0.2, 0.2)
            if part == "train":
                expected.append(row)
            elif part == "validation":
                held_out.append(row)
                n_before.append(len(expected))
    assert len(expected) > 20
    assert len(held_out) > 5
    found = []
    for is_new in stream.read():
        assert is_new
        while stream.n_waiting >= 4:
            found += stream.take(4).toarray().tolist()
            so_far = n_taken + len(found)
            seen = [row for row, n in zip(held_out, n_before, strict=True) if n < so_far]
            assert stream.validation().toarray().tolist() == seen
    found += stream.take(stream.n_waiting).toarray().tolist()
    assert found == expected[n_taken:]
    assert (stream.n_articles, stream.n_shards, stream.n_taken) == (60, 6, len(expected))


def test_tokens_that_another_process_makes_are_waited_for(untouched):
    articles = ArticleStore(untouched / "articles")
    stream = DocumentStream(GrowingStore(articles), SETTINGS, Bigrams({}), ("atom",), 0, 1)
    directory = token_store(articles, text_settings(SETTINGS)).directory
    directory.mkdir(parents=True)
    reading = stream.read()
    with writer_lock(directory):
        assert not next(reading)
        assert not next(reading)
    assert list(reading) == [True] * 6
