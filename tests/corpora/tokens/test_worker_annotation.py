import json
import pickle
from dataclasses import replace

import pytest
import spacy

from corpora import ArticleStore, TextSettings
from corpora.errors import CorpusFormatError, MissingModelError, UnsuitableModelError
from corpora.tokens import worker_annotation
from corpora.tokens.store import TokenStore, describe
from corpora.tokens.worker_annotation import annotate_shard
from corpora.tokens.workers import ArticlesToAnnotate
from tests.corpora.tokens.models import all_nouns, save_all_nouns
from tests.corpora.tokens.test_store import articles, content


@pytest.fixture
def to_annotate(tmp_path):
    ArticleStore(tmp_path / "articles", shard_size=3).append(articles(range(6)))
    settings = TextSettings(spacy_model=save_all_nouns(tmp_path))
    return ArticlesToAnnotate(str(tmp_path / "articles"), settings, describe(settings))


def test_the_bytes_are_those_that_are_made_here(to_annotate, tmp_path):
    store = ArticleStore(to_annotate.store)
    tokens = TokenStore(store, tmp_path / "tokens", to_annotate.settings)
    filled = list(tokens.fill())
    elsewhere = replace(to_annotate, store="/no/such/directory")
    for given, sends in ((to_annotate, False), (elsewhere, True)):
        found = {}
        for entry, counts in zip(store.entries, filled, strict=True):
            data = to_annotate.bytes_of(entry) if sends else None
            done = annotate_shard(*pickle.loads(pickle.dumps((entry, data, given))))
            assert done is not None
            assert (done.n_articles, done.n_tokens) == counts
            found[f"{entry.sha256}.npz"] = done.data
        assert found == content(tokens)


def test_a_shard_that_is_not_seen_is_asked_for(to_annotate):
    first, second = ArticleStore(to_annotate.store).entries
    assert annotate_shard(first, None, replace(to_annotate, store="/no/such/directory")) is None
    # Another shard at its place, as another machine may have, is none either.
    assert annotate_shard(replace(first, shard=second.shard), None, to_annotate) is None
    with pytest.raises(CorpusFormatError, match="damaged"):
        annotate_shard(first, to_annotate.bytes_of(second), to_annotate)


def test_another_model_of_that_name_is_refused(to_annotate, monkeypatch):
    monkeypatch.setattr(worker_annotation, "_last", [])  # in a process that has none loaded
    entry, changed = ArticleStore(to_annotate.store).entries[0], all_nouns()
    changed.meta["version"] = "9.9"
    changed.to_disk(to_annotate.settings.spacy_model)
    with pytest.raises(UnsuitableModelError, match=r"spacy_model: en_pipeline 9\.9, not .*install"):
        annotate_shard(entry, None, to_annotate)
    about = json.loads(describe(to_annotate.settings)) | {"spacy": "1.0"}
    with pytest.raises(UnsuitableModelError, match=rf"spacy: {spacy.__version__}, not 1\.0"):
        annotate_shard(entry, None, replace(to_annotate, about=json.dumps(about)))


def test_a_model_that_is_not_installed_is_named(to_annotate):
    entry = ArticleStore(to_annotate.store).entries[0]
    settings = TextSettings(spacy_model="no_such_model")
    with pytest.raises(MissingModelError, match="spacy download no_such_model"):
        annotate_shard(entry, None, replace(to_annotate, settings=settings, about="{}"))
