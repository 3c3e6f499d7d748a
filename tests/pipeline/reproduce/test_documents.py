import numpy as np
from scipy import sparse

from pipeline.reproduce.counts import draw_rows, most_frequent_words, whole_counts

COUNTS = np.array([[0, 3, 1, 0, 2], [0, 0, 1, 5, 0], [0, 1, 2, 0, 2]])
"""Tokens of the words: 0, 4, 4, 5, 4."""


def test_the_most_frequent_words_in_their_order():
    def kept(n_words):
        return most_frequent_words(sparse.csr_array(COUNTS), n_words).toarray().tolist()

    assert kept(1) == COUNTS[:, [3]].tolist()
    assert kept(2) == COUNTS[:, [1, 3]].tolist()  # of equals the first
    assert kept(3) == COUNTS[:, [1, 2, 3]].tolist()
    assert kept(9) == COUNTS.tolist()


def test_counts_as_estimators_take_them():
    data, indices = np.array([2.0, 0.0, 1.0]), np.array([1, 0, 1])
    given = sparse.csr_array((data, indices, np.array([0, 3])), shape=(1, 2))
    whole = whole_counts(given)
    assert whole.dtype == np.int64
    assert (whole.data.tolist(), whole.indices.tolist()) == ([3], [1])
    assert given.data.tolist() == [2.0, 0.0, 1.0]
    already = sparse.csr_array(np.array([[1, 0]]))
    assert not np.shares_memory(whole_counts(already).data, already.data)


def test_rows_are_drawn_at_random():
    among = np.array([2, 3, 5, 8, 9, 11])
    drawn = [draw_rows(among, 3, seed) for seed in range(400)]
    for rows in drawn:
        assert set(rows.tolist()) <= set(among.tolist())
        assert (np.diff(rows) > 0).all()
    assert (draw_rows(among, 3, 5) == drawn[5]).all()
    assert (draw_rows(among, 99, 0) == among).all()
    share = np.array([(np.concatenate(drawn) == row).sum() for row in among]) / 400
    assert (np.abs(share - 0.5) < 4 * np.sqrt(0.25 / 400)).all()
