import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.model import AllocationModel as Model

X = np.array([[2, 0, 1], [0, 3, 0]])
MODEL = Model.nmf(2, 3, 2)
CUBE = Model.cp((2, 3, 4), 2)


def assert_is_x(counts):
    assert (counts.cells.tolist(), counts.counts.tolist()) == ([[0, 0], [0, 2], [1, 1]], [2, 1, 3])
    assert counts.cells.dtype == counts.counts.dtype == np.int64
    assert (counts.shape, counts.n_tokens) == ((2, 3), 6)
    assert_array_equal(counts.dense(), X)


@pytest.mark.parametrize(
    "given",
    [
        X,
        X.tolist(),
        X.astype(float),
        X.astype(np.uint8),
        X.astype(np.float32),
        np.asfortranarray(X),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        sparse.coo_array(X.astype(float)),
        sparse.lil_matrix(X),
        CellCounts([[1, 1], [0, 0], [0, 2]], [3, 2, 1], (2, 3)),
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')}",
)
def test_all_that_holds_counts(given):
    assert_is_x(CellCounts.of(given, MODEL))


def test_more_axes_one_axis_and_truth_values():
    tensor = np.random.default_rng(0).poisson(0.7, size=(2, 3, 4))
    dense, coordinates = CellCounts.of(tensor, CUBE), CellCounts.of(sparse.coo_array(tensor), CUBE)
    assert_array_equal(dense.dense(), tensor)
    assert_array_equal(coordinates.cells, dense.cells)
    assert_array_equal(coordinates.counts, dense.counts)
    assert CellCounts.of(X > 0, MODEL).counts.tolist() == [1, 1, 1]
    counts = CellCounts([2, 0, 2], [1, 1, 1], (3,))
    assert (counts.cells.tolist(), counts.counts.tolist()) == ([[0], [2]], [1, 2])


def test_merged_cells_and_none():
    cells = [[1, 1], [0, 2], [1, 1], [0, 0], [1, 2], [0, 0]]
    assert_is_x(CellCounts(cells, [1, 1, 2, 1, 0, 1], (2, 3)))
    twice = sparse.coo_array(([1, 1, 1, 2, 1, 0], ([0, 0, 0, 1, 1, 1], [0, 0, 2, 1, 1, 0])), (2, 3))
    assert_is_x(CellCounts.of(twice, MODEL))
    for given in (np.zeros((2, 3)), sparse.csr_array((2, 3)), CellCounts([], [], (2, 3))):
        counts = CellCounts.of(given, MODEL)
        assert (counts.cells.shape, counts.n_tokens) == ((0, 2), 0)
        assert_array_equal(counts.dense(), np.zeros((2, 3)))


def test_what_is_missing_is_kept_apart_and_has_no_place_in_an_array():
    counts = CellCounts([[1, MISSING], [1, 0], [1, MISSING]], [1, 2, 1], (2, 3))
    assert (counts.cells.tolist(), counts.counts.tolist()) == ([[1, MISSING], [1, 0]], [2, 2])
    with pytest.raises(ValueError, match="not wholly observed"):
        counts.dense()


def test_huge_tensors_are_never_made():
    huge, far = Model.cp((10**9, 10**9, 10**9), 2), [10**9 - 1, 0, 5]
    counts = CellCounts.of(CellCounts([far, far], [1, 10**12], huge.shape), huge)
    assert (counts.cells.tolist(), counts.counts.tolist()) == ([far], [10**12 + 1])
    matrix = Model.nmf(10**9, 10**9, 2)
    one = sparse.coo_array(([3], ([10**9 - 1], [7])), shape=(10**9, 10**9))
    assert CellCounts.of(one, matrix).cells.tolist() == [[10**9 - 1, 7]]


def with_entry(value):
    changed = X.astype(float)
    changed[1, 1] = value
    return [changed, changed.tolist(), sparse.csr_array(changed), sparse.coo_array(changed)]


def test_what_is_no_count_is_refused():
    for value, message in (
        (-1, r"must not be negative, found -1"),
        (0.5, r"X must be whole numbers, found 0\.5"),
        (np.nan, "X must be whole numbers, found nan"),
        (np.inf, "X must be whole numbers, found inf"),
        (1e19, r"X must be below 2\^63, found 1e\+19"),
    ):
        for given in with_entry(value):
            with pytest.raises(ValueError, match=message):
                CellCounts.of(given, MODEL)


@pytest.mark.parametrize(
    "given",
    [
        np.full((2, 3), "1"),
        np.full((2, 3), 1j),
        np.full((2, 3), None),
        sparse.csr_array(X.astype(complex)),
    ],
    ids=["text", "complex", "objects", "sparse complex"],
)
def test_what_is_no_number_is_refused(given):
    with pytest.raises(ValueError, match="X must be "):
        CellCounts.of(given, MODEL)


@pytest.mark.parametrize(
    "given",
    [X.T, X[0], X[None], 5, [], sparse.csr_array(X.T), CellCounts([[0, 0]], [1], (3, 2))],
    ids=lambda given: type(given).__name__,
)
def test_another_shape_is_refused(given):
    message = r"X must have the shape \(2, 3\) of the visible indices i, j, found \("
    with pytest.raises(ValueError, match=message):
        CellCounts.of(given, MODEL)


def test_lists_and_shapes_that_are_refused():
    for cells, counts, message in (
        ([[0, 3]], [1], r"cell \[0, 3\] is outside of the tensor: axis 1 has values 0 to 2"),
        ([[0, 0], [2, 0]], [1, 1], r"cell \[2, 0\] is outside of the tensor: axis 0"),
        ([[-2, 0]], [1], r"cell \[-2, 0\] is outside"),
        ([[0, 0]], [-1], "counts must not be negative, found -1"),
        ([[0, 0]], [0.5], r"counts must be whole numbers, found 0\.5"),
        ([[0, 0]], [np.nan], "counts must be whole numbers, found nan"),
        ([[0, 0.5]], [1], r"cells must be whole numbers, found 0\.5"),
        ([[0, 0]], [1, 2], "1 cells must have as many counts, found 2"),
        ([[0, 0], [0, 1]], [1], "2 cells must have as many counts, found 1"),
        # neither is to be read as three cells
        ([[0, 1, 0], [1, 0, 1]], [1, 1, 1], r"cells must be \(n_cells, 2\).*found \(2, 3\)"),
        ([0, 1, 0, 1, 1, 1], [1, 1, 1], r"cells must be \(n_cells, 2\).*found \(6,\)"),
        ([[0, 0], [0, 1]], [2**62, 2**62], r"fewer than 2\^63 tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            CellCounts(cells, counts, (2, 3))
    with pytest.raises(ValueError, match="X must be an array of counts"):
        CellCounts.of([[1], [1, 2]], Model.nmf(2, 2, 2))
