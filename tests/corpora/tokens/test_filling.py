from pathlib import Path

import pytest

from corpora import Article, ArticleStore, TextSettings, TokenStore
from corpora.articles.manifest import ShardEntry
from corpora.tokens import store as store_module
from corpora.tokens.annotation_file import load_annotated
from corpora.tokens.filling import MAX_SKIPPED, ShardTask, after_death
from corpora.worker_pool import WorkerDiedError
from tests.corpora.tokens.scripted import (
    DEADLY,
    PREPARE_CUTTING,
    die_outside_of_any_article,
    nouns,
    prepare_scripted,
)

TASK = ShardTask(ShardEntry("000001.pkl.gz", 5, 100, "0" * 64), Path("x.npz"))


def store_with(path, deadly):
    store = ArticleStore(path, shard_size=5)
    store.append(
        Article(
            n, 0, f"Title {n}", "", "", "en", "", nouns(DEADLY if n in deadly else "river lake")
        )
        for n in range(20)
    )
    return store


def test_deadly_articles_are_passed_over_and_all_others_annotated(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(store_module, "prepare", prepare_scripted)
    articles = store_with(tmp_path / "articles", {6, 8})
    tokens = TokenStore(articles, tmp_path / "tokens", TextSettings("blank:en"))
    assert list(tokens.fill(2)) == [(5, 10), (5, 6), (5, 10), (5, 10)]
    blocks = list(tokens)
    assert [doc_id for block in blocks for doc_id in block.doc_ids] == [
        f"en:{n}" for n in range(20)
    ]
    assert {
        block.doc_ids[d] for block in blocks for d in range(block.n_docs) if not block.runs(d)
    } == {"en:6", "en:8"}
    deadly = tokens.directory / f"{articles.entries[1].sha256}.npz"
    assert tokens.skipped() == {deadly: {"en:6": "Title 6", "en:8": "Title 8"}}
    assert load_annotated(deadly, deadly.stem).skipped == ("en:6", "en:8")
    # The shard's five articles were annotated together, so its first one was named at first.
    assert [message.partition(" again")[0] for message in caplog.messages] == [
        (
            "a worker process died at en:5 Title 5 or just behind it; the articles of its shard "
            "are tried one by one"
        ),
        *("a worker process died at en:6 Title 6", "a worker process died at en:8 Title 8"),
    ]
    assert tokens.missing() == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["pieces_of", "sections"])
def test_an_article_that_kills_while_it_is_cut_is_passed_over_too(
    step, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(store_module, "prepare", PREPARE_CUTTING[step])
    articles = store_with(tmp_path / "articles", {7})
    tokens = TokenStore(articles, tmp_path / "tokens", TextSettings("blank:en"))
    assert list(tokens.fill(2)) == [(5, 10), (5, 8), (5, 10), (5, 10)]
    assert list(tokens.skipped().values()) == [{"en:7": "Title 7"}]
    assert all("en:7 Title 7" in message for message in caplog.messages)


def test_an_article_that_kills_though_it_is_passed_over_ends_the_fill():
    task = ShardTask(TASK.entry, TASK.path, one_by_one=True, skipped=frozenset({3}))
    with pytest.raises(WorkerDiedError, match="en:8 A title though it was passed over"):
        after_death(task, "3 en:8 A title", 3)


def test_deaths_that_no_article_is_to_blame_for_end_the_fill(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "prepare", prepare_scripted)
    monkeypatch.setattr(store_module, "annotate_shard", die_outside_of_any_article)
    articles = store_with(tmp_path / "articles", set())
    tokens = TokenStore(articles, tmp_path / "tokens", TextSettings("blank:en"))
    with pytest.raises(WorkerDiedError, match=r"000001\.pkl\.gz .*use fewer processes"):
        list(tokens.fill(2))
    assert len(tokens.missing()) == 4


def test_a_shard_is_tried_one_by_one_and_then_without_the_article():
    once = after_death(TASK, "3 en:8 A title", 1)
    assert once == ShardTask(TASK.entry, TASK.path, one_by_one=True)
    twice = after_death(once, "4 en:9 Another", 2)
    assert twice == ShardTask(TASK.entry, TASK.path, one_by_one=True, skipped=frozenset({4}))
    assert after_death(twice, "0 en:5 One", 3).skipped == {0, 4}


def test_if_article_after_article_kills_it_is_the_machine():
    task = after_death(TASK, "0 en:0 T", 1)
    for n in range(MAX_SKIPPED):
        task = after_death(task, f"{n} en:{n} T", n + 2)
    with pytest.raises(WorkerDiedError, match="out of memory"):
        after_death(task, "99 en:99 T", MAX_SKIPPED + 2)


@pytest.mark.parametrize("note", ["", "?", "no place"])
def test_a_death_without_an_article_is_tried_once_more(note):
    assert after_death(TASK, note, 1) == TASK
    with pytest.raises(WorkerDiedError, match="no article is to blame"):
        after_death(TASK, note, 2)
