import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from gensim.test.utils import datapath

from corpora import Article, ArticleStore, PlainAnnotator, TextSettings
from corpora.errors import CorpusFormatError, MissingModelError, StoreLockedError
from corpora.tokens.annotation_file import load_annotated
from corpora.tokens.store import TokenStore, describe
from tests.corpora.tokens.models import save_all_nouns

ROOT = Path(__file__).parents[3]
TEXTS = Path(datapath("lee_background.cor")).read_text("utf-8").splitlines()
FILL = """
import itertools
import sys
import time
from corpora.articles.store import ArticleStore
from corpora.tokens.settings import TextSettings
from corpora.tokens.store import TokenStore

if __name__ == "__main__":
    n_done = itertools.count(1)
    articles, path, model = sys.argv[1:]
    for done in TokenStore(ArticleStore(articles), path, TextSettings(model)).fill(2):
        print(done, flush=True)
        if next(n_done) == 3:
            time.sleep(60)
"""


def articles(numbers):
    return [
        Article(
            page_id=n,
            revision_id=0,
            title=f"Title {n}",
            url="",
            timestamp="",
            language="en",
            license="",
            text=TEXTS[n],
        )
        for n in numbers
    ]


@pytest.fixture
def store(tmp_path):
    store = ArticleStore(tmp_path / "articles", shard_size=5)
    store.append(articles(range(20)))
    return store


@pytest.fixture(scope="module")
def nouns(tmp_path_factory):
    return TextSettings(spacy_model=save_all_nouns(tmp_path_factory.mktemp("model")))


def n_tokens_of(tokens):
    paths = [tokens.directory / f"{entry.sha256}.npz" for entry in tokens.entries]
    return [load_annotated(path, path.stem).n_tokens for path in paths]


def content(tokens):
    return {path.name: path.read_bytes() for path in tokens.directory.glob("*.npz")}


def test_blocks_come_in_the_order_of_the_articles(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    filled = list(tokens.fill())
    for _ in range(2):
        blocks = list(tokens)
        assert [doc_id for block in blocks for doc_id in block.doc_ids] == [
            f"en:{n}" for n in range(20)
        ]
        assert filled == [(5, n) for n in n_tokens_of(tokens)]
    assert blocks[0].titles[1] == "Title 1"
    assert blocks[0].runs(0)[0][:3] == ["hundreds"]


@pytest.mark.slow
def test_real_lemmas_are_the_same_bits_for_any_number_of_processes(store, tmp_path):
    one = TokenStore(store, tmp_path / "one", TextSettings())
    two = TokenStore(store, tmp_path / "two", TextSettings())
    assert list(one.fill(1)) == list(two.fill(2))
    assert content(one) == content(two)
    assert len(content(one)) == 4
    assert "hundred" not in next(iter(one)).words  # a number to the tagger
    assert "force" in next(iter(one)).words


def test_only_new_shards_are_tokenized(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    assert len(list(tokens.fill())) == 4
    before = {path: path.stat().st_mtime_ns for path in tokens.directory.glob("*.npz")}
    store.append(articles(range(25)))
    assert len(list(tokens)) == 4  # of the shards that were there when it was made
    later = TokenStore(store, tmp_path / "tokens", nouns)
    assert [entry.shard for entry in later.missing()] == [store.entries[4].shard]
    assert len(list(later.fill())) == 1
    assert later.missing() == []
    assert len(list(later)) == 5
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_other_choices_annotate_nothing_again(store, nouns, tmp_path, monkeypatch):
    annotated, original = [], PlainAnnotator.annotate

    def counted(self, texts):
        annotated.extend(texts)
        return original(self, texts)

    monkeypatch.setattr(PlainAnnotator, "annotate", counted)
    short = TokenStore(store, tmp_path / "tokens", replace(nouns, min_length=1))
    list(short.fill())
    assert len(annotated) == 20
    others = [
        TokenStore(store, tmp_path / "tokens", replace(nouns, **changes))
        for changes in (
            *({"min_length": 6}, {"extra_stop_words": ("hundreds",)}, {"documents": "section"}),
            {"parts_of_speech": ("VERB",)},
        )
    ]
    for other in others:
        assert other.missing() == []
        assert list(other.fill()) == []
    n_kept = [sum(block.n_tokens for block in each) for each in (short, *others)]
    assert n_kept[0] > n_kept[1] > n_kept[4] == 0
    assert n_kept[0] > n_kept[2] > n_kept[1]
    assert [block.doc_ids[0] for block in others[2]] == ["en:0#1", "en:5#1", "en:10#1", "en:15#1"]
    assert len(annotated) == 20


def test_other_models_have_annotations_of_their_own_beside_what_made_them(store, nouns, tmp_path):
    list(TokenStore(store, tmp_path / "tokens", nouns).fill())
    blank = TokenStore(store, tmp_path / "tokens", replace(nouns, spacy_model="blank:en"))
    assert len(blank.missing()) == 4
    assert describe(TextSettings(noun_chunks=True)) != describe(TextSettings())
    list(blank.fill())
    assert next(iter(blank)).runs(0)[0][:2] == ["hundreds"]
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    list(tokens.fill())
    about = json.loads((tokens.directory / "about.json").read_text())
    assert about["noun_chunks"] is False
    assert about["parts_of_speech_known"] is True
    assert {"spacy", "spacy_model", "spacy_model_sha256", "rules_version"} <= about.keys()


@pytest.mark.slow
def test_what_an_annotator_has_to_say_is_logged_once(store, nouns, tmp_path, caplog):
    list(TokenStore(store, tmp_path / "tokens", nouns).fill(2))
    (message,) = caplog.messages
    assert "spaCy's own speed" in message


def test_sections_as_documents(nouns, tmp_path):
    text = (
        "The lead.\n\n== History ==\n\nOld times.\n\n=== Early ===\n\nFirst steps.\n\n== Void ==\n"
    )
    store = ArticleStore(tmp_path / "articles")
    store.append([replace(articles([7])[0], title="Anarchism", text=text)])
    tokens = TokenStore(store, tmp_path / "tokens", replace(nouns, documents="section"))
    assert list(tokens.fill()) == [(1, n_tokens_of(tokens)[0])]
    (block,) = tokens
    assert block.doc_ids == ("en:7#1", "en:7#2")
    assert block.titles == ("Anarchism", "Anarchism § History")
    assert block.runs(1) == [["old", "times"], ["steps"]]


def test_an_article_without_words_keeps_its_place(nouns, tmp_path):
    store = ArticleStore(tmp_path / "articles")
    store.append([replace(article, text="") for article in articles(range(2))])
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    assert list(tokens.fill()) == [(2, 0)]
    assert [block.doc_ids for block in tokens] == [("en:0", "en:1")]


def test_one_process_fills_at_a_time(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    filling = tokens.fill()
    next(filling)
    with pytest.raises(StoreLockedError, match="try again"):
        next(TokenStore(store, tmp_path / "tokens", nouns).fill())
    assert len(list(filling)) == 3
    assert list(tokens.fill()) == []


def test_tokens_that_are_not_there_cannot_be_read(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    next(tokens.fill())
    with pytest.raises(RuntimeError, match="3 of 4 shards"):
        iter(tokens)


def test_a_damaged_file_is_named_and_can_be_redone(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    list(tokens.fill())
    before, path = content(tokens), tokens.directory / f"{store.entries[2].sha256}.npz"
    damaged = bytearray(path.read_bytes())
    damaged[300] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(CorpusFormatError, match=path.name):
        list(tokens)
    path.unlink()
    assert len(list(tokens.fill())) == 1
    assert content(tokens) == before


def test_a_file_under_the_name_of_another_shard_is_refused(store, nouns, tmp_path):
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    list(tokens.fill())
    first, second = (tokens.directory / f"{entry.sha256}.npz" for entry in store.entries[:2])
    shutil.copy(first, second)
    with pytest.raises(CorpusFormatError, match=f"{second.name} is the annotation of another"):
        list(tokens)


def test_a_model_trained_anew_in_its_place_annotates_anew(store, tmp_path):
    settings = TextSettings(spacy_model=save_all_nouns(tmp_path))
    list(TokenStore(store, tmp_path / "tokens", settings).fill())
    assert TokenStore(store, tmp_path / "tokens", settings).missing() == []
    rules = Path(settings.spacy_model) / "attribute_ruler" / "patterns"
    rules.write_bytes(rules.read_bytes().replace(b"NOUN", b"VERB"))
    assert len(TokenStore(store, tmp_path / "tokens", settings).missing()) == 4


def test_a_missing_model_is_noticed_before_anything_is_made(store, tmp_path):
    with pytest.raises(MissingModelError, match="spacy download no_such_model"):
        TokenStore(store, tmp_path / "tokens", TextSettings(spacy_model="no_such_model"))
    assert not (tmp_path / "tokens").exists()


@pytest.mark.slow
def test_a_killed_fill_goes_on_where_it_was(nouns, tmp_path):
    store = ArticleStore(tmp_path / "articles", shard_size=1)
    store.append(articles(range(40)))
    script = tmp_path / "fill.py"
    script.write_text(FILL)
    killed = subprocess.Popen(
        [sys.executable, script, store.path, tmp_path / "tokens", nouns.spacy_model],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    printed = [killed.stdout.readline() for _ in range(3)]
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(set(printed)) > 1
    tokens = TokenStore(store, tmp_path / "tokens", nouns)
    left = len(tokens.missing())
    assert 30 < left <= 37
    assert len(list(tokens.fill())) == left
    whole = TokenStore(store, tmp_path / "whole", nouns)
    list(whole.fill())
    assert content(tokens) == content(whole)
    assert not list(tokens.directory.glob(".*.partial"))
