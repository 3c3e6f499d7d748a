from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import Corpus, part_of, split


@pytest.mark.parametrize(("validation", "test"), [(0.1, 0.1), (0.0, 0.3), (0.25, 0.05), (0.0, 0.0)])
def test_shares_are_about_those_asked_for(validation, test):
    n = 20_000
    parts = Counter(part_of(f"en:{d}", validation, test) for d in range(n))
    for name, share in (("validation", validation), ("test", test)):
        deviation = 4 * np.sqrt(n * share * (1 - share))
        assert abs(parts[name] - n * share) <= deviation


def test_the_part_of_a_name_never_changes():
    parts = [part_of(f"en:{d}") for d in range(8)]
    assert parts == ["train", "train", "train", "train", "train", "train", "train", "validation"]


@settings(deadline=None)
@given(st.text(), st.integers(1, 99))
def test_sections_are_where_their_article_is(article, section):
    article = article.replace("#", "")
    assert part_of(f"{article}#{section}") == part_of(article)


@settings(deadline=None)
@given(st.text(), st.floats(0, 0.4), st.floats(0, 0.4))
def test_a_larger_test_share_only_adds_documents(doc_id, small, more):
    if part_of(doc_id, 0.1, small) == "test":
        assert part_of(doc_id, 0.1, small + more) == "test"


@pytest.mark.parametrize(
    ("validation", "test"), [(-0.1, 0.1), (0.1, -0.1), (0.5, 0.5), (float("nan"), 0.1), (0, 2)]
)
def test_shares_that_leave_nothing_are_refused(validation, test):
    with pytest.raises(ValueError, match="together below 1"):
        part_of("en:1", validation, test)


def corpus_of(n_docs):
    counts = np.arange(2 * n_docs).reshape(n_docs, 2)
    return Corpus(counts, ("a", "b"), tuple(f"en:{d}" for d in range(n_docs)))


def test_every_document_is_in_one_part_in_order_whatever_is_added():
    corpus = corpus_of(300)
    parts = split(corpus, validation=0.2, test=0.3)
    assert sorted([doc_id for part in parts for doc_id in part.doc_ids]) == sorted(corpus.doc_ids)
    assert sum(part.n_tokens for part in parts) == corpus.n_tokens
    for name, part in parts._asdict().items():
        assert all(part_of(doc_id, 0.2, 0.3) == name for doc_id in part.doc_ids)
        assert part.vocabulary == corpus.vocabulary
        numbers = [int(doc_id.removeprefix("en:")) for doc_id in part.doc_ids]
        assert numbers == sorted(numbers)
        assert part.counts.toarray().tolist() == [[2 * d, 2 * d + 1] for d in numbers]
    for small, large in zip(split(corpus_of(100), 0.2, 0.3), parts, strict=True):
        assert large.doc_ids[: small.n_docs] == small.doc_ids
