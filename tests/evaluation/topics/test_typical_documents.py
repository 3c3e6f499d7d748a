import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import typical_documents


def test_by_hand():
    shares = [[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5], [0.6, 0.4]]
    found = typical_documents(shares, [50, 50, 60, 50, 50], 3)
    assert [documents.tolist() for documents in found] == [[2, 0, 4], [1, 3, 4]]
    assert typical_documents([[1.0], [1.0]], [0, 4], 5)[0].tolist() == [1]
    assert typical_documents([[1.0], [1.0]], [0, 0], 5)[0].tolist() == []
    assert typical_documents(np.zeros((0, 2)), [], 5)[1].tolist() == []
    for shares, tokens, n, complaint in (
        ([[1.0]], [1, 2], 1, r"n_tokens \(n_docs,\)"),
        ([1.0], [1], 1, r"\(n_docs, n_topics\)"),
        ([[np.nan]], [1], 1, "finite"),
        ([[1.0]], [-1], 1, "not negative"),
        ([[1.0]], [1], 0, "n_documents must be at least 1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            typical_documents(shares, tokens, n)  # type: ignore[arg-type]


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 1000))
def test_as_a_full_sort_has_it(n_docs, n, seed):
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 4, (n_docs, 2)) / 3  # with many ties
    tokens = rng.integers(0, 6, n_docs)
    known = sorted(tokens[tokens > 0].tolist())
    least = known[(len(known) - 1) // 4] if known else 0
    for k, found in enumerate(typical_documents(shares, tokens, n)):
        considered = [d for d in range(n_docs) if tokens[d] >= max(least, 1)]
        expected = sorted(considered, key=lambda d: (-shares[d, k], -tokens[d], d))[:n]
        assert found.tolist() == expected


def test_the_shortest_documents_do_not_come_first():
    rng, tokens = np.random.default_rng(0), np.where(np.arange(400) % 5 == 0, 3, 200)
    shares = rng.dirichlet([5.0, 5.0], 400)
    shares[tokens == 3] = [0.999, 0.001]
    assert (tokens[np.argsort(-shares[:, 0])[:10]] == 3).all()
    found = typical_documents(shares, tokens, 10)[0]
    assert (tokens[found] == 200).all()
    assert (np.diff(shares[found, 0]) <= 0).all()
