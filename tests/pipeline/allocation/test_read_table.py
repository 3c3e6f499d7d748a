import gzip

import numpy as np
import pytest
from scipy import sparse

from corpora import Corpus, CorpusFormatError
from pipeline.allocation.count_table import in_order
from pipeline.allocation.read_table import read_table
from pipeline.errors import UsageError

MTX = "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 4\n2 1 {}\n2 3 1\n"


def written(directory, text, name="t.csv"):
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def cells_of(table):
    """Counts by labels; None where an index was not observed."""
    return {
        tuple(
            None if value < 0 else names[value]
            for value, names in zip(cell, table.labels, strict=True)
        ): int(count)
        for cell, count in zip(table.counts.cells.tolist(), table.counts.counts, strict=True)
    }


def test_records_with_and_without_counts(tmp_path):
    table = read_table(written(tmp_path, "colour,size\nred,big\nblue, small \nred,big\n\nred,\n"))
    assert (table.layout, table.axes) == ("records", ("colour", "size"))
    assert table.labels == (("blue", "red"), ("big", "small"))
    assert cells_of(table) == {("red", "big"): 2, ("blue", "small"): 1, ("red", None): 1}
    table = read_table(written(tmp_path, 'who;what;Count\n"a;b";x;3\nc;;2\n;;7\nc;x;0\nc;x;1e1\n'))
    assert table.axes == ("who", "what")
    assert cells_of(table) == {("a;b", "x"): 3, ("c", None): 2, ("c", "x"): 10}


def test_the_order_of_records_does_not_matter(tmp_path):
    lines = ["u,10", "v,9", "u,9", "w,2.5"]
    tables = [
        read_table(written(tmp_path, "\n".join(["a,b", *some]) + "\n"), "records")
        for some in (lines, lines[::-1])
    ]
    assert tables[0].labels == tables[1].labels == (("u", "v", "w"), ("2.5", "9", "10"))
    assert tables[0].hash == tables[1].hash


def test_columns_of_records(tmp_path):
    path = written(tmp_path, "a,b,c\nx,p,1\ny,q,2\n,q,\n")
    table = read_table(path, "auto", ("c", "a"))
    assert table.axes == ("c", "a")
    assert cells_of(table) == {("1", "x"): 1, ("2", "y"): 1}  # the third says nothing of these
    with pytest.raises(UsageError, match="has no column 'd', only a, b, c"):
        read_table(path, "auto", ("a", "d"))
    with pytest.raises(UsageError, match="name each column once"):
        read_table(path, "auto", ("a", "a"))


def test_labels_are_in_order():
    assert in_order({"10", "9", "-1", "1e1"}) == ("-1", "9", "10", "1e1")
    assert in_order({"10", "9", "nan"}) == ("10", "9", "nan")


def test_axes_of_the_same_values(tmp_path):
    table = read_table(written(tmp_path, "from,to\na,b\nb,c\n,a\na,\n"))
    alike = table.with_values_alike((0, 1), "this graph")
    assert alike.labels == (("a", "b", "c"),) * 2
    assert alike.counts.shape == (3, 3)
    assert cells_of(alike) == cells_of(table)
    assert alike.with_values_alike((0, 1), "this graph") is alike
    matrix = read_table(written(tmp_path, ",a,b\na,1,2\nc,1,2\n"))
    with pytest.raises(UsageError, match="this graph needs axes of the same values in the same"):
        matrix.with_values_alike((0, 1), "this graph")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1,2,0\n3,0,4\n", (("1", "2"), ("1", "2", "3"))),
        (",x,y,z\nu,1,2,0\nv,3,0,4\n", (("u", "v"), ("x", "y", "z"))),
        (",7,8,9\n5,1,2,0\n6,3,0,4\n", (("5", "6"), ("7", "8", "9"))),
        ("who,x,y,z\nu,1,2,0\nv,3,0,4\n", (("u", "v"), ("x", "y", "z"))),
        ("u,1,2,0\nv,3,0,4\n", (("u", "v"), ("1", "2", "3"))),
        ("\ufeff1.0\t2\t0e0\r\n\r\n3\t0\t+4", (("1", "2"), ("1", "2", "3"))),
    ],
)
def test_matrices(tmp_path, text, labels):
    table = read_table(written(tmp_path, text))
    assert (table.layout, table.axes, table.labels) == ("matrix", ("i", "j"), labels)
    np.testing.assert_array_equal(table.counts.dense(), [[1, 2, 0], [3, 0, 4]])


def test_a_matrix_with_names_of_columns_only(tmp_path):
    path = written(tmp_path, "x,y\n1,2\n3,4\n")
    with pytest.raises(UsageError, match="say --layout records or --layout matrix"):
        read_table(path)
    assert read_table(path, "matrix").labels == (("1", "2"), ("x", "y"))
    assert cells_of(read_table(path, "records")) == {("1", "2"): 1, ("3", "4"): 1}


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",  # bins, or counts
        "a,b\nx,2\ny,3\n",  # a label and a number, or one column of counts
        *("a\n1\n2\n", "a,b,c\nx,2,3\n1,4,5\n", "a,b,c\nx,2,\ny,4,5\n"),
    ],
)
def test_what_is_in_doubt_is_asked_for(tmp_path, text):
    with pytest.raises(UsageError, match=r"can be a table of records, .* or a matrix of counts"):
        read_table(written(tmp_path, text))


@pytest.mark.parametrize(
    "text", ["a\nx\n", "a,b,c\nx,1,2\nx,3,4\n", "a,b\n1,x\n2,y\n", "a,count\n1,2\n"]
)
def test_what_is_records(tmp_path, text):
    assert read_table(written(tmp_path, text)).layout == "records"


def test_names_of_axes(tmp_path):
    path = written(tmp_path, "1,2\n3,4\n")
    assert read_table(path, "auto", ("doc", "word")).axes == ("doc", "word")
    with pytest.raises(UsageError, match="has 2 axes, found 3 names"):
        read_table(path, "auto", ("a", "b", "c"))
    with pytest.raises(UsageError, match="a name of its own"):
        read_table(path, "auto", ("a", "a"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1,2\n3,-4\n", "line 2: column '2' must be a whole number"),
        (",x,y\nu,1,0.5\n", "line 2: column 'y' must be a whole number, not negative .* '0.5'"),
        ("1,2\n3,4,5\n", "line 2: expected 2 fields as in the first line, found 3"),
        ("1,2\n3,\n", "line 2: column '2' is empty: write 0"),
        ("1,2\n3,many\n", "line 2: .* found 'many'"),
        ("1,2\n3,1e300\n", "line 2: .* below 2⁵³"),
        (",x,x\nu,1,2\n", "line 1: two columns are called 'x'"),
        (",x,y\nu,1,2\nu,3,4\n", "two rows are called 'u'"),
        (",x,y\n", "line 1: expected a matrix of counts, found names only"),
        ("a,b,count\nx,y,-1\n", "line 2: count must be a whole number"),
        ("a,b,count\n\nx,y,1.5\n", "line 3: count must be a whole number"),
        ("a,b,count\nx,y,\n", "line 2: count is empty"),
        ("a,a\nx,y\n", "line 1: two columns are called 'a'"),
        ("a,,c\nx,y,z\n", "line 1: column 2 needs a name"),
        ("a,b\nx,\ny,\n", "column 'b' is empty in every record"),
        ("count\n1\n", "line 1: expected columns beside 'count'"),
        ("a,b,count\n", "line 1: expected records after the header"),
        ('a,b\nx,"y\n', "line 2: not a line of CSV"),
        ("", "nothing in the file"),
        ("0,0\n0,0\n", "all counts are 0"),
    ],
)
def test_lines_that_are_wrong(tmp_path, text, place):
    layout = "records" if text.startswith("a,b\nx,\n") else "auto"
    with pytest.raises(CorpusFormatError, match=f"t.csv.*{place}"):
        read_table(written(tmp_path, text), layout)


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.array([[1, 2], [3, -4]]), r"entry \[1, 1\]: .* found -4"),
        (np.array([[[1.0], [0.5]]]), r"entry \[0, 1, 0\]: .* found 0.5"),
        (np.array([[1.0, np.nan]]), r"entry \[0, 1\]: .* found nan"),
        (np.array([[1.0, 1e300]]), "counts must be below 2⁵³"),
        (np.array([["a"]]), "counts must be numbers, found <U1"),
        (np.array(3), "an array needs axes"),
        (np.zeros((3, 0)), "an array needs axes with values"),
        (np.zeros((2, 2)), "all counts are 0"),
        (np.array([{}]), "no array of numbers"),
    ],
)
@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_arrays_that_are_wrong(tmp_path, array, complaint, name):
    path = tmp_path / name
    np.save(path, array) if name == "t.npy" else np.savez(path, array)
    with pytest.raises(CorpusFormatError, match=f"{name}.*{complaint}"):
        read_table(str(path))


def test_wrong_sparse_matrices_and_several_arrays_are_refused(tmp_path):
    path = tmp_path / "s.npz"
    sparse.save_npz(path, sparse.csr_array(np.array([[0, 0, 2], [0, -1, 0]])))
    with pytest.raises(CorpusFormatError, match=r"s.npz, entry \[1, 1\]: .* found -1"):
        read_table(str(path))
    np.savez(tmp_path / "two.npz", a=np.ones(2), b=np.ones(3))
    with pytest.raises(CorpusFormatError, match="must hold one array, found a, b"):
        read_table(str(tmp_path / "two.npz"))


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_damaged_arrays(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(CorpusFormatError, match="no array of numbers as NumPy or SciPy writes it"):
        read_table(str(tmp_path / name))


@pytest.mark.parametrize("value", ["-1", "0.5"])
def test_matrix_market_that_is_wrong(tmp_path, value):
    with pytest.raises(CorpusFormatError, match=r"t.mtx, line 4: value must be a whole number"):
        read_table(written(tmp_path, MTX.format(value), "t.mtx"))


def test_files_that_are_not_there_or_not_known(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "nosuch.csv"))
    with pytest.raises(UsageError, match=r"does not tell its format; .* \.csv, \.tsv, \.npy"):
        read_table(written(tmp_path, "1 2\n", "t.numbers"))
    with pytest.raises(UsageError, match="--layout matrix is for CSV files"):
        read_table(written(tmp_path, MTX.format(1), "t.mtx"), "matrix")


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4), (2, 1, 3, 2)])
def test_arrays_of_any_number_of_axes(tmp_path, shape):
    X = np.random.default_rng(0).poisson(1.0, shape)
    np.save(tmp_path / "t.npy", X.astype(float))
    np.savez_compressed(tmp_path / "t.npz", counts=X)
    names = ("i", "j") if len(shape) == 2 else tuple(f"i{n + 1}" for n in range(len(shape)))
    for name in ("t.npy", "t.npz"):
        table = read_table(str(tmp_path / name))
        assert (table.layout, table.axes) == ("array", names)
        assert [len(labels) for labels in table.labels] == list(shape)
        np.testing.assert_array_equal(table.counts.dense(), X)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_sparse_matrices_of_scipy(tmp_path, kind):
    X = np.random.default_rng(1).poisson(0.5, (4, 6))
    sparse.save_npz(tmp_path / "s.npz", sparse.coo_matrix(X).asformat(kind))
    np.testing.assert_array_equal(read_table(str(tmp_path / "s.npz")).counts.dense(), X)


def test_matrix_market(tmp_path):
    plain = written(tmp_path, MTX.format("2"), "t.mtx")
    (tmp_path / "u.mtx.gz").write_bytes(
        gzip.compress(MTX.format("2.0").replace("integer", "real").encode())
    )
    for path in (plain, str(tmp_path / "u.mtx.gz")):
        table = read_table(path)
        assert (table.layout, table.axes) == ("matrix", ("i", "j"))
        np.testing.assert_array_equal(table.counts.dense(), [[4, 0, 0], [2, 0, 1]])
    written(tmp_path, "ape\nbee\ncat\n", "t.vocab")
    table = read_table(plain)
    assert (table.layout, table.axes) == ("documents", ("doc", "word"))
    assert table.labels == (("1", "2"), ("ape", "bee", "cat"))


def test_bags_of_words(tmp_path):
    X = np.array([[2, 0, 1], [0, 3, 0]], dtype=np.int32)
    Corpus(sparse.csr_array(X), ("ape", "bee", "cat"), ("one", "two")).save(tmp_path / "corpus")
    path = written(tmp_path, "2\n3\n3\n1 1 2\n1 3 1\n2 2 3\n", "docword.t.txt")
    for name in (str(tmp_path / "corpus"), path):
        table = read_table(name)
        assert (table.layout, table.axes) == ("documents", ("doc", "word"))
        np.testing.assert_array_equal(table.counts.dense(), X)
    assert table.labels == (("1", "2"), ("1", "2", "3"))
    assert read_table(str(tmp_path / "corpus")).labels == (("one", "two"), ("ape", "bee", "cat"))
