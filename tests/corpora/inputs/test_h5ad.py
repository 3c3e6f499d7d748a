import anndata
import h5py
import numpy as np
import pytest
from scipy import sparse

from corpora import CorpusFormatError
from corpora.inputs import find_input

COUNTS = np.array([[1, 0, 2], [0, 3, 0]], dtype=np.float32)


def cells(counts=COUNTS, make=sparse.csr_matrix):
    data = anndata.AnnData(make(counts))
    data.obs_names, data.var_names = ["AAC-1", "AAG-1"], ["CD4", "MS4A1", "Ä"]
    return data


def write(path, data):
    data.write_h5ad(path)
    return path


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, np.asarray])
def test_counts_in_x(tmp_path, make):
    found = find_input(write(tmp_path / "x.h5ad", cells(make=make)))
    assert (found.format, found.kind) == ("h5ad", "counts")
    assert found.describe().endswith("x.h5ad: AnnData, counts of 2 cells × 3 genes")
    corpus = found.corpus()
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS)
    assert corpus.vocabulary == ("CD4", "MS4A1", "Ä")
    assert list(corpus.doc_ids) == ["AAC-1", "AAG-1"]


@pytest.mark.parametrize("make", [sparse.csr_matrix, np.asarray])
def test_counts_in_a_layer_or_in_raw(tmp_path, make):
    logged = cells(np.log1p(COUNTS), make)
    logged.layers["counts"] = make(COUNTS)
    path = write(tmp_path / "layer.h5ad", logged)
    np.testing.assert_array_equal(find_input(path).corpus().counts.toarray(), COUNTS)
    kept = cells(make=make)
    kept.raw = kept.copy()
    kept = kept[:, :2].copy()
    kept.X = make(np.log1p(COUNTS[:, :2]))
    corpus = find_input(write(tmp_path / "raw.h5ad", kept)).corpus()
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS)
    assert corpus.n_words == 3


@pytest.mark.parametrize(
    ("value", "shown"), [(0.25, "0.25"), (-1, "-1"), (np.nan, "nan"), (2**31, "2.14748e.09")]
)
def test_no_raw_counts_is_one_line(tmp_path, value, shown):
    counts = COUNTS.copy()
    counts[1, 1] = value
    path = write(tmp_path / "x.h5ad", cells(counts))
    why = rf"no raw counts: X holds {shown}, which is no count, layers\['counts'\] is not there"
    with pytest.raises(CorpusFormatError, match=why) as caught:
        find_input(path).corpus()
    assert "\n" not in str(caught.value)


def test_genes_of_one_name_are_refused(tmp_path):
    data = cells()
    data.var_names = ["A", "B", "A"]
    with pytest.raises(CorpusFormatError, match=r"two genes are called 'A'; call var_names_make"):
        find_input(write(tmp_path / "x.h5ad", data)).corpus()


def test_a_file_cut_short_and_another_hdf5_file(tmp_path):
    data = write(tmp_path / "good.h5ad", cells()).read_bytes()
    path = tmp_path / "bad.h5ad"
    for size in (9, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(CorpusFormatError, match=r"bad\.h5ad") as caught:
            find_input(path).corpus()
        assert "\n" not in str(caught.value)
    with h5py.File(path, "w") as file:
        file["x"] = [1]
    with pytest.raises(CorpusFormatError, match="none of AnnData's"):
        find_input(path).corpus()


def test_indices_out_of_range_are_refused(tmp_path):
    for make in (sparse.csr_matrix, sparse.csc_matrix):
        path = write(tmp_path / "x.h5ad", cells(make=make))
        with h5py.File(path, "r+") as file:
            file["X/indices"][0] = 10**6
        with pytest.raises(CorpusFormatError, match="X is malformed"):
            find_input(path).corpus()


def test_names_of_categories_and_of_old_files(tmp_path):
    path = write(tmp_path / "x.h5ad", cells())
    with h5py.File(path, "r+") as file:
        del file["obs"], file["var/_index"]
        table = np.array([(b"one", 1), (b"two", 2)], dtype=[("index", "S3"), ("n", "i4")])
        file["obs"] = table
        names = file.create_group("var/_index")
        names["categories"], names["codes"] = ["x", "y", "z"], np.array([2, 0, 1], dtype=np.int8)
    corpus = find_input(path).corpus()
    assert list(corpus.doc_ids) == ["one", "two"]
    assert corpus.vocabulary == ("z", "x", "y")
