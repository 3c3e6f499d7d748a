import pickle

import numpy as np
import pytest

from corpora import ArticleStore, TextSettings, TokenStore
from corpora.corpus import Corpus, build_corpus_of_bags
from corpora.counting import BagsOfBlock
from corpora.tokens.bigrams import Bigrams, Joined, PairsOfBlock
from corpora.tokens.block_pairs import narrow
from corpora.vocabulary import FrequenciesOfBlock, Pruning, learn_vocabulary, vocabulary_from
from tests.corpora.tokens.blocks import learn_bigrams
from tests.corpora.tokens.models import save_all_nouns
from tests.corpora.tokens.test_store import articles

PRUNING = Pruning(2, 0.9, 500)


def is_even(document_id):
    return int(document_id.removeprefix("en:")) % 2 == 0


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens")
    store = ArticleStore(path / "articles", shard_size=5)
    store.append(articles(range(30)))
    tokens = TokenStore(store, path / "tokens", TextSettings(spacy_model=save_all_nouns(path)))
    list(tokens.fill())
    return tokens


def everything(tokens, mapped, path):
    rule = Bigrams({})
    bigrams = rule.from_counts(mapped(PairsOfBlock(rule, is_even)), 2, 1.0)
    words = vocabulary_from(mapped(Joined(bigrams, FrequenciesOfBlock(is_even))), PRUNING)
    bags = mapped(Joined(bigrams, BagsOfBlock(words)))
    return bigrams, words, build_corpus_of_bags(path, bags, words)


def check(tokens, found):
    bigrams = learn_bigrams(tokens, is_even, 2, 1.0)
    joined = [bigrams.join(block) for block in tokens]
    words = learn_vocabulary(joined, is_even, PRUNING)
    assert len(bigrams.scores) > 10
    assert 100 < len(words) <= 500
    assert any("_" in word for word in words)
    assert list(found[0].scores.items()) == list(bigrams.scores.items())
    assert found[1] == words
    assert found[2].content_hash == Corpus.from_blocks(joined, words).content_hash


def test_steps_that_were_sent_about_count_the_same(tokens, tmp_path):
    def mapped(step):
        sent = pickle.loads(pickle.dumps(step))
        results = [pickle.loads(pickle.dumps(sent(block))) for block in tokens]
        in_order = isinstance(step, Joined) and isinstance(step.then, BagsOfBlock)
        return results if in_order else results[::-1]

    check(tokens, everything(tokens, mapped, tmp_path))


def test_a_token_store_maps_its_blocks(tokens, tmp_path):
    check(tokens, everything(tokens, lambda step: list(tokens.map(step)), tmp_path))


@pytest.mark.slow
def test_any_number_of_processes_counts_the_same(tokens, tmp_path):
    check(tokens, everything(tokens, lambda step: list(tokens.map(step, 2)), tmp_path))


def test_a_token_store_that_is_not_filled_has_no_blocks(tokens, tmp_path):
    empty = TokenStore(tokens.articles, tmp_path, tokens.settings)
    with pytest.raises(RuntimeError, match=r"6 of 6 .* call fill"):
        empty.map(len)


def test_integers_are_as_narrow_as_they_can_be():
    for largest, kind in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32), (0, np.uint8)):
        array = np.array([0, largest], dtype=np.int64)
        assert narrow(array).dtype == kind
        np.testing.assert_array_equal(narrow(array), array)
    assert narrow(np.zeros(0, dtype=np.int64)).dtype == np.uint8
