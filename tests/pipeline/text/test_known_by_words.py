from types import SimpleNamespace

import numpy as np
import pytest

from corpora import Corpus, part_of
from pipeline.settings import TrainSettings
from pipeline.text.known_by_words import is_known_by_words, without_known_words

SETTINGS = TrainSettings(validation=0.2, test=0.3)
WORDS = tuple(f"word {w}" for w in range(30))


def corpus_of(counts, ids=None, words=WORDS):
    return Corpus(counts, words, ids or [str(i + 1) for i in range(len(counts))])


def random_counts(number, seed=0, rate=1.0):
    return np.random.default_rng(seed).poisson(rate, (number, len(WORDS)))


@pytest.mark.parametrize(
    ("ids", "is_made"),
    [(["1", "2"], True), (["0", "1"], True), (["2", "1"], False), (["a", "b"], False)],
)
def test_ids_that_are_numbers_of_rows(ids, is_made):
    named = SimpleNamespace(kind="counts", path="counts.mtx")
    assert is_known_by_words(named, corpus_of(random_counts(2), ids)) is is_made
    assert not is_known_by_words(None, corpus_of(random_counts(2)))


def used(ids):
    return {each for each in ids if part_of(each, 0.2, 0.3) != "test"}


def test_a_document_is_known_wherever_it_stands_and_in_any_order_of_words():
    own = corpus_of(random_counts(200))
    order = np.random.default_rng(1).permutation(200)
    columns = np.random.default_rng(2).permutation(30)
    other = corpus_of(
        own.counts.toarray()[order][:, columns], words=tuple(WORDS[w] for w in columns)
    )
    kept = without_known_words(other, own, SETTINGS)
    expected = [str(row + 1) for row, d in enumerate(order) if str(d + 1) not in used(own.doc_ids)]
    assert list(kept.doc_ids) == expected
    assert 30 < len(expected) < 90


def test_others_with_the_same_number_are_not_known():
    own, other = corpus_of(random_counts(200)), corpus_of(random_counts(200, seed=1))
    assert without_known_words(other, own, SETTINGS) is other


def test_few_words_are_known_with_their_number_alone_and_none_never():
    counts = np.zeros((40, 30), dtype=int)
    counts[:20, 0] = 1
    own = corpus_of(counts)
    kept = without_known_words(own, own, SETTINGS)
    empty = {str(i) for i in range(21, 41)}
    assert set(kept.doc_ids) == empty | ({str(i) for i in range(1, 21)} - used(own.doc_ids))
    moved = corpus_of(counts, [str(i + 100) for i in range(40)])
    assert without_known_words(moved, own, SETTINGS) is moved


def test_words_that_the_run_does_not_know_tell_nothing():
    own = corpus_of(random_counts(50))
    more = np.hstack([own.counts.toarray(), np.ones((50, 1), dtype=int)])
    other = corpus_of(more, words=(*WORDS, "new"))
    kept = without_known_words(other, own, SETTINGS)
    assert set(kept.doc_ids) == set(own.doc_ids) - used(own.doc_ids)


def test_all_sections_of_an_article_are_left_out_if_one_is_known():
    own = corpus_of(random_counts(60), [f"en:{i // 2}#{i % 2 + 1}" for i in range(60)])
    counts = own.counts.toarray()
    counts[1::2] = random_counts(30, seed=3)
    other = corpus_of(counts, list(own.doc_ids))
    kept = without_known_words(other, own, SETTINGS)
    assert list(kept.doc_ids) == [d for d in own.doc_ids if d not in used(own.doc_ids)]
