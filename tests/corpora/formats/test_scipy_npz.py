"""SciPy's .npz as counts: what is read, and what is refused."""

import numpy as np
import pytest
from scipy import sparse

from corpora import CorpusFormatError
from corpora.formats import read_npz

COUNTS = np.array([[1, 0, 2], [0, 3, 0]])


def saved(path, matrix, words="a\nb\nc\n"):
    sparse.save_npz(path / "x.npz", matrix)
    (path / "x.vocab").write_text(words)
    return path / "x.npz"


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_any_sparse_matrix_of_whole_numbers(tmp_path, kind, dtype):
    expected = COUNTS.astype(dtype).astype(int)
    found = read_npz(saved(tmp_path, sparse.csr_array(COUNTS.astype(dtype)).asformat(kind)))
    assert found.counts.toarray().tolist() == expected.tolist()
    assert found.counts.nnz == 3
    assert (found.vocabulary, tuple(found.doc_ids)) == (("a", "b", "c"), ("1", "2"))


def test_values_of_one_place_are_added_and_words_may_be_numbers(tmp_path):
    twice = sparse.coo_array(([1, 2, 0], ([0, 0, 1], [1, 1, 2])), shape=(2, 3))
    found = read_npz(saved(tmp_path, twice), "numbers")
    assert found.counts.toarray().tolist() == [[0, 3, 0], [0, 0, 0]]
    assert (found.counts.nnz, found.vocabulary) == (1, ("0", "1", "2"))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_array(0.5 * COUNTS), "counts must be whole numbers"),
        (sparse.csr_array(-COUNTS), "none negative"),
        (sparse.csr_array(COUNTS * 2**30), "none negative or above 2,147,483,647"),
        (sparse.csr_array(COUNTS * np.nan), "counts must be whole numbers"),
        (sparse.csr_array(COUNTS * 1j), "counts must be numbers"),
        (sparse.csr_array(COUNTS[:, :2]), "counts of 2 words, but the vocabulary beside it has 3"),
    ],
)
def test_what_is_no_count_is_refused(tmp_path, matrix, message):
    with pytest.raises(CorpusFormatError, match=message) as caught:
        read_npz(saved(tmp_path, matrix))
    assert str(tmp_path / "x.npz") in str(caught.value)


def test_damaged_files_are_refused(tmp_path):
    path = saved(tmp_path, sparse.csr_array(COUNTS))
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"PK\x03\x04", whole.replace(b"indptr", b"indpts")):
        path.write_bytes(data)
        with pytest.raises(CorpusFormatError, match="no sparse matrix") as caught:
            read_npz(path)
        assert "BufferedReader" not in str(caught.value)
    np.savez(path, data=np.array([{}], dtype=object), format="csr")
    with pytest.raises(CorpusFormatError, match="no sparse matrix"):
        read_npz(path)
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "none.npz", "numbers")
