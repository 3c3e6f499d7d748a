import numpy as np
import pytest

from corpora.tokens.fast.row_product import RowProductOps


@pytest.mark.parametrize("width", [96, 128])
def test_no_row_depends_on_its_place_or_on_how_many_there_are(width):
    rng = np.random.default_rng(width)
    filters = rng.normal(size=(3 * width, 6 * width)).astype(np.float32)
    row, ops = rng.normal(size=6 * width).astype(np.float32), RowProductOps()
    alone = ops.gemm(row[None], filters, trans2=True)[0]
    for n_rows in (2, 13, 256):
        x = rng.normal(size=(n_rows, 6 * width)).astype(np.float32)
        for place in range(0, n_rows, 5):
            x[place] = row
        product = ops.gemm(x, filters, trans2=True)[::5]
        np.testing.assert_array_equal(product, np.tile(alone, (len(product), 1)))


@pytest.mark.parametrize("trans1", [False, True])
@pytest.mark.parametrize("trans2", [False, True])
def test_it_is_the_product(trans1, trans2):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 7)).astype(np.float32), rng.normal(size=(7, 3)).astype(np.float32)
    given = x.T.copy() if trans1 else x, y.T.copy() if trans2 else y
    out = np.full((5, 3), np.nan, dtype=np.float32)
    assert RowProductOps().gemm(*given, out=out, trans1=trans1, trans2=trans2) is out
    np.testing.assert_allclose(out, x.astype(np.float64) @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
@pytest.mark.parametrize("n_columns", [1, 4, 11])
def test_each_row_is_summed_in_the_order_of_its_columns(n_rows, n_columns):
    rng = np.random.default_rng(n_rows)
    x = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = rng.normal(size=(n_columns, 3)).astype(np.float32)
    expected = np.zeros((n_rows, 3), dtype=np.float32)
    for k in range(n_columns):
        expected += x[:, [k]] * y[[k]]
    np.testing.assert_array_equal(RowProductOps().gemm(x, y), expected)
